/*
 * What a frame shows of a lesson, of the contents page and of the race: plain data, like the rest
 * of struct view_frame. player.h changes it; panel_lesson.c, scene_contents.c and scene_race.c draw
 * it. All texts here are filled in: who draws them computes nothing.
 */
#ifndef VIEW_LESSON_VIEW_H
#define VIEW_LESSON_VIEW_H

#include "lessons/answers.h"
#include "lessons/learner.h"

#ifdef __cplusplus
extern "C" {
#endif

enum view_lesson_phase {
    VIEW_LESSON_READ,     /* prose; Next is primary */
    VIEW_LESSON_PREDICT,  /* the card is open: nothing chosen at first, what answers it is covered */
    VIEW_LESSON_RUN,      /* answered: the card is locked, the stage plays to the reveal */
    VIEW_LESSON_FEEDBACK, /* `again`: not quite, and still covered: try once more, or show me. Else guess
                           * and truth, one sentence, Next */
    VIEW_LESSON_BREAK,    /* parameters may be changed; their consequence is told */
    VIEW_LESSON_END       /* what you now know, a question of two lessons ago, the next lesson */
};

enum view_page { VIEW_PAGE_STAGE, VIEW_PAGE_CONTENTS, VIEW_PAGE_RACE, VIEW_PAGE_GLOSSARY };

enum { VIEW_LESSON_TEXT = 640 };

struct view_thumb;

struct view_lesson {
    const struct lesson_shelf *shelf;       /* NULL: no lessons here; `missing` says where was looked */
    const char *missing;
    const struct lesson_progress *progress; /* NULL: nothing is saved (present mode) */
    enum view_page page;
    bool present;                           /* scale 1.5, light, nothing saved, R reveals */

    /* The lesson that is open; NULL: free exploration. */
    const struct lesson *lesson;
    int step;                               /* from 0; n_steps: the end */
    int first_step, last_step;              /* of it on the track */
    enum view_lesson_phase phase;
    bool changed;                           /* parameters differ from the lesson's run: `changes` says which */
    char changes[160];                      /* "You changed N and tiles." */
    char trouble[VIEW_LESSON_TEXT];         /* why numbers of the step cannot be told of this run; "" : all can */
    const char *prose[LESSON_BLOCKS];       /* texts of the step's blocks */
    const struct lesson *next;              /* after this one, on the track; NULL: it is the last */
    double minutes_left;

    /* The question of the step (at the end: the recall). */
    const struct lesson_question *question; /* NULL: none, or it cannot be asked of this run */
    bool answered;                          /* the card is locked */
    bool again;                             /* the first answer was another: "Try once more" */
    char ask[VIEW_LESSON_TEXT];             /* its text */
    struct lesson_answers answers;          /* computed for the scenario on screen */
    char choice_text[LESSON_CHOICES][160];  /* labels */
    int choice;                             /* -1: nothing chosen */
    double slider;                          /* NaN: no knob yet */
    char typed[32];
    bool field;                             /* typed signs go to the answer */
    char refused[160];                      /* what is wrong with what was typed; "" : nothing */
    int hints;                              /* shown so far */
    char hint[VIEW_LESSON_TEXT];            /* the last one; "": none */
    bool shown;                             /* by "Show me": counts as seen, not as wrong */
    int tries;
    struct lesson_grade grade;              /* after the answer; `given` NaN if none was given */
    char given_text[160], right_text[160];  /* with their unit, or the choices' labels */
    char why[VIEW_LESSON_TEXT];             /* after the reveal; "" where it is grade's feedback */

    /* The break. */
    char task[VIEW_LESSON_TEXT];            /* its text; "": the step has none */
    char consequence[VIEW_LESSON_TEXT];     /* "": not run yet */

    /* The contents page. */
    int card;                               /* index of the shelf's lesson under the keyboard's focus */
    bool searching;                         /* typed signs go to the search */
    char search[32];
    const char *track;                      /* NULL: all */
    bool reset_asked;                       /* "Forget what I have done?" */
    const struct view_thumb *const *thumb;  /* [shelf->n], key frames of the cards: thumb.h; NULL in it: not made
                                             * yet; NULL: none is */

    /* The race, by the same clock as compare's "same traffic": frame->run[0] is standard, [1]
     * flash2. */
    int race_phase;                         /* 0 runs, 1 asks, 2 runs on, 3 done */
    double race_guess;                      /* NaN: none */
};

/* Of the race's slider, which is linear as the bar under it. */
#define VIEW_RACE_LOW 1.0
#define VIEW_RACE_HIGH 10.0

/* The shelf's tracks in the order in which its lessons name them. Returns how many; at most
 * LESSON_NUMBERS. */
int view_lesson_tracks(const struct lesson_shelf *shelf, const char *names[LESSON_NUMBERS]);

/* Whether the lesson is on the track (NULL: all are), and its first and last step there. */
bool view_lesson_on_track(const struct lesson *lesson, const char *track, int *first, int *last);

/* The shelf's lesson fits what is searched: its number, words of its title, card or chapter. */
bool view_lesson_found(const struct lesson *lesson, const char *search);

/* What is kept of a lesson; NULL: nothing yet. */
const struct lesson_mark *view_lesson_mark(const struct view_lesson *lesson, int number);

/* The lesson that Start or Continue opens, NULL: there is none; *again: it was begun before. */
const struct lesson *view_lesson_start(const struct view_lesson *lesson, bool *again);

#ifdef __cplusplus
}
#endif
#endif
