#include "visualizer/draw.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts and images: blocks that are kept between frames and emptied at each. */
struct view_memory_block {
    struct view_memory_block *next;
    size_t used, size;
    max_align_t bytes[];
};

enum { BLOCK_BYTES = 64 * 1024, LONGEST_TEXT = 4096 };

struct view_box view_box_inset(struct view_box box, float dx, float dy)
{
    return (struct view_box){box.x + dx, box.y + dy, fmaxf(box.w - 2 * dx, 0),
                             fmaxf(box.h - 2 * dy, 0)};
}

bool view_box_has(struct view_box box, float x, float y)
{
    return x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h;
}

bool view_box_meets(struct view_box a, struct view_box b)
{
    return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

struct view_box view_cut_left(struct view_box *box, float width)
{
    width = fminf(width, box->w);
    struct view_box piece = {box->x, box->y, width, box->h};
    box->x += width;
    box->w -= width;
    return piece;
}

struct view_box view_cut_right(struct view_box *box, float width)
{
    width = fminf(width, box->w);
    box->w -= width;
    return (struct view_box){box->x + box->w, box->y, width, box->h};
}

struct view_box view_cut_top(struct view_box *box, float height)
{
    height = fminf(height, box->h);
    struct view_box piece = {box->x, box->y, box->w, height};
    box->y += height;
    box->h -= height;
    return piece;
}

struct view_box view_cut_bottom(struct view_box *box, float height)
{
    height = fminf(height, box->h);
    box->h -= height;
    return (struct view_box){box->x, box->y + box->h, box->w, height};
}

void view_draw_open(struct view_draw *draw, const struct view_face *face,
                    const struct view_theme *theme)
{
    memset(draw, 0, sizeof *draw);
    draw->face = face;
    draw->theme = theme;
}

void view_draw_clear(struct view_draw *draw)
{
    draw->layer = VIEW_BASE;
    draw->n_items = draw->n_hits = 0;
    draw->scroll_most = 0;
    draw->failed = false;
    for (struct view_memory_block *block = draw->memory; block; block = block->next)
        block->used = 0;
}

void view_draw_close(struct view_draw *draw)
{
    while (draw->memory) {
        struct view_memory_block *next = draw->memory->next;
        free(draw->memory);
        draw->memory = next;
    }
    free(draw->items);
    free(draw->hits);
    memset(draw, 0, sizeof *draw);
}

/* The list's own memory, until it is cleared; NULL without. */
static void *take(struct view_draw *draw, size_t bytes)
{
    bytes = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct view_memory_block **block = &draw->memory;
    while (*block && (*block)->size - (*block)->used < bytes)
        block = &(*block)->next;
    if (!*block) {
        size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        struct view_memory_block *fresh = malloc(sizeof *fresh + size);
        if (!fresh) {
            draw->failed = true;
            return NULL;
        }
        *fresh = (struct view_memory_block){.size = size};
        *block = fresh;
    }
    void *bytes_taken = (char *)(*block)->bytes + (*block)->used;
    (*block)->used += bytes;
    return bytes_taken;
}

static const char *keep_text(struct view_draw *draw, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = take(draw, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

/* One more element of an array that grows; NULL without memory. */
static void *grow(struct view_draw *draw, void **array, size_t *n, size_t *capacity, size_t size)
{
    if (*n == *capacity) {
        size_t wanted = *capacity ? *capacity * 2 : 256;
        void *more = realloc(*array, wanted * size);
        if (!more) {
            draw->failed = true;
            return NULL;
        }
        *array = more;
        *capacity = wanted;
    }
    void *element = (char *)*array + *n * size;
    (*n)++;
    memset(element, 0, size);
    return element;
}

static struct view_item *add(struct view_draw *draw, enum view_item_kind kind, struct view_box box,
                             struct view_color color)
{
    void *items = draw->items;
    struct view_item *item =
        grow(draw, &items, &draw->n_items, &draw->item_capacity, sizeof *draw->items);
    draw->items = items;
    if (!item)
        return NULL;
    item->kind = kind;
    item->layer = draw->layer;
    item->box = box;
    item->color = color;
    return item;
}

void view_fill(struct view_draw *draw, struct view_box box, struct view_color color)
{
    view_fill_round(draw, box, 0, color);
}

void view_fill_round(struct view_draw *draw, struct view_box box, float radius,
                     struct view_color color)
{
    if (box.w <= 0 || box.h <= 0 || color.a == 0)
        return;
    struct view_item *item = add(draw, VIEW_FILL, box, color);
    if (item)
        item->radius = fminf(radius, fminf(box.w, box.h) / 2);
}

static void add_frame(struct view_draw *draw, struct view_box box, float radius, float width,
                      float dash, float gap, struct view_color color)
{
    if (box.w <= 0 || box.h <= 0 || color.a == 0)
        return;
    struct view_item *item = add(draw, VIEW_FRAME, box, color);
    if (!item)
        return;
    item->radius = fminf(radius, fminf(box.w, box.h) / 2);
    item->width = width;
    item->dash = dash;
    item->gap = gap;
}

void view_frame_box(struct view_draw *draw, struct view_box box, float radius, float width,
                    struct view_color color)
{
    add_frame(draw, box, radius, width, 0, 0, color);
}

void view_frame_dashed(struct view_draw *draw, struct view_box box, float width, float dash,
                       float gap, struct view_color color)
{
    add_frame(draw, box, 0, width, dash, gap, color);
}

void view_hatch(struct view_draw *draw, struct view_box box, enum view_pattern pattern,
                struct view_color color)
{
    if (box.w <= 0 || box.h <= 0 || pattern == VIEW_PLAIN)
        return;
    struct view_item *item = add(draw, VIEW_HATCH, box, color);
    if (item)
        item->pattern = pattern;
}

void view_line(struct view_draw *draw, float x0, float y0, float x1, float y1, float width,
               struct view_color color)
{
    view_line_dashed(draw, x0, y0, x1, y1, width, 0, 0, color);
}

void view_line_dashed(struct view_draw *draw, float x0, float y0, float x1, float y1, float width,
                      float dash, float gap, struct view_color color)
{
    struct view_item *item =
        add(draw, VIEW_LINE, view_box_make(x0, y0, x1 - x0, y1 - y0), color);
    if (!item)
        return;
    item->width = width;
    item->dash = dash;
    item->gap = gap;
}

void view_triangle(struct view_draw *draw, float x0, float y0, float x1, float y1, float x2,
                   float y2, struct view_color color)
{
    float left = fminf(x0, fminf(x1, x2)), top = fminf(y0, fminf(y1, y2));
    float right = fmaxf(x0, fmaxf(x1, x2)), bottom = fmaxf(y0, fmaxf(y1, y2));
    struct view_item *item =
        add(draw, VIEW_TRIANGLE, view_box_make(left, top, right - left, bottom - top), color);
    if (item)
        memcpy(item->points, (const float[6]){x0, y0, x1, y1, x2, y2}, sizeof item->points);
}

void view_arrow(struct view_draw *draw, float x0, float y0, float x1, float y1, float width,
                struct view_color color)
{
    float dx = x1 - x0, dy = y1 - y0, length = hypotf(dx, dy);
    if (length < 1)
        return;
    float head = fminf(4 + 2 * width, length);
    dx /= length;
    dy /= length;
    float bx = x1 - dx * head, by = y1 - dy * head, half = head * 0.5f;
    view_line(draw, x0, y0, bx, by, width, color);
    view_triangle(draw, x1, y1, bx - dy * half, by + dx * half, bx + dy * half, by - dx * half,
                  color);
}

struct view_color *view_image(struct view_draw *draw, struct view_box box, int columns, int rows)
{
    if (columns <= 0 || rows <= 0 || box.w <= 0 || box.h <= 0)
        return NULL;
    struct view_color *cells = take(draw, (size_t)columns * (size_t)rows * sizeof *cells);
    struct view_item *item = cells ? add(draw, VIEW_IMAGE, box, (struct view_color){0}) : NULL;
    if (!item)
        return NULL;
    item->columns = columns;
    item->rows = rows;
    item->cells = cells;
    return cells;
}

void view_clip(struct view_draw *draw, struct view_box box)
{
    add(draw, VIEW_CLIP, box, (struct view_color){0});
}

void view_clip_none(struct view_draw *draw)
{
    add(draw, VIEW_CLIP, view_box_make(0, 0, -1, -1), (struct view_color){0});
}

/* ---- text ------------------------------------------------------------------------------------ */

static float width_of(const struct view_draw *draw, struct view_type type, const char *text,
                      size_t n)
{
    return draw->face->width(draw->face->context, type.style, type.size, text, n);
}

float view_text_width(const struct view_draw *draw, struct view_type type, const char *text)
{
    return width_of(draw, type, text, strlen(text));
}

/* The text with its left edge at x. */
static void put_text(struct view_draw *draw, float x, float y, float width, struct view_type type,
                     const char *text)
{
    const char *kept = text[0] ? keep_text(draw, text) : NULL;
    struct view_item *item =
        kept ? add(draw, VIEW_TEXT, view_box_make(x, y, width, view_line_height(type.size)),
                   type.color)
             : NULL;
    if (!item)
        return;
    item->text = kept;
    item->style = type.style;
    item->size = type.size;
}

static float aligned(float x, float width, enum view_align align)
{
    return align == VIEW_LEFT ? x : align == VIEW_CENTRE ? x - width / 2 : x - width;
}

float view_text(struct view_draw *draw, float x, float y, enum view_align align,
                struct view_type type, const char *format, ...)
{
    char text[LONGEST_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    float width = view_text_width(draw, type, text);
    put_text(draw, floorf(aligned(x, width, align) + 0.5f), y, width, type, text);
    return width;
}

bool view_text_in(struct view_draw *draw, struct view_box box, enum view_align align,
                  struct view_type type, const char *format, ...)
{
    char text[LONGEST_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    float width = view_text_width(draw, type, text);
    if (width > box.w)
        return false;
    float edge = align == VIEW_LEFT ? box.x : align == VIEW_CENTRE ? box.x + box.w / 2 : box.x + box.w;
    float x = floorf(aligned(edge, width, align) + 0.5f);
    if (x < box.x)
        x = box.x;
    put_text(draw, x, floorf(box.y + (box.h - view_line_height(type.size)) / 2 + 0.5f), width, type,
             text);
    return true;
}

/* How many bytes of the text make its first line in this width: up to a newline, or the last space
 * that still fits; a word that is too wide alone is broken where it must be. */
size_t view_text_line(const struct view_draw *draw, float width, struct view_type type,
                      const char *text)
{
    size_t fits = 0, end = 0;
    while (text[end] && text[end] != '\n') {
        size_t word = end;
        while (text[word] == ' ')
            word++;
        while (text[word] && text[word] != ' ' && text[word] != '\n')
            word++;
        if (width_of(draw, type, text, word) > width)
            break;
        fits = end = word;
    }
    if (fits > 0 || text[0] == '\n' || !text[0])
        return fits;
    size_t taken;
    while (text[fits] && text[fits] != ' ' && text[fits] != '\n') {
        view_utf8_next(text + fits, strlen(text + fits), &taken);
        if (fits > 0 && width_of(draw, type, text, fits + taken) > width)
            break;
        fits += taken;
    }
    return fits;
}

/* Walks the lines of a text; draws them if asked to. Returns their height. */
static float walk_lines(struct view_draw *draw, const struct view_draw *measure,
                        struct view_box box, struct view_type type, float hanging,
                        const char *text)
{
    char line[LONGEST_TEXT];
    float height = view_line_height(type.size), y = 0;
    bool first = true; /* of a paragraph */
    while (*text) {
        float indent = first ? 0 : hanging;
        size_t n = view_text_line(measure, box.w - indent, type, text);
        if (draw && n > 0 && n < sizeof line) {
            memcpy(line, text, n);
            line[n] = '\0';
            put_text(draw, box.x + indent, box.y + y, width_of(measure, type, line, n), type, line);
        }
        y += height;
        text += n;
        first = *text == '\n';
        if (*text == '\n')
            text++;
        else
            while (*text == ' ')
                text++;
    }
    return y;
}

float view_text_height(const struct view_draw *draw, float width, struct view_type type,
                       float hanging, const char *text)
{
    return walk_lines(NULL, draw, view_box_make(0, 0, width, 0), type, hanging, text);
}

float view_text_wrapped(struct view_draw *draw, struct view_box box, struct view_type type,
                        float hanging, const char *text, bool *complete)
{
    float height = view_text_height(draw, box.w, type, hanging, text);
    bool fits = height <= box.h + 0.01f;
    if (complete)
        *complete = fits;
    return fits ? walk_lines(draw, draw, box, type, hanging, text) : 0;
}

/* ---- hits ------------------------------------------------------------------------------------ */

void view_hit(struct view_draw *draw, struct view_box box, enum view_action action, int64_t value,
              bool off, const char *label)
{
    void *hits = draw->hits;
    struct view_hit *hit =
        grow(draw, &hits, &draw->n_hits, &draw->hit_capacity, sizeof *draw->hits);
    draw->hits = hits;
    if (!hit)
        return;
    *hit = (struct view_hit){.box = box, .layer = draw->layer, .action = action, .value = value,
                             .label = label ? keep_text(draw, label) : NULL, .off = off};
}

const struct view_hit *view_hit_at(const struct view_draw *draw, float x, float y)
{
    const struct view_hit *found = NULL;
    for (size_t i = 0; i < draw->n_hits; i++)
        if (view_box_has(draw->hits[i].box, x, y) && (!found || draw->hits[i].layer >= found->layer))
            found = &draw->hits[i];
    return found;
}

void view_draw_shift(struct view_draw *draw, float dx, float dy)
{
    for (size_t i = 0; i < draw->n_items; i++) {
        struct view_item *item = &draw->items[i];
        item->box.x += dx;
        item->box.y += dy;
        for (int p = 0; p < 6; p += 2) {
            item->points[p] += dx;
            item->points[p + 1] += dy;
        }
    }
    for (size_t i = 0; i < draw->n_hits; i++) {
        draw->hits[i].box.x += dx;
        draw->hits[i].box.y += dy;
    }
}
