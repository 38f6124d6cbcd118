/* flashlab lesson, and flashlab view --lesson, on small lessons of the test's own, and on those
 * that are there. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/program_expect.h"

static void expect_none(const char *text, const char *words)
{
    if (strstr(text, words))
        fail_msg("\"%s\" is in:\n%s", words, text);
}

#ifdef FLASHLAB_HAVE_LESSONS

#include "lessons/answers.h"
#include "lessons/learner.h"

/* Trips of a tile, whose sizes vary with the seed; and a sick run, which only lessons have. */
static const char trips[] = "---\n"
                            "lesson: 40\n"
                            "title: Trips of a tile\n"
                            "card: How often does one tile of K come back?\n"
                            "chapter: The cost\n"
                            "minutes: 4\n"
                            "level: 1\n"
                            "scenario: --algorithm flash2 --n 16 --d 4 --tiles 4x4 --sram 16K\n"
                            "vary: [--n 32, --n 48, --n 64]\n"
                            "beliefs:\n"
                            "  - Each matrix is read once.\n"
                            "know: Every tile of queries sends for all of K again.\n"
                            "recall:\n"
                            "  id: scores\n"
                            "  kind: number\n"
                            "  scenario: --n 8 --d 2 --tiles 2x2 --sram 4K\n"
                            "  text: How many scores has one head here?\n"
                            "  expression: nq * nk\n"
                            "  why: Eight queries meet eight keys.\n"
                            "---\n"
                            "\n"
                            "## One tile of K\n"
                            "\n"
                            "Here are {n} keys in {tc} tiles.\n"
                            "\n"
                            "```show\n"
                            "at: 0,2\n"
                            "points:\n"
                            "  - K[2]\n"
                            "```\n"
                            "\n"
                            "## Again\n"
                            "\n"
                            "| tile | for |\n"
                            "|------|-----|\n"
                            "| K[2] | Q[0], Q[1] |\n"
                            "\n"
                            "```ask\n"
                            "id: trips\n"
                            "kind: number\n"
                            "text: How many trips does K[2] make, for one head?\n"
                            "unit: trips\n"
                            "expression: loads(K, 2)\n"
                            "choices:\n"
                            "  - expression: tr * tc\n"
                            "    feedback: There are {tr * tc} score tiles.\n"
                            "hints:\n"
                            "  - Count the tiles of Q.\n"
                            "why: Each of {tr} tiles of queries loads it.\n"
                            "reveal: end\n"
                            "```\n"
                            "\n"
                            "## Larger tiles\n"
                            "\n"
                            "Taller tiles load K less often.\n"
                            "\n"
                            "| of | before |\n"
                            "|----|--------|\n"
                            "| K[2] | {loads(K, 2)} |\n"
                            "\n"
                            "```show\n"
                            "scenario: --n 16\n"
                            "```\n"
                            "\n"
                            "```ask\n"
                            "id: most\n"
                            "kind: choice\n"
                            "text: Which tensors move most, in elements, for one head?\n"
                            "expression: moved(K) + moved(V)\n"
                            "choices:\n"
                            "  - label: Q alone\n"
                            "    expression: moved(Q)\n"
                            "    feedback: Q comes once.\n"
                            "  - label: K and V\n"
                            "    expression: moved(K) + moved(V)\n"
                            "    feedback: They come again.\n"
                            "why: They come {tr} times.\n"
                            "```\n"
                            "\n"
                            "```break\n"
                            "text: Make the tiles taller.\n"
                            "options: [tiles]\n"
                            "run: --tiles 8x4\n"
                            "consequence: Now {moved(K)} elements of K move.\n"
                            "```\n";

static const char sick[] =
    "---\n"
    "lesson: 41\n"
    "title: A sick run\n"
    "card: What breaks first?\n"
    "chapter: The hard parts\n"
    "minutes: 3\n"
    "level: 2\n"
    "scenario: --algorithm faulty-a --n 16 --d 4 --tiles 4x4 --sram 16K --profile equal\n"
    "beliefs: [It matched once.]\n"
    "know: One tile hides it.\n"
    "---\n"
    "\n"
    "## The first tile\n"
    "\n"
    "Look.\n"
    "\n"
    "```ask\n"
    "id: tile\n"
    "kind: number\n"
    "text: After which key tile is O wrong first?\n"
    "expression: measured(\"first bad tile\")\n"
    "why: Tile {measured(\"first bad tile\")} is the second.\n"
    "```\n";

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

static char *read_text(const char *name)
{
    char *text = program_read_file(program_path(name), NULL);
    if (!text)
        fail_msg("%s is not there", name);
    return text;
}

/* The text with `from` once, `to` in its place. */
static void write_changed(const char *name, const char *text, const char *from, const char *to)
{
    static char changed[8192];
    const char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    write_text(program_path(name), changed);
}

static int make_lessons(void **state)
{
    (void)state;
    program_folder();
    if (mkdir(program_path("fine"), 0777) != 0 || mkdir(program_path("bad"), 0777) != 0)
        return -1;
    write_text(program_path("fine/40-trips.md"), trips);
    write_text(program_path("fine/41-sick.md"), sick);
    return setenv("FLASHLAB_DATA", program_path("data"), 1);
}

/* The line with " --lessons FOLDER" after it. */
static struct program_run run_on(const char *folder, const char *line)
{
    char whole[1024];
    snprintf(whole, sizeof whole, "%s --lessons @%s", line, folder);
    return program_run_line(whole);
}

static void expect_run(const char *folder, const char *line, int status, const char *out,
                       const char *err)
{
    struct program_run run = run_on(folder, line);
    if (run.status != status)
        fail_msg("%s: exit %d, not %d: %s%s", line, run.status, status, run.out, run.err);
    text_expect(run.out, out);
    text_expect(run.err, err);
    program_run_free(&run);
}

/* ---- list, show
 * --------------------------------------------------------------------------------------- */

static void test_list(void **state)
{
    (void)state;
    char path[1024];
    struct lesson_progress progress;
    lesson_progress_reset(&progress);
    struct program_run run = run_on("fine", "lesson list");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, "40  Trips of a tile   4 min  level 1\n"
                                 "41  A sick run        3 min  level 2\n");
    program_run_free(&run);

    lesson_progress_mark(&progress, 40)->step = 1;
    lesson_progress_mark(&progress, 41)->done = true;
    assert_int_equal(lesson_progress_path(path, sizeof path, NULL), FA_OK);
    assert_int_equal(lesson_progress_save(path, &progress, NULL), FA_OK);
    run = run_on("fine", "lesson");
    assert_string_equal(run.out, "40  Trips of a tile   4 min  level 1  step 2 of 3\n"
                                 "41  A sick run        3 min  level 2  done\n");
    program_run_free(&run);
    assert_int_equal(remove(path), 0);

    run = run_on("fine", "lesson list --format json");
    json_t *list = json_loads(run.out, 0, NULL);
    program_run_free(&run);
    assert_int_equal(json_array_size(list), 2);
    json_expect_integer(json_array_get(list, 0), "lesson", 40);
    json_expect_integer(json_array_get(list, 0), "questions", 2);
    json_decref(list);
}

static void test_show(void **state)
{
    (void)state;
    struct program_run run = run_on("fine", "lesson show 40");
    assert_int_equal(run.status, 0);
    text_expect(run.out, "1 of 3  One tile of K\nHere are 16 keys in 4 tiles.\n");
    text_expect(run.out, "  tile  for\n  ----  ----------\n  K[2]  Q[0], Q[1]\n");
    text_expect(run.out, "? How many trips does K[2] make, for one head? (in trips)\n");
    text_expect(run.out, "    2  K and V\n\n> Make the tiles taller.\n");
    text_expect(run.out, "? How many scores has one head here?\n"
                         "  Its run: --n 8 --d 2 --tiles 2x2 --sram 4K\n");
    /* The table after the question waits for the reader's own count. */
    text_expect(run.out, "  of    before\n  ----  ------\n  K[2]  ______\n");
    static const char *const answers[] = {"loads it",     "score tiles",     "They come",
                                          "Q comes once", "Count the tiles", "meet",
                                          "Now you know", "Now 128"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        expect_none(run.out, answers[i]);
    program_run_free(&run);
}

static void test_refusals(void **state)
{
    (void)state;
    expect_run("fine", "lesson show", 2, "", "flashlab lesson: show: expected lesson show N\n");
    expect_run("fine", "lesson show 7", 2, "",
               "flashlab lesson: lesson 7: there is none of that number");
    expect_run("fine", "lesson show x", 2, "", "flashlab lesson: x: expected");
    expect_run("fine", "lesson sing 40", 2, "", "flashlab lesson: sing: expected");
    expect_run("fine", "lesson export 40", 2, "", "export: expected --out DIR\n");
    expect_run("fine", "lesson show 40 --out x", 2, "",
               "--out: expected lesson answer or export\n");
    expect_run("fine", "lesson show 40 --threshold 1", 2, "",
               "--threshold: expected lesson answer\n");
    expect_run("fine", "lesson show 40 --format json", 2, "\"code\":\"bad_argument\"", "");
    expect_run("nowhere", "lesson list", 2, "", "nowhere: the folder of lessons cannot be read");
}

/* ---- check
 * -------------------------------------------------------------------------------------------- */

static void test_check(void **state)
{
    (void)state;
    expect_run("fine", "lesson check", 0, "ok  40 Trips of a tile: 3 steps, 3 questions\nok  41",
               "");
    struct program_run run = run_on("fine", "lesson check 41");
    assert_string_equal(run.out, "ok  41 A sick run: 1 step, 1 question\n");
    program_run_free(&run);
    /* Sizes of a seed are checked too: 3 seeds have at least two of the four. */
    expect_run("fine", "lesson check 40 --seed 1", 0, "ok  40", "");
    expect_run("fine", "lesson check 40 --seed 3", 0, "ok  40", "");
}

/* What is no lesson is refused by 2; what does not hold by 1; both with file and line. */
static void test_check_bad(void **state)
{
    static const struct {
        const char *from, *to;
        int status;
        const char *text;
    } bad[] = {
        {"minutes: 4", "minutes: 40", 2, "bad/40-trips.md:6: "},
        {"kind: number\n  scenario", "kind: numbr\n  scenario", 2, "bad/40-trips.md:15: "},
        {"expression: tr * tc", "expression: tr * tq", 2, "bad/40-trips.md:"},
        {"expression: tr * tc", "expression: tr", 1,
         "bad/40-trips.md:39: question trips, choice 1 is 4"},
        {"    expression: moved(Q)\n", "    expression: moved(V) + moved(K)\n", 1,
         "bad/40-trips.md:66: question most, choices 1 and 2"},
        {"at: 0,2", "at: 9,2", 1, "bad/40-trips.md:22: at 9,2: tile (9, 2) is not there"},
        {"why: Each of {tr}", "why: Each of {cell(O, 99)}", 1, "bad/40-trips.md:39: cell: nothing"},
        {"consequence: Now {moved(K)}", "consequence: Now {cell(O, 99)}", 1,
         "bad/40-trips.md:80: cell"},
        {"run: --tiles 8x4", "run: --tiles 8by4", 1, "bad/40-trips.md:83: --tiles: tiles '8by4': expected BRxBC"},
        /* A name that is no option, by its own line and once, however many runs it is a part of. */
        {"scenario: --algorithm", "scenario: --algoritm", 1,
         "bad/40-trips.md:8: --algoritm: expected an option of a run; did you mean --algorithm?\n"},
        {"scenario: --n 16\n", "scenario: --nn 16\n", 1,
         "bad/40-trips.md:62: --nn: expected an option of a run; did you mean --n?\n"},
        {"--n 32, --n 48", "--n 32, --no-casual", 1,
         "bad/40-trips.md:9: --no-casual: expected an option of a run; did you mean --no-causal?"},
        {"expression: tr * tc", "expression: with(\"--no-casual\", tr * tc)", 1,
         "bad/40-trips.md:45: --no-casual: expected an option of a run"},
        {"{tr * tc} score", "{with(\"--profile tydy\", tr)} score", 1,
         "bad/40-trips.md:46: --profile tydy: expected gauss, "},
        {"loads it.\nreveal: end\n```\n", "loads it.\nreveal: end\n", 2,
         "bad/40-trips.md:38: a block ```ask that does not end: expected a line ``` before line "
         "52, '## Larger tiles'\n"},
        {"are {n} keys", "are {loads(KK, 1)} keys", 2,
         "expected a tensor, Q K V O S P LSE l m dO dQ dK dV"},
        {"- K[2]\n", "- rwo 4\n", 2, "; did you mean row 4?\n"},
        {"at: 0,2", "at: 0,2\nl2: --machine abacus", 1,
         "bad/40-trips.md:22: l2 --machine abacus: "},
        {"level: 1", "level: 1\ncard_show:\n  compare: --n 8by4", 1,
         "bad/40-trips.md:9: --n 8by4: expected a whole number"},
        {"level: 1", "level: 1\ncard_show:\n  scenario: --such-thing 4", 1,
         "bad/40-trips.md:9: --such-thing: expected options of a run"},
        {"- K[2]\n", "- K[4]\n", 1, "bad/40-trips.md:22: points K[4]: "},
        {"- K[2]\n", "- S[0,4]\n", 1, "bad/40-trips.md:22: points S[0,4]: "},
        {"- K[2]\n", "- row 16\n", 1, "bad/40-trips.md:22: points row 16: "},
        {"- K[2]\n", "- column 16\n", 1, "bad/40-trips.md:22: points column 16: "},
        {"- K[2]\n", "- dQ[0]\n", 1, "bad/40-trips.md:22: points dQ[0]: "},
        {"options: [tiles]", "options: [tile, n]", 1,
         "bad/40-trips.md:80: the option 'tile' of a break: expected one of a run's; did you mean "
         "tiles?"},
        {"at: 0,2", "at: 0,2\nplay_to: 0,1", 1,
         "bad/40-trips.md:22: play_to 0,1: expected a place behind at 0,2"},
        {"- label: K and V\n", "- label: Q alone\n", 1,
         "bad/40-trips.md:66: question most: choices 1 and 2 are both 'Q alone'"},
        {"vary: [--n 32, ", "vary: [--n 8, ", 1,
         "40-trips.md: that was with '--n 8' of vary, as --seed "},
        {"    feedback: Q comes once.\n", "", 1,
         "bad/40-trips.md:66: question most: choice 1 has no feedback and is not the answer"},
    };
    (void)state;
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        write_changed("bad/40-trips.md", trips, bad[b].from, bad[b].to);
        expect_run("bad", "lesson check 40", bad[b].status, bad[b].text, "");
        expect_run("bad", "lesson check all --format json", bad[b].status, "\"ok\": false", "");
    }
    /* What is read before the answer may not tell it; after it, it may. */
    write_changed("bad/40-trips.md", trips, "{n} keys in {tc}", "{2 * loads(K,2)} keys in {tc}");
    expect_run("bad", "lesson check", 1, "bad/40-trips.md:24: this tells the answer of", "");
    write_changed("bad/40-trips.md", trips, "{n} keys in {tc}",
                  "{with(\"--n 32\", loads(K,2))} keys in {tc}");
    expect_run("bad", "lesson check", 0, "ok  40", "");
    write_changed("bad/40-trips.md", trips, "level: 1", "level: 1\ntracks: [class 2-9]");
    expect_run("bad", "lesson check", 2,
               "bad/40-trips.md:8: the track 'class' has step 9: expected steps of this lesson, 1 "
               "to 3\n", "");
    write_changed("bad/40-trips.md", trips, "level: 1", "level: 1\nneeds: [3]");
    expect_run("bad", "lesson check", 2, "bad/40-trips.md:8: it needs lesson 3", "");
    expect_run("bad", "lesson show 40", 2, "", "bad/40-trips.md:8: it needs lesson 3");
    write_text(program_path("bad/40-trips.md"), trips);
    expect_run("bad", "lesson check", 0, "ok  40", "");
}

/* What looks like a lesson and is not read is told, and is no fault. */
static void test_check_names(void **state)
{
    static const char *const ignored[] = {"names/4-trips.md", "names/04_trips.md", "names/trips.MD",
                                          "names/40-trips.md~"};
    static const char *const other[] = {"names/README.md", "names/notes.txt"};
    (void)state;
    assert_int_equal(mkdir(program_path("names"), 0777), 0);
    write_text(program_path("names/40-trips.md"), trips);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        write_text(program_path(ignored[i]), trips);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        write_text(program_path(other[i]), "Notes.\n");
    struct program_run run = run_on("names", "lesson check");
    assert_int_equal(run.status, 0);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s was not read: expected a name as 04-tiling.md", ignored[i]);
        text_expect(run.out, text);
    }
    text_expect(run.out, "ok  40 Trips of a tile");
    expect_none(run.out, "README");
    expect_none(run.out, "notes");
    program_run_free(&run);
    write_text(program_path("names/40-trips.md"), "No lesson.\n");
    expect_run("names", "lesson check", 2, "4-trips.md was not read", "");
}

/* ---- answers
 * ------------------------------------------------------------------------------------------ */

static void expect_grade(const char *file, const char *options, int status, const char *out)
{
    char line[256];
    write_text(program_path("given.json"), file);
    snprintf(line, sizeof line, "lesson answer 40 @given.json %s", options);
    expect_run("fine", line, status, out, "");
}

static void test_answer(void **state)
{
    (void)state;
    expect_grade(
        "{\"lesson\": 40, \"answers\": {\"trips\": 4, \"most\": 2, \"scores\": \"64\"}}", "", 0,
        "trips: 4, right\n  Each of 4 tiles of queries loads it.\nmost: 2, right\n  They come 4 "
        "times.\nscores: 64, right\n  Eight queries meet eight keys.\n3 of 3 right: passed");
    expect_grade("{\"lesson\": 40, \"answers\": {\"trips\": 16, \"most\": 1}}", "", 1,
                 "trips: 16, another answer\n  There are 16 score tiles.\nmost: 1, another "
                 "answer\n  Q comes "
                 "once.\nscores: not answered\n0 of 3 right: not passed");
    static const char two[] =
        "{\"lesson\": 40, \"answers\": {\"trips\": 4, \"most\": 2, \"scores\": \"so\"}}";
    expect_grade(two, "", 0, "scores: so, not read\n  so: expected a number");
    expect_grade("{\"lesson\": 40, \"answers\": {\"trips\": 0.47}}", "", 1, "trips: 0.47, another");
    expect_grade(two, "--threshold 0.7", 1, "2 of 3 right: not passed (0.7 or more needed)");
    expect_grade(two, "--threshold 0.66", 0, "passed");
    expect_grade("{\"lesson\": 40, \"answers\": {\"trips\": 4, \"most\": 2, \"scores\": 64}}",
                 "--threshold 1", 0, "3 of 3 right: passed (1 or more needed)");
}

static void test_answer_json(void **state)
{
    (void)state;
    write_text(
        program_path("given.json"),
        "{\"lesson\": 40, \"seed\": 5, \"answers\": {\"trips\": 1, \"most\": 2, \"scores\": 64}}");
    struct program_run run =
        run_on("fine", "lesson answer 40 @given.json --format json --out @result.json");
    assert_int_equal(run.status, 0);
    json_t *result = json_loads(run.out, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(result);
    json_expect_integer(result, "lesson", 40);
    json_expect_integer(result, "seed", 5);
    json_expect_integer(result, "right", 2);
    json_expect_integer(result, "questions", 3);
    assert_true(json_is_true(json_at(result, "passed")));
    assert_string_equal(json_string_value(json_at(result, "version")), FLASHLAB_VERSION);
    text_expect(json_string_value(json_at(result, "parameters.trips")), "--seed 5");
    const json_t *first = json_array_get(json_at(result, "graded"), 0);
    assert_string_equal(json_string_value(json_at(first, "id")), "trips");
    assert_string_equal(json_string_value(json_at(first, "verdict")), "another");
    assert_true(json_is_false(json_at(first, "changed")));
    program_run_free(&run);

    /* The result is a file of answers: it is graded again, to itself. */
    run = run_on("fine", "lesson answer 40 @result.json --format json");
    json_t *again = json_loads(run.out, 0, NULL);
    assert_int_equal(run.status, 0);
    assert_true(json_equal(result, again));
    program_run_free(&run);
    json_decref(again);

    /* What was asked with other parameters is said to be so. */
    json_object_set_new((json_t *)json_at(result, "parameters"), "trips", json_string("--n 9"));
    char *text = json_dumps(result, 0);
    write_text(program_path("given.json"), text);
    free(text);
    expect_run("fine", "lesson answer 40 @given.json", 0, "It was answered with other parameters",
               "");
    json_decref(result);
}

static void test_answer_refusals(void **state)
{
    static const struct {
        const char *file, *text;
    } bad[] = {
        {"{\"lesson\": 41, \"answers\": {}}",
         "given.json: answers to lesson 41: expected those to 40"},
        {"{\"lesson\": 40, \"answers\": {\"trisp\": 1}}",
         "\"trisp\" is no question: expected one of trips, most, scores"},
        {"{\"lesson\": 40, \"answers\": {\"trips\": [1]}}", "\"trips\": expected a number"},
        {"{\"lesson\": 40, \"answer\": {}}", "answers: expected {"},
        {"{\"lesson\": 40, \"answers\": {}, \"seeds\": 1}",
         "seeds: expected lesson, seed and answers"},
        {"{\"lesson\": 40, \"seed\": -1, \"answers\": {}}", "seed: expected a whole number"},
        {"[]", "expected {\"lesson\": N"},
        {"{\"lesson\": 40,\n \"answers\"}", "given.json:2: "},
    };
    (void)state;
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        write_text(program_path("given.json"), bad[b].file);
        expect_run("fine", "lesson answer 40 @given.json", 2, "", bad[b].text);
    }
    expect_run("fine", "lesson answer 40 @none.json", 2, "", "none.json");
}

/* ---- play
 * --------------------------------------------------------------------------------------------- */

/* Plays with these lines on standard input. */
static void play(const char *lines, const char *options, char *out, size_t size)
{
    char command[2048];
    write_text(program_path("lines"), lines);
    snprintf(command, sizeof command, "'%s' lesson play 40 --lessons '%s' %s < '%s'",
             FLASHLAB_PROGRAM, program_path("fine"), options, program_path("lines"));
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t n = fread(out, 1, size - 1, pipe);
    out[n] = '\0';
    assert_int_equal(pclose(pipe), 0);
}

static void test_play(void **state)
{
    char out[16384], path[1024], command[1200];
    (void)state;
    play("hint\nh\n16\n4\n2\n64\n", "", out, sizeof out);
    text_expect(out, "Hint 1 of 1:\n  Count the tiles of Q.\n");
    text_expect(out, "There are no more hints.");
    text_expect(out, "16\n  There are 16 score tiles.\n  Try once more.\n");
    text_expect(out, "4\n  Yes. Each of 4 tiles of queries loads it.\n");
    text_expect(out, "Now 128 elements of K move.\n");
    text_expect(out, "Yes. Eight queries meet eight keys.\n");
    text_expect(out, "Now you know: Every tile of queries sends for all of K again.\n");
    /* The commands find the lessons again. */
    snprintf(command, sizeof command, "See it move: flashlab view --lesson 40 --lessons %s\n",
             program_path("fine"));
    text_expect(out, command);
    snprintf(command, sizeof command, "Next: flashlab lesson play 41 --lessons %s (A sick run)\n",
             program_path("fine"));
    text_expect(out, command);
    /* A pipe leaves no progress behind. */
    assert_int_equal(lesson_progress_path(path, sizeof path, NULL), FA_OK);
    assert_int_not_equal(access(path, F_OK), 0);

    play("99\n98\ns\nq\n", "", out, sizeof out);
    text_expect(
        out, "98\n  That is far more than the run gives.\n  The run gives: 4 trips\n  Each of 4");
    text_expect(out, "  The run gives: K and V\n  They come 4 times.\n");
    expect_none(out, "Now you know");
    play("", "", out, sizeof out);
    text_expect(out, "How many trips");
    expect_none(out, "Larger tiles");
}

/* ---- seeds
 * -------------------------------------------------------------------------------------------- */

static void test_seeds(void **state)
{
    char out[2][16384], options[32];
    int other = 0;
    (void)state;
    play("s\ns\ns\n", "", out[0], sizeof out[0]);
    text_expect(out[0], "Here are 16 keys");
    for (int seed = 0; seed < 8; seed++) {
        snprintf(options, sizeof options, "--seed %d", seed);
        play("s\ns\ns\n", options, out[0], sizeof out[0]);
        play("s\ns\ns\n", options, out[1], sizeof out[1]);
        assert_string_equal(out[0], out[1]);
        other += strstr(out[0], "Here are 16 keys") == NULL;
        /* Step 3 has 16 keys like its lesson; the recall is another lesson's. */
        text_expect(out[0], "  Eight queries meet eight keys.\n");
    }
    assert_in_range(other, 3, 8);
}

/* A seed that changes no answer says so; one that changes them says nothing. */
static void test_seed_note(void **state)
{
    int noted = 0;
    (void)state;
    for (int seed = 0; seed < 8; seed++) {
        char line[64];
        snprintf(line, sizeof line, "lesson show 40 --seed %d", seed);
        struct program_run run = run_on("fine", line);
        bool note = strstr(run.out, "all answers are those of the lesson without a seed") != NULL;
        assert_int_equal(note, strstr(run.out, "Here are 16 keys") != NULL);
        noted += note;
        program_run_free(&run);
    }
    assert_in_range(noted, 1, 5);
    expect_run("fine", "lesson show 41 --seed 3", 0,
               "level 2\nWith seed 3 all answers are those of the lesson without a seed.\n", "");
    struct program_run run = run_on("fine", "lesson show 41");
    expect_none(run.out, "seed");
    program_run_free(&run);
}

/* ---- export
 * ------------------------------------------------------------------------------------------- */

#ifdef FLASHLAB_HAVE_CANVAS
/* The picture's file holds the words of its command. */
static void expect_caption(const char *name, const char *words)
{
    size_t n, length = strlen(words);
    char *file = program_read_file(program_path(name), &n);
    bool found = false;
    assert_non_null(file);
    for (size_t i = 0; i + length <= n && !found; i++)
        found = memcmp(file + i, words, length) == 0;
    free(file);
    if (!found)
        fail_msg("%s is not in %s", words, name);
}
#endif

static void test_export(void **state)
{
    (void)state;
    expect_run("fine", "lesson export 40 --seed 4 --out @hand/out", 0, "handout.md", "");
    char *handout = read_text("hand/out/handout.md"), *answers = read_text("hand/out/answers.md");
    text_expect(handout, "# 40. Trips of a tile\n");
    text_expect(handout, "level 1, seed 4\n");
    text_expect(handout, "| tile | for        |\n|------|------------|\n| K[2] | Q[0], Q[1] |\n");
    text_expect(handout, "**How many trips does K[2] make, for one head? (in trips)**\n");
    text_expect(handout, "1. Q alone\n2. K and V\n");
    text_expect(handout, "| K[2] | ______ |\n");
    text_expect(answers, "## Step 3, filled in\n\n| of   | before |\n|------|--------|\n"
                         "| K[2] | 12     |\n");
    static const char *const given[] = {"loads it",           "They come", "Q comes once",
                                        "Eight queries meet", "again",     "elements of K move"};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        expect_none(handout, given[i]);
    /* The seed's numbers are of its own run, which no number of a step opens. */
    text_expect(handout, "Make the tiles taller. (`flashlab view --algorithm flash2 --n 48 ");
    text_expect(handout, " --seed 4`)\n");
    expect_none(handout, "--lesson");
    text_expect(handout, "## One question from an earlier lesson\n");
    text_expect(answers, "## `most`: K and V\n");
    text_expect(answers, "- Q alone: Q comes once.\n");
    expect_none(answers, "They come again.");
    text_expect(answers, "## Step 3, broken with `--tiles 8x4`\n");
    free(handout);
    free(answers);
#ifdef FLASHLAB_HAVE_CANVAS
    char *picture = read_text("hand/out/step-2.png");
    assert_memory_equal(picture + 1, "PNG", 3);
    free(picture);
    expect_caption("hand/out/step-3.png", "flashlab view --algorithm=flash2 --n=48 ");
    expect_run("fine", "lesson export 40 --out @own", 0, "handout.md", "");
    expect_caption("own/step-3.png", "flashlab view --lesson 40 --step 3 --lessons ");
    handout = read_text("own/handout.md");
    text_expect(handout, "Make the tiles taller. (`flashlab view --lesson 40 --step 3 --lessons /");
    free(handout);
    char *again = read_text("hand/out/handout.md");
    text_expect(again, "](step-2.png)\n");
    free(again);
#endif
    write_text(program_path("file"), "");
    expect_run("fine", "lesson export 40 --out @file", 2, "", "file");
}

/* ---- the window's step, without a window
 * -------------------------------------------------------------- */

static void test_view(void **state)
{
    (void)state;
#ifdef FLASHLAB_HAVE_CANVAS
    expect_run("fine", "view --font builtin --lesson 40 --step 2 --screenshot @a.png", 0, "", "");
    expect_run("fine", "view --font builtin --lesson 40 --step 3 --screenshot @b.png", 0, "", "");
    expect_run("fine", "view --font builtin --lesson 41 --present --screenshot @c.png", 0, "", "");
    size_t n[3];
    char *a = program_read_file(program_path("a.png"), &n[0]);
    char *b = program_read_file(program_path("b.png"), &n[1]);
    char *c = program_read_file(program_path("c.png"), &n[2]);
    assert_true(a && b && c);
    assert_false(n[0] == n[1] && memcmp(a, b, n[0]) == 0);
    free(a);
    free(b);
    free(c);
    /* The step past the last is the lesson's end. */
    expect_run("fine", "view --font builtin --lesson 40 --step 4 --screenshot @d.png", 0, "", "");
    a = program_read_file(program_path("d.png"), &n[0]);
    b = program_read_file(program_path("b.png"), &n[1]);
    assert_false(n[0] == n[1] && memcmp(a, b, n[0]) == 0);
    free(a);
    free(b);
#endif
    expect_run("fine", "view --lesson 40 --step 5 --screenshot @a.png", 2, "",
               "--step 5: expected 1 to 3, the steps of lesson 40, or 4, its end\n");
    expect_run("fine", "view --lesson 7 --screenshot @a.png", 2, "",
               "there is none of that number");
    expect_run("fine", "view --lesson 40 --n 8 --screenshot @a.png", 2, "", "--lesson and --n=8");
    expect_run("fine", "view --lesson 40 --at 4 --screenshot @a.png", 2, "", "--lesson and --at");
    expect_run("fine", "view --step 2 --screenshot @a.png", 2, "", "--step: expected --lesson");
}

/* Runs that are wrong are lessons' alone. */
static void test_faulty(void **state)
{
    (void)state;
    expect_run("fine", "lesson check 41", 0, "ok  41", "");
    write_text(program_path("given.json"), "{\"lesson\": 41, \"answers\": {\"tile\": 1}}");
    expect_run("fine", "lesson answer 41 @given.json", 0,
               "tile: 1, right\n  Tile 1 is the second.\n", "");
    static const char *const lines[] = {"count --algorithm faulty-a", "run --algorithm healthy",
                                        "view --algorithm faulty-a --describe"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct program_run run = program_run_line(lines[i]);
        assert_int_equal(run.status, 2);
        text_expect(run.err, "--algorithm");
        program_run_free(&run);
    }
}

/* ---- the lessons that are there
 * ----------------------------------------------------------------------- */

static void test_real_lessons(void **state)
{
    (void)state;
    struct lesson_shelf shelf = {.n = 0};
    struct fa_error error;
    enum fa_status status = lesson_shelf_open(FLASHLAB_SOURCE_DIR "/lessons", &shelf, &error);
    if (status == FA_OK)
        lesson_shelf_close(&shelf);
    if (status == FA_IO)
        skip();
    struct program_run run =
        program_run("lesson", "check", "all", "--lessons", FLASHLAB_SOURCE_DIR "/lessons", NULL);
    if (run.status != 0)
        fail_msg("%s%s", run.out, run.err);
    program_run_free(&run);
    run = program_run("lesson", "list", NULL);
    assert_int_equal(run.status, 0);
    for (const char *line = run.out; *line; line = strchr(line, '\n') + 1)
        assert_true(*line >= '0' && *line <= '9');
    program_run_free(&run);
}

/* On paper no answer stands before its question, nor in a table after it. Lesson 3 has another row
 * of scores for most seeds. */
static void test_real_handouts(void **state)
{
    static const struct {
        int number;
        const char *answer; /* in the text's own table, and in the answers */
    } tables[] = {{3, "1.688"},
                  {6, "36\u202f992"},
                  {8, "4\u202f326\u202f400"},
                  {9, "1.833"},
                  {11, "1\u202f246\u202f208"}};
    char line[128], name[64];
    int other = 0;
    (void)state;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        snprintf(line, sizeof line, "lesson export %d --out @paper%d", tables[t].number,
                 tables[t].number);
        struct program_run run = program_run_line(line);
        assert_int_equal(run.status, 0);
        program_run_free(&run);
        snprintf(name, sizeof name, "paper%d/handout.md", tables[t].number);
        char *handout = read_text(name);
        snprintf(name, sizeof name, "paper%d/answers.md", tables[t].number);
        char *answers = read_text(name);
        expect_none(handout, tables[t].answer);
        text_expect(handout, LESSON_BLANK);
        text_expect(answers, tables[t].answer);
        free(handout);
        free(answers);
    }
    for (int seed = 1; seed < 6; seed++) {
        snprintf(line, sizeof line, "lesson show 3 --seed %d", seed);
        struct program_run run = program_run_line(line);
        other += strstr(run.out, "The row is 2, 1, 3, 0, 1.") == NULL;
        program_run_free(&run);
    }
    assert_in_range(other, 2, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),        cmocka_unit_test(test_show),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_check),
        cmocka_unit_test(test_check_bad),   cmocka_unit_test(test_answer),
        cmocka_unit_test(test_answer_json), cmocka_unit_test(test_answer_refusals),
        cmocka_unit_test(test_play),        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_export),      cmocka_unit_test(test_view),
        cmocka_unit_test(test_faulty),      cmocka_unit_test(test_real_lessons),
        cmocka_unit_test(test_seed_note),   cmocka_unit_test(test_real_handouts),
        cmocka_unit_test(test_check_names),
    };
    return cmocka_run_group_tests(tests, make_lessons, program_folder_remove);
}

#else

/* Without the library the command says what is missing. */
static void test_missing(void **state)
{
    (void)state;
    struct program_run run = program_run("lesson", "list", NULL);
    assert_int_equal(run.status, 3);
    assert_string_equal(run.out, "");
    text_expect(run.err, "md4c and libyaml");
    program_run_free(&run);
    run = program_run("view", "--lesson", "4", "--screenshot", "x.png", NULL);
    assert_int_equal(run.status, 3);
    expect_none(run.err, "SDL2");
    program_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
