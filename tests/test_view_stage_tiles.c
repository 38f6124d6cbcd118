/* The stage of tiles: what the drag counts, what fits, and what letting go runs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "simulator/counters.h"
#include "tests/view_case.h"
#include "visualizer/plot_points.h"
#include "visualizer/state.h"

static const struct view_case small = {.n = 64, .d = 8, .br = 16, .bc = 16, .sram = 4096};

struct fixture {
    int runs;
    struct view_state *state;
    struct view_frame *frame;
};

static void make_options(struct view_option *options, int *n, int64_t br, int64_t bc)
{
    memset(options, 0, 2 * sizeof *options);
    snprintf(options[0].name, sizeof options[0].name, "n");
    snprintf(options[0].value, sizeof options[0].value, "64");
    snprintf(options[0].label, sizeof options[0].label, "N 64");
    snprintf(options[1].name, sizeof options[1].name, "tiles");
    snprintf(options[1].value, sizeof options[1].value, "%dx%d", (int)br, (int)bc);
    snprintf(options[1].label, sizeof options[1].label, "tiles %d × %d", (int)br, (int)bc);
    options[0].editable = options[1].editable = true;
    *n = 2;
}

static enum fa_status open_run(void *context, int which, struct view_option *options, int *n,
                               const uint8_t *blocks, const struct fa_watch *watch,
                               struct view_run **run, struct fa_error *error)
{
    struct fixture *fixture = context;
    struct view_case c = small;
    struct sim_tile_choice choice;
    (void)which, (void)blocks, (void)watch;
    fixture->runs++;
    enum fa_status status = sim_tile_choice_parse(options[1].value, &choice, error);
    if (status != FA_OK)
        return status;
    c.br = choice.br;
    c.bc = choice.bc;
    *run = view_case_open(&c);
    make_options(options, n, c.br, c.bc);
    return FA_OK;
}

static void open_it(struct fixture *fixture, float width, float height)
{
    struct view_option options[VIEW_MOST_OPTIONS];
    struct fa_error error;
    int n;
    const struct view_host host = {.open_run = open_run, .context = fixture};
    memset(fixture, 0, sizeof *fixture);
    assert_int_equal(
        view_state_open(&host, &view_builtin_face, width, height, &fixture->state, &error), FA_OK);
    make_options(options, &n, small.br, small.bc);
    view_state_show(fixture->state, view_case_open(&small), options, n, NULL, NULL, 0);
    fixture->frame = view_state_frame(fixture->state);
    fixture->frame->stage = VIEW_STAGE_TILES;
    fixture->frame->panel_open = false;
    view_state_do(fixture->state, VIEW_STAGE, VIEW_STAGE_TILES);
}

static void pointer(struct fixture *fixture, enum view_input_kind kind, float x, float y)
{
    const struct view_input input = {.kind = kind, .x = x, .y = y};
    view_state_take(fixture->state, &input);
}

static void place_of(struct fixture *fixture, int64_t br, int64_t bc, float *x, float *y)
{
    struct view_scene scene = view_case_scene(fixture->frame);
    assert_true(view_tiles_place(&scene, br, bc, x, y));
}

/* Presses the corner and drags it to where those tiles are. */
static void drag_to(struct fixture *fixture, int64_t br, int64_t bc)
{
    struct fa_tiles own = view_run_tiles(fixture->frame->run[0]);
    float x, y;
    place_of(fixture, own.br, own.bc, &x, &y);
    pointer(fixture, VIEW_INPUT_PRESS, x, y);
    place_of(fixture, br, bc, &x, &y);
    pointer(fixture, VIEW_INPUT_MOVE, x, y);
}

static void let_go(struct fixture *fixture)
{
    pointer(fixture, VIEW_INPUT_RELEASE, fixture->frame->pointer_x, fixture->frame->pointer_y);
}

/* Elements that a run of the experiment with those tiles moves. */
static uint64_t moved_with(const struct view_run *run, int64_t br, int64_t bc)
{
    struct sim_experiment e = *view_run_experiment(run);
    struct sim_result result;
    e.mode = SIM_COUNT_ONLY;
    e.trace = NULL;
    e.tiles = (struct sim_tile_choice){SIM_TILES_GIVEN, br, bc};
    assert_int_equal(sim_experiment_run(&e, &result, NULL), FA_OK);
    return sim_counters_read_all(&result.counters, &e.problem).elements +
           sim_counters_write_all(&result.counters, &e.problem).elements;
}

static uint64_t moved_by(const struct view_run *run)
{
    const struct fa_problem *problem = &view_run_header(run)->problem;
    struct sim_state end;
    view_run_state(run, view_run_length(run), &end);
    return sim_counters_read_all(&end.counters, problem).elements +
           sim_counters_write_all(&end.counters, problem).elements;
}

static void expect_words(struct fixture *fixture, const char *words)
{
    const struct view_draw *draw = view_state_draw(fixture->state);
    if (view_case_text(draw, words))
        return;
    for (size_t n = 0; n < draw->n_items; n++)
        if (draw->items[n].kind == VIEW_TEXT)
            print_message("  there is \"%s\"\n", draw->items[n].text);
    fail_msg("no text has \"%s\"", words);
}

static bool has_bad_hatch(struct fixture *fixture)
{
    const struct view_draw *draw = view_state_draw(fixture->state);
    struct view_color bad = fixture->frame->theme->bad;
    for (size_t n = 0; n < draw->n_items; n++)
        if (draw->items[n].kind == VIEW_HATCH && draw->items[n].pattern == VIEW_RISING &&
            memcmp(&draw->items[n].color, &bad, sizeof bad) == 0)
            return true;
    return false;
}

/* ---- dragging -------------------------------------------------------------------------------- */

static void test_drag_counts(void **unused)
{
    struct fixture f;
    char number[VIEW_COUNT_TEXT];
    (void)unused;
    open_it(&f, 1280, 720);
    f.frame->bytes = false;
    drag_to(&f, 24, 8);
    const struct view_tiles_tried *tiles = &f.frame->tiles;
    assert_int_equal(tiles->br, 24);
    assert_int_equal(tiles->bc, 8);
    assert_int_equal(tiles->outcome, VIEW_TRIED_COUNTED);
    assert_true(tiles->moved.elements == moved_with(f.frame->run[0], 24, 8));
    assert_int_equal(f.runs, 0); /* it is counted, not run */
    expect_words(&f, "Br 24, Bc 8");
    expect_words(&f, "24 × 8, dragged");
    expect_words(&f, view_count_text(tiles->moved.elements, number));
    assert_false(has_bad_hatch(&f));
    /* A worse place does not take the best's. */
    float x, y;
    place_of(&f, 4, 4, &x, &y);
    pointer(&f, VIEW_INPUT_MOVE, x, y);
    assert_int_equal(tiles->br, 4);
    assert_true(tiles->moved.elements > tiles->best.elements);
    assert_int_equal(tiles->best_br, 24);
    expect_words(&f, "24 × 8, best so far");
    /* Past the ends of the axes it stays on them. */
    pointer(&f, VIEW_INPUT_MOVE, 0, 0);
    assert_int_equal(tiles->br, 1);
    assert_int_equal(tiles->bc, 1);
    view_state_close(f.state);
}

static void test_does_not_fit(void **unused)
{
    struct fixture f;
    (void)unused;
    open_it(&f, 1280, 720);
    drag_to(&f, 64, 64);
    assert_int_equal(f.frame->tiles.outcome, VIEW_TRIED_REFUSED);
    assert_int_equal(f.frame->tiles.best_br, 16); /* where the drag began */
    expect_words(&f, "more than fit");
    expect_words(&f, "does not fit");
    assert_true(has_bad_hatch(&f));
    /* Let go, it is refused as any run is. */
    let_go(&f);
    assert_int_equal(f.runs, 1);
    assert_true(view_run_refused(f.frame->run[0]));
    assert_true(has_bad_hatch(&f));
    view_state_close(f.state);
}

/* What the picture says to fit is what runs: both sides of the border. */
static void test_border(void **unused)
{
    struct fixture f;
    (void)unused;
    open_it(&f, 1280, 720);
    for (int64_t bc = 1; bc <= 64; bc *= 4) {
        struct sim_volume moved;
        const struct sim_experiment *e = view_run_experiment(f.frame->run[0]);
        int64_t br = 0;
        while (br < 64 && view_tiles_count(e, br + 1, bc, &moved, NULL) == FA_OK)
            br++;
        for (int64_t more = br > 0 ? 0 : 1; more < 2 && br + more <= 64; more++) {
            f.frame->tiles = (struct view_tiles_tried){.br = br + more, .bc = bc};
            view_state_do(f.state, VIEW_NOTHING, 0);
            expect_words(&f, more ? "more than fit" : "It fits.");
        }
    }
    view_state_close(f.state);
}

static void test_let_go_runs(void **unused)
{
    struct fixture f;
    (void)unused;
    open_it(&f, 1280, 720);
    drag_to(&f, 24, 8);
    uint64_t counted = f.frame->tiles.moved.elements;
    let_go(&f);
    assert_int_equal(f.runs, 1);
    assert_string_equal(f.frame->options[1].value, "24x8");
    struct fa_tiles tiles = view_run_tiles(f.frame->run[0]);
    assert_int_equal(tiles.br, 24);
    assert_int_equal(tiles.bc, 8);
    assert_true(moved_by(f.frame->run[0]) == counted);
    assert_int_equal(f.frame->tiles.br, 0);
    assert_int_equal(f.frame->tiles.best_br, 24); /* the best outlives the run */
    expect_words(&f, "24 × 8, this run");
    /* Nothing is held any more. */
    pointer(&f, VIEW_INPUT_MOVE, 100, 300);
    assert_int_equal(f.frame->tiles.br, 0);
    /* Another problem begins anew. */
    struct view_option options[VIEW_MOST_OPTIONS];
    int n;
    make_options(options, &n, 16, 16);
    view_state_show(f.state, view_case_open(&small), options, n, NULL, NULL, 0);
    assert_int_equal(f.frame->tiles.best_br, 0);
    view_state_close(f.state);
}

/* Gripped beside its middle the corner does not jump, and the run is not made again. */
static void test_grip(void **unused)
{
    struct fixture f;
    float x, y;
    (void)unused;
    open_it(&f, 1280, 720);
    place_of(&f, 16, 16, &x, &y);
    pointer(&f, VIEW_INPUT_PRESS, x + 9, y - 9);
    let_go(&f);
    assert_int_equal(f.runs, 0);
    /* Elsewhere on the plane it comes to the pointer. */
    place_of(&f, 8, 32, &x, &y);
    pointer(&f, VIEW_INPUT_PRESS, x, y);
    assert_int_equal(f.frame->tiles.br, 8);
    assert_int_equal(f.frame->tiles.bc, 32);
    view_state_close(f.state);
}

static void test_handle(void **unused)
{
    struct fixture f;
    const struct view_hit *handle = NULL;
    (void)unused;
    open_it(&f, 1280, 720);
    const struct view_draw *draw = view_state_draw(f.state);
    for (size_t n = 0; n < draw->n_hits; n++)
        if (draw->hits[n].action == VIEW_TILES_DRAG && draw->hits[n].label)
            handle = &draw->hits[n];
    assert_non_null(handle);
    assert_true(handle->box.w >= 28 && handle->box.h >= 28);
    assert_string_equal(handle->label, "Br 16, Bc 16: drag, or arrows, to change the tiles");
    view_state_do(f.state, VIEW_TILES_DRAG, 0); /* by a key: the chip is edited */
    assert_int_equal(f.frame->open_chip, 1);
    /* Without such a chip there is nothing to drag. */
    f.frame->options[1].editable = false;
    view_state_do(f.state, VIEW_CLOSE, 0);
    draw = view_state_draw(f.state);
    for (size_t n = 0; n < draw->n_hits; n++)
        assert_int_not_equal(draw->hits[n].action, VIEW_TILES_DRAG);
    view_state_close(f.state);
}

static void key(struct fixture *fixture, enum view_key which, bool shift)
{
    const struct view_input input = {.kind = VIEW_INPUT_KEY, .key = which, .shift = shift};
    view_state_take(fixture->state, &input);
}

/* Tab goes to the corner. */
static void focus_corner(struct fixture *fixture)
{
    const struct view_draw *draw = view_state_draw(fixture->state);
    int stop = 0;
    for (size_t n = 0; n < draw->n_hits; n++) {
        if (!draw->hits[n].label)
            continue;
        if (draw->hits[n].action == VIEW_TILES_DRAG)
            break;
        stop++;
    }
    for (fixture->frame->focus = -1; fixture->frame->focus < stop;)
        key(fixture, VIEW_KEY_TAB, false);
}

static void expect_tried(struct fixture *fixture, int64_t br, int64_t bc)
{
    assert_int_equal(fixture->frame->tiles.br, br);
    assert_int_equal(fixture->frame->tiles.bc, bc);
}

static void test_keys_drag_the_corner(void **unused)
{
    struct fixture f;
    (void)unused;
    open_it(&f, 1280, 720);
    /* Elsewhere arrows step through the run. */
    key(&f, VIEW_KEY_RIGHT, false);
    expect_tried(&f, 0, 0);
    view_state_settle(f.state);
    focus_corner(&f);
    uint64_t landed = f.frame->at[0].landed;
    key(&f, VIEW_KEY_DOWN, false);
    expect_tried(&f, 17, 16);
    expect_words(&f, "17 × 16, dragged");
    key(&f, VIEW_KEY_UP, false);
    key(&f, VIEW_KEY_UP, false);
    key(&f, VIEW_KEY_LEFT, false);
    expect_tried(&f, 15, 15);
    key(&f, VIEW_KEY_RIGHT, true);
    expect_tried(&f, 15, 30);
    key(&f, VIEW_KEY_UP, true);
    expect_tried(&f, 7, 30);
    assert_true(f.frame->tiles.moved.elements == moved_with(f.frame->run[0], 7, 30));
    assert_int_equal(f.frame->at[0].landed, landed);
    assert_int_equal(f.runs, 0);
    key(&f, VIEW_KEY_ENTER, false);
    assert_int_equal(f.runs, 1);
    assert_string_equal(f.frame->options[1].value, "7x30");
    expect_tried(&f, 0, 0);
    /* They stay inside the problem. */
    for (int n = 0; n < 9; n++) {
        key(&f, VIEW_KEY_UP, true);
        key(&f, VIEW_KEY_RIGHT, true);
    }
    expect_tried(&f, 1, view_run_header(f.frame->run[0])->problem.nk);
    key(&f, VIEW_KEY_ESCAPE, false);
    expect_tried(&f, 0, 0);
    assert_int_equal(f.runs, 1);
    view_state_close(f.state);
}

/* Esc lets go of a corner that the pointer drags, too: nothing is run. */
static void test_escape_lets_go(void **unused)
{
    struct fixture f;
    (void)unused;
    open_it(&f, 1280, 720);
    drag_to(&f, 24, 8);
    key(&f, VIEW_KEY_ESCAPE, false);
    expect_tried(&f, 0, 0);
    pointer(&f, VIEW_INPUT_MOVE, 200, 300);
    expect_tried(&f, 0, 0);
    let_go(&f);
    assert_int_equal(f.runs, 0);
    assert_string_equal(f.frame->options[1].value, "16x16");
    view_state_close(f.state);
}

static void test_many_tiles(void **unused)
{
    (void)unused;
    struct view_run *run = view_case_open(
        &(struct view_case){.n = 2048, .d = 1, .br = 512, .bc = 512, .sram = 4 << 20});
    struct sim_volume moved;
    assert_int_equal(view_tiles_count(view_run_experiment(run), 1, 1, &moved, NULL), FA_TOO_LARGE);
    assert_int_equal(view_tiles_count(view_run_experiment(run), 2, 2, &moved, NULL), FA_OK);
    assert_true(moved.elements == moved_with(run, 2, 2));
    view_run_close(run);
}

static void test_covered(void **unused)
{
    struct fixture f;
    char number[VIEW_COUNT_TEXT];
    (void)unused;
    open_it(&f, 1280, 720);
    f.frame->bytes = false;
    f.frame->covered = true;
    drag_to(&f, 24, 8);
    view_count_text(f.frame->tiles.moved.elements, number);
    assert_null(view_case_text(view_state_draw(f.state), number));
    expect_words(&f, "24 × 8, dragged");
    view_state_close(f.state);
}

/* ---- at all sizes ---------------------------------------------------------------------------- */

static void test_sizes(void **unused)
{
    static const float sizes[][2] = {{400, 300}, {480, 640},  {640, 480},  {800, 600},
                                     {1000, 500}, {1280, 720}, {1920, 1080}};
    static const int64_t tiles[][2] = {{0, 0}, {1, 1}, {24, 8}, {1, 64}, {64, 1}, {64, 64}};
    (void)unused;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++)
            for (int k = 0; k < 4; k++) {
                struct fixture f;
                open_it(&f, sizes[s][0], sizes[s][1]);
                f.frame->theme = k % 2 ? &view_light : &view_dark;
                if (tiles[t][0] > 0)
                    drag_to(&f, tiles[t][0], tiles[t][1]);
                f.frame->panel_open = k / 2;
                f.frame->tiles.outcome = t % 2 ? f.frame->tiles.outcome : VIEW_TRIED_LARGE;
                view_state_do(f.state, VIEW_NOTHING, 0);
                const struct view_draw *draw = view_state_draw(f.state);
                view_case_check_texts(draw, sizes[s][0], sizes[s][1]);
                if (!f.frame->panel_open)
                    assert_non_null(view_case_text(draw, "Br "));
                view_state_close(f.state);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drag_counts), cmocka_unit_test(test_does_not_fit),
        cmocka_unit_test(test_border),      cmocka_unit_test(test_let_go_runs),
        cmocka_unit_test(test_grip),        cmocka_unit_test(test_handle),
        cmocka_unit_test(test_keys_drag_the_corner),
        cmocka_unit_test(test_escape_lets_go),
        cmocka_unit_test(test_keys_drag_the_corner), cmocka_unit_test(test_escape_lets_go),
        cmocka_unit_test(test_many_tiles),  cmocka_unit_test(test_covered),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
