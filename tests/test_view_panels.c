/* The panels: no text lies outside or over another at any size, and the line that runs is marked
 * and shows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/panel_case.h"
#include "visualizer/source_text.h"

/* ---- all sizes ------------------------------------------------------------------------------- */

static const float sizes[][2] = {{400, 300},  {500, 240},  {640, 480},   {800, 600},
                                 {1000, 500}, {1280, 720}, {1920, 1080}, {3840, 2160}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void check_frame(struct view_frame *frame)
{
    for (int p = 0; p < VIEW_PANEL_LESSON; p++)
        for (int code = 0; code < (p == VIEW_PANEL_CODE ? 2 : 1); code++)
            for (int scroll = 0; scroll < 500; scroll += 97) {
                frame->panel = (enum view_panel)p;
                frame->c_code = code;
                frame->scroll = (float)scroll;
                panel_inside(panel_case(frame));
                view_case_check_texts(&panel_draw, frame->width, frame->height);
            }
}

static void texts_stay_inside_and_apart(void **state)
{
    (void)state;
    for (int c = 0; c < PANEL_CASES; c++) {
        struct view_run *run = view_case_open(&panel_cases[c]);
        uint64_t length = view_run_length(run);
        panel_count(&panel_cases[c], (enum view_plot_axis)(c % VIEW_PLOT_AXES), c == 1 ? 5 : 99);
        for (int s = 0; s < SIZES; s++) {
            struct view_frame frame =
                view_case_frame(run, NULL, sizes[s][0], sizes[s][1], length * (uint64_t)s / SIZES);
            frame.plot = s == 2 ? NULL : &panel_plot;
            frame.theme = s % 2 ? &view_light : &view_dark;
            frame.bytes = s % 3 == 0;
            frame.all_heads = s % 2;
            frame.covered = s == 1;
            check_frame(&frame);
        }
        view_run_close(run);
    }
}

static void compared_texts_too(void **state)
{
    (void)state;
    for (int c = 1; c < PANEL_CASES; c++) {
        struct view_run *run = view_case_open(&panel_cases[c]);
        struct view_run *second = view_case_open(&panel_cases[0]);
        panel_count(&panel_cases[c], VIEW_PLOT_SRAM, 99);
        for (int s = 0; s < SIZES; s++) {
            struct view_frame frame =
                view_case_frame(run, second, sizes[s][0], sizes[s][1], view_run_length(run) / 2);
            frame.plot = &panel_plot;
            frame.clock = (enum view_clock_kind)(s % VIEW_CLOCKS);
            check_frame(&frame);
        }
        view_run_close(second);
        view_run_close(run);
    }
}

static void the_stage_holds_the_chart(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&panel_cases[1]);
    panel_count(&panel_cases[1], VIEW_PLOT_SRAM, 99);
    for (int s = 0; s < SIZES; s++) {
        struct view_frame frame = view_case_frame(run, NULL, sizes[s][0], sizes[s][1], 20);
        frame.plot = &panel_plot;
        frame.panel_open = sizes[s][0] >= 640; /* a small one is a page over it */
        frame.stage = VIEW_STAGE_PLOT;
        struct view_scene scene = view_case_scene(&frame);
        view_draw_clear(&panel_draw);
        view_stage_plot(&panel_draw, &scene);
        panel_inside(scene.layout.stage);
        view_case_check_texts(&panel_draw, frame.width, frame.height);
        if (sizes[s][0] >= 1000) {
            panel_says("flash1");
            panel_says("closed forms");
        }
    }
    view_run_close(run);
}

/* Where a panel has more rows than room, scrolling leads to the last of them. */
static void scrolling_reaches_the_end(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&panel_cases[0]);
    struct view_frame frame = view_case_frame(run, NULL, 400, 300, 30);
    frame.panel = VIEW_PANEL_TRAFFIC;
    panel_case(&frame);
    assert_null(view_case_text(&panel_draw, "Tiles visited"));
    assert_true(panel_draw.scroll_most > 0);
    frame.scroll = panel_draw.scroll_most;
    panel_case(&frame);
    panel_says("Tiles visited");
    frame.scroll = 1e6f; /* further is no further */
    panel_case(&frame);
    panel_says("Tiles visited");
    view_run_close(run);
}

/* ---- tabs ------------------------------------------------------------------------------------ */

static void tabs_choose_panels(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&panel_cases[0]);
    struct view_frame frame = view_case_frame(run, NULL, 1920, 1080, 30);
    struct view_scene scene = view_case_scene(&frame);
    bool seen[2][VIEW_PANELS] = {{false}};
    view_draw_clear(&panel_draw);
    view_scene_panel(&panel_draw, &scene, scene.layout.panel, VIEW_PANEL_CODE, false);
    view_scene_panel(&panel_draw, &scene, scene.layout.second_panel, VIEW_PANEL_PLOT, true);
    for (size_t n = 0; n < panel_draw.n_hits; n++) {
        const struct view_hit *hit = &panel_draw.hits[n];
        if (hit->action != VIEW_PANEL)
            continue;
        int second = hit->value >= VIEW_SECOND_PANEL;
        int64_t which = hit->value - (second ? VIEW_SECOND_PANEL : 0);
        assert_in_range(which, 0, VIEW_PANEL_LESSON - 1);
        assert_string_equal(hit->label, view_panel_names[which]);
        seen[second][which] = true;
    }
    for (int p = 0; p < VIEW_PANEL_LESSON; p++)
        assert_true(seen[0][p] && seen[1][p]);
    view_run_close(run);
}

/* ---- code ------------------------------------------------------------------------------------ */

/* The text in bold whose row is marked: a bar of 3 on its left in the colour of text. */
static const struct view_item *marked_row(enum view_style style)
{
    const struct view_item *bar = NULL;
    for (size_t n = 0; n < panel_draw.n_items; n++) {
        const struct view_item *item = &panel_draw.items[n];
        if (item->kind == VIEW_FILL && item->box.w == 3 && item->box.h >= 16 &&
            memcmp(&item->color, &panel_draw.theme->text, sizeof item->color) == 0)
            bar = item;
    }
    if (!bar)
        return NULL;
    for (size_t n = 0; n < panel_draw.n_items; n++) {
        const struct view_item *item = &panel_draw.items[n];
        if (item->kind == VIEW_TEXT && item->style == style && item->box.x > bar->box.x + 24 &&
            item->box.y >= bar->box.y - 1 &&
            item->box.y + item->box.h <= bar->box.y + bar->box.h + 1)
            return item;
    }
    return NULL;
}

/* Every event of a run marks its line of C, which shows, and is the source's. */
static void check_c_lines(const struct view_case *which, float width, float height)
{
    struct view_run *run = view_case_open(which);
    struct view_frame frame = view_case_frame(run, NULL, width, height, 0);
    const struct view_source_text *text = view_source_find(view_run_header(run)->algorithm->file);
    assert_non_null(text);
    frame.c_code = true;
    for (uint64_t e = 0; e < view_run_length(run); e++) {
        const struct sim_event *event = view_run_event(run, e);
        frame.at[0] = e % 2 ? (struct view_position){e + 1, 0} : (struct view_position){e, 0.5f};
        frame.scroll = (float)(e % 5) * 40;
        panel_case(&frame);
        const struct view_item *item = marked_row(VIEW_MONO_BOLD);
        if (!item)
            fail_msg("event %d of line %d is not marked", (int)e, (int)event->line);
        /* The statement, or the line itself, of that step. */
        bool found = false;
        for (int line = event->line; line <= text->n_lines && line < (int)event->line + 24; line++)
            found = found || strstr(text->lines[line - 1], item->text);
        if (!found)
            fail_msg("event %d: \"%s\" is not after line %d", (int)e, item->text, (int)event->line);
    }
    view_run_close(run);
}

static void the_line_of_each_event_is_marked(void **state)
{
    static const struct view_case small[] = {
        {.n = 8, .sram = 512},
        {.algorithm = "flash1", .n = 8, .sram = 1024, .dropout_p = 0.5},
        {.algorithm = "standard", .n = 8, .sram = 900, .causal = true},
        {.algorithm = "flash2", .n = 8, .backward = true, .sram = 4096},
        {.algorithm = "square-tiling", .n = 8, .sram = 600},
    };
    (void)state;
    for (size_t c = 0; c < sizeof small / sizeof *small; c++) {
        check_c_lines(&small[c], 1280, 720);
        check_c_lines(&small[c], 800, 600);
        check_c_lines(&small[c], 400, 300);
    }
}

/* A load of K marks the statement that loads K, with the bytes of its step. */
static void a_load_marks_its_statement(void **state)
{
    (void)state;
    char bytes[VIEW_COUNT_TEXT];
    struct view_run *run = view_case_open(&view_case_tidy);
    uint64_t landed = view_case_after(run, SIM_LOAD, FA_V, 1, 2);
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, landed);
    int line = view_run_event(run, landed - 1)->line;
    frame.c_code = true;
    panel_case(&frame);
    assert_non_null(strstr(marked_row(VIEW_MONO_BOLD)->text, "fa_load(port, FA_V, j"));
    panel_says("reference/flash2.c");
    view_count_text(view_run_line_bytes(run, line, landed), bytes);
    assert_true(view_run_line_bytes(run, line, landed) > 0);
    assert_true(view_case_says(&panel_draw, bytes));
    frame.covered = true; /* a question is open: its answer is not here */
    panel_case(&frame);
    assert_false(view_case_says(&panel_draw, bytes));
    view_run_close(run);
}

static void each_event_marks_its_step(void **state)
{
    (void)state;
    char bytes[VIEW_COUNT_TEXT];
    struct view_run *run = view_case_open(&view_case_tidy);
    for (int s = 0; s < SIZES; s++)
        for (uint64_t landed = 1; landed <= view_run_length(run); landed++) {
            struct view_frame frame = view_case_frame(run, NULL, sizes[s][0], sizes[s][1], landed);
            const struct sim_event *event = view_run_event(run, landed - 1);
            panel_case(&frame);
            const struct view_item *item = marked_row(VIEW_BOLD);
            if (!item)
                item = marked_row(VIEW_SANS);
            if (!item)
                fail_msg("event %d at %g x %g", (int)landed - 1, (double)frame.width,
                         (double)frame.height);
            if (event->kind == SIM_LOAD && event->tensor == FA_Q)
                assert_string_equal(item->text, "load Q[i]");
            if (event->kind == SIM_STORE && event->tensor == FA_O)
                assert_string_equal(item->text, "store O[i]");
            uint64_t moved = view_run_step_bytes(run, (int)event->step, landed);
            if (moved > 0)
                assert_true(view_case_says(&panel_draw, view_count_text(moved, bytes)));
        }
    view_run_close(run);
}

static void steps_are_readable(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&view_case_tidy);
    struct view_frame frame = view_case_frame(run, NULL, 1920, 1080, 1);
    panel_case(&frame);
    panel_says("S[i,j] = scale Q[i] K[j]ᵀ");
    panel_says("O[i] = 0, ℓ[i] = 0, m[i] = −∞");
    panel_says("m′ = max(m, rowmax S)");
    assert_true(view_case_says(&panel_draw, "12–13"));
    panel_says("Section 3.1.1");
    for (size_t n = 0; n < panel_draw.n_items; n++)
        if (panel_draw.items[n].kind == VIEW_TEXT)
            assert_null(strpbrk(panel_draw.items[n].text, "_^"));
    view_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_stay_inside_and_apart),
        cmocka_unit_test(compared_texts_too),
        cmocka_unit_test(the_stage_holds_the_chart),
        cmocka_unit_test(scrolling_reaches_the_end),
        cmocka_unit_test(tabs_choose_panels),
        cmocka_unit_test(the_line_of_each_event_is_marked),
        cmocka_unit_test(a_load_marks_its_statement),
        cmocka_unit_test(each_event_marks_its_step),
        cmocka_unit_test(steps_are_readable),
    };
    return cmocka_run_group_tests(tests, panel_open, panel_close);
}
