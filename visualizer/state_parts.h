/*
 * The inside of struct view_state, for the files that make it: state.c (what it owns, time),
 * state_runs.c (runs and their options), state_actions.c (what an action does), state_keys.c and
 * state_pointer.c (what an input does).
 */
#ifndef VIEW_STATE_PARTS_H
#define VIEW_STATE_PARTS_H

#include "visualizer/clock.h"
#include "visualizer/plot_points.h"
#include "visualizer/state.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VIEW_EDIT_TEXT = 64, VIEW_FADE_MILLISECONDS = 120 };

struct view_player; /* player_parts.h */

struct view_state {
    struct view_host host;
    struct view_frame frame;
    struct view_draw draw;
    bool dirty; /* the list is older than the frame */
    bool quits;

    uint64_t step_target; /* a step is on its way to there; UINT64_MAX: none */
    double fade_left;     /* milliseconds of the crossfade after a step back */
    double note_left;     /* milliseconds until the note goes */

    const char *pressed; /* a copy of the label held down, in pressed_text */
    char pressed_text[160];
    enum view_action held; /* VIEW_SCRUB, VIEW_BLOCK ... while the pointer is down on it */
    bool shift_held;       /* scrubs on events */
    uint8_t paint;         /* what the mask editor paints while held */
    float grip_x, grip_y;  /* of dragged tiles: where their corner is, from the pointer */
    bool cell_cursor;      /* arrows move the cell */

    char edit[VIEW_EDIT_TEXT];
    char title[128];
    uint8_t *blocks; /* the mask editor's, Tr x Tc; NULL: none painted */

    struct view_plot plot;
    bool plot_on; /* it belongs to the run on screen */

    bool (*pump)(void *context);
    void *pump_context;
    double pump_time; /* milliseconds since the last call */
    bool cancelled;

    struct view_player *player; /* NULL: without lessons */
    double haste;               /* playing to a place goes so many times as fast */
    struct view_box scale;      /* of the slider that is held */
};

/* state_runs.c */
struct fa_watch view_state_watch(struct view_state *state); /* of a run that begins now */
/* the old one stays */
void view_state_run_failed(struct view_state *state, const struct fa_error *error);
void view_state_note(struct view_state *state, const char *text);
void view_state_rerun(struct view_state *state);        /* with frame.options as they are now */
void view_state_reset_view(struct view_state *state);   /* after another run came */
void view_state_choose(struct view_state *state, int chip, const char *value);
void view_state_try_tiles(struct view_state *state, int64_t br, int64_t bc); /* counted, not run */
void view_state_take_tiles(struct view_state *state); /* those that were tried are run */
void view_state_remedy(struct view_state *state, enum view_remedy remedy);
bool view_state_plot_wanted(const struct view_state *state);
void view_state_plot_step(struct view_state *state);

/* state.c */
/* Puts run `which` there, the other along; not past what a prediction covers. */
void view_state_place(struct view_state *state, int which, struct view_position at);
const struct view_run *view_state_leader(const struct view_state *state, int *which);
void view_state_follow(struct view_state *state, int leader); /* the other run keeps together */

/* state_keys.c, state_pointer.c */
bool view_state_key(struct view_state *state, const struct view_input *input);
bool view_state_pointer(struct view_state *state, const struct view_input *input);
void view_state_open_field(struct view_state *state, int chip); /* -1: go to */
void view_state_close_all(struct view_state *state);

#ifdef __cplusplus
}
#endif
#endif
