/* flashlab lesson check: reads lessons, runs their scenarios, computes all of their questions and
 * texts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/lesson_check.h"
#include "visualizer/scene.h"

void cli_check_tell(struct cli_findings *findings, int number, const char *text, bool fault)
{
    findings->faults += fault;
    if (findings->list)
        json_array_append_new(findings->list, json_pack("{s:i,s:b,s:s}", "lesson", number, "ok",
                                                        !fault, "text", text));
    else
        printf("%s%s\n", fault ? "" : number < 0 ? "note  " : "ok  ", text);
}

bool cli_check_is_fine(const struct cli_check *check, enum fa_status status,
                       const struct fa_error *error)
{
    if (status == FA_OK)
        return true;
    cli_check_tell(check->findings, check->lesson->number, error->text, true);
    return false;
}

static void fill(const struct cli_check *check, int line, const char *text, const char *words)
{
    char out[CLI_LESSON_TEXT];
    struct fa_error error;
    if (text)
        cli_check_is_fine(
            check, cli_lesson_fill(check->lessons, check->lesson, line, text, words, out, &error),
            &error);
}

/* Where the expression decides, only a run says which choices are wrong. */
static void check_feedback(const struct cli_check *check, const struct lesson_question *question,
                           const struct lesson_answers *answers)
{
    struct fa_error error;
    for (int c = 0; c < question->n_choices && question->kind == LESSON_CHOICE; c++) {
        if (question->choice[c].feedback || cli_lesson_is_right(question, answers, c))
            continue;
        fa_fail(&error, FA_BAD_FILE,
                "%.300s:%d: question %s: choice %d has no feedback and is not the answer: expected "
                "what that answer would mean",
                check->lesson->file, question->line, question->id, c + 1);
        cli_check_is_fine(check, FA_BAD_FILE, &error);
    }
}

/* Of two choices in the same words nobody can tell which to take. */
static void check_labels(const struct cli_check *check, const struct lesson_question *question)
{
    struct fa_error error;
    for (int c = 0; c < question->n_choices; c++)
        for (int d = 0; d < c; d++) {
            if (!question->choice[c].label || !question->choice[d].label ||
                strcmp(question->choice[c].label, question->choice[d].label) != 0)
                continue;
            fa_fail(&error, FA_BAD_FILE,
                    "%.300s:%d: question %s: choices %d and %d are both '%.100s': expected "
                    "different words",
                    check->lesson->file, question->line, question->id, d + 1, c + 1,
                    question->choice[c].label);
            cli_check_is_fine(check, FA_BAD_FILE, &error);
        }
}

static void check_question(const struct cli_check *check, const struct lesson_question *question,
                           const char *words)
{
    struct lesson_answers answers;
    struct fa_error error;
    enum fa_status status =
        lesson_answers_of(check->lesson, question, words,
                          cli_lesson_runner_face(check->lessons->runner), &answers, &error);
    if (!cli_check_is_fine(check, status, &error))
        return;
    if (question->kind == LESSON_SLIDER &&
        !(answers.right >= question->low && answers.right <= question->high)) {
        fa_fail(&error, FA_BAD_FILE,
                "%.300s:%d: question %s: the answer is %g: expected one on the slider, %g to %g",
                check->lesson->file, question->line, question->id, answers.right, question->low,
                question->high);
        cli_check_is_fine(check, FA_BAD_FILE, &error);
    }
    check_feedback(check, question, &answers);
    check_labels(check, question);
    fill(check, question->line, question->text, words);
    fill(check, question->line, question->why, words);
    for (int h = 0; h < question->n_hints; h++)
        fill(check, question->line, question->hint[h], words);
    for (int c = 0; c < question->n_choices; c++) {
        fill(check, question->line, question->choice[c].label, words);
        fill(check, question->line, question->choice[c].feedback, words);
    }
}

/* A place of the step's run. */
static void check_place(const struct cli_check *check, const struct lesson_step *step,
                        const struct view_run *run, const char *name, const char *place)
{
    struct view_position at;
    struct fa_error inner, error;
    if (!place || view_position_parse(run, place, &at, &inner) == FA_OK)
        return;
    fa_fail(&error, FA_BAD_FILE, "%.300s:%d: %s %s: %s", check->lesson->file, step->line, name,
            place, inner.text);
    cli_check_is_fine(check, FA_BAD_FILE, &error);
}

/* What plays on ends behind where it begins. */
static void check_order(const struct cli_check *check, const struct lesson_step *step,
                        const struct view_run *run)
{
    const struct lesson_show *show = &step->show;
    struct view_position at, to;
    struct fa_error error;
    if (!show->at || !show->play_to || view_position_parse(run, show->at, &at, NULL) != FA_OK ||
        view_position_parse(run, show->play_to, &to, NULL) != FA_OK || to.landed > at.landed ||
        (to.landed == at.landed && to.flight > at.flight))
        return;
    fa_fail(&error, FA_BAD_FILE, "%.300s:%d: play_to %s: expected a place behind at %s",
            check->lesson->file, step->line, show->play_to, show->at);
    cli_check_is_fine(check, FA_BAD_FILE, &error);
}

/* The run that one of the words is compared with. */
static enum fa_status run_second(const struct cli_check *check, const char *words,
                                 const char *compare, struct view_run **run, struct fa_error *error)
{
    char second[LESSON_WORDS];
    enum fa_status status = lesson_words_join(words, compare, second, sizeof second, error);
    return status == FA_OK ? cli_lesson_run(check->lessons->runner, second, run, error) : status;
}

/* Which of the things that the step points to the run has, besides those found before. */
static void find_points(const struct lesson_show *show, const struct view_run *run,
                        bool found[LESSON_POINTS])
{
    for (int p = 0; p < show->n_points; p++)
        found[p] = found[p] || view_point_there(run, show->point[p]);
}

static void check_points(const struct cli_check *check, const struct lesson_step *step,
                         const bool found[LESSON_POINTS])
{
    struct fa_error error;
    for (int p = 0; p < step->show.n_points; p++) {
        if (found[p])
            continue;
        fa_fail(&error, FA_BAD_FILE, "%.300s:%d: points %s: expected something that its run has",
                check->lesson->file, step->line, step->show.point[p]);
        cli_check_is_fine(check, FA_BAD_FILE, &error);
    }
}

/* The run of the card's key frame. */
static void check_card(const struct cli_check *check)
{
    const struct lesson_show *show = &check->lesson->card_show;
    struct view_run *run;
    struct fa_error inner, error;
    if (!show->scenario)
        return;
    enum fa_status status = cli_lesson_run(check->lessons->runner, show->scenario, &run, &inner);
    if (status == FA_OK && show->compare)
        status = run_second(check, show->scenario, show->compare, &run, &inner);
    if (status == FA_OK)
        return;
    fa_fail(&error, FA_BAD_FILE, "%.300s:%d: card_show: %s", check->lesson->file,
            check->lesson->card_show_line, inner.text);
    cli_check_is_fine(check, FA_BAD_FILE, &error);
}

static void check_run(const struct cli_check *check, const struct lesson_step *step,
                      const char *words)
{
    struct view_run *run;
    struct fa_error inner, error;
    bool found[LESSON_POINTS] = {false};
    enum fa_status status = cli_lesson_run(check->lessons->runner, words, &run, &inner);
    if (status == FA_OK) {
        find_points(&step->show, run, found);
        check_place(check, step, run, "at", step->show.at);
        check_place(check, step, run, "play_to", step->show.play_to);
        check_order(check, step, run);
        check_place(check, step, run, "reveal", step->question ? step->question->reveal : NULL);
    }
    if (status == FA_OK && step->show.compare) {
        status = run_second(check, words, step->show.compare, &run, &inner);
        if (status == FA_OK)
            find_points(&step->show, run, found);
    }
    if (status == FA_OK)
        check_points(check, step, found);
    if (status != FA_OK) {
        fa_fail(&error, FA_BAD_FILE, "%.300s:%d: its run: %s", check->lesson->file, step->line,
                inner.text);
        cli_check_is_fine(check, FA_BAD_FILE, &error);
    }
}

/* The L2 of the step: its run can be counted, and modelled. */
static void check_l2(const struct cli_check *check, const struct lesson_step *step,
                     const char *words)
{
    char with_l2[LESSON_WORDS];
    double bytes;
    struct fa_error inner, error;
    if (!step->show.l2)
        return;
    enum fa_status status =
        lesson_words_join(words, step->show.l2, with_l2, sizeof with_l2, &inner);
    if (status == FA_OK)
        status = lesson_evaluate("dram()", with_l2, cli_lesson_runner_face(check->lessons->runner),
                                 &bytes, &inner);
    if (status == FA_OK)
        return;
    fa_fail(&error, FA_BAD_FILE, "%.300s:%d: l2 %s: %s", check->lesson->file, step->line,
            step->show.l2, inner.text);
    cli_check_is_fine(check, FA_BAD_FILE, &error);
}

/* What may be changed are options of a run. */
static void check_options(const struct cli_check *check, const struct lesson_break *breaks)
{
    enum { MOST = 64 };
    static const struct cli_group *const groups[] = {&cli_problem_group, &cli_sparse_group,
                                                     &cli_machine_group, &cli_input_group};
    const char *names[MOST];
    struct fa_error error;
    int n = 0;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (int o = 0; o < groups[g]->n_options && n < MOST; o++)
            names[n++] = groups[g]->options[o].name;
    for (int i = 0; i < breaks->n_options; i++) {
        int k = 0;
        while (k < n && strcmp(names[k], breaks->options[i]) != 0)
            k++;
        if (k < n)
            continue;
        const char *near = cli_nearest(breaks->options[i], names, n);
        fa_fail(&error, FA_BAD_FILE,
                "%.300s:%d: the option '%s' of a break: expected one of a run's%s%s%s",
                check->lesson->file, breaks->line, breaks->options[i],
                near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        cli_check_is_fine(check, FA_BAD_FILE, &error);
    }
}

static void check_break(const struct cli_check *check, const struct lesson_step *step)
{
    char words[LESSON_WORDS];
    struct fa_error error;
    check_options(check, step->breaks);
    if (cli_check_is_fine(check,
                          cli_lesson_changed(check->lessons, check->lesson, step->show.scenario,
                                             step->breaks->run, words, &error),
                          &error)) {
        fill(check, step->breaks->line, step->breaks->text, words);
        fill(check, step->breaks->line, step->breaks->consequence, words);
    }
}

/* All steps and the recalled question, with the sizes that the lessons' seed has. */
static void check_steps(const struct cli_check *check)
{
    const struct lesson *lesson = check->lesson;
    char words[LESSON_WORDS];
    struct fa_error error;
    for (int s = 0; s < lesson->n_steps; s++) {
        const struct lesson_step *step = &lesson->step[s];
        enum fa_status status =
            cli_lesson_words(check->lessons, lesson, step->show.scenario, words, &error);
        if (!cli_check_is_fine(check, status, &error))
            continue;
        check_run(check, step, words);
        check_l2(check, step, words);
        fill(check, step->line, step->title, words);
        for (int b = 0; b < step->n_blocks; b++)
            if (step->block[b].kind != LESSON_CODE)
                fill(check, step->block[b].line, step->block[b].text, words);
        if (step->question)
            check_question(check, step->question, words);
        if (step->breaks)
            check_break(check, step);
    }
    if (lesson->recall &&
        cli_check_is_fine(
            check, cli_lesson_words(check->lessons, lesson, lesson->recall_scenario, words, &error),
            &error))
        check_question(check, lesson->recall, words);
}

/* The same for each of the sizes that a student's seed may pick. */
static void check_varied(const struct cli_check *check)
{
    const struct lesson *lesson = check->lesson;
    struct cli_lessons seeded = *check->lessons;
    const struct cli_check varied = {&seeded, lesson, check->findings};
    for (int v = 0; v < lesson->n_varies && check->lessons->seed < 0; v++) {
        char text[LESSON_WORDS + 512];
        int before = check->findings->faults;
        seeded.seed = cli_lesson_seed_of(lesson, v);
        check_steps(&varied);
        if (check->findings->faults == before)
            continue;
        snprintf(text, sizeof text,
                 "%.300s: that was with '%s' of vary, as --seed %" PRId64 " has it", lesson->file,
                 lesson->vary[v], seeded.seed);
        cli_check_tell(check->findings, lesson->number, text, true);
        return;
    }
}

static void check_lesson(const struct cli_check *check)
{
    const struct lesson *lesson = check->lesson;
    char text[1024];
    int before = check->findings->faults;
    cli_check_options(check);
    if (check->findings->faults > before)
        return; /* no run that they are of can be made */
    check_card(check);
    check_steps(check);
    cli_check_open(check);
    if (check->findings->faults == before)
        check_varied(check);
    if (check->findings->faults > before)
        return;
    int questions = lesson->n_questions + (lesson->recall ? 1 : 0);
    snprintf(text, sizeof text, "%d %s: %d step%s, %d question%s", lesson->number, lesson->title,
             lesson->n_steps, lesson->n_steps == 1 ? "" : "s", questions,
             questions == 1 ? "" : "s");
    cli_check_tell(check->findings, lesson->number, text, false);
}

/* ---- all ----------------------------------------------------------------------------------- */

static enum fa_status check_shelf(struct cli_lessons *lessons, int number,
                                  struct cli_findings *findings, struct fa_error *error)
{
    if (number >= 0 && !lesson_find(&lessons->shelf, number))
        return fa_fail(error, FA_BAD_ARGUMENT, "lesson %d: there is none of that number in %.800s",
                       number, lessons->shelf.folder);
    enum fa_status status = cli_lesson_runner_open(lessons->shelf.folder, &lessons->runner, error);
    for (int i = 0; i < lessons->shelf.n && status == FA_OK; i++) {
        const struct cli_check check = {lessons, lessons->shelf.lesson[i], findings};
        if (number < 0 || number == check.lesson->number)
            check_lesson(&check);
    }
    cli_lesson_runner_close(lessons->runner);
    lessons->runner = NULL;
    return status;
}

enum fa_status cli_lesson_check(const struct cli_lesson_options *options, int number,
                                int *exit_status, struct fa_error *error)
{
    struct cli_lessons lessons = {.options = options, .seed = options->seed};
    struct cli_findings findings = {.list = NULL};
    struct fa_error bad;
    if (options->base.format == CLI_JSON_FORMAT && !(findings.list = json_array()))
        return fa_fail(error, FA_NO_MEMORY, "no memory for the findings");
    enum fa_status status = lesson_shelf_open(options->lessons, &lessons.shelf, &bad);
    if (status == FA_OK) {
        cli_check_names(lessons.shelf.folder, &findings);
        status = check_shelf(&lessons, number, &findings, error);
        *exit_status = findings.faults ? CLI_CHECK_FAILED : CLI_FINE;
        lesson_shelf_close(&lessons.shelf);
    } else if (status == FA_BAD_FILE) {
        if (options->lessons) {
            cli_check_names(options->lessons, &findings);
            cli_check_files(options->lessons, number, &findings);
        }
        if (findings.faults == 0) /* they are at odds with each other */
            cli_check_tell(&findings, number, bad.text, true);
        *exit_status = CLI_REFUSED;
        status = FA_OK;
    } else {
        *error = bad;
    }
    if (status == FA_OK && findings.list) {
        json_dumpf(findings.list, stdout, JSON_INDENT(2));
        putchar('\n');
    }
    json_decref(findings.list);
    return status;
}
