/* The option parser: what it reads, what it refuses and in which words. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/problem_options.h"
#include "simulator/cli/progress.h"

enum { WORDS_MAX = 48 };

/* A command of its own, with one option of each kind. */
struct sample_options {
    struct cli_options base;
    bool flag;
    int64_t integer, size;
    const char *text, *file, *folder;
    int word;
    int other_calls;
    const char *other;
};

static enum fa_status set_other(struct cli_options *options, const char *text,
                                struct fa_error *error)
{
    struct sample_options *sample = (struct sample_options *)options;
    if (text && strcmp(text, "bad") == 0)
        return fa_fail(error, FA_BAD_FILE, "expected good");
    if (text && strcmp(text, "worse") == 0)
        return fa_fail(error, FA_IO, "\"worse\": a sentence of its own");
    sample->other_calls++;
    sample->other = text;
    return FA_OK;
}

#define AT(field) offsetof(struct sample_options, field)

static const char *const sample_words[] = {"red", "green", "blue", NULL};

static const struct cli_option sample_options[] = {
    {.name = "flag", .help = "A flag.", .kind = CLI_FLAG, .offset = AT(flag)},
    {.name = "integer", .value = "N", .help = "A number.", .kind = CLI_INTEGER,
     .offset = AT(integer), .min = -5, .max = 100},
    {.name = "size", .value = "N", .help = "A size.", .kind = CLI_SIZE, .offset = AT(size),
     .max = INT64_MAX},
    {.name = "text", .value = "TEXT", .help = "A text.", .kind = CLI_TEXT, .offset = AT(text)},
    {.name = "file", .value = "FILE", .help = "A file.", .kind = CLI_FILE, .offset = AT(file)},
    {.name = "folder", .value = "DIR", .help = "A folder.", .kind = CLI_FOLDER,
     .offset = AT(folder)},
    {.name = "word", .value = "WORD", .help = "A word.", .kind = CLI_WORD, .offset = AT(word),
     .words = sample_words},
    {.name = "other", .value = "X", .help = "Something else.", .kind = CLI_OTHER,
     .set = set_other, .value_optional = true},
};

static const struct cli_group sample_group = CLI_GROUP("Sample", sample_options);
static const struct cli_group *const sample_groups[] = {&sample_group, &cli_format_group, NULL};

static int run_nothing(const struct cli_command *command, int argc, char **argv)
{
    (void)command;
    (void)argc;
    (void)argv;
    return 0;
}

static const struct cli_command sample = {
    .name = "sample", .summary = "a sample", .operands = "FILE", .operands_max = 1,
    .about = "Does nothing.", .examples = "", .groups = sample_groups, .run = run_nothing,
};

static const struct cli_command strict = {
    .name = "strict", .summary = "a sample", .operands = "FILE", .operands_min = 1,
    .operands_max = 1, .about = "Does nothing.", .examples = "", .groups = sample_groups,
    .run = run_nothing,
};

/* Splits the line at blanks, in place; "''" is an empty word. Returns argc. */
static int split(char *line, char **argv)
{
    int argc = 0;
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) {
        assert_true(argc < WORDS_MAX);
        argv[argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
    }
    argv[argc] = NULL;
    return argc;
}

/* The words that options point at live as long as this. */
static char words[512];
static char *word_list[WORDS_MAX + 1];

static enum fa_status parse(const struct cli_command *command, const char *line,
                            struct cli_options *options, struct fa_error *error)
{
    assert_true((size_t)snprintf(words, sizeof words, "%s %s", command->name, line) < sizeof words);
    int argc = split(words, word_list);
    memset(error, 0, sizeof *error);
    return cli_parse(command, argc, word_list, options, error);
}

static void test_each_kind_is_read(void **state)
{
    (void)state;
    struct sample_options options = {.word = -1};
    struct fa_error error;
    assert_int_equal(parse(&sample,
                           "--flag --integer -5 --size=3K --text --odd --file a/b --folder=c "
                           "--word blue --other operand",
                           &options.base, &error),
                     FA_OK);
    assert_true(options.flag);
    assert_int_equal(options.integer, -5);
    assert_int_equal(options.size, 3 * 1024);
    assert_string_equal(options.text, "--odd");
    assert_string_equal(options.file, "a/b");
    assert_string_equal(options.folder, "c");
    assert_int_equal(options.word, 2);
    assert_int_equal(options.other_calls, 1);
    assert_null(options.other);
    assert_int_equal(options.base.n_operands, 1);
    assert_string_equal(options.base.operands[0], "operand");
    assert_int_equal(options.base.format, CLI_TEXT_FORMAT);
    assert_true(cli_given(&options.base, "flag"));
    assert_true(cli_given(&options.base, "other"));
    assert_false(cli_given(&options.base, "format"));
    assert_false(cli_given(&options.base, "no-such"));
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int64_t size;
    } sizes[] = {{"--size 1k", 1024},        {"--size 2K", 2048},    {"--size 3m", 3 << 20},
                 {"--size 1M", 1 << 20},     {"--size 1g", 1 << 30}, {"--size=7G", INT64_C(7) << 30},
                 {"--size 64", 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct sample_options options = {.size = -1};
        struct fa_error error;
        assert_int_equal(parse(&sample, sizes[i].line, &options.base, &error), FA_OK);
        assert_int_equal(options.size, sizes[i].size);
    }
}

static void test_what_is_left_out_stays(void **state)
{
    (void)state;
    struct sample_options options = {.integer = 7, .word = 1};
    struct fa_error error;
    assert_int_equal(parse(&sample, "--other=yes --format=json -- --flag", &options.base, &error),
                     FA_OK);
    assert_false(options.flag);
    assert_int_equal(options.integer, 7);
    assert_int_equal(options.word, 1);
    assert_string_equal(options.other, "yes");
    assert_string_equal(options.base.operands[0], "--flag");
    assert_int_equal(options.base.format, CLI_JSON_FORMAT);
}

static void test_help_comes_before_errors(void **state)
{
    (void)state;
    struct sample_options options = {.integer = 7};
    struct fa_error error;
    assert_int_equal(parse(&strict, "--nonsense --integer 3 --help", &options.base, &error), FA_OK);
    assert_true(options.base.help);
    assert_int_equal(options.integer, 7);
    /* After --, it is an operand. */
    assert_int_equal(parse(&strict, "-- --help", &options.base, &error), FA_OK);
    assert_false(options.base.help);
}

struct refusal {
    const char *line;
    enum fa_status status;
    const char *text;
};

static void test_refusals(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"--integer 101", FA_BAD_ARGUMENT, "--integer 101: expected -5 to 100"},
        {"--integer -6", FA_BAD_ARGUMENT, "--integer -6: expected -5 to 100"},
        {"--integer 1x", FA_BAD_ARGUMENT, "--integer 1x: expected a whole number, -5 to 100"},
        {"--integer 1.0", FA_BAD_ARGUMENT, "--integer 1.0: expected a whole number, -5 to 100"},
        {"--integer +1", FA_BAD_ARGUMENT, "--integer +1: expected a whole number, -5 to 100"},
        {"--integer 0x1", FA_BAD_ARGUMENT, "--integer 0x1: expected a whole number, -5 to 100"},
        {"--integer -", FA_BAD_ARGUMENT, "--integer -: expected a whole number, -5 to 100"},
        {"--integer 1K", FA_BAD_ARGUMENT, "--integer 1K: expected a whole number, -5 to 100"},
        {"--integer 18446744073709551617", FA_TOO_LARGE,
         "--integer 18446744073709551617: expected -5 to 100"},
        {"--integer ''", FA_BAD_ARGUMENT, "--integer: expected N, not an empty text"},
        {"--integer", FA_BAD_ARGUMENT, "--integer: expected a value, N after it"},
        {"--size -1", FA_BAD_ARGUMENT, "--size -1: expected 0 or more; K, M and G are powers of 1024"},
        {"--size 1KK", FA_BAD_ARGUMENT,
         "--size 1KK: expected a whole number, 0 or more; K, M and G are powers of 1024"},
        {"--size K", FA_BAD_ARGUMENT,
         "--size K: expected a whole number, 0 or more; K, M and G are powers of 1024"},
        {"--size 9223372036854775808", FA_TOO_LARGE,
         "--size 9223372036854775808: expected 0 or more, up to 9223372036854775807; K, M and "
         "G are powers of 1024"},
        {"--size 9007199254740992K", FA_TOO_LARGE,
         "--size 9007199254740992K: expected 0 or more, up to 9223372036854775807; K, M and "
         "G are powers of 1024"},
        {"--word pink", FA_BAD_ARGUMENT, "--word pink: expected red, green or blue"},
        {"--word gren", FA_BAD_ARGUMENT,
         "--word gren: expected red, green or blue; did you mean green?"},
        {"--other=bad", FA_BAD_FILE, "--other bad: expected good"},
        {"--other=worse", FA_IO, "--other: \"worse\": a sentence of its own"},
        {"--flag --flag", FA_BAD_ARGUMENT, "--flag: given twice"},
        {"--integer 1 --integer=1", FA_BAD_ARGUMENT, "--integer: given twice"},
        {"--flag=1", FA_BAD_ARGUMENT, "--flag=1: expected no value after --flag"},
        {"--help=1", FA_BAD_ARGUMENT, "--help=1: expected no value after --help"},
        {"--integr 1", FA_BAD_ARGUMENT, "--integr: unknown option; did you mean --integer?"},
        {"--int=1", FA_BAD_ARGUMENT, "--int: unknown option; did you mean --integer?"},
        {"--fl", FA_BAD_ARGUMENT, "--fl: unknown option; did you mean --flag?"},
        {"--f", FA_BAD_ARGUMENT, "--f: unknown option; --help lists them"},
        {"--hel", FA_BAD_ARGUMENT, "--hel: unknown option; did you mean --help?"},
        {"--zzzzzz", FA_BAD_ARGUMENT, "--zzzzzz: unknown option; --help lists them"},
        {"--format xml", FA_BAD_ARGUMENT, "--format xml: expected text or json"},
        {"-x", FA_BAD_ARGUMENT, "-x: unknown option; --help lists them"},
        {"one two", FA_BAD_ARGUMENT, "two: one word too many; expected FILE"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct sample_options options = {.word = 0};
        struct fa_error error;
        enum fa_status status = parse(&sample, refusals[i].line, &options.base, &error);
        assert_string_equal(error.text, refusals[i].text);
        assert_int_equal(status, refusals[i].status);
        assert_int_equal(error.status, refusals[i].status);
    }
    struct sample_options options = {.word = 0};
    struct fa_error error;
    assert_int_equal(parse(&strict, "--flag", &options.base, &error), FA_BAD_ARGUMENT);
    assert_string_equal(error.text, "expected FILE after strict");
}

static void test_json_is_seen_beside_errors(void **state)
{
    (void)state;
    static const char *const lines[] = {"--format json --nonsense", "--nonsense --format=json",
                                        "--integer x --format json"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct sample_options options = {.word = 0};
        struct fa_error error;
        assert_int_equal(parse(&sample, lines[i], &options.base, &error), FA_BAD_ARGUMENT);
        assert_int_equal(options.base.format, CLI_JSON_FORMAT);
    }
    char *const quiet[] = {(char *)"x", (char *)"--", (char *)"--format", (char *)"json", NULL};
    assert_false(cli_wants_json(4, (char **)quiet));
}

static void test_nearest_word(void **state)
{
    (void)state;
    static const char *const near[] = {"count", "completion", "run", "n", "nq"};
    assert_string_equal(cli_nearest("cuont", near, 5), "count");
    assert_string_equal(cli_nearest("compl", near, 5), "completion");
    assert_string_equal(cli_nearest("rum", near, 5), "run");
    assert_string_equal(cli_nearest("nqq", near, 5), "nq");
    assert_null(cli_nearest("x", near, 5));
    assert_null(cli_nearest("", near, 5));
    assert_null(cli_nearest("visualizer", near, 5));
    assert_null(cli_nearest("a-word-that-is-longer-than-any-option-has-a-right-to-be", near, 5));
}

static void test_real_numbers(void **state)
{
    (void)state;
    static const char *const bad[] = {"",     "nan",  "inf", "0x1p3", " 1", "1 ", "1,5",
                                      "1e",   "--1",  "1e999", "1e-999", "-", "."};
    double value = 5;
    struct fa_error error;
    assert_int_equal(cli_parse_real("-1.5e-3", &value, &error), FA_OK);
    assert_true(value == -1.5e-3);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        value = 5;
        assert_int_not_equal(cli_parse_real(bad[i], &value, &error), FA_OK);
        assert_true(value == 5);
        assert_true(strncmp(error.text, "expected", 8) == 0);
    }
}

/* ---- the shared groups ---------------------------------------------------------------------- */

static const struct cli_group *const problem_groups[] = {
    &cli_problem_group, &cli_sparse_group, &cli_machine_group, &cli_input_group,  &cli_output_group,
    &cli_trace_group,   &cli_threads_group, &cli_format_group, NULL,
};

static const struct cli_command problem_command = {
    .name = "problem", .summary = "", .operands = "", .about = "", .examples = "",
    .groups = problem_groups, .run = run_nothing,
};

static enum fa_status make(const char *line, struct cli_problem *options,
                           struct fa_problem *problem, struct fa_error *error)
{
    *options = cli_problem_defaults;
    enum fa_status status = parse(&problem_command, line, &options->base, error);
    if (status == FA_OK)
        status = cli_problem_check(options, error);
    if (status == FA_OK)
        status = cli_problem_make(options, problem, error);
    return status;
}

static void test_problem_defaults(void **state)
{
    (void)state;
    struct cli_problem options;
    struct fa_problem problem;
    struct sim_machine machine;
    struct fa_error error;
    assert_int_equal(make("", &options, &problem, &error), FA_OK);
    assert_int_equal(options.n_algorithms, 1);
    assert_ptr_equal(options.algorithms[0], &fa_flash2);
    assert_int_equal(problem.batch, 1);
    assert_int_equal(problem.heads, 1);
    assert_int_equal(problem.kv_heads, 1);
    assert_int_equal(problem.nq, 1024);
    assert_int_equal(problem.nk, 1024);
    assert_int_equal(problem.d, 64);
    assert_int_equal(problem.dv, 64);
    assert_true(problem.scale == 0.125);
    assert_int_equal(problem.causal, FA_CAUSAL_NONE);
    assert_int_equal(problem.window_left, -1);
    assert_int_equal(problem.window_right, -1);
    assert_int_equal(problem.dtype, FA_F32);
    assert_int_equal(options.tiles.policy, SIM_TILES_DEFAULT);
    assert_int_equal(options.check, SIM_CHECK_SAMPLE);
    assert_int_equal(cli_machine_make(&options, &machine, &error), FA_OK);
    assert_string_equal(machine.name, "a100");
    assert_int_equal(machine.sram_bytes, 196608);
    assert_true(cli_thread_count(&options) >= 1);
}

static void test_problem_is_read(void **state)
{
    (void)state;
    struct cli_problem options;
    struct fa_problem problem;
    struct sim_machine machine;
    struct fa_error error;
    assert_int_equal(make("--algorithm flash1,standard --batch 2 --heads 6 --nq 5 --nk 2K --d 3 "
                          "--scale -0.5 --causal=top-left --window -1,4 --dtype bf16 --sram 64K "
                          "--tiles 16x32 --profile peaky --seed 9223372036854775807 --layout bshd "
                          "--check full --threads 3",
                          &options, &problem, &error),
                     FA_OK);
    assert_int_equal(options.n_algorithms, 2);
    assert_ptr_equal(options.algorithms[0], &fa_flash1);
    assert_ptr_equal(options.algorithms[1], &fa_standard);
    assert_int_equal(problem.batch, 2);
    assert_int_equal(problem.heads, 6);
    assert_int_equal(problem.kv_heads, 6);
    assert_int_equal(problem.nq, 5);
    assert_int_equal(problem.nk, 2048);
    assert_int_equal(problem.d, 3);
    assert_int_equal(problem.dv, 3);
    assert_true(problem.scale == -0.5);
    assert_int_equal(problem.causal, FA_CAUSAL_TOP_LEFT);
    assert_int_equal(problem.window_left, -1);
    assert_int_equal(problem.window_right, 4);
    assert_int_equal(problem.dtype, FA_BF16);
    assert_int_equal(options.tiles.policy, SIM_TILES_GIVEN);
    assert_int_equal(options.tiles.br, 16);
    assert_int_equal(options.tiles.bc, 32);
    assert_int_equal(options.profile, FA_PROFILE_PEAKY);
    assert_true(options.seed == INT64_MAX);
    assert_int_equal(options.layout, CLI_BSHD);
    assert_int_equal(options.check, SIM_CHECK_FULL);
    assert_int_equal(cli_thread_count(&options), 3);
    assert_int_equal(cli_machine_make(&options, &machine, &error), FA_OK);
    assert_int_equal(machine.sram_bytes, 65536);
    assert_int_equal(make("--causal --n 7 --scale 0 --trace t", &options, &problem, &error), FA_OK);
    assert_int_equal(problem.causal, FA_CAUSAL_BOTTOM_RIGHT);
    assert_int_equal(problem.nq, 7);
    assert_true(problem.scale == 0);
    assert_int_equal(cli_thread_count(&options), 1);
}

static void test_problem_refusals(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"--d 0", FA_BAD_ARGUMENT, "--d 0: expected 1 or more"},
        {"--heads -1", FA_BAD_ARGUMENT, "--heads -1: expected 0 or more"},
        {"--heads 1.5", FA_BAD_ARGUMENT, "--heads 1.5: expected a whole number, 0 or more"},
        {"--heads 10x", FA_BAD_ARGUMENT, "--heads 10x: expected a whole number, 0 or more"},
        {"--n 4 --nq 4", FA_BAD_ARGUMENT, "--n and --nq: expected either --n, or --nq and --nk"},
        {"--n 4 --nk 4", FA_BAD_ARGUMENT, "--n and --nk: expected either --n, or --nq and --nk"},
        {"--nq 4", FA_BAD_ARGUMENT, "--nq: expected --nk with it"},
        {"--nk 4", FA_BAD_ARGUMENT, "--nk: expected --nq with it"},
        {"--in a --seed 1", FA_BAD_ARGUMENT, "--in and --seed: expected only one of them"},
        {"--in a --profile gauss", FA_BAD_ARGUMENT,
         "--in and --profile: expected only one of them"},
        {"--algorithm flash1,flash2 --out a", FA_BAD_ARGUMENT,
         "--out: expected one algorithm with it, not 2"},
        {"--algorithm flash1,flash2 --trace a", FA_BAD_ARGUMENT,
         "--trace: expected one algorithm with it, not 2"},
        {"--threads 2 --trace a", FA_BAD_ARGUMENT,
         "--threads 2: expected 1 with --trace, whose order is the run's"},
        {"--threads 0", FA_BAD_ARGUMENT, "--threads 0: expected 1 to 1024"},
        {"--algorithm flash3", FA_BAD_ARGUMENT,
         "--algorithm flash3: expected standard, flash1, flash2, fused-save-p or square-tiling; "
         "did you mean flash1?"},
        {"--algorithm flash1,", FA_BAD_ARGUMENT,
         "--algorithm flash1,: expected standard, flash1, flash2, fused-save-p or square-tiling"},
        {"--algorithm flash1,flash1", FA_BAD_ARGUMENT,
         "--algorithm flash1,flash1: expected each algorithm once, not flash1 twice"},
        {"--pass back", FA_BAD_ARGUMENT,
         "--pass back: expected forward, backward or both; did you mean backward?"},
        {"--pass both --trace a", FA_UNSUPPORTED,
         "--pass both: expected forward or backward with --trace, which holds one pass"},
        {"--dropout 1.5", FA_BAD_ARGUMENT, "--dropout 1.5: expected a probability from 0 to 1"},
        {"--dropout nan", FA_BAD_ARGUMENT, "--dropout nan: expected a probability from 0 to 1"},
        {"--dropout 0.1 --dropout-seed 18446744073709551616", FA_BAD_ARGUMENT,
         "--dropout-seed 18446744073709551616: expected 0 to 18446744073709551615"},
        {"--dropout 0.1 --dropout-seed -1", FA_BAD_ARGUMENT,
         "--dropout-seed -1: expected 0 to 18446744073709551615"},
        {"--dropout-seed 4", FA_BAD_ARGUMENT, "--dropout-seed: expected --dropout P with it"},
        {"--dropout-mask a", FA_BAD_ARGUMENT,
         "--dropout-mask: expected --dropout P with it: what is kept is divided by 1 - P"},
        {"--dropout 0.5 --dropout-mask a --dropout-seed 4", FA_BAD_ARGUMENT,
         "--dropout-mask and --dropout-seed: expected only one of them"},
        {"--algorithm flash2,fused-save-p --dropout 0.5", FA_UNSUPPORTED,
         "--algorithm fused-save-p and --dropout: expected standard, flash1 or flash2 with "
         "dropout; fused-save-p stores one P, and two would be needed"},
        {"--block-mask a --block-pattern butterfly", FA_BAD_ARGUMENT,
         "--block-mask and --block-pattern: expected only one of them"},
        {"--block-pattern strided:0", FA_BAD_ARGUMENT,
         "--block-pattern strided:0: expected window:W,G (W tiles each side of the diagonal, G "
         "global rows and columns), strided:K (K from 1), butterfly or random:P[,SEED] (P from 0 "
         "to 1)"},
        {"--causal=middle", FA_BAD_ARGUMENT, "--causal middle: expected bottom-right or top-left"},
        {"--window 4", FA_BAD_ARGUMENT,
         "--window 4: expected L,R: keys kept left and right of the diagonal, -1 for no bound"},
        {"--window -2,4", FA_BAD_ARGUMENT,
         "--window -2,4: expected L,R: keys kept left and right of the diagonal, -1 for no bound"},
        {"--dtype fp32", FA_BAD_ARGUMENT,
         "--dtype fp32: expected f64, f32, f16 or bf16; did you mean f32?"},
        {"--profile gaus", FA_BAD_ARGUMENT,
         "--profile gaus: expected gauss, uniform, peaky, outliers, equal, rising, falling or "
         "tidy; did you mean gauss?"},
        {"--seed 9223372036854775808", FA_TOO_LARGE,
         "--seed 9223372036854775808: expected 0 or more, up to 9223372036854775807"},
        {"--check all", FA_BAD_ARGUMENT, "--check all: expected none, sample or full"},
        {"--layout sbhd", FA_BAD_ARGUMENT, "--layout sbhd: expected bhsd or bshd; did you mean "
                                           "bshd?"},
        {"--scale inf", FA_BAD_ARGUMENT,
         "--scale inf: expected a decimal number, as 0.125 or 1e-3"},
        {"--heads 3 --kv-heads 2", FA_BAD_ARGUMENT, "heads is 3 and kv_heads is 2: expected heads "
                                                    "to be a multiple of kv_heads; give kv_heads a "
                                                    "divisor of heads"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct cli_problem options;
        struct fa_problem problem;
        struct fa_error error;
        enum fa_status status = make(refusals[i].line, &options, &problem, &error);
        assert_string_equal(error.text, refusals[i].text);
        assert_int_equal(status, refusals[i].status);
    }
}

/* Help is made from the table that parses: each option of each command is in it. */
static void test_help_lists_every_option(void **state)
{
    (void)state;
    for (const struct cli_command *const *command = cli_commands; *command; command++) {
        char *text = NULL, pattern[64];
        size_t n_bytes;
        FILE *file = open_memstream(&text, &n_bytes);
        assert_non_null(file);
        cli_print_help(file, *command);
        assert_int_equal(fclose(file), 0);
        for (const struct cli_group *const *group = (*command)->groups; *group; group++) {
            for (int i = 0; i < (*group)->n_options; i++) {
                snprintf(pattern, sizeof pattern, "  --%s", (*group)->options[i].name);
                assert_non_null(strstr(text, pattern));
                assert_non_null((*group)->options[i].help);
            }
        }
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
            assert_true(strcspn(line, "\n") <= 100);
        free(text);
    }
}

static void test_exit_statuses(void **state)
{
    (void)state;
    for (int status = FA_OK; status < FA_STATUS_COUNT; status++) {
        int expected = status == FA_OK             ? 0
                       : status == FA_MISSING_PART ? 3
                       : status == FA_CANCELLED    ? 130
                                                   : 2;
        assert_int_equal(cli_exit_status((enum fa_status)status), expected);
    }
}

/* Last: once interrupted, the process stays so. */
static void test_interrupt_cancels(void **state)
{
    (void)state;
    struct cli_progress progress;
    signal(SIGINT, SIG_DFL);
    cli_progress_start(&progress, "testing");
    assert_true(progress.watch.tick(progress.watch.context, 0.5));
    assert_false(cli_interrupted());
    assert_int_equal(raise(SIGINT), 0);
    assert_true(cli_interrupted());
    assert_false(progress.watch.tick(progress.watch.context, 0.6));
    cli_progress_end(&progress);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind_is_read),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_what_is_left_out_stays),
        cmocka_unit_test(test_help_comes_before_errors),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_json_is_seen_beside_errors),
        cmocka_unit_test(test_nearest_word),
        cmocka_unit_test(test_real_numbers),
        cmocka_unit_test(test_problem_defaults),
        cmocka_unit_test(test_problem_is_read),
        cmocka_unit_test(test_problem_refusals),
        cmocka_unit_test(test_help_lists_every_option),
        cmocka_unit_test(test_exit_statuses),
        cmocka_unit_test(test_interrupt_cancels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
