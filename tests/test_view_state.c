/* What keys, clicks and time do to the frame: the window's state, without a window. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/view_case.h"
#include "visualizer/clock.h"
#include "visualizer/state.h"

/* A host that runs cases: it changes N by the chip, and refuses what it is told to. */
struct host_log {
    int runs, pictures, movies;
    uint64_t movie_from, movie_to;
    bool fail, cancel, slow;
    uint8_t blocks[16];
    bool had_blocks;
};

static void make_options(struct view_option *options, int *n, int64_t length)
{
    static const char *const algorithms[] = {"flash2", "flash1", NULL};
    memset(options, 0, 2 * sizeof *options);
    snprintf(options[0].name, sizeof options[0].name, "algorithm");
    snprintf(options[0].value, sizeof options[0].value, "flash2");
    snprintf(options[0].label, sizeof options[0].label, "flash2");
    options[0].choices = algorithms;
    options[0].editable = true;
    snprintf(options[1].name, sizeof options[1].name, "n");
    snprintf(options[1].value, sizeof options[1].value, "%d", (int)length);
    snprintf(options[1].label, sizeof options[1].label, "N %d", (int)length);
    options[1].editable = true;
    *n = 2;
}

static enum fa_status open_run(void *context, int which, struct view_option *options, int *n,
                               const uint8_t *blocks, const struct fa_watch *watch,
                               struct view_run **run, struct fa_error *error)
{
    struct host_log *log = context;
    struct view_case c = view_case_tidy;
    struct fa_block_mask mask;
    log->runs++;
    if (log->cancel)
        return fa_fail(error, FA_CANCELLED, "stopped");
    if (log->fail)
        return fa_fail(error, FA_BAD_ARGUMENT, "--n: expected 0 or more");
    while (log->slow && watch->tick(watch->context, 0.5)) {
        /* Work that never ends, unless it is stopped. */
    }
    if (log->slow)
        return fa_fail(error, FA_CANCELLED, "stopped");
    c.n = 0;
    for (const char *digit = options[1].value; *digit; digit++)
        c.n = c.n * 10 + (*digit - '0');
    c.algorithm = which == 1 ? "flash1" : options[0].value;
    log->had_blocks = blocks != NULL;
    if (blocks) {
        memcpy(log->blocks, blocks, sizeof log->blocks);
        mask = (struct fa_block_mask){4, 4, 4, 4, log->blocks};
        c.blocks = &mask;
    }
    *run = view_case_open(&c);
    make_options(options, n, c.n);
    return FA_OK;
}

static enum fa_status save_picture(void *context, const struct view_frame *frame, char note[160],
                                   struct fa_error *error)
{
    (void)frame, (void)error;
    ((struct host_log *)context)->pictures++;
    snprintf(note, 160, "Saved it.");
    return FA_OK;
}

static enum fa_status save_movie(void *context, const struct view_frame *frame, uint64_t from,
                                 uint64_t to, char note[160], struct fa_error *error)
{
    struct host_log *log = context;
    (void)frame, (void)error;
    log->movies++;
    log->movie_from = from;
    log->movie_to = to;
    snprintf(note, 160, "Saved them.");
    return FA_OK;
}

struct fixture {
    struct host_log log;
    struct view_state *state;
    struct view_frame *frame;
};

static void open_with(struct fixture *fixture, bool compare)
{
    struct view_option options[VIEW_MOST_OPTIONS];
    struct fa_error error;
    int n;
    const struct view_host host = {.open_run = open_run, .save_picture = save_picture,
                                   .save_movie = save_movie, .context = &fixture->log};
    memset(fixture, 0, sizeof *fixture);
    assert_int_equal(view_state_open(&host, &view_builtin_face, 1280, 720, &fixture->state, &error),
                     FA_OK);
    make_options(options, &n, 16);
    struct view_case second = view_case_tidy;
    second.algorithm = "flash1";
    view_state_show(fixture->state, view_case_open(&view_case_tidy), options, n,
                    compare ? view_case_open(&second) : NULL, options, compare ? n : 0);
    fixture->frame = view_state_frame(fixture->state);
}

static void open_one(struct fixture *fixture)
{
    open_with(fixture, false);
}

static void close_it(struct fixture *fixture)
{
    view_state_close(fixture->state);
}

static void press_key(struct fixture *fixture, enum view_key key, bool shift, bool ctrl)
{
    const struct view_input input = {.kind = VIEW_INPUT_KEY, .key = key, .shift = shift,
                                     .ctrl = ctrl};
    view_state_take(fixture->state, &input);
}

static void type(struct fixture *fixture, const char *text)
{
    for (; *text; text++) {
        struct view_input input = {.kind = VIEW_INPUT_KEY, .key = VIEW_KEY_TEXT};
        input.text[0] = *text;
        view_state_take(fixture->state, &input);
    }
}

static void pointer(struct fixture *fixture, enum view_input_kind kind, float x, float y)
{
    const struct view_input input = {.kind = kind, .x = x, .y = y};
    view_state_take(fixture->state, &input);
}

static void click(struct fixture *fixture, float x, float y)
{
    pointer(fixture, VIEW_INPUT_PRESS, x, y);
    pointer(fixture, VIEW_INPUT_RELEASE, x, y);
}

/* The hit of an action and a value on screen now. */
static const struct view_hit *find_hit(struct fixture *fixture, enum view_action action,
                                       int64_t value)
{
    const struct view_draw *draw = view_state_draw(fixture->state);
    for (size_t i = draw->n_hits; i-- > 0;)
        if (draw->hits[i].action == action && draw->hits[i].value == value)
            return &draw->hits[i];
    return NULL;
}

static void click_hit(struct fixture *fixture, enum view_action action, int64_t value)
{
    const struct view_hit *hit = find_hit(fixture, action, value);
    assert_non_null(hit);
    struct view_box box = hit->box;
    click(fixture, box.x + box.w / 2, box.y + box.h / 2);
}

static uint64_t landed(const struct fixture *fixture)
{
    return fixture->frame->at[0].landed;
}

static uint64_t length_of(const struct fixture *fixture)
{
    return view_run_length(fixture->frame->run[0]);
}

/* ---- panels ---------------------------------------------------------------------------------- */

/* In a window with room for two panels, they are never the same one. */
static void expect_panels(struct fixture *f, enum view_panel first, enum view_panel second)
{
    assert_int_equal(f->frame->panel, first);
    assert_int_equal(view_second_panel(f->frame), second);
}

static void test_two_panels_differ(void **unused)
{
    struct fixture f;
    (void)unused;
    open_with(&f, true);
    expect_panels(&f, VIEW_PANEL_TRAFFIC, VIEW_PANEL_CODE);
    view_state_do(f.state, VIEW_PANEL, VIEW_SECOND_PANEL + VIEW_PANEL_CHECK);
    expect_panels(&f, VIEW_PANEL_TRAFFIC, VIEW_PANEL_CHECK);
    /* A panel that the other one shows changes places with it. */
    view_state_do(f.state, VIEW_PANEL, VIEW_PANEL_CHECK);
    expect_panels(&f, VIEW_PANEL_CHECK, VIEW_PANEL_TRAFFIC);
    view_state_do(f.state, VIEW_PANEL, VIEW_SECOND_PANEL + VIEW_PANEL_CHECK);
    expect_panels(&f, VIEW_PANEL_TRAFFIC, VIEW_PANEL_CHECK);
    f.frame->panel = f.frame->second_panel = VIEW_PANEL_CODE;
    expect_panels(&f, VIEW_PANEL_CODE, VIEW_PANEL_TRAFFIC);
    close_it(&f);
}

/* ---- time and keys --------------------------------------------------------------------------- */

static void test_space_plays_to_the_end(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    assert_true(landed(&f) == 0);
    press_key(&f, VIEW_KEY_SPACE, false, false);
    assert_true(f.frame->playing);
    assert_false(view_state_idle(f.state));
    assert_true(view_state_tick(f.state, 4000));
    uint64_t middle = landed(&f);
    assert_true(middle > 0 && middle < length_of(&f));
    press_key(&f, VIEW_KEY_SPACE, false, false);
    assert_false(f.frame->playing);
    view_state_tick(f.state, 4000);
    assert_int_equal(landed(&f), middle);
    press_key(&f, VIEW_KEY_SPACE, false, false);
    for (int i = 0; i < 100 && f.frame->playing; i++)
        view_state_tick(f.state, 1000);
    assert_int_equal(landed(&f), length_of(&f));
    assert_false(f.frame->playing);
    /* At the end, play begins again. */
    press_key(&f, VIEW_KEY_SPACE, false, false);
    assert_true(f.frame->playing && landed(&f) == 0);
    close_it(&f);
}

static void test_steps(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    press_key(&f, VIEW_KEY_RIGHT, false, false);
    assert_false(view_state_idle(f.state)); /* it is on its way */
    view_state_tick(f.state, 80);
    assert_true(landed(&f) > 0 || f.frame->at[0].flight > 0);
    for (int i = 0; i < 20; i++)
        view_state_tick(f.state, 100);
    uint64_t one = landed(&f);
    assert_true(one == view_step(f.frame->run[0], 0, VIEW_BY_EVENT, 1) && f.frame->at[0].flight <= 0);
    press_key(&f, VIEW_KEY_LEFT, false, false);
    assert_true(landed(&f) == 0);
    press_key(&f, VIEW_KEY_RIGHT, true, false);
    assert_int_equal(landed(&f), view_step(f.frame->run[0], 0, VIEW_BY_TILE, 1));
    press_key(&f, VIEW_KEY_HOME, false, false);
    press_key(&f, VIEW_KEY_RIGHT, false, true);
    assert_int_equal(landed(&f), view_step(f.frame->run[0], 0, VIEW_BY_ROW, 1));
    press_key(&f, VIEW_KEY_HOME, false, false);
    press_key(&f, VIEW_KEY_DOWN, false, false);
    assert_int_equal(landed(&f), view_step(f.frame->run[0], 0, VIEW_BY_ROW, 1));
    press_key(&f, VIEW_KEY_UP, false, false);
    assert_true(landed(&f) == 0);
    press_key(&f, VIEW_KEY_PAGE_DOWN, false, false);
    assert_int_equal(landed(&f), length_of(&f)); /* one phase */
    press_key(&f, VIEW_KEY_PAGE_UP, false, false);
    assert_true(landed(&f) == 0);
    press_key(&f, VIEW_KEY_END, false, false);
    assert_int_equal(landed(&f), length_of(&f));
    close_it(&f);
}

static void test_a_second_press_lands_the_event(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    uint64_t load = view_case_after(f.frame->run[0], SIM_LOAD, FA_Q, -1, -1) - 1;
    view_state_seek(f.state, (struct view_position){load, 0});
    press_key(&f, VIEW_KEY_RIGHT, false, false);
    view_state_tick(f.state, 200);
    assert_int_equal(landed(&f), load);
    assert_true(f.frame->at[0].flight > 0.3 && f.frame->at[0].flight < 0.7);
    press_key(&f, VIEW_KEY_RIGHT, false, false);
    assert_int_equal(landed(&f), load + 1);
    assert_true(f.frame->at[0].flight <= 0);
    close_it(&f);
}

/* A step back plays nothing, and fades; a step on flies, and does not. */
static void test_a_step_back_fades(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    view_state_seek(f.state, (struct view_position){47, 0});
    view_state_draw(f.state);
    assert_true(view_state_fade(f.state) <= 0);
    press_key(&f, VIEW_KEY_LEFT, false, false);
    assert_int_equal(landed(&f), 46);
    assert_true(view_state_fade(f.state) > 0.99);
    view_state_draw(f.state);
    assert_false(view_state_idle(f.state));
    assert_true(view_state_tick(f.state, 60));
    assert_true(view_state_fade(f.state) > 0.49 && view_state_fade(f.state) < 0.51);
    assert_true(view_state_tick(f.state, 61));
    assert_true(view_state_fade(f.state) <= 0 && view_state_idle(f.state));
    press_key(&f, VIEW_KEY_RIGHT, false, false);
    assert_true(view_state_fade(f.state) <= 0);
    close_it(&f);
}

static void test_reduced_motion_jumps(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    f.frame->reduced_motion = true;
    press_key(&f, VIEW_KEY_RIGHT, false, false);
    assert_int_equal(landed(&f), view_step(f.frame->run[0], 0, VIEW_BY_EVENT, 1));
    close_it(&f);
}

static void test_letters(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    type(&f, "t");
    assert_ptr_equal(f.frame->theme, &view_light);
    type(&f, "]");
    assert_int_equal(f.frame->speed, VIEW_AUTO + 1);
    type(&f, "[[");
    assert_int_equal(f.frame->speed, VIEW_AUTO);
    type(&f, "c");
    assert_int_equal(f.frame->panel, VIEW_PANEL_TRAFFIC);
    type(&f, "v");
    assert_int_equal(f.frame->stage, VIEW_STAGE_ROW);
    type(&f, "V");
    assert_int_equal(f.frame->stage, VIEW_STAGE_SCALE);
    type(&f, "l");
    assert_true(f.frame->stages_open);
    press_key(&f, VIEW_KEY_ESCAPE, false, false);
    assert_false(f.frame->stages_open);
    type(&f, "?");
    assert_true(f.frame->help_open);
    type(&f, "?");
    assert_false(f.frame->help_open);
    type(&f, "u");
    assert_false(f.frame->bytes);
    type(&f, "d");
    assert_true(f.frame->all_heads);
    type(&f, "++");
    assert_true(f.frame->zoom > 1.5);
    type(&f, "0");
    assert_true(f.frame->zoom > 0.999 && f.frame->zoom < 1.001);
    type(&f, "-");
    assert_true(f.frame->zoom > 0.999 && f.frame->zoom < 1.001);
    press_key(&f, VIEW_KEY_F11, false, false);
    assert_false(f.frame->chrome_open);
    type(&f, "s");
    assert_int_equal(f.log.pictures, 1);
    assert_string_equal(f.frame->note, "Saved it.");
    view_state_tick(f.state, 5000);
    assert_string_equal(f.frame->note, "");
    close_it(&f);
}

static void test_loop(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    view_state_seek(f.state, (struct view_position){20, 0});
    type(&f, "a");
    view_state_seek(f.state, (struct view_position){24, 0});
    type(&f, "b");
    view_state_seek(f.state, (struct view_position){22, 0});
    type(&f, "g");
    assert_int_equal(f.log.movies, 1);
    assert_true(f.log.movie_from == 20 && f.log.movie_to == 24);
    press_key(&f, VIEW_KEY_SPACE, false, false);
    for (int i = 0; i < 300; i++) {
        view_state_tick(f.state, 50);
        assert_true(landed(&f) >= 20 && landed(&f) < 24);
    }
    type(&f, "b"); /* a mark on another place moves; on its own place it goes */
    close_it(&f);
}

static void test_go_to(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    type(&f, "/46");
    assert_true(f.frame->go_open);
    view_state_draw(f.state);
    assert_string_equal(f.frame->edit_text, "46");
    press_key(&f, VIEW_KEY_ENTER, false, false);
    assert_false(f.frame->go_open);
    assert_int_equal(landed(&f), 47);
    type(&f, "/1,2");
    press_key(&f, VIEW_KEY_ENTER, false, false);
    uint64_t tile;
    assert_int_equal(view_run_find_tile(f.frame->run[0], 1, 2, &tile, NULL), FA_OK);
    assert_int_equal(landed(&f), tile);
    type(&f, "/46.5x");
    press_key(&f, VIEW_KEY_BACKSPACE, false, false);
    press_key(&f, VIEW_KEY_ENTER, false, false);
    assert_int_equal(landed(&f), 47);
    assert_true(f.frame->at[0].flight > 0.49 && f.frame->at[0].flight < 0.51);
    type(&f, "/99999");
    press_key(&f, VIEW_KEY_ENTER, false, false);
    assert_int_equal(landed(&f), 47);
    assert_non_null(strstr(f.frame->note, "events"));
    close_it(&f);
}

static void test_positions_are_read(void **unused)
{
    static const char *const bad[] = {"", "x", "1,", ",2", "1.", "46.5.5", "-1", "1e3", "99,0",
                                      "123456789012345678901", "46 ", "1,2,3"};
    struct view_run *run = view_case_open(&view_case_tidy);
    struct view_position at = {7, 0};
    struct fa_error error;
    (void)unused;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(view_position_parse(run, bad[i], &at, &error), FA_BAD_ARGUMENT);
        assert_true(at.landed == 7 && strlen(error.text) > 20);
    }
    assert_int_equal(view_position_parse(run, "start", &at, &error), FA_OK);
    assert_true(at.landed == 0);
    assert_int_equal(view_position_parse(run, "end", &at, &error), FA_OK);
    assert_int_equal(at.landed, view_run_length(run));
    assert_int_equal(view_position_parse(run, "0", &at, &error), FA_OK);
    assert_true(at.landed == 1 && at.flight <= 0);
    view_run_close(run);
}

/* ---- the pointer ----------------------------------------------------------------------------- */

static void test_every_control_does_something(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    click_hit(&f, VIEW_PLAY, 0);
    assert_true(f.frame->playing);
    click_hit(&f, VIEW_PLAY, 0);
    assert_false(f.frame->playing);
    click_hit(&f, VIEW_END, 0);
    assert_int_equal(landed(&f), length_of(&f));
    click_hit(&f, VIEW_HOME, 0);
    assert_true(landed(&f) == 0);
    click_hit(&f, VIEW_STEP_BY, VIEW_BY_TILE);
    assert_int_equal(f.frame->step_by, VIEW_BY_TILE);
    click_hit(&f, VIEW_SPEED, -1);
    assert_true(f.frame->speed_open);
    click_hit(&f, VIEW_SPEED, VIEW_FOUR);
    assert_true(!f.frame->speed_open && f.frame->speed == VIEW_FOUR);
    click_hit(&f, VIEW_PANEL, VIEW_PANEL_CHECK);
    assert_int_equal(f.frame->panel, VIEW_PANEL_CHECK);
    click_hit(&f, VIEW_THEME, 0);
    assert_ptr_equal(f.frame->theme, &view_light);
    click_hit(&f, VIEW_HELP, 0);
    assert_true(f.frame->help_open);
    press_key(&f, VIEW_KEY_ESCAPE, false, false);
    click_hit(&f, VIEW_CONTENTS, 0);
    click_hit(&f, VIEW_STAGE, VIEW_STAGE_MASK);
    assert_true(f.frame->stage == VIEW_STAGE_MASK && !f.frame->stages_open);
    close_it(&f);
}

static void test_a_press_elsewhere_does_nothing(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    const struct view_hit *hit = find_hit(&f, VIEW_END, 0);
    assert_non_null(hit);
    struct view_box box = hit->box;
    pointer(&f, VIEW_INPUT_PRESS, box.x + 2, box.y + 2);
    pointer(&f, VIEW_INPUT_RELEASE, 640, 300);
    assert_true(landed(&f) == 0);
    close_it(&f);
}

static void test_scrubbing(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    const struct view_hit *track = find_hit(&f, VIEW_SCRUB, 0);
    assert_non_null(track);
    struct view_box box = track->box;
    float y = box.y + box.h / 2;
    pointer(&f, VIEW_INPUT_PRESS, box.x + box.w * 0.25f, y);
    uint64_t quarter = landed(&f);
    pointer(&f, VIEW_INPUT_MOVE, box.x + box.w * 0.75f, y);
    assert_true(landed(&f) > quarter && landed(&f) < length_of(&f));
    pointer(&f, VIEW_INPUT_MOVE, box.x + box.w * 4, y - 300); /* the pointer may leave while held */
    assert_int_equal(landed(&f), length_of(&f));
    pointer(&f, VIEW_INPUT_MOVE, box.x - 500, y);
    assert_true(landed(&f) == 0);
    pointer(&f, VIEW_INPUT_RELEASE, box.x, y);
    pointer(&f, VIEW_INPUT_MOVE, box.x + box.w * 0.5f, y);
    assert_true(landed(&f) == 0);
    close_it(&f);
}

/* Scrubbing lands on the borders of tiles. */
static void test_scrubbing_lands_on_tiles(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    struct view_box box = find_hit(&f, VIEW_SCRUB, 0)->box;
    for (int i = 1; i < 40; i++) {
        pointer(&f, VIEW_INPUT_PRESS, box.x + box.w * (float)i / 40, box.y + box.h / 2);
        uint64_t at = landed(&f);
        pointer(&f, VIEW_INPUT_RELEASE, box.x + box.w * (float)i / 40, box.y + box.h / 2);
        bool border = at == 0 || at == length_of(&f) ||
                      view_step(f.frame->run[0], at - 1, VIEW_BY_TILE, 1) == at ||
                      view_step(f.frame->run[0], at + 1, VIEW_BY_TILE, -1) == at;
        assert_true(border);
    }
    close_it(&f);
}

static void test_hover_shows_a_cell(void **unused)
{
    struct fixture f;
    struct view_box cell;
    (void)unused;
    open_one(&f);
    uint64_t scored = view_case_after(f.frame->run[0], SIM_COMPUTE, FA_S, 1, 2);
    view_state_seek(f.state, (struct view_position){scored, 0});
    struct view_scene scene = view_case_scene(f.frame);
    assert_true(view_bench_cell(&scene, 0, FA_S, 1, 2, &cell));
    pointer(&f, VIEW_INPUT_MOVE, cell.x + cell.w / 2, cell.y + cell.h / 2);
    assert_true(f.frame->cell.on && f.frame->cell.chip && f.frame->cell.id == FA_S);
    assert_true(f.frame->cell.row == 5 && f.frame->cell.column == 10); /* tile (1, 2) */
    pointer(&f, VIEW_INPUT_LEAVE, 0, 0);
    assert_false(f.frame->cell.on);
    close_it(&f);
}

static void test_cell_cursor(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    view_state_seek(f.state, (struct view_position){47, 0});
    press_key(&f, VIEW_KEY_ENTER, false, false);
    assert_true(f.frame->cell.on);
    struct view_cell before = f.frame->cell;
    press_key(&f, VIEW_KEY_DOWN, false, false);
    press_key(&f, VIEW_KEY_RIGHT, false, false);
    assert_true(f.frame->cell.row == before.row + 1 && f.frame->cell.column == before.column + 1);
    assert_int_equal(landed(&f), 47);
    press_key(&f, VIEW_KEY_ESCAPE, false, false);
    assert_false(f.frame->cell.on);
    press_key(&f, VIEW_KEY_LEFT, false, false);
    assert_int_equal(landed(&f), 46);
    close_it(&f);
}

static void test_cells_are_packed(void **unused)
{
    const struct view_cell cell = {true, 1, true, FA_TILE_M, 1048575, 70000};
    struct view_cell back = view_cell_unpack(view_cell_pack(cell));
    (void)unused;
    assert_true(back.on && back.which == 1 && back.chip && back.id == FA_TILE_M);
    assert_true(back.row == 1048575 && back.column == 70000);
}

static void test_tab_visits_every_control(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    const struct view_draw *draw = view_state_draw(f.state);
    int stops = 0;
    for (size_t i = 0; i < draw->n_hits; i++)
        stops += draw->hits[i].label != NULL;
    assert_true(stops > 15);
    for (int i = 0; i < stops; i++) {
        press_key(&f, VIEW_KEY_TAB, false, false);
        assert_int_equal(f.frame->focus, i);
    }
    press_key(&f, VIEW_KEY_TAB, false, false);
    assert_int_equal(f.frame->focus, 0);
    press_key(&f, VIEW_KEY_TAB, true, false);
    assert_int_equal(f.frame->focus, stops - 1);
    /* Enter does what the focus is on. */
    int stop = 0;
    draw = view_state_draw(f.state);
    for (size_t i = 0; i < draw->n_hits; i++)
        if (draw->hits[i].label && draw->hits[i].action != VIEW_THEME)
            stop++;
        else if (draw->hits[i].action == VIEW_THEME)
            break;
    f.frame->focus = stop;
    view_state_frame(f.state);
    press_key(&f, VIEW_KEY_ENTER, false, false);
    assert_ptr_equal(f.frame->theme, &view_light);
    close_it(&f);
}

static void test_wheel(void **unused)
{
    struct fixture f;
    struct view_input wheel = {.kind = VIEW_INPUT_WHEEL, .wheel = 2};
    (void)unused;
    open_one(&f);
    struct view_scene scene = view_case_scene(f.frame);
    wheel.x = scene.layout.hbm[0].x + scene.layout.hbm[0].w / 4;
    wheel.y = scene.layout.hbm[0].y + scene.layout.hbm[0].h / 2;
    assert_true(view_state_take(f.state, &wheel));
    assert_true(f.frame->zoom > 1.2 && f.frame->zoom_x < 0.5f);
    struct view_box track = find_hit(&f, VIEW_SCRUB, 0)->box;
    wheel.x = track.x + track.w / 2;
    wheel.y = track.y + track.h / 2;
    assert_true(view_state_take(f.state, &wheel));
    assert_true(f.frame->track_first > 0 && f.frame->track_end < length_of(&f));
    wheel.wheel = -2;
    for (int i = 0; i < 10; i++)
        view_state_take(f.state, &wheel);
    assert_true(f.frame->track_first == 0 && f.frame->track_end == 0);
    close_it(&f);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void test_a_chip_runs_again(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    view_state_seek(f.state, (struct view_position){47, 0});
    click_hit(&f, VIEW_CHIP, 0);
    assert_int_equal(f.frame->open_chip, 0);
    click_hit(&f, VIEW_CHIP_VALUE, 1);
    assert_int_equal(f.log.runs, 1);
    assert_string_equal(view_run_header(f.frame->run[0])->algorithm->name, "flash1");
    assert_true(landed(&f) == 0 && f.frame->open_chip == -1 && !f.frame->old);
    click_hit(&f, VIEW_CHIP, 1);
    for (int i = 0; i < 2; i++)
        press_key(&f, VIEW_KEY_BACKSPACE, false, false);
    type(&f, "32");
    press_key(&f, VIEW_KEY_ENTER, false, false);
    assert_int_equal(f.log.runs, 2);
    assert_int_equal(view_run_header(f.frame->run[0])->problem.nq, 32);
    assert_string_equal(f.frame->options[1].label, "N 32");
    close_it(&f);
}

/* An open menu has the keys: the run behind it stays where it is. */
static void test_a_menu_is_chosen_from_by_keys(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    view_state_seek(f.state, (struct view_position){47, 0});
    click_hit(&f, VIEW_CHIP, 0);
    press_key(&f, VIEW_KEY_ESCAPE, false, false);
    assert_int_equal(f.frame->open_chip, -1);
    click_hit(&f, VIEW_CHIP, 0);
    press_key(&f, VIEW_KEY_ENTER, false, false); /* nothing was chosen */
    assert_true(f.frame->open_chip == -1 && f.log.runs == 0);
    click_hit(&f, VIEW_CHIP, 0);
    type(&f, "t ");
    assert_ptr_equal(f.frame->theme, &view_dark);
    press_key(&f, VIEW_KEY_DOWN, false, false);
    press_key(&f, VIEW_KEY_UP, false, false);
    press_key(&f, VIEW_KEY_RIGHT, false, false);
    assert_true(f.frame->open_chip == 0 && landed(&f) == 47 && !f.frame->playing);
    press_key(&f, VIEW_KEY_ENTER, false, false);
    assert_int_equal(f.log.runs, 1);
    assert_int_equal(f.frame->open_chip, -1);
    assert_string_equal(view_run_header(f.frame->run[0])->algorithm->name, "flash1");
    close_it(&f);
}

static void test_letters_go_to_the_field(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    click_hit(&f, VIEW_CHIP, 1);
    type(&f, "t");
    assert_ptr_equal(f.frame->theme, &view_dark);
    press_key(&f, VIEW_KEY_ESCAPE, false, false);
    assert_int_equal(f.frame->open_chip, -1);
    assert_int_equal(f.log.runs, 0);
    type(&f, "t");
    assert_ptr_equal(f.frame->theme, &view_light);
    close_it(&f);
}

/* The hit that Tab's focus is on. */
static const struct view_hit *focused(struct fixture *f)
{
    const struct view_draw *draw = view_state_draw(f->state);
    int stop = 0;
    for (size_t i = 0; i < draw->n_hits; i++)
        if (draw->hits[i].label && stop++ == f->frame->focus)
            return &draw->hits[i];
    return NULL;
}

/* Tab goes round in the open menu, not to what lies behind it, and the ring is on the plate. */
static void test_tab_stays_in_the_menu(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    click_hit(&f, VIEW_CHIP, 0);
    int n = 0;
    while (f.frame->options[0].choices[n])
        n++;
    for (int k = 0; k <= n; k++) {
        press_key(&f, VIEW_KEY_TAB, false, false);
        assert_non_null(focused(&f));
        assert_int_equal(focused(&f)->action, VIEW_CHIP_VALUE);
        assert_int_equal(focused(&f)->value, k % n);
    }
    press_key(&f, VIEW_KEY_TAB, true, false);
    assert_int_equal(focused(&f)->value, n - 1);
    press_key(&f, VIEW_KEY_ESCAPE, false, false);
    press_key(&f, VIEW_KEY_TAB, false, false);
    assert_int_not_equal(focused(&f)->action, VIEW_CHIP_VALUE);
    close_it(&f);
}

static void test_a_failed_run_keeps_the_old_one(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    struct view_run *run = f.frame->run[0];
    f.log.fail = true;
    click_hit(&f, VIEW_CHIP, 0);
    click_hit(&f, VIEW_CHIP_VALUE, 1);
    assert_ptr_equal(f.frame->run[0], run);
    assert_string_equal(f.frame->options[0].value, "flash2");
    assert_non_null(strstr(f.frame->message.text, "expected 0 or more"));
    view_state_draw(f.state);
    press_key(&f, VIEW_KEY_ENTER, false, false); /* back to the run before */
    assert_string_equal(f.frame->message.title, "");
    f.log.fail = false;
    f.log.cancel = true;
    click_hit(&f, VIEW_CHIP, 0);
    click_hit(&f, VIEW_CHIP_VALUE, 1);
    assert_ptr_equal(f.frame->run[0], run);
    assert_string_equal(f.frame->message.title, "");
    assert_non_null(strstr(f.frame->note, "Stopped"));
    close_it(&f);
}

static bool stop_pump(void *context)
{
    (*(int *)context)++;
    return false;
}

static void test_escape_stops_a_run(void **unused)
{
    struct fixture f;
    int pumped = 0;
    (void)unused;
    open_one(&f);
    struct view_run *run = f.frame->run[0];
    view_state_set_pump(f.state, stop_pump, &pumped);
    f.log.slow = true;
    click_hit(&f, VIEW_CHIP, 0);
    click_hit(&f, VIEW_CHIP_VALUE, 1);
    assert_int_equal(pumped, 1);
    assert_ptr_equal(f.frame->run[0], run);
    assert_true(f.frame->progress < 0 && !f.frame->old);
    close_it(&f);
}

static void test_painting_the_mask(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    f.frame->stage = VIEW_STAGE_MASK;
    view_state_frame(f.state);
    view_state_draw(f.state);
    struct view_scene scene = view_case_scene(f.frame);
    struct view_box stage = scene.layout.stage;
    float px = -1, py = -1;
    int64_t row, column;
    for (float y = stage.y; y < stage.y + stage.h && px < 0; y += 4)
        for (float x = stage.x; x < stage.x + stage.w && px < 0; x += 4)
            if (view_mask_tile_at(&scene, x, y, &row, &column) && row == 1 && column == 2) {
                px = x + 3;
                py = y + 3;
            }
    assert_true(px > 0);
    click(&f, px, py);
    assert_int_equal(f.log.runs, 1);
    assert_true(f.log.had_blocks && f.log.blocks[1 * 4 + 2] == 0 && f.log.blocks[0] == 1);
    const struct fa_block_mask *blocks = view_run_header(f.frame->run[0])->problem.blocks;
    assert_non_null(blocks);
    assert_int_equal(blocks->visit[6], 0);
    close_it(&f);
}

static void test_two_runs_keep_together(void **unused)
{
    struct fixture f;
    (void)unused;
    open_with(&f, true);
    assert_int_equal(f.frame->panel, VIEW_PANEL_TRAFFIC);
    view_state_seek(f.state, (struct view_position){length_of(&f) / 2, 0});
    double a = view_work_of(f.frame->run[0], f.frame->at[0], VIEW_SAME_WORK);
    double b = view_work_of(f.frame->run[1], f.frame->at[1], VIEW_SAME_WORK);
    assert_true(fabs(a - b) <= 1e-6 * a);
    assert_true(a > 0 && f.frame->at[1].landed > 0);
    press_key(&f, VIEW_KEY_END, false, false);
    assert_int_equal(f.frame->at[1].landed, view_run_length(f.frame->run[1]));
    press_key(&f, VIEW_KEY_HOME, false, false);
    assert_true(f.frame->at[1].landed == 0);
    /* Same traffic is a race: flash2 has moved all that it has to while flash1 is on its way. */
    view_state_do(f.state, VIEW_COMPARE_CLOCK, VIEW_SAME_TRAFFIC);
    press_key(&f, VIEW_KEY_SPACE, false, false);
    for (int i = 0; i < 150; i++) /* the bytes pass evenly: half of them in half of 30 s */
        view_state_tick(f.state, 100);
    assert_true(fabs(f.frame->work / f.frame->work_in_all - 0.5) < 0.01);
    bool raced = false;
    for (int i = 0; i < 2000 && f.frame->playing; i++) {
        view_state_tick(f.state, 100);
        raced = raced || (f.frame->at[0].landed == length_of(&f) &&
                          f.frame->at[1].landed < view_run_length(f.frame->run[1]));
    }
    assert_true(raced);
    assert_int_equal(f.frame->at[1].landed, view_run_length(f.frame->run[1]));
    close_it(&f);
}

static void test_sizes(void **unused)
{
    static const float sizes[][2] = {{1, 1}, {0, 0}, {400, 300}, {3840, 2160}, {1, 4000}, {1280, 720}};
    struct fixture f;
    (void)unused;
    open_one(&f);
    press_key(&f, VIEW_KEY_SPACE, false, false);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct view_input input = {.kind = VIEW_INPUT_RESIZE, .x = sizes[i][0],
                                         .y = sizes[i][1]};
        view_state_take(f.state, &input);
        view_state_tick(f.state, 100);
        assert_false(view_state_draw(f.state)->failed);
    }
    assert_true(f.frame->playing && landed(&f) > 0);
    close_it(&f);
}

static void test_idle(void **unused)
{
    struct fixture f;
    (void)unused;
    open_one(&f);
    view_state_draw(f.state);
    assert_true(view_state_idle(f.state));
    assert_false(view_state_tick(f.state, 1000));
    pointer(&f, VIEW_INPUT_MOVE, 100, 100);
    view_state_draw(f.state);
    assert_true(view_state_idle(f.state));
    const struct view_input quit = {.kind = VIEW_INPUT_QUIT};
    view_state_take(f.state, &quit);
    assert_true(view_state_quits(f.state));
    close_it(&f);
}

static void test_the_plot_counts_while_shown(void **unused)
{
    struct fixture f;
    int ticks = 0;
    (void)unused;
    open_one(&f);
    view_state_do(f.state, VIEW_PANEL, VIEW_PANEL_PLOT);
    view_state_draw(f.state);
    assert_false(view_state_idle(f.state));
    for (; ticks < 200 && !view_state_idle(f.state); ticks++) {
        view_state_tick(f.state, 16);
        view_state_draw(f.state);
    }
    assert_true(ticks > 3 && ticks < 200);
    close_it(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_panels_differ),
        cmocka_unit_test(test_space_plays_to_the_end),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_a_second_press_lands_the_event),
        cmocka_unit_test(test_a_step_back_fades),
        cmocka_unit_test(test_reduced_motion_jumps),
        cmocka_unit_test(test_letters),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_go_to),
        cmocka_unit_test(test_positions_are_read),
        cmocka_unit_test(test_every_control_does_something),
        cmocka_unit_test(test_a_press_elsewhere_does_nothing),
        cmocka_unit_test(test_scrubbing),
        cmocka_unit_test(test_scrubbing_lands_on_tiles),
        cmocka_unit_test(test_hover_shows_a_cell),
        cmocka_unit_test(test_cell_cursor),
        cmocka_unit_test(test_cells_are_packed),
        cmocka_unit_test(test_tab_visits_every_control),
        cmocka_unit_test(test_wheel),
        cmocka_unit_test(test_a_chip_runs_again),
        cmocka_unit_test(test_a_menu_is_chosen_from_by_keys),
        cmocka_unit_test(test_letters_go_to_the_field),
        cmocka_unit_test(test_tab_stays_in_the_menu),
        cmocka_unit_test(test_a_failed_run_keeps_the_old_one),
        cmocka_unit_test(test_escape_stops_a_run),
        cmocka_unit_test(test_painting_the_mask),
        cmocka_unit_test(test_two_runs_keep_together),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_the_plot_counts_while_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
