/*
 * Fuzzes the option parser: any words are either parsed into a problem that holds what its header
 * says, or refused in one line. The bytes are a command line, cut into words at newlines; the first
 * word chooses the command.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/problem_options.h"
#include "tests/fuzz.h"

enum { WORDS_MAX = 64, BYTES_MAX = 4096 };

static const struct cli_group *const groups[] = {
    &cli_problem_group, &cli_sparse_group, &cli_machine_group, &cli_input_group,
    &cli_output_group,  &cli_trace_group,  &cli_threads_group, &cli_format_group, NULL,
};

static const struct cli_command commands[] = {
    {.name = "none", .operands = "", .about = "", .examples = "", .groups = groups},
    {.name = "some",
     .operands = "FILE",
     .operands_min = 1,
     .operands_max = 2,
     .about = "",
     .examples = "",
     .groups = groups},
};

static int split(char *text, char **argv)
{
    int argc = 0;
    for (char *word = text; word && argc < WORDS_MAX;) {
        char *end = strchr(word, '\n');
        if (end)
            *end++ = '\0';
        argv[argc++] = word;
        word = end;
    }
    argv[argc] = NULL;
    return argc;
}

/* A pattern that was taken says what it is in words that are taken for the same. */
static void check_sparse(const struct cli_problem *options)
{
    char text[FA_BLOCK_PATTERN_TEXT], again[FA_BLOCK_PATTERN_TEXT];
    struct fa_block_pattern pattern = cli_pattern(options), reread;
    struct fa_block_mask mask;
    fuzz_expect(options->dropout_p >= 0 && options->dropout_p <= 1);
    if (!options->pattern_given)
        return;
    fuzz_expect(pattern.width >= 0 && pattern.global >= 0);
    fuzz_expect(pattern.rule != FA_BLOCKS_STRIDED || pattern.stride >= 1);
    fuzz_expect(pattern.probability >= 0 && pattern.probability <= 1);
    fa_block_pattern_text(&pattern, text);
    fuzz_expect(fa_block_pattern_parse(text, &reread, NULL, NULL) == FA_OK);
    fuzz_expect(strcmp(text, fa_block_pattern_text(&reread, again)) == 0);
    fuzz_expect(fa_block_pattern_make(&pattern, 33, 70, 4, 16, &mask, NULL) == FA_OK);
    for (int64_t i = 0; i < mask.rows * mask.columns; i++)
        fuzz_expect(mask.visit[i] <= 1);
    fa_block_mask_free(&mask);
}

static void check_problem(const struct cli_problem *options)
{
    struct fa_problem problem;
    struct fa_error error = {FA_OK, ""};
    fuzz_expect(options->n_algorithms >= 1 && options->n_algorithms <= FA_ALGORITHMS);
    fuzz_expect(options->n >= -1 && options->nq >= -1 && options->nk >= -1 && options->batch >= -1);
    fuzz_expect(options->d == -1 || options->d >= 1);
    fuzz_expect(options->window_left >= -1 && options->window_right >= -1);
    fuzz_expect(isfinite(options->scale));
    fuzz_expect(options->tiles.policy != SIM_TILES_GIVEN ||
                (options->tiles.br >= 1 && options->tiles.bc >= 1));
    fuzz_expect(options->seed >= 0 && options->threads != 0);
    fuzz_expect(options->pass >= SIM_FORWARD && options->pass <= SIM_BOTH);
    check_sparse(options);
    if (cli_problem_check(options, &error) != FA_OK ||
        cli_problem_make(options, &problem, &error) != FA_OK) {
        fuzz_expect(error.status != FA_OK && error.text[0] != '\0');
        return;
    }
    fuzz_expect(fa_problem_check(&problem, &error) == FA_OK);
    fuzz_expect(problem.d >= 1 && problem.dv >= 1 && problem.nq >= 0 && problem.nk >= 0);
    fuzz_expect(cli_thread_count(options) >= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    char text[BYTES_MAX + 1];
    char *argv[WORDS_MAX + 1];
    struct cli_problem options = cli_problem_defaults;
    struct fa_error error = {FA_OK, ""};
    if (n_bytes > BYTES_MAX)
        return 0;
    memcpy(text, data, n_bytes);
    text[n_bytes] = '\0';
    int argc = split(text, argv);
    const struct cli_command *command = &commands[n_bytes > 0 && (data[0] & 1)];
    bool json = cli_wants_json(argc, argv); /* Before: parsing puts operands last. */
    enum fa_status status = cli_parse(command, argc, argv, &options.base, &error);
    fuzz_expect(options.base.format == CLI_JSON_FORMAT || !json || status == FA_OK);
    if (status != FA_OK) {
        fuzz_expect(error.status == status && error.text[0] != '\0');
        return 0;
    }
    if (options.base.help)
        return 0;
    fuzz_expect(options.base.n_operands >= command->operands_min &&
                options.base.n_operands <= command->operands_max);
    for (int i = 0; i < options.base.n_operands; i++)
        fuzz_expect(options.base.operands[i] >= text && options.base.operands[i] <= text + n_bytes);
    check_problem(&options);
    return 0;
}

size_t fuzz_seed(int index, uint8_t *data, size_t capacity)
{
    static const char *const seeds[] = {
        "a\nfile\n--algorithm\nstandard,flash1\n--batch\n2\n--heads\n8\n--kv-heads=2\n--n\n64K",
        "b\n--nq\n5\n--nk=7\n--d\n3\n--dv\n2\n--scale\n-1e-3\n--causal=top-left\n--window\n-1,4",
        "b\n--mask\nm.npy\n--bias=b.npy\n--dtype\nbf16\n--machine\nh100\n--sram=1.5M\n--tiles\n8x9",
        "a\none\ntwo\n--in\ndir\n--layout\nbshd\n--check\nfull\n--format\njson\n--threads\n4",
        "b\n--seed\n9223372036854775807\n--profile\npeaky\n--out\no\n--trace=t\n--tiles=best:16",
        "a\n--causal\n--pass\nforward\n--\n--help\n-x",
        "b\n--pass\nboth\n--dropout\n0.25\n--dropout-seed\n18446744073709551615",
        "a\nf\n--pass=backward\n--dropout=1\n--dropout-mask\nk.npy\n--block-mask\nm.npy",
        "b\n--block-pattern\nwindow:1,2\n--pass\nboth",
        "b\n--block-pattern=random:0.125,7\n--seed\n3",
        "b\n--block-pattern=strided:4\n--block-pattern=butterfly",
        "b\n--help",
    };
    if (index < 0 || (size_t)index >= sizeof seeds / sizeof *seeds)
        return 0;
    size_t n_bytes = strlen(seeds[index]);
    if (n_bytes > capacity)
        return 0;
    memcpy(data, seeds[index], n_bytes);
    return n_bytes;
}
