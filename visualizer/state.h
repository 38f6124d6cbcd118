/*
 * The window's state without a window: what is on screen, what plays, what a key or a click does.
 * Knows no SDL: events come in as struct view_input, time as milliseconds, frames go out as struct
 * view_frame.
 */
#ifndef VIEW_STATE_H
#define VIEW_STATE_H

#include "visualizer/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

enum view_key {
    VIEW_KEY_TEXT, /* a typed character: `text` */
    VIEW_KEY_SPACE, VIEW_KEY_LEFT, VIEW_KEY_RIGHT, VIEW_KEY_UP, VIEW_KEY_DOWN, VIEW_KEY_PAGE_UP,
    VIEW_KEY_PAGE_DOWN, VIEW_KEY_HOME, VIEW_KEY_END, VIEW_KEY_ENTER, VIEW_KEY_ESCAPE, VIEW_KEY_TAB,
    VIEW_KEY_BACKSPACE, VIEW_KEY_F11
};

enum view_input_kind {
    VIEW_INPUT_KEY, VIEW_INPUT_MOVE, VIEW_INPUT_PRESS, VIEW_INPUT_RELEASE, VIEW_INPUT_WHEEL,
    VIEW_INPUT_LEAVE, VIEW_INPUT_RESIZE, VIEW_INPUT_DROP, VIEW_INPUT_QUIT
};

struct view_input {
    enum view_input_kind kind;
    enum view_key key;
    bool shift, ctrl;
    char text[8];       /* UTF-8 of a typed character */
    float x, y;         /* logical pixels; of a resize the new size */
    float wheel;        /* steps, up is positive */
    const char *path;   /* of a drop */
};

/* What the state asks of whoever owns it: files, runs and windows are theirs. */
struct view_host {
    /* Run `which` (1: what it is compared with) of options, those of the first run's chips as they
     * were changed; FA_CANCELLED on Esc. `options` comes back in normal form, as that run's chips:
     * new labels, values that follow from others. */
    enum fa_status (*open_run)(void *context, int which, struct view_option *options, int *n_options,
                               const uint8_t *blocks, const struct fa_watch *watch,
                               struct view_run **run, struct fa_error *error);
    enum fa_status (*save_picture)(void *context, const struct view_frame *frame, char note[160],
                                   struct fa_error *error);
    /* An animation of the events [from, to) as this frame looks at them. */
    enum fa_status (*save_movie)(void *context, const struct view_frame *frame, uint64_t from,
                                 uint64_t to, char note[160], struct fa_error *error);
    /* A dropped .npy or trace file: options that take it up. */
    enum fa_status (*take_file)(void *context, const char *path, struct view_option *options,
                                int *n_options, struct fa_error *error);
    void *context;
};

struct view_state;

/* width and height: logical pixels. The face measures texts for hits. */
enum fa_status view_state_open(const struct view_host *host, const struct view_face *face,
                               float width, float height, struct view_state **state,
                               struct fa_error *error);
void view_state_close(struct view_state *state);

/* Puts runs on screen, which the state owns from the call on; second NULL: no compare. */
void view_state_show(struct view_state *state, struct view_run *run,
                     const struct view_option *options, int n_options, struct view_run *second,
                     const struct view_option *second_options, int n_second);
/* a message in their place */
void view_state_fail(struct view_state *state, const struct fa_error *error);

/* The window's title: "FlashLab: flash2, event 46 of 155", or the lesson's and its step, or the page.
 * It stays until the next call. */
const char *view_state_title(struct view_state *state);

/* One input. True: the frame changed. */
bool view_state_take(struct view_state *state, const struct view_input *input);

/* Time passes. True: the frame changed (something plays, a note went). */
bool view_state_tick(struct view_state *state, double milliseconds);

/* While a new run is being made, `pump` is called some twenty times a second to show the frame with
 * its progress and to look for Esc: false stops the work and keeps the old run. NULL: nothing is
 * shown. */
void view_state_set_pump(struct view_state *state, bool (*pump)(void *context), void *context);

/* A step back plays nothing: the window fades from the picture before. How much of that is left,
 * 1 to 0. No part of the frame, so pictures know nothing of it. */
double view_state_fade(const struct view_state *state);

/* Nothing plays, no step is on its way, no note is shown: as a picture shows it. */
void view_state_settle(struct view_state *state);

/* Nothing will change without an input: the window may sleep. */
bool view_state_idle(const struct view_state *state);
bool view_state_quits(const struct view_state *state);

/* of run 0; compare follows */
void view_state_seek(struct view_state *state, struct view_position position);
void view_state_do(struct view_state *state, enum view_action action, int64_t value);

/* The frame as it is now, with the options of looking that may be set before the first one. */
struct view_frame *view_state_frame(struct view_state *state);

/* Builds the frame's draw list, which the state keeps to find what a click hits. */
const struct view_draw *view_state_draw(struct view_state *state);

#ifdef __cplusplus
}
#endif
#endif
