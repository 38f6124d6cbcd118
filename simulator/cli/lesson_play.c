/* flashlab lesson play: a lesson in a terminal, or its answers from a pipe, a line each. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lessons/learner.h"
#include "simulator/cli/lesson_command.h"

struct play {
    const struct cli_lessons *lessons;
    const struct lesson *lesson;
    bool terminal; /* someone types: steps wait for Enter, and progress is saved */
    bool quits;
};

/* The next line without the blanks around it; false at the end of the input, which ends the lesson.
 */
static bool read_line(struct play *play, const char *prompt, char line[256])
{
    fputs(prompt, stdout);
    fflush(stdout);
    if (!fgets(line, 256, stdin)) {
        putchar('\n');
        play->quits = true;
        return false;
    }
    size_t n = strlen(line);
    for (int c = n > 0 && line[n - 1] != '\n' ? getchar() : '\n'; c != '\n' && c != EOF;
         c = getchar())
        ; /* no answer is as long as that: the rest of the line is left out */
    while (n > 0 && isspace((unsigned char)line[n - 1]))
        line[--n] = '\0';
    size_t blank = strspn(line, " \t");
    memmove(line, line + blank, n - (blank < n ? blank : n) + 1);
    if (!play->terminal)
        printf("%s\n", line); /* so that what was answered stands in the output */
    if (strcmp(line, "q") == 0)
        play->quits = true;
    return !play->quits;
}

static enum fa_status say(const struct play *play, int line, const char *text, const char *words,
                          struct fa_error *error)
{
    char filled[CLI_LESSON_TEXT];
    enum fa_status status =
        cli_lesson_fill(play->lessons, play->lesson, line, text, words, filled, error);
    if (status == FA_OK)
        cli_lesson_wrap(stdout, "  ", 2, filled);
    return status;
}

/* What the run gives, and why. */
static enum fa_status reveal(const struct play *play, const struct lesson_question *question,
                             const char *words, struct fa_error *error)
{
    char text[CLI_LESSON_TEXT];
    struct lesson_answers answers;
    enum fa_status status =
        lesson_answers_of(play->lesson, question, words,
                          cli_lesson_runner_face(play->lessons->runner), &answers, error);
    if (status == FA_OK)
        status =
            cli_lesson_right(play->lessons, play->lesson, question, &answers, words, text, error);
    if (status != FA_OK)
        return status;
    cli_lesson_wrap(stdout, "  The run gives: ", 4, text);
    return say(play, question->line, question->why, words, error);
}

static enum fa_status hint(const struct play *play, const struct lesson_question *question,
                           const char *words, int *shown, struct fa_error *error)
{
    if (*shown == question->n_hints) {
        puts(question->n_hints ? "  There are no more hints. s shows the answer."
                               : "  There is no hint. s shows the answer.");
        return FA_OK;
    }
    printf("  Hint %d of %d:\n", *shown + 1, question->n_hints);
    return say(play, question->line, question->hint[(*shown)++], words, error);
}

/* Grades a line. *open: it is to be answered still. */
static enum fa_status take_answer(const struct play *play, const struct lesson_question *question,
                                  const char *words, const char *line, int *tries, bool *open,
                                  struct fa_error *error)
{
    struct lesson_grade grade;
    struct fa_error inner;
    enum fa_status status =
        lesson_grade_answer(play->lesson, question, words,
                            cli_lesson_runner_face(play->lessons->runner), line, &grade, &inner);
    if (status == FA_BAD_ARGUMENT) {
        printf("  %s\n", inner.text);
        return FA_OK;
    }
    if (status != FA_OK)
        return fa_fail(error, status, "%s", inner.text);
    cli_lesson_wrap(stdout, grade.verdict == LESSON_RIGHT ? "  Yes. " : "  ", 2, grade.feedback);
    *open = grade.verdict != LESSON_RIGHT && ++*tries < 2;
    if (*open)
        puts("  Try once more.");
    else if (grade.verdict != LESSON_RIGHT)
        return reveal(play, question, words, error);
    return FA_OK;
}

/* Until it was answered, twice at most, or shown. */
static enum fa_status ask(struct play *play, const struct lesson_question *question,
                          const char *words, struct fa_error *error)
{
    char line[256];
    int hints = 0, tries = 0;
    bool open = true;
    enum fa_status status = FA_OK;
    while (open && status == FA_OK &&
           read_line(play, "  Your answer (h hint, s show me, q quit): ", line)) {
        if (strcmp(line, "h") == 0 || strcmp(line, "hint") == 0) {
            status = hint(play, question, words, &hints, error);
        } else if (strcmp(line, "s") == 0) {
            open = false;
            status = reveal(play, question, words, error);
        } else if (line[0]) {
            status = take_answer(play, question, words, line, &tries, &open, error);
        }
    }
    return status;
}

/* Only what the step names may change. */
static bool may_change(const struct lesson_break *breaks, const char *line)
{
    for (const char *at = line; (at = strstr(at, "--"));) {
        size_t n = strcspn(at += 2, " =");
        bool named = false;
        for (int i = 0; i < breaks->n_options; i++)
            named = named ||
                    (strlen(breaks->options[i]) == n && strncmp(at, breaks->options[i], n) == 0);
        if (!named)
            return false;
    }
    return true;
}

static enum fa_status consequence(const struct play *play, const struct lesson_step *step,
                                  const char *changes, struct fa_error *error)
{
    char words[LESSON_WORDS];
    enum fa_status status =
        cli_lesson_changed(play->lessons, play->lesson, step->show.scenario, changes, words, error);
    if (status != FA_OK)
        return status;
    printf("  flashlab view %s\n", words);
    return say(play, step->breaks->line, step->breaks->consequence, words, error);
}

/* What is wrong with the learner's change, without the file's name and line: those are its
 * author's. */
static const char *without_file(const struct lesson *lesson, const char *text)
{
    size_t n = strlen(lesson->file);
    const char *after = strncmp(text, lesson->file, n) == 0 ? strstr(text + n, ": ") : NULL;
    return after ? after + 2 : text;
}

/* The learner's change, or the lesson's where there is none. */
static enum fa_status try_it(struct play *play, int index, struct fa_error *error)
{
    const struct lesson_step *step = &play->lesson->step[index];
    const struct lesson_break *breaks = step->breaks;
    struct fa_error inner;
    char line[256];
    enum fa_status status = cli_lesson_task(play->lessons, play->lesson, index, NULL, error);
    if (status != FA_OK)
        return status;
    if (!play->terminal)
        return breaks->run ? consequence(play, step, breaks->run, error) : FA_OK;
    for (int i = 0; i < breaks->n_options; i++)
        printf("%s--%s", i ? ", " : "  You may change: ", breaks->options[i]);
    fputs(breaks->n_options ? "\n" : "", stdout);
    while (read_line(play,
                     breaks->run ? "  r to run it, options to try, Enter to go on: "
                                 : "  Options to try, Enter to go on: ",
                     line) &&
           line[0]) {
        const char *changes = strcmp(line, "r") == 0 && breaks->run ? breaks->run : line;
        if (changes == line && (line[0] != '-' || !may_change(breaks, line)))
            puts("  Only what may be changed, as --n 32.");
        else if (consequence(play, step, changes, &inner) != FA_OK)
            cli_lesson_wrap(stdout, "  ", 2, without_file(play->lesson, inner.text));
    }
    return FA_OK;
}

/* ---- the lesson --------------------------------------------------------------------------- */

/* Someone who types has a place to come back to. NULL: there is none, and the lesson goes on without
 * it. */
static struct lesson_mark *load_mark(const struct play *play, char path[CLI_LESSON_PATH],
                                     struct lesson_progress *progress)
{
    return play->terminal && cli_lesson_progress(path, progress)
               ? lesson_progress_mark(progress, play->lesson->number)
               : NULL;
}

static void save(const struct play *play, int step, bool done)
{
    struct lesson_progress progress;
    char path[CLI_LESSON_PATH];
    struct lesson_mark *mark = load_mark(play, path, &progress);
    if (!mark)
        return;
    mark->step = step > mark->step ? step : mark->step;
    mark->done = mark->done || done;
    progress.last_lesson = play->lesson->number;
    lesson_progress_save(path, &progress, NULL);
}

/* Where the learner left off, in the window or here, unless it is to begin again. */
static int first_step(struct play *play)
{
    struct lesson_progress progress;
    char path[CLI_LESSON_PATH], line[256];
    const struct lesson_mark *mark = load_mark(play, path, &progress);
    if (!mark || mark->done || mark->step <= 0 || mark->step >= play->lesson->n_steps)
        return 0;
    printf("\n  You were at step %d of %d.\n", mark->step + 1, play->lesson->n_steps);
    if (!read_line(play, "  Enter to go on there, b to begin again, q to quit: ", line))
        return 0;
    return strcmp(line, "b") == 0 ? 0 : mark->step;
}

static enum fa_status play_step(struct play *play, int index, struct fa_error *error)
{
    const struct lesson_step *step = &play->lesson->step[index];
    char words[LESSON_WORDS], line[256];
    enum fa_status status = cli_lesson_step(play->lessons, play->lesson, index, NULL, error);
    if (status == FA_OK)
        status = cli_lesson_words(play->lessons, play->lesson, step->show.scenario, words, error);
    if (status == FA_OK && step->question)
        status = ask(play, step->question, words, error);
    if (status == FA_OK && step->breaks && !play->quits)
        status = try_it(play, index, error);
    if (status == FA_OK && !step->question && !step->breaks && play->terminal && !play->quits)
        read_line(play, "\n  Enter to go on, q to quit: ", line);
    return status;
}

static void print_end(const struct play *play)
{
    const struct lesson_shelf *shelf = &play->lessons->shelf;
    putchar('\n');
    cli_lesson_wrap(stdout, "Now you know: ", 2, play->lesson->now_you_know);
    for (int i = 0; i + 1 < shelf->n; i++) {
        const struct lesson *next = shelf->lesson[i + 1];
        if (shelf->lesson[i] != play->lesson)
            continue;
        char command[CLI_LESSON_TEXT];
        snprintf(command, sizeof command, "flashlab lesson play %d", next->number);
        cli_lesson_add_folder(play->lessons->options->lessons, command, sizeof command);
        printf("Next: %s (%s)\n", command, next->title);
    }
}

enum fa_status cli_lesson_play(struct cli_lessons *lessons, const struct lesson *lesson,
                               struct fa_error *error)
{
    struct play play = {.lessons = lessons,
                        .lesson = lesson,
                        .terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)};
    char words[LESSON_WORDS], command[CLI_LESSON_TEXT];
    enum fa_status status = cli_lesson_heading(lessons, lesson, error);
    if (status == FA_OK)
        status = cli_lesson_see(lessons, lesson, 0, command, error);
    if (status == FA_OK)
        printf("See it move: %s\n", command);
    for (int s = first_step(&play); s < lesson->n_steps && status == FA_OK && !play.quits; s++) {
        save(&play, s, false);
        status = play_step(&play, s, error);
    }
    if (status == FA_OK && !play.quits && lesson->recall) {
        status = cli_lesson_recall(lessons, lesson, words, error);
        if (status == FA_OK)
            status = ask(&play, lesson->recall, words, error);
    }
    if (status == FA_OK && !play.quits) {
        save(&play, lesson->n_steps - 1, true);
        print_end(&play);
    }
    return status;
}
