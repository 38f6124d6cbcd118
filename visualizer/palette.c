#include "visualizer/palette.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Distinct colours that are told apart; with more, their low bits are dropped. */
enum { COLOURS_MOST = 1 << 15, SLOTS = 1 << 16, FREQUENT = 160 };
static const uint32_t coarse_bits = 0xf8f8f8, coarse_middle = 0x040404;

struct colour {
    uint32_t colour;
    uint64_t count;
    int64_t error; /* squared distance to the nearest chosen one */
    int nearest;   /* its index */
};

struct view_palette {
    struct colour colours[COLOURS_MOST];
    int slots[SLOTS]; /* index of a colour + 1; 0: empty */
    int n;
    bool coarse;
    uint32_t chosen[VIEW_PALETTE_SIZE];
    int size;
};

struct view_palette *view_palette_open(void)
{
    struct view_palette *palette = malloc(sizeof *palette);
    if (palette)
        view_palette_clear(palette);
    return palette;
}

void view_palette_close(struct view_palette *palette)
{
    free(palette);
}

void view_palette_clear(struct view_palette *palette)
{
    memset(palette->slots, 0, sizeof palette->slots);
    palette->n = 0;
    palette->coarse = false;
    palette->size = 1;
}

/* The slot of a colour, or the empty one where it belongs. */
static int slot_of(const struct view_palette *palette, uint32_t colour)
{
    uint32_t slot = colour * 2654435761u >> 16;
    while (palette->slots[slot] && palette->colours[palette->slots[slot] - 1].colour != colour)
        slot = (slot + 1) % SLOTS;
    return (int)slot;
}

static void add(struct view_palette *palette, uint32_t colour, uint64_t count)
{
    int slot = slot_of(palette, colour);
    if (!palette->slots[slot]) {
        palette->colours[palette->n++] = (struct colour){.colour = colour};
        palette->slots[slot] = palette->n;
    }
    palette->colours[palette->slots[slot] - 1].count += count;
}

/* Counts again what was counted, by its high bits: 32,768 colours are left at most. In place, since
 * each colour is read before its place can be taken. */
static void become_coarse(struct view_palette *palette)
{
    int n = palette->n;
    memset(palette->slots, 0, sizeof palette->slots);
    palette->n = 0;
    palette->coarse = true;
    for (int i = 0; i < n; i++)
        add(palette, palette->colours[i].colour & coarse_bits, palette->colours[i].count);
}

void view_palette_count(struct view_palette *palette, uint32_t colour)
{
    if (!palette->coarse && palette->n == COLOURS_MOST && !palette->slots[slot_of(palette, colour)])
        become_coarse(palette);
    add(palette, palette->coarse ? colour & coarse_bits : colour, 1);
}

static int by_count(const void *a, const void *b)
{
    const struct colour *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->colour > y->colour) - (x->colour < y->colour);
}

static int64_t distance(uint32_t a, uint32_t b)
{
    int64_t r = (int64_t)(a >> 16 & 255) - (int64_t)(b >> 16 & 255);
    int64_t g = (int64_t)(a >> 8 & 255) - (int64_t)(b >> 8 & 255);
    int64_t blue = (int64_t)(a & 255) - (int64_t)(b & 255);
    return 2 * r * r + 4 * g * g + 3 * blue * blue; /* roughly as the eye weighs them */
}

static void choose(struct view_palette *palette, int which)
{
    int index = palette->size++;
    uint32_t colour = palette->colours[which].colour;
    palette->chosen[index] = colour;
    for (int i = 0; i < palette->n; i++) {
        struct colour *other = &palette->colours[i];
        int64_t error = distance(colour, other->colour);
        if (error < other->error) {
            other->error = error;
            other->nearest = index;
        }
    }
}

/* The colour that all of its pixels together are worst off without. */
static int worst(const struct view_palette *palette)
{
    int found = 0;
    double most = -1;
    for (int i = 0; i < palette->n; i++) {
        double loss = (double)palette->colours[i].error * (double)palette->colours[i].count;
        if (loss > most) {
            most = loss;
            found = i;
        }
    }
    return found;
}

void view_palette_choose(struct view_palette *palette)
{
    int n = palette->n, exact = n < VIEW_PALETTE_SIZE ? n : FREQUENT;
    qsort(palette->colours, (size_t)n, sizeof *palette->colours, by_count);
    memset(palette->slots, 0, sizeof palette->slots);
    for (int i = 0; i < n; i++) {
        palette->colours[i].error = INT64_MAX;
        palette->slots[slot_of(palette, palette->colours[i].colour)] = i + 1;
    }
    palette->size = 1;
    for (int i = 0; i < exact; i++)
        choose(palette, i);
    while (n >= VIEW_PALETTE_SIZE && palette->size < VIEW_PALETTE_SIZE)
        choose(palette, worst(palette));
}

int view_palette_size(const struct view_palette *palette)
{
    return palette->size;
}

uint32_t view_palette_colour(const struct view_palette *palette, int index)
{
    if (index < 1 || index >= palette->size)
        return 0;
    return palette->coarse ? palette->chosen[index] | coarse_middle : palette->chosen[index];
}

uint8_t view_palette_find(const struct view_palette *palette, uint32_t colour)
{
    int slot = slot_of(palette, palette->coarse ? colour & coarse_bits : colour);
    return palette->slots[slot] ? (uint8_t)palette->colours[palette->slots[slot] - 1].nearest
                                : VIEW_PALETTE_NONE;
}
