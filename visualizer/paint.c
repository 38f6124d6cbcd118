#include "visualizer/paint.h"

#include <math.h>

struct painter {
    struct view_raster *raster;
    float scale;
    struct view_typesetter *typesetter;
};

/* A float outside an int's range must not be converted. */
static int pixel(float value)
{
    return (int)roundf(fmaxf(-1e6f, fminf(1e6f, value)));
}

/* Two edges that touch in logical pixels touch here too; what has a width never vanishes. */
static struct view_area area_of(const struct painter *painter, struct view_box box)
{
    float scale = painter->scale;
    struct view_area area = {pixel(box.x * scale), pixel(box.y * scale),
                             pixel((box.x + box.w) * scale), pixel((box.y + box.h) * scale)};
    if (area.x1 == area.x0 && box.w > 0)
        area.x1++;
    if (area.y1 == area.y0 && box.h > 0)
        area.y1++;
    return area;
}

static int thickness(const struct painter *painter, float width)
{
    int thick = pixel(width * painter->scale);
    return thick > 1 ? thick : 1;
}

/* One side of a dashed frame, along x or y, from end to end: the gaps are adjusted so that both
 * ends have a whole dash. */
static void draw_side(const struct painter *painter, const struct view_item *item,
                      struct view_area side, bool upright)
{
    int from = upright ? side.y0 : side.x0, to = upright ? side.y1 : side.x1;
    float dash = item->dash * painter->scale, step = dash + item->gap * painter->scale;
    float length = (float)(to - from);
    int n = (int)fminf(1e5f, roundf((length - dash) / step));
    if (n < 1 || !(step > 0)) {
        view_raster_fill(painter->raster, side, item->color);
        return;
    }
    step = (length - dash) / (float)n;
    for (int i = 0; i <= n; i++) {
        int a = from + pixel((float)i * step), b = from + pixel((float)i * step + dash);
        struct view_area piece = side;
        if (upright) {
            piece.y0 = a;
            piece.y1 = b < to ? b : to;
        } else {
            piece.x0 = a;
            piece.x1 = b < to ? b : to;
        }
        view_raster_fill(painter->raster, piece, item->color);
    }
}

static void draw_frame(const struct painter *painter, const struct view_item *item)
{
    struct view_area area = area_of(painter, item->box);
    int thick = thickness(painter, item->width);
    if (area.x0 >= area.x1 || area.y0 >= area.y1)
        return;
    if (!(item->dash > 0)) {
        view_raster_frame(painter->raster, area, item->radius * painter->scale, thick, item->color);
        return;
    }
    struct view_area top = area, bottom = area, left = area, right = area;
    top.y1 = area.y0 + thick;
    bottom.y0 = area.y1 - thick;
    left.x1 = area.x0 + thick;
    right.x0 = area.x1 - thick;
    draw_side(painter, item, top, false);
    draw_side(painter, item, bottom, false);
    draw_side(painter, item, left, true);
    draw_side(painter, item, right, true);
}

static void draw_line(const struct painter *painter, const struct view_item *item)
{
    float scale = painter->scale, width = item->width * scale;
    float x0 = item->box.x * scale, y0 = item->box.y * scale;
    float dx = item->box.w * scale, dy = item->box.h * scale;
    if (!(item->dash > 0) || !(item->gap > 0)) {
        view_raster_line(painter->raster, x0, y0, x0 + dx, y0 + dy, width, item->color);
        return;
    }
    float length = hypotf(dx, dy), dash = item->dash * scale, step = dash + item->gap * scale;
    if (!(length > 0) || length / step > 1e5f)
        return;
    for (int i = 0; (float)i * step < length; i++) {
        float a = (float)i * step / length, b = fminf(1, ((float)i * step + dash) / length);
        view_raster_line(painter->raster, x0 + a * dx, y0 + a * dy, x0 + b * dx, y0 + b * dy, width,
                         item->color);
    }
}

static void draw_triangle(const struct painter *painter, const struct view_item *item)
{
    float points[6];
    for (int i = 0; i < 6; i++)
        points[i] = item->points[i] * painter->scale;
    view_raster_triangle(painter->raster, points, item->color);
}

static void draw_text(const struct painter *painter, const struct view_item *item)
{
    float scale = painter->scale;
    const struct view_mask *mask = NULL;
    if (item->text)
        mask =
            view_typesetter_mask(painter->typesetter, item->style, item->size * scale, item->text);
    if (mask)
        view_raster_mask(painter->raster, mask, pixel(item->box.x * scale),
                         pixel((item->box.y + view_baseline(item->size)) * scale), item->color);
}

static void draw_item(const struct painter *painter, const struct view_item *item)
{
    struct view_raster *raster = painter->raster;
    float scale = painter->scale;
    switch (item->kind) {
    case VIEW_FILL:
        if (item->radius > 0)
            view_raster_fill_round(raster, area_of(painter, item->box), item->radius * scale,
                                   item->color);
        else
            view_raster_fill(raster, area_of(painter, item->box), item->color);
        break;
    case VIEW_FRAME:
        draw_frame(painter, item);
        break;
    case VIEW_HATCH:
        view_raster_hatch(raster, area_of(painter, item->box), item->pattern, scale, item->color);
        break;
    case VIEW_LINE:
        draw_line(painter, item);
        break;
    case VIEW_TRIANGLE:
        draw_triangle(painter, item);
        break;
    case VIEW_IMAGE:
        view_raster_image(raster, area_of(painter, item->box), item->columns, item->rows,
                          item->cells);
        break;
    case VIEW_TEXT:
        draw_text(painter, item);
        break;
    case VIEW_CLIP:
        view_raster_clip(raster, item->box.w < 0
                                     ? (struct view_area){0, 0, raster->width, raster->height}
                                     : area_of(painter, item->box));
        break;
    }
}

void view_paint(struct view_raster *raster, const struct view_draw *draw, float scale,
                struct view_typesetter *typesetter)
{
    const struct painter painter = {raster, scale, typesetter};
    const struct view_area all = {0, 0, raster->width, raster->height};
    view_raster_clip(raster, all);
    view_raster_fill(raster, all, draw->theme->bg);
    for (int layer = 0; layer < VIEW_LAYERS; layer++) {
        view_raster_clip(raster, all);
        for (size_t i = 0; i < draw->n_items; i++)
            if ((int)draw->items[i].layer == layer)
                draw_item(&painter, &draw->items[i]);
    }
}
