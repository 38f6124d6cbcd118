/* A step's runs: opened, changed by the learner, broken, brought back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/l2.h"
#include "visualizer/player_parts.h"

static void refresh_words(struct view_state *state)
{
    struct view_player *player = state->player;
    struct fa_error error;
    if (!player->host.words || player->host.words(player->host.context, player->words,
                                                  sizeof player->words, &error) != FA_OK)
        snprintf(player->words, sizeof player->words, "%s", player->opened);
}

/* Which chips have other values than when the player opened the run: "You changed N and tiles." */
static void find_changes(struct view_state *state)
{
    struct view_player *player = state->player;
    struct view_lesson *view = &player->view;
    const struct view_frame *frame = &state->frame;
    const char *names[VIEW_MOST_OPTIONS + 1];
    int n = 0;
    for (int o = 0; o < frame->n_options; o++) {
        const struct view_option *now = &frame->options[o];
        bool same = false;
        for (int k = 0; k < player->n_options; k++)
            same = same || (strcmp(player->options[k].name, now->name) == 0 &&
                            strcmp(player->options[k].value, now->value) == 0);
        if (!same)
            names[n++] = strcmp(now->name, "n") == 0      ? "N"
                         : strcmp(now->name, "sram") == 0 ? "SRAM"
                                                          : now->name;
    }
    if (n == 0 && player->n_options != frame->n_options)
        names[n++] = "the options";
    if (state->blocks)
        names[n++] = "the mask";
    view->changed = n > 0;
    view->changes[0] = '\0';
    for (int i = 0; i < n && i < 3; i++) {
        size_t used = strlen(view->changes);
        bool last = i == n - 1 || i == 2;
        snprintf(view->changes + used, sizeof view->changes - used, "%s%s%s",
                 i == 0 ? "You changed " : last ? " and " : ", ",
                 i == 2 && n > 3 ? "more" : names[i], last ? "." : "");
    }
}

enum fa_status view_player_runs(struct view_state *state, const char *words, const char *compare,
                                struct fa_error *error)
{
    struct view_player *player = state->player;
    struct view_opened opened = {.run = {NULL, NULL}};
    if (state->frame.run[0] && !state->blocks && strcmp(player->opened, words) == 0 &&
        strcmp(player->compared, compare ? compare : "") == 0 && !player->view.changed &&
        state->frame.message.title[0] == '\0')
        return FA_OK;
    struct fa_watch watch = view_state_watch(state);
    enum fa_status status = player->host.open_words(player->host.context, words, compare, &watch,
                                                    &opened, error);
    if (status != FA_OK) {
        player->opened[0] = '\0'; /* what is on screen is another run */
        view_state_run_failed(state, error);
        return status;
    }
    free(state->blocks);
    state->blocks = NULL;
    enum view_panel panel = state->frame.panel;
    view_state_show(state, opened.run[0], opened.options[0], opened.n_options[0], opened.run[1],
                    opened.options[1], opened.n_options[1]);
    state->frame.panel = panel;
    snprintf(player->opened, sizeof player->opened, "%s", words);
    snprintf(player->compared, sizeof player->compared, "%s", compare ? compare : "");
    player->n_options = state->frame.n_options;
    memcpy(player->options, state->frame.options, sizeof player->options);
    player->view.changed = false;
    player->view.changes[0] = '\0';
    refresh_words(state);
    return FA_OK;
}

void view_player_l2(struct view_state *state)
{
    struct view_player *player = state->player;
    const struct lesson_show *show = view_player_show_of(&player->view);
    const struct lesson_runner *runner = &player->host.runner;
    struct view_l2 *out = &state->frame.l2;
    char words[LESSON_WORDS];
    struct fa_error error;
    struct sim_result result;
    struct sim_l2 l2;
    bool refused;
    *out = (struct view_l2){.capacity = 0};
    /* Of a run that the learner made, and that has no count, none is drawn. */
    if (!show->l2 ||
        lesson_words_join(player->words, show->l2, words, sizeof words, &error) != FA_OK ||
        runner->count(runner->context, words, &result, &refused, &error) != FA_OK || refused ||
        sim_l2_predict(&result, NULL, &l2, &error) != FA_OK)
        return;
    const struct fa_problem *problem = &result.problem;
    *out = (struct view_l2){
        .capacity = l2.l2_bytes,
        .read = sim_counters_read_all(&result.counters, problem).bytes,
        .write = sim_counters_write_all(&result.counters, problem).bytes,
        .dram_read = l2.total.dram_read_bytes,
        .dram_write = l2.total.dram_write_bytes,
        .heads = problem->batch * problem->heads,
    };
    snprintf(out->machine, sizeof out->machine, "%s", result.machine.name);
}

/* ---- other parameters -------------------------------------------------------------------- */

/* The consequence of other parameters, seen by playing them through. */
static void tell_consequence(struct view_state *state)
{
    struct view_player *player = state->player;
    struct view_lesson *view = &player->view;
    view->phase = VIEW_LESSON_BREAK;
    view->trouble[0] = '\0';
    state->frame.scroll = 0; /* it stands with what was to be tried, above the prose */
    view_player_stand(state, "start");
    view_player_fill(player, view->lesson->step[view->step].breaks->consequence, player->words,
                     view->consequence, sizeof view->consequence);
    view_player_play_to(state, "end");
}

void view_player_ran(struct view_state *state)
{
    struct view_player *player = state->player;
    if (!player)
        return;
    player->plays_to = false; /* that place was of the run before */
    state->haste = 1;
    refresh_words(state);
    find_changes(state);
    struct view_lesson *view = &player->view;
    if (!view_player_reads(state))
        return;
    view_player_l2(state);
    if (view->phase == VIEW_LESSON_END)
        return;
    if (state->frame.panel_open)
        state->frame.panel = VIEW_PANEL_LESSON;
    bool breaks = view->task[0] && (view->phase == VIEW_LESSON_FEEDBACK ||
                                    view->phase == VIEW_LESSON_BREAK);
    if (breaks && view->changed) {
        tell_consequence(state);
        return;
    }
    view_player_stand(state, view_player_show_of(view)->at);
    view_player_ask(state);
}

void view_player_break(struct view_state *state)
{
    struct view_player *player = state->player;
    struct view_lesson *view = &player->view;
    const struct lesson_show *show = view_player_show_of(view);
    const struct lesson_break *breaks =
        view->step < view->lesson->n_steps ? view->lesson->step[view->step].breaks : NULL;
    struct fa_error error = {FA_OK, ""};
    char words[LESSON_WORDS];
    struct view_option options[VIEW_MOST_OPTIONS];
    int n = player->n_options;
    if (!breaks || !breaks->run)
        return;
    if (lesson_words_join(show->scenario, breaks->run, words, sizeof words, &error) != FA_OK) {
        view_state_note(state, error.text);
        return;
    }
    memcpy(options, player->options, sizeof options);
    if (view_player_runs(state, words, show->compare, &error) != FA_OK)
        return;
    /* What was changed is told from the lesson's chips; not all options have one. */
    memcpy(player->options, options, sizeof options);
    player->n_options = n;
    find_changes(state);
    view->changed = true;
    view_player_l2(state);
    tell_consequence(state);
}

void view_player_return(struct view_state *state)
{
    struct view_player *player = state->player;
    struct view_lesson *view = &player->view;
    const struct lesson_show *show = view_player_show_of(view);
    struct fa_error error;
    bool breaks = view->phase == VIEW_LESSON_BREAK;
    player->opened[0] = '\0';
    if (view_player_runs(state, show->scenario, show->compare, &error) != FA_OK)
        return;
    view_player_l2(state);
    view_player_stand(state, show->at);
    if (!breaks)
        view_player_ask(state);
}
