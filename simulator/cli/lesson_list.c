/* flashlab lesson list and show, and what the learner has done. */
#include <jansson.h>
#include <stdio.h>

#include "lessons/learner.h"
#include "simulator/cli/lesson_command.h"

bool cli_lesson_progress(char path[CLI_LESSON_PATH], struct lesson_progress *progress)
{
    if (lesson_progress_path(path, CLI_LESSON_PATH, NULL) != FA_OK ||
        lesson_progress_load(path, progress, NULL) != FA_OK) {
        lesson_progress_reset(progress);
        return false;
    }
    if (progress->kept_backup)
        fprintf(stderr, "flashlab: what was done before cannot be read: it is kept in %s.bak\n",
                path);
    return true;
}

/* How far the learner is; "" where nothing is known of it. */
static void put_state(const struct lesson *lesson, struct lesson_progress *progress, char *text,
                      size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < progress->n; i++) {
        const struct lesson_mark *mark = &progress->mark[i];
        if (mark->number != lesson->number)
            continue;
        if (mark->done || mark->skipped)
            snprintf(text, size, "%s", mark->done ? "done" : "known");
        else
            snprintf(text, size, "step %d of %d", mark->step + 1, lesson->n_steps);
    }
}

static enum fa_status print_list_json(const struct cli_lessons *lessons,
                                      struct lesson_progress *progress, struct fa_error *error)
{
    json_t *list = json_array();
    for (int i = 0; i < lessons->shelf.n; i++) {
        const struct lesson *lesson = lessons->shelf.lesson[i];
        char state[64];
        put_state(lesson, progress, state, sizeof state);
        json_array_append_new(list,
                              json_pack("{s:i,s:s,s:s,s:i,s:i,s:i,s:i,s:s,s:s}", "lesson",
                                        lesson->number, "title", lesson->title, "chapter",
                                        lesson->chapter, "minutes", lesson->minutes, "level",
                                        lesson->level, "steps", lesson->n_steps, "questions",
                                        lesson->n_questions, "state", state, "file", lesson->file));
    }
    if (!list || json_array_size(list) != (size_t)lessons->shelf.n) {
        json_decref(list);
        return fa_fail(error, FA_NO_MEMORY, "no memory to list the lessons");
    }
    json_dumpf(list, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(list);
    return FA_OK;
}

enum fa_status cli_lesson_list(struct cli_lessons *lessons, struct fa_error *error)
{
    struct lesson_progress progress;
    char path[CLI_LESSON_PATH];
    int width = 0;
    cli_lesson_progress(path, &progress); /* a list is worth printing without what was done */
    if (lessons->options->base.format == CLI_JSON_FORMAT)
        return print_list_json(lessons, &progress, error);
    for (int i = 0; i < lessons->shelf.n; i++) {
        int n = cli_lesson_columns(lessons->shelf.lesson[i]->title);
        width = n > width ? n : width;
    }
    for (int i = 0; i < lessons->shelf.n; i++) {
        const struct lesson *lesson = lessons->shelf.lesson[i];
        char state[64];
        put_state(lesson, &progress, state, sizeof state);
        printf("%-2d  %s%*s  %2d min  level %d%s%s\n", lesson->number, lesson->title,
               width - cli_lesson_columns(lesson->title), "", lesson->minutes, lesson->level,
               state[0] ? "  " : "", state);
    }
    return FA_OK;
}

/* ---- show --------------------------------------------------------------------------------- */

enum fa_status cli_lesson_heading(const struct cli_lessons *lessons, const struct lesson *lesson,
                                  struct fa_error *error)
{
    char note[CLI_LESSON_NOTE];
    enum fa_status status = cli_lesson_seed_note(lessons, lesson, note, error);
    if (status != FA_OK)
        return status;
    printf("Lesson %d: %s\n%s, %d minutes, level %d\n", lesson->number, lesson->title,
           lesson->chapter, lesson->minutes, lesson->level);
    if (note[0])
        printf("%s\n", note);
    return FA_OK;
}

enum fa_status cli_lesson_step(const struct cli_lessons *lessons, const struct lesson *lesson,
                               int index, const struct lesson_answer_key *key,
                               struct fa_error *error)
{
    const struct lesson_step *step = &lesson->step[index];
    char words[LESSON_WORDS], title[CLI_LESSON_TEXT];
    enum fa_status status = cli_lesson_words(lessons, lesson, step->show.scenario, words, error);
    if (status == FA_OK)
        status = cli_lesson_fill_open(lessons, lesson, key, index, step->line, step->title, words,
                                      title, error);
    if (status != FA_OK)
        return status;
    printf("\n%d of %d  %s\n", index + 1, lesson->n_steps, title);
    status = cli_lesson_blocks(stdout, false, lessons, lesson, index, key, error);
    if (status == FA_OK && step->question) {
        putchar('\n');
        status = cli_lesson_ask(stdout, false, lessons, lesson, step->question, words, error);
    }
    return status;
}

enum fa_status cli_lesson_task(const struct cli_lessons *lessons, const struct lesson *lesson,
                               int index, const struct lesson_answer_key *key,
                               struct fa_error *error)
{
    const struct lesson_step *step = &lesson->step[index];
    char words[LESSON_WORDS], task[CLI_LESSON_TEXT];
    enum fa_status status = cli_lesson_words(lessons, lesson, step->show.scenario, words, error);
    if (status == FA_OK)
        status = cli_lesson_fill_open(lessons, lesson, key, index, step->breaks->line,
                                      step->breaks->text, words, task, error);
    if (status != FA_OK)
        return status;
    putchar('\n');
    cli_lesson_wrap(stdout, "> ", 2, task);
    return FA_OK;
}

enum fa_status cli_lesson_recall(const struct cli_lessons *lessons, const struct lesson *lesson,
                                 char words[LESSON_WORDS], struct fa_error *error)
{
    enum fa_status status =
        cli_lesson_words(lessons, lesson, lesson->recall_scenario, words, error);
    if (status != FA_OK)
        return status;
    fputs("\nOne question from an earlier lesson:\n", stdout);
    return cli_lesson_ask(stdout, false, lessons, lesson, lesson->recall, words, error);
}

enum fa_status cli_lesson_show(struct cli_lessons *lessons, const struct lesson *lesson,
                               struct fa_error *error)
{
    char words[LESSON_WORDS];
    struct lesson_answer_key key;
    enum fa_status status = cli_lesson_key(lessons, lesson, &key, error);
    if (status == FA_OK)
        status = cli_lesson_heading(lessons, lesson, error);
    for (int s = 0; s < lesson->n_steps && status == FA_OK; s++) {
        status = cli_lesson_step(lessons, lesson, s, &key, error);
        if (status == FA_OK && lesson->step[s].breaks)
            status = cli_lesson_task(lessons, lesson, s, &key, error);
    }
    if (status == FA_OK && lesson->recall)
        status = cli_lesson_recall(lessons, lesson, words, error);
    return status;
}
