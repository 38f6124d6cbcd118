/* The built-in face: it reads any bytes, has every sign that the visualizer says, and measures what
 * it draws. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "visualizer/face.h"
#include "visualizer/face_glyphs.h"
#include "visualizer/typeset.h"

enum { REPLACEMENT = 0xfffd };

static void assert_reads(const char *text, size_t n, uint32_t code, size_t taken)
{
    size_t got;
    /* A copy of just these bytes, so that a sanitizer sees a read past their end. */
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    assert_int_equal(view_utf8_next(copy, n, &got), code);
    assert_int_equal(got, taken);
    free(copy);
}

static void whole_and_broken_bytes(void **state)
{
    (void)state;
    assert_reads("", 0, 0, 0);
    assert_reads("A", 1, 'A', 1);
    assert_reads("ü", 2, 0xfc, 2);
    assert_reads("ℓ", 3, 0x2113, 3);
    assert_reads("\xf0\x9f\x98\x80", 4, 0x1f600, 4);
    assert_reads("\xe2\x84", 2, REPLACEMENT, 1);  /* cut off */
    assert_reads("\xe2\x84z", 3, REPLACEMENT, 1); /* broken off */
    assert_reads("\x80", 1, REPLACEMENT, 1);      /* a follower first */
    assert_reads("\xc0\xaf", 2, REPLACEMENT, 1);  /* longer than need be */
    assert_reads("\xe0\x80\xaf", 3, REPLACEMENT, 1);
    assert_reads("\xed\xa0\x80", 3, REPLACEMENT, 1);     /* half of a pair */
    assert_reads("\xf4\x90\x80\x80", 4, REPLACEMENT, 1); /* past the last one */
    assert_reads("\xff", 1, REPLACEMENT, 1);
}

static void the_table_is_in_order(void **state)
{
    (void)state;
    for (int i = 1; i < view_glyph_count; i++)
        if (view_glyphs[i - 1].code >= view_glyphs[i].code)
            fail_msg("U+%04X stands before U+%04X", (unsigned)view_glyphs[i - 1].code,
                     (unsigned)view_glyphs[i].code);
    assert_int_equal(view_glyphs[view_glyph_count - 1].code, REPLACEMENT);
    for (int i = 0; i < view_glyph_count; i++)
        assert_ptr_equal(view_glyph_find(view_glyphs[i].code), &view_glyphs[i]);
    for (uint32_t code = ' '; code <= '~'; code++)
        assert_true(view_glyph_has(code));
    assert_false(view_glyph_has(0x65e5));
    assert_false(view_glyph_has('\n'));
    assert_int_equal(view_glyph_find(0x65e5)->code, REPLACEMENT);
    assert_int_equal(view_glyph_find(0)->code, REPLACEMENT);
    assert_int_equal(view_glyph_find(UINT32_MAX)->code, REPLACEMENT);
}

/* A curve has a point before it and one after; all lies within its advance, or nearly. */
static void strokes_make_sense(void **state)
{
    (void)state;
    for (int i = 0; i < view_glyph_count; i++) {
        const struct view_glyph *glyph = &view_glyphs[i];
        for (int j = 0; j < glyph->n; j++) {
            const struct view_stroke *stroke = &glyph->strokes[j];
            bool good = stroke->x >= 0 && stroke->x <= glyph->advance + 2 && stroke->y >= -20 &&
                        stroke->y <= 92;
            if (j == 0 || stroke->pen == VIEW_PEN_CURVE)
                good = good && (j == 0) == (stroke->pen == VIEW_PEN_MOVE);
            if (stroke->pen == VIEW_PEN_CURVE)
                good = good && j + 1 < glyph->n && stroke[1].pen == VIEW_PEN_LINE;
            if (!good)
                fail_msg("U+%04X, point %d: (%d, %d), pen %d", (unsigned)glyph->code, j, stroke->x,
                         stroke->y, stroke->pen);
        }
    }
}

static char *read_source(const char *name)
{
    char path[1024];
    int n = snprintf(path, sizeof path, "%s/visualizer/%s", FLASHLAB_SOURCE_DIR, name);
    assert_true(n > 0 && n < (int)sizeof path);
    FILE *stream = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    if (stream) {
        size_t read = fread(text, 1, (1 << 20) - 1, stream);
        assert_true(read < (1 << 20) - 1);
        fclose(stream);
    }
    return text;
}

/* The visualizer's sources have signs beyond ASCII in their texts alone, and in comments about
 * them. */
static void every_sign_of_the_sources_has_a_glyph(void **state)
{
    (void)state;
    DIR *folder = opendir(FLASHLAB_SOURCE_DIR "/visualizer");
    int signs = 0;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name);
        if (length < 2 || strcmp(entry->d_name + length - 2, ".c") != 0)
            continue;
        char *text = read_source(entry->d_name);
        size_t n = strlen(text);
        for (size_t at = 0, taken; at < n; at += taken) {
            uint32_t code = view_utf8_next(text + at, n - at, &taken);
            signs += code > '~';
            if (code > '~' && (!view_glyph_has(code) || code == REPLACEMENT))
                fail_msg("%s: U+%04X has no glyph", entry->d_name, (unsigned)code);
        }
        free(text);
    }
    closedir(folder);
    assert_true(signs > 20);
}

static void the_signs_of_the_design_have_glyphs(void **state)
{
    (void)state;
    const char *signs = "×−·√²³ᵀℓΘδασΣ∞≤≥≠≈→←↑↓⌈⌉⌊⌋…–—’“”«»°▾⋅±₀₁₂₃₄₅₆₇₈₉✓✗µ÷⁰¹⁴⁵⁶⁷⁸⁹⁻′"
                        "äöüÄÖÜßéèêàçñå\xe2\x80\x89\xe2\x80\xaf\xc2\xa0";
    for (size_t at = 0, n = strlen(signs), taken; at < n; at += taken) {
        uint32_t code = view_utf8_next(signs + at, n - at, &taken);
        if (!view_glyph_has(code))
            fail_msg("U+%04X has no glyph", (unsigned)code);
    }
}

static float width(enum view_style style, float size, const char *text)
{
    return view_builtin_face.width(view_builtin_face.context, style, size, text, strlen(text));
}

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-3))
        fail_msg("%g, expected %g", a, b);
}

static void widths(void **state)
{
    (void)state;
    assert_near(width(VIEW_SANS, 10, ""), 0);
    assert_near(width(VIEW_SANS, 100, "Hi"), 75 + 28);
    assert_near(width(VIEW_SANS, 14, "Hi"), 0.14 * (75 + 28));
    assert_near(width(VIEW_BOLD, 100, "Hi"), 1.09 * (75 + 28));
    assert_near(width(VIEW_MONO, 10, "Wi.ℓ"), 4 * 6);
    assert_near(width(VIEW_MONO_BOLD, 10, "Wi.ℓ"), 4 * 6);
    assert_near(width(VIEW_SANS, 100, "\xff"), width(VIEW_SANS, 100, "\xef\xbf\xbd"));
    for (char digit[] = "0"; digit[0] <= '9'; digit[0]++)
        assert_near(width(VIEW_SANS, 100, digit), width(VIEW_SANS, 100, "0"));
    /* The first n bytes alone. */
    assert_near(view_builtin_face.width(NULL, VIEW_SANS, 100, "Hi", 1), 75);
}

static void lines(void **state)
{
    (void)state;
    static const float sizes[] = {11, 12, 13, 14, 16, 20, 28};
    static const float heights[] = {15, 17, 18, 20, 22, 28, 39};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_near(view_line_height(sizes[i]), heights[i]);
        float above = view_baseline(sizes[i]) - 0.73f * sizes[i];
        float below = heights[i] - view_baseline(sizes[i]);
        assert_true(fabsf(above - below) <= 1.01f); /* capitals stand in the middle */
        assert_true(below >= 0.21f * sizes[i]);     /* descenders stay inside */
    }
}

/* Each glyph draws something of its own: no two of those a reader must tell apart are the same
 * picture. */
static void glyphs_differ(void **state)
{
    (void)state;
    struct view_typesetter *typesetter;
    static uint8_t kept[95][40 * 40];
    assert_int_equal(view_typesetter_open(NULL, &typesetter, NULL), FA_OK);
    for (int i = 1; i < 95; i++) {
        char text[] = {(char)(' ' + i), 0};
        const struct view_mask *mask = view_typesetter_mask(typesetter, VIEW_SANS, 11, text);
        assert_non_null(mask);
        assert_true(mask->width > 0 && mask->height > 0);
        assert_true(mask->width < 20 && mask->height < 20);
        assert_true(mask->top >= -11 && mask->top + mask->height <= 4);
        for (int y = 0; y < mask->height; y++)
            memcpy(&kept[i][(mask->top + y + 20) * 40 + mask->left + 10],
                   mask->cover + (size_t)y * (size_t)mask->width, (size_t)mask->width);
        for (int j = 1; j < i; j++)
            if (memcmp(kept[i], kept[j], sizeof kept[i]) == 0)
                fail_msg("'%c' and '%c' are one picture", ' ' + i, ' ' + j);
    }
    view_typesetter_close(typesetter);
}

static uint32_t ink_of(const struct view_mask *mask)
{
    uint32_t ink = 0;
    for (int i = 0; i < mask->width * mask->height; i++)
        ink += mask->cover[i];
    return ink;
}

/* The three arms of an E are each one whole row of pixels at small sizes. */
static void level_strokes_are_crisp(void **state)
{
    (void)state;
    struct view_typesetter *typesetter;
    assert_int_equal(view_typesetter_open(NULL, &typesetter, NULL), FA_OK);
    for (float size = 11; size <= 14; size++) {
        const struct view_mask *mask = view_typesetter_mask(typesetter, VIEW_SANS, size, "E");
        int full = 0;
        for (int y = 0; y < mask->height; y++)
            full += mask->cover[(size_t)y * (size_t)mask->width + (size_t)mask->width / 2] >= 250;
        assert_int_equal(full, 3);
    }
    uint32_t plain = ink_of(view_typesetter_mask(typesetter, VIEW_SANS, 14, "Hamburg"));
    uint32_t bold = ink_of(view_typesetter_mask(typesetter, VIEW_BOLD, 14, "Hamburg"));
    assert_true(bold > plain * 5 / 4);
    view_typesetter_close(typesetter);
}

/* A text that comes again is the same picture, however many others came between. */
static void many_texts(void **state)
{
    (void)state;
    struct view_typesetter *typesetter;
    char text[32];
    assert_int_equal(view_typesetter_open(NULL, &typesetter, NULL), FA_OK);
    uint32_t ink = ink_of(view_typesetter_mask(typesetter, VIEW_SANS, 28, "first"));
    for (int i = 0; i < 10000; i++) {
        snprintf(text, sizeof text, "%d", i);
        assert_non_null(view_typesetter_mask(typesetter, VIEW_MONO, 11, text));
    }
    assert_int_equal(ink_of(view_typesetter_mask(typesetter, VIEW_SANS, 28, "first")), ink);
    assert_null(view_typesetter_mask(typesetter, VIEW_SANS, 28, ""));
    assert_int_equal(view_typesetter_mask(typesetter, VIEW_SANS, 28, " ")->width, 0);
    view_typesetter_close(typesetter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_and_broken_bytes),
        cmocka_unit_test(the_table_is_in_order),
        cmocka_unit_test(strokes_make_sense),
        cmocka_unit_test(every_sign_of_the_sources_has_a_glyph),
        cmocka_unit_test(the_signs_of_the_design_have_glyphs),
        cmocka_unit_test(widths),
        cmocka_unit_test(lines),
        cmocka_unit_test(glyphs_differ),
        cmocka_unit_test(level_strokes_are_crisp),
        cmocka_unit_test(many_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
