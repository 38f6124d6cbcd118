/* The options of what is left out of attention: dropped weights and skipped tiles. */
#include <string.h>

#include "simulator/cli/problem_options.h"

#define AT(field) offsetof(struct cli_problem, field)

static const char *const pattern_words[] = {"window:1,1", "strided:4", "butterfly", "random:0.1",
                                            NULL};

static struct cli_problem *problem_of(struct cli_options *options)
{
    return (struct cli_problem *)options;
}

static enum fa_status set_dropout(struct cli_options *options, const char *text,
                                  struct fa_error *error)
{
    double p;
    if (cli_parse_real(text, &p, NULL) != FA_OK || !(p >= 0 && p <= 1))
        return fa_fail(error, FA_BAD_ARGUMENT, "expected a probability from 0 to 1");
    problem_of(options)->dropout_p = p;
    return FA_OK;
}

static enum fa_status set_dropout_seed(struct cli_options *options, const char *text,
                                       struct fa_error *error)
{
    uint64_t seed = 0;
    bool good = *text != '\0';
    for (const char *at = text; *at && good; at++) {
        uint64_t digit = (uint64_t)(unsigned char)*at - '0';
        good = digit <= 9 && seed <= (UINT64_MAX - digit) / 10;
        seed = 10 * seed + digit;
    }
    if (!good)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected 0 to 18446744073709551615");
    problem_of(options)->dropout_seed = seed;
    return FA_OK;
}

static enum fa_status set_pattern(struct cli_options *options, const char *text,
                                  struct fa_error *error)
{
    struct cli_problem *problem = problem_of(options);
    problem->pattern_given = true;
    return fa_block_pattern_parse(text, &problem->pattern, &problem->pattern_seeded, error);
}

static const struct cli_option options_of_group[] = {
    {.name = "dropout",
     .value = "P",
     .kind = CLI_OTHER,
     .set = set_dropout,
     .help = "Drop each weight of the softmax with probability P, 0 to 1, and divide the others by "
             "1 - P (0)."},
    {.name = "dropout-seed",
     .value = "N",
     .kind = CLI_OTHER,
     .set = set_dropout_seed,
     .help = "The 64-bit seed of the Philox bits that say which weights are kept (1)."},
    {.name = "dropout-mask",
     .value = "F.npy",
     .kind = CLI_FILE,
     .offset = AT(dropout_mask_path),
     .help =
         "Which weights are kept, in place of the seed: bool or u8, 1 keeps, [batch, heads, nq, "
         "nk]. Needs --dropout."},
    {.name = "block-mask",
     .value = "F.npy",
     .kind = CLI_FILE,
     .offset = AT(block_mask_path),
     .help = "Which tiles are visited: bool or u8, 1 visits, Tr x Tc of the run's tiles."},
    {.name = "block-pattern",
     .value = "PATTERN",
     .kind = CLI_OTHER,
     .set = set_pattern,
     .words = pattern_words,
     .help =
         "The same by a rule: window:W,G (W tiles each side of the diagonal tile, the first G "
         "rows and columns of tiles), strided:K (each K-th tile from the diagonal's), butterfly "
         "(the diagonal, and tiles whose two indices differ in one bit), random:P[,SEED] (each "
         "with probability P, and the diagonal; the seed is --seed's where not given)."},
};

const struct cli_group cli_sparse_group = CLI_GROUP("Dropout and block masks", options_of_group);

enum fa_status cli_sparse_check(const struct cli_problem *options, struct fa_error *error)
{
    const struct cli_options *base = &options->base;
    bool dropout = cli_given(base, "dropout");
    if (options->dropout_mask_path && !dropout)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--dropout-mask: expected --dropout P with it: what is kept is divided by "
                       "1 - P");
    if (cli_given(base, "dropout-seed") && !dropout)
        return fa_fail(error, FA_BAD_ARGUMENT, "--dropout-seed: expected --dropout P with it");
    if (options->dropout_mask_path && cli_given(base, "dropout-seed"))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--dropout-mask and --dropout-seed: expected only one of them");
    if (options->block_mask_path && options->pattern_given)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--block-mask and --block-pattern: expected only one of them");
    for (int i = 0; i < options->n_algorithms; i++)
        if (options->dropout_p > 0 && options->algorithms[i] == &fa_fused_save_p)
            return fa_fail(
                error, FA_UNSUPPORTED,
                "--algorithm fused-save-p and --dropout: expected standard, flash1 or "
                "flash2 with dropout; fused-save-p stores one P, and two would be needed");
    return FA_OK;
}

const char *cli_blocks_name(const struct cli_problem *options, char text[FA_BLOCK_PATTERN_TEXT])
{
    struct fa_block_pattern pattern = cli_pattern(options);
    if (options->block_mask_path)
        return "file";
    return options->pattern_given ? fa_block_pattern_text(&pattern, text) : NULL;
}

struct fa_block_pattern cli_pattern(const struct cli_problem *options)
{
    struct fa_block_pattern pattern = options->pattern;
    if (!options->pattern_seeded)
        pattern.seed = (uint64_t)options->seed;
    return pattern;
}
