/* The draw list and the parts that scenes are made of. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "visualizer/parts.h"
#include "visualizer/raster.h"

static struct view_draw draw;

static int open_draw(void **unused)
{
    (void)unused;
    view_draw_open(&draw, &view_builtin_face, &view_dark);
    return 0;
}

static int close_draw(void **unused)
{
    (void)unused;
    view_draw_close(&draw);
    return 0;
}

static const struct view_type body = {VIEW_SANS, VIEW_SIZE_BODY, {255, 255, 255, 255}};

static int count_items(enum view_item_kind kind)
{
    int n = 0;
    for (size_t i = 0; i < draw.n_items; i++)
        n += draw.items[i].kind == kind;
    return n;
}

static const struct view_item *first_of(enum view_item_kind kind)
{
    for (size_t i = 0; i < draw.n_items; i++)
        if (draw.items[i].kind == kind)
            return &draw.items[i];
    return NULL;
}

/* ---- the draw list --------------------------------------------------------------------------- */

static void test_boxes_are_cut(void **unused)
{
    struct view_box box = {10, 20, 100, 50};
    (void)unused;
    struct view_box left = view_cut_left(&box, 30), top = view_cut_top(&box, 10);
    struct view_box right = view_cut_right(&box, 500);
    assert_true(left.x == 10 && left.w == 30 && left.h == 50);
    assert_true(top.x == 40 && top.y == 20 && top.w == 70 && top.h == 10);
    assert_true(right.x == 40 && right.w == 70 && box.w == 0 && box.h == 40);
    struct view_box inner = view_box_inset((struct view_box){0, 0, 10, 4}, 3, 3);
    assert_true(inner.x == 3 && inner.w == 4 && inner.h == 0);
    assert_true(view_box_has((struct view_box){0, 0, 2, 2}, 0, 1.9f));
    assert_false(view_box_has((struct view_box){0, 0, 2, 2}, 2, 1));
    assert_false(view_box_meets((struct view_box){0, 0, 2, 2}, (struct view_box){2, 0, 2, 2}));
    assert_true(view_box_meets((struct view_box){0, 0, 2, 2}, (struct view_box){1.5f, 1, 2, 2}));
}

static void test_text_stands_where_it_is_put(void **unused)
{
    (void)unused;
    float width = view_text(&draw, 100, 20, VIEW_RIGHT, body, "%d tiles", 12);
    const struct view_item *item = first_of(VIEW_TEXT);
    assert_string_equal(item->text, "12 tiles");
    assert_true(fabsf(item->box.x + item->box.w - 100) <= 0.5f && item->box.w == width);
    assert_true(item->box.h == view_line_height(VIEW_SIZE_BODY));
    assert_false(view_text_in(&draw, (struct view_box){0, 0, width - 1, 20}, VIEW_LEFT, body, "12 tiles"));
    assert_int_equal(count_items(VIEW_TEXT), 1);
    assert_true(view_text_in(&draw, (struct view_box){0, 0, 200, 40}, VIEW_CENTRE, body, "12 tiles"));
    const struct view_item *in = &draw.items[1];
    assert_true(fabsf(in->box.x + in->box.w / 2 - 100) <= 1);
    assert_true(fabsf(in->box.y + in->box.h / 2 - 20) <= 1);
}

static void test_text_is_wrapped_and_never_cut(void **unused)
{
    static const char words[] = "Load K[2] again, for Q[1]: its 2nd trip of 4.\nA new paragraph.";
    bool complete = true;
    (void)unused;
    float height = view_text_height(&draw, 140, body, 12, words);
    float line = view_line_height(VIEW_SIZE_BODY);
    assert_true(height >= 4 * line);
    assert_true(view_text_wrapped(&draw, (struct view_box){5, 5, 140, height - 1}, body, 12, words,
                                  &complete) <= 0);
    assert_false(complete);
    assert_int_equal(count_items(VIEW_TEXT), 0);
    view_text_wrapped(&draw, (struct view_box){5, 5, 140, height}, body, 12, words, &complete);
    assert_true(complete);
    char joined[256] = "";
    for (size_t i = 0; i < draw.n_items; i++) {
        const struct view_item *item = &draw.items[i];
        assert_true(item->box.x >= 5 && item->box.x + item->box.w <= 145.01f);
        assert_true(item->box.y + item->box.h <= 5 + height + 0.01f);
        bool first = i == 0 || strncmp(item->text, "A new", 5) == 0;
        assert_true(item->box.x == (first ? 5 : 17));
        strncat(joined, item->text, sizeof joined - strlen(joined) - 2);
        strncat(joined, " ", sizeof joined - strlen(joined) - 1);
    }
    assert_string_equal(joined, "Load K[2] again, for Q[1]: its 2nd trip of 4. A new paragraph. ");
}

static void test_a_long_word_is_broken(void **unused)
{
    bool complete;
    (void)unused;
    view_text_wrapped(&draw, (struct view_box){0, 0, 40, 400}, body, 0, "ℓℓℓℓℓℓℓℓℓℓℓℓℓℓℓℓℓℓℓℓ", &complete);
    assert_true(complete && count_items(VIEW_TEXT) > 1);
    for (size_t i = 0; i < draw.n_items; i++)
        assert_true(draw.items[i].box.w <= 40 && strlen(draw.items[i].text) % strlen("ℓ") == 0);
}

static void test_the_last_hit_of_the_highest_layer_wins(void **unused)
{
    (void)unused;
    view_hit(&draw, (struct view_box){0, 0, 100, 100}, VIEW_PLAY, 1, false, "Play");
    view_hit(&draw, (struct view_box){50, 50, 100, 100}, VIEW_END, 2, false, NULL);
    draw.layer = VIEW_POPUP;
    view_hit(&draw, (struct view_box){90, 90, 5, 5}, VIEW_CLOSE, 3, true, "Close");
    draw.layer = VIEW_BASE;
    view_hit(&draw, (struct view_box){80, 80, 40, 40}, VIEW_HOME, 4, false, "Home");
    assert_int_equal(view_hit_at(&draw, 10, 10)->action, VIEW_PLAY);
    assert_int_equal(view_hit_at(&draw, 60, 60)->action, VIEW_END);
    assert_int_equal(view_hit_at(&draw, 85, 85)->action, VIEW_HOME);
    assert_int_equal(view_hit_at(&draw, 92, 92)->action, VIEW_CLOSE);
    assert_null(view_hit_at(&draw, 300, 10));
    view_draw_shift(&draw, 1000, 0);
    assert_null(view_hit_at(&draw, 10, 10));
    assert_int_equal(view_hit_at(&draw, 1010, 10)->value, 1);
}

static void test_memory_is_kept_between_frames(void **unused)
{
    (void)unused;
    for (int frame = 0; frame < 3; frame++) {
        view_draw_clear(&draw);
        assert_true(draw.n_items == 0 && draw.n_hits == 0);
        struct view_color *cells = view_image(&draw, (struct view_box){0, 0, 100, 100}, 300, 300);
        assert_non_null(cells);
        memset(cells, frame, 300 * 300 * sizeof *cells);
        for (int i = 0; i < 2000; i++)
            view_text(&draw, 0, 0, VIEW_LEFT, body, "text %d of frame %d", i, frame);
        assert_string_equal(draw.items[2000].text, frame == 2   ? "text 1999 of frame 2"
                                                   : frame == 1 ? "text 1999 of frame 1"
                                                                : "text 1999 of frame 0");
        assert_int_equal(draw.items[0].cells[300 * 300 - 1].g, frame);
    }
    assert_null(view_image(&draw, (struct view_box){0, 0, 100, 100}, 0, 5));
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int glyphs(const char *text)
{
    int n = 0;
    size_t taken;
    for (size_t left = strlen(text); view_utf8_next(text, left, &taken), taken > 0;
         text += taken, left -= taken)
        n++;
    return n;
}

static void test_four_glyphs(void **unused)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0.00"}, {1.234, "1.23"}, {-1.5, "−1.5"}, {-12, "−12"}, {9.994, "9.99"}, {9.996, "10.0"},
        {99.94, "99.9"}, {99.96, "100"}, {1234, "1234"}, {12345, "1e4"}, {-9.94, "−9.9"}, {-9.96, "−10"},
        {-999, "−999"}, {-1234, "−1e3"}, {96000, "1e5"}, {1e300, "1e300"}, {INFINITY, "∞"},
        {-INFINITY, "−∞"}, {NAN, "NaN"}, {0.004, "0.00"}, {-0.0, "0.00"},
    };
    char text[VIEW_NUMBER_TEXT];
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(view_number_short(cases[i].value, text), cases[i].text);
    for (double x = 1e-3; x < 1e9; x *= 1.0737) {
        assert_true(glyphs(view_number_short(x, text)) <= 4);
        assert_true(glyphs(view_number_short(-x, text)) <= 4);
    }
}

static void test_counts_in_words(void **unused)
{
    char text[VIEW_COUNT_TEXT];
    (void)unused;
    assert_string_equal(view_count_text(0, text), "0");
    assert_string_equal(view_count_text(9999999, text), "9\u202f999\u202f999");
    assert_string_equal(view_count_text(10000000, text), "10.0 million");
    assert_string_equal(view_count_text(34082816, text), "34.1 million");
    assert_string_equal(view_count_text(1195000000, text), "1.20 billion");
    assert_string_equal(view_count_text(562949953421312, text), "563 trillion");
    assert_string_equal(view_count_exact(34082816, text), "34\u202f082\u202f816");
    assert_string_equal(view_count_exact(UINT64_MAX, text), "18 446 744 073 709 551 615");
    assert_string_equal(view_bytes_text(512, text), "512 bytes");
    assert_string_equal(view_bytes_text(57856, text), "56.5 KiB");
    assert_string_equal(view_bytes_text(232448, text), "227 KiB");
    char number[VIEW_NUMBER_TEXT];
    assert_string_equal(view_value_text(-0.36787944, number), "−0.3679");
    assert_string_equal(view_value_text(-INFINITY, number), "−∞");
}

/* ---- cells and tiles ------------------------------------------------------------------------- */

static void test_cells(void **unused)
{
    const struct view_box box = {0, 0, 36, 20};
    (void)unused;
    view_cell_draw(&draw, box, FA_S, VIEW_CELL_NONE, 1, 1);
    assert_int_equal(draw.n_items, 0);
    view_cell_draw(&draw, box, FA_S, VIEW_CELL_UNWRITTEN, NAN, 1);
    assert_int_equal(count_items(VIEW_TEXT), 0); /* poison is no fault */
    assert_int_equal(count_items(VIEW_HATCH), 0);
    view_draw_clear(&draw);
    view_cell_draw(&draw, box, FA_S, VIEW_CELL_VALUE, NAN, 1);
    assert_string_equal(first_of(VIEW_TEXT)->text, "NaN");
    assert_int_equal(first_of(VIEW_HATCH)->pattern, VIEW_CROSSES);
    view_draw_clear(&draw);
    view_cell_draw(&draw, box, FA_S, VIEW_CELL_VALUE, -INFINITY, 1);
    assert_string_equal(first_of(VIEW_TEXT)->text, "−∞");
    assert_memory_equal(&first_of(VIEW_FILL)->color, &view_dark.bg, sizeof view_dark.bg);
    view_draw_clear(&draw);
    view_cell_draw(&draw, box, FA_S, VIEW_CELL_VALUE, -0.5, 1);
    assert_int_equal(count_items(VIEW_TRIANGLE), 1); /* a negative one has a cut corner */
    view_draw_clear(&draw);
    view_cell_draw(&draw, (struct view_box){0, 0, 20, 16}, FA_S, VIEW_CELL_VALUE, 0.5, 1);
    assert_int_equal(count_items(VIEW_TEXT), 0); /* too narrow for a number: a shade */
    assert_int_equal(count_items(VIEW_FILL), 1);
}

/* A scale in which all are equal, one is NaN's neighbour, or nothing has a size. */
static void test_shades(void **unused)
{
    struct view_color full = view_tensor_look(&view_dark, FA_K).fill;
    struct view_color shade = view_shade(&view_dark, FA_K, 3, 3);
    (void)unused;
    assert_memory_equal(&shade, &full, sizeof full);
    shade = view_shade(&view_dark, FA_K, -3, 3);
    assert_memory_equal(&shade, &full, sizeof full);
    struct view_color least = view_shade(&view_dark, FA_K, 0, 3), none = view_shade(&view_dark, FA_K, 0, 0);
    assert_memory_equal(&least, &none, sizeof none);
    struct view_color past = view_shade(&view_dark, FA_K, INFINITY, 3);
    assert_memory_equal(&past, &full, sizeof full);
    int steps = 0;
    struct view_color before = least;
    for (int i = 0; i <= 1000; i++) {
        struct view_color now = view_shade(&view_dark, FA_K, i / 1000.0, 1);
        steps += memcmp(&now, &before, sizeof now) != 0;
        before = now;
    }
    assert_int_equal(steps, 7); /* eight shades */
}

static void test_tiles(void **unused)
{
    const struct view_box box = {10, 10, 40, 40};
    (void)unused;
    view_tile(&draw, box, FA_Q, VIEW_TILE_REST);
    struct view_color rest = first_of(VIEW_FILL)->color;
    view_draw_clear(&draw);
    view_tile(&draw, box, FA_Q, VIEW_TILE_FULL | VIEW_TILE_RING);
    assert_memory_not_equal(&first_of(VIEW_FILL)->color, &rest, sizeof rest);
    const struct view_item *ring = &draw.items[draw.n_items - 1];
    assert_true(ring->kind == VIEW_FRAME && ring->box.x == 5 && ring->box.w == 50 && ring->width == 2);
    view_draw_clear(&draw);
    view_tile(&draw, box, FA_S, VIEW_TILE_GHOST);
    assert_true(count_items(VIEW_FILL) == 0 && first_of(VIEW_FRAME)->dash == 5);
    view_draw_clear(&draw);
    view_tile(&draw, box, FA_O, VIEW_TILE_AHEAD);
    assert_true(count_items(VIEW_FILL) == 0 && first_of(VIEW_FRAME)->dash == 2);
    view_draw_clear(&draw);
    view_tile(&draw, box, FA_O, VIEW_TILE_STALE);
    assert_int_equal(first_of(VIEW_HATCH)->pattern, VIEW_RISING);
    view_draw_clear(&draw);
    view_tile(&draw, box, FA_S, VIEW_TILE_SKIPPED);
    assert_true(count_items(VIEW_LINE) == 2 && count_items(VIEW_FILL) == 0);
    view_draw_clear(&draw);
    view_tile(&draw, box, FA_DQ, VIEW_TILE_REST); /* a gradient has a double frame */
    assert_int_equal(count_items(VIEW_FRAME), 2);
}

static void test_buttons(void **unused)
{
    struct view_frame frame = {.pointer_x = -1, .pointer_y = -1, .focus = -1};
    const struct view_box box = {10, 10, 80, 28};
    (void)unused;
    view_button(&draw, &frame, box, VIEW_BUTTON_REST, VIEW_PLAY, 3, "Play", "Play or pause");
    assert_int_equal(draw.n_hits, 1);
    assert_true(draw.hits[0].action == VIEW_PLAY && draw.hits[0].value == 3 && !draw.hits[0].off);
    assert_string_equal(draw.hits[0].label, "Play or pause");
    struct view_color rest = first_of(VIEW_FILL)->color;
    view_draw_clear(&draw);
    frame.pointer_x = 20;
    frame.pointer_y = 20;
    view_button(&draw, &frame, box, VIEW_BUTTON_REST, VIEW_PLAY, 3, "Play", "Play or pause");
    assert_memory_not_equal(&first_of(VIEW_FILL)->color, &rest, sizeof rest);
    view_draw_clear(&draw);
    view_button(&draw, &frame, box, VIEW_BUTTON_OFF, VIEW_PLAY, 3, "Play", "Play or pause");
    assert_true(draw.hits[0].off && count_items(VIEW_FILL) == 0);
    view_draw_clear(&draw);
    frame.focus = 1;
    view_button(&draw, &frame, box, VIEW_BUTTON_REST, VIEW_PLAY, 3, "Play", "first");
    size_t before = draw.n_items;
    view_button(&draw, &frame, box, VIEW_BUTTON_REST, VIEW_PLAY, 3, "Play", "second");
    bool ringed = false;
    for (size_t i = 0; i < draw.n_items; i++) {
        bool ring = draw.items[i].kind == VIEW_FRAME && draw.items[i].box.x == 5;
        ringed = ringed || ring;
        assert_false(ring && i < before);
    }
    assert_true(ringed);
    view_draw_clear(&draw);
    struct view_box fit = view_button_fit(&draw, &frame, 7, 9, VIEW_BUTTON_REST, VIEW_END, 0, "x", "x");
    assert_true(fit.w >= 28 && fit.h >= 28);
}

/* What a step back fades from, mixed into what it leads to. */
static void test_pixels_are_mixed(void **unused)
{
    uint32_t pixels[3] = {0x000000, 0xffffff, 0x102030};
    const uint32_t old[3] = {0xffffff, 0x000000, 0x306090};
    struct view_raster raster = {.width = 3, .height = 1, .pixels = pixels};
    (void)unused;
    view_raster_mix(&raster, old, 0);
    assert_true(pixels[0] == 0x000000 && pixels[1] == 0xffffff && pixels[2] == 0x102030);
    view_raster_mix(&raster, old, 0.5);
    assert_true(pixels[0] == 0x7f7f7f && pixels[1] == 0x7f7f7f && pixels[2] == 0x204060);
    view_raster_mix(&raster, old, 1);
    assert_true(pixels[0] == 0xffffff && pixels[1] == 0x000000 && pixels[2] == 0x306090);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, open_draw, close_draw)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boxes_are_cut),
        WITH(test_text_stands_where_it_is_put),
        WITH(test_text_is_wrapped_and_never_cut),
        WITH(test_a_long_word_is_broken),
        WITH(test_the_last_hit_of_the_highest_layer_wins),
        WITH(test_memory_is_kept_between_frames),
        cmocka_unit_test(test_four_glyphs),
        cmocka_unit_test(test_counts_in_words),
        WITH(test_cells),
        cmocka_unit_test(test_shades),
        WITH(test_tiles),
        WITH(test_buttons),
        cmocka_unit_test(test_pixels_are_mixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
