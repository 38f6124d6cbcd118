/*
 * Each lesson is played through, with its own runs and without a window: every step shows what it
 * talks about, keeps its answer covered, and has a sentence for each answer that it foresees.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/lesson_stage.h"
#include "visualizer/race.h"

static struct lesson_stage stage;
static char where[128]; /* "": nothing is being played */

/* ---- what is on screen ------------------------------------------------------------------- */

static const struct {
    float width, height;
} sizes[] = {{1280, 720}, {800, 600}};

static const struct view_theme *const themes[] = {&view_dark, &view_light};

static void tell_where(const char *what)
{
    const struct lesson *lesson = stage.lesson->lesson;
    snprintf(where, sizeof where, "lesson %d, step %d, %s, %g x %g, %s",
             lesson ? lesson->number : -1, stage.lesson->step + 1, what,
             (double)stage.frame->width, (double)stage.frame->height,
             stage.frame->theme == &view_dark ? "dark" : "light");
}

static void check_points(void)
{
    const struct lesson_show *show = &stage.lesson->lesson->step[stage.lesson->step].show;
    struct view_scene scene;
    view_scene_make(&scene, stage.frame);
    for (int p = 0; p < show->n_points; p++) {
        struct view_box box = {0};
        if (!view_point_box(&scene, show->point[p], &box))
            fail_msg("%s is not on screen", show->point[p]);
        if (!(box.w > 0 && box.h > 0 && box.x >= 0 && box.y >= 0 &&
              box.x + box.w <= stage.frame->width && box.y + box.h <= stage.frame->height))
            fail_msg("%s is at (%g, %g), %g x %g", show->point[p], (double)box.x, (double)box.y,
                     (double)box.w, (double)box.h);
    }
}

static void look_once(const char *what, bool points)
{
    struct view_scene scene;
    tell_where(what);
    view_case_check_texts(view_state_draw(stage.state), stage.frame->width, stage.frame->height);
    view_scene_make(&scene, stage.frame);
    if (scene.layout.stage.w > 0 && points)
        check_points();
    else if (scene.layout.stage.w <= 0 && stage.frame->panel_open) {
        stage.frame->panel_open = false; /* the text is a page: the stage is behind it */
        look_once(what, points);
        stage.frame->panel_open = true;
    }
}

/* Nothing leaves the frame or lies over another thing, at all sizes and in both themes. */
static void look(const char *what, bool points)
{
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t t = 0; t < sizeof themes / sizeof *themes; t++) {
            lesson_stage_resize(&stage, sizes[s].width, sizes[s].height, themes[t]);
            look_once(what, points);
        }
    lesson_stage_resize(&stage, sizes[0].width, sizes[0].height, themes[0]);
    tell_where(what);
}

/* A text of the frame begins so; of a long one its first words, since lines are broken. */
static bool says(const char *words)
{
    const struct view_draw *draw = view_state_draw(stage.state);
    size_t n = strlen(words);
    for (n = n < 20 ? n : 20; n > 1 && words[n] && words[n] != ' '; n--)
        ;
    for (size_t i = 0; i < draw->n_items; i++)
        if (draw->items[i].kind == VIEW_TEXT && strncmp(draw->items[i].text, words, n) == 0)
            return true;
    return false;
}

static void check_says(const char *words)
{
    if (!says(words))
        fail_msg("nothing on screen says \"%s\"", words);
}

/* The run stands at the place, which there is in it. */
static void check_stands_at(const char *place)
{
    struct fa_error error = {FA_OK, ""};
    struct view_position at;
    if (view_position_parse(stage.frame->run[0], place, &at, &error) != FA_OK)
        fail_msg("%s", error.text);
    assert_int_equal(stage.frame->at[0].landed, at.landed);
}

/* ---- covered answers --------------------------------------------------------------------- */

/* Whether it is a part of a choice, of which one is the answer. */
static bool is_in_choice(const struct view_draw *draw, const struct view_item *item)
{
    for (size_t h = 0; h < draw->n_hits; h++)
        if (draw->hits[h].action == VIEW_LESSON_CHOOSE &&
            view_box_has(draw->hits[h].box, item->box.x + item->box.w / 2,
                         item->box.y + item->box.h / 2))
            return true;
    return false;
}

/* Whether seeing the answer's number tells the answer: not where it stands for a label, nor where
 * the step's text gives the same number as something else. */
static bool is_telling(const struct lesson_question *question)
{
    bool named = question->kind == LESSON_CHOICE && question->choice[0].label &&
                 !(question->unit && question->unit[0]);
    return !named && strcmp(question->id, "bytes") != 0; /* 1024 MiB, and N = 1024 */
}

/* Also where a learner looks for it, in the panels and at other places of the run. */
static void check_covered(void)
{
    double answer = stage.lesson->answers.right;
    const struct view_frame before = *stage.frame;
    tell_where("covered");
    assert_true(stage.frame->covered);
    for (int panel = 0; panel < VIEW_PANELS && is_telling(stage.lesson->question); panel++) {
        stage.frame->panel = (enum view_panel)panel;
        view_state_do(stage.state, VIEW_END, 0);
        const struct view_draw *draw = view_state_draw(stage.state);
        for (size_t i = 0; i < draw->n_items; i++)
            if (draw->items[i].kind == VIEW_TEXT && !is_in_choice(draw, &draw->items[i]) &&
                lesson_stage_tells(draw->items[i].text, answer))
                fail_msg("the answer to %s, %.10g, stands in \"%s\" (panel %s)",
                         stage.lesson->question->id, answer, draw->items[i].text,
                         view_panel_names[panel]);
    }
    assert_int_equal(stage.frame->at[0].landed, before.at[0].landed);
    stage.frame->panel = before.panel;
}

/* ---- questions --------------------------------------------------------------------------- */

static const char *question_words(void)
{
    const struct view_lesson *view = stage.lesson;
    return view->step < view->lesson->n_steps ? view->lesson->step[view->step].show.scenario
                                              : view->lesson->recall_scenario;
}

static void check_hints(void)
{
    const struct lesson_question *question = stage.lesson->question;
    char text[VIEW_LESSON_TEXT];
    for (int h = 0; h < question->n_hints; h++) {
        lesson_stage_click(&stage, VIEW_LESSON_HINT, 0, 0.5);
        tell_where("hint");
        lesson_stage_fill(question->hint[h], question_words(), text, sizeof text);
        assert_int_equal(stage.lesson->hints, h + 1);
        assert_string_equal(stage.lesson->hint, text);
        check_says(text);
        if (lesson_stage_tells(text, stage.lesson->answers.right))
            fail_msg("hint %d tells the answer: %s", h + 1, text);
    }
    assert_null(lesson_stage_hit(&stage, VIEW_LESSON_HINT, 0));
    look("hints", false);
}

/* The first answer is this other one: its sentence, and nothing is given away. */
static void check_choice(int choice)
{
    const struct view_lesson *view = stage.lesson;
    char text[VIEW_LESSON_TEXT];
    lesson_stage_fill(view->question->choice[choice].feedback, question_words(), text, sizeof text);
    lesson_stage_answer(&stage, view->answers.choice[choice]);
    look("another answer", false);
    assert_true(view->again);
    assert_int_equal(view->grade.verdict, LESSON_WRONG_KNOWN);
    assert_int_equal(view->grade.choice, choice);
    assert_string_equal(view->grade.feedback, text);
    check_says("Not quite: ");
    check_says(text);
    assert_true(view->step == view->lesson->n_steps || stage.frame->covered);
    lesson_stage_click(&stage, VIEW_LESSON_AGAIN, 0, 0.5);
    assert_false(view->answered);
}

static void check_shown(void)
{
    const struct view_lesson *view = stage.lesson;
    lesson_stage_click(&stage, VIEW_LESSON_SHOW, 0, 0.5);
    view_state_settle(stage.state);
    tell_where("show me");
    assert_true(view->shown);
    assert_int_equal(view->tries, 0);
    assert_true(isnan(view->grade.given));
    check_says("It is ");
    assert_false(says("Not quite"));
}

static void check_right(void)
{
    const struct view_lesson *view = stage.lesson;
    lesson_stage_answer(&stage, view->answers.right);
    look("right", false);
    assert_int_equal(view->grade.verdict, LESSON_RIGHT);
    assert_false(stage.frame->covered);
    check_says("Right: ");
    if (strchr(view->why, '?') || !view->why[0])
        fail_msg("why: \"%s\"", view->why);
    check_says(view->why);
}

/* The step's question, or the recall at the end: answered in all ways, right at last. */
static void play_question(const struct lesson *lesson, int step)
{
    const struct lesson_question *question = stage.lesson->question;
    if (step < lesson->n_steps)
        check_covered();
    check_hints();
    for (int c = 0; c < question->n_choices; c++) {
        if (stage.lesson->answers.choice[c] == stage.lesson->answers.right)
            continue;
        lesson_stage_go(&stage, lesson, step);
        check_choice(c);
    }
    lesson_stage_go(&stage, lesson, step);
    check_shown();
    lesson_stage_go(&stage, lesson, step);
    check_right();
}

/* ---- steps ------------------------------------------------------------------------------- */

static void press_enter(void)
{
    const struct view_input enter = {.kind = VIEW_INPUT_KEY, .key = VIEW_KEY_ENTER};
    view_state_take(stage.state, &enter);
}

static void next(void)
{
    press_enter();
    view_state_settle(stage.state);
}

static void check_may_be_changed(const struct lesson_break *breaks)
{
    for (int o = 0; o < breaks->n_options; o++) {
        bool found = false;
        for (int k = 0; k < stage.frame->n_options; k++)
            found |= strcmp(stage.frame->options[k].name, breaks->options[o]) == 0 &&
                     stage.frame->options[k].editable;
        if (!found)
            fail_msg("there is no chip %s to be changed", breaks->options[o]);
    }
}

static void play_break(const struct lesson_break *breaks)
{
    const struct view_lesson *view = stage.lesson;
    assert_int_equal(view->phase, VIEW_LESSON_BREAK);
    look("break", false);
    check_says(view->task);
    check_may_be_changed(breaks);
    if (!breaks->run)
        return;
    lesson_stage_click(&stage, VIEW_LESSON_RUN_IT, 0, 0.5);
    view_state_settle(stage.state);
    look("broken", false);
    if (!view->consequence[0] || strchr(view->consequence, '?') || view->trouble[0])
        fail_msg("consequence \"%s\", %s", view->consequence, view->trouble);
    check_says(view->consequence);
    assert_true(view->changed);
    lesson_stage_click(&stage, VIEW_LESSON_RETURN, 0, 0.5);
    assert_false(view->changed);
}

static void play_step(const struct lesson *lesson, int s)
{
    const struct lesson_step *step = &lesson->step[s];
    assert_int_equal(stage.lesson->step, s);
    tell_where("begin");
    assert_string_equal(stage.lesson->trouble, "");
    look("begin", true);
    check_stands_at(step->question || !step->show.play_to ? step->show.at : step->show.play_to);
    if (step->question) {
        assert_non_null(stage.lesson->question);
        assert_string_equal(stage.lesson->question->id, step->question->id);
        assert_int_equal(stage.lesson->question->n_choices, step->question->n_choices);
        play_question(lesson, s);
        if (step->question->reveal || step->show.play_to)
            check_stands_at(step->question->reveal ? step->question->reveal : step->show.play_to);
        if (step->breaks)
            next();
    }
    if (step->breaks)
        play_break(step->breaks);
    tell_where("next");
    next();
    assert_int_equal(stage.lesson->step, s + 1);
}

static void test_lesson(void **state)
{
    const struct lesson *lesson = *state;
    lesson_stage_open(&stage, lesson);
    view_state_settle(stage.state);
    for (int s = 0; s < lesson->n_steps; s++)
        play_step(lesson, s);
    assert_int_equal(stage.lesson->phase, VIEW_LESSON_END);
    look("end", false);
    check_says(lesson->now_you_know);
    if (lesson->recall)
        play_question(lesson, lesson->n_steps);
    where[0] = '\0';
}

/* ---- pages ------------------------------------------------------------------------------- */

/* As time goes on, until nothing plays. */
static void wait(void)
{
    for (int tick = 0; tick < 2000; tick++) {
        view_state_tick(stage.state, 50);
        view_state_draw(stage.state);
        if (view_state_idle(stage.state))
            return;
    }
    fail_msg("it plays for 100 seconds");
}

static void test_race(void **unused)
{
    static const char totals[] = "102\u202f400 against 36\u202f992 elements: 2.77 times";
    struct view_scene scene;
    struct view_race race;
    (void)unused;
    lesson_stage_open(&stage, NULL);
    view_player_page(stage.state, VIEW_PAGE_RACE);
    wait();
    assert_int_equal(stage.lesson->race_phase, 1);
    look("race, asked", false);
    view_scene_make(&scene, stage.frame);
    view_race_count(&race, &scene);
    assert_int_equal(race.program[0].in_all, 102400);
    assert_int_equal(lround(100 * (double)race.program[0].landed / 102400), 36);
    assert_int_equal(race.program[1].landed, 36992);
    assert_false(says(totals));
    lesson_stage_click(&stage, VIEW_RACE_GUESS, 0, 0.5);
    press_enter();
    wait();
    assert_int_equal(stage.lesson->race_phase, 3);
    look("race, done", false);
    check_says(totals);
    where[0] = '\0';
}

static void test_contents_and_glossary(void **unused)
{
    (void)unused;
    lesson_stage_open(&stage, NULL);
    view_player_page(stage.state, VIEW_PAGE_CONTENTS);
    look("contents", false);
    for (int i = 0; i < lesson_stage_shelf()->n; i++)
        assert_non_null(lesson_stage_hit(&stage, VIEW_LESSON_OPEN, i));
    view_player_page(stage.state, VIEW_PAGE_GLOSSARY);
    look("glossary", false);
    assert_true(says("attention") || says("Bc") || says("backward pass"));
    where[0] = '\0';
}

static int leave(void **unused)
{
    (void)unused;
    if (where[0])
        print_error("%s\n", where);
    where[0] = '\0';
    lesson_stage_close(&stage);
    return 0;
}

int main(void)
{
    static struct CMUnitTest tests[LESSON_NUMBERS + 2] = {
        {"race", test_race, NULL, leave, NULL},
        {"contents and glossary", test_contents_and_glossary, NULL, leave, NULL},
    };
    const struct lesson_shelf *shelf = lesson_stage_shelf();
    for (int i = 0; i < shelf->n; i++)
        tests[2 + i] = (struct CMUnitTest){shelf->lesson[i]->title, test_lesson, NULL, leave,
                                           shelf->lesson[i]};
    return _cmocka_run_group_tests("lessons", tests, (size_t)shelf->n + 2, NULL,
                                   lesson_stage_close_shelf);
}
