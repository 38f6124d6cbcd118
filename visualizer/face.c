#include "visualizer/face.h"

#include <math.h>

#include "visualizer/face_glyphs.h"

/* Bold glyphs are this much wider, so that their thicker strokes do not close the counters. */
static const float bold_stretch = 1.09f;

static const uint32_t replacement = 0xfffd;

float view_line_height(float size)
{
    return roundf(1.4f * size);
}

/* Capitals, 0.73 of the size high, stand in the middle of the line. */
float view_baseline(float size)
{
    return roundf(0.5f * (view_line_height(size) + 0.73f * size));
}

/* How many bytes a first byte announces, and its share of the code point; 0: none may begin so. */
static size_t sequence_length(unsigned char first, uint32_t *bits)
{
    if (first < 0x80) {
        *bits = first;
        return 1;
    }
    if (first >= 0xc2 && first < 0xe0) {
        *bits = first & 0x1fu;
        return 2;
    }
    if (first >= 0xe0 && first < 0xf0) {
        *bits = first & 0x0fu;
        return 3;
    }
    if (first >= 0xf0 && first < 0xf5) {
        *bits = first & 0x07u;
        return 4;
    }
    return 0;
}

uint32_t view_utf8_next(const char *text, size_t n, size_t *taken)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t code;
    *taken = n ? 1 : 0;
    if (!n)
        return 0;
    size_t length = sequence_length((unsigned char)text[0], &code);
    if (length == 0 || length > n)
        return replacement;
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return replacement;
        code = code << 6 | ((unsigned char)text[i] & 0x3fu);
    }
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return replacement;
    *taken = length;
    return code;
}

const struct view_glyph *view_glyph_find(uint32_t code)
{
    int low = 0, high = view_glyph_count - 1;
    if (code >= ' ' && code <= '~')
        return &view_glyphs[code - ' '];
    while (low < high) {
        int middle = (low + high) / 2;
        if (view_glyphs[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    return &view_glyphs[view_glyphs[low].code == code ? low : view_glyph_count - 1];
}

bool view_glyph_has(uint32_t code)
{
    return view_glyph_find(code)->code == code;
}

static bool is_mono(enum view_style style)
{
    return style == VIEW_MONO || style == VIEW_MONO_BOLD;
}

float view_stroke_width(enum view_style style)
{
    return style == VIEW_BOLD || style == VIEW_MONO_BOLD ? 15 : 9;
}

float view_glyph_advance(const struct view_glyph *glyph, enum view_style style)
{
    if (is_mono(style))
        return VIEW_MONO_ADVANCE;
    return style == VIEW_BOLD ? glyph->advance * bold_stretch : glyph->advance;
}

void view_glyph_fit(const struct view_glyph *glyph, enum view_style style, float *left,
                    float *stretch)
{
    *left = 0;
    *stretch = style == VIEW_BOLD ? bold_stretch : 1;
    if (!is_mono(style))
        return;
    *stretch = fminf(1, (float)VIEW_MONO_ADVANCE / glyph->advance);
    *left = 0.5f * (VIEW_MONO_ADVANCE - glyph->advance * *stretch);
}

static float builtin_width(void *context, enum view_style style, float size, const char *text,
                           size_t n)
{
    float sum = 0;
    (void)context;
    for (size_t at = 0, taken; at < n; at += taken) {
        uint32_t code = view_utf8_next(text + at, n - at, &taken);
        sum += view_glyph_advance(view_glyph_find(code), style);
    }
    return sum * size / VIEW_EM;
}

const struct view_face view_builtin_face = {builtin_width, NULL};
