/*
 * The numbers of the stages that show the run's bits and errors: keep bits against Philox, by their
 * place and in turn, the mask's tiles against its rule, errors by tile up to the position.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference/block_pattern.h"
#include "reference/philox.h"
#include "tests/stage_case.h"

/* ---- keep bits ------------------------------------------------------------------------------- */

static void test_bits(void **state)
{
    (void)state;
    const struct view_case which = {
        .n = 40, .nk = 36, .br = 8, .bc = 8, .heads = 2, .dropout_p = 0.3};
    struct view_run *run = view_case_open(&which);
    uint64_t landed = view_case_after(run, SIM_COMPUTE, FA_O, 2, 3);
    while (view_run_event(run, landed - 1)->head == 0 || view_run_event(run, landed - 1)->i != 2 ||
           view_run_event(run, landed - 1)->j != 3)
        landed++;
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, landed);
    const struct view_item *all = NULL;
    int kept = 0, ones = 0;
    char text[64];
    stage_case_draw(view_stage_bits, &frame);
    for (size_t n = 0; n < stage_list.n_items; n++) {
        if (stage_list.items[n].kind == VIEW_IMAGE && stage_list.items[n].columns == 36)
            all = &stage_list.items[n];
        ones += stage_list.items[n].kind == VIEW_TEXT && strcmp(stage_list.items[n].text, "1") == 0;
    }
    assert_non_null(all);
    assert_int_equal(all->rows, 40);
    for (uint32_t r = 0; r < 40; r++)
        for (uint32_t c = 0; c < 36; c++) {
            const uint32_t counter[4] = {c / 4, r, 1, 0};
            uint32_t words[4];
            fa_philox4x32(7, counter, words);
            bool keep = words[c % 4] >= (uint32_t)floor(0.3 * 4294967296.0);
            struct view_color cell = all->cells[r * 36 + c];
            assert_int_equal(memcmp(&cell, &view_dark.bg, sizeof cell) != 0, keep);
            kept += keep && r / 8 == 2 && c / 8 == 3;
        }
    assert_int_equal(ones, kept);
    snprintf(text, sizeof text, "tile (2, 3): %d of 64 kept", kept);
    stage_case_expect(text);
    stage_case_expect("p = 0.3, seed 7");
    view_run_close(run);
}

/* ---- keep bits in turn ----------------------------------------------------------------------- */

enum { TURN_ROWS = 40, TURN_KEYS = 36, TURN_HEADS = 2 };

static bool dealt_bit(uint64_t t)
{
    const uint32_t counter[4] = {(uint32_t)(t / 4), 0, 0, 0};
    uint32_t words[4];
    fa_philox4x32(7, counter, words);
    return words[t % 4] >= (uint32_t)floor(0.3 * 4294967296.0);
}

/* The bits of head 1, tiles of 8 x 8 in the order that the loops say: of the queries outside, or of
 * the keys. */
static void deal(bool keys_outside, uint8_t keep[TURN_ROWS][TURN_KEYS], int64_t turn[5][5])
{
    uint64_t t = 0;
    for (int head = 0; head < TURN_HEADS; head++)
        for (int n = 0; n < 25; n++) {
            int i = keys_outside ? n % 5 : n / 5, j = keys_outside ? n / 5 : n % 5;
            turn[i][j] = n;
            for (int r = 8 * i; r < 8 * i + 8; r++)
                for (int c = 8 * j; c < 8 * j + 8 && c < TURN_KEYS; c++)
                    keep[r][c] = dealt_bit(t++);
        }
}

static void test_turns(void **state)
{
    static uint8_t keep[2][TURN_ROWS][TURN_KEYS];
    static int64_t turn[2][5][5];
    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        struct view_run *run = view_case_open(&(struct view_case){.n = TURN_ROWS,
                                                                  .nk = TURN_KEYS,
                                                                  .br = 8,
                                                                  .bc = 8,
                                                                  .heads = TURN_HEADS,
                                                                  .backward = backward,
                                                                  .dropout_p = 0.3});
        struct view_turns turns;
        deal(backward, keep[backward], turn[backward]);
        assert_true(view_run_turns(run, 0, &turns));
        assert_int_equal(turns.turn[0], 0);
        assert_true(view_run_turns(run, 1, &turns));
        assert_memory_equal(turns.turn, turn[backward], sizeof turn[backward]);
        assert_memory_equal(turns.keep, keep[backward], sizeof keep[backward]);
        for (int tile = 0; tile < 25; tile++) {
            const struct sim_event *event = view_run_event(run, turns.event[tile]);
            assert_true(event->head == 1 && event->i == (uint64_t)tile / 5 &&
                        event->j == (uint64_t)tile % 5);
        }
        view_run_close(run);
    }
    assert_memory_not_equal(keep[0], keep[1], sizeof keep[0]);
    struct view_run *plain = view_case_open(&(struct view_case){0});
    assert_false(view_run_turns(plain, 0, &(struct view_turns){0}));
    view_run_close(plain);
}

/* Frames in the colour of what is wrong: one a bit. */
static int count_frames(void)
{
    int n = 0;
    for (size_t k = 0; k < stage_list.n_items; k++)
        n += stage_list.items[k].kind == VIEW_FRAME &&
             memcmp(&stage_list.items[k].color, &view_dark.bad, sizeof view_dark.bad) == 0;
    return n;
}

static struct view_color bit_color(int image, int row, int column)
{
    for (size_t k = 0; k < stage_list.n_items; k++)
        if (stage_list.items[k].kind == VIEW_IMAGE && stage_list.items[k].columns == 16 &&
            image-- == 0)
            return stage_list.items[k].cells[row * 16 + column];
    fail_msg("no such image");
    return view_dark.bg;
}

static void test_turns_are_framed(void **state)
{
    struct view_run *run[2];
    struct view_turns turns[2];
    int differ = 0;
    char text[64];
    (void)state;
    for (int k = 0; k < 2; k++) {
        run[k] = view_case_open(&(struct view_case){.backward = k == 1, .dropout_p = 0.3});
        assert_true(view_run_turns(run[k], 0, &turns[k]));
    }
    for (int n = 0; n < 256; n++)
        differ += turns[0].keep[n] != turns[1].keep[n];
    assert_true(differ > 20);
    struct view_frame frame = view_case_frame(run[0], run[1], 1280, 720, view_run_length(run[0]));
    frame.at[1].landed = view_run_length(run[1]);
    stage_case_draw(view_stage_bits, &frame);
    assert_int_equal(count_frames(), 0); /* by their place they are the same */
    frame.in_turn = true;
    stage_case_draw(view_stage_bits, &frame);
    assert_int_equal(count_frames(), 2 * differ);
    snprintf(text, sizeof text, "%d of 256 bits differ", differ);
    stage_case_expect(text);
    frame.covered = true;
    stage_case_draw(view_stage_bits, &frame);
    assert_int_equal(count_frames(), 0);
    assert_null(view_case_text(&stage_list, "differ"));
    frame.covered = false;

    /* The second run is about to draw tile (1,0), its second: what is not drawn has no frame. */
    frame.at[1].landed = turns[1].event[4];
    assert_int_equal(turns[1].turn[4], 1);
    stage_case_draw(view_stage_bits, &frame);
    stage_case_expect("0 of 16 bits differ");
    assert_int_equal(count_frames(), 0);
    struct view_color cell = bit_color(1, 4, 0);
    assert_memory_equal(&cell, &view_dark.panel, sizeof cell);
    cell = bit_color(0, 4, 0);
    assert_memory_not_equal(&cell, &view_dark.panel, sizeof cell);
    frame.at[1].landed++;
    stage_case_draw(view_stage_bits, &frame);
    stage_case_expect("of 32 bits differ");
    assert_true(count_frames() > 0);
    cell = bit_color(1, 4, 0);
    assert_memory_not_equal(&cell, &view_dark.panel, sizeof cell);
    view_run_close(run[0]);
    view_run_close(run[1]);
}

/* ---- the block mask -------------------------------------------------------------------------- */

static void test_mask(void **state)
{
    (void)state;
    const struct fa_block_pattern pattern = {.rule = FA_BLOCKS_WINDOW, .width = 1, .global = 1};
    struct fa_block_mask blocks;
    uint8_t painted[64];
    assert_int_equal(fa_block_pattern_make(&pattern, 32, 32, 4, 4, &blocks, NULL), FA_OK);
    struct view_run *run = view_case_open(&(struct view_case){.n = 32, .blocks = &blocks});
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, 60);
    struct view_scene scene;
    struct sim_state end;
    char text[128];
    int live = 0;
    for (int64_t i = 0; i < 8; i++)
        for (int64_t j = 0; j < 8; j++)
            live += fa_block_pattern_visits(&pattern, i, j, 8, 8);
    stage_case_draw(view_stage_mask, &frame);
    snprintf(text, sizeof text, "%d of 64 tiles live, s = %.1f %%", live, 100.0 * live / 64);
    stage_case_expect(text);
    view_run_state(run, view_run_length(run), &end);
    assert_int_equal(end.counters.tiles_visited, live);
    snprintf(text, sizeof text, "visited %d tiles, skipped %d", live, 64 - live);
    stage_case_expect(text);

    struct view_frame small = view_case_frame(run, NULL, 400, 300, 60);
    small.panel_open = false;
    stage_case_draw(view_stage_mask, &small);
    stage_case_expect("tiles live");
    stage_case_draw(view_stage_mask, &frame);

    /* Each tile is hit in its middle, and is the one that painting finds there. */
    scene = view_case_scene(&frame);
    int hits = 0;
    for (size_t n = 0; n < stage_list.n_hits; n++) {
        const struct view_hit *hit = &stage_list.hits[n];
        int64_t row, column;
        if (hit->action != VIEW_BLOCK)
            continue;
        assert_true(view_mask_tile_at(&scene, hit->box.x + hit->box.w / 2,
                                      hit->box.y + hit->box.h / 2, &row, &column));
        assert_int_equal(row * 8 + column, hit->value);
        hits++;
    }
    assert_int_equal(hits, 64);
    assert_false(view_mask_tile_at(&scene, 2, 2, &(int64_t){0}, &(int64_t){0}));

    memset(painted, 1, sizeof painted);
    painted[9] = 0;
    frame.blocks = painted;
    stage_case_draw(view_stage_mask, &frame);
    stage_case_expect("63 of 64 tiles live");
    stage_case_expect("painted since");
    memcpy(painted, blocks.visit, sizeof painted);
    stage_case_draw(view_stage_mask, &frame);
    assert_null(view_case_text(&stage_list, "painted since"));
    view_run_close(run);
    fa_block_mask_free(&blocks);
}

/* Where a cell stands for several tiles it has the legend's colours too. */
static void test_many_mask_tiles(void **state)
{
    (void)state;
    const struct view_case many = {.n = 600, .d = 2, .br = 8, .bc = 8, .sram = 1 << 16};
    struct view_run *run = view_case_open(&many);
    for (int visited = 0; visited < 2; visited++) {
        struct view_frame frame = view_case_frame(run, NULL, 800, 600, 0);
        frame.at[0].landed = visited ? view_run_length(run) : 0;
        stage_case_draw(view_stage_mask, &frame);
        struct view_color legend =
            view_mix(frame.theme->panel, view_tensor_look(frame.theme, FA_S).fill,
                     visited ? 0.7 : 0.35);
        const struct view_item *image = NULL;
        for (size_t n = 0; n < stage_list.n_items; n++)
            if (stage_list.items[n].kind == VIEW_IMAGE)
                image = &stage_list.items[n];
        assert_non_null(image);
        assert_true(image->columns < 75);
        for (int c = 0; c < image->columns * image->rows; c++)
            assert_memory_equal(&image->cells[c], &legend, sizeof legend);
    }
    view_run_close(run);
}

/* ---- error by tile --------------------------------------------------------------------------- */

static void test_errors(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(
        &(struct view_case){.n = 32, .br = 8, .bc = 4, .causal = true, .dtype = FA_F16});
    const double *errors = view_run_tile_errors(run);
    assert_non_null(errors);
    uint64_t landed = view_case_after(run, SIM_COMPUTE, FA_O, 2, 3);
    while (view_run_event(run, landed - 1)->op != FA_OP_ACCUMULATE)
        landed++;
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, landed);
    const struct view_item *map = NULL;
    int worst = -1, n_done = 0;
    char text[96], number[VIEW_NUMBER_TEXT];
    stage_case_draw(view_stage_errors, &frame);
    for (size_t n = 0; n < stage_list.n_items; n++)
        if (stage_list.items[n].kind == VIEW_IMAGE && stage_list.items[n].rows == 4)
            map = &stage_list.items[n];
    assert_non_null(map);
    assert_int_equal(map->columns, 8);
    for (int t = 0; t < 32; t++) {
        int i = t / 8, j = t % 8;
        bool done = (i < 2 && 4 * j < 8 * (i + 1)) || (i == 2 && j <= 3);
        struct view_color cell = map->cells[t];
        assert_int_equal(memcmp(&cell, &view_dark.bg, sizeof cell) != 0, done);
        n_done += done;
        if (done && (worst < 0 || errors[t] > errors[worst]))
            worst = t;
    }
    snprintf(text, sizeof text, "worst so far: tile (%d, %d), %s", worst / 8, worst % 8,
             view_value_text(errors[worst], number));
    stage_case_expect(text);
    struct view_error_row rows[4];
    assert_true(view_run_errors(run, rows) > 0);
    snprintf(text, sizeof text, "f16 budget %s", view_value_text(rows[0].budget, number));
    stage_case_expect(text);
    snprintf(text, sizeof text, "%d of 20 tiles", n_done);
    stage_case_expect(text);
    view_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bits, stage_case_set_up, stage_case_tear_down),
        cmocka_unit_test(test_turns),
        cmocka_unit_test_setup_teardown(test_turns_are_framed, stage_case_set_up,
                                        stage_case_tear_down),
        cmocka_unit_test_setup_teardown(test_mask, stage_case_set_up, stage_case_tear_down),
        cmocka_unit_test_setup_teardown(test_many_mask_tiles, stage_case_set_up,
                                        stage_case_tear_down),
        cmocka_unit_test_setup_teardown(test_errors, stage_case_set_up, stage_case_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
