#include "visualizer/raster.h"

#include <math.h>
#include <string.h>

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

static struct view_area common(struct view_area a, struct view_area b)
{
    return (struct view_area){most(a.x0, b.x0), most(a.y0, b.y0), least(a.x1, b.x1),
                              least(a.y1, b.y1)};
}

/* A float outside an int's range must not be converted; no picture is this large. */
static int whole(float value)
{
    return (int)fmaxf(-1e6f, fminf(1e6f, value));
}

static uint32_t pack(struct view_color color)
{
    return (uint32_t)color.r << 16 | (uint32_t)color.g << 8 | color.b;
}

/* 0..255 as 0..256, so that a product's division is a shift and both ends are exact. */
static uint32_t weight(uint32_t cover)
{
    return cover + (cover >> 7);
}

static uint32_t blend(uint32_t below, uint32_t above, uint32_t share)
{
    uint32_t odd = ((above & 0xff00ff) * share + (below & 0xff00ff) * (256 - share)) >> 8;
    uint32_t even = ((above & 0x00ff00) * share + (below & 0x00ff00) * (256 - share)) >> 8;
    return (odd & 0xff00ff) | (even & 0x00ff00);
}

/* A coverage of 0..1 and the colour's own alpha as one share. */
static uint32_t share_of(float cover, uint8_t alpha)
{
    return weight((uint32_t)(fmaxf(0, fminf(1, cover)) * alpha + 0.5f));
}

static void blend_span(uint32_t *row, int x0, int x1, uint32_t color, uint32_t share)
{
    if (share == 256)
        for (int x = x0; x < x1; x++)
            row[x] = color;
    else
        for (int x = x0; x < x1; x++)
            row[x] = blend(row[x], color, share);
}

static uint32_t *row_of(struct view_raster *raster, int y)
{
    return raster->pixels + (size_t)y * (size_t)raster->width;
}

void view_raster_clip(struct view_raster *raster, struct view_area area)
{
    raster->clip = common(area, (struct view_area){0, 0, raster->width, raster->height});
}

void view_raster_fill(struct view_raster *raster, struct view_area area, struct view_color color)
{
    uint32_t packed = pack(color), share = weight(color.a);
    area = common(area, raster->clip);
    if (area.x0 >= area.x1 || share == 0)
        return;
    for (int y = area.y0; y < area.y1; y++) {
        uint32_t *row = row_of(raster, y) + area.x0;
        if (share == 256 && y > area.y0)
            memcpy(row, row - raster->width, sizeof *row * (size_t)(area.x1 - area.x0));
        else
            blend_span(row, 0, area.x1 - area.x0, packed, share);
    }
}

/* How much of the pixel (x, y) of an area w wide and h high its round corners leave. */
static float round_cover(int w, int h, float radius, int x, int y)
{
    float dx = fmaxf(radius - ((float)x + 0.5f), (float)x + 0.5f - ((float)w - radius));
    float dy = fmaxf(radius - ((float)y + 0.5f), (float)y + 0.5f - ((float)h - radius));
    if (dx <= 0 || dy <= 0)
        return 1;
    return fmaxf(0, fminf(1, radius + 0.5f - sqrtf(dx * dx + dy * dy)));
}

static float fitting_radius(struct view_area area, float radius)
{
    float half = 0.5f * (float)least(area.x1 - area.x0, area.y1 - area.y0);
    return fmaxf(0, fminf(radius, half));
}

/* One pixel of a shape with round corners: what lies in `outer` but not in the frame's inside. */
static void blend_corner(struct view_raster *raster, struct view_area area, float radius, int width,
                         int x, int y, struct view_color color)
{
    int w = area.x1 - area.x0, h = area.y1 - area.y0, in = width;
    float cover = round_cover(w, h, radius, x - area.x0, y - area.y0);
    int ix = x - area.x0 - in, iy = y - area.y0 - in;
    if (width > 0 && ix >= 0 && iy >= 0 && ix < w - 2 * in && iy < h - 2 * in)
        cover -= round_cover(w - 2 * in, h - 2 * in, fmaxf(0, radius - (float)width), ix, iy);
    uint32_t share = share_of(cover, color.a);
    uint32_t *pixel = row_of(raster, y) + x;
    if (share)
        *pixel = blend(*pixel, pack(color), share);
}

/* The squares in the four corners that hold all curved pixels. width 0: filled. */
static void draw_corners(struct view_raster *raster, struct view_area area, float radius, int width,
                         int size, struct view_color color)
{
    for (int corner = 0; corner < 4; corner++) {
        struct view_area square = area;
        if (corner & 1)
            square.x0 = area.x1 - size;
        else
            square.x1 = area.x0 + size;
        if (corner & 2)
            square.y0 = area.y1 - size;
        else
            square.y1 = area.y0 + size;
        square = common(square, raster->clip);
        for (int y = square.y0; y < square.y1; y++)
            for (int x = square.x0; x < square.x1; x++)
                blend_corner(raster, area, radius, width, x, y, color);
    }
}

void view_raster_fill_round(struct view_raster *raster, struct view_area area, float radius,
                            struct view_color color)
{
    radius = fitting_radius(area, radius);
    int size = whole(ceilf(radius));
    int w = area.x1 - area.x0, h = area.y1 - area.y0;
    /* The squares of an odd size would overlap in the middle row and column: those are drawn first.
     * */
    if (2 * size > w || 2 * size > h)
        size = least(w, h) / 2;
    draw_corners(raster, area, radius, 0, size, color);
    view_raster_fill(raster, (struct view_area){area.x0 + size, area.y0, area.x1 - size, area.y1},
                     color);
    view_raster_fill(
        raster, (struct view_area){area.x0, area.y0 + size, area.x0 + size, area.y1 - size}, color);
    view_raster_fill(
        raster, (struct view_area){area.x1 - size, area.y0 + size, area.x1, area.y1 - size}, color);
}

void view_raster_frame(struct view_raster *raster, struct view_area area, float radius, int width,
                       struct view_color color)
{
    int w = area.x1 - area.x0, h = area.y1 - area.y0;
    if (2 * width >= w || 2 * width >= h) {
        view_raster_fill_round(raster, area, radius, color);
        return;
    }
    radius = fitting_radius(area, radius);
    int size = radius > 0 ? least(most(whole(ceilf(radius)), width), least(w, h) / 2) : width;
    if (radius > 0)
        draw_corners(raster, area, radius, width, size, color);
    int side = radius > 0 ? size : 0; /* square corners belong to the top and the bottom */
    struct view_area bars[] = {
        {area.x0 + side, area.y0, area.x1 - side, area.y0 + width},
        {area.x0 + side, area.y1 - width, area.x1 - side, area.y1},
        {area.x0, area.y0 + size, area.x0 + width, area.y1 - size},
        {area.x1 - width, area.y0 + size, area.x1, area.y1 - size},
    };
    for (int i = 0; i < 4; i++)
        view_raster_fill(raster, bars[i], color);
}

/* An upright or level line: as wide as a whole number of pixels, never none. */
static void draw_straight(struct view_raster *raster, float x0, float y0, float x1, float y1,
                          float width, struct view_color color)
{
    int thick = most(1, whole(roundf(width)));
    struct view_area area;
    if (x0 == x1) {
        area.x0 = whole(roundf(x0 - 0.5f * (float)thick));
        area.x1 = area.x0 + thick;
        area.y0 = whole(roundf(fminf(y0, y1)));
        area.y1 = whole(roundf(fmaxf(y0, y1)));
    } else {
        area.y0 = whole(roundf(y0 - 0.5f * (float)thick));
        area.y1 = area.y0 + thick;
        area.x0 = whole(roundf(fminf(x0, x1)));
        area.x1 = whole(roundf(fmaxf(x0, x1)));
    }
    view_raster_fill(raster, area, color);
}

void view_raster_line(struct view_raster *raster, float x0, float y0, float x1, float y1,
                      float width, struct view_color color)
{
    if (x0 == x1 || y0 == y1) {
        draw_straight(raster, x0, y0, x1, y1, width, color);
        return;
    }
    float length = hypotf(x1 - x0, y1 - y0), half = 0.5f * fmaxf(1, width);
    float ax = (x1 - x0) / length, ay = (y1 - y0) / length; /* along; across is (-ay, ax) */
    struct view_area box = {
        whole(floorf(fminf(x0, x1) - half - 1)), whole(floorf(fminf(y0, y1) - half - 1)),
        whole(ceilf(fmaxf(x0, x1) + half + 1)), whole(ceilf(fmaxf(y0, y1) + half + 1))};
    box = common(box, raster->clip);
    uint32_t packed = pack(color);
    for (int y = box.y0; y < box.y1; y++) {
        float dy = (float)y + 0.5f - y0;
        /* |across| < half + .5 gives the row's part of the line, so a long one costs what it shows.
         * */
        float middle = x0 + dy * ax / ay, reach = (half + 0.5f) / fabsf(ay);
        int from = most(box.x0, whole(floorf(middle - reach - 1)));
        int to = least(box.x1, whole(ceilf(middle + reach + 1)));
        uint32_t *row = row_of(raster, y);
        for (int x = from; x < to; x++) {
            float dx = (float)x + 0.5f - x0, along = dx * ax + dy * ay;
            float cover = fminf(1, half + 0.5f - fabsf(dy * ax - dx * ay));
            cover *= fmaxf(0, fminf(1, fminf(along, length - along) + 0.5f));
            uint32_t share = share_of(cover, color.a);
            if (share)
                row[x] = blend(row[x], packed, share);
        }
    }
}

void view_raster_triangle(struct view_raster *raster, const float points[6],
                          struct view_color color)
{
    const float *p = points;
    float nx[3], ny[3], offset[3];
    float twice = (p[2] - p[0]) * (p[5] - p[1]) - (p[4] - p[0]) * (p[3] - p[1]);
    if (!(fabsf(twice) > 1e-6f))
        return;
    for (int i = 0; i < 3; i++) {
        int a = 2 * i, b = (2 * i + 2) % 6;
        float ex = p[b] - p[a], ey = p[b + 1] - p[a + 1], length = hypotf(ex, ey);
        if (!(length > 0))
            return;
        float sign = twice > 0 ? 1 : -1; /* inside is positive whichever way it turns */
        nx[i] = -sign * ey / length;
        ny[i] = sign * ex / length;
        offset[i] = -(nx[i] * p[a] + ny[i] * p[a + 1]);
    }
    struct view_area box = {whole(floorf(fminf(p[0], fminf(p[2], p[4])) - 1)),
                            whole(floorf(fminf(p[1], fminf(p[3], p[5])) - 1)),
                            whole(ceilf(fmaxf(p[0], fmaxf(p[2], p[4])) + 1)),
                            whole(ceilf(fmaxf(p[1], fmaxf(p[3], p[5])) + 1))};
    box = common(box, raster->clip);
    uint32_t packed = pack(color);
    for (int y = box.y0; y < box.y1; y++) {
        uint32_t *row = row_of(raster, y);
        for (int x = box.x0; x < box.x1; x++) {
            float cover = 1;
            for (int i = 0; i < 3; i++)
                cover = fminf(cover, nx[i] * ((float)x + 0.5f) + ny[i] * ((float)y + 0.5f) +
                                         offset[i] + 0.5f);
            uint32_t share = share_of(cover, color.a);
            if (share)
                row[x] = blend(row[x], packed, share);
        }
    }
}

enum { HATCH_MOST = 6 * 4 }; /* pixels a step at the largest scale */

/* One step of a pattern: n pixels wide and high, its lines `thick`, crossing at (middle, middle).
 * */
struct step {
    int n;
    float thick, middle;
};

static float slanting(int sum, const struct step *step)
{
    int rest = ((sum % step->n) + step->n) % step->n;
    float distance = (float)least(rest, step->n - rest) * 0.70710678f;
    return 0.5f * step->thick + 0.5f - distance;
}

/* Coverage of the step's pixel (x, y). */
static float step_cover(enum view_pattern pattern, int x, int y, const struct step *step)
{
    float half = 0.5f * step->thick, arm = 0.3f * (float)step->n;
    float across = fabsf((float)x + 0.5f - step->middle);
    float down = fabsf((float)y + 0.5f - step->middle);
    switch (pattern) {
    case VIEW_UPRIGHT:
        return half + 0.5f - across;
    case VIEW_LEVEL:
        return half + 0.5f - down;
    case VIEW_DOTS:
        return 1.05f * step->thick + 0.5f - hypotf(across, down);
    case VIEW_PLUS:
        return half + 0.5f - fminf(fmaxf(across, down - arm), fmaxf(down, across - arm));
    case VIEW_FALLING:
        return slanting(x - y, step);
    case VIEW_RISING:
        return slanting(x + y + 1, step);
    case VIEW_CROSSES:
        return fmaxf(slanting(x - y, step), slanting(x + y + 1, step));
    default:
        return 0;
    }
}

void view_raster_hatch(struct view_raster *raster, struct view_area area, enum view_pattern pattern,
                       float scale, struct view_color color)
{
    uint32_t shares[HATCH_MOST * HATCH_MOST], packed = pack(color);
    struct step step = {most(3, least(HATCH_MOST, whole(roundf(6 * scale)))),
                        roundf(fmaxf(1, scale)), 0};
    bool odd = whole(step.thick) % 2 == 1 && pattern != VIEW_DOTS; /* else it would blur over two */
    step.middle = (float)(step.n / 2) + (odd ? 0.5f : 0);
    struct view_area shown = common(area, raster->clip);
    if (pattern == VIEW_PLAIN || shown.x0 >= shown.x1 || shown.y0 >= shown.y1)
        return;
    for (int y = 0; y < step.n; y++)
        for (int x = 0; x < step.n; x++)
            shares[y * step.n + x] = share_of(step_cover(pattern, x, y, &step), color.a);
    for (int y = shown.y0; y < shown.y1; y++) {
        const uint32_t *line = shares + (y - area.y0) % step.n * step.n;
        uint32_t *row = row_of(raster, y);
        for (int x = shown.x0, i = (shown.x0 - area.x0) % step.n; x < shown.x1; x++) {
            if (line[i])
                row[x] = blend(row[x], packed, line[i]);
            i = i + 1 == step.n ? 0 : i + 1;
        }
    }
}

/* The cell of a pixel's middle; and the first pixel whose middle is in a cell or past it. */
static int cell_of(int pixel, int pixels, int cells)
{
    return (int)((2 * (int64_t)pixel + 1) * cells / (2 * (int64_t)pixels));
}

static int edge_of(int cell, int pixels, int cells)
{
    int64_t twice = 2 * (int64_t)pixels * cell - cells;
    return twice <= 0 ? 0 : (int)((twice + 2 * (int64_t)cells - 1) / (2 * (int64_t)cells));
}

/* The shown part of a row of cells. False: some of it shows what is below. */
static bool draw_cells(uint32_t *row, struct view_area area, struct view_area shown, int columns,
                       const struct view_color *cells)
{
    int w = area.x1 - area.x0;
    bool opaque = true;
    for (int x = shown.x0, cell = cell_of(x - area.x0, w, columns); x < shown.x1;) {
        int to = least(shown.x1, area.x0 + edge_of(cell + 1, w, columns));
        opaque = opaque && cells[cell].a == 255;
        if (cells[cell].a)
            blend_span(row, x, to, pack(cells[cell]), weight(cells[cell].a));
        x = to;
        cell = x < shown.x1 ? cell_of(x - area.x0, w, columns) : cell;
    }
    return opaque;
}

void view_raster_image(struct view_raster *raster, struct view_area area, int columns, int rows,
                       const struct view_color *cells)
{
    struct view_area shown = common(area, raster->clip);
    int before = -1; /* the row of cells that the row of pixels above has, if it can be copied */
    if (columns < 1 || rows < 1 || shown.x0 >= shown.x1)
        return;
    for (int y = shown.y0; y < shown.y1; y++) {
        int cell = cell_of(y - area.y0, area.y1 - area.y0, rows);
        uint32_t *row = row_of(raster, y);
        if (cell == before)
            memcpy(row + shown.x0, row - raster->width + shown.x0,
                   sizeof *row * (size_t)(shown.x1 - shown.x0));
        else if (draw_cells(row, area, shown, columns, cells + (size_t)cell * (size_t)columns))
            before = cell;
        else
            before = -1;
    }
}

void view_raster_mask(struct view_raster *raster, const struct view_mask *mask, int x, int y,
                      struct view_color color)
{
    struct view_area area = {x + mask->left, y + mask->top, x + mask->left + mask->width,
                             y + mask->top + mask->height};
    struct view_area shown = common(area, raster->clip);
    uint32_t packed = pack(color), alpha = weight(color.a);
    for (int py = shown.y0; py < shown.y1; py++) {
        const uint8_t *cover = mask->cover + (size_t)(py - area.y0) * (size_t)mask->width;
        uint32_t *row = row_of(raster, py);
        for (int px = shown.x0; px < shown.x1; px++)
            if (cover[px - area.x0])
                row[px] = blend(row[px], packed, weight(cover[px - area.x0] * alpha >> 8));
    }
}

void view_raster_mix(struct view_raster *raster, const uint32_t *old, double share)
{
    size_t n = (size_t)raster->width * (size_t)raster->height;
    uint32_t part = (uint32_t)(share * 256 + 0.5), rest = 256 - part;
    for (size_t i = 0; i < n; i++) {
        uint32_t a = raster->pixels[i], b = old[i], mixed = 0;
        for (int shift = 0; shift < 24; shift += 8)
            mixed |= (((a >> shift & 255) * rest + (b >> shift & 255) * part) >> 8) << shift;
        raster->pixels[i] = mixed;
    }
}
