/*
 * The options that describe an experiment: problem, machine, inputs and outputs. Commands that run
 * experiments take the groups that they need, and have a struct cli_problem as the first member of
 * their options.
 *
 *     struct sweep_options { struct cli_problem problem; const char *plot; };
 *     static const struct cli_group *const groups[] = {&cli_problem_group, ..., NULL};
 *     struct sweep_options options = {0};
 *     options.problem = cli_problem_defaults;
 *     if (!cli_begin(command, argc, argv, &options.problem.base, &status)) return status;
 *
 * A field that was not given has a value of its own (-1, NULL), and what follows from others (dv
 * from d, kv_heads from heads) is worked out by cli_problem_make. So a sweep sets a field and makes
 * the problem again.
 */
#ifndef CLI_PROBLEM_OPTIONS_H
#define CLI_PROBLEM_OPTIONS_H

#include "reference/algorithm.h"
#include "reference/block_pattern.h"
#include "reference/profile.h"
#include "simulator/check.h"
#include "simulator/cli/options.h"
#include "simulator/experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cli_layout { CLI_BHSD, CLI_BSHD };

struct cli_problem {
    struct cli_options base;
    /* The problem; -1 where not given. */
    const struct fa_algorithm *algorithms[FA_ALGORITHMS];
    int n_algorithms;
    int64_t batch, heads, kv_heads, n, nq, nk, d, dv;
    bool scale_given;
    double scale;
    enum fa_causal causal;
    int64_t window_left, window_right; /* -1: unbounded */
    const char *mask_path, *bias_path; /* NULL: none */
    enum fa_dtype dtype;
    int pass; /* enum sim_pass */
    /* Dropout and block masks. */
    double dropout_p;
    uint64_t dropout_seed;
    const char *dropout_mask_path, *block_mask_path; /* NULL: none */
    bool pattern_given, pattern_seeded;              /* seeded: the pattern has a seed of its own */
    struct fa_block_pattern pattern;
    /* The machine. */
    const char *machine_name;
    uint64_t sram_bytes; /* 0: the machine's own */
    struct sim_tile_choice tiles;
    /* Inputs. */
    const char *in; /* NULL: made from seed and profile */
    int layout;     /* enum cli_layout */
    int64_t seed;
    enum fa_profile profile;
    /* Outputs. */
    const char *out, *trace; /* NULL: none */
    int check;               /* enum sim_check_mode */
    int64_t threads;         /* -1: not given */
};

/* flash2, N = 1024, d = 64, f32, a100, 64 x 64 tiles: a bare command that shows something. */
extern const struct cli_problem cli_problem_defaults;

extern const struct cli_group cli_problem_group; /* --algorithm --pass ... --dtype --mask --bias */
extern const struct cli_group cli_shape_group;   /* the same without --algorithm */
extern const struct cli_group cli_kernel_group;  /* ... and without --mask and --bias */
extern const struct cli_group cli_sizes_group;   /* without --algorithm and --pass */
extern const struct cli_group cli_sparse_group;  /* --dropout... --block-mask --block-pattern */
extern const struct cli_group cli_machine_group; /* --machine --sram --tiles */
extern const struct cli_group cli_input_group;   /* --in --layout --seed --profile */
extern const struct cli_group cli_seed_group;    /* --layout --seed --profile */
extern const struct cli_group cli_output_group;  /* --out --trace --check */
extern const struct cli_group cli_trace_group;   /* --trace */
extern const struct cli_group cli_threads_group; /* --threads */

/* Refuses options that contradict each other (--n with --nq, --in with --seed, two algorithms with
 * --out or --trace, --threads above 1 with --trace), a trace of both passes, and dropout with
 * fused-save-p. FA_BAD_ARGUMENT, FA_UNSUPPORTED. */
enum fa_status cli_problem_check(const struct cli_problem *options, struct fa_error *error);

/* The part of it that concerns cli_sparse_group. */
enum fa_status cli_sparse_check(const struct cli_problem *options, struct fa_error *error);

/* The block pattern, with the seed of --seed where it has none of its own. */
struct fa_block_pattern cli_pattern(const struct cli_problem *options);

/* Where the block mask comes from, as reports have it: the pattern's text, "file", or NULL. */
const char *cli_blocks_name(const struct cli_problem *options, char text[FA_BLOCK_PATTERN_TEXT]);

/* The problem, without its masks and bias (see inputs.h), checked. FA_BAD_ARGUMENT,
 * FA_TOO_LARGE. */
enum fa_status cli_problem_make(const struct cli_problem *options, struct fa_problem *problem,
                                struct fa_error *error);

/* The machine by name or file, with --sram in place of its own capacity. */
enum fa_status cli_machine_make(const struct cli_problem *options, struct sim_machine *machine,
                                struct fa_error *error);

/* --threads, else the cores that are online; 1 for a traced run. */
int cli_thread_count(const struct cli_problem *options);

#ifdef __cplusplus
}
#endif
#endif
