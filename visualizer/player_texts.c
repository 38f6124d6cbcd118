/* What a step says, with its expressions computed for the run on screen. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/player_parts.h"

/* The text without its expressions, where they cannot be computed: "Now ? elements move." */
static void blank_out(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (; *text && n + 1 < size; text++) {
        if (*text == '{') {
            const char *end = strchr(text, '}');
            out[n++] = '?';
            if (!end)
                break;
            text = end;
        } else {
            out[n++] = *text;
        }
    }
    out[n] = '\0';
}

void view_player_fill(struct view_player *player, const char *text, const char *words, char *out,
                      size_t size)
{
    struct fa_error error = {FA_OK, ""};
    out[0] = '\0';
    if (!text || lesson_fill(text, words, &player->host.runner, out, size, &error) == FA_OK)
        return;
    if (player->view.trouble[0] == '\0')
        snprintf(player->view.trouble, sizeof player->view.trouble, "%.600s", error.text);
    blank_out(text, out, size);
}

const char *view_player_question_words(const struct view_player *player)
{
    const struct view_lesson *view = &player->view;
    return view->step >= view->lesson->n_steps ? view->lesson->recall_scenario : player->words;
}

static void fill_choices(struct view_player *player, const struct lesson_question *question,
                         const char *words)
{
    struct view_lesson *view = &player->view;
    for (int c = 0; c < question->n_choices; c++) {
        if (question->choice[c].label)
            view_player_fill(player, question->choice[c].label, words, view->choice_text[c],
                             sizeof view->choice_text[c]);
        else
            lesson_quantity_text(view->answers.choice[c], question->unit, view->choice_text[c],
                                 sizeof view->choice_text[c]);
    }
}

/* The step's question with its answers; none if they cannot be computed. */
static void fill_question(struct view_player *player, const struct lesson_question *question)
{
    struct view_lesson *view = &player->view;
    const char *words = view_player_question_words(player);
    struct fa_error error = {FA_OK, ""};
    view->question = NULL;
    view->ask[0] = '\0';
    if (!question)
        return;
    if (lesson_question_fit(view->lesson, question, words, &player->host.runner, &player->asked,
                            &view->answers, &error) != FA_OK) {
        snprintf(view->trouble, sizeof view->trouble, "%.600s", error.text);
        return;
    }
    view->question = question = &player->asked;
    view_player_fill(player, question->text, words, view->ask, sizeof view->ask);
    if (question->kind == LESSON_CHOICE)
        fill_choices(player, question, words);
}

void view_player_texts(struct view_player *player)
{
    struct view_lesson *view = &player->view;
    const struct lesson *lesson = view->lesson;
    view->trouble[0] = view->task[0] = view->consequence[0] = '\0';
    memset(view->prose, 0, sizeof view->prose);
    if (view->step >= lesson->n_steps) {
        fill_question(player, lesson->recall);
        return;
    }
    const struct lesson_step *step = &lesson->step[view->step];
    for (int b = 0; b < step->n_blocks; b++) {
        const struct lesson_block *block = &step->block[b];
        view->prose[b] = block->text;
        if (block->kind == LESSON_CODE)
            continue;
        view_player_fill(player, block->text, player->words, player->prose[b],
                         sizeof player->prose[b]);
        view->prose[b] = player->prose[b];
    }
    if (step->breaks)
        view_player_fill(player, step->breaks->text, player->words, view->task, sizeof view->task);
    fill_question(player, step->question);
}

/* Which choice is the right one, -1: none is marked. */
static int right_choice(const struct view_lesson *view)
{
    const struct lesson_question *question = view->question;
    for (int c = 0; c < question->n_choices; c++)
        if (question->choice[c].right || view->answers.choice[c] == view->answers.right)
            return c;
    return -1;
}

void view_player_say_answer(struct view_player *player)
{
    struct view_lesson *view = &player->view;
    const struct lesson_question *question = view->question;
    int right = right_choice(view);
    view->given_text[0] = '\0';
    if (question->kind == LESSON_CHOICE && view->choice >= 0)
        snprintf(view->given_text, sizeof view->given_text, "%s", view->choice_text[view->choice]);
    else if (!isnan(view->grade.given))
        lesson_quantity_text(view->grade.given, question->unit, view->given_text,
                             sizeof view->given_text);
    if (question->kind == LESSON_CHOICE && right >= 0)
        snprintf(view->right_text, sizeof view->right_text, "%s", view->choice_text[right]);
    else
        lesson_quantity_text(view->answers.right, question->unit, view->right_text,
                             sizeof view->right_text);
    view_player_fill(player, question->why, view_player_question_words(player), view->why,
                     sizeof view->why);
}
