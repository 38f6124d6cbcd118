/* What happened to a tile, a score and a line by a position: against a look at every event
 * before it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/visibility.h"
#include "tests/view_case.h"
#include "tests/view_traced.h"

static bool meets(int64_t first, int64_t n, int64_t tile, int64_t size)
{
    return first < (tile + 1) * size && first + n > tile * size;
}

/* K, V and their gradients are one for a group of query heads. */
static bool same_head(const struct view_run *run, enum fa_tensor_id id, int64_t a, int64_t b)
{
    const struct fa_problem *p = &view_run_header(run)->problem;
    bool shared = id == FA_K || id == FA_V || id == FA_DK || id == FA_DV;
    int64_t group = shared ? p->heads / p->kv_heads : 1;
    return a / group == b / group;
}

/* By definition: the loads and stores that meet the tile. */
static struct view_tile_past count_past(const struct view_run *run, enum fa_tensor_id id,
                                        int64_t head, int64_t row, int64_t column, uint64_t landed)
{
    struct view_tile_past past = {.last = UINT64_MAX};
    int64_t rows, columns;
    view_run_tiling(run, id, &rows, &columns);
    for (uint64_t e = 0; e < view_run_length(run); e++) {
        const struct sim_event *event = view_run_event(run, e);
        if ((event->kind != SIM_LOAD && event->kind != SIM_STORE) ||
            event->tensor != (unsigned)id || !same_head(run, id, event->head, head) ||
            !meets(event->row, event->rows, row, rows) ||
            !meets(event->column, event->columns, column, columns))
            continue;
        bool load = event->kind == SIM_LOAD;
        past.loads_in_all += load;
        past.stores_in_all += !load;
        if (e >= landed)
            continue;
        past.loads += load;
        past.stores += !load;
        past.last = e;
        if (!load) {
            int64_t end = (int64_t)(event->row + event->rows) - row * rows;
            past.rows_stored = end < rows ? end : rows;
        }
    }
    return past;
}

static void check_pasts(const struct view_run *run, const char *name, uint64_t landed)
{
    int64_t heads = view_run_heads(run);
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        int64_t rows, columns, tile_rows, tile_columns;
        view_run_shape(run, (enum fa_tensor_id)id, &rows, &columns);
        view_run_tiling(run, (enum fa_tensor_id)id, &tile_rows, &tile_columns);
        for (int64_t i = 0; i * tile_rows < rows; i += 2)
            for (int64_t j = 0; j * tile_columns < columns; j++) {
                int64_t head = (i + j) % heads;
                struct view_tile_past got =
                    view_run_past(run, (enum fa_tensor_id)id, head, i, j, landed);
                struct view_tile_past expected =
                    count_past(run, (enum fa_tensor_id)id, head, i, j, landed);
                if (got.loads != expected.loads || got.stores != expected.stores ||
                    got.loads_in_all != expected.loads_in_all ||
                    got.stores_in_all != expected.stores_in_all || got.last != expected.last ||
                    got.rows_stored != expected.rows_stored)
                    fail_msg("%s: %s tile (%d, %d) of head %d after %d: %u of %u loads, %u of %u "
                             "stores, %d rows; expected %u of %u, %u of %u, %d",
                             name, fa_tensor_name((enum fa_tensor_id)id), (int)i, (int)j, (int)head,
                             (int)landed, got.loads, got.loads_in_all, got.stores,
                             got.stores_in_all, (int)got.rows_stored, expected.loads,
                             expected.loads_in_all, expected.stores, expected.stores_in_all,
                             (int)expected.rows_stored);
            }
    }
}

/* Bytes by line, step and tensor of the events [first, end). */
struct sums {
    uint64_t line[4096], step[256], read[FA_HBM_TENSORS], write[FA_HBM_TENSORS];
    bool skips;
};

static void add_events(const struct view_run *run, uint64_t first, uint64_t end, struct sums *sums)
{
    memset(sums, 0, sizeof *sums);
    for (uint64_t e = first; e < end; e++) {
        const struct sim_event *event = view_run_event(run, e);
        enum fa_tensor_id id = (enum fa_tensor_id)event->tensor;
        sums->skips |= event->kind == SIM_SKIP;
        if (event->kind != SIM_LOAD && event->kind != SIM_STORE)
            continue;
        uint64_t bytes = (uint64_t)event->rows * event->columns *
                         fa_dtype_bytes(fa_hbm_format(&view_run_header(run)->problem, id));
        sums->line[event->line] += bytes;
        sums->step[event->step] += bytes;
        (event->kind == SIM_LOAD ? sums->read : sums->write)[id == FA_PD ? FA_P : id] += bytes;
    }
}

static void check_sums(const struct view_run *run, uint64_t landed)
{
    static struct sums sums;
    add_events(run, 0, landed, &sums);
    for (int line = 0; line < 4096; line++)
        assert_int_equal(view_run_line_bytes(run, line, landed), sums.line[line]);
    for (int step = 0; step < 256; step++)
        assert_int_equal(view_run_step_bytes(run, step, landed), sums.step[step]);
}

static void check_track(const struct view_run *run, uint64_t first, uint64_t end, int n)
{
    static struct sums sums;
    struct view_track_bin *bins = calloc((size_t)n, sizeof *bins);
    assert_non_null(bins);
    view_run_track(run, first, end, bins, n);
    for (int b = 0; b < n; b++) {
        uint64_t from = first + (end - first) * (uint64_t)b / (uint64_t)n;
        uint64_t to = first + (end - first) * (uint64_t)(b + 1) / (uint64_t)n;
        add_events(run, from, to, &sums);
        assert_memory_equal(bins[b].read, sums.read, sizeof sums.read);
        assert_memory_equal(bins[b].write, sums.write, sizeof sums.write);
        assert_int_equal(bins[b].skips, sums.skips);
    }
    free(bins);
}

static void check_units(const struct view_run *run)
{
    uint64_t n = view_run_units(run), length = view_run_length(run), at = 0;
    for (uint64_t u = 0; u < n; u++) {
        struct view_unit unit = view_run_unit(run, u);
        assert_int_equal(unit.first, at);
        assert_true(unit.end > unit.first);
        for (uint64_t e = unit.first; e < unit.end; e++) {
            assert_int_equal(view_run_unit_of(run, e), u);
            assert_int_equal(view_run_event(run, e)->head, unit.head);
        }
        at = unit.end;
    }
    assert_int_equal(at, length);
}

/* Every algorithm, forward and backward, over all shapes. */
static void all_cases(void **state)
{
    (void)state;
    int n_cases;
    const struct trace_case *cases = trace_cases(&n_cases);
    for (int n = 0; n < n_cases; n++) {
        if (strcmp(cases[n].name, "plain") == 0)
            continue; /* long, and nothing that the others are without */
        struct view_run *run = view_traced_adopt(&cases[n]);
        uint64_t length = view_run_length(run);
        check_units(run);
        for (uint64_t landed = 0; landed <= length; landed += 1 + length / 3) {
            check_pasts(run, cases[n].name, landed);
            check_sums(run, landed);
        }
        check_track(run, 0, length, 7);
        check_track(run, length / 3, length - length / 5, 31);
        assert_string_equal(view_run_no_values(run), "Counted alone.");
        view_run_close(run);
    }
}

/* More events than lie between two sums. */
static void long_track(void **state)
{
    (void)state;
    struct trace_case which = trace_case_small;
    which.problem.nq = which.problem.nk = 96;
    which.br = which.bc = 2;
    struct view_run *run = view_traced_adopt(&which);
    uint64_t length = view_run_length(run);
    assert_true(length > 10000);
    check_track(run, 0, length, 3);
    check_track(run, 511, 9217, 5);
    check_track(run, 512, 9216, 4000);
    check_sums(run, 5000);
    check_sums(run, length);
    view_run_close(run);
}

/* flash2 of 4 x 4 tiles: an outer iteration loads its Q once, and each K and V. */
static void flash2_by_hand(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&(struct view_case){0});
    uint64_t landed;
    assert_int_equal(view_run_tr(run), 4);
    assert_int_equal(view_run_tc(run), 4);
    assert_int_equal(view_run_units(run), 4);
    for (uint64_t u = 0; u < 4; u++) {
        char title[32];
        struct view_unit unit = view_run_unit(run, u);
        snprintf(title, sizeof title, "i = %d", (int)u);
        assert_string_equal(unit.title, title);
        assert_int_equal(unit.index, u);
        assert_int_equal(unit.end - unit.first, view_run_length(run) / 4);
    }
    assert_int_equal(view_run_find_tile(run, 1, 2, &landed, NULL), FA_OK);
    const struct sim_event *event = view_run_event(run, landed - 1);
    assert_int_equal(event->op, FA_OP_ACCUMULATE);
    struct view_tile_past past = view_run_past(run, FA_K, 0, 2, 0, landed);
    assert_int_equal(past.loads, 2);
    assert_int_equal(past.loads_in_all, 4);
    assert_int_equal(past.stores_in_all, 0);
    past = view_run_past(run, FA_O, 0, 1, 0, landed);
    assert_int_equal(past.stores, 0);
    assert_int_equal(past.stores_in_all, 1);
    assert_int_equal(past.last, UINT64_MAX);
    past = view_run_past(run, FA_O, 0, 0, 0, landed);
    assert_int_equal(past.stores, 1);
    assert_int_equal(past.rows_stored, 4);
    int times;
    bool cut;
    assert_int_equal(view_run_score(run, 0, 1, 2, landed, &cut, &times), VIEW_SCORE_NOW);
    assert_int_equal(times, 1);
    assert_false(cut);
    assert_int_equal(view_run_score(run, 0, 1, 1, landed, NULL, NULL), VIEW_SCORE_DONE);
    assert_int_equal(view_run_score(run, 0, 1, 3, landed, NULL, &times), VIEW_SCORE_AHEAD);
    assert_int_equal(times, 0);
    int64_t rows, columns;
    view_run_shape(run, FA_S, &rows, &columns);
    assert_int_equal(rows, 0);
    view_run_tiling(run, FA_S, &rows, &columns);
    assert_int_equal(rows, 4);
    assert_int_equal(columns, 4);
    view_run_close(run);
}

static void find_tile_errors(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&(struct view_case){.causal = true});
    struct fa_error error;
    uint64_t landed = 77;
    assert_int_equal(view_run_find_tile(run, 4, 0, &landed, &error), FA_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "query tiles 0 to 3 and key tiles 0 to 3"));
    assert_int_equal(view_run_find_tile(run, -1, 0, &landed, &error), FA_BAD_ARGUMENT);
    assert_int_equal(view_run_find_tile(run, 0, 3, &landed, &error), FA_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "skipped"));
    assert_int_equal(landed, 77);
    view_run_close(run);
}

static void causal_scores(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&(struct view_case){.causal = true});
    uint64_t length = view_run_length(run);
    bool cut;
    for (int64_t i = 0; i < 4; i++)
        for (int64_t j = 0; j < 4; j++) {
            enum view_score score = view_run_score(run, 0, i, j, length, &cut, NULL);
            assert_int_equal(score, j > i ? VIEW_SCORE_SKIPPED : VIEW_SCORE_DONE);
            assert_int_equal(cut, i == j);
            assert_int_equal(view_run_hidden(run, i, j), j > i);
            assert_int_equal(view_run_score(run, 0, i, j, 0, NULL, NULL), VIEW_SCORE_AHEAD);
        }
    view_run_close(run);
}

/* flash1: one unit sets up, then one a key tile; O and its statistics travel at each visit. */
static void flash1_by_hand(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&(struct view_case){.algorithm = "flash1"});
    assert_int_equal(view_run_units(run), 5);
    assert_string_equal(view_run_unit(run, 0).title, "set up");
    assert_string_equal(view_run_unit(run, 1).title, "j = 0");
    assert_string_equal(view_run_unit(run, 4).title, "j = 3");
    assert_int_equal(view_run_unit(run, 0).index, -1);
    struct view_tile_past past = view_run_past(run, FA_O, 0, 3, 0, view_run_length(run));
    assert_int_equal(past.loads, 4);
    assert_int_equal(past.stores, 5);
    past = view_run_past(run, FA_K, 0, 3, 0, view_run_length(run));
    assert_int_equal(past.loads, 1);
    past = view_run_past(run, FA_M, 0, 2, 0, view_run_unit(run, 1).first);
    assert_int_equal(past.stores, 1);
    assert_int_equal(past.loads, 0);
    view_run_close(run);
}

/* standard: the softmax takes blocks of rows that are no tiles, and writes a tile of P bit by
 * bit. */
static void standard_by_hand(void **state)
{
    (void)state;
    struct view_run *run =
        view_case_open(&(struct view_case){.algorithm = "standard", .sram = 3 * 16 * 4 + 80});
    struct fa_tiles tiles = view_run_tiles(run);
    assert_true(tiles.row_block < 4);
    uint64_t softmax = UINT64_MAX;
    for (uint64_t u = 0; u < view_run_units(run) && softmax == UINT64_MAX; u++)
        if (view_run_unit(run, u).phase == 3)
            softmax = u;
    assert_int_equal(softmax, 4);
    struct view_unit unit = view_run_unit(run, softmax);
    char title[32];
    if (tiles.row_block > 1)
        snprintf(title, sizeof title, "rows 0 to %d", (int)tiles.row_block - 1);
    else
        snprintf(title, sizeof title, "row 0");
    assert_string_equal(unit.title, title);
    struct view_tile_past past = view_run_past(run, FA_P, 0, 0, 3, unit.end);
    assert_true(past.stores >= 1);
    assert_int_equal(past.rows_stored, tiles.row_block);
    assert_int_equal(view_run_past(run, FA_P, 0, 1, 3, unit.end).stores, 0);
    assert_int_equal(view_run_past(run, FA_S, 0, 0, 0, unit.first).stores, 1);
    assert_int_equal(view_run_past(run, FA_P, 0, 0, 3, view_run_length(run)).rows_stored, 4);
    int64_t rows, columns;
    view_run_shape(run, FA_P, &rows, &columns);
    assert_int_equal(rows, 16);
    assert_int_equal(columns, 16);
    view_run_close(run);
}

static void backward_units(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&(struct view_case){.backward = true});
    uint64_t landed;
    int times;
    assert_true(view_run_backward(run));
    assert_int_equal(view_run_units(run), 4 + 1 + 4);
    assert_string_equal(view_run_unit(run, 3).title, "i = 3");
    assert_string_equal(view_run_unit(run, 4).title, "set up");
    assert_string_equal(view_run_unit(run, 5).title, "j = 0");
    assert_int_equal(view_run_unit(run, 3).phase, 0);
    assert_int_equal(view_run_unit(run, 5).phase, 1);
    assert_int_equal(view_run_find_tile(run, 2, 1, &landed, NULL), FA_OK);
    assert_int_equal(view_run_event(run, landed - 1)->op, FA_OP_GRAD_Q);
    view_run_score(run, 0, 2, 1, landed, NULL, &times);
    assert_int_equal(times, 1);
    assert_int_equal(view_run_past(run, FA_DQ, 0, 2, 0, landed).stores, 2);
    view_run_close(run);
}

/* How often a tile is computed: fused-save-p has two passes, and square tiling forms it from
 * parts. */
static void times_computed(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm;
        int times;
    } cases[] = {{"fused-save-p", 2}, {"square-tiling", 1}, {"standard", 1}};
    for (int n = 0; n < 3; n++) {
        struct view_run *run =
            view_case_open(&(struct view_case){.algorithm = cases[n].algorithm, .d = 8});
        int times;
        assert_int_equal(view_run_score(run, 0, 3, 3, view_run_length(run), NULL, &times),
                         VIEW_SCORE_DONE);
        assert_int_equal(times, cases[n].times);
        view_run_close(run);
    }
    struct view_run *run =
        view_case_open(&(struct view_case){.algorithm = "standard", .backward = true});
    assert_int_equal(view_run_score(run, 0, 3, 3, view_run_length(run), NULL, NULL),
                     VIEW_SCORE_DONE);
    view_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cases),        cmocka_unit_test(long_track),
        cmocka_unit_test(flash2_by_hand),   cmocka_unit_test(find_tile_errors),
        cmocka_unit_test(causal_scores),    cmocka_unit_test(flash1_by_hand),
        cmocka_unit_test(standard_by_hand), cmocka_unit_test(backward_units),
        cmocka_unit_test(times_computed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
