/*
 * What holds of every verb of every algorithm, whatever the problem: tiles are clipped and never
 * padded, each tile of the score matrix is visited or skipped, and the place says where it stands.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/visibility.h"
#include "tests/random_case.h"
#include "tests/recording_port.h"

/* One head's score matrix, element by element, and tile by tile. */
struct audit {
    const struct fa_algorithm *algorithm;
    int64_t tr, tc;
    int *scored;  /* [nq, nk]: times that a score was computed */
    int *stored;  /* [nq, dv]: times that an element of O was stored, after its start */
    int *skipped; /* [tr, tc] */
    int64_t verbs;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A tile that is loaded or stored has just what the matrix has left, up to its capacity. */
static void check_move(struct audit *audit, const struct fa_port *port,
                       const struct recorded *recorded)
{
    const struct fa_tile *tile = &port->tile[recorded->id];
    const struct fa_tensor *tensor = &port->run->tensor[recorded->id];
    assert_true(recorded->row >= 0 && recorded->row < tensor->shape[2]);
    assert_true(recorded->column >= 0 && recorded->column < tensor->shape[3]);
    assert_int_equal(tile->rows, least(tile->row_capacity, tensor->shape[2] - recorded->row));
    assert_int_equal(tile->columns,
                     least(tile->column_capacity, tensor->shape[3] - recorded->column));
    if (recorded->verb == RECORDED_STORE && recorded->id == FA_O)
        for (int64_t r = 0; r < tile->rows; r++)
            for (int64_t c = 0; c < tile->columns; c++)
                audit->stored[(recorded->row + r) * tensor->shape[3] + recorded->column + c]++;
}

static void check_score(struct audit *audit, const struct fa_port *port)
{
    const struct fa_run *run = port->run;
    const struct fa_tile *s = &port->tile[FA_S];
    int64_t row = port->at.i * run->tiles.br, column = port->at.j * run->tiles.bc;
    assert_int_equal(s->rows, least(run->tiles.br, run->problem.nq - row));
    assert_int_equal(s->columns, least(run->tiles.bc, run->problem.nk - column));
    for (int64_t r = 0; r < s->rows; r++)
        for (int64_t c = 0; c < s->columns; c++)
            audit->scored[(row + r) * run->problem.nk + column + c]++;
}

static void observe(void *context, const struct fa_port *port, const struct recorded *recorded)
{
    struct audit *audit = context;
    const struct fa_run *run = port->run;
    audit->verbs++;
    assert_in_range(port->at.step, 0, audit->algorithm->n_steps - 1);
    assert_in_range(audit->algorithm->steps[port->at.step].phase, 0,
                    audit->algorithm->n_phases - 1);
    switch (recorded->verb) {
    case RECORDED_LOAD:
    case RECORDED_STORE:
        check_move(audit, port, recorded);
        return;
    case RECORDED_COMPUTE:
        /* A score that is formed in parts is there once it is scaled. */
        if (recorded->op == FA_OP_SCORE || recorded->op == FA_OP_SCALE_S)
            check_score(audit, port);
        return;
    case RECORDED_SKIP:
        assert_true(recorded->i < recorded->i_end && recorded->j < recorded->j_end);
        assert_true(recorded->i >= 0 && recorded->i_end <= audit->tr);
        assert_true(recorded->j >= 0 && recorded->j_end <= audit->tc);
        for (int64_t i = recorded->i; i < recorded->i_end; i++)
            for (int64_t j = recorded->j; j < recorded->j_end; j++)
                audit->skipped[i * audit->tc + j]++;
        return;
    case RECORDED_ALLOC: /* never for more than a matrix has */
        assert_true(recorded->row <=
                    (run->problem.nq > run->problem.nk ? run->problem.nq : run->problem.nk));
        return;
    case RECORDED_FREE:
    case RECORDED_REVEAL:
        return;
    }
}

/* How often an algorithm forms a score of a tile that it visits. */
static int scores_of(const struct fa_algorithm *algorithm)
{
    return algorithm == &fa_fused_save_p ? 2 : 1;
}

/* Every element is in a tile that is either scored or skipped, and is visible in the first only. */
static void check_coverage(const struct audit *audit, const struct fa_run *run)
{
    const struct fa_problem *p = &run->problem;
    for (int64_t r = 0; r < p->nq; r++) {
        struct fa_span seen = fa_visible_keys(p, r);
        for (int64_t c = 0; c < p->nk; c++) {
            int skips = audit->skipped[r / run->tiles.br * audit->tc + c / run->tiles.bc];
            int scores = audit->scored[r * p->nk + c];
            assert_true(skips == 0 || skips == 1);
            assert_int_equal(scores, skips ? 0 : scores_of(audit->algorithm));
            assert_true(scores > 0 || fa_outside(seen, c));
        }
    }
    for (int64_t e = 0; audit->algorithm != &fa_flash1 && e < p->nq * p->dv; e++)
        assert_int_equal(audit->stored[e], 1);
}

static void audit_one(const struct fa_algorithm *algorithm, const struct fa_problem *problem,
                      const struct fa_tiles *tiles)
{
    struct recording_port recording;
    struct fa_port *port = &recording.port;
    struct fa_run run;
    struct audit audit = {.algorithm = algorithm};
    audit.tr = (problem->nq + tiles->br - 1) / tiles->br;
    audit.tc = (problem->nk + tiles->bc - 1) / tiles->bc;
    audit.scored = calloc((size_t)(problem->nq * problem->nk + 1), sizeof *audit.scored);
    audit.stored = calloc((size_t)(problem->nq * problem->dv + 1), sizeof *audit.stored);
    audit.skipped = calloc((size_t)(audit.tr * audit.tc + 1), sizeof *audit.skipped);
    assert_true(audit.scored && audit.stored && audit.skipped);
    assert_int_equal(
        fa_run_open(&run, algorithm, problem, tiles, NULL, NULL, NULL, NULL, NULL, false, NULL),
        FA_OK);
    recording_port_open(&recording, &run);
    recording.observe = observe;
    recording.context = &audit;
    assert_int_equal(fa_execute(algorithm, &port, 1, 1, NULL, NULL), FA_OK);
    check_coverage(&audit, &run);
    for (int id = 0; id < FA_TENSORS; id++)
        assert_true(!port->tile[id].live || port->tile[id].alias); /* all was given back */
    assert_int_equal(audit.verbs, recording.verbs);
    recording_port_close(&recording);
    fa_run_close(&run);
    free(audit.scored);
    free(audit.stored);
    free(audit.skipped);
}

static void every_verb_of_random_problems(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct random_stream stream = {seed};
        struct attention_case attention;
        random_case_make(&attention, seed, FA_F32);
        if (attention.problem.batch * attention.problem.heads > 0 && attention.problem.nk > 0)
            for (int a = 0; a < FA_ALGORITHMS; a++) {
                struct fa_tiles tiles = {
                    random_between(&stream, 1, 30), random_between(&stream, 1, 30),
                    random_between(&stream, 1, 30), random_between(&stream, 1, 90)};
                audit_one(fa_algorithms[a], &attention.problem, &tiles);
            }
        attention_case_free(&attention);
    }
}

/* Without keys there is nothing to load, and O and LSE are stored all the same. */
static void no_keys(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(3, 0, 2);
    struct recording_port recording;
    struct fa_port *port = &recording.port;
    struct fa_run run;
    assert_int_equal(fa_run_open(&run, &fa_flash2, &problem, &(struct fa_tiles){2, 2, 1, 1}, NULL,
                                 NULL, NULL, NULL, NULL, false, NULL),
                     FA_OK);
    recording_port_open(&recording, &run);
    assert_int_equal(fa_execute(&fa_flash2, &port, 1, 1, NULL, NULL), FA_OK);
    assert_null(strstr(recording.log, "load"));
    assert_non_null(strstr(recording.log, "store o[0:2, 0:2]"));
    assert_non_null(strstr(recording.log, "store lse[2:3, 0:1]"));
    recording_port_close(&recording);
    fa_run_close(&run);
}

/* The lines of an algorithm's source that say which step comes next. */
struct source {
    char line[400][256];
    int n;
};

static void read_source(struct source *source, const char *file)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", FLASHLAB_SOURCE_DIR, file);
    FILE *stream = fopen(path, "rb");
    if (!stream)
        fail_msg("%s cannot be read", path);
    source->n = 0;
    while (source->n < 400 && fgets(source->line[source->n], 256, stream))
        source->n++;
    fclose(stream);
}

static void check_line(void *context, const struct fa_port *port, const struct recorded *recorded)
{
    const struct source *source = context;
    (void)recorded;
    assert_in_range(port->at.line, 1, source->n);
    if (!strstr(source->line[port->at.line - 1], "fa_step(port, "))
        fail_msg("line %d, where a verb claims to stand, is no step: %s", (int)port->at.line,
                 source->line[port->at.line - 1]);
}

/* A trace points into the source: the line that it names must be one that sets a step. */
static void lines_are_those_of_the_source(void **state)
{
    (void)state;
    struct source *source = malloc(sizeof *source);
    assert_non_null(source);
    struct fa_tensor bias = fa_tensor_view(FA_F32, (int64_t[]){1, 1, 5, 5}, NULL);
    struct fa_tensor mask = fa_tensor_view(FA_U8, (int64_t[]){1, 1, 5, 5}, NULL);
    struct fa_problem problem = fa_problem_make(5, 5, 2);
    problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    problem.bias = &bias;
    problem.mask = &mask;
    for (int a = 0; a < FA_ALGORITHMS; a++) {
        struct recording_port recording;
        struct fa_port *port = &recording.port;
        struct fa_run run;
        read_source(source, fa_algorithms[a]->file);
        assert_int_equal(fa_run_open(&run, fa_algorithms[a], &problem,
                                     &(struct fa_tiles){2, 2, 2, 3}, NULL, NULL, NULL, NULL, NULL,
                                     false, NULL),
                         FA_OK);
        recording_port_open(&recording, &run);
        recording.observe = check_line;
        recording.context = source;
        assert_int_equal(fa_execute(fa_algorithms[a], &port, 1, 1, NULL, NULL), FA_OK);
        recording_port_close(&recording);
        fa_run_close(&run);
    }
    free(source);
}

/* Whichever verb fails is the last one, and its error is the run's. */
static void after_an_error_nothing_happens(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(5, 5, 2);
    problem.causal = FA_CAUSAL_TOP_LEFT;
    problem.heads = 2;
    for (int a = 0; a < FA_ALGORITHMS; a++)
        for (int64_t fail_at = 1;; fail_at++) {
            struct recording_port recording;
            struct fa_port *port = &recording.port;
            struct fa_error error = {FA_OK, ""};
            struct fa_run run;
            char text[64];
            assert_int_equal(fa_run_open(&run, fa_algorithms[a], &problem,
                                         &(struct fa_tiles){2, 3, 2, 3}, NULL, NULL, NULL, NULL,
                                         NULL, false, NULL),
                             FA_OK);
            recording_port_open(&recording, &run);
            recording.fail_at = fail_at;
            enum fa_status status = fa_execute(fa_algorithms[a], &port, 1, 2, NULL, &error);
            int64_t verbs = recording.verbs;
            recording_port_close(&recording);
            fa_run_close(&run);
            if (status == FA_OK) {
                assert_true(fail_at > 100); /* past the last verb */
                break;
            }
            snprintf(text, sizeof text, "verb %" PRId64 " failed", fail_at);
            assert_int_equal(status, FA_NO_MEMORY);
            assert_int_equal(error.status, FA_NO_MEMORY);
            assert_string_equal(error.text, text);
            assert_int_equal(verbs, fail_at);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_of_random_problems),
        cmocka_unit_test(no_keys),
        cmocka_unit_test(lines_are_those_of_the_source),
        cmocka_unit_test(after_an_error_nothing_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
