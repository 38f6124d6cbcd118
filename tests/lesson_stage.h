/*
 * The lessons as they come with the program, played as a learner would: the program's runs, the
 * real player, no window. (The lessons of lesson_player.h are a test's own.)
 */
#ifndef LESSON_STAGE_H
#define LESSON_STAGE_H

#include "simulator/cli/view.h"
#include "tests/view_case.h"
#include "visualizer/player.h"

/* The lessons of the source tree and what runs their scenarios: opened once, closed at the end by
 * the last, which may stand as a teardown. */
const struct lesson_shelf *lesson_stage_shelf(void);
const struct lesson_runner *lesson_stage_runner(void);
int lesson_stage_close_shelf(void **state);

/* By number and id, the recall's too; *words: of its run. Fails the test where there is none. */
const struct lesson_question *lesson_stage_question(int lesson, const char *id,
                                                    lesson_words *words);

/* The text with its expressions computed. Fails the test where they cannot be. */
void lesson_stage_fill(const char *text, const char *words, char *out, size_t size);

struct lesson_stage {
    struct cli_view view;
    struct view_state *state;
    struct view_frame *frame;
    const struct view_lesson *lesson;
};

/* 1280 x 720, dark, at the lesson's first step; NULL: the lessons, on no page yet. */
void lesson_stage_open(struct lesson_stage *stage, const struct lesson *lesson);
void lesson_stage_close(struct lesson_stage *stage);

/* Goes there, to where it plays. Fails the test where its run does not open or says trouble. */
void lesson_stage_go(struct lesson_stage *stage, const struct lesson *lesson, int step);

/* The frame is of that size and theme from here on. */
void lesson_stage_resize(struct lesson_stage *stage, float width, float height,
                         const struct view_theme *theme);

/* A press and a release on what is on screen and not off; share: how far right in its box, 0..1. */
void lesson_stage_click(struct lesson_stage *stage, enum view_action action, int64_t value,
                        double share);
const struct view_hit *lesson_stage_hit(struct lesson_stage *stage, enum view_action action,
                                        int64_t value);

/* The answer is typed, slid or chosen, and checked. */
void lesson_stage_answer(struct lesson_stage *stage, double value);

/* The digits of the text's whole numbers of four and more stand in groups with narrow spaces, as
 * sim_digits_text has them; what stands in braces is computed and counts as grouped. */
bool lesson_stage_groups(const char *text);

/* The text tells the number, with three digits or more: shorter ones are many other things too. */
bool lesson_stage_tells(const char *text, double number);

#endif
