/*
 * The figures of the lessons, as they were worked out on paper: what the program computes for each
 * question must be the same, to the digits that are printed here.
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

struct figure {
    int lesson;
    const char *question;   /* the answer of this one, by its id; NULL: */
    const char *expression; /* the value of this one, for the lesson's scenario, */
    const char *more;       /* changed by these words; NULL: as it is */
    const char *digits;     /* as printed */
};

#define STANDARD "--algorithm standard"
#define ONE_PASS STANDARD " --tiles 65536x65536 --sram 16G"
#define BOTH_STANDARD "with(\"--pass both " STANDARD "\", moved())"
#define BOTH_ONE_PASS "with(\"--pass both " ONE_PASS "\", moved())"
#define BOTH_FLASH "with(\"--pass both\", moved())"
#define WORKED "--no-n --no-d --no-profile --in data/worked --scale 1 --tiles 2x1"
#define H200 "with(\"--n 1024 --d 64 --batch 64 --heads 16 --machine h200\", "

static const struct figure figures[] = {
    {0, "eight-words", NULL, NULL, "64"},
    {0, NULL, "exp(0)", NULL, "1"},
    {0, NULL, "exp(-1)", NULL, "0.368"},

    {1, "by-eye", NULL, NULL, "10.7"},
    {1, "largest-n", NULL, NULL, "313"},
    {1, NULL, "sram / 1024", NULL, "192"},

    {2, "share", NULL, NULL, "88.9"},
    {2, "one-pass", NULL, NULL, "73728"},
    {2, "small-tiles", NULL, NULL, "102400"},
    {2, NULL, "moved()", "--tiles 16x16", "102400"},

    {3, NULL, "cell(\"0,0\",l,0)", NULL, "1"},
    {3, "second", NULL, NULL, "1.3679"},
    {3, "third", NULL, NULL, "1.5032"},
    {3, NULL, "cell(\"0,3\",l,0)", NULL, "1.5530"},
    {3, "last", NULL, NULL, "1.6883"},
    {3, NULL, "ceil(ln(65504))", NULL, "12"},
    {3, NULL, "ceil(ln(3.4028234e38))", NULL, "89"},
    {3, NULL, "round(2 * measured(\"new maxima\")) / 2", /* about: rows are random */
     "--no-in --no-scale --nq 1000 --nk 1024 --d 64 --tiles 50x64", "7.5"},

    {4, NULL, "cell(\"0,0\",m,0)", WORKED, "1"},
    {4, NULL, "cell(\"0,1\",m,0)", WORKED, "3"},
    {4, NULL, "exp(cell(\"0,0\",m,0) - cell(\"0,1\",m,0))", WORKED, "0.135"},
    {4, "by-hand", NULL, NULL, "1.135"},
    {4, NULL, "cell(O,0,0)", WORKED, "0.119"},
    {4, NULL, "cell(O,0,1)", WORKED, "0.881"},
    {4, NULL, "cell(O,1,0)", WORKED, "0.119"},
    {4, NULL, "cell(O,1,1)", WORKED, "0.881"},
    {4, "shuffled", NULL, NULL, "1"}, /* the second of 0, 1e-7, 1e-3, 0.1 */
    {4, NULL, "round(ln(measured(\"shuffled\")) / ln(10))",
     "--n 256 --d 16 --tiles 16x16 --sram 10K --profile gauss", "-7"},

    {5, "needs", NULL, NULL, "1344"},
    {5, NULL, "m_elems", NULL, "1024"},
    {5, NULL, "fits()", NULL, "0"},
    {5, "square", NULL, NULL, "12"},

    {6, "trips", NULL, NULL, "8"},
    {6, NULL, "moved()", NULL, "59648"},
    {6, NULL, "moved()", "--algorithm flash2", "36992"},
    {6, "travels", NULL, NULL, "39168"},

    {7, NULL, "m_elems", NULL, "16384"},
    {7, "tall-enough", NULL, NULL, "94"},
    {7, NULL, "moved()", "--tiles 96x16", "1573888"},
    {7, NULL, "largest_square()", NULL, "52"},
    {7, NULL, "moved()", "--tiles square", "2753536"},
    {7, NULL, "br", "--tiles best", "114"},
    {7, NULL, "bc", "--tiles best", "6"},
    {7, NULL, "moved()", "--tiles best", "1311744"},

    {8, "crossing", NULL, NULL, "32"},
    {8, "price", NULL, NULL, "1.9"},
    {8, "slope", NULL, NULL, "-1"},
    {8, NULL, "with(\"" ONE_PASS "\", moved()) / moved()", "--nq 1 --nk 1024 --tiles 1x16", "1.03"},

    {9, "tile", NULL, NULL, "1"},
    {9, NULL, "cell(\"0,1\",O,0,0)", NULL, "1.5"},
    {9, NULL, "cell(\"0,3\",O,0,0)", NULL, "2.0833"},
    {9, "fault", NULL, NULL, "1.5"},
    {9, "hides", NULL, NULL, "0.0000"},

    {10, "price", NULL, NULL, "16.7"},
    {10, "saves", NULL, NULL, "2.63"},
    {10, NULL, BOTH_STANDARD, NULL, "18219008"},
    {10, NULL, BOTH_FLASH, NULL, "6916096"},
    {10, NULL, BOTH_STANDARD, "--tiles 128x128", "15073280"},
    {10, NULL, BOTH_FLASH, "--tiles 128x128", "3753984"},
    {10, NULL, BOTH_STANDARD " / " BOTH_FLASH, "--tiles 128x128", "4.02"},
    {10, NULL, BOTH_ONE_PASS, NULL, "12320768"},
    {10, NULL, BOTH_ONE_PASS " / " BOTH_FLASH, NULL, "1.78"},
    {10, NULL, BOTH_ONE_PASS " / " BOTH_FLASH, "--tiles 128x128", "3.28"},
    {10, NULL, "with(\"" STANDARD " --pass forward\", kept()) / size", NULL, "1048576"},
    {10, "kept", NULL, NULL, "66560"},

    {11, "tiles", NULL, NULL, "136"},
    {11, NULL, "tr * tc", NULL, "256"},
    {11, NULL, "100 * tiles() / (tr * tc)", NULL, "53"},
    {11, "cut", NULL, NULL, "16"},
    {11, "share", NULL, NULL, "0.559"},
    {11, NULL, "tiles() / (tr * tc)", NULL, "0.531"},

    {12, "live", NULL, NULL, "314"},
    {12, NULL, "tr * tc", NULL, "4096"},
    {12, NULL, "100 * tiles() / (tr * tc)", NULL, "7.7"},
    {12, "less", NULL, NULL, "11.0"},
    {12, NULL, "tr * tc / tiles()", NULL, "13.0"},
    {12, "empty", NULL, NULL, "0"},

    {13, "bytes", NULL, NULL, "1024"}, /* MiB: one GiB */
    {13, "seed", NULL, NULL, "8"},     /* bytes: 64 bits */
    {13, "order", NULL, NULL, "12"},   /* all of 16 but the diagonal */

    {14, "lit", NULL, NULL, "16"},
    {14, NULL, "sms", NULL, "108"},
    {14, NULL, "units()", NULL, "512"},
    {14, NULL, "units() / sms", NULL, "4.74"},
    {14, NULL, H200 "bytes(read()) * batch * heads / 10 ^ 9)", NULL, "2.282"},
    {14, NULL, H200 "bytes(read()) * batch * heads / 10 ^ 9)", NULL, "2.28"}, /* hardware */
    {14, "dram", NULL, NULL, "0.403"},
};

/* The value with as many decimals as the figure has. */
static const char *printed(double value, const char *digits, char text[64])
{
    const char *point = strchr(digits, '.');
    snprintf(text, 64, "%.*f", point ? (int)strlen(point + 1) : 0, value);
    return text;
}

static double answer_of(const struct lesson *lesson, const char *id)
{
    struct fa_error error = {FA_OK, ""};
    struct lesson_answers answers;
    lesson_words words;
    const struct lesson_question *question = lesson_stage_question(lesson->number, id, &words);
    if (lesson_answers_of(lesson, question, words, lesson_stage_runner(), &answers, &error) !=
        FA_OK)
        fail_msg("%s", error.text);
    return answers.right;
}

static double value_of(const struct lesson *lesson, const char *expression, const char *more)
{
    struct fa_error error = {FA_OK, ""};
    char words[LESSON_WORDS];
    double value = 0;
    if (lesson_words_join(lesson->scenario, more ? more : "", words, sizeof words, &error) !=
            FA_OK ||
        lesson_evaluate(expression, words, lesson_stage_runner(), &value, &error) != FA_OK)
        fail_msg("lesson %d, %s: %s", lesson->number, expression, error.text);
    return value;
}

static void test_each_figure_is_what_is_computed(void **unused)
{
    int differ = 0;
    (void)unused;
    for (size_t f = 0; f < sizeof figures / sizeof *figures; f++) {
        const struct figure *figure = &figures[f];
        const struct lesson *lesson = lesson_find(lesson_stage_shelf(), figure->lesson);
        char text[64];
        assert_non_null(lesson);
        double value = figure->question ? answer_of(lesson, figure->question)
                                        : value_of(lesson, figure->expression, figure->more);
        if (strcmp(printed(value, figure->digits, text), figure->digits) == 0)
            continue;
        print_error("lesson %d, %s: %s, on paper %s\n", figure->lesson,
                    figure->question ? figure->question : figure->expression, text, figure->digits);
        differ++;
    }
    assert_int_equal(differ, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_figure_is_what_is_computed),
    };
    return cmocka_run_group_tests(tests, NULL, lesson_stage_close_shelf);
}
