/* flashlab lesson check: nothing tells an answer before it is given. */
#include <string.h>

#include "simulator/cli/lesson_check.h"

/* The key without the questions of the steps before. */
static void leave_answered(struct lesson_answer_key *key, int step)
{
    int answered = 0;
    for (int s = 0; s < step; s++)
        answered += key->lesson->step[s].question != NULL;
    key->n -= answered;
    for (int q = 0; q < key->n; q++) {
        key->question[q] = key->question[q + answered];
        key->right[q] = key->right[q + answered];
        memmove(key->words[q], key->words[q + answered], sizeof key->words[q]);
    }
}

static void check_text(const struct cli_check *check, const struct lesson_answer_key *key, int step,
                       int line, const char *text, const char *words)
{
    char out[CLI_LESSON_TEXT];
    struct fa_error error;
    if (cli_lesson_fill_open(check->lessons, check->lesson, key, step, line, text, words, out,
                             &error) != FA_OK ||
        !strstr(out, LESSON_BLANK))
        return;
    fa_fail(&error, FA_BAD_FILE,
            "%.300s:%d: this tells the answer of its own step's question or of a later one: "
            "expected what leaves it open; left blank it is: %.400s",
            check->lesson->file, line, out);
    cli_check_is_fine(check, FA_BAD_FILE, &error);
}

/* No text that is read before the answer tells it. */
void cli_check_open(const struct cli_check *check)
{
    const struct lesson *lesson = check->lesson;
    struct lesson_answer_key all, key;
    char words[LESSON_WORDS];
    struct fa_error error;
    if (cli_lesson_key(check->lessons, lesson, &all, &error) != FA_OK)
        return; /* told with its question */
    for (int s = 0; s < lesson->n_steps; s++) {
        const struct lesson_step *step = &lesson->step[s];
        key = all;
        leave_answered(&key, s);
        if (cli_lesson_words(check->lessons, lesson, step->show.scenario, words, &error) != FA_OK)
            continue;
        check_text(check, &key, s, step->line, step->title, words);
        for (int b = 0; b < step->n_blocks; b++)
            if (step->block[b].kind != LESSON_CODE)
                check_text(check, &key, s, step->block[b].line, step->block[b].text, words);
        if (step->question)
            check_text(check, &key, s, step->question->line, step->question->text, words);
    }
}
