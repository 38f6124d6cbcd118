/* Events in words: every event of every algorithm has its sentence, and known events have known
 * ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/view_case.h"
#include "tests/view_traced.h"
#include "visualizer/sentence.h"

static size_t characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* A verb, "Row" or "No row", a count, or the tile that gains something. */
static bool starts_well(const char *text)
{
    static const char *const first[] = {
        "Load ", "Store ", "Score ", "Compute ", "Make ", "Turn ", "Set ", "Take ", "Absorb ",
        "Softmax ", "Divide ", "Form ", "Add ", "Hide ", "Scale ", "Drop ", "Draw ", "Reserve ",
        "Free ", "Skip ", "Refused: ", "Done: ", "Row ", "No row "};
    for (size_t f = 0; f < sizeof first / sizeof *first; f++)
        if (strncmp(text, first[f], strlen(first[f])) == 0)
            return true;
    return (text[0] >= '0' && text[0] <= '9') || strstr(text, " gains ") != NULL;
}

static void check_all(struct view_run *run, const char *name, uint64_t stride)
{
    const struct fa_problem *problem = &view_run_header(run)->problem;
    uint64_t length = view_run_length(run);
    struct view_sentence sentence;

    for (uint64_t e = 0; e <= length; e = e < length && e + stride > length ? length : e + stride) {
        view_sentence(run, e, true, &sentence);
        size_t n = strlen(sentence.text);
        if (n < 10 || characters(sentence.text) > VIEW_SENTENCE_MOST ||
            sentence.text[n - 1] != '.' || !starts_well(sentence.text) ||
            strstr(sentence.text, "  ") || strchr(sentence.text, '-'))
            fail_msg("%s, event %llu: \"%s\"", name, (unsigned long long)e, sentence.text);
        assert_false(sentence.bad);
        if (e == length)
            break;
        const struct sim_event *event = view_run_event(run, e);
        bool moves = event->kind == SIM_LOAD || event->kind == SIM_STORE;
        assert_int_equal(sentence.kind, event->kind);
        assert_int_equal(sentence.read, event->kind == SIM_LOAD);
        assert_int_equal(sentence.elements, moves ? event->rows * event->columns : 0);
        if (moves)
            assert_int_equal(sentence.bytes,
                             sentence.elements * fa_dtype_bytes(fa_hbm_format(
                                                     problem, (enum fa_tensor_id)event->tensor)));
        else
            assert_int_equal(sentence.bytes, 0);
        char tile[VIEW_TILE_NAME];
        view_tile_name(run, event, tile);
        if ((moves || event->kind == SIM_SKIP) && !strstr(sentence.text, tile))
            fail_msg("%s, event %llu: \"%s\" does not name %s", name, (unsigned long long)e,
                     sentence.text, tile);
    }
}

/* All algorithms, both passes: ragged tiles, masks, bias, dropout, blocks, groups, chunks,
 * refusals. */
static void every_event_has_a_sentence(void **state)
{
    int n;
    const struct trace_case *cases = trace_cases(&n);
    (void)state;
    assert_true(n > 60);
    for (int c = 0; c < n; c++) {
        struct view_run *run = view_traced_adopt(&cases[c]);
        char name[96];
        snprintf(name, sizeof name, "%s, %s%s", cases[c].name, cases[c].algorithm->name,
                 cases[c].pass == SIM_BACKWARD ? " backward" : "");
        check_all(run, name, view_run_length(run) > 3000 ? 7 : 1);
        view_run_close(run);
    }
}

static void sentences_with_values(void **state)
{
    (void)state;
    for (int a = 0; a < FA_ALGORITHMS; a++)
        for (int pass = 0; pass < (fa_algorithms[a]->backward ? 2 : 1); pass++) {
            const struct view_case which = {.algorithm = fa_algorithms[a]->name, .n = 10, .d = 3,
                                            .heads = 2, .causal = true, .backward = pass == 1};
            struct view_run *run = view_case_open(&which);
            check_all(run, which.algorithm, 1);
            view_run_close(run);
        }
}

static void expect_at(struct view_run *run, uint64_t index, const char *text)
{
    struct view_sentence sentence;
    view_sentence(run, index, true, &sentence);
    assert_string_equal(sentence.text, text);
}

static void expect(struct view_run *run, enum sim_event_kind kind, enum fa_tensor_id id, int64_t i,
                   int64_t j, const char *text)
{
    expect_at(run, view_case_after(run, kind, id, i, j) - 1, text);
}

static uint64_t compute_at(const struct view_run *run, enum fa_op op, uint64_t i, uint64_t j)
{
    for (uint64_t e = 0; e < view_run_length(run); e++) {
        const struct sim_event *event = view_run_event(run, e);
        if (event->kind == SIM_COMPUTE && event->op == (unsigned)op && event->i == i &&
            event->j == j)
            return e;
    }
    fail_msg("no %s at (%d, %d)", fa_op_name(op), (int)i, (int)j);
    return 0;
}

static void words_of_the_small_run(void **state)
{
    struct view_run *run = view_case_open(&view_case_tidy);
    (void)state;
    expect_at(run, 0, "Reserve 64 bytes for Q: 64 of 512 in use.");
    expect_at(run, 6, "Reserve 352 bytes for Q, K, V, O, S, ℓ, m: 352 of 512 in use.");
    expect(run, SIM_LOAD, FA_Q, 0, -1,
           "Load Q[0]: 4 × 4 numbers. It stays on chip while the keys pass.");
    expect(run, SIM_LOAD, FA_K, 0, 2, "Load K[2] for Q[0]: 4 × 4 numbers.");
    expect(run, SIM_LOAD, FA_K, 1, 2, "Load K[2] again, for Q[1]: its 2nd trip of 4.");
    expect(run, SIM_LOAD, FA_V, 2, 1,
           "Load V[1] again, for Q[2]: its 3rd trip of 4. O[2] has not left SRAM.");
    expect_at(run, compute_at(run, FA_OP_SCORE, 1, 0),
              "Score tile S[1,0] = Q[1] K[0]ᵀ × 0.5, inside SRAM: no traffic.");
    /* Row 7: 4.25 and 2.25 are 4 q k and 2 q k of the inputs; exp(-2) is 0.135. */
    expect_at(run, compute_at(run, FA_OP_SCORE, 1, 2),
              "Score tile S[1,2] = Q[1] K[2]ᵀ × 0.5, inside SRAM. Row 7 meets 4.25, above its old "
              "maximum 2.25: its ℓ and O must shrink next.");
    expect_at(run, compute_at(run, FA_OP_ABSORB, 1, 2),
              "Row 7: new maximum 4.25, was 2.25. Its ℓ and O shrink by exp(2.25 − 4.25) = 0.135. "
              "P[1,2] = exp(S − m).");
    expect_at(run, compute_at(run, FA_OP_ABSORB, 1, 1),
              "2 of 4 rows found a larger maximum; their ℓ and O shrink, the most by 0.368. "
              "P[1,1] = exp(S − m).");
    expect_at(run, compute_at(run, FA_OP_ABSORB, 0, 1),
              "No row found a larger maximum: nothing to rescale. P[0,1] = exp(S − m).");
    expect_at(run, compute_at(run, FA_OP_ACCUMULATE, 1, 2),
              "O[1] gains P[1,2] V[2]. S[1,2] has done its work and is dropped.");
    expect_at(run, compute_at(run, FA_OP_FINISH, 1, SIM_NO_TILE),
              "Divide O[1] by ℓ: these four rows are final. LSE[1] = m + ln ℓ.");
    expect(run, SIM_STORE, FA_O, 1, -1, "Store O[1], final: it will not come back.");
    expect(run, SIM_FREE, FA_M, 0, -1, "Free m: its numbers are gone.");
    expect_at(run, view_run_length(run),
              "Done: 2\u202f304 bytes read and 320 written for 16 score tiles; never more than 352 "
              "bytes on "
              "chip.");
    view_run_close(run);
    run = view_case_open(&(struct view_case){.n = 4, .d = 4, .br = 4, .bc = 4});
    expect_at(run, view_run_length(run),
              "Done: 192 bytes read and 80 written for 1 score tile; never more than 352 bytes on "
              "chip.");
    view_run_close(run);
}

/* In a window of its own the largest score tells which row rose: the words' numbers are the run's.
 */
static void maxima_are_the_runs_own(void **state)
{
    const struct view_case which = {
        .algorithm = "flash1", .n = 12, .d = 3, .br = 3, .bc = 2, .seed = 5};
    struct view_run *run = view_case_open(&which);
    int told = 0;
    (void)state;
    for (uint64_t e = 0; e < view_run_length(run); e++) {
        const struct sim_event *event = view_run_event(run, e);
        if (event->kind != SIM_COMPUTE || event->op != FA_OP_UPDATE)
            continue;
        const struct view_rescale *rescale = view_run_rescale(run, e);
        assert_non_null(rescale);
        struct view_rescale kept = *rescale;
        struct view_sentence sentence;
        char row[32], count[64];
        view_sentence(run, e, true, &sentence);
        snprintf(row, sizeof row, "Row %d: new maximum ", (int)kept.first_row);
        snprintf(count, sizeof count, "%d of %d rows found a larger maximum", (int)kept.rose,
                 (int)kept.rows);
        if (event->j == 0)
            assert_non_null(strstr(sentence.text, "its first tile: nothing to rescale."));
        else if (kept.rose == 1)
            assert_non_null(strstr(sentence.text, row));
        else if (kept.rose > 1)
            assert_non_null(strstr(sentence.text, count));
        else
            assert_non_null(strstr(sentence.text, "No row found a larger maximum"));
        told += kept.rose > 0;
    }
    assert_true(told > 3);
    view_run_close(run);
}

static void stores_that_come_back(void **state)
{
    const struct trace_case which = {
        "flash1", &fa_flash1, fa_problem_make(128, 128, 16), 16, 16, 0, SIM_FORWARD};
    struct view_run *run = view_traced_adopt(&which);
    (void)state;
    expect_at(run, view_case_after(run, SIM_STORE, FA_O, 3, -1) - 1,
              "Store O[3], still empty: write 1 of 9. It will be read back 8 more times.");
    expect(run, SIM_STORE, FA_O, 3, 3,
           "Store O[3], unfinished: write 5 of 9. It will be read back 4 more times.");
    expect(run, SIM_STORE, FA_O, 3, 6,
           "Store O[3], unfinished: write 8 of 9. It will be read back once more.");
    expect(run, SIM_STORE, FA_O, 3, 7, "Store O[3], final: write 9 of 9; it will not come back.");
    expect(run, SIM_LOAD, FA_O, 3, 3, "Load O[3] back, unfinished, for K[3]: its 4th trip of 8.");
    expect(run, SIM_LOAD, FA_K, -1, 3,
           "Load K[3] for all its queries: 16 × 16 numbers. It makes this trip once.");
    view_run_close(run);
}

static void trips_of_many_tiles(void **state)
{
    const struct trace_case which = {
        "many", &fa_flash2, fa_problem_make(1536, 2752, 64), 64, 64, 0, SIM_FORWARD};
    struct view_run *run = view_traced_adopt(&which);
    (void)state;
    expect(run, SIM_LOAD, FA_V, 23, 41,
           "Load V[41] again, for Q[23]: its 24th trip of 24. Each trip is 64 × 64 numbers; taller "
           "tiles of Q would mean fewer trips.");
    expect(run, SIM_LOAD, FA_V, 20, 41,
           "Load V[41] again, for Q[20]: its 21st trip of 24. Each trip is 64 × 64 numbers; taller "
           "tiles of Q would mean fewer trips.");
    expect(run, SIM_LOAD, FA_K, 11, 0, "Load K[0] again, for Q[11]: its 12th trip of 24.");
    view_run_close(run);
    /* With the heads' names it would be longer than a sentence may be: the end is left out. */
    struct trace_case heads = which;
    heads.problem.nq = 1088;
    heads.problem.nk = 128;
    heads.problem.heads = 2;
    heads.problem.kv_heads = 1;
    run = view_traced_adopt(&heads);
    expect(run, SIM_LOAD, FA_V, 16, 1,
           "Load V[1] of K/V head 0 again, for Q[16]: its 17th trip of 34.");
    view_run_close(run);
}

static void skips_say_why(void **state)
{
    static const uint8_t visit[] = {1, 0, 0, 1};
    static const struct fa_block_mask blocks = {8, 8, 2, 2, visit};
    const struct view_case causal = {.n = 24, .causal = true}, window = {.n = 24, .window = 3};
    const struct view_case block = {.n = 16, .br = 8, .bc = 8, .blocks = &blocks};
    const struct view_case columns = {.n = 24, .causal = true, .algorithm = "flash1"};
    struct view_run *run = view_case_open(&causal);
    (void)state;
    expect(run, SIM_SKIP, FA_S, 1, 2,
           "Skip S[1,2]: above the diagonal. K[2] and V[2] stay in HBM.");
    expect(run, SIM_SKIP, FA_S, 1, 5,
           "Skip S[1,2] to S[1,5], 4 tiles: above the diagonal. Their K and V stay in HBM.");
    expect_at(run, compute_at(run, FA_OP_HIDE, 1, 1),
              "Hide what lies above the diagonal in S[1,1]: those scores become −∞.");
    view_run_close(run);
    run = view_case_open(&window);
    expect(run, SIM_SKIP, FA_S, 3, 0,
           "Skip S[3,0]: outside the window. K[0] and V[0] stay in HBM.");
    view_run_close(run);
    run = view_case_open(&block);
    expect(run, SIM_SKIP, FA_S, 1, 0,
           "Skip S[1,0]: the block mask leaves it out. K[0] and V[0] stay in HBM.");
    view_run_close(run);
    run = view_case_open(&columns);
    expect(run, SIM_SKIP, FA_S, 1, 2,
           "Skip S[0,2] to S[1,2], 2 tiles: above the diagonal. Their Q and O stay in HBM.");
    view_run_close(run);
}

/* What the refusal says would fit does fit, and one more does not. */
static void refusals_name_what_fits(void **state)
{
    struct view_case which = {.n = 64, .d = 8, .br = 16, .bc = 16, .sram = 2048};
    struct view_run *run = view_case_open(&which);
    (void)state;
    assert_true(view_run_refused(run));
    expect_at(run, view_run_length(run) - 1,
              "Refused: S needs 1\u202f024 bytes, 0 are free. Tiles of 11 × 11 would fit.");
    expect_at(run, view_run_length(run),
              "Refused: S needs 1\u202f024 bytes, 0 are free. Tiles of 11 × 11 would fit.");
    view_run_close(run);
    for (which.br = which.bc = 11; which.br <= 12; which.br++, which.bc++) {
        run = view_case_open(&which);
        assert_int_equal(view_run_refused(run), which.br == 12);
        view_run_close(run);
    }
}

static void ragged_tiles_and_gradients(void **state)
{
    const struct view_case ragged = {.n = 10, .d = 3}, backward = {.n = 16, .backward = true};
    struct view_run *run = view_case_open(&ragged);
    (void)state;
    expect(run, SIM_LOAD, FA_K, 0, 2, "Load K[2] for Q[0]: 2 × 3 numbers.");
    expect_at(run, compute_at(run, FA_OP_SCORE, 0, 2),
              "Score tile S[0,2] = Q[0] K[2]ᵀ × 0.577, inside "
              "SRAM: no traffic. At the edge: 4 × 2.");
    view_run_close(run);
    run = view_case_open(&backward);
    expect_at(run, compute_at(run, FA_OP_SCORE, 1, 2),
              "Compute S[1,2] again from Q[1] and K[2]: cheaper than having kept P.");
    expect_at(run, compute_at(run, FA_OP_GRAD_K, 1, 2), "dK[2] gains dS[1,2]ᵀ Q[1] × 0.5.");
    expect_at(run, compute_at(run, FA_OP_DELTA, 1, SIM_NO_TILE),
              "Compute δ[1] = rowsum(dO O): one number a row that all of its dS need.");
    expect(run, SIM_STORE, FA_DELTA, 1, -1,
           "Store δ[1]: 4 numbers, one a row. It will be read back 4 times.");
    view_run_close(run);
}

static void standard_in_words(void **state)
{
    const struct view_case which = {.algorithm = "standard", .n = 32, .d = 4, .br = 16, .bc = 16,
                                    .sram = 4096};
    struct view_run *run = view_case_open(&which);
    struct view_sentence sentence;
    (void)state;
    expect(run, SIM_STORE, FA_S, 1, 1,
           "Store S[1,1]: 256 scores. They will be read back to make P.");
    expect(run, SIM_LOAD, FA_V, 0, 1, "Load V[1] for O[0]: 16 × 4 numbers.");
    view_sentence(run, view_case_after(run, SIM_STORE, FA_P, 0, -1) - 1, true, &sentence);
    assert_non_null(strstr(sentence.text, "Store P rows 0 to "));
    assert_non_null(strstr(sentence.text, "weights. They will be read back for O = P V."));
    view_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_has_a_sentence),
        cmocka_unit_test(sentences_with_values),
        cmocka_unit_test(words_of_the_small_run),
        cmocka_unit_test(maxima_are_the_runs_own),
        cmocka_unit_test(stores_that_come_back),
        cmocka_unit_test(trips_of_many_tiles),
        cmocka_unit_test(skips_say_why),
        cmocka_unit_test(refusals_name_what_fits),
        cmocka_unit_test(ragged_tiles_and_gradients),
        cmocka_unit_test(standard_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
