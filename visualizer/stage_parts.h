/*
 * What the stages beside the cross have in common: the plate that they fill, sentences in place of
 * a picture, a grid of tiles.
 */
#ifndef VIEW_STAGE_PARTS_H
#define VIEW_STAGE_PARTS_H

#include "visualizer/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VIEW_STAGE_MARGIN = 12, VIEW_STAGE_TITLE = 28 };

/* Draws `one` for each run in its plate: of one run the whole stage, of two a row for each,
 * below its heading. Nothing where the stage has no place. */
void view_stage_each(struct view_draw *draw, const struct view_scene *scene,
                     void (*one)(struct view_draw *draw, const struct view_scene *scene, int which,
                                 struct view_box plate));

/* Where run `which` has its plate: HBM, lanes and SRAM of the cross together. */
struct view_box view_stage_plate(const struct view_scene *scene, int which);

/*
 * The plate with its title line, in which `title` is bold, `note` beside it if there is room, and
 * `right` (NULL: none) bold at the right end if there is. Returns what is left inside the margins.
 */
struct view_box view_stage_open(struct view_draw *draw, struct view_box plate, const char *title,
                                const char *note, const char *right);

/* Why there is nothing to show and what to do, in the middle of the box. */
void view_stage_says(struct view_draw *draw, struct view_box box, const char *text);

/* One line at the box's top in the largest of the sizes 16, 14, 12 and 11 whose width fits,
 * bold; in two or more lines of 12 where none does. Cuts what it took off the box. */
void view_stage_headline(struct view_draw *draw, struct view_box *box, const char *text);

/* Lines of 12 in text2 off the box's top, only if they fit as a whole. */
bool view_stage_lines(struct view_draw *draw, struct view_box *box, const char *text);

/* A swatch and its words at *x, which moves on; false, and nothing drawn, if it would pass
 * `right`. `draw_swatch` fills 12 x 12. */
bool view_stage_legend(struct view_draw *draw, float *x, float y, float right,
                       void (*swatch)(struct view_draw *draw, struct view_box box),
                       const char *words);

/* Thread blocks of the run's first kernel, and the SMs of its machine; false where they are not
 * known. stage_waves.c. */
bool view_run_blocks(const struct view_run *run, uint64_t *blocks, uint64_t *sms);

/*
 * rows x columns tiles in a box: a cell each, or `each` x `each` of them a cell where they would be
 * smaller than VIEW_STAGE_LEAST. Cells are whole pixels, up to VIEW_STAGE_MOST.
 */
enum { VIEW_STAGE_LEAST = 3, VIEW_STAGE_MOST = 112 };

struct view_stage_grid {
    struct view_box box;
    int64_t rows, columns, each;
    int drawn_rows, drawn_columns;
    float width, height; /* of a cell */
};

/* False: not even one cell of one pixel has room. The grid lies at the box's top, in the middle
 * of its width. */
bool view_stage_grid_make(struct view_box room, int64_t rows, int64_t columns,
                          struct view_stage_grid *grid);
struct view_box view_stage_grid_cell(const struct view_stage_grid *grid, int64_t row,
                                     int64_t column);
/* Lines of the background between the cells, where they are large enough. */
void view_stage_grid_lines(struct view_draw *draw, const struct view_stage_grid *grid);

/* "0", "4", "8" ... beside the rows and above the columns, in gutters that the caller left:
 * VIEW_STAGE_GUTTER left, VIEW_STAGE_LABELS above. */
enum { VIEW_STAGE_GUTTER = 36, VIEW_STAGE_LABELS = 18 };
void view_stage_grid_labels(struct view_draw *draw, const struct view_stage_grid *grid);

#ifdef __cplusplus
}
#endif
#endif
