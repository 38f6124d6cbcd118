/* What a key does to a lesson. */
#include <string.h>

#include "visualizer/player_parts.h"

static bool type_into(char *text, size_t size, const struct view_input *input)
{
    size_t n = strlen(text);
    const char *sign = input->key == VIEW_KEY_SPACE ? " " : input->text;
    if (input->key == VIEW_KEY_BACKSPACE) {
        while (n > 0 && (text[n - 1] & 0xC0) == 0x80) /* a sign's bytes go together */
            text[--n] = '\0';
        if (n > 0)
            text[n - 1] = '\0';
        return true;
    }
    if (input->key != VIEW_KEY_TEXT && input->key != VIEW_KEY_SPACE)
        return false;
    if (n + strlen(sign) < size)
        memcpy(text + n, sign, strlen(sign) + 1);
    return true;
}

/* Signs that only an answer can mean, and those of a number that has begun. */
static bool is_number_sign(const struct view_lesson *view, const struct view_input *input)
{
    if (input->key == VIEW_KEY_BACKSPACE)
        return true;
    if (input->key != VIEW_KEY_TEXT || input->text[1])
        return false;
    return strchr("0123456789", input->text[0]) || (view->typed[0] && strchr(".,", input->text[0]));
}

static bool answer_key(struct view_state *state, const struct view_input *input)
{
    struct view_lesson *view = &state->player->view;
    const struct lesson_question *question = view->question;
    char sign = input->key == VIEW_KEY_TEXT ? input->text[0] : '\0';
    if (view->field && input->key == VIEW_KEY_ESCAPE) {
        view->field = false;
        return true;
    }
    if (question->kind == LESSON_NUMBER && (view->field || is_number_sign(view, input)) &&
        type_into(view->typed, sizeof view->typed, input)) {
        view->refused[0] = '\0';
        return true;
    }
    if (question->kind == LESSON_CHOICE && sign >= '1' && sign < '1' + question->n_choices) {
        view->choice = sign - '1';
        return true;
    }
    if (question->kind == LESSON_SLIDER &&
        (input->key == VIEW_KEY_LEFT || input->key == VIEW_KEY_RIGHT) && !input->ctrl &&
        !input->shift) {
        view_player_nudge(state, input->key == VIEW_KEY_LEFT ? -1 : 1);
        return true;
    }
    return false;
}

/* P: the panel with the question, whose field takes what is typed. */
static void focus_question(struct view_state *state)
{
    struct view_lesson *view = &state->player->view;
    state->frame.panel = VIEW_PANEL_LESSON;
    state->frame.panel_open = state->frame.chrome_open = true;
    view->field = view_player_is_asked(view) && view->question->kind == LESSON_NUMBER;
}

static bool letter_key(struct view_state *state, char letter)
{
    struct view_lesson *view = &state->player->view;
    switch (letter) {
    case 'p':
    case 'P':
        focus_question(state);
        return true;
    case 'h':
    case 'H':
        view_player_hint(state);
        return true;
    case 'n':
    case 'N':
        view_player_next(state);
        return true;
    case 'r':
    case 'R':
        if (!view->present)
            return false;
        view_player_show(state);
        return true;
    default:
        return false;
    }
}

/* The one primary button of the panel. */
static bool enter_key(struct view_state *state)
{
    struct view_lesson *view = &state->player->view;
    if (view_player_is_asked(view) && view_player_can_check(view))
        view_player_check(state);
    else if (view->again)
        view_player_again(state);
    else if (view->phase != VIEW_LESSON_PREDICT)
        view_player_next(state);
    return true;
}

bool view_player_key(struct view_state *state, const struct view_input *input)
{
    if (!state->player || (input->ctrl && input->key == VIEW_KEY_TEXT))
        return false;
    if (view_player_page_key(state, input))
        return true;
    if (!view_player_reads(state))
        return false;
    if (view_player_is_asked(&state->player->view) && answer_key(state, input))
        return true;
    if (input->key == VIEW_KEY_ENTER && !input->shift && state->frame.focus < 0 &&
        !state->cell_cursor && state->frame.message.remedy == VIEW_REMEDY_NONE)
        return enter_key(state);
    return input->key == VIEW_KEY_TEXT && input->text[1] == '\0' &&
           letter_key(state, input->text[0]);
}
