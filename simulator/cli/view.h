/*
 * The command `flashlab view`, in parts: its options, and the things that it can make of a run.
 */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include "simulator/cli/view_runs.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lesson_shelf;
struct cli_view_lessons;

/* The executed runs with their chips; run[1] NULL: no compare. A window's state takes them over. */
struct cli_view_scene {
    struct view_run *run[2];
    struct view_option options[2][VIEW_MOST_OPTIONS];
    int n_options[2];
};

struct cli_view {
    struct cli_problem problem; /* for the parser: what runs is read from `runs` */
    const char *trace, *compare, *at, *from, *to, *screenshot, *record;
    int theme, stage, panel, clock, font, crop; /* indices of their words; panel -1: not given */
    int width, height;                          /* pixels; 0: 1280 x 720 */
    double font_scale;
    int64_t fps;
    bool reduced_motion, elements, describe;
    int64_t lesson; /* -1: none */
    int64_t step;   /* from 1; 0: not given */
    int64_t lesson_seed; /* -1: none */
    const char *lessons_folder;
    bool present;
    bool bare;                         /* nothing says what to show: where the learner left off */
    const struct lesson_shelf *shelf;  /* in place of those of the folder; NULL: not */
    struct cli_view_lessons *lessons;  /* view_lessons.h */
    struct cli_view_runs runs;
    struct cli_view_scene scene;
};

/* FA_MISSING_PART where no window can be opened, in one line that says what to do instead. */
enum fa_status cli_view_window_check(struct fa_error *error);
enum fa_status cli_view_window(struct cli_view *view, struct fa_error *error);

/* The options of looking, put into a frame. */
void cli_view_frame_options(const struct cli_view *view, struct view_frame *frame);

/* The chips in one line: "flash2, N 16, d 4, tiles 4 × 4". */
void cli_view_scenario(const struct view_option *options, int n, char *text, size_t size);

/* The command that makes the frame's run again, as it is typed where the program was started: a step
 * of a lesson by its number, other runs by their options, whose files are named from there, or from
 * the lessons' folder where they lie in that. view_caption.c. */
void cli_view_caption(const struct cli_view *view, const struct view_frame *frame, char *text,
                      size_t size);

/* Draws a frame as it stands, but in a canvas of its own, and writes it; or its events [from, to)
 * as an animation. What the window saves. */
enum fa_status cli_view_save_frame(const struct cli_view *view, const struct view_frame *frame,
                                   const char *path, struct fa_error *error);
enum fa_status cli_view_save_events(const struct cli_view *view, const struct view_frame *frame,
                                    uint64_t from, uint64_t to, const char *path,
                                    struct fa_error *error);

enum fa_status cli_view_screenshot(struct cli_view *view, struct fa_error *error);
enum fa_status cli_view_record(struct cli_view *view, struct fa_error *error);
enum fa_status cli_view_describe(struct cli_view *view, struct fa_error *error);

/* A step (from 0) of one of the lessons as it is printed, with their seed: the stage alone, light,
 * its question open. */
struct cli_lessons;
enum fa_status cli_view_lesson_print(const struct cli_lessons *lessons, int lesson, int step,
                                     const char *path, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
