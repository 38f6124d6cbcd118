#include "visualizer/strokes.h"

#include <math.h>
#include <stddef.h>

enum { LEVELS_MOST = 24 };

/* Heights of the grid that shall lie on whole pixels, and where they are put; between two of them
 * all is stretched evenly. */
struct levels {
    int n;
    float grid[LEVELS_MOST], pixel[LEVELS_MOST];
};

static void add_level(struct levels *levels, float y)
{
    int at = levels->n;
    if (at == LEVELS_MOST)
        return;
    for (int i = 0; i < levels->n; i++)
        if (levels->grid[i] == y)
            return;
    for (; at > 0 && levels->grid[at - 1] > y; at--)
        levels->grid[at] = levels->grid[at - 1];
    levels->grid[at] = y;
    levels->n++;
}

/* Where a stroke or a curve's crest is level, and the glyph's ends. */
static void find_levels(const struct view_glyph *glyph, struct levels *levels)
{
    const struct view_stroke *s = glyph->strokes;
    float low = 127, high = -127;
    for (int i = 0; i < glyph->n; i++) {
        low = fminf(low, s[i].y);
        high = fmaxf(high, s[i].y);
        if (i > 0 && s[i].pen != VIEW_PEN_MOVE && s[i].y == s[i - 1].y)
            add_level(levels, s[i].y);
    }
    add_level(levels, low);
    add_level(levels, high);
}

/* Moves each level so that a stroke along it has whole edges, or at least a whole middle. */
static void place_levels(struct levels *levels, float scale, float width)
{
    bool odd = (int)fmaxf(1, roundf(width)) % 2 == 1;
    float half = odd ? 0.5f : 0;
    for (int i = 0; i < levels->n; i++) {
        levels->pixel[i] = roundf(levels->grid[i] * scale - half) + half;
        if (i > 0)
            levels->pixel[i] = fmaxf(levels->pixel[i], levels->pixel[i - 1]);
    }
}

static float level_of(const struct levels *levels, float y)
{
    int i = 1;
    if (levels->n == 1)
        return levels->pixel[0];
    while (i < levels->n - 1 && y > levels->grid[i])
        i++;
    float t = (y - levels->grid[i - 1]) / (levels->grid[i] - levels->grid[i - 1]);
    return levels->pixel[i - 1] + t * (levels->pixel[i] - levels->pixel[i - 1]);
}

/* A pen of a width, in the mask's pixels with y downwards. */
struct pen {
    struct view_mask *mask;
    float half;
};

/* The stroke from a to b: what of a pixel is nearer than half the width to it. */
static void draw_segment(const struct pen *pen, const float a[2], const float b[2])
{
    struct view_mask *mask = pen->mask;
    float reach = pen->half + 0.5f;
    int x0 = (int)fmaxf(0, floorf(fminf(a[0], b[0]) - reach));
    int y0 = (int)fmaxf(0, floorf(fminf(a[1], b[1]) - reach));
    int x1 = (int)fminf((float)mask->width, ceilf(fmaxf(a[0], b[0]) + reach));
    int y1 = (int)fminf((float)mask->height, ceilf(fmaxf(a[1], b[1]) + reach));
    float ex = b[0] - a[0], ey = b[1] - a[1], square = ex * ex + ey * ey;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) {
            float dx = (float)x + 0.5f - a[0], dy = (float)y + 0.5f - a[1];
            float t = square > 0 ? fmaxf(0, fminf(1, (dx * ex + dy * ey) / square)) : 0;
            float px = dx - t * ex, py = dy - t * ey, cover = reach - sqrtf(px * px + py * py);
            if (cover <= 0)
                continue;
            uint8_t level = (uint8_t)(fminf(1, cover) * 255 + 0.5f);
            uint8_t *to = &mask->cover[(size_t)y * (size_t)mask->width + (size_t)x];
            *to = level > *to ? level : *to;
        }
}

/* The curve from a, pulled towards c, to b. */
static void draw_curve(const struct pen *pen, const float a[2], const float c[2], const float b[2])
{
    int n = (int)fmaxf(4, fminf(16, 2 * sqrtf(hypotf(b[0] - a[0], b[1] - a[1]))));
    float before[2] = {a[0], a[1]};
    for (int i = 1; i <= n; i++) {
        float t = (float)i / (float)n, s = 1 - t;
        float to[2] = {s * s * a[0] + 2 * s * t * c[0] + t * t * b[0],
                       s * s * a[1] + 2 * s * t * c[1] + t * t * b[1]};
        draw_segment(pen, before, to);
        before[0] = to[0];
        before[1] = to[1];
    }
}

/* Small digits and letters above or below the line have thinner strokes. */
static float weight_of(uint32_t code)
{
    bool small = code == 0xb2 || code == 0xb3 || code == 0xb9 || code == 0x1d40 ||
                 (code >= 0x2070 && code <= 0x2089);
    return small ? 0.8f : 1;
}

void view_strokes_draw(struct view_mask *mask, const struct view_glyph *glyph,
                       enum view_style style, float size, float x)
{
    struct levels levels = {0};
    float scale = size / VIEW_EM;
    float width = fmaxf(1, view_stroke_width(style) * weight_of(glyph->code) * scale);
    struct pen pen = {mask, 0.5f * width};
    float left, stretch, at[3][2] = {{0}}; /* the point before, a control, this one */
    if (glyph->n == 0)
        return;
    find_levels(glyph, &levels);
    place_levels(&levels, scale, width);
    view_glyph_fit(glyph, style, &left, &stretch);
    for (int i = 0; i < glyph->n; i++) {
        const struct view_stroke *stroke = &glyph->strokes[i];
        float *to = stroke->pen == VIEW_PEN_CURVE ? at[1] : at[2];
        to[0] = x + (left + stroke->x * stretch) * scale - (float)mask->left;
        to[1] = -level_of(&levels, stroke->y) - (float)mask->top;
        if (stroke->pen == VIEW_PEN_CURVE)
            continue;
        if (stroke->pen == VIEW_PEN_LINE && glyph->strokes[i - 1].pen == VIEW_PEN_CURVE)
            draw_curve(&pen, at[0], at[1], at[2]);
        else if (stroke->pen == VIEW_PEN_LINE)
            draw_segment(&pen, at[0], at[2]);
        at[0][0] = to[0];
        at[0][1] = to[1];
    }
}
