/* Traces as files: what is saved comes back, and what no run can have made is refused in words. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simulator/trace.h"
#include "tests/trace_case.h"

enum { CAPACITY = 1 << 22, LINES_MAX = 200 };

static char folder[256];
static char path[300];

/* A small file's text as lines, to take apart: line 0 is the header, event e is line e + 1. */
struct text {
    int n;
    char *lines[LINES_MAX];
};

static char *read_all(const char *from, size_t *n)
{
    FILE *file = fopen(from, "rb");
    char *bytes = malloc(CAPACITY);
    assert_true(file && bytes);
    *n = fread(bytes, 1, CAPACITY - 1, file);
    bytes[*n] = '\0';
    fclose(file);
    return bytes;
}

static struct sim_trace *run(const struct trace_case *which)
{
    struct fa_error error = {FA_OK, ""};
    struct sim_result result;
    struct sim_trace *trace = trace_case_run(which, &result, &error);
    if (!trace)
        fail_msg("%s, %s: %s", which->algorithm->name, which->name, error.text);
    return trace;
}

static char *saved(const struct trace_case *which, size_t *n)
{
    struct fa_error error = {FA_OK, ""};
    struct sim_trace *trace = run(which);
    if (sim_trace_save(trace, path, &error) != FA_OK)
        fail_msg("%s", error.text);
    sim_trace_free(trace);
    return read_all(path, n);
}

static struct text text_of(const struct trace_case *which)
{
    struct text text = {0, {NULL}};
    size_t n;
    char *bytes = saved(which, &n), *end;
    for (char *at = bytes; (end = strchr(at, '\n')); at = end + 1) {
        assert_true(text.n < LINES_MAX);
        text.lines[text.n++] = strndup(at, (size_t)(end - at));
    }
    free(bytes);
    return text;
}

static void free_text(struct text *text)
{
    while (text->n > 0)
        free(text->lines[--text->n]);
}

/* The lines as one string, but line `without`. */
static char *join(const struct text *text, int without)
{
    char *bytes = malloc(CAPACITY);
    size_t used = 0;
    assert_non_null(bytes);
    bytes[0] = '\0';
    for (int n = 0; n < text->n; n++)
        if (n != without)
            used += (size_t)snprintf(bytes + used, CAPACITY - used, "%s\n", text->lines[n]);
    return bytes;
}

static void replace(struct text *text, int line, const char *by)
{
    free(text->lines[line]);
    text->lines[line] = strdup(by);
}

enum field { KIND, TENSOR, OP, STEP, FLAGS, LINE, HEAD, I, J, ROW, COLUMN, ROWS, COLUMNS, PLACE };

/* The first event of that kind about the tensor, or of a compute with that op. */
static int find(const struct text *text, enum sim_event_kind kind, int id)
{
    for (int n = 1; n < text->n; n++) {
        int values[3];
        assert_int_equal(sscanf(text->lines[n], "[%d,%d,%d", &values[0], &values[1], &values[2]),
                         3);
        if (values[KIND] == (int)kind && values[kind == SIM_COMPUTE ? OP : TENSOR] == id)
            return n - 1;
    }
    fail_msg("there is no %s of %d", sim_event_kind_name(kind), id);
    return 0;
}

/* Puts another number into field `field` of event `event`. */
static void set(struct text *text, int event, int field, int64_t value)
{
    char *line = text->lines[event + 1], *at = line, made[512];
    for (; field > 0; field--)
        at = strchr(at, ',') + 1;
    at += at == line; /* the bracket */
    int before = (int)(at - line);
    snprintf(made, sizeof made, "%.*s%" PRId64 "%s", before, line, value,
             at + strcspn(at, ",]"));
    replace(text, event + 1, made);
}

static void refused_bytes(const char *bytes, size_t n, const char *message)
{
    struct fa_error error = {FA_OK, ""};
    struct sim_trace *trace = (struct sim_trace *)&error;
    /* In a block of just its size, so that a sanitizer sees a read past its end. */
    char *exact = malloc(n ? n : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, n);
    enum fa_status status = sim_trace_parse("t", exact, n, &trace, &error);
    free(exact);
    if (status == FA_OK)
        fail_msg("accepted, but expected: %s", message);
    assert_int_equal(status, FA_BAD_FILE);
    assert_int_equal(error.status, FA_BAD_FILE);
    assert_ptr_equal(trace, &error);
    if (strncmp(error.text, "t: line ", 8) != 0 || !strstr(error.text, message))
        fail_msg("\"%s\" does not say \"%s\"", error.text, message);
}

static void refused(const struct text *text, int without, const char *message)
{
    char *bytes = join(text, without);
    refused_bytes(bytes, strlen(bytes), message);
    free(bytes);
}

static void accepted(const struct text *text)
{
    struct fa_error error = {FA_OK, ""};
    struct sim_trace *trace = NULL;
    char *bytes = join(text, -1);
    if (sim_trace_parse("t", bytes, strlen(bytes), &trace, &error) != FA_OK)
        fail_msg("%s", error.text);
    free(bytes);
    sim_trace_free(trace);
}

static void same_header(const struct sim_trace_header *a, const struct sim_trace_header *b)
{
    const struct fa_problem *p = &a->problem, *q = &b->problem;
    assert_ptr_equal(a->algorithm, b->algorithm);
    assert_ptr_equal(a->forward, b->forward);
    assert_memory_equal(&p->dropout_p, &q->dropout_p, sizeof p->dropout_p);
    assert_true(p->dropout_p == 0 || p->dropout_seed == q->dropout_seed);
    assert_true(!p->dropout_keep && !q->dropout_keep && a->has_keep == b->has_keep);
    assert_int_equal(p->blocks != NULL, q->blocks != NULL);
    if (p->blocks) {
        const struct fa_block_mask *x = p->blocks, *y = q->blocks;
        assert_true(x->br == y->br && x->bc == y->bc);
        assert_true(x->rows == y->rows && x->columns == y->columns);
        assert_memory_equal(x->visit, y->visit, (size_t)(x->rows * x->columns));
    }
    assert_true(p->batch == q->batch && p->heads == q->heads && p->kv_heads == q->kv_heads);
    assert_true(p->nq == q->nq && p->nk == q->nk && p->d == q->d && p->dv == q->dv);
    assert_memory_equal(&p->scale, &q->scale, sizeof p->scale);
    assert_true(p->causal == q->causal && p->dtype == q->dtype);
    assert_true(p->window_left == q->window_left && p->window_right == q->window_right);
    assert_true(!p->mask && !q->mask && !p->bias && !q->bias);
    assert_true(a->has_mask == b->has_mask && a->has_bias == b->has_bias);
    assert_true(a->tiles.br == b->tiles.br && a->tiles.bc == b->tiles.bc);
    assert_true(a->tiles.row_block == b->tiles.row_block);
    assert_true(a->tiles.column_chunk == b->tiles.column_chunk);
    assert_true(a->sram_bytes == b->sram_bytes && a->seed == b->seed);
    assert_string_equal(a->machine, b->machine);
    assert_string_equal(a->version, b->version);
    assert_string_equal(a->command, b->command);
    assert_string_equal(a->profile, b->profile);
}

static void same_trace(const struct sim_trace *a, const struct sim_trace *b)
{
    assert_int_equal(sim_trace_length(a), sim_trace_length(b));
    same_header(sim_trace_get_header(a), sim_trace_get_header(b));
    for (uint64_t n = 0; n < sim_trace_length(a); n++)
        assert_memory_equal(sim_trace_event(a, n), sim_trace_event(b, n),
                            sizeof(struct sim_event));
}

static void round_trips(void **state)
{
    (void)state;
    int n_cases;
    const struct trace_case *cases = trace_cases(&n_cases);
    /* The last one's file is longer than what is read at a time. */
    struct trace_case longer = {"long", &fa_flash2, fa_problem_make(1000, 1000, 4), 8, 16,
                                0,      SIM_FORWARD};
    for (int n = 0; n <= n_cases; n++) {
        const struct trace_case *which = n < n_cases ? &cases[n] : &longer;
        struct fa_error error = {FA_OK, ""};
        struct sim_trace *trace = run(which), *loaded = NULL, *parsed = NULL;
        size_t n_bytes;
        assert_int_equal(sim_trace_save(trace, path, &error), FA_OK);
        if (sim_trace_load(path, &loaded, &error) != FA_OK)
            fail_msg("%s, %s: %s", which->algorithm->name, which->name, error.text);
        same_trace(trace, loaded);
        char *bytes = read_all(path, &n_bytes);
        assert_true(which != &longer || n_bytes > 1 << 20);
        assert_int_equal(sim_trace_parse("t", bytes, n_bytes, &parsed, &error), FA_OK);
        same_trace(trace, parsed);
        free(bytes);
        sim_trace_free(trace);
        sim_trace_free(loaded);
        sim_trace_free(parsed);
    }
}

/* Numbers and texts that are hard to write, also where the decimal point is a comma. */
static void hard_headers(void **state)
{
    (void)state;
    const double scales[] = {0.1, -0.0, 1e-300, 0x1.fffffffffffffp1023, 3, -1.0 / 3};
    const uint64_t seeds[] = {0, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    const char *const commas[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"};
    for (size_t n = 0; n < 6 * 4; n++) {
        struct sim_trace_header header = {
            .algorithm = &fa_standard,
            .problem = fa_problem_make(4, 4, 4),
            .tiles = {2, 2, 3, 4},
            .seed = seeds[n % 4],
            .machine = "my \"GPU\"",
            .command = "flashlab\trun --in 'a\\b\n\x01' \xc3\xa9",
        };
        struct sim_trace *trace = NULL, *loaded = NULL;
        struct fa_error error = {FA_OK, ""};
        header.problem.scale = scales[n % 6];
        setlocale(LC_ALL, commas[n % 4]);
        assert_int_equal(sim_trace_create(&header, &trace, &error), FA_OK);
        assert_int_equal(sim_trace_save(trace, path, &error), FA_OK);
        if (sim_trace_load(path, &loaded, &error) != FA_OK)
            fail_msg("%s", error.text);
        same_header(&header, sim_trace_get_header(loaded));
        setlocale(LC_ALL, "C");
        sim_trace_free(trace);
        sim_trace_free(loaded);
    }
    struct sim_trace_header header = {
        .algorithm = &fa_flash2,
        .problem = fa_problem_make(4, 4, 4),
        .tiles = {2, 2, 0, 0},
        .command = "caf\xe9 \xff",
    };
    struct sim_trace *trace = NULL, *loaded = NULL;
    assert_int_equal(sim_trace_create(&header, &trace, NULL), FA_OK);
    assert_int_equal(sim_trace_save(trace, path, NULL), FA_OK);
    assert_int_equal(sim_trace_load(path, &loaded, NULL), FA_OK);
    assert_string_equal(sim_trace_get_header(loaded)->command, "caf? ?");
    sim_trace_free(trace);
    sim_trace_free(loaded);
}

/* A header whose line is longer than what is read or written at a time. */
static void many_blocks(void **state)
{
    (void)state;
    enum { SIDE = 1500 };
    uint8_t *visit = malloc(SIDE * SIDE);
    assert_non_null(visit);
    for (int n = 0; n < SIDE * SIDE; n++)
        visit[n] = n % 7 < 2 || n % 11 == 5;
    const struct fa_block_mask blocks = {2, 3, SIDE, SIDE, visit};
    struct sim_trace_header header = {
        .algorithm = &fa_flash2,
        .problem = fa_problem_make(2 * SIDE, 3 * SIDE - 1, 4),
        .tiles = {2, 3, 1, 1},
    };
    const struct sim_event alloc = {.kind = SIM_ALLOC, .tensor = FA_Q, .rows = 2, .columns = 4};
    struct sim_trace *trace = NULL, *loaded = NULL;
    struct fa_error error = {FA_OK, ""};
    header.problem.blocks = &blocks;
    assert_int_equal(sim_trace_create(&header, &trace, &error), FA_OK);
    assert_true(sim_trace_append(trace, &alloc));
    assert_int_equal(sim_trace_save(trace, path, &error), FA_OK);
    if (sim_trace_load(path, &loaded, &error) != FA_OK)
        fail_msg("%s", error.text);
    same_trace(trace, loaded);
    sim_trace_free(trace);
    sim_trace_free(loaded);
    free(visit);
}

struct edit {
    enum sim_event_kind kind;
    int id, field;
    int64_t value;
    const char *message;
};

/* Each edit alone, of the first such event, is refused on its line. */
static void refuse_edits(const struct trace_case *which, const struct edit *edits, size_t n_edits)
{
    for (size_t n = 0; n < n_edits; n++) {
        struct text text = text_of(which);
        int event = find(&text, edits[n].kind, edits[n].id);
        char where[32];
        set(&text, event, edits[n].field, edits[n].value);
        snprintf(where, sizeof where, "t: line %d: ", event + 2);
        refused(&text, -1, edits[n].message);
        refused(&text, -1, where);
        free_text(&text);
    }
}

/* The small run reserves q k v o s l m in this order, of 12, 8, 8, 12, 24, 12 and 12 bytes. */
static void one_number(void **state)
{
    (void)state;
    const struct edit edits[] = {
        {SIM_LOAD, FA_Q, KIND, 7, "kind is 7: expected 0 to 6"},
        {SIM_LOAD, FA_Q, KIND, -1, "kind is -1: expected 0 to 6"},
        {SIM_LOAD, FA_Q, TENSOR, 22, "tensor is 22: expected 0 to 21"},
        {SIM_COMPUTE, FA_OP_SCORE, OP, 200, "op is 200: expected 0 to "},
        {SIM_LOAD, FA_Q, STEP, 255, "step is 255: expected 0 to "},
        {SIM_COMPUTE, FA_OP_SCORE, FLAGS, 4, "flags is 4: expected 0 to 3"},
        {SIM_LOAD, FA_Q, LINE, 65536, "line is 65536: expected 0 to 65535"},
        {SIM_LOAD, FA_Q, HEAD, 1, "head is 1: expected 0 to 0"},
        {SIM_LOAD, FA_Q, I, 1, "i is 1: expected -1 to 0"},
        {SIM_LOAD, FA_K, J, -2, "j is -2: expected -1 to 0"},
        {SIM_LOAD, FA_Q, ROW, 1 << 28, "row is 268435456: expected 0 to 268435455"},
        {SIM_LOAD, FA_Q, COLUMN, -1, "column is -1: expected 0 to 268435455"},
        {SIM_LOAD, FA_Q, ROWS, 1 << 24, "rows is 16777216: expected 0 to 16777215"},
        {SIM_LOAD, FA_Q, COLUMNS, 1 << 24, "columns is 16777216: expected 0 to 16777215"},
        {SIM_LOAD, FA_Q, PLACE, INT64_C(1) << 36,
         "place is 68719476736: expected 0 to 68719476735"},
        {SIM_LOAD, FA_Q, OP, 3, "a load with op 3 and flags 0: expected 0 for both"},
        {SIM_ALLOC, FA_Q, FLAGS, 1, "an alloc with op 0 and flags 1: expected 0 for both"},
        {SIM_COMPUTE, FA_OP_SCORE, ROW, 1, "a compute at row 1, column 0 of HBM: expected 0, 0"},
        {SIM_COMPUTE, FA_OP_ACCUMULATE, FLAGS, SIM_CUT,
         "a compute with flags 2: expected 0, 1 or 3"},
        {SIM_LOAD, FA_Q, TENSOR, FA_S, "a load of s: this run of flash2 has no s in HBM"},
        {SIM_LOAD, FA_Q, TENSOR, FA_L, "a load of l: this run of flash2 has no l in HBM"},
        {SIM_LOAD, FA_Q, TENSOR, FA_DO, "a load of do: this run of flash2 has no do in HBM"},
        {SIM_LOAD, FA_Q, TENSOR, FA_TILE_M,
         "a load of tile_m: this run of flash2 has no tile_m in HBM"},
        {SIM_LOAD, FA_Q, PLACE, 4, "a load of q at place 4: it lies at 0"},
        {SIM_LOAD, FA_Q, ROWS, 4,
         "a load of q, 4 x 1: expected at most the tile's capacity, 3 x 1"},
        {SIM_LOAD, FA_Q, ROWS, 2,
         "a load of q, 2 x 1 at (0, 0): expected 3 x 1, what tile and matrix leave"},
        {SIM_LOAD, FA_Q, ROW, 1,
         "a load of q, 3 x 1 at (1, 0): it ends past the matrix, which is 3 x 1"},
        {SIM_LOAD, FA_Q, COLUMN, 1, "it ends past the matrix, which is 3 x 1"},
        {SIM_LOAD, FA_Q, KIND, SIM_STORE,
         "a store of q, which holds nothing: expected a load or a compute"},
        {SIM_STORE, FA_O, ROWS, 2, "a store of o, 2 x 1: the tile holds 3 x 1"},
        {SIM_STORE, FA_LSE, PLACE, 64, "a store of lse at place 64: it lies at 76"},
        {SIM_COMPUTE, FA_OP_SCORE, TENSOR, FA_P, "a compute score that writes p: expected s"},
        {SIM_COMPUTE, FA_OP_SCORE, OP, FA_OP_BIAS, "a compute bias while s holds nothing"},
        {SIM_COMPUTE, FA_OP_ABSORB, OP, FA_OP_TILE_SOFTMAX,
         "a compute tile_softmax without tile_l on chip"},
        {SIM_COMPUTE, FA_OP_ABSORB, OP, FA_OP_MASK,
         "a compute mask without mask on chip: expected an alloc of it"},
        {SIM_COMPUTE, FA_OP_SCORE, ROWS, 2, "a compute score of 2 x 2: what it works on is 3 x 2"},
        {SIM_COMPUTE, FA_OP_SCORE, COLUMNS, 3,
         "a compute score of 3 x 3 with 2 rows of k: expected 3"},
        {SIM_COMPUTE, FA_OP_ABSORB, COLUMNS, 1,
         "a compute absorb of 3 x 1: what it works on is 3 x 2"},
        {SIM_COMPUTE, FA_OP_ACCUMULATE, PLACE, 40, "a compute of o at place 40: it lies at 28"},
        {SIM_COMPUTE, FA_OP_START, ROWS, 4,
         "a compute start of 4 x 1: expected at most the capacity of o, 3 x 1"},
        {SIM_COMPUTE, FA_OP_START, COLUMNS, 2,
         "a compute start of 3 x 2: what it works on is 3 x 1"},
        {SIM_ALLOC, FA_K, TENSOR, FA_Q,
         "an alloc of q, which is on chip already: expected a free before it"},
        {SIM_ALLOC, FA_Q, TENSOR, FA_MASK, "an alloc of mask: this run of flash2 has no mask"},
        {SIM_ALLOC, FA_Q, TENSOR, FA_DK, "an alloc of dk: this run of flash2 has no dk"},
        {SIM_ALLOC, FA_Q, ROWS, 4,
         "an alloc of q, 4 x 1: expected at most 3 x 1, by the header's tiles"},
        {SIM_ALLOC, FA_K, PLACE, 8,
         "an alloc of k, 8 bytes at 8: there lies q, 12 bytes at 0; expected a free"},
        {SIM_ALLOC, FA_M, PLACE, 4088,
         "an alloc of m, 12 bytes at 4088: it ends past the 4096 bytes"},
        {SIM_ALLOC, FA_Q, KIND, SIM_REFUSE,
         "a refusal of q, 12 bytes: 0 of 4096 bytes are taken, so it fits"},
        {SIM_FREE, FA_M, TENSOR, FA_TILE_M, "a free of tile_m, which is not on chip"},
        {SIM_FREE, FA_M, TENSOR, FA_LSE, "a free of lse, which is not on chip"},
        {SIM_FREE, FA_M, PLACE, 0, "a free of m at place 0: it lies at 76"},
        {SIM_FREE, FA_M, ROWS, 2, "a free of m, 2 x 1: what was reserved is 3 x 1"},
        {SIM_LOAD, FA_Q, KIND, SIM_SKIP, "a skip of no tile: expected an i and a j of 0 or more"},
        {SIM_LOAD, FA_K, KIND, SIM_SKIP, "a skip of k, 2 x 1 at 12: expected s, 0 x 0 at 0"},
    };
    refuse_edits(&trace_case_small, edits, sizeof edits / sizeof *edits);
}

/* The same of a backward pass, with dropout by seed. */
static void one_number_backward(void **state)
{
    (void)state;
    const struct edit edits[] = {
        {SIM_LOAD, FA_LSE, TENSOR, FA_L,
         "a load of l: this run of flash2 backward has no l in HBM"},
        {SIM_LOAD, FA_DO, TENSOR, FA_DP, "this run of flash2 backward has no dp in HBM"},
        {SIM_LOAD, FA_Q, TENSOR, FA_DROPOUT,
         "a load of dropout: this run of flash2 backward has no dropout in HBM"},
        {SIM_ALLOC, FA_LSE, TENSOR, FA_M, "an alloc of m: this run of flash2 backward has no m"},
        {SIM_ALLOC, FA_DK, ROWS, 3, "an alloc of dk, 3 x 1: expected at most 2 x 1, by"},
        {SIM_ALLOC, FA_DP, COLUMNS, 3, "an alloc of dp, 3 x 3: expected at most 3 x 2, by"},
        {SIM_STORE, FA_DK, ROWS, 1, "a store of dk, 1 x 1: the tile holds 2 x 1"},
        {SIM_STORE, FA_DELTA, TENSOR, FA_PD, "this run of flash2 backward has no pd in HBM"},
        {SIM_COMPUTE, FA_OP_START_DQ, ROWS, 4,
         "a compute start_dq of 4 x 1 with 3 rows of dq: expected 4"},
        {SIM_COMPUTE, FA_OP_START_DQ, COLUMNS, 2, "what it works on is 3 x 1"},
        {SIM_COMPUTE, FA_OP_START_DKV, TENSOR, FA_DK,
         "a compute start_dkv that writes dk: expected dv"},
        {SIM_COMPUTE, FA_OP_START_DKV, ROWS, 3, "at most the capacity of dv, 2 x 1"},
        {SIM_COMPUTE, FA_OP_START_DKV, OP, FA_OP_START_DELTA,
         "a compute start_delta that writes dv: expected delta"},
        {SIM_COMPUTE, FA_OP_START_DQ, OP, FA_OP_START_DKV,
         "a compute start_dkv without a tile to start on chip"},
        {SIM_COMPUTE, FA_OP_DELTA, ROWS, 2, "a compute delta of 2 x 1: what it works on is 3 x 1"},
        {SIM_COMPUTE, FA_OP_WEIGHTS, OP, FA_OP_NORMALISE, "a compute normalise without l on chip"},
        {SIM_COMPUTE, FA_OP_WEIGHTS, COLUMNS, 1, "what it works on is 3 x 2"},
        {SIM_COMPUTE, FA_OP_DP, COLUMNS, 1, "a compute dp of 3 x 1: what it works on is 3 x 2"},
        {SIM_COMPUTE, FA_OP_DP, OP, FA_OP_DROPOUT_DP,
         "a compute dropout_dp while dp holds nothing"},
        {SIM_COMPUTE, FA_OP_DROPOUT_DP, OP, FA_OP_KEEP, "a compute keep without dropout on chip"},
        {SIM_COMPUTE, FA_OP_DROPOUT_DP, ROWS, 2, "what it works on is 3 x 2"},
        {SIM_COMPUTE, FA_OP_GRAD_S, OP, FA_OP_GRAD_Q,
         "a compute grad_q while the tile of ds holds dp: expected a compute of it before"},
        {SIM_COMPUTE, FA_OP_GRAD_S, COLUMNS, 3,
         "a compute grad_s of 3 x 3 with 2 columns of p: expected 3"},
        {SIM_COMPUTE, FA_OP_GRAD_S, PLACE, 0, "a compute of ds at place 0: it lies at "},
        {SIM_COMPUTE, FA_OP_GRAD_V, OP, FA_OP_GRAD_S_ROWS,
         "a compute grad_s_rows while the tile of dp holds ds"},
        {SIM_COMPUTE, FA_OP_GRAD_V, OP, FA_OP_ACCUMULATE, "a compute accumulate without o on chip"},
        {SIM_COMPUTE, FA_OP_GRAD_V, COLUMNS, 1, "what it works on is 3 x 2"},
        {SIM_COMPUTE, FA_OP_GRAD_K, ROWS, 4,
         "a compute grad_k of 4 x 2 with 3 rows of q: expected 4"},
        {SIM_COMPUTE, FA_OP_GRAD_K, COLUMNS, 3,
         "a compute grad_k of 3 x 3 with 2 rows of dk: expected 3"},
        {SIM_COMPUTE, FA_OP_GRAD_Q, TENSOR, FA_DK, "a compute grad_q that writes dk: expected dq"},
        {SIM_FREE, FA_DP, TENSOR, FA_DS, "a free of ds, which is not on chip"},
    };
    refuse_edits(&trace_case_backward, edits, sizeof edits / sizeof *edits);
}

/* What `standard` leaves in HBM of dropout, and parts of columns. */
static void one_number_unfused(void **state)
{
    (void)state;
    struct trace_case standard = trace_case_small, square = trace_case_small;
    const struct edit edits[] = {
        {SIM_STORE, FA_P, TENSOR, FA_S, "a store of s while its tile holds p: expected a compute"},
        {SIM_STORE, FA_PD, TENSOR, FA_LSE, "this run of standard has no lse in HBM"},
        {SIM_STORE, FA_PD, ROWS, 2, "a store of pd, 2 x 2: the tile holds 3 x 2"},
        {SIM_LOAD, FA_PD, TENSOR, FA_DP, "this run of standard has no dp in HBM"},
        {SIM_COMPUTE, FA_OP_KEEP, OP, FA_OP_DROPOUT,
         "a compute dropout while dropout holds nothing"},
        {SIM_COMPUTE, FA_OP_KEEP, COLUMNS, 1, "a compute keep of 3 x 1: what it works on is 3 x 2"},
        {SIM_COMPUTE, FA_OP_DROPOUT, OP, FA_OP_KEEP,
         "a compute keep that writes p: expected dropout"},
        {SIM_COMPUTE, FA_OP_SOFTMAX_ROWS, OP, FA_OP_DROPOUT,
         "a compute dropout while the tile of p holds s"},
    };
    const struct edit none[] = {
        {SIM_COMPUTE, FA_OP_ACCUMULATE, OP, FA_OP_DROPOUT,
         "a compute dropout: this run has no dropout"},
    };
    standard.algorithm = &fa_standard;
    standard.problem.dropout_p = 0.5;
    refuse_edits(&standard, edits, sizeof edits / sizeof *edits);
    refuse_edits(&trace_case_small, none, 1);

    square.algorithm = &fa_square_tiling;
    square.problem.d = square.problem.dv = 3;
    square.problem.nq = square.br = 2;
    const struct edit parts[] = {
        {SIM_COMPUTE, FA_OP_START_S, ROWS, 3,
         "a compute start_s of 3 x 2 with 2 rows of s: expected"},
        {SIM_COMPUTE, FA_OP_SCORE_PART, COLUMNS, 1, "what it works on is 2 x 2"},
        {SIM_COMPUTE, FA_OP_ACCUMULATE_PART, ROWS, 1, "what it works on is 2 x 2"},
        {SIM_LOAD, FA_K, COLUMN, 2, "a load of k, 2 x 2 at (0, 2): it ends past the matrix"},
    };
    refuse_edits(&square, parts, sizeof parts / sizeof *parts);
    struct text text = text_of(&square);
    set(&text, find(&text, SIM_LOAD, FA_K), COLUMN, 2);
    set(&text, find(&text, SIM_LOAD, FA_K), COLUMNS, 1);
    refused(&text, -1, "a compute score_part of 2 columns of q with 1 of k: expected as many");
    free_text(&text);
}

/* Lines that are missing, too many, or in another order. */
static void moved_lines(void **state)
{
    (void)state;
    struct text text = text_of(&trace_case_small);
    int alloc = find(&text, SIM_ALLOC, FA_Q), start = find(&text, SIM_COMPUTE, FA_OP_START);
    int load = find(&text, SIM_LOAD, FA_K), score = find(&text, SIM_COMPUTE, FA_OP_SCORE);
    char *line;
    accepted(&text);
    refused(&text, 0, "stands there: expected a JSON object, a trace's header");
    refused(&text, alloc + 1, "a load of q, which is not on chip: expected an alloc before it");
    refused(&text, start + 1, "a compute absorb while o holds nothing: expected a load or a");
    refused(&text, load + 1, "a compute score while k holds nothing: expected a load or a compute");
    refused(&text, text.n - 1, "the file ends after 23 events: expected 24, as its header says");
    line = text.lines[load + 1];
    text.lines[load + 1] = text.lines[score + 1];
    text.lines[score + 1] = line;
    refused(&text, -1, "a compute score while k holds nothing");
    text.lines[score + 1] = text.lines[load + 1];
    text.lines[load + 1] = line;
    text.lines[text.n++] = strdup(line);
    refused(&text, -1, "line 26: \"[0,1,0,");
    refused(&text, -1, "expected the file's end, after as many events as its header says");
    replace(&text, load + 1, "[5,11,0,0,0,44,0,-1,0,0,0,0,0,0]");
    refused(&text, -1, "a skip of no tile: expected an i and a j of 0 or more");
    replace(&text, load + 1, "[5,1,0,0,0,44,0,0,0,0,0,0,0,0]");
    refused(&text, -1, "a skip of k, 0 x 0 at 0: expected s, 0 x 0 at 0");
    free_text(&text);

    text = text_of(&trace_case_small);
    set(&text, 0, KIND, SIM_REFUSE);
    line = strstr(text.lines[0], "\"sram_bytes\":4096");
    memcpy(line, "\"sram_bytes\":8   ", 17);
    refused(&text, -1, "line 3: \"[3,1,0");
    refused(&text, -1, "expected the file's end, since a refusal ends a run");
    free_text(&text);
}

/* Row-wise steps count in blocks of their own, which may be more than there are tiles. */
static void row_steps(void **state)
{
    (void)state;
    const struct sim_trace_header header = {
        .algorithm = &fa_standard,
        .problem = fa_problem_make(4, 9, 1),
        .tiles = {4, 9, 1, 2},
    };
    struct sim_event alloc = {.kind = SIM_ALLOC, .tensor = FA_S, .rows = 1, .columns = 2, .i = 3,
                              .j = 4};
    for (int past = 0; past < 2; past++) {
        struct sim_trace *trace = NULL, *loaded = NULL;
        struct fa_error error = {FA_OK, ""};
        alloc.j += (unsigned)past & 1;
        assert_int_equal(sim_trace_create(&header, &trace, NULL), FA_OK);
        assert_true(sim_trace_append(trace, &alloc));
        assert_int_equal(sim_trace_save(trace, path, NULL), FA_OK);
        enum fa_status status = sim_trace_load(path, &loaded, &error);
        assert_int_equal(status, past ? FA_BAD_FILE : FA_OK);
        assert_true(!past || strstr(error.text, "line 2: j is 5: expected -1 to 4"));
        sim_trace_free(trace);
        sim_trace_free(loaded);
    }
}

static void damaged_lines(void **state)
{
    (void)state;
    const struct {
        const char *line, *message;
    } edits[] = {
        {"", "it ends early: expected an event: [, then integers"},
        {"x", "\"x\" stands there: expected an event: [, then integers"},
        {"{\"kind\":0}", "\"{\"kind\":0}\" stands there: expected an event"},
        {"[", "it ends early: expected kind, an integer of at most 18 digits"},
        {"[0,0", "it ends early: expected a comma and op, number 3 of 14"},
        {"[0,0,0,1,0,44,0,0,-1,0,0,3,1]", "\"]\" stands there: expected a comma and place"},
        {"[0,0,0,1,0,44,0,0,-1,0,0,3,1,0,0]", "\",0]\" stands there: expected ] after 14"},
        {"[0,0,0,1,0,44,0,0,-1,0,0,3,1,0", "it ends early: expected ] after 14 integers"},
        {"[0,0,0,1,0,44,0,0,-1,0,0,3,1,0]]", "\"]\" stands there: expected the line's end"},
        {"[0,0,0,1,0,44,0,0,-1,0,0,3,1,0]\r", "\"?\" stands there: expected the line's end"},
        {"[0,0,0,1.0,0,44,0,0,-1,0,0,3,1,0]", "\"1.0,0,44,0,0,-1,0,0,3,1,0]\" stands there: "
                                              "expected step, an integer"},
        {"[0,0,0,1e0,0,44,0,0,-1,0,0,3,1,0]", "\"1e0,0,44"},
        {"[0,0,0,01,0,44,0,0,-1,0,0,3,1,0]", "\"01,0,44"},
        {"[-0,0,0,1,0,44,0,0,-1,0,0,3,1,0]", "\"-0,0,0,1"},
        {"[+0,0,0,1,0,44,0,0,-1,0,0,3,1,0]", "\"+0,0,0,1"},
        {"[0,0,0,1,0,44,0,0,null,0,0,3,1,0]", "\"null,0,0,3,1,0]\" stands there: expected j"},
        {"[0,0,0,1,0,44,0,0,-,0,0,3,1,0]", "\"-,0,0,3,1,0]\" stands there: expected j"},
        {"[0,0,0,1,0,44,0,0,-1,0,0,3,1,18446744073709551616]", "\"18446744073709551616]\" stands"},
        {"[0,0,0,1,0,44,0,0,-1,0,0,3,1,9999999999999999999]", "\"9999999999999999999]\" stands"},
        {"[0 0,0,1,0,44,0,0,-1,0,0,3,1,0]", "\"0,0,1,0,44"},
        {"[0,0,0,1,0,44,0,0,-1,0,0,3,1,0] \xc3\xa9", "\"??\" stands there: expected the line's"},
    };
    char where[32];
    for (size_t n = 0; n < sizeof edits / sizeof *edits; n++) {
        struct text text = text_of(&trace_case_small);
        int line = find(&text, SIM_LOAD, FA_Q) + 1;
        replace(&text, line, edits[n].line);
        snprintf(where, sizeof where, "t: line %d: ", line + 1);
        refused(&text, -1, edits[n].message);
        refused(&text, -1, where);
        free_text(&text);
    }
    struct text text = text_of(&trace_case_small);
    int line = find(&text, SIM_LOAD, FA_Q) + 1;
    replace(&text, line, " [ 0 ,0, 0,1,0,44,0,0,\t-1,0,0,3,1,0 ] ");
    accepted(&text);
    char *wide = malloc(70001);
    memset(wide, ' ', 70000);
    wide[70000] = '\0';
    replace(&text, line, wide);
    refused(&text, -1, "it has more than 65536 bytes: no line of a trace has");
    free(wide);
    free_text(&text);
}

/* Every way to cut a file, and what may stand after it. */
static void cut_files(void **state)
{
    (void)state;
    size_t n_bytes;
    char *bytes = saved(&trace_case_small, &n_bytes);
    refused_bytes(bytes, 0, "line 1: the file is empty: expected a trace's header");
    for (size_t n = 1; n < n_bytes; n++)
        refused_bytes(bytes, n, bytes[n - 1] == '\n' ? "the file ends after " :
                                                       "the file is cut here: expected a line");
    bytes[n_bytes] = '\n';
    refused_bytes(bytes, n_bytes + 1, "line 26: it ends early: expected the file's end");
    bytes[n_bytes] = ' ';
    refused_bytes(bytes, n_bytes + 1, "line 26: the file is cut here");
    free(bytes);
}

struct header_edit {
    const char *find, *put, *message;
};

static void refuse_headers(const struct trace_case *which, const struct header_edit *edits,
                           size_t n_edits)
{
    for (size_t n = 0; n < n_edits; n++) {
        struct text text = text_of(which);
        char *found = strstr(text.lines[0], edits[n].find), *made = malloc(CAPACITY);
        if (!found)
            fail_msg("the header has no %s: %s", edits[n].find, text.lines[0]);
        snprintf(made, CAPACITY, "%.*s%s%s", (int)(found - text.lines[0]), text.lines[0],
                 edits[n].put, found + strlen(edits[n].find));
        replace(&text, 0, made);
        refused(&text, -1, edits[n].message);
        free(made);
        free_text(&text);
    }
}

static void headers_that_lie(void **state)
{
    (void)state;
    const struct header_edit edits[] = {
        {"trace/1", "trace/2", "the header's \"schema\": expected flashlab.trace/1"},
        {"\"flash2\"", "\"flash9\"",
         "\"algorithm\": expected an algorithm of this version, not "
         "\"flash9\""},
        {"\"flash2\"", "5", "\"algorithm\": expected an algorithm of this version"},
        {"\"events\":24", "\"events\":23", "line 25: \"[4,0,0"},
        {"\"events\":24", "\"events\":25", "line 26: the file ends after 24 events: expected 25"},
        {"\"events\":24", "\"events\":-1", "\"events\": expected an integer of 0 or more"},
        {"\"events\":24", "\"events\":2.4e1", "\"events\": expected an integer of 0 or more"},
        {"\"events\":24,", "", "\"events\": expected an integer of 0 or more"},
        {"\"nq\":3", "\"nq\":2", "line 2: an alloc of q, 3 x 1: expected at most 2 x 1"},
        {"\"nq\":3", "\"nq\":-3", "the header's problem: nq is -3: expected 0 or more"},
        {"\"nq\":3", "\"nq\":\"3\"", "\"problem.nq\": expected an integer"},
        {"\"nq\":3", "\"nQ\":3", "\"problem.nq\": expected it to be there"},
        {"\"nq\":3", "\"nq\":3,\"nr\":3", "the header has \"problem\", or keys in it, that this"},
        {"\"nq\":3", "\"nq\":3,\"nq\":3", "expected a JSON object"},
        {"\"nq\":3", "\"nq\":536870912", "line 1: nq is 536870912: a trace expects at most"},
        {"\"kv_heads\":1", "\"kv_heads\":0", "the header's problem: kv_heads is 0"},
        {"\"heads\":1", "\"heads\":0", "head is 0: expected 0 to -1"},
        {"\"scale\":", "\"scale\":\"a\",\"x\":", "\"problem.scale\": expected a number"},
        {"\"dtype\":\"f32\"", "\"dtype\":\"u8\"", "\"problem.dtype\": expected f64, f32, f16 or"},
        {"\"dtype\":\"f32\"", "\"dtype\":\"f64\"", "line 3: an alloc of k, 16 bytes at 12: there"},
        {"\"causal\":\"none\"", "\"causal\":\"yes\"", "\"problem.causal\": expected none, bottom"},
        {"\"window\":null", "\"window\":[1]", "\"problem.window\": expected null or two integers"},
        {"\"window\":null", "\"window\":[-2,1]", "the header's problem: window_left is -2"},
        {"\"mask\":false", "\"mask\":0", "\"problem.mask\": expected true or false"},
        {"\"br\":3", "\"br\":0", "the header's tiles are 0 x 2 (row-wise "},
        {"\"br\":3", "\"br\":1", "line 2: an alloc of q, 3 x 1: expected at most 1 x 1, by"},
        {"\"sram_bytes\":4096", "\"sram_bytes\":16", "it ends past the 16 bytes"},
        {"\"sram_bytes\":4096", "\"sram_bytes\":-16", "\"machine.sram_bytes\": expected an"},
        {"\"seed\":7", "\"seed\":\"18446744073709551616\"", "\"seed\": expected an integer of 0"},
        {"\"seed\":7", "\"seed\":\"28446744073709551616\"", "\"seed\": expected an integer of 0"},
        {"\"seed\":7", "\"seed\":\"7\"", "\"seed\": expected an integer of 0 or more"},
        {"\"profile\":\"gauss\"", "\"profile\":\"a name of more than 23 bytes\"",
         "\"profile\": expected a text of at most 23 bytes"},
        {"\"version\":\"0.1.0\"", "\"version\":1", "\"version\": expected a text of at most 31"},
        {"[\"load\",", "[\"lord\",", "\"kinds\": expected \"load\" as number 0"},
        {"[\"q\",\"k\"", "[\"k\",\"q\"", "\"tensors\": expected \"q\" as number 0"},
        {"\"row_delta\"]", "\"row_delta\",\"more\"]", "\"ops\": expected a list of "},
        {",\"place\"]", "]", "\"fields\": expected a list of 14 names"},
        {"{\"schema\"", "[\"schema\"", "line 1: \"[\"schema\":"},
        {"{\"schema\"", "\xef\xbb\xbf{\"schema\"", "line 1: \"???{\"schema\":"},
    };
    refuse_headers(&trace_case_small, edits, sizeof edits / sizeof *edits);
}

/* What a header says of the pass, of dropout and of blocks. */
static void sparse_headers(void **state)
{
    (void)state;
    static const uint8_t visit[6] = {1, 0, 1, 1, 0, 1};
    static const struct fa_block_mask blocks = {2, 1, 3, 2, visit};
    struct trace_case which = trace_case_backward;
    which.problem.nq = 6;
    which.problem.blocks = &blocks;
    which.br = 2;
    which.bc = 1;
    const struct header_edit edits[] = {
        {"\"pass\":\"backward\"", "\"pass\":\"both\"", "\"pass\": expected forward or backward"},
        {"\"pass\":\"backward\"", "\"pass\":1", "\"pass\": expected forward or backward"},
        {"\"pass\":\"backward\",", "", "\"pass\": expected it to be there"},
        {"\"pass\":\"backward\"", "\"pass\":\"forward\"",
         "an alloc of do: this run of flash2 has no do"},
        {"\"flash2\"", "\"square-tiling\"",
         "\"pass\": expected forward: the algorithm has no other"},
        {"\"dropout\":{\"p\":0.5", "\"dropout\":{\"p\":0",
         "\"problem.dropout\": expected null, or p above 0 and up to 1, seed and mask"},
        {"\"dropout\":{\"p\":0.5", "\"dropout\":{\"p\":1.5",
         "\"problem.dropout\": expected null, or"},
        {"\"dropout\":{\"p\":0.5", "\"dropout\":{\"p\":null", "\"problem.dropout\": expected null"},
        {"\"p\":0.5,", "", "\"problem.dropout\": expected null, or p above"},
        {"\"p\":0.5,", "\"p\":0.5,\"q\":1,", "\"problem.dropout\": expected null, or p above"},
        {"\"seed\":5", "\"seed\":-5", "\"problem.dropout\": expected null, or p above"},
        {"\"seed\":5,\"mask\":false", "\"seed\":5,\"mask\":0",
         "\"problem.dropout\": expected null"},
        {"\"dropout\":{", "\"dropped\":{", "\"problem.dropout\": expected it to be there"},
        {"\"blocks\":{\"br\":2", "\"blocks\":{\"br\":0",
         "\"problem.blocks\": expected null, or br and bc of 1 or more and visit, a list of texts"},
        {"\"blocks\":{\"br\":2", "\"blocks\":{\"br\":3",
         "\"problem.blocks\": expected its visit to have 2 texts of 2 digits 0 and 1, by nq, nk"},
        {"\"blocks\":{\"br\":2", "\"blocks\":{\"b\":2", "\"problem.blocks\": expected null, or br"},
        {"\"blocks\":{\"br\":2", "\"blocks\":{\"b\":1,\"br\":2",
         "\"problem.blocks\": expected null"},
        {"\"10\"", "\"12\"", "\"problem.blocks\": expected its visit to have 3 texts of 2 digits"},
        {"\"10\"", "\"100\"", "\"problem.blocks\": expected its visit to have 3 texts of 2 digits"},
        {"\"10\"", "\"1\\u0000\"", "stands there: expected a JSON object, a trace's header"},
        {"\"10\"", "10", "\"problem.blocks\": expected its visit to have 3 texts of 2 digits"},
        {"\"10\",", "", "\"problem.blocks\": expected its visit to have 3 texts of 2 digits"},
        {"\"nq\":6", "\"nq\":-6", "\"problem.blocks\": expected null, or br"},
        {"\"blocks\":{", "\"block\":{", "\"problem.blocks\": expected it to be there"},
        {"\"profile\":", "\"profil\":", "\"profile\": expected it to be there"},
    };
    struct text text = text_of(&which);
    accepted(&text);
    assert_non_null(strstr(text.lines[0], "\"algorithm\":\"flash2\",\"pass\":\"backward\""));
    assert_non_null(strstr(text.lines[0], "\"dropout\":{\"p\":0.5,\"seed\":5,\"mask\":false}"));
    assert_non_null(strstr(text.lines[0], "\"blocks\":{\"br\":2,\"bc\":1,\"visit\":[\"10\",\"11\","
                                          "\"01\"]}"));
    free_text(&text);
    text = text_of(&trace_case_small);
    assert_non_null(strstr(text.lines[0], "\"pass\":\"forward\""));
    assert_non_null(strstr(text.lines[0], "\"dropout\":null,\"blocks\":null"));
    free_text(&text);
    refuse_headers(&which, edits, sizeof edits / sizeof *edits);
}

static void files_and_folders(void **state)
{
    (void)state;
    struct sim_trace *trace = run(&trace_case_small), *loaded = (struct sim_trace *)state;
    struct fa_error error;
    char other[360];
    struct stat facts;
    snprintf(other, sizeof other, "%s/missing/t.jsonl", folder);
    assert_int_equal(sim_trace_save(trace, other, &error), FA_IO);
    assert_non_null(strstr(error.text, "cannot be made"));
    assert_int_equal(sim_trace_load(other, &loaded, &error), FA_IO);
    assert_non_null(strstr(error.text, "cannot be opened"));
    assert_int_equal(sim_trace_save(trace, folder, &error), FA_IO);
    assert_non_null(strstr(error.text, "is not a regular file: it is not written over"));
    assert_int_equal(sim_trace_load(folder, &loaded, &error), FA_IO);
    assert_non_null(strstr(error.text, "is not a regular file: expected a saved trace"));
    assert_int_equal(sim_trace_save(trace, "/dev/full", &error), FA_IO);
    assert_ptr_equal(loaded, state);

    assert_int_equal(sim_trace_save(trace, path, &error), FA_OK);
    assert_int_equal(sim_trace_save(trace, path, &error), FA_OK);
    snprintf(other, sizeof other, "%s.part-%ld", path, (long)getpid());
    assert_int_not_equal(stat(other, &facts), 0);
    struct rlimit old, tight;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = old;
    tight.rlim_cur = 1000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    assert_int_equal(sim_trace_save(trace, path, &error), FA_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_non_null(strstr(error.text, "cannot be written: File too large"));
    assert_int_not_equal(stat(other, &facts), 0);
    assert_int_equal(sim_trace_load(path, &loaded, &error), FA_OK); /* the one from before */
    same_trace(trace, loaded);
    sim_trace_free(loaded);
    loaded = (struct sim_trace *)state;
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(truncate(path, facts.st_size - 20), 0);
    assert_int_equal(sim_trace_load(path, &loaded, &error), FA_BAD_FILE);
    assert_non_null(strstr(error.text, path));
    assert_ptr_equal(loaded, state);
    sim_trace_free(trace);
}

static int make_folder(void **state)
{
    const char *parent = getenv("TMPDIR");
    (void)state;
    snprintf(folder, sizeof folder, "%s/flashlab-test-XXXXXX",
             parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.jsonl", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),         cmocka_unit_test(hard_headers),
        cmocka_unit_test(many_blocks),         cmocka_unit_test(one_number),
        cmocka_unit_test(one_number_backward), cmocka_unit_test(one_number_unfused),
        cmocka_unit_test(moved_lines),         cmocka_unit_test(row_steps),
        cmocka_unit_test(damaged_lines),       cmocka_unit_test(cut_files),
        cmocka_unit_test(headers_that_lie),    cmocka_unit_test(sparse_headers),
        cmocka_unit_test(files_and_folders),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
