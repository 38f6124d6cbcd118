/*
 * Private to the cross: where each matrix lies in HBM and on the bench, and what all of its files
 * share.
 *
 * Queries run down, keys run across. K, V and their gradients lie on their side, so that their
 * rows, which are keys, run across too.
 */
#ifndef VIEW_CROSS_H
#define VIEW_CROSS_H

#include "visualizer/scene.h"

struct view_matrix {
    bool on;
    bool sideways;  /* its rows run across */
    bool ghost;     /* not in HBM: S of the flash algorithms */
    bool stretched; /* not to scale: as drawn it is thicker, or thinner, than its numbers */
    struct view_box box;
    int64_t rows, columns;           /* of the tensor, or of the tile that the slot is for */
    int64_t tile_rows, tile_columns; /* in HBM alone */
};

enum { VIEW_MOST_SQUARES = 8, VIEW_LABEL_HEIGHT = 16 };

/* HBM. Boxes are whole matrices after the zoom; `area` is what is seen of them. */
struct view_cross {
    struct view_box area;
    bool titled, labelled; /* there is room for that */
    double cell;           /* logical pixels a number, before the zoom */
    double zoom;
    struct view_matrix matrix[FA_TENSORS];
    enum fa_tensor_id square[VIEW_MOST_SQUARES]; /* the score matrices there are */
    int n_squares;
    int shown;            /* of the one that is seen where all share a place: else -1 */
    struct view_box sram; /* all of SRAM at this scale; w 0: it has no place */
    struct view_box sram_words;
};

/* The margin inside a memory at its left and right. */
float view_cross_pad(const struct view_scene *scene);

void view_cross_hbm(const struct view_scene *scene, int which, struct view_cross *cross);

/* The part of the matrix from (row, column) over rows x columns of its numbers; edges on whole
 * pixels. */
struct view_box view_matrix_part(const struct view_matrix *matrix, int64_t row, int64_t column,
                                 int64_t rows, int64_t columns);
struct view_box view_matrix_tile(const struct view_matrix *matrix, int64_t row, int64_t column);

/* Tiles down the tensor's rows and along its columns. */
int64_t view_matrix_tile_rows(const struct view_matrix *matrix);
int64_t view_matrix_tile_columns(const struct view_matrix *matrix);

/* Tiles a drawn square stands for along the matrix's longer side: 1 unless they are too small to
 * see. */
int64_t view_matrix_tiles_a_square(const struct view_matrix *matrix);

/* The matrix's number under a point of its box. */
bool view_matrix_at(const struct view_matrix *matrix, float x, float y, int64_t *row,
                    int64_t *column);

/* Where SRAM's parts are: w or h 0 where there is no room. */
struct view_sram_places {
    struct view_box title, bench, bar, checks;
};

void view_sram_places(const struct view_scene *scene, int which, struct view_sram_places *places);

/* The bench. A slot's rows x columns are those of its tile on chip, else those that it is for. */
struct view_bench {
    struct view_box area;
    bool labelled;
    bool beside; /* names of the middle column stand left of it, where many rows leave no room */
    float gap;
    double
        cell; /* logical pixels a number of a slot with square cells, at least the narrower side */
    struct view_matrix slot[FA_TENSORS];
};

void view_cross_bench(const struct view_scene *scene, int which, struct view_bench *bench);

/* The slot in which the tensor's tile lies: S for P, M for LSE, dP for dS; where it has none of
 * its own. FA_TENSORS: none in this run. */
enum fa_tensor_id view_slot_of(const struct view_run *run, enum fa_tensor_id id);

/* What is in that slot now, NULL: nothing is reserved there. Its `holds` names the cells. */
const struct sim_resident *view_slot_resident(const struct view_moment *moment,
                                              enum fa_tensor_id slot);

/* The numbers that the resident holds: 0 x 0 if none were put there. */
struct view_hold {
    enum fa_tensor_id id; /* under which name */
    int64_t head, i, j;   /* its query and key tile, -1: none, or not known */
    int64_t row, column;  /* of its first number in the matrix */
    int64_t rows, columns;
    uint64_t written; /* index of the event that last wrote it; UINT64_MAX: none near */
    enum fa_op op;    /* of that event, if it was a compute; FA_OP_COUNT: a load */
    bool spent;       /* a score tile whose work is done: dropped as soon as the next comes */
};
bool view_slot_hold(const struct view_moment *moment, enum fa_tensor_id slot,
                    struct view_hold *hold);

/* Whether the algorithm is at a row-wise step: its i counts blocks of rows then, and its j
 * chunks. */
bool view_at_rows(const struct view_moment *moment);

/* Whether O on chip is still to be divided by ℓ: flash2 does so once, at the end. */
bool view_undivided(const struct view_moment *moment, const struct view_hold *o);

/* Lanes between the memories: the boxes that carry the chevrons. */
struct view_lane_places {
    struct view_box read, write; /* h 0: no room */
    float top[2];                /* of each group: its name */
    bool unit, landed;           /* room for the unit below, for "+512 B" above */
};
void view_lane_places(const struct view_scene *scene, int which, struct view_lane_places *places);

/* What draws one matrix in HBM. */
struct view_painter {
    struct view_draw *draw;
    const struct view_scene *scene;
    const struct view_moment *moment;
    const struct view_cross *cross;
    enum fa_tensor_id id;
    const struct view_matrix *matrix;
};

/* hbm_matrix.c: its tiles in their states, as cells where they are large enough. */
void view_hbm_matrix_paint(const struct view_painter *painter);

/* hbm_ghost.c: the score matrix that is never stored, with bands, marks and its words. */
void view_hbm_ghost_paint(const struct view_painter *painter);
/* Bands of the current query and key tile through a square. */
void view_hbm_bands_paint(const struct view_painter *painter);

/* sram_bench.c */
void view_sram_bench(struct view_draw *draw, const struct view_scene *scene, int which);
/* sram_bar.c */
void view_sram_bar(struct view_draw *draw, const struct view_scene *scene, int which,
                   struct view_box box);
void view_sram_checks(struct view_draw *draw, const struct view_scene *scene, int which,
                      struct view_box box);

/* The capacity as the bar draws it, in bytes: of a lifted one the peak. */
uint64_t view_sram_capacity(const struct view_moment *moment);

/* card_text.c: what is to be said of frame.cell. False: there is no such number in this run. */
enum { VIEW_CARD_LINES = 8, VIEW_CARD_TEXT = 160 };
struct view_card {
    enum fa_tensor_id id; /* under which name it is known now: S becomes P */
    char title[VIEW_CARD_TEXT];
    char line[VIEW_CARD_LINES][VIEW_CARD_TEXT];
    int n;
};
bool view_card_make(const struct view_scene *scene, struct view_card *card);

/* Bytes on chip that an alloc, free or refuse event is about. */
uint64_t view_sram_needed(const struct view_run *run, const struct sim_event *event);

/* A value's colour as in a cell, for many cells: view_shade's steps made once. */
struct view_shades {
    struct view_color step[8], nan, minus_infinity;
    double per_step;
};
void view_shades_make(const struct view_theme *theme, enum fa_tensor_id id, double most,
                      struct view_shades *shades);
struct view_color view_shades_color(const struct view_shades *shades, double value);

/* "16 × 4" with the real sign; into text. */
enum { VIEW_SIZES_TEXT = 64 };
const char *view_sizes_text(int64_t rows, int64_t columns, char text[VIEW_SIZES_TEXT]);

#endif
