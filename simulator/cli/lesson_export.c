/* flashlab lesson export: a handout that survives grey print, and its answers apart. */
#include <inttypes.h>
#include <string.h>

#include "simulator/cli/lesson_command.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/view.h"

struct handout {
    const struct cli_lessons *lessons;
    const struct lesson *lesson;
    const char *folder;
    struct lesson_answer_key key; /* what is left blank */
};

static enum fa_status print_title(FILE *file, const struct handout *handout, const char *what,
                                  struct fa_error *error)
{
    char note[CLI_LESSON_NOTE];
    enum fa_status status = cli_lesson_seed_note(handout->lessons, handout->lesson, note, error);
    if (status != FA_OK)
        return status;
    const struct lesson *lesson = handout->lesson;
    fprintf(file, "# %d. %s%s\n\n%s, %d minutes, level %d", lesson->number, lesson->title, what,
            lesson->chapter, lesson->minutes, lesson->level);
    if (handout->lessons->seed >= 0)
        fprintf(file, ", seed %" PRId64, handout->lessons->seed);
    fprintf(file, "\n%s%s%s", note[0] ? "\n" : "", note, note[0] ? "\n" : "");
    return FA_OK;
}

/* Where the answer goes, on paper. */
static void print_blank(FILE *file, const struct lesson_question *question)
{
    const char *unit = question->unit ? question->unit : "";
    fprintf(file, "\nAnswer `%s`: ______________ %s\n", question->id,
            question->kind == LESSON_CHOICE ? "" : unit);
}

static enum fa_status print_question(FILE *file, const struct handout *handout,
                                     const struct lesson_question *question, lesson_words scenario,
                                     struct fa_error *error)
{
    char words[LESSON_WORDS];
    enum fa_status status =
        cli_lesson_words(handout->lessons, handout->lesson, scenario, words, error);
    fputc('\n', file);
    if (status == FA_OK)
        status =
            cli_lesson_ask(file, true, handout->lessons, handout->lesson, question, words, error);
    if (status == FA_OK)
        print_blank(file, question);
    return status;
}

/* The stage as it stands while the question is open. *drawn: this build draws. */
static enum fa_status draw_step(const struct handout *handout, int index, bool *drawn,
                                struct fa_error *error)
{
    char path[4096];
    snprintf(path, sizeof path, "%.4000s/step-%d.png", handout->folder, index + 1);
    enum fa_status status =
        cli_view_lesson_print(handout->lessons, handout->lesson->number, index, path, error);
    *drawn = status == FA_OK;
    return status == FA_MISSING_PART ? FA_OK : status;
}

static enum fa_status print_step(FILE *file, const struct handout *handout, int index,
                                 struct fa_error *error)
{
    const struct lesson_step *step = &handout->lesson->step[index];
    char words[LESSON_WORDS], text[CLI_LESSON_TEXT];
    bool drawn = false;
    enum fa_status status =
        cli_lesson_words(handout->lessons, handout->lesson, step->show.scenario, words, error);
    if (status == FA_OK)
        status = cli_lesson_fill_open(handout->lessons, handout->lesson, &handout->key, index,
                                      step->line, step->title, words, text, error);
    if (status == FA_OK)
        status = draw_step(handout, index, &drawn, error);
    if (status != FA_OK)
        return status;
    fprintf(file, "\n## %s\n\n", text);
    const char *at = !step->question && step->show.play_to ? step->show.play_to : step->show.at;
    if (drawn)
        fprintf(file, "![The stage of step %d, at %s of `flashlab view %s`](step-%d.png)\n\n",
                index + 1, at, words, index + 1);
    status = cli_lesson_blocks(file, true, handout->lessons, handout->lesson, index, &handout->key,
                               error);
    if (status == FA_OK && step->question)
        status = print_question(file, handout, step->question, step->show.scenario, error);
    if (status == FA_OK && step->breaks) {
        status = cli_lesson_fill_open(handout->lessons, handout->lesson, &handout->key, index,
                                      step->breaks->line, step->breaks->text, words, text, error);
        if (status == FA_OK)
            fprintf(file, "\n*Break it:* %s", text);
        if (status == FA_OK)
            status = cli_lesson_see(handout->lessons, handout->lesson, index, text, error);
        if (status == FA_OK)
            fprintf(file, " (`%s`)\n", text);
    }
    return status;
}

static enum fa_status print_handout(FILE *file, const struct handout *handout,
                                    struct fa_error *error)
{
    enum fa_status status = print_title(file, handout, "", error);
    fputs("\nName: ____________________\n", file);
    for (int s = 0; s < handout->lesson->n_steps && status == FA_OK; s++)
        status = print_step(file, handout, s, error);
    if (status == FA_OK && handout->lesson->recall) {
        fputs("\n## One question from an earlier lesson\n", file);
        status = print_question(file, handout, handout->lesson->recall,
                                handout->lesson->recall_scenario, error);
    }
    return status;
}

/* ---- answers ------------------------------------------------------------------------------- */

static enum fa_status print_wrong(FILE *file, const struct handout *handout,
                                  const struct lesson_question *question,
                                  const struct lesson_answers *answers, const char *words,
                                  struct fa_error *error)
{
    char label[CLI_LESSON_TEXT], text[CLI_LESSON_TEXT];
    enum fa_status status = FA_OK;
    const char *apart = "\n"; /* of the first */
    for (int c = 0; c < question->n_choices && status == FA_OK; c++) {
        if (!question->choice[c].feedback || cli_lesson_is_right(question, answers, c))
            continue;
        status = cli_lesson_choice(handout->lessons, handout->lesson, question, c, answers, words,
                                   label, error);
        if (status == FA_OK)
            status = cli_lesson_fill(handout->lessons, handout->lesson, question->line,
                                     question->choice[c].feedback, words, text, error);
        size_t n = strlen(label); /* a choice that is a sentence has its full stop already */
        if (status == FA_OK)
            fprintf(file, "%s- %s%s %s\n", apart, label, n > 0 && label[n - 1] == '.' ? "" : ":",
                    text);
        apart = "";
    }
    return status;
}

static enum fa_status print_answer(FILE *file, const struct handout *handout,
                                   const struct lesson_question *question, lesson_words scenario,
                                   struct fa_error *error)
{
    char words[LESSON_WORDS], right[CLI_LESSON_TEXT], why[CLI_LESSON_TEXT];
    struct lesson_answers answers;
    const struct cli_lessons *lessons = handout->lessons;
    enum fa_status status = cli_lesson_words(lessons, handout->lesson, scenario, words, error);
    if (status == FA_OK)
        status = lesson_answers_of(handout->lesson, question, words,
                                   cli_lesson_runner_face(lessons->runner), &answers, error);
    if (status == FA_OK)
        status =
            cli_lesson_right(lessons, handout->lesson, question, &answers, words, right, error);
    if (status == FA_OK)
        status = cli_lesson_fill(lessons, handout->lesson, question->line, question->why, words,
                                 why, error);
    if (status != FA_OK)
        return status;
    fprintf(file, "\n## `%s`: %s\n\n%s\n\nOf `flashlab view %s`.\n", question->id, right, why,
            words);
    return print_wrong(file, handout, question, &answers, words, error);
}

static enum fa_status print_consequences(FILE *file, const struct handout *handout,
                                         struct fa_error *error)
{
    char words[LESSON_WORDS], text[CLI_LESSON_TEXT];
    enum fa_status status = FA_OK;
    for (int s = 0; s < handout->lesson->n_steps && status == FA_OK; s++) {
        const struct lesson_step *step = &handout->lesson->step[s];
        if (!step->breaks || !step->breaks->run)
            continue;
        status = cli_lesson_changed(handout->lessons, handout->lesson, step->show.scenario,
                                    step->breaks->run, words, error);
        if (status == FA_OK)
            status = cli_lesson_fill(handout->lessons, handout->lesson, step->breaks->line,
                                     step->breaks->consequence, words, text, error);
        if (status == FA_OK)
            fprintf(file, "\n## Step %d, broken with `%s`\n\n%s\n", s + 1, step->breaks->run, text);
    }
    return status;
}

static enum fa_status print_answers(FILE *file, const struct handout *handout,
                                    struct fa_error *error)
{
    const struct lesson_question *question;
    lesson_words scenario;
    enum fa_status status = print_title(file, handout, ": answers", error);
    for (int q = 0;
         status == FA_OK && cli_lesson_question(handout->lesson, q, &question, &scenario); q++)
        status = print_answer(file, handout, question, scenario, error);
    for (int s = 0; s < handout->lesson->n_steps && status == FA_OK; s++)
        status =
            cli_lesson_filled(file, handout->lessons, handout->lesson, s, &handout->key, error);
    if (status == FA_OK)
        status = print_consequences(file, handout, error);
    if (status == FA_OK)
        fprintf(file, "\n## What they now know\n\n%s\n", handout->lesson->now_you_know);
    return status;
}

/* ---- files --------------------------------------------------------------------------------- */

static enum fa_status write_file(const struct handout *handout, const char *name,
                                 enum fa_status (*print)(FILE *file, const struct handout *handout,
                                                         struct fa_error *error),
                                 struct fa_error *error)
{
    char path[4096];
    struct cli_file file;
    snprintf(path, sizeof path, "%.4000s/%s", handout->folder, name);
    enum fa_status status = cli_file_open(&file, path, error);
    if (status != FA_OK)
        return status;
    status = print(file.file, handout, error);
    if (status == FA_OK)
        return cli_file_commit(&file, error);
    cli_file_discard(&file);
    return status;
}

enum fa_status cli_lesson_export(struct cli_lessons *lessons, const struct lesson *lesson,
                                 struct fa_error *error)
{
    struct handout handout = {
        .lessons = lessons, .lesson = lesson, .folder = lessons->options->out};
    enum fa_status status = cli_lesson_key(lessons, lesson, &handout.key, error);
    if (status == FA_OK)
        status = cli_folder_make(handout.folder, error);
    if (status == FA_OK)
        status = write_file(&handout, "handout.md", print_handout, error);
    if (status == FA_OK)
        status = write_file(&handout, "answers.md", print_answers, error);
    if (status == FA_OK)
        printf("%s/handout.md, and apart from it answers.md\n", handout.folder);
    return status;
}
