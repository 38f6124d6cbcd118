/*
 * A window's state with lessons, for tests of the player: texts of lessons are its shelf, cases its
 * runs, and answers come from lesson_case_runner.
 */
#ifndef LESSON_PLAYER_H
#define LESSON_PLAYER_H

#include "tests/view_case.h"
#include "visualizer/player.h"

struct lesson_player {
    struct view_state *state;
    struct view_frame *frame;
    const struct view_lesson *view;
    struct lesson *lessons[4];
    struct lesson_shelf shelf;
    struct lesson_progress progress;
    char words[LESSON_WORDS]; /* of the run on screen */
    int opens, saves;
    bool fails; /* the next runs cannot be opened */
};

/* Lesson 40 of four steps (prose, a choice, a slider with a break, a number) and 41 of one, which
 * compares and has a recall. */
extern const char *const lesson_player_shelf[];

/* The texts are lessons of numbers 40, 41 ...: ended by NULL. Fails the test where one cannot be
 * read. */
void lesson_player_open(struct lesson_player *player, const char *const *texts, float width,
                        float height, bool present);
/* Lesson 40 of lesson_player_shelf at its step, in 1280 x 720. */
void lesson_player_open_at(struct lesson_player *player, int step);
void lesson_player_close(struct lesson_player *player);

void lesson_player_go(struct lesson_player *player, int number, int step);
void lesson_player_do(struct lesson_player *player, enum view_action action, int64_t value);
void lesson_player_key(struct lesson_player *player, enum view_key key);
void lesson_player_type(struct lesson_player *player, const char *text);

/* Time until nothing plays any more. */
void lesson_player_wait(struct lesson_player *player);

/* A press and a release in the middle of the hit, which must be on screen and not off. */
void lesson_player_click(struct lesson_player *player, enum view_action action, int64_t value);
const struct view_hit *lesson_player_hit(struct lesson_player *player, enum view_action action,
                                         int64_t value);

/* Whether the words stand on screen. */
bool lesson_player_says(struct lesson_player *player, const char *words);

/* The chip of that name gets another value, as if it was typed. */
void lesson_player_change(struct lesson_player *player, const char *option, const char *value);

#endif
