#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lessons/lesson.h"
#include "tests/lesson_case.h"

/* ---- the example ---- */

static void test_readme_front_matter(void **state)
{
    char *text = lesson_case_example();
    struct lesson *lesson = lesson_case_read("README.md", text);
    (void)state;
    assert_int_equal(lesson->number, 40);
    assert_string_equal(lesson->title, "Trips of a tile");
    assert_string_equal(lesson->chapter, lesson_chapters[2]);
    assert_int_equal(lesson->minutes, 4);
    assert_int_equal(lesson->n_tracks, 2);
    assert_string_equal(lesson->tracks[0].name, "kernel");
    assert_int_equal(lesson->tracks[0].first, 0);
    assert_int_equal(lesson->tracks[0].last, 2);
    assert_string_equal(lesson->tracks[1].name, "class");
    assert_int_equal(lesson->tracks[1].first, 1);
    assert_int_equal(lesson->n_terms, 1);
    assert_string_equal(lesson->term[0].meaning, "one load of a tile from HBM into SRAM");
    assert_int_equal(lesson->n_beliefs, 1);
    assert_string_equal(lesson->now_you_know,
                        "Every tile of queries sends for all of K and V again.");
    assert_string_equal(lesson->recall->id, "scores");
    assert_string_equal(lesson->recall_scenario,
                        "--algorithm flash2 --n 8 --d 2 --tiles 2x2 --sram 4K");
    assert_int_equal(lesson->n_steps, 3);
    assert_int_equal(lesson->n_questions, 2);
    lesson_free(lesson);
    free(text);
}

static void test_readme_steps(void **state)
{
    char *text = lesson_case_example();
    struct lesson *lesson = lesson_case_read("README.md", text);
    const struct lesson_step *step = lesson->step;
    (void)state;
    assert_string_equal(step[0].title, "One tile of K");
    assert_int_equal(step[0].n_blocks, 1);
    assert_string_equal(step[0].block[0].text,
                        "Keys lie in HBM. Here Q[0] needs K[2], so it is loaded into SRAM.");
    assert_string_equal(step[0].show.at, "0,2");
    assert_string_equal(step[0].show.point[1], "read lane");
    assert_null(step[0].introduces);
    assert_string_equal(step[1].introduces, "trip");
    assert_int_equal(step[1].n_blocks, 3);
    assert_int_equal(step[1].block[1].kind, LESSON_ROW);
    assert_true(step[1].block[1].heading);
    assert_string_equal(step[1].block[2].text, "K[2]\tQ[0], Q[1]");
    assert_false(step[1].block[2].heading);
    assert_string_equal(step[1].show.at, "0,2");
    assert_string_equal(step[1].show.panel, "traffic");
    assert_int_equal(step[1].question->kind, LESSON_NUMBER);
    assert_int_equal(step[1].question->n_hints, 3);
    assert_int_equal(step[1].question->n_choices, 1);
    /* What was not said stands as the step before left it. */
    assert_string_equal(step[2].show.at, "end");
    assert_string_equal(step[2].show.panel, "traffic");
    assert_string_equal(step[2].show.scenario, lesson->scenario);
    assert_null(step[2].show.play_to);
    assert_int_equal(step[2].show.n_points, 0);
    assert_int_equal(step[2].breaks->n_options, 2);
    assert_string_equal(step[2].breaks->run, "--tiles 8x4");
    lesson_free(lesson);
    free(text);
}

/* ---- small files ---- */

#define FRONT                                                                                      \
    "---\nlesson: 3\ntitle: T\ncard: C?\nchapter: The idea\nminutes: 5\nlevel: 1\n"                \
    "scenario: --n 4\nbeliefs: B.\nknow: K.\n---\n"
enum { FRONT_LINES = 11 };
#define STEP FRONT "## One\n"
#define ASK STEP "```ask\nid: a\nkind: number\ntext: How many?\nwhy: So.\n"

static void test_prose_blocks(void **state)
{
    struct lesson *lesson = lesson_case_read(
        "x", STEP "A *b* **c** `d*e` [link](http://x) 1 &lt; 2\\*\nmore {n*d*2 < tr}\n\n"
                  "3. three\n4. four\n\n- dot\n\n  still\n\n```c\nint  x;\n{}\n```\n");
    const struct lesson_block *block = lesson->step[0].block;
    (void)state;
    assert_int_equal(lesson->step[0].n_blocks, 5);
    assert_string_equal(block[0].text, "A b c d*e link 1 < 2* more {n*d*2 < tr}");
    assert_int_equal(block[0].line, FRONT_LINES + 2);
    assert_int_equal(block[1].kind, LESSON_ITEM);
    assert_int_equal(block[1].number, 3);
    assert_int_equal(block[2].number, 4);
    assert_int_equal(block[2].line, FRONT_LINES + 6);
    assert_int_equal(block[3].number, 0);
    assert_string_equal(block[3].text, "dot still");
    assert_int_equal(block[4].kind, LESSON_CODE);
    assert_string_equal(block[4].text, "int  x;\n{}");
    assert_int_equal(lesson->step[0].n_words, 9 + 4); /* the expression is one, < none */
    lesson_free(lesson);
}

static void test_line_ends(void **state)
{
    char text[1024] = "\xEF\xBB\xBF";
    size_t n = 3;
    (void)state;
    for (const char *c = STEP "Text.\n"; *c; c++) {
        if (*c == '\n')
            text[n++] = '\r';
        text[n++] = *c;
    }
    struct lesson *lesson = lesson_case_read("x", text);
    assert_string_equal(lesson->step[0].title, "One");
    assert_string_equal(lesson->step[0].block[0].text, "Text.");
    lesson_free(lesson);
}

/* A step's scenario is the lesson's with differences, and another one begins at its start. */
static void test_show_scenarios(void **state)
{
    struct lesson *lesson = lesson_case_read(
        "x", STEP "Text.\n```show\nat: 5\nstage: row\nelements: true\n```\n## Two\nText.\n"
                  "```show\nscenario: --nq 2 --nk 8 --causal\n```\n## Three\nText.\n");
    (void)state;
    assert_string_equal(lesson->step[0].show.scenario, "--n 4");
    assert_string_equal(lesson->step[1].show.scenario, "--nq 2 --nk 8 --causal");
    assert_string_equal(lesson->step[1].show.at, "start");
    assert_string_equal(lesson->step[1].show.stage, "row");
    assert_true(lesson->step[1].show.elements);
    assert_string_equal(lesson->step[2].show.scenario, "--n 4");
    assert_string_equal(lesson->step[2].show.at, "start");
    lesson_free(lesson);
}

/* The run of a card's key frame is the lesson's with differences, wherever it stands. */
static void test_card_show(void **state)
{
    char text[1024];
    struct lesson *lesson = lesson_case_read("x", STEP "Text.\n");
    (void)state;
    assert_null(lesson->card_show.scenario);
    lesson_free(lesson);
    snprintf(text, sizeof text,
             "---\ncard_show:\n  scenario: --nq 2 --nk 8\n"
             "  compare: --algorithm flash1\n  stage: waves\n%s",
             &(STEP "Text.\n")[4]);
    lesson = lesson_case_read("x", text);
    assert_string_equal(lesson->card_show.scenario, "--nq 2 --nk 8");
    assert_string_equal(lesson->card_show.compare, "--algorithm flash1");
    assert_string_equal(lesson->card_show.stage, "waves");
    assert_int_equal(lesson->card_show_line, 3);
    lesson_free(lesson);
    snprintf(text, sizeof text, "---\ncard_show:\n  compare: --n 8\n%s", &(STEP "Text.\n")[4]);
    lesson = lesson_case_read("x", text);
    assert_string_equal(lesson->card_show.scenario, "--n 4");
    assert_string_equal(lesson->card_show.stage, "cross");
    lesson_free(lesson);
}

/* ---- bad files ---- */

#define W10 "a b c d e f g h i j "

static const struct {
    const char *text;
    int line;
    const char *said; /* is in the error */
} bad[] = {
    {"", 1, "no front matter"},
    {"## One\n", 1, "expected a first line ---"},
    {"---\nlesson: 3\n", 1, "does not end"},
    {"---\n---\n## One\n", 2, "expected lines as 'key: value'"},
    {"---\nlesson: 3\ntitel: T\n---\n", 3, "no key 'titel': did you mean title?"},
    {"---\nlesson: 3\nzzzzzzzzz: T\n---\n", 3, "no key 'zzzzzzzzz': expected lesson, title"},
    {"---\nlesson: 3\nlesson: 4\n---\n", 3, "has lesson twice"},
    {"---\nlesson: 3\n---\n", 2, "has no title: expected one"},
    {"---\nlesson: three\n---\n", 2, "lesson is 'three': expected a whole number from 0 to 63"},
    {"---\nlesson: 64\n---\n", 2, "expected a whole number from 0 to 63"},
    {"---\nlesson: 1.5\n---\n", 2, "expected a whole number"},
    {"---\nminutes: 11\n---\n", 2, "minutes is '11': expected a whole number from 1 to 10"},
    {"---\nlevel: 4\n---\n", 2, "expected a whole number from 1 to 3"},
    {"---\ncard_show: --n 4\n---\n", 2, "expected lines as 'key: value'"},
    {"---\ncard_show:\n  at: end\n---\n", 3, "no key 'at': expected scenario, compare, stage"},
    {"---\ncard_show:\n  stage: rows\n---\n", 3, "stage is 'rows'"},
    {"---\ntitle: a: b\n---\n", 2, "not YAML"},
    {"---\nlesson: 3\ntitle: {a\n---\n", 4, "not YAML"},
    {"---\ntitle: ''\n---\n", 2, "title is empty"},
    {"---\ntitle: [a]\n---\n", 2, "title is a list or a mapping: expected one value"},
    {"---\nchapter: The costs\n---\n", 2, "did you mean The cost?"},
    {"---\ntracks: [Kernel]\n---\n", 2, "the track 'Kernel'"},
    {"---\ntracks: [class 4-3]\n---\n", 2, "the track 'class 4-3'"},
    {"---\ntracks: [a, b, c, d, e]\n---\n", 2, "tracks has 5: expected at most 4"},
    {"---\nscenario: n 4\n---\n", 2, "expected words of options"},
    {"---\nscenario: --n '4\n---\n", 2, "expected a closing quote"},
    {"---\nbeliefs: [a, b, c]\n---\n", 2, "beliefs has 3: expected at most 2"},
    {"---\nbeliefs:\n  - " W10 W10 "k\n---\n", 3, "expected at most 20"},
    {"---\nterms: a\n---\n", 2, "terms: expected lines as 'name: meaning'"},
    {"---\nterms:\n  a: b\n  a: c\n---\n", 4, "the term 'a' stands there twice"},
    {"---\nterms: {a: b, c: b, d: b, e: b, f: b, g: b, h: b, i: b, j: b}\n---\n", 2, "at most 8"},
    {"---\nrecall:\n  id: a\n  kind: number\n  text: T?\n  why: W.\n  expression: n\n---\n", 3,
     "a recall has no scenario"},
    {"---\nlesson: 3\ntitle: T\ncard: C?\nchapter: The idea\nminutes: 5\nlevel: 1\nscenario: --n "
     "4\n"
     "beliefs: B.\nknow: K.\nneeds: [1, 3]\n---\n",
     11, "it needs lesson 3: expected ones before it"},
    {FRONT, FRONT_LINES, "no step"},
    {FRONT "\nText.\n## One\n", FRONT_LINES + 2, "text before the first step"},
    {FRONT "```show\n```\n", FRONT_LINES + 1, "a block before the first step"},
    {FRONT "##\n", FRONT_LINES + 1, "a step without a title"},
    {STEP "\n## Two\nText.\n", FRONT_LINES + 1, "'One' is empty"},
    {STEP "Text.\n\n### Deeper\n", FRONT_LINES + 4, "a heading"},
    {STEP "Text.\n\nUnder\n=====\n", FRONT_LINES + 4, "a heading"},
    {STEP "Text.\n\n> Quoted\n", FRONT_LINES + 4, "a quote"},
    {STEP "- a\n  - b\n", FRONT_LINES + 3, "inside a list's item"},
    {STEP "![x](y)\n", FRONT_LINES + 2, "a picture"},
    {STEP "a &hearts;\n", FRONT_LINES + 2, "a named character"},
    {STEP "~~~\n", FRONT_LINES + 2, "expected ```"},
    {STEP "```shw\n```\n", FRONT_LINES + 2, "did you mean show?"},
    {STEP "```python\n```\n", FRONT_LINES + 2, "expected show, ask, break"},
    {STEP "```show\n", FRONT_LINES + 2, "a block ```show that does not end"},
    {STEP "```show\nat: end\n## Two\n", FRONT_LINES + 2, "line ``` before line 15, '## Two'"},
    {STEP "```show\nat: end\n```ask\n", FRONT_LINES + 2, "line ``` before line 15, '```ask'"},
    {STEP "Text.\n```\nx\n", FRONT_LINES + 3, "a block ``` that does not end"},
    {STEP "\n" W10 W10 "k.\n", FRONT_LINES + 3, "expected at most 20"},
    {STEP "Is it {n} or {nn}?\n", FRONT_LINES + 2, "no quantity is called 'nn': did you mean n"},
    {STEP "Is it {n?\n", FRONT_LINES + 2, "a { without its other half"},
    {STEP "Is it n}?\n", FRONT_LINES + 2, "a } without its other half"},
    {STEP W10 W10 ".\n" W10 W10 ".\n" W10 W10 ".\nend.\n", FRONT_LINES + 1,
     "has 61 words: expected at most 60"},
    {STEP "1\n\n2\n\n3\n\n4\n\n5\n\n6\n\n7\n\n8\n\n9\n\n10\n\n11\n\n12\n\n13\n", FRONT_LINES + 26,
     "expected at most 12 a step"},
    {FRONT
     "## 1\na\n## 2\na\n## 3\na\n## 4\na\n## 5\na\n## 6\na\n## 7\na\n## 8\na\n## 9\na\n## X\na\n",
     FRONT_LINES + 19, "one more step: expected at most 9"},
    {STEP "a\xff\n", FRONT_LINES + 2, "a byte 0xff: expected text in UTF-8"},
    {STEP "a\xed\xa0\x80\n", FRONT_LINES + 2, "expected text in UTF-8"},
    {STEP "a\x07\n", FRONT_LINES + 2, "a byte 0x07"},
    {STEP "```show\nstage: rows\n```\n", FRONT_LINES + 3, "stage is 'rows'"},
    {STEP "```show\nat: later\n```\n", FRONT_LINES + 3, "at is 'later'"},
    {STEP "```show\nelements: yes\n```\n", FRONT_LINES + 3, "expected true or false"},
    {STEP "```show\nbits: order\n```\n", FRONT_LINES + 3, "expected one of place, turn"},
    {STEP "```show\nl2: h200\n```\n", FRONT_LINES + 3, "expected"},
    {STEP "```show\nl2: --machine h200\ncompare: --algorithm flash1\n```\n", FRONT_LINES + 3,
     "l2 and compare"},
    {STEP "```show\npoints:\n  - K[2]\n  - K[x]\n```\n", FRONT_LINES + 5,
     "is 'K[x]': expected one of"},
    {STEP "```show\npoints: [a, b, c, d, e]\n```\n", FRONT_LINES + 3, "expected one of"},
    {STEP "```show\nat: 1\n```\n```show\nat: 2\n```\n", FRONT_LINES + 5, "one more 'show'"},
    {STEP "```show\nat: 1\n---\nat: 2\n```\n", FRONT_LINES + 5, "a second document"},
    {STEP "```show\nscenario: 4\n```\n", FRONT_LINES + 3, "expected words of options"},
    {ASK "```\n", FRONT_LINES + 3, "without an expression"},
    {ASK "expression: n +\n```\n", FRONT_LINES + 7, "at the end (character 4): expected a number"},
    {ASK "expression: movd(K)\n```\n", FRONT_LINES + 7, "did you mean moved?"},
    {ASK "expression: n\nlow: 1\nhigh: 100\n```\n", FRONT_LINES + 3, "expected them of a slider"},
    {ASK "expression: n\ntolerance: 11\n```\n", FRONT_LINES + 8, "expected a number from 0 to 10"},
    {ASK "expression: n\nhints: [a, b, c, d]\n```\n", FRONT_LINES + 8, "expected at most 3"},
    {ASK "expression: n\nchoices: a\n```\n", FRONT_LINES + 8, "expected a list"},
    {ASK "expression: n\nchoices:\n  - expression: d\n```\n", FRONT_LINES + 3,
     "expected a wrong answer and its feedback"},
    {ASK "expression: n\nchoices:\n  - feedback: So.\n```\n", FRONT_LINES + 9,
     "no expression and no label"},
    {ASK "expression: n\nreveal: 4\nid: b\n```\n", FRONT_LINES + 9, "has id twice"},
    {STEP "```ask\nid: a b\n```\n", FRONT_LINES + 3, "expected letters, digits and -"},
    {STEP "```ask\nid: a\nkind: slider\ntext: T?\nwhy: W.\nexpression: n\nlow: 1\nhigh: 99\n```\n",
     FRONT_LINES + 3, "at least 100 times low"},
    {STEP "```ask\nid: a\nkind: choice\ntext: T?\nwhy: W.\nchoices:\n  - label: x\n    right: "
          "true\n```\n",
     FRONT_LINES + 3, "with 1: expected choices, 2 to 5"},
    {STEP
     "```ask\nid: a\nkind: choice\ntext: T?\nwhy: W.\nchoices:\n  - label: x\n    feedback: F.\n"
     "  - label: y\n    feedback: F.\n```\n",
     FRONT_LINES + 3, "0 choices are right"},
    {STEP
     "```ask\nid: a\nkind: choice\ntext: T?\nwhy: W.\nchoices:\n  - label: x\n    right: true\n"
     "  - label: y\n    right: true\n```\n",
     FRONT_LINES + 3, "2 choices are right"},
    {STEP
     "```ask\nid: a\nkind: choice\ntext: T?\nwhy: W.\nchoices:\n  - label: x\n    right: true\n"
     "  - label: y\n```\n",
     FRONT_LINES + 3, "choice 2 has no feedback"},
    {STEP "```ask\nid: a\nkind: choice\ntext: T?\nwhy: W.\nexpression: n\nchoices:\n"
          "  - expression: n\n  - expression: d\n```\n",
     FRONT_LINES + 3, "choice 2 has no feedback"},
    {STEP
     "```ask\nid: a\nkind: choice\ntext: T?\nwhy: W.\nchoices:\n  - label: x\n    right: true\n"
     "  - expression: n\n    feedback: F.\n```\n",
     FRONT_LINES + 3, "expected all or none"},
    {ASK "expression: n\n```\n## Two\n```ask\nid: a\n", FRONT_LINES + 10, "does not end"},
    {ASK "expression: n\n```\n## Two\n```ask\nid: a\n```\n", FRONT_LINES + 11,
     "id 'a' is that of line 14"},
    {STEP "```break\ntext: Try.\nconsequence: So.\n```\n", FRONT_LINES + 2,
     "no options and no run"},
    {STEP "```break\ntext: Try.\noptions: [--n]\nconsequence: So.\n```\n", FRONT_LINES + 4,
     "expected the name of one, without --"},
    {STEP "```break\ntext: Try.\nrun: n\nconsequence: So.\n```\n", FRONT_LINES + 4,
     "expected words of options"},
};

static void test_bad_files(void **state)
{
    char start[32];
    (void)state;
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        struct lesson *lesson = (struct lesson *)&bad;
        struct fa_error error = {FA_OK, ""};
        enum fa_status status =
            lesson_parse("x.md", bad[b].text, strlen(bad[b].text), &lesson, &error);
        snprintf(start, sizeof start, "x.md:%d: ", bad[b].line);
        if (status != FA_BAD_FILE || strncmp(error.text, start, strlen(start)) != 0 ||
            !strstr(error.text, bad[b].said))
            fail_msg("case %zu: expected %s...%s, got %s", b, start, bad[b].said, error.text);
        assert_ptr_equal(lesson, &bad);
    }
}

/* Questions and terms past their limits, in files too long for the table. */
static void test_limits_of_a_lesson(void **state)
{
    char text[4096] = FRONT;
    struct lesson *lesson = NULL;
    struct fa_error error;
    (void)state;
    for (int q = 0; q < 4; q++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n,
                 "## S%d\n```ask\nid: q%d\nkind: number\ntext: T?\nexpression: n\nwhy: W.\n```\n",
                 q, q);
    }
    assert_int_equal(lesson_parse("x", text, strlen(text), &lesson, &error), FA_BAD_FILE);
    assert_string_equal(error.text, "x:37: one more question: expected at most 3");
    char *large = calloc(1, LESSON_FILE_BYTES + 2);
    memset(large, 'a', LESSON_FILE_BYTES + 1);
    assert_int_equal(lesson_parse("x", large, LESSON_FILE_BYTES + 1, &lesson, &error), FA_BAD_FILE);
    assert_non_null(strstr(error.text, "expected at most 262144"));
    free(large);
}

static void test_number_in_the_name(void **state)
{
    const char *text = STEP "Text.\n";
    struct lesson *lesson = NULL;
    struct fa_error error;
    (void)state;
    assert_int_equal(lesson_parse("d/04-x.md", text, strlen(text), &lesson, &error), FA_BAD_FILE);
    assert_string_equal(error.text,
                        "d/04-x.md:2: it is lesson 3: expected 04, as the file's name says");
    lesson_free(lesson_case_read("d/03-x.md", text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readme_front_matter), cmocka_unit_test(test_readme_steps),
        cmocka_unit_test(test_prose_blocks),        cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_show_scenarios),      cmocka_unit_test(test_card_show),
        cmocka_unit_test(test_bad_files),           cmocka_unit_test(test_limits_of_a_lesson),
        cmocka_unit_test(test_number_in_the_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
