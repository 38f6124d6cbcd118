/*
 * Fuzzes the reader of lessons: any bytes are either refused with file, line and words, or give a
 * lesson that keeps its limits and whose expressions can be computed or are refused. An input that
 * begins with '#' stands for what comes after a valid front matter, so that edits near the
 * beginning reach steps, and one with '=' for an expression alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz.h"
#include "tests/lesson_case.h"

static const char front[] =
    "---\nlesson: 3\ntitle: T\ncard: C?\nchapter: The idea\nminutes: 5\nlevel: 1\n"
    "scenario: --n 4\nbeliefs: B.\nknow: K.\nterms: {tile: t, trip: u}\n---\n";

static void check_error(const struct fa_error *error)
{
    fuzz_expect(error->text[0] != '\0');
    for (const char *c = error->text; *c; c++)
        fuzz_expect((unsigned char)*c >= ' ' && *c != 127);
}

/* One run for all words, so that expressions are fast. */
static enum fa_status count(void *context, const char *words, struct sim_result *result,
                            bool *refused, struct fa_error *error)
{
    struct sim_experiment experiment = {
        .algorithm = &fa_flash2, .problem = fa_problem_make(8, 8, 4), .threads = 1};
    (void)context;
    (void)words;
    (void)error;
    snprintf(experiment.machine.name, sizeof experiment.machine.name, "small");
    experiment.machine.sram_bytes = 4096;
    experiment.machine.sms = 2;
    experiment.tiles.policy = SIM_TILES_SQUARE;
    return lesson_count(&experiment, result, refused, error);
}

static const struct lesson_runner runner = {.count = count};

static void check_question(const struct lesson *lesson, const struct lesson_question *question,
                           const char *words)
{
    struct lesson_answers answers;
    struct fa_error error = {FA_OK, ""};
    fuzz_expect(question->id && question->text && question->why && question->expression);
    fuzz_expect(question->n_choices <= LESSON_CHOICES && question->n_hints <= LESSON_HINTS);
    for (int c = 0; c < question->n_choices; c++)
        fuzz_expect(question->choice[c].expression != NULL);
    if (lesson_answers_of(lesson, question, words, &runner, &answers, &error) == FA_OK)
        fuzz_expect(isfinite(answers.right));
    else
        check_error(&error);
}

static void check_step(const struct lesson *lesson, const struct lesson_step *step)
{
    char joined[LESSON_WORDS];
    const char *text;
    int line;
    fuzz_expect(step->title && step->n_words <= LESSON_STEP_WORDS &&
                step->n_blocks <= LESSON_BLOCKS);
    fuzz_expect(step->show.scenario && step->show.at && step->show.stage && step->show.panel);
    for (int i = 0; lesson_step_text(step, i, &text, &line); i++)
        fuzz_expect(!text || line > 0);
    if (step->question)
        check_question(lesson, step->question, step->show.scenario);
    if (step->breaks && step->breaks->run) /* past their sizes the two may be refused */
        (void)lesson_words_join(step->show.scenario, step->breaks->run, joined, sizeof joined,
                                NULL);
}

static void parse(const char *bytes, size_t n_bytes)
{
    struct fa_error error = {FA_OK, ""};
    struct lesson *lesson = (struct lesson *)&error;
    enum fa_status status = lesson_parse("input", bytes, n_bytes, &lesson, &error);
    if (status != FA_OK) {
        fuzz_expect(lesson == (struct lesson *)&error && error.status == status);
        fuzz_expect(status == FA_BAD_FILE || status == FA_NO_MEMORY);
        fuzz_expect(strncmp(error.text, "input:", 6) == 0 && error.text[6] >= '1' &&
                    error.text[6] <= '9');
        check_error(&error);
        return;
    }
    fuzz_expect(lesson->n_steps >= 1 && lesson->n_steps <= LESSON_STEPS && lesson->title &&
                lesson->card);
    fuzz_expect(lesson->n_questions <= LESSON_QUESTIONS && lesson->n_terms <= LESSON_TERMS);
    for (int s = 0; s < lesson->n_steps; s++)
        check_step(lesson, &lesson->step[s]);
    if (lesson->recall)
        check_question(lesson, lesson->recall, lesson->recall_scenario);
    lesson_free(lesson);
}

static void evaluate(const char *text)
{
    struct fa_error error = {FA_OK, ""};
    double value = NAN;
    bool fine = lesson_expression_check(text, &error) == FA_OK;
    if (!fine)
        fuzz_expect(error.status == FA_BAD_ARGUMENT);
    if (lesson_evaluate(text, "--n 4", &runner, &value, &error) == FA_OK)
        fuzz_expect(fine && isfinite(value));
    else
        fuzz_expect(isnan(value) && error.text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    bool rest = n_bytes > 0 && data[0] == '#', expression = n_bytes > 0 && data[0] == '=';
    size_t before = rest ? strlen(front) : 0, skipped = rest || expression;
    char *whole = malloc(before + n_bytes - skipped + 1);
    fuzz_expect(whole != NULL);
    memcpy(whole, front, before);
    if (n_bytes > skipped)
        memcpy(whole + before, data + skipped, n_bytes - skipped);
    whole[before + n_bytes - skipped] = '\0';
    if (expression)
        evaluate(whole);
    else
        parse(whole, before + n_bytes - skipped);
    free(whole);
    return 0;
}

/* The README's lesson whole, from its steps on, from its later steps on; and expressions. */
size_t fuzz_seed(int index, uint8_t *data, size_t capacity)
{
    static const char *const seeds[] = {
        "=moved(K)/with(\"--tiles 4x4\", max(1, bytes(read()), 2^3)) + cell(\"0,2\",m,4) >= 1e3",
        "=sweep_first('br', 1, 8, tiles() < n*d) - (f == 2)*units(0)/waves()",
        "### S\nTile *a* {n*d_} `b`\n\n1. x\n2. trip\n\n| a | b |\n|---|---|\n| c | &lt; "
        "|\n\n```c\nx\n```\n",
        "### S\n```ask\nid: q\nkind: choice\ntext: |\n  T tile?\nwhy: 'trip {n}'\n"
        "choices:\n- {label: a, right: true}\n- {label: b, feedback: F}\n```\n",
    };
    enum { SEEDS = sizeof seeds / sizeof *seeds };
    char *text = lesson_case_example();
    const char *from = text;
    if (index < SEEDS) {
        from = seeds[index];
    } else {
        static const char *const places[] = {"---", "## One", "## Again", "```ask", "## Larger"};
        from = index - SEEDS < 5 ? strstr(text, places[index - SEEDS]) : NULL;
    }
    size_t n = from ? strlen(from) : 0;
    bool marked = index > SEEDS;
    if (n + marked > capacity)
        n = 0;
    if (n > 0) {
        data[0] = '#';
        memcpy(data + marked, from, n);
        n += marked;
    }
    free(text);
    return n;
}
