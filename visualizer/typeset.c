#include "visualizer/typeset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "visualizer/strokes.h"

/* Bounds of what is kept; past either, what was not used since half of it ago goes. */
enum { KEPT_TEXTS = 4096, KEPT_BYTES = 16 << 20, BUCKETS = 1024 };

struct kept {
    struct kept *next;
    uint32_t hash;
    enum view_style style;
    float size, width;
    bool drawn;
    struct view_mask mask;
    uint64_t used;
    size_t n;
    char text[];
};

struct view_typesetter {
    struct view_font_source source;
    struct kept *buckets[BUCKETS];
    size_t texts, bytes;
    uint64_t now; /* counts look-ups */
};

enum fa_status view_typesetter_open(const struct view_font_source *source,
                                    struct view_typesetter **typesetter, struct fa_error *error)
{
    struct view_typesetter *made = calloc(1, sizeof *made);
    if (!made)
        return fa_fail(error, FA_NO_MEMORY, "no memory for texts");
    if (source)
        made->source = *source;
    *typesetter = made;
    return FA_OK;
}

static size_t mask_size(const struct view_mask *mask)
{
    return (size_t)mask->width * (size_t)mask->height;
}

/* Drops what was last used before `since`. */
static void drop_older(struct view_typesetter *typesetter, uint64_t since)
{
    for (int i = 0; i < BUCKETS; i++)
        for (struct kept **link = &typesetter->buckets[i]; *link;) {
            struct kept *kept = *link;
            if (kept->used >= since) {
                link = &kept->next;
                continue;
            }
            *link = kept->next;
            typesetter->texts--;
            typesetter->bytes -= mask_size(&kept->mask);
            free(kept->mask.cover);
            free(kept);
        }
}

void view_typesetter_forget(struct view_typesetter *typesetter)
{
    drop_older(typesetter, UINT64_MAX);
}

void view_typesetter_close(struct view_typesetter *typesetter)
{
    if (typesetter)
        view_typesetter_forget(typesetter);
    free(typesetter);
}

static void keep_bounds(struct view_typesetter *typesetter)
{
    if (typesetter->texts < KEPT_TEXTS && typesetter->bytes < KEPT_BYTES)
        return;
    drop_older(typesetter, typesetter->now > KEPT_TEXTS / 2 ? typesetter->now - KEPT_TEXTS / 2 : 0);
    if (typesetter->texts >= KEPT_TEXTS || typesetter->bytes >= KEPT_BYTES)
        view_typesetter_forget(typesetter);
}

/* ---- setting: a text is cut into runs, each of which one face can draw ----------------------- */

/* Who draws a code point: the style asked for, the plain or bold sans in place of a mono that lacks
 * it, or the built-in face (VIEW_STYLES). */
static int drawer_of(const struct view_typesetter *typesetter, enum view_style style, float size,
                     uint32_t code)
{
    const struct view_font_source *source = &typesetter->source;
    if (!source->has)
        return VIEW_STYLES;
    if (source->has(source->context, style, size, code))
        return (int)style;
    enum view_style sans = style == VIEW_BOLD || style == VIEW_MONO_BOLD ? VIEW_BOLD : VIEW_SANS;
    if (sans != style && source->has(source->context, sans, size, code))
        return (int)sans;
    return VIEW_STYLES;
}

/* Puts a run's mask, moved right by x, into the text's, where the larger coverage counts. */
static void add_mask(struct view_mask *whole, const struct view_mask *part, int x)
{
    for (int row = 0; row < part->height; row++)
        for (int column = 0; column < part->width; column++) {
            int wx = x + part->left + column - whole->left, wy = part->top + row - whole->top;
            if (wx < 0 || wy < 0 || wx >= whole->width || wy >= whole->height)
                continue;
            uint8_t cover = part->cover[(size_t)row * (size_t)part->width + (size_t)column];
            uint8_t *to = &whole->cover[(size_t)wy * (size_t)whole->width + (size_t)wx];
            *to = cover > *to ? cover : *to;
        }
}

/* A copy that ends with 0 and in which broken bytes are replacement signs. */
static char *clean_copy(const char *text, size_t n)
{
    static const char sign[] = {'\xef', '\xbf', '\xbd'};
    char *copy = malloc(3 * n + 1);
    size_t end = 0;
    for (size_t at = 0, taken; copy && at < n; at += taken) {
        bool broken = view_utf8_next(text + at, n - at, &taken) == 0xfffd && taken == 1;
        memcpy(copy + end, broken ? sign : text + at, broken ? sizeof sign : taken);
        end += broken ? sizeof sign : taken;
    }
    if (copy)
        copy[end] = '\0';
    return copy;
}

/* The run text[0 .. n) by the source's style `drawer`. Its width, below 0 where that failed. */
static float set_by_source(struct view_typesetter *typesetter, int drawer, const struct kept *kept,
                           const char *text, size_t n, float x, struct view_mask *mask)
{
    const struct view_font_source *source = &typesetter->source;
    struct view_mask part = {0};
    char *copy = clean_copy(text, n);
    if (!copy)
        return -1;
    float width = source->set(source->context, (enum view_style)drawer, kept->size, copy,
                              mask ? &part : NULL);
    if (mask && part.cover)
        add_mask(mask, &part, (int)roundf(x));
    free(part.cover);
    free(copy);
    return width;
}

static float set_by_strokes(const struct kept *kept, const char *text, size_t n, float x,
                            struct view_mask *mask)
{
    float from = x;
    for (size_t at = 0, taken; at < n; at += taken) {
        const struct view_glyph *glyph = view_glyph_find(view_utf8_next(text + at, n - at, &taken));
        if (mask)
            view_strokes_draw(mask, glyph, kept->style, kept->size, x);
        x += view_glyph_advance(glyph, kept->style) * kept->size / VIEW_EM;
    }
    return x - from;
}

/* The whole text, run by run; the mask (may be NULL) is large enough. */
static float set_runs(struct view_typesetter *typesetter, const struct kept *kept,
                      struct view_mask *mask)
{
    float x = 0;
    for (size_t from = 0, to; from < kept->n; from = to) {
        size_t taken;
        uint32_t code = view_utf8_next(kept->text + from, kept->n - from, &taken);
        int drawer = drawer_of(typesetter, kept->style, kept->size, code);
        for (to = from + taken; to < kept->n; to += taken) {
            code = view_utf8_next(kept->text + to, kept->n - to, &taken);
            if (drawer_of(typesetter, kept->style, kept->size, code) != drawer)
                break;
        }
        float width = -1;
        if (drawer != VIEW_STYLES)
            width = set_by_source(typesetter, drawer, kept, kept->text + from, to - from, x, mask);
        if (width < 0)
            width = set_by_strokes(kept, kept->text + from, to - from, x, mask);
        x += width;
    }
    return x;
}

/* ---- keeping --------------------------------------------------------------------------------- */

static uint32_t hash_of(enum view_style style, float size, const char *text, size_t n)
{
    uint32_t hash = 2166136261u ^ (uint32_t)style ^ (uint32_t)(size * 64) << 3;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash ^ hash >> 15;
}

/* The text's entry with its width; NULL without memory. */
static struct kept *find(struct view_typesetter *typesetter, enum view_style style, float size,
                         const char *text, size_t n)
{
    uint32_t hash = hash_of(style, size, text, n);
    struct kept **bucket = &typesetter->buckets[hash % BUCKETS];
    typesetter->now++;
    for (struct kept *kept = *bucket; kept; kept = kept->next)
        if (kept->hash == hash && kept->style == style && kept->size == size && kept->n == n &&
            memcmp(kept->text, text, n) == 0) {
            kept->used = typesetter->now;
            return kept;
        }
    keep_bounds(typesetter);
    struct kept *kept = calloc(1, sizeof *kept + n + 1);
    if (!kept)
        return NULL;
    kept->hash = hash;
    kept->style = style;
    kept->size = size;
    kept->n = n;
    kept->used = typesetter->now;
    memcpy(kept->text, text, n);
    kept->width = set_runs(typesetter, kept, NULL);
    kept->next = *bucket;
    *bucket = kept;
    typesetter->texts++;
    return kept;
}

float view_typesetter_width(struct view_typesetter *typesetter, enum view_style style, float size,
                            const char *text, size_t n)
{
    /* The built-in face alone is quicker to sum than to look up. */
    if (!typesetter->source.has)
        return view_builtin_face.width(NULL, style, size, text, n);
    struct kept *kept = find(typesetter, style, size, text, n);
    return kept ? kept->width : view_builtin_face.width(NULL, style, size, text, n);
}

/* Leaves out the empty rows and columns round a text. */
static void trim(struct view_mask *mask)
{
    int x0 = mask->width, y0 = mask->height, x1 = 0, y1 = 0;
    for (int y = 0; y < mask->height; y++)
        for (int x = 0; x < mask->width; x++)
            if (mask->cover[(size_t)y * (size_t)mask->width + (size_t)x]) {
                x0 = x < x0 ? x : x0;
                x1 = x >= x1 ? x + 1 : x1;
                y0 = y < y0 ? y : y0;
                y1 = y + 1;
            }
    if (x0 >= x1)
        x0 = y0 = x1 = y1 = 0;
    for (int y = y0; y < y1; y++)
        memmove(mask->cover + (size_t)(y - y0) * (size_t)(x1 - x0),
                mask->cover + (size_t)y * (size_t)mask->width + x0, (size_t)(x1 - x0));
    mask->left += x0;
    mask->top += y0;
    mask->width = x1 - x0;
    mask->height = y1 - y0;
}

/* Letters may reach out of their advance to each side, and above and below the usual heights. */
static bool draw(struct view_typesetter *typesetter, struct kept *kept)
{
    struct view_mask mask = {0};
    int side = (int)ceilf(0.3f * kept->size) + 1;
    mask.left = -side;
    mask.top = -(int)ceilf(1.15f * kept->size);
    mask.width = (int)ceilf(fminf(kept->width, 1e5f)) + 2 * side;
    mask.height = -mask.top + (int)ceilf(0.4f * kept->size);
    mask.cover = calloc(mask_size(&mask), 1);
    if (!mask.cover)
        return false;
    set_runs(typesetter, kept, &mask);
    trim(&mask);
    uint8_t *smaller = realloc(mask.cover, mask_size(&mask) + 1);
    mask.cover = smaller ? smaller : mask.cover;
    kept->mask = mask;
    kept->drawn = true;
    typesetter->bytes += mask_size(&mask);
    return true;
}

const struct view_mask *view_typesetter_mask(struct view_typesetter *typesetter,
                                             enum view_style style, float size, const char *text)
{
    size_t n = strlen(text);
    struct kept *kept = n ? find(typesetter, style, size, text, n) : NULL;
    if (!kept || (!kept->drawn && !draw(typesetter, kept)))
        return NULL;
    return &kept->mask;
}
