/*
 * The two programs of the race, one above the other: what each has moved, as a bar on a scale of
 * the second one's total. Private to scene_race.c, race_program.c and race_words.c.
 */
#ifndef VIEW_RACE_H
#define VIEW_RACE_H

#include "visualizer/sheet.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- race_program.c: the two programs ---- */

/* Counts are bytes or elements as the frame says. */
struct view_race_program {
    const char *name;             /* the algorithm's */
    double moved[FA_HBM_TENSORS]; /* so far, a part of the event in flight too */
    uint64_t landed;              /* their sum by events that have landed */
    uint64_t in_all;              /* by the end */
    bool done, stores_scores;
};

struct view_race {
    struct view_race_program program[2];
    struct view_box scale; /* x and w: from nothing moved to `most` times program 1's total */
    double most;
};

void view_race_count(struct view_race *race, const struct view_scene *scene);
float view_race_x(const struct view_race *race, double times);

/* One program in its box: name, what it does with its scores, its tiles, its count, its bar. The
 * bar's box is returned. `tiles`: there is room for the picture of them, left of the scale, or
 * above it where that begins at the box's edge. */
struct view_box view_race_program(const struct view_race *race, const struct view_sheet *sheet,
                                  const struct view_scene *scene, int which, struct view_box box,
                                  bool tiles);

/* How wide the picture of the tiles is at that height. */
float view_race_tiles_width(const struct view_scene *scene, int which, float height);

/* ---- race_words.c: what it says and offers ---- */

enum view_race_phase { VIEW_RACE_RUNS, VIEW_RACE_ASKS, VIEW_RACE_RUNS_ON, VIEW_RACE_DONE };

struct view_race_words {
    char big[160], small[256];
    bool large; /* the view's big number stands in them */
};

struct view_race_choice {
    unsigned states;
    enum view_action action;
    int64_t value;
    const char *text, *label;
};

enum { VIEW_RACE_CHOICES = 4 };

void view_race_say(const struct view_race *race, const struct view_scene *scene,
                   struct view_race_words *words);
/* The buttons below the words. Returns how many. */
int view_race_choose(const struct view_scene *scene,
                     struct view_race_choice choices[VIEW_RACE_CHOICES]);

#ifdef __cplusplus
}
#endif
#endif
