#include "tests/lesson_stage.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/lesson_runner.h"
#include "simulator/cli/view_lessons.h"

/* ---- the shelf --------------------------------------------------------------------------- */

static struct lesson_shelf shelf;
static struct cli_lesson_runner *runner;

const struct lesson_shelf *lesson_stage_shelf(void)
{
    struct fa_error error = {FA_OK, ""};
    if (shelf.n == 0 &&
        lesson_shelf_open(FLASHLAB_SOURCE_DIR "/lessons", &shelf, &error) != FA_OK)
        fail_msg("%s", error.text);
    return &shelf;
}

const struct lesson_runner *lesson_stage_runner(void)
{
    struct fa_error error = {FA_OK, ""};
    if (!runner &&
        cli_lesson_runner_open(lesson_stage_shelf()->folder, &runner, &error) != FA_OK)
        fail_msg("%s", error.text);
    return cli_lesson_runner_face(runner);
}

int lesson_stage_close_shelf(void **state)
{
    (void)state;
    cli_lesson_runner_close(runner);
    runner = NULL;
    if (shelf.n > 0)
        lesson_shelf_close(&shelf);
    shelf.n = 0;
    return 0;
}

const struct lesson_question *lesson_stage_question(int number, const char *id,
                                                    lesson_words *words)
{
    const struct lesson *lesson = lesson_find(lesson_stage_shelf(), number);
    assert_non_null(lesson);
    for (int s = 0; s < lesson->n_steps; s++) {
        const struct lesson_question *question = lesson->step[s].question;
        *words = lesson->step[s].show.scenario;
        if (question && strcmp(question->id, id) == 0)
            return question;
    }
    *words = lesson->recall_scenario;
    if (!lesson->recall || strcmp(lesson->recall->id, id) != 0)
        fail_msg("lesson %d has no question %s", number, id);
    return lesson->recall;
}

void lesson_stage_fill(const char *text, const char *words, char *out, size_t size)
{
    struct fa_error error = {FA_OK, ""};
    if (lesson_fill(text, words, lesson_stage_runner(), out, size, &error) != FA_OK)
        fail_msg("\"%s\": %s", text, error.text);
}

/* ---- the window's state ------------------------------------------------------------------ */

/* A chip was changed. */
static enum fa_status open_run(void *context, int which, struct view_option *options,
                               int *n_options, const uint8_t *blocks, const struct fa_watch *watch,
                               struct view_run **run, struct fa_error *error)
{
    struct cli_view *view = context;
    return cli_view_change(&view->runs, which, options, n_options, blocks, watch, run, error);
}

void lesson_stage_open(struct lesson_stage *stage, const struct lesson *lesson)
{
    struct fa_error error = {FA_OK, ""};
    const struct view_host host = {.open_run = open_run, .context = &stage->view};
    memset(stage, 0, sizeof *stage);
    stage->view.problem = cli_problem_defaults;
    stage->view.font_scale = 1;
    stage->view.panel = -1;
    stage->view.lesson = lesson ? lesson->number : lesson_stage_shelf()->lesson[0]->number;
    stage->view.lesson_seed = -1;
    stage->view.shelf = lesson_stage_shelf();
    if (cli_view_lessons_open(&stage->view, false, &error) != FA_OK ||
        view_state_open(&host, &view_builtin_face, 1280, 720, &stage->state, &error) != FA_OK ||
        cli_view_lessons_start(&stage->view, stage->state, &error) != FA_OK)
        fail_msg("%s", error.text);
    stage->frame = view_state_frame(stage->state);
    stage->lesson = stage->frame->lesson;
}

void lesson_stage_close(struct lesson_stage *stage)
{
    view_state_close(stage->state);
    cli_view_lessons_close(&stage->view);
}

void lesson_stage_go(struct lesson_stage *stage, const struct lesson *lesson, int step)
{
    struct fa_error error = {FA_OK, ""};
    if (view_player_go(stage->state, lesson->number, step, &error) != FA_OK)
        fail_msg("lesson %d, step %d: %s", lesson->number, step + 1, error.text);
    view_state_settle(stage->state);
    if (stage->lesson->trouble[0])
        fail_msg("lesson %d, step %d: %s", lesson->number, step + 1, stage->lesson->trouble);
}

void lesson_stage_resize(struct lesson_stage *stage, float width, float height,
                         const struct view_theme *theme)
{
    const struct view_input input = {.kind = VIEW_INPUT_RESIZE, .x = width, .y = height};
    view_state_take(stage->state, &input);
    stage->frame->theme = theme;
}

/* ---- a learner --------------------------------------------------------------------------- */

const struct view_hit *lesson_stage_hit(struct lesson_stage *stage, enum view_action action,
                                        int64_t value)
{
    const struct view_draw *draw = view_state_draw(stage->state);
    for (size_t i = draw->n_hits; i-- > 0;)
        if (draw->hits[i].action == action && draw->hits[i].value == value)
            return &draw->hits[i];
    return NULL;
}

void lesson_stage_click(struct lesson_stage *stage, enum view_action action, int64_t value,
                        double share)
{
    const struct view_hit *hit = lesson_stage_hit(stage, action, value);
    if (!hit || hit->off)
        fail_msg("lesson %d, step %d: nothing to click for action %d, value %d",
                 stage->lesson->lesson->number, stage->lesson->step + 1, (int)action, (int)value);
    struct view_input input = {.kind = VIEW_INPUT_PRESS,
                               .x = hit->box.x + hit->box.w * (float)share,
                               .y = hit->box.y + hit->box.h / 2};
    view_state_take(stage->state, &input);
    input.kind = VIEW_INPUT_RELEASE;
    view_state_take(stage->state, &input);
}

static void type_number(struct lesson_stage *stage, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.10g", value);
    lesson_stage_click(stage, VIEW_LESSON_FIELD, 0, 0.5);
    for (const char *sign = text; *sign; sign++) {
        struct view_input input = {.kind = VIEW_INPUT_KEY, .key = VIEW_KEY_TEXT};
        input.text[0] = *sign;
        view_state_take(stage->state, &input);
    }
    assert_string_equal(stage->lesson->typed, text);
}

void lesson_stage_answer(struct lesson_stage *stage, double value)
{
    const struct lesson_question *question = stage->lesson->question;
    assert_non_null(question);
    if (question->kind == LESSON_CHOICE) {
        int choice = 0;
        while (choice < question->n_choices && stage->lesson->answers.choice[choice] != value)
            choice++;
        lesson_stage_click(stage, VIEW_LESSON_CHOOSE, choice, 0.5);
        assert_int_equal(stage->lesson->choice, choice);
    } else if (question->kind == LESSON_NUMBER) {
        type_number(stage, value);
    } else {
        lesson_stage_click(stage, VIEW_LESSON_SLIDER, 0,
                           log(value / question->low) / log(question->high / question->low));
        assert_false(isnan(stage->lesson->slider));
    }
    lesson_stage_click(stage, VIEW_LESSON_CHECK, 0, 0.5);
    view_state_settle(stage->state);
}

/* ---- numbers on screen ------------------------------------------------------------------- */

/* The blanks that stand between groups of digits. */
static size_t group_blank(const char *at)
{
    static const char *const blanks[] = {"\u202f", "\u2009", "\u00a0", ","};
    for (size_t b = 0; b < sizeof blanks / sizeof *blanks; b++) {
        size_t n = strlen(blanks[b]);
        if (strncmp(at, blanks[b], n) == 0 && isdigit((unsigned char)at[n]))
            return n;
    }
    return 0;
}

/* Reads a number; how many of its digits count, and how many of them are decimals. */
static const char *read_number(const char *at, double *value, int *digits, int *decimals)
{
    char plain[64];
    size_t n = 0;
    *digits = *decimals = 0;
    for (bool point = false; n + 1 < sizeof plain;) {
        if (isdigit((unsigned char)*at)) {
            *digits += *digits > 0 || *at != '0';
            *decimals += point;
        } else if (*at == '.' && !point && isdigit((unsigned char)at[1])) {
            point = true;
        } else {
            size_t blank = n > 0 && !point ? group_blank(at) : 0;
            if (blank == 0)
                break;
            at += blank;
            continue;
        }
        plain[n++] = *at++;
    }
    plain[n] = '\0';
    *value = strtod(plain, NULL);
    return at;
}

bool lesson_stage_groups(const char *text)
{
    bool inside = false;
    for (const char *at = text; *at; at++) {
        inside = *at == '{' ? true : *at == '}' ? false : inside;
        if (inside || !isdigit((unsigned char)*at))
            continue;
        size_t n = strspn(at, "0123456789");
        bool decimals = at > text && at[-1] == '.';
        bool comma = at[n] == ',' && strspn(at + n + 1, "0123456789") == 3;
        if (!decimals && (n > 3 || comma))
            return false;
        at += n - 1;
    }
    return true;
}

bool lesson_stage_tells(const char *text, double number)
{
    while (*(text += strcspn(text, "0123456789"))) {
        double value, unit = 1;
        int digits, decimals;
        text = read_number(text, &value, &digits, &decimals);
        if (strncmp(text, " million", 8) == 0)
            unit = 1e6;
        if (digits >= 3 && fabs(value * unit - fabs(number)) <= 0.501 * unit * pow(10, -decimals))
            return true;
    }
    return false;
}
