/*
 * At most 255 colours for a picture: exact where it has no more, else its most frequent ones and
 * those that the rest would miss most. The same pixels give the same palette.
 */
#ifndef VIEW_PALETTE_H
#define VIEW_PALETTE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { VIEW_PALETTE_NONE = 0, VIEW_PALETTE_SIZE = 256 }; /* index 0 is no colour: "as before" */

struct view_palette;

struct view_palette *view_palette_open(void); /* NULL: no memory */
void view_palette_close(struct view_palette *palette);
void view_palette_clear(struct view_palette *palette);

/* One pixel of this colour, 0x00rrggbb. */
void view_palette_count(struct view_palette *palette, uint32_t colour);

/* Chooses the colours among those counted. */
void view_palette_choose(struct view_palette *palette);

/* How many indices are in use, with index 0; the colour of one; the index of a colour that was
 * counted. */
int view_palette_size(const struct view_palette *palette);
uint32_t view_palette_colour(const struct view_palette *palette, int index);
uint8_t view_palette_find(const struct view_palette *palette, uint32_t colour);

#ifdef __cplusplus
}
#endif
#endif
