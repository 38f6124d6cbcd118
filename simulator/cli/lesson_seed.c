/* The words of a lesson's runs, as a student's seed has them. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "simulator/cli/lesson_command.h"

/* Spreads neighbouring seeds: the finaliser of SplitMix64. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* "--n=16" of the words, "" where they have no such option. */
static const char *find_word(const struct cli_words *words, const char *like)
{
    size_t n = strcspn(like, "=");
    for (int i = 0; i < words->n; i++)
        if (strncmp(cli_word(words, i), like, n) == 0 && strcspn(cli_word(words, i), "=") == n)
            return cli_word(words, i);
    return "";
}

/* A step that has other sizes than its lesson keeps them: they are what it is about. */
static bool may_vary(const struct lesson *lesson, const char *words, const char *variant)
{
    struct cli_words own = {.n = 0}, whole = {.n = 0}, other = {.n = 0};
    if (cli_words_merge(words, &own, NULL) != FA_OK ||
        cli_words_merge(lesson->scenario, &whole, NULL) != FA_OK ||
        cli_words_merge(variant, &other, NULL) != FA_OK)
        return false;
    for (int i = 0; i < other.n; i++)
        if (strcmp(find_word(&own, cli_word(&other, i)), find_word(&whole, cli_word(&other, i))) !=
            0)
            return false;
    return true;
}

/* Which of the lesson's sizes the seed has, NULL: those of the file. */
static const char *find_variant(const struct lesson *lesson, int64_t seed)
{
    uint64_t index =
        lesson->n_varies > 0 ? mix((uint64_t)seed) % (uint64_t)(lesson->n_varies + 1) : 0;
    return index > 0 ? lesson->vary[index - 1] : NULL;
}

int64_t cli_lesson_seed_of(const struct lesson *lesson, int variant)
{
    int64_t seed = 0;
    while (find_variant(lesson, seed) != lesson->vary[variant])
        seed++;
    return seed;
}

enum fa_status cli_lesson_seed(const struct lesson *lesson, const char *words, int64_t seed,
                               char out[LESSON_WORDS], struct fa_error *error)
{
    char more[48] = "", varied[LESSON_WORDS];
    const char *in = strstr(words, "--in");
    bool from_files = in && (in[4] == ' ' || in[4] == '=');
    const char *variant =
        seed >= 0 && words != lesson->recall_scenario ? find_variant(lesson, seed) : NULL;
    if (variant && !may_vary(lesson, words, variant))
        variant = NULL;
    if (seed >= 0 && !from_files)
        snprintf(more, sizeof more, "--seed %" PRId64, seed);
    enum fa_status status =
        lesson_words_join(words, variant ? variant : "", varied, sizeof varied, error);
    return status == FA_OK ? lesson_words_join(varied, more, out, LESSON_WORDS, error) : status;
}

bool cli_lesson_is_seeded(const struct lesson *lesson, const char *words, int64_t seed)
{
    char own[LESSON_WORDS], seeded[LESSON_WORDS];
    return seed >= 0 && cli_lesson_seed(lesson, words, -1, own, NULL) == FA_OK &&
           cli_lesson_seed(lesson, words, seed, seeded, NULL) == FA_OK && strcmp(own, seeded) != 0;
}

/* ---- commands that show it ----------------------------------------------------------------- */

static void add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

void cli_lesson_add_folder(const char *folder, char *text, size_t size)
{
    const char *quote = folder && strpbrk(folder, " \t") ? "'" : "";
    if (folder)
        add(text, size, " --lessons %s%s%s", quote, folder, quote);
}

void cli_lesson_command(const struct lesson *lesson, int step, const char *folder, char *text,
                        size_t size)
{
    snprintf(text, size, "flashlab view --lesson %d", lesson->number);
    if (step > 0)
        add(text, size, " --step %d", step + 1);
    cli_lesson_add_folder(folder, text, size);
}

enum fa_status cli_lesson_see(const struct cli_lessons *lessons, const struct lesson *lesson,
                              int step, char text[CLI_LESSON_TEXT], struct fa_error *error)
{
    const struct lesson_show *show = &lesson->step[step].show;
    char words[LESSON_WORDS];
    if (!cli_lesson_is_seeded(lesson, show->scenario, lessons->seed)) {
        cli_lesson_command(lesson, step, lessons->options->lessons, text, CLI_LESSON_TEXT);
        return FA_OK;
    }
    enum fa_status status = cli_lesson_words(lessons, lesson, show->scenario, words, error);
    if (status != FA_OK)
        return status;
    snprintf(text, CLI_LESSON_TEXT, "flashlab view %s", words);
    if (show->compare)
        add(text, CLI_LESSON_TEXT, " --compare '%s'", show->compare);
    if (strcmp(show->stage, "cross") != 0)
        add(text, CLI_LESSON_TEXT, " --stage %s", show->stage);
    return FA_OK;
}

/* ---- words --------------------------------------------------------------------------------- */

enum fa_status cli_lesson_words(const struct cli_lessons *lessons, const struct lesson *lesson,
                                lesson_words words, char out[LESSON_WORDS], struct fa_error *error)
{
    struct fa_error inner;
    enum fa_status status = cli_lesson_seed(lesson, words, lessons->seed, out, &inner);
    return status == FA_OK ? FA_OK : fa_fail(error, status, "%.300s: %s", lesson->file, inner.text);
}

enum fa_status cli_lesson_changed(const struct cli_lessons *lessons, const struct lesson *lesson,
                                  lesson_words words, lesson_words changes, char out[LESSON_WORDS],
                                  struct fa_error *error)
{
    char whole[LESSON_WORDS];
    struct fa_error inner;
    enum fa_status status = cli_lesson_words(lessons, lesson, words, whole, error);
    if (status != FA_OK)
        return status;
    status = lesson_words_join(whole, changes ? changes : "", out, LESSON_WORDS, &inner);
    return status == FA_OK ? FA_OK : fa_fail(error, status, "%.300s: %s", lesson->file, inner.text);
}

enum fa_status cli_lesson_seed_note(const struct cli_lessons *lessons, const struct lesson *lesson,
                                    char note[CLI_LESSON_NOTE], struct fa_error *error)
{
    struct cli_lessons plain = *lessons;
    struct lesson_answer_key own, seeded;
    bool same = true;
    note[0] = '\0';
    if (lessons->seed < 0)
        return FA_OK;
    plain.seed = -1;
    enum fa_status status = cli_lesson_key(&plain, lesson, &own, error);
    if (status == FA_OK)
        status = cli_lesson_key(lessons, lesson, &seeded, error);
    if (status != FA_OK)
        return status;
    for (int q = 0; q < own.n; q++)
        same = same && fabs(own.right[q] - seeded.right[q]) <= 1e-9 * fabs(own.right[q]);
    if (same)
        snprintf(note, CLI_LESSON_NOTE,
                 "With seed %" PRId64 " all answers are those of the lesson without a seed.",
                 lessons->seed);
    return FA_OK;
}

bool cli_lesson_question(const struct lesson *lesson, int index,
                         const struct lesson_question **question, lesson_words *words)
{
    for (int s = 0; s < lesson->n_steps; s++) {
        const struct lesson_step *step = &lesson->step[s];
        if (step->question && index-- == 0) {
            *question = step->question;
            *words = step->show.scenario;
            return true;
        }
    }
    *question = lesson->recall;
    *words = lesson->recall_scenario;
    return lesson->recall && index == 0;
}
