#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/tidy_case.h"
#include "visualizer/cross.h"

/* The memories of a frame alone, without what stands round them. */
static struct view_scene paint(const struct view_frame *frame)
{
    struct view_scene scene = view_case_scene(frame);
    view_draw_clear(&draw);
    draw.theme = frame->theme;
    for (int which = 0; which < scene.runs; which++) {
        view_scene_hbm(&draw, &scene, which);
        view_scene_lanes(&draw, &scene, which);
        view_scene_sram(&draw, &scene, which);
        draw.layer = VIEW_FLIGHT;
        view_scene_flight(&draw, &scene, which);
        draw.layer = VIEW_BASE;
    }
    draw.layer = VIEW_POPUP;
    view_scene_card(&draw, &scene);
    draw.layer = VIEW_BASE;
    assert_false(draw.failed);
    return scene;
}

static bool same_color(struct view_color a, struct view_color b)
{
    return a.r == b.r && a.g == b.g && a.b == b.b;
}

/* A solid frame in text whose edge is at most 6 outside the box. */
static bool ringed(struct view_box box)
{
    for (size_t n = 0; n < draw.n_items; n++) {
        const struct view_item *item = &draw.items[n];
        float dx = box.x - item->box.x, dy = box.y - item->box.y;
        if (item->kind == VIEW_FRAME && item->dash == 0 && item->width == 2 &&
            same_color(item->color, draw.theme->text) && dx > 0 && dx <= 6 && dy > 0 && dy <= 6 &&
            fabsf(item->box.w - box.w - 2 * dx) < 3 && fabsf(item->box.h - box.h - 2 * dy) < 3)
            return true;
    }
    return false;
}

static bool hatched(struct view_box box, enum view_pattern pattern)
{
    for (size_t n = 0; n < draw.n_items; n++) {
        const struct view_item *item = &draw.items[n];
        if (item->kind == VIEW_HATCH && item->pattern == pattern &&
            view_box_meets(view_box_inset(item->box, 2, 2), box) && item->box.w <= box.w &&
            item->box.h <= box.h)
            return true;
    }
    return false;
}

static bool dashed(struct view_box box, float dash, float gap)
{
    for (size_t n = 0; n < draw.n_items; n++) {
        const struct view_item *item = &draw.items[n];
        if (item->kind == VIEW_FRAME && item->dash == dash && item->gap == gap &&
            fabsf(item->box.x - box.x) < 2 && fabsf(item->box.y - box.y) < 2 &&
            fabsf(item->box.w - box.w) < 3 && fabsf(item->box.h - box.h) < 3)
            return true;
    }
    return false;
}

/* Fills of a colour, of about that size, whose middle lies in the box. */
static int fills_in(struct view_box box, struct view_color color, float least, float most)
{
    int found = 0;
    for (size_t n = 0; n < draw.n_items; n++) {
        const struct view_item *item = &draw.items[n];
        found += item->kind == VIEW_FILL && same_color(item->color, color) &&
                 item->box.w >= least && item->box.w <= most &&
                 view_box_has(box, item->box.x + item->box.w / 2, item->box.y + item->box.h / 2);
    }
    return found;
}

/* Where the matrix, its tile or a slot is; it must be somewhere. */
static struct view_box matrix_of(const struct view_scene *scene, enum fa_tensor_id id)
{
    struct view_box box = {0, 0, 0, 0};
    assert_true(view_hbm_matrix(scene, 0, id, &box));
    return box;
}

static struct view_box tile_of(const struct view_scene *scene, enum fa_tensor_id id, int64_t row,
                               int64_t column)
{
    struct view_box box = {0, 0, 0, 0};
    assert_true(view_hbm_tile(scene, 0, id, row, column, &box));
    return box;
}

static struct view_box slot_of(const struct view_scene *scene, enum fa_tensor_id id)
{
    struct view_box box = {0, 0, 0, 0};
    assert_true(view_bench_tile(scene, 0, id, &box));
    return box;
}

static int used_marks(const struct view_scene *scene)
{
    struct view_box ghost = matrix_of(scene, FA_S);
    struct view_color mark =
        view_mix(draw.theme->panel, view_tensor_look(draw.theme, FA_S).fill, 0.8);
    return fills_in(ghost, mark, 2, 20);
}

/* ---- where things are ------------------------------------------------------------------------ */

static void the_cross_is_a_cross(void **state)
{
    struct view_frame frame = view_case_frame(tidy, NULL, 1280, 720, 40);
    struct view_scene at = view_case_scene(&frame);
    struct view_box q = matrix_of(&at, FA_Q), k = matrix_of(&at, FA_K), s = matrix_of(&at, FA_S);
    struct view_box v = matrix_of(&at, FA_V), o = matrix_of(&at, FA_O);
    struct view_box lse = matrix_of(&at, FA_LSE), none;
    (void)state;
    assert_true(q.x + q.w < s.x && s.x + s.w < o.x && o.x + o.w < lse.x);
    assert_true(k.y + k.h < s.y && s.y + s.h < v.y);
    assert_true(q.y == s.y && o.y == s.y && k.x == s.x && v.x == s.x && k.w == s.w && q.h == s.h);
    assert_true(q.w * 4 == s.w && k.h * 4 == s.h); /* to scale: d 4 of N 16 */
    assert_true(lse.w >= 12);
    assert_false(view_hbm_matrix(&at, 0, FA_P, &none));
    /* The bench is the same cross. */
    q = slot_of(&at, FA_Q), k = slot_of(&at, FA_K), s = slot_of(&at, FA_S);
    v = slot_of(&at, FA_V), o = slot_of(&at, FA_O);
    assert_true(q.x + q.w < s.x && s.x + s.w < o.x && o.x + o.w < slot_of(&at, FA_M).x);
    assert_true(k.y + k.h < s.y && s.y + s.h < v.y);
    assert_true(slot_of(&at, FA_P).x == s.x && slot_of(&at, FA_P).y == s.y);
}

static void standard_stores_s_and_p_side_by_side(void **state)
{
    struct view_run *run = view_case_open(&(struct view_case){.algorithm = "standard"});
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, 40);
    struct view_scene scene = view_case_scene(&frame);
    struct view_box q = matrix_of(&scene, FA_Q), k = matrix_of(&scene, FA_K);
    struct view_box s = matrix_of(&scene, FA_S), p = matrix_of(&scene, FA_P);
    struct view_box v = matrix_of(&scene, FA_V), o = matrix_of(&scene, FA_O);
    (void)state;
    assert_true(q.x < s.x && s.x + s.w < p.x && p.x + p.w < o.x);
    assert_true(k.x == s.x && k.y < s.y && v.x == p.x && v.y > p.y);
    paint(&frame);
    assert_null(view_case_text(&draw, "never stored"));
    /* Below 96 pixels they share one place: the one that the events are at is seen. */
    frame.width = 700, frame.height = 500;
    scene = view_case_scene(&frame);
    assert_true(view_hbm_matrix(&scene, 0, FA_S, &s));
    assert_false(view_hbm_matrix(&scene, 0, FA_P, &p));
    frame.at[0].landed = view_case_after(run, SIM_STORE, FA_P, -1, -1);
    scene = view_case_scene(&frame);
    assert_false(view_hbm_matrix(&scene, 0, FA_S, &s));
    assert_true(view_hbm_matrix(&scene, 0, FA_P, &p));
    view_run_close(run);
}

static void gradients_lie_outside_their_tensors(void **state)
{
    struct view_run *run = view_case_open(&(struct view_case){.backward = true});
    struct view_frame frame = view_case_frame(run, NULL, 1920, 1080, 150);
    struct view_scene at = view_case_scene(&frame);
    (void)state;
    assert_true(matrix_of(&at, FA_DQ).x < matrix_of(&at, FA_Q).x);
    assert_true(matrix_of(&at, FA_DK).y < matrix_of(&at, FA_K).y);
    assert_true(matrix_of(&at, FA_DV).y > matrix_of(&at, FA_V).y);
    assert_true(matrix_of(&at, FA_DO).x > matrix_of(&at, FA_O).x);
    struct view_box p = slot_of(&at, FA_P), ds = slot_of(&at, FA_DS);
    assert_true(ds.x == p.x && ds.y > p.y + p.h);
    paint(&frame);
    assert_non_null(view_case_text(&draw, "recomputed"));
    view_run_close(run);
}

static void a_number_is_found_where_it_is_drawn(void **state)
{
    struct view_frame frame =
        view_case_frame(tidy, NULL, 1280, 720, view_case_after(tidy, SIM_COMPUTE, FA_P, 1, 2));
    struct view_scene scene = view_case_scene(&frame);
    static const enum fa_tensor_id ids[] = {FA_Q, FA_K, FA_V, FA_S, FA_O, FA_LSE};
    struct view_cell cell;
    struct view_box box;
    (void)state;
    for (size_t t = 0; t < sizeof ids / sizeof *ids; t++)
        for (int64_t row = 0; row < 16; row += 3)
            for (int64_t column = 0; column < (ids[t] == FA_S     ? 16
                                               : ids[t] == FA_LSE ? 1
                                                                  : 4);
                 column++) {
                assert_true(view_hbm_cell(&scene, 0, ids[t], row, column, &box));
                assert_true(view_cell_at(&scene, box.x + box.w / 2, box.y + box.h / 2, &cell));
                assert_true(cell.id == ids[t] && !cell.chip && cell.row == row &&
                            cell.column == column);
            }
    /* On the bench it is the matrix's row and column, under the name that the cells have now. */
    assert_true(view_bench_cell(&scene, 0, FA_S, 1, 3, &box));
    assert_true(view_cell_at(&scene, box.x + 2, box.y + 2, &cell));
    assert_true(cell.chip && cell.id == FA_P && cell.row == 5 && cell.column == 11);
    assert_true(view_bench_cell(&scene, 0, FA_K, 2, 1, &box));
    assert_true(view_cell_at(&scene, box.x + 2, box.y + 2, &cell));
    assert_true(cell.chip && cell.id == FA_K && cell.row == 10 && cell.column == 1);
    assert_false(view_cell_at(&scene, 350, 300, &cell)); /* the lanes */
    assert_false(view_cell_at(&scene, 14, 50, &cell));   /* a title */
}

static void zoom_enlarges_and_cuts(void **state)
{
    struct view_frame frame = view_case_frame(tidy, NULL, 1280, 720, 60);
    struct view_scene scene = view_case_scene(&frame);
    struct view_box fit = matrix_of(&scene, FA_S);
    (void)state;
    frame.zoom = 4;
    scene = paint(&frame);
    struct view_box near = matrix_of(&scene, FA_S);
    assert_true(fabsf(near.w - 4 * fit.w) < 1 && near.x < fit.x);
    int clips = 0;
    for (size_t n = 0; n < draw.n_items; n++)
        clips += draw.items[n].kind == VIEW_CLIP && draw.items[n].box.w > 0 &&
                 draw.items[n].box.w <= scene.layout.hbm[0].w;
    assert_int_equal(clips, 1);
    view_case_check_texts(&draw, 1280, 720);
}

/* ---- what state they are in ------------------------------------------------------------------ */

static void what_is_on_chip_is_ringed(void **state)
{
    struct view_frame frame =
        view_case_frame(tidy, NULL, 1280, 720, view_case_after(tidy, SIM_LOAD, FA_K, 1, 2));
    struct view_scene scene = paint(&frame);
    (void)state;
    for (int64_t j = 0; j < 4; j++) {
        assert_int_equal(ringed(tile_of(&scene, FA_K, j, 0)), j == 2);
        assert_int_equal(ringed(tile_of(&scene, FA_Q, j, 0)), j == 1);
    }
    assert_true(view_case_says(&draw, "K[2]"));
    assert_true(view_case_says(&draw, "Q[1]"));
    assert_true(view_case_says(&draw, "S[1,2]"));
    assert_true(view_case_says(&draw, "+64 B"));
}

static void marks_count_the_tiles_that_are_done(void **state)
{
    (void)state;
    static const struct {
        int64_t i, j;
        int marks;
    } at[] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 4}, {1, 2, 6}, {3, 3, 15}};
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        struct view_frame frame = view_case_frame(
            tidy, NULL, 1280, 720, view_case_after(tidy, SIM_COMPUTE, FA_S, at[k].i, at[k].j));
        struct view_scene scene = paint(&frame);
        struct view_box now = tile_of(&scene, FA_S, at[k].i, at[k].j);
        assert_int_equal(used_marks(&scene), at[k].marks);
        assert_true(ringed(now));
        assert_int_equal(fills_in(now, view_tensor_look(draw.theme, FA_S).fill, 30, 60), 1);
    }
    /* As soon as the next tile's K comes the one before it is done. */
    struct view_frame frame =
        view_case_frame(tidy, NULL, 1280, 720, view_case_after(tidy, SIM_LOAD, FA_K, 1, 2));
    struct view_scene scene = paint(&frame);
    assert_int_equal(used_marks(&scene), 6);
}

static void scores_turn_into_weights(void **state)
{
    struct view_frame frame =
        view_case_frame(tidy, NULL, 1280, 720, view_case_after(tidy, SIM_COMPUTE, FA_S, 1, 2));
    (void)state;
    paint(&frame);
    assert_true(view_case_says(&draw, "S[1,2]"));
    frame.at[0].landed = view_case_after(tidy, SIM_COMPUTE, FA_P, 1, 2);
    paint(&frame);
    assert_false(view_case_says(&draw, "S[1,2]"));
    assert_true(view_case_says(&draw, "P[1,2]"));
}

static void a_changed_copy_makes_hbm_stale(void **state)
{
    struct view_run *run = view_case_open(&(struct view_case){.algorithm = "flash1", .n = 32});
    uint64_t loaded = view_case_after(run, SIM_LOAD, FA_O, 2, 1);
    uint64_t changed = loaded;
    struct view_frame frame = view_case_frame(run, NULL, 1920, 1080, loaded);
    (void)state;
    struct view_scene scene = paint(&frame);
    struct view_box tile = tile_of(&scene, FA_O, 2, 0);
    assert_true(ringed(tile));
    assert_false(hatched(tile, VIEW_RISING));
    while (view_run_event(run, changed)->kind != SIM_COMPUTE ||
           view_run_event(run, changed)->op != FA_OP_ACCUMULATE)
        changed++;
    frame.at[0].landed = changed + 1;
    paint(&frame);
    assert_true(hatched(tile, VIEW_RISING));
    assert_false(hatched(tile_of(&scene, FA_O, 1, 0), VIEW_RISING));
    assert_false(hatched(tile_of(&scene, FA_O, 3, 0), VIEW_RISING));
    while (view_run_event(run, changed)->kind != SIM_STORE)
        changed++;
    assert_int_equal(view_run_event(run, changed)->tensor, FA_O);
    frame.at[0].landed = changed + 1;
    paint(&frame);
    assert_false(hatched(tile, VIEW_RISING));
    assert_true(view_case_says(&draw, "3 of 9") || view_case_says(&draw, "3/9"));
    view_run_close(run);
}

static void unwritten_rows_are_dashed(void **state)
{
    struct view_frame frame =
        view_case_frame(tidy, NULL, 1280, 720, view_case_after(tidy, SIM_STORE, FA_O, 1, -1));
    struct view_scene scene = paint(&frame);
    (void)state;
    for (int64_t i = 0; i < 4; i++)
        assert_int_equal(dashed(tile_of(&scene, FA_O, i, 0), 2, 3), i >= 2);
    assert_true(dashed(matrix_of(&scene, FA_S), 5, 4));
    assert_true(view_case_says(&draw, "never stored"));
    assert_true(view_case_says(&draw, "all of SRAM"));
}

/* Crosses on what a causal mask skips, once it is skipped; no grid in the dead half before. */
static void the_dead_half_is_bare(void **state)
{
    struct view_run *run =
        view_case_open(&(struct view_case){.n = 64, .d = 8, .br = 8, .bc = 8, .causal = true});
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, 0);
    struct view_scene scene = paint(&frame);
    struct view_box dead = tile_of(&scene, FA_S, 1, 6), live = tile_of(&scene, FA_S, 6, 1);
    int hairs_dead = 0, hairs_live = 0;
    (void)state;
    for (size_t n = 0; n < draw.n_items; n++) {
        const struct view_item *item = &draw.items[n];
        bool hair = item->kind == VIEW_FILL && same_color(item->color, draw.theme->hair) &&
                    (item->box.w == 1 || item->box.h == 1);
        hairs_dead += hair && view_box_meets(item->box, view_box_inset(dead, -1, -1));
        hairs_live += hair && view_box_meets(item->box, view_box_inset(live, -1, -1));
    }
    assert_int_equal(hairs_dead, 0);
    assert_true(hairs_live >= 4);
    view_run_close(run);
}

/* A window also cuts on the lower left. */
static void cut_tiles_show_which_part(void **state)
{
    struct view_run *run = view_case_open(
        &(struct view_case){.n = 64, .d = 8, .br = 8, .bc = 8, .window = 20, .causal = true});
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, 0);
    struct view_scene scene = paint(&frame);
    struct view_box diagonal = tile_of(&scene, FA_S, 4, 4), left = tile_of(&scene, FA_S, 4, 1);
    int upper = 0, lower = 0;
    (void)state;
    for (size_t n = 0; n < draw.n_items; n++) {
        const struct view_item *item = &draw.items[n];
        if (item->kind != VIEW_TRIANGLE)
            continue;
        float x = (item->points[0] + item->points[2] + item->points[4]) / 3;
        float y = (item->points[1] + item->points[3] + item->points[5]) / 3;
        upper += view_box_has(diagonal, x, y) && x - diagonal.x > diagonal.w / 2;
        lower += view_box_has(left, x, y) && x - left.x < left.w / 2;
    }
    assert_int_equal(upper, 1);
    assert_int_equal(lower, 1);
    view_run_close(run);
}

/* ---- SRAM ------------------------------------------------------------------------------------ */

static void sram_says_what_is_in_use(void **state)
{
    struct view_frame frame =
        view_case_frame(tidy, NULL, 1280, 720, view_case_after(tidy, SIM_COMPUTE, FA_S, 1, 2));
    struct sim_state now;
    char text[64];
    (void)state;
    paint(&frame);
    view_run_state(tidy, frame.at[0].landed, &now);
    snprintf(text, sizeof text, "%d of 512 bytes in use", (int)now.sram_bytes);
    assert_true(view_case_says(&draw, text));
    snprintf(text, sizeof text, "%d free", (int)(512 - now.sram_bytes));
    assert_true(view_case_says(&draw, text));
    assert_true(view_case_says(&draw, "weights sum to 1"));
    assert_non_null(view_case_text(&draw, "not yet divided by"));
    frame.at[0].landed = view_case_after(tidy, SIM_STORE, FA_O, 1, -1);
    paint(&frame);
    assert_null(view_case_text(&draw, "not yet divided by"));
}

static void numbers_are_those_of_the_run(void **state)
{
    struct view_frame frame =
        view_case_frame(tidy, NULL, 1280, 720, view_case_after(tidy, SIM_COMPUTE, FA_S, 1, 2));
    struct view_scene scene = paint(&frame);
    (void)state;
    for (int64_t r = 0; r < 4; r++)
        for (int64_t c = 0; c < 4; c++) {
            double value = 0;
            struct view_box box;
            char text[VIEW_NUMBER_TEXT];
            bool found = false;
            assert_int_equal(view_values_chip(scene.moment[0].values, FA_S, r, c, &value),
                             VIEW_CELL_VALUE);
            assert_true(view_bench_cell(&scene, 0, FA_S, r, c, &box));
            view_number_short(value, text);
            for (size_t n = 0; n < draw.n_items; n++)
                found |= draw.items[n].kind == VIEW_TEXT && strcmp(draw.items[n].text, text) == 0 &&
                         view_box_has(box, draw.items[n].box.x + draw.items[n].box.w / 2,
                                      draw.items[n].box.y + draw.items[n].box.h / 2);
            assert_true(found);
        }
}

static void a_larger_maximum_is_tagged(void **state)
{
    uint64_t at = 0;
    const struct view_rescale *rescale = NULL;
    (void)state;
    for (; at < view_run_length(tidy); at++) {
        rescale = view_run_rescale(tidy, at);
        if (rescale && rescale->rose > 0)
            break;
    }
    assert_non_null(rescale);
    char factor[32];
    snprintf(factor, sizeof factor, "× %.3g", rescale->least_factor);
    struct view_frame frame = view_case_frame(tidy, NULL, 1280, 720, at + 1);
    paint(&frame);
    assert_non_null(view_case_text(&draw, factor));
    frame.covered = true; /* it would answer the question */
    paint(&frame);
    assert_null(view_case_text(&draw, factor));
    assert_true(view_case_says(&draw, "?"));
}

static void a_refusal_hangs_over_the_end(void **state)
{
    struct view_run *run = view_case_open(&(struct view_case){.sram = 300});
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, view_run_length(run));
    struct sim_state before;
    char text[64];
    (void)state;
    assert_true(view_run_refused(run));
    paint(&frame);
    view_run_state(run, view_run_length(run), &before);
    const struct sim_event *event = view_run_event(run, view_run_length(run) - 1);
    int all = (int)(before.sram_bytes + (uint64_t)event->rows * event->columns * 4);
    snprintf(text, sizeof text, "%d of 300 bytes: %d bytes too many", all, all - 300);
    assert_true(view_case_says(&draw, text));
    int bad = 0;
    for (size_t n = 0; n < draw.n_items; n++)
        bad += draw.items[n].kind == VIEW_HATCH && same_color(draw.items[n].color, draw.theme->bad);
    assert_int_equal(bad, 1);
    view_run_close(run);
}

/* ---- totals ---------------------------------------------------------------------------------- */

static void lanes_show_counted_totals(void **state)
{
    struct view_run *run = view_case_open(&(struct view_case){.heads = 3});
    uint64_t end = view_run_length(run);
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, end);
    struct sim_state state_end;
    char all[VIEW_COUNT_TEXT], one[VIEW_COUNT_TEXT];
    (void)state;
    view_run_state(run, end, &state_end);
    uint64_t read =
        sim_counters_read_all(&state_end.counters, &view_run_header(run)->problem).elements;
    frame.bytes = false;
    paint(&frame);
    assert_true(view_case_says(&draw, view_count_text(read / 3, one)));
    assert_true(view_case_says(&draw, "head 3 of 3"));
    frame.all_heads = true;
    paint(&frame);
    assert_true(view_case_says(&draw, view_count_text(read, all)));
    assert_true(view_case_says(&draw, "elements"));
    view_run_close(run);
}

/* ---- all sizes ------------------------------------------------------------------------------- */

static void texts_fit_everywhere(void **state)
{
    static const struct view_case cases[] = {
        {.sram = 512, .profile = FA_PROFILE_TIDY},
        {.algorithm = "flash1", .n = 64, .d = 8, .br = 16, .bc = 8},
        {.algorithm = "standard", .n = 24, .nk = 40, .sram = 2048},
        {.backward = true},
        {.algorithm = "flash1", .backward = true, .n = 40},
        {.algorithm = "standard", .backward = true, .n = 12, .dropout_p = 0.25},
        {.algorithm = "fused-save-p", .n = 64, .d = 16, .br = 16, .bc = 16},
        {.n = 1, .nk = 300, .d = 32, .br = 1, .bc = 16},
        {.n = 300, .nk = 2, .d = 2, .br = 4, .bc = 2, .causal = true},
        {.n = 512, .d = 2, .br = 4, .bc = 4, .causal = true},
        {.n = 20, .d = 64, .br = 7, .bc = 9, .dropout_p = 0.5},
        {.sram = 300},
        {.heads = 2, .n = 33, .br = 8, .bc = 8, .window = 6},
    };
    static const float sizes[][2] = {{400, 300},  {480, 320},  {640, 480},   {800, 600},
                                     {1000, 480}, {1280, 720}, {1920, 1080}, {3840, 2160}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct view_run *run = view_case_open(&cases[c]);
        uint64_t length = view_run_length(run);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int part = 0; part <= 8; part++) {
                struct view_frame frame = view_case_frame(run, part == 7 ? run : NULL, sizes[s][0],
                                                          sizes[s][1], length * (uint64_t)part / 8);
                frame.panel_open = sizes[s][0] >= 640;
                frame.at[0].flight = part % 2 ? 0.5f : 0;
                frame.theme = part % 3 ? &view_dark : &view_light;
                frame.zoom = part == 5 ? 6 : 1;
                paint(&frame);
                view_case_check_texts(&draw, sizes[s][0], sizes[s][1]);
            }
        view_run_close(run);
    }
}

/* 64 x 64 tiles: few items, as no tile has a text or a frame of its own in the ghost. */
static void many_tiles_are_few_items(void **state)
{
    struct view_run *run = view_case_open(&(struct view_case){.n = 256, .d = 4});
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, view_run_length(run) / 2);
    (void)state;
    paint(&frame);
    assert_true(draw.n_items < 2500);
    view_run_close(run);
}

/* The checks have a place at every size with room for a sign, and are there as controls to hit. */
static void checks_have_a_place(void **state)
{
    static const float sizes[][2] = {{800, 600}, {640, 480}, {900, 620}, {1280, 720}, {1920, 1080}};
    (void)state;
    struct view_run *run = view_case_open(&view_case_tidy);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int panel = 0; panel < 2; panel++) {
            struct view_frame frame = view_case_frame(run, NULL, sizes[s][0], sizes[s][1], 40);
            struct view_sram_places places;
            frame.panel_open = panel == 1;
            struct view_scene scene = view_case_scene(&frame);
            view_sram_places(&scene, 0, &places);
            assert_true(places.checks.w >= 3 * 32 && places.checks.h >= 26);
            assert_true(places.checks.x + places.checks.w <=
                        scene.layout.sram[0].x + scene.layout.sram[0].w);
            bool above = places.checks.y + places.checks.h <= places.bench.y + 0.5f;
            bool below = places.checks.y >= places.bar.y + places.bar.h;
            assert_true(above || below);
            assert_true(places.title.x + places.title.w <= places.checks.x || below);
        }
    view_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_have_a_place),
        cmocka_unit_test(the_cross_is_a_cross),
        cmocka_unit_test(standard_stores_s_and_p_side_by_side),
        cmocka_unit_test(gradients_lie_outside_their_tensors),
        cmocka_unit_test(a_number_is_found_where_it_is_drawn),
        cmocka_unit_test(zoom_enlarges_and_cuts),
        cmocka_unit_test(what_is_on_chip_is_ringed),
        cmocka_unit_test(marks_count_the_tiles_that_are_done),
        cmocka_unit_test(scores_turn_into_weights),
        cmocka_unit_test(a_changed_copy_makes_hbm_stale),
        cmocka_unit_test(unwritten_rows_are_dashed),
        cmocka_unit_test(the_dead_half_is_bare),
        cmocka_unit_test(cut_tiles_show_which_part),
        cmocka_unit_test(sram_says_what_is_in_use),
        cmocka_unit_test(numbers_are_those_of_the_run),
        cmocka_unit_test(a_larger_maximum_is_tagged),
        cmocka_unit_test(a_refusal_hangs_over_the_end),
        cmocka_unit_test(lanes_show_counted_totals),
        cmocka_unit_test(texts_fit_everywhere),
        cmocka_unit_test(many_tiles_are_few_items),
    };
    return cmocka_run_group_tests(tests, tidy_case_open, tidy_case_close);
}
