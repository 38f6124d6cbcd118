#include "tests/panel_case.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

struct view_draw panel_draw;
struct view_plot panel_plot;

const struct view_case panel_cases[PANEL_CASES] = {
    {.sram = 512, .profile = FA_PROFILE_TIDY},
    {.algorithm = "flash1", .n = 128, .d = 16, .br = 16, .bc = 16, .sram = 10240, .heads = 2},
    {.algorithm = "standard", .causal = true, .sram = 900, .dropout_p = 0.5},
    {.algorithm = "flash2", .backward = true, .sram = 4096},
    {.algorithm = "flash2", .sram = 300}, /* refused */
    {.algorithm = "fused-save-p", .n = 32, .window = 6, .sram = 2048},
};

struct view_box panel_case(const struct view_frame *frame)
{
    struct view_scene scene = view_case_scene(frame);
    view_draw_clear(&panel_draw);
    panel_draw.theme = frame->theme;
    assert_true(scene.layout.panel.w > 0);
    view_scene_panel(&panel_draw, &scene, scene.layout.panel, frame->panel, false);
    assert_false(panel_draw.failed);
    return scene.layout.panel;
}

void panel_says(const char *words)
{
    if (!view_case_text(&panel_draw, words))
        fail_msg("the panel does not say \"%s\"", words);
}

void panel_inside(struct view_box box)
{
    for (size_t n = 0; n < panel_draw.n_items; n++) {
        const struct view_item *item = &panel_draw.items[n];
        if (item->kind != VIEW_TEXT)
            continue;
        if (item->box.x < box.x || item->box.y < box.y - 1 ||
            item->box.x + item->box.w > box.x + box.w + 0.5f ||
            item->box.y + item->box.h > box.y + box.h + 1)
            fail_msg("\"%s\" at (%g, %g) %g wide leaves its panel", item->text, (double)item->box.x,
                     (double)item->box.y, (double)item->box.w);
        assert_true(item->size >= VIEW_SIZE_CELL);
    }
    for (size_t n = 0; n < panel_draw.n_hits; n++) {
        const struct view_hit *hit = &panel_draw.hits[n];
        assert_true(hit->box.x >= box.x && hit->box.y >= box.y &&
                    hit->box.x + hit->box.w <= box.x + box.w + 0.5f &&
                    hit->box.y + hit->box.h <= box.y + box.h + 0.5f);
        if (hit->action != VIEW_NOTHING)
            assert_true(hit->box.w >= 28 && hit->box.h >= 28);
    }
}

void panel_count(const struct view_case *which, enum view_plot_axis axis, int steps)
{
    struct view_source source = view_case_source(which);
    view_plot_start(&source.experiment, axis, &panel_plot);
    source.release(source.owner);
    for (int s = 0; s < steps && view_plot_step(&panel_plot); s++)
        ;
}

int panel_open(void **state)
{
    (void)state;
    view_draw_open(&panel_draw, &view_builtin_face, &view_dark);
    return 0;
}

int panel_close(void **state)
{
    (void)state;
    view_draw_close(&panel_draw);
    return 0;
}
