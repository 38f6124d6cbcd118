/*
 * The inside of the player, for the files that make it: player.c (lessons, steps), player_runs.c,
 * player_play.c, player_texts.c (what is filled in), player_question.c (answers), player_keys.c,
 * player_pages.c (contents), player_race.c, player_thumbs.c; and what the window's state asks of
 * it. Without the room of lessons it is nothing.
 */
#ifndef VIEW_PLAYER_PARTS_H
#define VIEW_PLAYER_PARTS_H

#include "visualizer/state_parts.h"

#ifdef FLASHLAB_HAVE_LESSONS

#include "visualizer/player.h"
#include "visualizer/thumb.h"

#ifdef __cplusplus
extern "C" {
#endif

struct view_player {
    struct view_lesson_host host;
    struct view_lesson view;

    char opened[LESSON_WORDS], compared[LESSON_WORDS]; /* words of the runs as the player opened them */
    struct view_option options[VIEW_MOST_OPTIONS];     /* their chips, to see what was changed */
    int n_options;
    char words[LESSON_WORDS];                          /* of the run on screen */
    struct lesson_question asked;                      /* the step's, as that run can be asked it */
    char title[96];
    char prose[LESSON_BLOCKS][VIEW_LESSON_TEXT];

    struct view_position at;     /* where the step stands */
    bool plays_to;               /* on its way to `target` */
    struct view_position target;
    bool raced;                  /* the race's runs are on screen, not the step's */
    bool opened_panel;           /* it gave way to the stage while that plays: a page of a small window */

    struct view_thumb *thumbs;         /* of the shelf's lessons, NULL: none are made */
    const struct view_thumb **thumb;   /* those that are there */
    int n_thumbs;                      /* tried so far */
};

static inline bool view_player_reads(const struct view_state *state)
{
    return state->player && state->player->view.lesson &&
           state->player->view.page == VIEW_PAGE_STAGE;
}

/* What the window's state calls. */
void view_player_close(struct view_player *player);
bool view_player_do(struct view_state *state, enum view_action action, int64_t value);
bool view_player_key(struct view_state *state, const struct view_input *input);
void view_player_slide(struct view_state *state, struct view_box scale, float x); /* 0..1 of it */
void view_player_tick(struct view_state *state);
/* a chip was changed, a mask painted: another run is on screen */
void view_player_ran(struct view_state *state);
void view_player_settle(struct view_state *state);
bool view_player_thumbs_wanted(const struct view_state *state); /* it is at work */
/* Whether the first run may not go on past *most: a prediction is open. */
bool view_player_bound(const struct view_state *state, struct view_position *most);

/* player.c */
enum fa_status view_player_enter(struct view_state *state, const struct lesson *lesson, int step,
                                 struct fa_error *error);
const struct lesson_show *view_player_show_of(const struct view_lesson *view);
/* There is a run on screen. Of two, the end is that of both, also where one has more to do. */
void view_player_seek(struct view_state *state, struct view_position at);
/* where the step is; of a run without it the start */
void view_player_stand(struct view_state *state, const char *place);
void view_player_save(struct view_state *state);
void view_player_leave(struct view_state *state);
void view_player_next(struct view_state *state);

/* player_runs.c */
enum fa_status view_player_runs(struct view_state *state, const char *words, const char *compare,
                                struct fa_error *error);
void view_player_l2(struct view_state *state); /* the step's, for the run on screen */
void view_player_break(struct view_state *state);  /* "Run it" */
void view_player_return(struct view_state *state); /* to the lesson's run */

/* player_play.c */
void view_player_play_to(struct view_state *state, const char *place);
void view_player_arrive(struct view_state *state); /* at once */

/* player_texts.c: of the step as it is, for the run on screen. */
void view_player_fill(struct view_player *player, const char *text, const char *words, char *out,
                      size_t size);
void view_player_texts(struct view_player *player);
void view_player_say_answer(struct view_player *player);
const char *view_player_question_words(const struct view_player *player);

/* player_question.c */
void view_player_ask(struct view_state *state); /* nothing is chosen; what answers it is covered */
bool view_player_is_asked(const struct view_lesson *view); /* an answer may be given now */
bool view_player_can_check(const struct view_lesson *view);
void view_player_check(struct view_state *state);
void view_player_show(struct view_state *state);
void view_player_hint(struct view_state *state);
void view_player_again(struct view_state *state);
void view_player_nudge(struct view_state *state, int direction); /* the slider, by the keyboard */
void view_player_done_playing(struct view_state *state);

/* player_thumbs.c */
enum fa_status view_player_thumbs_open(struct view_player *player, struct fa_error *error);
void view_player_thumbs_close(struct view_player *player);
void view_player_thumbs_step(struct view_state *state);

/* player_pages.c */
bool view_player_page_do(struct view_state *state, enum view_action action, int64_t value);
bool view_player_page_key(struct view_state *state, const struct view_input *input);

/* player_race.c */
void view_player_race(struct view_state *state); /* from its beginning */
void view_player_race_on(struct view_state *state);
bool view_player_race_key(struct view_state *state, const struct view_input *input);
void view_player_race_tick(struct view_state *state);

#ifdef __cplusplus
}
#endif

#else

static inline bool view_player_reads(const struct view_state *state)
{
    (void)state;
    return false;
}

static inline void view_player_close(struct view_player *player)
{
    (void)player;
}

static inline bool view_player_do(struct view_state *state, enum view_action action, int64_t value)
{
    (void)state, (void)action, (void)value;
    return false;
}

static inline bool view_player_key(struct view_state *state, const struct view_input *input)
{
    (void)state, (void)input;
    return false;
}

static inline void view_player_slide(struct view_state *state, struct view_box scale, float x)
{
    (void)state, (void)scale, (void)x;
}

static inline void view_player_tick(struct view_state *state)
{
    (void)state;
}

static inline void view_player_ran(struct view_state *state)
{
    (void)state;
}

static inline void view_player_settle(struct view_state *state)
{
    (void)state;
}

static inline bool view_player_thumbs_wanted(const struct view_state *state)
{
    (void)state;
    return false;
}

static inline bool view_player_bound(const struct view_state *state, struct view_position *most)
{
    (void)state, (void)most;
    return false;
}

#endif
#endif
