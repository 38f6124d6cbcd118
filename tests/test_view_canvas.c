/* What each item of a draw list is in pixels; and that a window opens and closes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "visualizer/canvas.h"

#ifdef FLASHLAB_HAVE_CANVAS

enum { W = 120, H = 80 };

static const struct view_color white = {255, 255, 255, 255}, red = {255, 0, 0, 255},
                               green = {0, 255, 0, 255}, clear = {255, 255, 255, 0};
static const struct view_theme black = {.name = "black", .dark = true, .bg = {0, 0, 0, 255}};

/* A list and the picture of it. */
struct easel {
    struct view_canvas *canvas;
    struct view_draw draw;
    struct view_picture picture;
};

static void easel_open_font(struct easel *easel, float scale, enum view_font font)
{
    assert_int_equal(
        view_canvas_open((int)(W * scale), (int)(H * scale), scale, font, &easel->canvas, NULL),
        FA_OK);
    view_draw_open(&easel->draw, view_canvas_face(easel->canvas), &black);
}

static void easel_open(struct easel *easel)
{
    easel_open_font(easel, 1, VIEW_FONT_BUILTIN);
}

static void easel_draw(struct easel *easel)
{
    assert_int_equal(view_canvas_draw(easel->canvas, &easel->draw, NULL), FA_OK);
    assert_int_equal(view_canvas_picture(easel->canvas, &easel->picture, NULL), FA_OK);
}

static void easel_clear(struct easel *easel)
{
    view_draw_clear(&easel->draw);
}

static void easel_close(struct easel *easel)
{
    view_draw_close(&easel->draw);
    view_canvas_close(easel->canvas);
}

static uint32_t pixel(const struct easel *easel, int x, int y)
{
    const uint8_t *p = easel->picture.pixels + y * easel->picture.pitch + 4 * x;
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static void assert_pixel(const struct easel *easel, int x, int y, uint32_t colour)
{
    if (pixel(easel, x, y) != colour)
        fail_msg("pixel (%d, %d) is %06x, expected %06x", x, y, (unsigned)pixel(easel, x, y),
                 (unsigned)colour);
}

/* How much of the picture's red channel is lit, in whole pixels. */
static double light(const struct easel *easel)
{
    double sum = 0;
    for (int y = 0; y < easel->picture.height; y++)
        for (int x = 0; x < easel->picture.width; x++)
            sum += (double)(pixel(easel, x, y) >> 16) / 255;
    return sum;
}

static bool row_light(const struct easel *easel, int y)
{
    bool any = false;
    for (int x = 0; x < easel->picture.width; x++)
        any = any || pixel(easel, x, y) > 0x400000;
    return any;
}

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%g, expected %g to within %g", a, b, tolerance);
}

/* All pixels with light are inside the area, and touch its four sides. */
static void assert_fills_exactly(const struct easel *easel, int x0, int y0, int x1, int y1)
{
    int left = 10000, top = 10000, right = 0, bottom = 0;
    for (int y = 0; y < easel->picture.height; y++)
        for (int x = 0; x < easel->picture.width; x++)
            if (pixel(easel, x, y)) {
                left = x < left ? x : left;
                top = y < top ? y : top;
                right = x + 1 > right ? x + 1 : right;
                bottom = y + 1;
            }
    if (left != x0 || top != y0 || right != x1 || bottom != y1)
        fail_msg("drawn are %d..%d x %d..%d, expected %d..%d x %d..%d", left, right, top, bottom,
                 x0, x1, y0, y1);
}

static void fills(void **state)
{
    (void)state;
    struct easel easel;
    easel_open(&easel);
    view_fill(&easel.draw, view_box_make(10, 20, 30, 5), (struct view_color){1, 2, 3, 255});
    easel_draw(&easel);
    assert_pixel(&easel, 10, 20, 0x010203);
    assert_pixel(&easel, 39, 24, 0x010203);
    assert_fills_exactly(&easel, 10, 20, 40, 25);
    assert_int_equal(easel.picture.width, W);
    assert_int_equal(easel.picture.height, H);
    assert_int_equal(easel.picture.pixels[3], 255);
    easel_clear(&easel);
    /* Half of white over red; what is thin is still one pixel; what is outside harms nobody. */
    view_fill(&easel.draw, view_box_make(0, 0, 50, 50), red);
    view_fill(&easel.draw, view_box_make(0, 0, 50, 25), view_fade(white, 0.5));
    view_fill(&easel.draw, view_box_make(60, 0, 0.1f, 10), white);
    view_fill(&easel.draw, view_box_make(70, 0, 0, 10), white);
    view_fill(&easel.draw, view_box_make(-1e9f, 70, 2e9f, 1e9f), green);
    view_fill(&easel.draw, view_box_make(100, 65, 20, 10), view_fade(white, 0.5));
    easel_draw(&easel);
    assert_near(pixel(&easel, 110, 68) & 255, 128, 1); /* over black, and two rows on over green */
    assert_int_equal(pixel(&easel, 110, 72) >> 8 & 255, 255);
    assert_pixel(&easel, 5, 40, 0xff0000);
    assert_pixel(&easel, 5, 24, pixel(&easel, 5, 5));
    assert_near(pixel(&easel, 5, 5) & 255, 128, 1);
    assert_int_equal(pixel(&easel, 5, 5) >> 16, 255);
    assert_pixel(&easel, 60, 5, 0xffffff);
    assert_pixel(&easel, 61, 5, 0);
    assert_pixel(&easel, 70, 5, 0);
    assert_pixel(&easel, 0, 69, 0);
    assert_pixel(&easel, W - 30, 70, 0x00ff00);
    easel_close(&easel);
}

static void round_fills(void **state)
{
    (void)state;
    struct easel easel;
    easel_open(&easel);
    view_fill_round(&easel.draw, view_box_make(10, 10, 41, 31), 8, white);
    easel_draw(&easel);
    assert_fills_exactly(&easel, 10, 10, 51, 41);
    assert_pixel(&easel, 10, 10, 0);
    assert_pixel(&easel, 30, 10, 0xffffff);
    assert_pixel(&easel, 10, 25, 0xffffff);
    assert_pixel(&easel, 30, 25, 0xffffff);
    assert_near(light(&easel), 41 * 31 - (4 - 3.14159265) * 64, 1);
    for (int i = 0; i < 9; i++) { /* four corners alike */
        assert_int_equal(pixel(&easel, 10 + i, 12), pixel(&easel, 50 - i, 12));
        assert_int_equal(pixel(&easel, 10 + i, 12), pixel(&easel, 10 + i, 38));
        assert_int_equal(pixel(&easel, 10 + i, 12), pixel(&easel, 12, 10 + i));
    }
    easel_clear(&easel);
    view_fill_round(&easel.draw, view_box_make(10, 10, 21, 21), 99, white); /* a disc */
    easel_draw(&easel);
    assert_near(light(&easel), 3.14159265 * 10.5 * 10.5, 4);
    easel_close(&easel);
}

static void frames(void **state)
{
    (void)state;
    struct easel easel;
    easel_open(&easel);
    view_frame_box(&easel.draw, view_box_make(10, 10, 20, 15), 0, 2, white);
    easel_draw(&easel);
    assert_fills_exactly(&easel, 10, 10, 30, 25);
    assert_near(light(&easel), 20 * 15 - 16 * 11, 1e-6);
    assert_pixel(&easel, 11, 11, 0xffffff);
    assert_pixel(&easel, 12, 12, 0);
    easel_clear(&easel);
    view_frame_box(&easel.draw, view_box_make(10, 10, 40, 30), 6, 1, white);
    easel_draw(&easel);
    assert_fills_exactly(&easel, 10, 10, 50, 40);
    assert_pixel(&easel, 10, 10, 0);
    assert_pixel(&easel, 30, 11, 0);
    assert_near(light(&easel), 2 * (28 + 18) + 2 * 3.14159265 * 5.5, 1);
    easel_clear(&easel);
    view_frame_box(&easel.draw, view_box_make(10, 10, 3, 3), 0, 2, white); /* all of it */
    easel_draw(&easel);
    assert_near(light(&easel), 9, 1e-6);
    easel_clear(&easel);
    view_frame_box(&easel.draw, view_box_make(10, 10, 40, 30), 6, 1, view_fade(white, 0.5));
    easel_draw(&easel); /* nowhere twice */
    for (int x = 10; x < 50; x++)
        assert_true((pixel(&easel, x, 10) & 255) <= 129);
    easel_close(&easel);
}

static void dashes(void **state)
{
    (void)state;
    struct easel easel;
    easel_open(&easel);
    view_frame_dashed(&easel.draw, view_box_make(10, 10, 48, 32), 1, 5, 4, white);
    easel_draw(&easel);
    assert_fills_exactly(&easel, 10, 10, 58, 42);
    assert_near(light(&easel), 2 * 6 * 5 + 2 * 4 * 5 - 4, 1e-6);
    for (int i = 0; i < 5; i++) { /* all corners have whole dashes */
        assert_pixel(&easel, 10 + i, 10, 0xffffff);
        assert_pixel(&easel, 57 - i, 10, 0xffffff);
        assert_pixel(&easel, 57, 41 - i, 0xffffff);
        assert_pixel(&easel, 10, 41 - i, 0xffffff);
    }
    assert_pixel(&easel, 16, 10, 0);
    assert_pixel(&easel, 10, 16, 0);
    easel_clear(&easel);
    view_line_dashed(&easel.draw, 10, 20.5f, 40, 20.5f, 1, 4, 2, white);
    easel_draw(&easel);
    for (int i = 0; i < 30; i++)
        assert_pixel(&easel, 10 + i, 20, i % 6 < 4 ? 0xffffff : 0);
    easel_close(&easel);
}

static void lines(void **state)
{
    (void)state;
    struct easel easel;
    easel_open(&easel);
    view_line(&easel.draw, 10, 20.5f, 40, 20.5f, 1, white);
    view_line(&easel.draw, 50.5f, 40, 50.5f, 10, 1, white);
    easel_draw(&easel);
    assert_near(light(&easel), 60, 1e-6); /* crisp: whole pixels alone */
    assert_pixel(&easel, 10, 20, 0xffffff);
    assert_pixel(&easel, 39, 20, 0xffffff);
    assert_pixel(&easel, 50, 10, 0xffffff);
    static const float ends[][2] = {{90, 60}, {90, 12}, {20, 70}, {12, 75}, {75, 11}};
    for (int width = 1; width <= 5; width += 2)
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
            float dx = ends[i][0] - 10, dy = ends[i][1] - 10;
            double both[2];
            for (int way = 0; way < 2; way++) {
                easel_clear(&easel);
                if (way)
                    view_line(&easel.draw, ends[i][0], ends[i][1], 10, 10, (float)width, white);
                else
                    view_line(&easel.draw, 10, 10, ends[i][0], ends[i][1], (float)width, white);
                easel_draw(&easel);
                both[way] = light(&easel);
                assert_near(both[way] / (hypot(dx, dy) * width), 1, 0.05);
            }
            assert_near(both[0], both[1], 0.1);
            int x = (int)(10 + dx / 2), y = (int)(10 + dy / 2);
            assert_true(width < 3 || pixel(&easel, x, y) == 0xffffff);
        }
    easel_close(&easel);
}

static void triangles(void **state)
{
    (void)state;
    struct easel easel;
    easel_open(&easel);
    for (int way = 0; way < 2; way++) {
        easel_clear(&easel);
        if (way)
            view_triangle(&easel.draw, 10, 10, 20, 50, 60, 20, white);
        else
            view_triangle(&easel.draw, 60, 20, 20, 50, 10, 10, white);
        easel_draw(&easel);
        assert_near(light(&easel), 0.5 * (50 * 40 - 10 * 10), 12);
        assert_pixel(&easel, 30, 25, 0xffffff);
        assert_pixel(&easel, 40, 45, 0);
        assert_pixel(&easel, 11, 40, 0);
    }
    easel_clear(&easel);
    view_triangle(&easel.draw, 10, 10, 20, 20, 30, 30, white); /* no area */
    easel_draw(&easel);
    assert_near(light(&easel), 0, 0);
    easel_close(&easel);
}

static void hatches(void **state)
{
    (void)state;
    struct easel easel;
    double lights[VIEW_CROSSES + 1];
    easel_open(&easel);
    for (int pattern = 0; pattern <= VIEW_CROSSES; pattern++) {
        easel_clear(&easel);
        view_hatch(&easel.draw, view_box_make(12, 18, 36, 24), (enum view_pattern)pattern, white);
        easel_draw(&easel);
        lights[pattern] = light(&easel);
        for (int y = 18; y < 36; y++)
            for (int x = 12; x < 42; x++) { /* it repeats after 6 pixels, both ways */
                assert_int_equal(pixel(&easel, x, y), pixel(&easel, x + 6, y));
                assert_int_equal(pixel(&easel, x, y), pixel(&easel, x, y + 6));
            }
        for (int x = 0; x < W; x++) {
            assert_pixel(&easel, x, 17, 0);
            assert_pixel(&easel, x, 42, 0);
        }
    }
    assert_near(lights[VIEW_PLAIN], 0, 0);
    assert_near(lights[VIEW_UPRIGHT], 36 * 24 / 6.0, 1e-6);
    assert_near(lights[VIEW_LEVEL], 36 * 24 / 6.0, 1e-6);
    assert_near(lights[VIEW_FALLING], lights[VIEW_RISING], 1e-6);
    assert_true(lights[VIEW_DOTS] > 24 && lights[VIEW_PLUS] > lights[VIEW_DOTS]);
    assert_true(lights[VIEW_CROSSES] > 1.5 * lights[VIEW_RISING]);
    easel_clear(&easel);
    view_hatch(&easel.draw, view_box_make(0, 0, 60, 60), VIEW_FALLING, white);
    easel_draw(&easel);
    assert_pixel(&easel, 6, 6, pixel(&easel, 7, 7)); /* \ goes down to the right */
    assert_true(pixel(&easel, 6, 6) != pixel(&easel, 5, 7));
    easel_clear(&easel);
    view_hatch(&easel.draw, view_box_make(0, 0, 60, 60), VIEW_UPRIGHT, red);
    easel_draw(&easel);
    assert_pixel(&easel, 3, 0, 0xff0000);
    assert_pixel(&easel, 2, 0, 0);
    easel_close(&easel);
}

static void images(void **state)
{
    (void)state;
    struct easel easel;
    easel_open(&easel);
    view_fill(&easel.draw, view_box_make(0, 0, 60, 60), green);
    view_fill(&easel.draw, view_box_make(0, 25, 60, 35), red);
    struct view_color *cells = view_image(&easel.draw, view_box_make(10, 10, 30, 20), 3, 2);
    assert_non_null(cells);
    for (int i = 0; i < 6; i++)
        cells[i] = (struct view_color){(uint8_t)(10 * i), 1, 1, 255};
    cells[4] = clear;
    easel_draw(&easel);
    for (int y = 0; y < 20; y++)
        for (int x = 0; x < 30; x++) {
            uint32_t cell = (uint32_t)(y / 10 * 3 + x / 10);
            uint32_t below = y < 15 ? 0x00ff00 : 0xff0000;
            assert_pixel(&easel, 10 + x, 10 + y, cell == 4 ? below : cell * 10 << 16 | 0x0101);
        }
    assert_pixel(&easel, 9, 10, 0x00ff00);
    assert_pixel(&easel, 40, 10, 0x00ff00);
    assert_pixel(&easel, 10, 30, 0xff0000);
    /* More cells than pixels: each pixel has the cell of its middle. */
    easel_clear(&easel);
    cells = view_image(&easel.draw, view_box_make(0, 0, 10, 1), 50, 1);
    assert_non_null(cells);
    for (int i = 0; i < 50; i++)
        cells[i] = (struct view_color){(uint8_t)i, 0, 0, 255};
    easel_draw(&easel);
    for (int x = 0; x < 10; x++)
        assert_pixel(&easel, x, 0, (uint32_t)(5 * x + 2) << 16);
    easel_close(&easel);
}

static void clips_and_layers(void **state)
{
    (void)state;
    struct easel easel;
    easel_open(&easel);
    easel.draw.layer = VIEW_POPUP;
    view_fill(&easel.draw, view_box_make(40, 0, 10, 80), green);
    easel.draw.layer = VIEW_BASE;
    view_clip(&easel.draw, view_box_make(10, 10, 20, 20));
    view_fill(&easel.draw, view_box_make(0, 0, W, H), white);
    easel.draw.layer = VIEW_FLIGHT; /* the base's clip does not reach it */
    view_fill(&easel.draw, view_box_make(0, 50, W, 10), red);
    easel.draw.layer = VIEW_BASE;
    view_clip_none(&easel.draw);
    view_fill(&easel.draw, view_box_make(0, 70, W, 10), white);
    easel_draw(&easel);
    assert_pixel(&easel, 10, 10, 0xffffff);
    assert_pixel(&easel, 29, 29, 0xffffff);
    assert_pixel(&easel, 30, 20, 0);
    assert_pixel(&easel, 9, 20, 0);
    assert_pixel(&easel, 0, 50, 0xff0000);
    assert_pixel(&easel, 45, 55, 0x00ff00); /* a popup lies over all, though it was added first */
    assert_pixel(&easel, 0, 75, 0xffffff);
    easel_clear(&easel);
    view_clip(&easel.draw, view_box_make(10, 10, 20, 20)); /* never taken back */
    easel.draw.layer = VIEW_POPUP;
    view_fill(&easel.draw, view_box_make(0, 0, W, H), white);
    easel_draw(&easel);
    assert_near(light(&easel), W * H, 0);
    easel_clear(&easel);
    easel.draw.layer = VIEW_BASE;
    view_clip(&easel.draw, view_box_make(10, 10, 0, 0)); /* nothing is left */
    view_fill(&easel.draw, view_box_make(0, 0, W, H), white);
    view_text(&easel.draw, 0, 0, VIEW_LEFT, view_type_make(VIEW_SANS, 28, white), "WWW");
    view_hatch(&easel.draw, view_box_make(0, 0, W, H), VIEW_CROSSES, white);
    view_line(&easel.draw, 0, 0, W, H, 5, white);
    view_triangle(&easel.draw, 0, 0, W, 0, 0, H, white);
    view_fill_round(&easel.draw, view_box_make(0, 0, W, H), 9, white);
    easel_draw(&easel);
    assert_near(light(&easel), 0, 0);
    easel_close(&easel);
}

static void scales(void **state)
{
    (void)state;
    struct easel easel;
    easel_open_font(&easel, 2, VIEW_FONT_BUILTIN);
    view_frame_box(&easel.draw, view_box_make(10, 10, 20, 10), 0, 1, white);
    easel_draw(&easel);
    assert_fills_exactly(&easel, 20, 20, 60, 40);
    assert_near(light(&easel), 40 * 20 - 36 * 16, 1e-6);
    easel_close(&easel);
    /* Neighbours meet without a gap, and hair lines stay one whole pixel. */
    easel_open_font(&easel, 1.3f, VIEW_FONT_BUILTIN);
    for (int i = 0; i < 30; i++)
        view_fill(&easel.draw, view_box_make(3.0f * (float)i, 0, 3, 10), view_fade(white, 0.5));
    view_line(&easel.draw, 0, 50.3f, 90, 50.3f, 1, white);
    easel_draw(&easel);
    for (int x = 0; x < 117; x++)
        assert_int_equal(pixel(&easel, x, 5), pixel(&easel, 0, 5));
    assert_near(light(&easel), 117 * 13 * 0.5 + 117, 10);
    easel_close(&easel);
}

static void texts(void **state)
{
    (void)state;
    struct easel easel;
    easel_open(&easel);
    for (float size = 11; size <= 28; size++) {
        easel_clear(&easel);
        struct view_type type = view_type_make(VIEW_SANS, size, red);
        float width = view_text(&easel.draw, 20, 10, VIEW_LEFT, type, "HgH");
        easel_draw(&easel);
        int left = W, right = 0, top = H, bottom = 0;
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                if (pixel(&easel, x, y) > 0x200000) { /* not the last of an edge */
                    assert_int_equal(pixel(&easel, x, y) & 0xffff, 0);
                    left = x < left ? x : left;
                    right = x + 1 > right ? x + 1 : right;
                    top = y < top ? y : top;
                    bottom = y + 1;
                }
        assert_true(left >= 20 && (float)left <= 20 + 0.15f * size);
        assert_true((float)right <= 20 + ceilf(width) && (float)right >= 20 + width - 0.2f * size);
        assert_true(top >= 10 && (float)bottom <= 10 + view_line_height(size));
        assert_near(top, 10 + view_baseline(size) - 0.73f * size, 1.3);
    }
    easel_close(&easel);
}

/* The same list is the same picture: again, after others, in another canvas. */
static void deterministic(void **state)
{
    (void)state;
    struct easel easel, other;
    static uint8_t kept[4 * W * H];
    easel_open(&easel);
    easel_open(&other);
    for (int i = 0; i < 2; i++) {
        struct view_draw *draw = i ? &other.draw : &easel.draw;
        view_text(draw, 5.3f, 4, VIEW_LEFT, view_type_make(VIEW_BOLD, 13, white), "Σ K[2]ᵀ");
        view_line(draw, 3, 70, 110, 33, 1.5f, red);
        view_fill_round(draw, view_box_make(50, 30, 33, 21), 5, green);
    }
    easel_draw(&easel);
    memcpy(kept, easel.picture.pixels, sizeof kept);
    easel_draw(&easel);
    assert_memory_equal(kept, easel.picture.pixels, sizeof kept);
    easel_draw(&other);
    assert_memory_equal(kept, other.picture.pixels, sizeof kept);
    easel_close(&easel);
    easel_close(&other);
}

/* ---- fonts ----------------------------------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const char *words)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    fputs(words, stream);
    fclose(stream);
}

static void remove_file(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

static const char words[] = "Load K[2]: 0.368 ℓ";

static float draw_words(struct easel *easel, enum view_font font, enum view_style style)
{
    easel_open_font(easel, 1, font);
    float width =
        view_text(&easel->draw, 2, 2, VIEW_LEFT, view_type_make(style, 12, white), "%s", words);
    easel_draw(easel);
    return width;
}

/* Fonts that are missing, empty or no fonts: the built-in face, to the pixel. */
static void without_fonts_the_built_in_face_draws(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    char folder[256];
    struct easel built, system;
    snprintf(folder, sizeof folder, "%s/flashlab-fonts-XXXXXX",
             parent && *parent ? parent : P_tmpdir);
    assert_non_null(mkdtemp(folder));
    write_file(folder, "DejaVuSans.ttf", "");
    write_file(folder, "DejaVuSans-Bold.ttf", "this is no font, though it has some bytes in it");
    setenv("FLASHLAB_FONTS", folder, 1);
    for (int style = 0; style < VIEW_STYLES; style++) {
        float a = draw_words(&built, VIEW_FONT_BUILTIN, (enum view_style)style);
        float b = draw_words(&system, VIEW_FONT_SYSTEM, (enum view_style)style);
        assert_near(a, b, 1e-4);
        assert_true(light(&built) > 50);
        assert_memory_equal(built.picture.pixels, system.picture.pixels, 4 * W * H);
        easel_close(&built);
        easel_close(&system);
    }
    unsetenv("FLASHLAB_FONTS");
    remove_file(folder, "DejaVuSans.ttf");
    remove_file(folder, "DejaVuSans-Bold.ttf");
    rmdir(folder);
}

/* Where DejaVu is, it measures what it draws, and a sign that a font lacks is drawn all the same.
 * */
static void system_fonts(void **state)
{
    (void)state;
    struct easel built, system, sign;
    float a = draw_words(&built, VIEW_FONT_BUILTIN, VIEW_SANS);
    float b = draw_words(&system, VIEW_FONT_SYSTEM, VIEW_SANS);
    bool here = a != b;
    assert_near(b / a, 1, 0.05); /* layouts made for one fit the other */
    easel_close(&built);
    easel_close(&system);
    if (!here)
        skip();
    int tops[2], bottoms[2]; /* both faces stand on one line */
    for (int font = 0; font < 2; font++) {
        easel_open_font(&sign, 1, font ? VIEW_FONT_SYSTEM : VIEW_FONT_BUILTIN);
        view_text(&sign.draw, 10, 10, VIEW_LEFT, view_type_make(VIEW_SANS, 28, white), "HHH");
        easel_draw(&sign);
        for (tops[font] = 0; !row_light(&sign, tops[font]);)
            tops[font]++;
        for (bottoms[font] = H - 1; !row_light(&sign, bottoms[font]);)
            bottoms[font]--;
        easel_close(&sign);
    }
    assert_near(tops[0], tops[1], 1);
    assert_near(bottoms[0], bottoms[1], 1);
    for (int style = 0; style < VIEW_STYLES; style++) {
        easel_open_font(&sign, 1, VIEW_FONT_SYSTEM);
        struct view_type type = view_type_make((enum view_style)style, 14, white);
        float width = view_text(&sign.draw, 30, 10, VIEW_LEFT, type, "ℓ");
        easel_draw(&sign);
        assert_true(width > 3 && light(&sign) > 5);
        float whole = view_text_width(&sign.draw, type, "aℓb");
        float parts =
            view_text_width(&sign.draw, type, "a") + width + view_text_width(&sign.draw, type, "b");
        assert_near(whole, parts, 3);
        easel_clear(&sign);
        view_text(&sign.draw, 3, 10, VIEW_LEFT, type, "\xff\xe2\x84 \xc3"); /* broken bytes */
        easel_draw(&sign);
        assert_true(light(&sign) > 5);
        easel_close(&sign);
    }
}

/* ---- refusals, windows ----------------------------------------------------------------------- */

static void refusals(void **state)
{
    (void)state;
    static const struct {
        int width, height;
        float scale;
        const char *words;
    } bad[] = {
        {0, 5, 1, "0 x 5"},    {5, 16385, 1, "16384"}, {-1, 5, 1, "-1 x 5"},
        {5, 5, 0.4f, "scale"}, {5, 5, 4.1f, "scale"},  {5, 5, NAN, "scale"},
    };
    struct view_canvas *canvas = NULL;
    struct fa_error error;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(view_canvas_open(bad[i].width, bad[i].height, bad[i].scale,
                                          VIEW_FONT_BUILTIN, &canvas, &error),
                         FA_BAD_ARGUMENT);
        assert_non_null(strstr(error.text, bad[i].words));
    }
    assert_null(canvas);
    struct easel easel;
    easel_open(&easel);
    easel.draw.failed = true; /* a list without memory is no picture */
    assert_int_equal(view_canvas_draw(easel.canvas, &easel.draw, &error), FA_NO_MEMORY);
    easel_close(&easel);
}

static const struct view_host nobody;
static float started_width, started_height;

static enum fa_status start(void *context, const struct view_face *face, float width, float height,
                            struct view_state **state, struct fa_error *error)
{
    started_width = width;
    started_height = height;
    if (context)
        return fa_fail(error, FA_UNSUPPORTED, "%s", (const char *)context);
    return view_state_open(&nobody, face, width, height, state, error);
}

static void a_window_opens_and_closes(void **state)
{
    (void)state;
    struct view_window_options options = {
        .width = 640, .height = 400, .start = start, .most_milliseconds = 100};
    struct fa_error error = {0};
    setenv("SDL_VIDEODRIVER", "dummy", 1);
    assert_true(view_window_possible(NULL));
    if (view_window_run(&options, &error) != FA_OK)
        fail_msg("%s", error.text);
    assert_near(started_width, 640, 0);
    assert_near(started_height, 400, 0);
    options.font_scale = 2; /* a larger window with as much in it */
    assert_int_equal(view_window_run(&options, &error), FA_OK);
    assert_near(started_width, 640, 0);
    char refusal[] = "no such run";
    options.context = refusal;
    assert_int_equal(view_window_run(&options, &error), FA_UNSUPPORTED);
    assert_string_equal(error.text, refusal);
    setenv("SDL_VIDEODRIVER", "no such driver", 1);
    assert_int_equal(view_window_run(&options, &error), FA_MISSING_PART);
    assert_non_null(strstr(error.text, "no window can be opened"));
    unsetenv("SDL_VIDEODRIVER");
}

static void without_a_display_there_is_none(void **state)
{
    (void)state;
    const struct view_window_options options = {.start = start};
    struct fa_error error;
    const char *why = NULL;
    unsetenv("SDL_VIDEODRIVER");
    unsetenv("DISPLAY");
    unsetenv("WAYLAND_DISPLAY");
    assert_false(view_window_possible(&why));
    assert_non_null(strstr(why, "DISPLAY"));
    assert_int_equal(view_window_run(&options, &error), FA_MISSING_PART);
    assert_non_null(strstr(error.text, why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills),
        cmocka_unit_test(round_fills),
        cmocka_unit_test(frames),
        cmocka_unit_test(dashes),
        cmocka_unit_test(lines),
        cmocka_unit_test(triangles),
        cmocka_unit_test(hatches),
        cmocka_unit_test(images),
        cmocka_unit_test(clips_and_layers),
        cmocka_unit_test(scales),
        cmocka_unit_test(texts),
        cmocka_unit_test(deterministic),
        cmocka_unit_test(without_fonts_the_built_in_face_draws),
        cmocka_unit_test(system_fonts),
        cmocka_unit_test(refusals),
        cmocka_unit_test(a_window_opens_and_closes),
        cmocka_unit_test(without_a_display_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    printf("skipped: this build has no SDL2\n");
    return 77;
}

#endif
