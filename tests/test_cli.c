/* The program from outside: its streams, exit statuses, refusals and completions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/program_expect.h"

static void test_overview_and_version(void **state)
{
    (void)state;
    struct program_run bare = program_run(NULL);
    assert_int_equal(bare.status, 2);
    assert_string_equal(bare.out, "");
    assert_non_null(strstr(bare.err, "Usage: flashlab COMMAND"));
    static const char *const lines[] = {"help", "--help", "-h", "help help"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct program_run help = program_run_line(lines[i]);
        assert_int_equal(help.status, 0);
        assert_string_equal(help.err, "");
        assert_string_equal(help.out, bare.err);
        program_run_free(&help);
    }
    program_run_free(&bare);
    struct program_run version = program_run_line("--version");
    assert_int_equal(version.status, 0);
    assert_string_equal(version.out, "flashlab " FLASHLAB_VERSION "\n");
    assert_string_equal(version.err, "");
    program_run_free(&version);
}

static void test_help_of_commands(void **state)
{
    (void)state;
    static const char *const commands[] = {"count", "run", "generate", "completion"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char line[64], usage[64];
        snprintf(line, sizeof line, "help %s", commands[i]);
        struct program_run by_help = program_run_line(line);
        snprintf(line, sizeof line, "%s --help", commands[i]);
        struct program_run by_option = program_run_line(line);
        snprintf(usage, sizeof usage, "Usage: flashlab %s", commands[i]);
        assert_int_equal(by_help.status, 0);
        assert_int_equal(by_option.status, 0);
        assert_string_equal(by_help.out, by_option.out);
        assert_string_equal(by_help.err, "");
        assert_non_null(strstr(by_help.out, usage));
        program_run_free(&by_help);
        program_run_free(&by_option);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct program_refusal refusals[] = {
        {"conut", "bad_argument", "conut: unknown command; did you mean count?"},
        {"frobnicate", "bad_argument", "frobnicate: unknown command; flashlab help lists them"},
        {"--n 4", "bad_argument", "--n: expected a command before the options"},
        {"help frobnicate", "bad_argument", NULL},
        {"count --d 0", "bad_argument", "--d 0: expected 1 or more"},
        {"count --n 4 --nq 4", "bad_argument",
         "--n and --nq: expected either --n, or --nq and --nk"},
        {"count --seed 1", "bad_argument", "--seed: unknown option; --help lists them"},
        {"count extra", "bad_argument", "extra: expected options only (they begin with --)"},
        {"count --heads 9223372036854775808", "too_large",
         "--heads 9223372036854775808: expected 0 or more, up to 9223372036854775807"},
        {"count --n 1073741824 --heads 1048576 --d 1048576", "too_large", ""},
        {"count --tiles 512x512", "does_not_fit", ""},
        {"count --sram 12X", "bad_argument",
         "--sram: \"12X\": expected a size such as 4096, 192K, 1.5M or 2G"},
        {"count --machine nosuch", "bad_argument", ""},
        {"count --tiles 3", "bad_argument", ""},
        {"count --pass back", "bad_argument",
         "--pass back: expected forward, backward or both; did you mean backward?"},
        {"count --mask @none.npy", "io",
         "--mask: @/none.npy: cannot be opened: No such file or directory"},
        {"count --trace @no/folder/t", "io",
         "--trace: @/no/folder/t: cannot be made in @/no/folder: No such file or directory"},
        {"run --n 1048576 --heads 1048576", "no_memory", ""},
        {"run --in @none", "io", "@/none/q.npy: cannot be opened: No such file or directory"},
        {"run --in a --seed 1", "bad_argument", "--in and --seed: expected only one of them"},
        {"run --out @file/o", "io", "--out: @/file/o: the folder cannot be made: Not a directory"},
        {"run --out @file", "io", "--out: @/file: not a folder: expected one to write in"},
        {"run --trace @", "io", "--trace: @/: is not a regular file: it is not written over"},
        {"generate", "bad_argument", "expected --out DIR, the folder to write in"},
        {"generate --out @g --mask-random 2", "bad_argument",
         "--mask-random 2: expected a share from 0 to 1"},
        {"generate --out @g --mask a --mask-random 1", "bad_argument",
         "--mask and --mask-random: expected only one of them"},
    };
    FILE *file = fopen(program_path("file"), "w");
    assert_non_null(file);
    fclose(file);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct program_refusal refusal = refusals[i];
        struct program_run run = {.status = 0};
        char text[2048] = "";
        if (!refusal.text) /* help takes no format */
            continue;
        if (!*refusal.text) {
            /* A library's sentence, which its own tests assert: here it is one line, the same in
             * both formats. */
            run = program_run_line(refusal.line);
            assert_non_null(strstr(run.err, ": "));
            const char *message = strstr(run.err, ": ") + 2;
            snprintf(text, sizeof text, "%.*s", (int)strcspn(message, "\n"), message);
            assert_true(strlen(text) > 20);
            assert_true(strcspn(message, "\n") == strlen(message) - 1);
            refusal.text = text;
        }
        program_expect_refusal(&refusal);
        if (run.out)
            program_run_free(&run);
    }
    struct program_run run = program_run_line("help frobnicate");
    assert_int_equal(run.status, 2);
    assert_string_equal(run.err,
                        "flashlab: frobnicate: unknown command; flashlab help lists them\n");
    program_run_free(&run);
    run = program_run_line("completion csh");
    assert_int_equal(run.status, 2);
    assert_string_equal(run.err, "flashlab completion: csh: expected bash, zsh or fish; did you "
                                 "mean zsh?\n");
    program_run_free(&run);
}

/* Odd bytes in an argument reach neither the terminal nor the JSON. */
static void test_odd_arguments(void **state)
{
    (void)state;
    struct program_run run = program_run("count", "--dtype", "a\nb\033\xff", NULL);
    assert_int_equal(run.status, 2);
    assert_null(strchr(run.err, '\033'));
    assert_ptr_equal(strchr(run.err, '\n'), run.err + strlen(run.err) - 1);
    program_run_free(&run);
    run = program_run("count", "--format=json", "--dtype", "a\nb\xff", NULL);
    json_t *object = json_loads(run.out, 0, NULL);
    assert_non_null(object);
    assert_string_equal(json_string_value(json_at(object, "error.message")),
                        "--dtype a?b?: expected f64, f32, f16 or bf16");
    json_decref(object);
    program_run_free(&run);
}

static void test_full_standard_output(void **state)
{
    (void)state;
    static const char *const lines[] = {"count", "help", "--version"};
    if (access("/dev/full", W_OK) != 0)
        skip();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *argv[] = {(char *)(uintptr_t)lines[i], NULL};
        struct program_run run = program_run_argv(argv, "/dev/full");
        assert_int_equal(run.status, 2);
        assert_string_equal(run.err, "flashlab: standard output: No space left on device\n");
        program_run_free(&run);
    }
}

/* What bash would offer for the words, of which the last is being typed. */
static void expect_completion(const char *words, int index, const char *expected)
{
    char command[1024], text[4096];
    snprintf(command, sizeof command,
             "bash -c '. \"%s\"; COMP_WORDS=(%s); COMP_CWORD=%d; _flashlab; "
             "echo \"${COMPREPLY[*]}\"'",
             program_path("flashlab.bash"), words, index);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t n = fread(text, 1, sizeof text - 1, pipe);
    text[n] = '\0';
    assert_int_equal(pclose(pipe), 0);
    assert_string_equal(text, expected);
}

static void test_completion(void **state)
{
    (void)state;
    static const char *const shells[] = {"bash", "zsh", "fish"};
    for (size_t i = 0; i < 3; i++) {
        char line[64];
        snprintf(line, sizeof line, "completion %s", shells[i]);
        struct program_run run = program_run_line(line);
        assert_int_equal(run.status, 0);
        assert_string_equal(run.err, "");
        assert_non_null(strstr(run.out, "kv-heads"));
        assert_non_null(strstr(run.out, "fused-save-p"));
        assert_non_null(strstr(run.out, "rtx4090"));
        program_run_free(&run);
    }
    if (system("bash -c :") != 0)
        skip();
    char *argv[] = {(char *)"completion", (char *)"bash", NULL};
    struct program_run run = program_run_argv(argv, program_path("flashlab.bash"));
    program_run_free(&run);
    expect_completion("flashlab cou", 1, "count counters\n");
    expect_completion("flashlab count --kv", 2, "--kv-heads\n");
    expect_completion("flashlab count --dtype b", 3, "bf16\n");
    expect_completion("flashlab run --profile o", 3, "outliers\n");
    expect_completion("flashlab run --machine rtx", 3, "rtx3090 rtx4090\n");
    expect_completion("flashlab completion f", 2, "fish\n");
    /* Lists, and an equals sign: a word of its own to bash, or within one. */
    expect_completion("flashlab count --algorithm standard,flash", 3,
                      "standard,flash1 standard,flash2\n");
    expect_completion("flashlab precision --inputs f16,e4m3,bf", 3, "f16,e4m3,bf16\n");
    expect_completion("flashlab count --causal =", 3, "bottom-right top-left\n");
    expect_completion("flashlab count --causal = t", 4, "top-left\n");
    expect_completion("flashlab count --causal=t", 2, "--causal=top-left\n");
    expect_completion("flashlab count --dtype = b", 4, "bf16\n");
    expect_completion("flashlab count --causal --kv", 3, "--kv-heads\n");
    expect_completion("flashlab sweep --vary s", 3, "sram=\n");
    expect_completion("flashlab sweep --vary algorithm = flash1,st", 5, "flash1,standard\n");
    expect_completion("flashlab sweep --vary algorithm=flash1,st", 3,
                      "algorithm=flash1,standard\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overview_and_version),
        cmocka_unit_test(test_help_of_commands),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_odd_arguments),
        cmocka_unit_test(test_full_standard_output),
        cmocka_unit_test(test_completion),
    };
    return cmocka_run_group_tests(tests, NULL, program_folder_remove);
}
