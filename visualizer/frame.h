/*
 * All that a frame depends on: the runs, the positions in them, and the options of looking. The
 * same struct view_frame gives the same draw list, to the last number.
 */
#ifndef VIEW_FRAME_H
#define VIEW_FRAME_H

#include "visualizer/draw.h"
#include "visualizer/run.h"

#ifdef __cplusplus
extern "C" {
#endif

struct view_position {
    uint64_t landed; /* 0 .. the run's length */
    float flight;    /* of event `landed`, 0 to below 1; 0 at the end */
};

/* Reads a place as people write it: "46" (event 46 has landed), "46.5" (half way into the next),
 * "1,2" (after tile (1,2) was accumulated, head 0), "start", "end". FA_BAD_ARGUMENT, which says
 * what there is. */
enum fa_status view_position_parse(const struct view_run *run, const char *text,
                                   struct view_position *at, struct fa_error *error);

enum view_stage {
    VIEW_STAGE_CROSS,
    VIEW_STAGE_ROW,    /* one row of scores, its weights, m, l and O */
    VIEW_STAGE_SCALE,  /* SRAM, the matrices and S at one scale */
    VIEW_STAGE_PLOT,   /* counted traffic over a parameter, beside the bounds */
    VIEW_STAGE_MASK,   /* the block mask, to paint */
    VIEW_STAGE_BITS,   /* dropout's keep bits */
    VIEW_STAGE_WAVES,  /* thread blocks over the SMs */
    VIEW_STAGE_ERRORS, /* error by tile */
    VIEW_STAGE_TILES,  /* Br and Bc against the capacity, to drag */
    VIEW_STAGES
};

struct view_frame;

enum view_panel {
    VIEW_PANEL_CODE, VIEW_PANEL_TRAFFIC, VIEW_PANEL_PLOT, VIEW_PANEL_CHECK,
    VIEW_PANEL_LESSON, /* the first tab while a lesson is open, else not there */
    VIEW_PANELS
};

/* The panel whose tab is at a place of the row, from 0; -1 past the last. VIEW_PANEL_LESSON is at 0
 * while a lesson is open. */
int view_panel_at(const struct view_frame *frame, int place);

/* The panel that is drawn second where there is room for two: never the first once more. */
enum view_panel view_second_panel(const struct view_frame *frame);

enum { VIEW_SECOND_PANEL = 16 }; /* added to the value of VIEW_PANEL by the second panel's tabs */

extern const char *const view_stage_names[VIEW_STAGES]; /* "Cross", "One row", ... */
extern const char *const view_panel_names[VIEW_PANELS]; /* "Code", ... */

enum view_clock_kind { VIEW_SAME_WORK, VIEW_SAME_TILE, VIEW_SAME_TRAFFIC, VIEW_CLOCKS };

enum view_speed { VIEW_AUTO, VIEW_QUARTER, VIEW_HALF, VIEW_ONE, VIEW_TWO, VIEW_FOUR, VIEW_SIXTEEN,
                  VIEW_SIXTY_FOUR, VIEW_SPEEDS };

enum view_step_by { VIEW_BY_EVENT, VIEW_BY_TILE, VIEW_BY_ROW, VIEW_BY_PHASE, VIEW_BYS };

/* An option of the run, as a chip in the top bar shows it and the command line says it. */
struct view_option {
    char name[24];  /* "n", without dashes */
    char value[64]; /* "16"; "" for a flag that is off, "yes" for one that is on */
    char label[80]; /* on the chip: "N 16", "tiles 4 x 4", "causal" */
    const char *const *choices; /* ended by NULL; NULL: typed */
    bool editable;
};

enum { VIEW_MOST_OPTIONS = 16 };

/* A cell that the pointer or the cell cursor is on. */
struct view_cell {
    bool on;
    int which; /* run 0 or 1 */
    bool chip; /* on chip, else in HBM */
    enum fa_tensor_id id;
    int64_t row, column; /* in the matrix in HBM; of what exists on chip alone: in S's */
};

int64_t view_cell_pack(struct view_cell cell); /* for a hit's value; rows and columns below 2^24 */
struct view_cell view_cell_unpack(int64_t value);

enum view_remedy { VIEW_REMEDY_NONE, VIEW_REMEDY_TILES, VIEW_REMEDY_RUN_AGAIN, VIEW_REMEDY_FIRST };

/* What stands in place of the stage when there is nothing to show, or in the sentence's place. */
struct view_message {
    char title[64];   /* "" : none */
    char text[1024];  /* what, why, what to do */
    char button[48];  /* "" : none */
    enum view_remedy remedy;
};

/* Tiles that are dragged on the stage of tiles: counted as they go by, and run when they are let
 * go. */
enum view_tried { VIEW_TRIED_COUNTED, VIEW_TRIED_REFUSED, VIEW_TRIED_LARGE, VIEW_TRIED_FAILED };

struct view_tiles_tried {
    int64_t br, bc; /* 0: none are dragged */
    enum view_tried outcome;
    struct sim_volume moved; /* if counted: read and written, all heads */
    int64_t best_br, best_bc; /* which moved least of all dragged over, of this run's problem; 0: none */
    struct sim_volume best;
};

/* An L2 between HBM and SRAM: what a lesson's step counted of a run of its own, and what the model
 * of L2 (simulator/l2.h) makes of it. Bytes over the whole run and all its heads. */
struct view_l2 {
    uint64_t capacity;              /* 0: no L2 is drawn */
    uint64_t read, write;           /* between L2 and the SMs: counted */
    uint64_t dram_read, dram_write; /* between L2 and HBM: by the model */
    int64_t heads;                  /* over the batch */
    char machine[48];
};

struct view_lesson;

struct view_frame {
    struct view_run *run[2];  /* [1]: compare, or NULL. [0] NULL: message alone */
    struct view_position at[2];
    float width, height;      /* logical pixels */
    const struct view_theme *theme;
    bool reduced_motion;
    float rate;               /* events a second at this speed, which decides what flies; 0 while stepping */

    enum view_stage stage;
    enum view_panel panel, second_panel; /* the second where there is room for two */
    bool panel_open, chrome_open; /* F11 hides bar and panel */
    enum view_clock_kind clock;
    double work, work_in_all; /* on the common clock, compare alone: its unit is the clock's */
    bool playing;
    enum view_speed speed;
    enum view_step_by step_by;
    bool bytes;               /* units: bytes, else elements */
    bool all_heads;           /* numbers of all heads, else of one */
    bool c_code;              /* Code: our C, else the paper's steps */
    bool covered;             /* a prediction is open: what answers it is covered */
    bool in_turn;             /* keep bits as a generator would deal them out: turns.c */
    struct view_l2 l2;        /* of one run alone: of two there is no room */

    double zoom;              /* of HBM's cross: 1 fits */
    float zoom_x, zoom_y;     /* the point of the cross in the middle of HBM, 0..1 */
    uint64_t track_first, track_end; /* events that the track shows; 0, 0: all */
    uint64_t mark_a, mark_b;  /* the loop; UINT64_MAX: not set */

    float pointer_x, pointer_y; /* below 0: none */
    struct view_cell cell;    /* its card is shown */
    int focus;                /* index of the hit that has Tab's focus, among those with a label; -1: none */
    const char *pressed;      /* label of the hit that is held down, or NULL */

    struct view_option options[VIEW_MOST_OPTIONS], second_options[VIEW_MOST_OPTIONS];
    int n_options, n_second;
    const char *title;        /* of the view: "Explore" */
    int open_chip;            /* index of the option being edited; -1: none */
    const char *edit_text;    /* what was typed so far in the open field (chip or go to) */
    bool help_open, speed_open, stages_open, go_open;
    float scroll;             /* of the panel, logical pixels */

    bool old;                 /* the run on screen is of earlier options: a new one is being made */
    double progress;          /* of the new one, 0..1; below 0: none */
    struct view_message message; /* in place of the stage */
    char note[160];           /* in place of the sentence for a while: "Saved s.png ..." */
    const struct view_plot *plot; /* counted points of the Plot panel and stage: plot_points.h; NULL: none yet */
    struct view_tiles_tried tiles;
    const uint8_t *blocks;    /* the mask editor's Tr x Tc, NULL: all are visited */
    const struct view_lesson *lesson; /* what is read, the contents page, the race: lesson_view.h; NULL: none of them */
};

/* What scene functions share about one run in the frame: made once a frame. */
struct view_moment {
    struct view_run *run;
    int which;
    struct view_position at;
    const struct sim_event *last; /* the event that landed last, NULL at the start */
    const struct sim_event *next; /* the one in flight, NULL if flight is 0 */
    struct sim_state state;       /* after `landed` events */
    int64_t head, i, j;           /* where the algorithm stands (of `next`, else `last`); -1: none */
    const struct view_values *values; /* NULL: none */
    double most[FA_TENSORS];
};

void view_moment_make(const struct view_frame *frame, int which, struct view_moment *moment);

#ifdef __cplusplus
}
#endif
#endif
