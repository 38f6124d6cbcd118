/* Every text can be read: its contrast with what lies behind it is at least 4.5 to 1, in both
 * themes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/view_case.h"

/* Colours that a text's middle may lie on, the last painted first; a hatch hides nothing whole. */
static struct view_color behind(const struct view_draw *draw, size_t text)
{
    const struct view_item *item = &draw->items[text];
    float x = item->box.x + item->box.w / 2, y = item->box.y + item->box.h / 2;
    struct view_color color = draw->theme->bg;
    for (int layer = 0; layer <= (int)item->layer; layer++)
        for (size_t i = 0; i < draw->n_items; i++) {
            const struct view_item *at = &draw->items[i];
            if ((int)at->layer != layer || (layer == (int)item->layer && i >= text) ||
                !view_box_has(at->box, x, y))
                continue;
            if (at->kind == VIEW_FILL) {
                color = at->color.a == 255 ? at->color
                                           : view_mix(color, (struct view_color){at->color.r, at->color.g,
                                                                                at->color.b, 255},
                                                      at->color.a / 255.0);
            } else if (at->kind == VIEW_IMAGE) {
                int column = (int)((x - at->box.x) / at->box.w * (float)at->columns);
                int row = (int)((y - at->box.y) / at->box.h * (float)at->rows);
                struct view_color cell = at->cells[row * at->columns + column];
                if (cell.a == 255)
                    color = cell;
            }
        }
    return color;
}

/* Whether an overlay of a later layer hides the text. */
static bool hidden(const struct view_draw *draw, size_t text)
{
    const struct view_item *item = &draw->items[text];
    float x = item->box.x + item->box.w / 2, y = item->box.y + item->box.h / 2;
    for (size_t i = 0; i < draw->n_items; i++)
        if (draw->items[i].layer > item->layer && draw->items[i].kind == VIEW_FILL &&
            draw->items[i].color.a == 255 && view_box_has(draw->items[i].box, x, y))
            return true;
    return false;
}

static int check_frame(const struct view_frame *frame)
{
    struct view_draw draw;
    int texts = 0;
    view_draw_open(&draw, &view_builtin_face, frame->theme);
    view_scene(&draw, frame);
    for (size_t i = 0; i < draw.n_items; i++) {
        if (draw.items[i].kind != VIEW_TEXT || hidden(&draw, i))
            continue;
        struct view_color ink = draw.items[i].color, ground = behind(&draw, i);
        double contrast = view_contrast(ink, ground);
        texts++;
        if (!(contrast >= 4.5) || ink.a != 255) {
            print_error("\"%s\": contrast %.2f, alpha %d, in %s\n", draw.items[i].text, contrast, ink.a,
                        frame->theme->name);
            fail();
        }
    }
    view_draw_close(&draw);
    return texts;
}

/* Everything that a frame can be made to show. */
static int check_looks(struct view_frame frame)
{
    int texts = 0;
    for (int stage = 0; stage < VIEW_STAGES; stage++) {
        frame.stage = (enum view_stage)stage;
        texts += check_frame(&frame);
    }
    frame.stage = VIEW_STAGE_CROSS;
    for (int panel = 0; panel < VIEW_PANELS; panel++) {
        frame.panel = (enum view_panel)panel;
        texts += check_frame(&frame);
    }
    frame.c_code = true;
    frame.panel = VIEW_PANEL_CODE;
    frame.speed_open = true;
    texts += check_frame(&frame);
    frame.speed_open = false;
    frame.stages_open = true;
    texts += check_frame(&frame);
    frame.stages_open = false;
    frame.help_open = true;
    texts += check_frame(&frame);
    frame.help_open = false;
    frame.covered = true;
    texts += check_frame(&frame);
    frame.covered = false;
    frame.cell = (struct view_cell){.on = true, .id = FA_Q, .row = 1};
    texts += check_frame(&frame);
    return texts;
}

static void check_case(const struct view_case *which, const struct view_case *second)
{
    struct view_run *run = view_case_open(which);
    struct view_run *other = second ? view_case_open(second) : NULL;
    uint64_t length = view_run_length(run);
    int texts = 0;
    for (int theme = 0; theme < 2; theme++)
        for (uint64_t part = 0; part <= 4; part++) {
            struct view_frame frame = view_case_frame(run, other, 1280, 720, length * part / 4);
            frame.theme = theme ? &view_light : &view_dark;
            texts += check_looks(frame);
            frame.width = 800;
            frame.height = 600;
            texts += check_frame(&frame);
            if (frame.at[0].landed < length)
                frame.at[0].flight = 0.5f;
            texts += check_frame(&frame);
        }
    assert_true(texts > 1000);
    view_run_close(run);
    view_run_close(other);
}

static void test_flash2(void **unused)
{
    (void)unused;
    check_case(&view_case_tidy, NULL);
}

static void test_backward(void **unused)
{
    (void)unused;
    check_case(&(struct view_case){.backward = true, .causal = true}, NULL);
}

static void test_standard(void **unused)
{
    (void)unused;
    check_case(&(struct view_case){.algorithm = "standard", .dropout_p = 0.2}, NULL);
}

static void test_compare(void **unused)
{
    (void)unused;
    check_case(&(struct view_case){.n = 64}, &(struct view_case){.algorithm = "flash1", .n = 64});
}

static void test_refused(void **unused)
{
    struct view_case refused = view_case_tidy;
    struct view_frame frame;
    (void)unused;
    refused.sram = 256;
    struct view_run *run = view_case_open(&refused);
    assert_true(view_run_refused(run));
    for (int theme = 0; theme < 2; theme++) {
        frame = view_case_frame(run, NULL, 1280, 720, view_run_length(run));
        frame.theme = theme ? &view_light : &view_dark;
        check_looks(frame);
        snprintf(frame.message.title, sizeof frame.message.title, "This cannot be run");
        snprintf(frame.message.text, sizeof frame.message.text, "k.npy is 5 x 64, q.npy 4 x 32.");
        snprintf(frame.message.button, sizeof frame.message.button, "Back to the run before");
        frame.message.remedy = VIEW_REMEDY_FIRST;
        check_frame(&frame);
    }
    view_run_close(run);
}

/* Labels and controls of the themes themselves. */
static void test_themes(void **unused)
{
    const struct view_theme *themes[] = {&view_dark, &view_light};
    (void)unused;
    for (int t = 0; t < 2; t++) {
        const struct view_theme *theme = themes[t];
        const struct view_color grounds[] = {theme->bg, theme->panel, theme->raised};
        for (int g = 0; g < 3; g++) {
            assert_true(view_contrast(theme->text, grounds[g]) >= 4.5);
            assert_true(view_contrast(theme->text2, grounds[g]) >= 4.5);
            assert_true(view_contrast(theme->bad, grounds[g]) >= 4.5);
            assert_true(view_contrast(theme->edge, grounds[g]) >= 3);
            for (int id = 0; id < FA_TENSORS; id++)
                assert_true(view_contrast(view_tensor_look(theme, (enum fa_tensor_id)id).line,
                                          grounds[g]) >= 4.5);
        }
        for (int id = 0; id < FA_TENSORS; id++)
            for (int step = 0; step <= 70; step++) {
                struct view_color shade =
                    view_shade(theme, (enum fa_tensor_id)id, step / 70.0, 1);
                assert_true(view_contrast(view_ink(shade), shade) >= 4.5);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_themes),   cmocka_unit_test(test_flash2),
        cmocka_unit_test(test_backward), cmocka_unit_test(test_standard),
        cmocka_unit_test(test_compare),  cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
