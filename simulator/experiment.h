/*
 * One experiment: an algorithm on a problem, on a machine, with tiles, in a mode; and its result.
 * What the command line, the sweeps, the lessons and the visualizer all run.
 */
#ifndef SIM_EXPERIMENT_H
#define SIM_EXPERIMENT_H

#include "simulator/closed_form.h"
#include "simulator/machine.h"
#include "simulator/memory.h"
#include "simulator/tiles.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sim_pass {
    SIM_FORWARD,
    SIM_BACKWARD, /* counts the backward pass alone; what it needs comes from an uncounted forward */
    SIM_BOTH      /* the sum */
};

const char *sim_pass_name(enum sim_pass pass); /* "forward", "backward", "both" */

struct sim_experiment {
    const struct fa_algorithm *algorithm; /* the forward one; its backward pass follows from it */
    enum sim_pass pass;
    struct fa_problem problem;
    struct sim_machine machine; /* sram_bytes is the capacity */
    struct sim_tile_choice tiles;
    bool lift_capacity; /* count as if everything fitted; the tile rule still sees sram_bytes */
    enum sim_mode mode;
    int threads; /* 1 or more; a traced run takes 1 */
    /* Inputs and outputs, not used by SIM_COUNT_ONLY; lse may be NULL. */
    const struct fa_tensor *q, *k, *v, *o, *lse;
    const struct fa_tensor *dout, *dq, *dk, *dv; /* for the backward pass */
    struct sim_trace **trace; /* where to put a new trace, NULL: keep none; set on a refusal too */
    struct sim_trace_header trace_header; /* machine, version, command, seed, profile are taken */
    const struct fa_watch *watch;
    uint64_t most_events; /* of the trace: FA_TOO_LARGE past them; 0: no bound */
    /* Called after each event of a traced run, as struct sim_memory says; NULL: not. */
    void (*after)(void *context, struct sim_memory *memory);
    void *after_context;
};

struct sim_result {
    const struct fa_algorithm *algorithm;
    enum sim_pass pass;
    struct fa_problem problem;
    struct fa_tiles tiles;
    enum sim_policy policy;
    struct sim_machine machine;
    bool capacity_lifted;
    struct sim_counters counters; /* zero for SIM_PLAIN */
    uint64_t tiles_total;
    struct sim_footprint footprint;
    struct sim_bounds bounds;
    bool has_blocks;     /* the problem has a block mask, which the caller may free after the run */
    double blocks_share; /* of its blocks, the share that is visited; 0 without one */
    int64_t heads_executed; /* of batch * heads; in SIM_COUNT_ONLY one, or one group's: the rest is
                             * multiplied */
    double seconds;         /* wall clock of the execution alone */
};

/*
 * Chooses the tiles (with a backward pass: for that one; of both passes, for the forward one where
 * those do not fit it; both then have them), bounds the counters, runs, sums the workers' counters.
 * Errors: FA_BAD_ARGUMENT, FA_UNSUPPORTED (a trace of both passes, a backward pass that there is
 * not), FA_TOO_LARGE (a counter), FA_NO_MEMORY, FA_CANCELLED, FA_DOES_NOT_FIT with what is live,
 * what is missing, what the pass needs in all, and the largest tile that fits.
 */
enum fa_status sim_experiment_run(const struct sim_experiment *experiment,
                                  struct sim_result *result, struct fa_error *error);

/* The tiles that sim_experiment_run would choose. They do not depend on the problem's masks, so a
 * block mask of their size can be made before the run. Errors: those of the choice. */
enum fa_status sim_experiment_tiles(const struct sim_experiment *experiment, struct fa_tiles *tiles,
                                    struct fa_error *error);

/* The factor on the naive error that the result's algorithm is allowed (see check.h). */
double sim_error_factor(const struct sim_result *result);

/*
 * The same for dQ, and for dK and dV (see check_gradients.h), above 1 in 16 bits alone:
 *   dQ       sqrt(Tc): the flash passes round it at each of its stores
 *   dK, dV   sqrt(g): rounded at the store of each head of a group of g
 *   all      flash1 times sqrt(Tc) for the O that delta is made of (dQ then has it once, not
 *   twice);
 *            standard times 2 where the score was stored twice (a bias), and with dropout, where
 *            dP is
 */
double sim_error_factor_dq(const struct sim_result *result);
double sim_error_factor_dkv(const struct sim_result *result);

/*
 * Runs the experiment's pass again up to and including event `position - 1` of its trace and hands
 * the memory, with its tiles' cells, to `look`. Of a forward pass o, and lse where the algorithm
 * stores it, hold what HBM held then (NaN where nothing was written); of a backward one dq, dk and
 * dv do, and o and lse are whole: the forward pass, which has no event, ran before. Needs: mode
 * SIM_COUNTED, one pass.
 * Errors: those of sim_experiment_run; FA_BAD_ARGUMENT past the last event.
 */
enum fa_status sim_experiment_replay(const struct sim_experiment *experiment, uint64_t position,
                                     void (*look)(void *context, struct sim_memory *memory),
                                     void *context, struct fa_error *error);

/*
 * The same for whoever looks more than once: the replay keeps the run's tensors, and of a backward
 * pass the forward one that it follows, which is run but once. The experiment's tensors outlive it.
 */
struct sim_replay {
    struct sim_experiment experiment;
    struct fa_run run; /* of the pass that is replayed: its tensors are what HBM holds */
    struct fa_run forward;
};

/* Fills the outputs with NaN, and runs the forward pass of a backward one. Errors as above. */
enum fa_status sim_replay_open(const struct sim_experiment *experiment, struct sim_replay *replay,
                               struct fa_error *error);
void sim_replay_close(struct sim_replay *replay);

/*
 * One replay. Of the first `from` events nothing is moved or computed; then `begin` is called,
 * which brings HBM and the live tiles to what they held there (fa_tile_give_cells makes cells) and
 * is not needed where from is 0. `after` (may be NULL) is called after each event from there on,
 * `look` (may be NULL) at the position. What HBM holds is left as it is: the caller knows what was
 * written.
 */
struct sim_replay_steps {
    uint64_t from, position; /* from <= position */
    void (*begin)(void *context, struct sim_memory *memory);
    void (*after)(void *context, struct sim_memory *memory);
    void (*look)(void *context, struct sim_memory *memory);
    void *context;
};

enum fa_status sim_replay_run(const struct sim_replay *replay, const struct sim_replay_steps *steps,
                              struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
