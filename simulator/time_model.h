/*
 * A time model: what a GPU's published rates make of the counts. An estimate, and called one
 * wherever it is shown; it is fitted to nothing.
 *
 * Each phase is a kernel (kernels.h); the kernels run one after the other. A kernel needs time for
 *   hbm     bytes / hbm_bytes_per_second: the DRAM bytes of the L2 model where one is given, else
 *           every counted byte;
 *   matmul  FLOPs of matrix products / f16_flops_per_second (tensor cores) in f16 and bf16, or
 *           f32_flops_per_second (CUDA cores) in f32;
 *   exp     exponentials / exp_per_second (special function units);
 *   other   the remaining arithmetic / (f32_flops_per_second / 2), since that rate counts a fused
 *           multiply-add twice and these are single;
 *   launch  SIM_LAUNCH_SECONDS, whatever it does.
 * The middle three are done by SMs. A kernel's blocks come in waves of `slots`, and its last wave
 * is seldom full: they are divided by efficiency = waves / ceil(waves), as if all blocks were
 * alike (under a causal mask they are not). HBM is one for all; a few SMs are taken to fill it.
 *
 * With overlap a kernel takes the longest of its parts, a roofline, the least it could; without,
 * their sum. In f32 matmul and other are of the same cores, and add up in both. The launch is added
 * to both. A real kernel lies between the two, or above: nothing here waits for a latency.
 */
#ifndef SIM_TIME_MODEL_H
#define SIM_TIME_MODEL_H

#include "simulator/l2.h"

#ifdef __cplusplus
extern "C" {
#endif

struct json_t; /* of <jansson.h> */

enum sim_time_part {
    SIM_TIME_HBM,
    SIM_TIME_MATMUL,
    SIM_TIME_EXP,
    SIM_TIME_OTHER,
    SIM_TIME_LAUNCH,
    SIM_TIME_PARTS
};

const char *sim_time_part_name(enum sim_time_part part); /* "hbm", "matmul", ... */

/* An assumption of ours: a launch, and the start and the end of its grid. */
#define SIM_LAUNCH_SECONDS 3e-6

struct sim_waves {
    double waves;      /* blocks / slots */
    double efficiency; /* waves / ceil(waves); 1 without blocks */
    uint64_t sms_lit;  /* that have a block in the fullest wave */
};

/* blocks over `sms` SMs, each of which holds blocks_per_sm at a time (both 1 or more). A block goes
 * to an SM without one first. */
struct sim_waves sim_waves(uint64_t blocks, uint64_t sms, uint64_t blocks_per_sm);

struct sim_time_kernel {
    const char *name; /* of the phase */
    bool backward;
    uint64_t blocks, blocks_per_sm;
    struct sim_waves waves;
    double seconds[SIM_TIME_PARTS]; /* matmul, exp and other after division by the efficiency */
    double with_overlap, without_overlap; /* seconds */
    enum sim_time_part bound_by;          /* the longest part, the launch included */
};

struct sim_time {
    double estimate_us;        /* with overlap */
    double without_overlap_us;
    enum sim_time_part bound_by; /* the part that bounds the kernels which take the most time */
    bool from_l2;                /* hbm is the L2 model's DRAM traffic */
    struct sim_waves waves;      /* of the kernel that takes the most time */
    struct sim_time_kernel kernel[SIM_KERNELS];
    int n_kernels;
};

/*
 * The estimate for a result's algorithm, pass, problem, tiles and machine. Each kernel's counts are
 * executed for one K/V head, and multiplied. l2: of sim_l2_predict for the same result, or NULL.
 * fill: as in sim_kernels_open.
 * Errors: FA_UNSUPPORTED (the machine lacks a figure, which is named; f64, whose rates no machine
 * here states), FA_BAD_ARGUMENT (an L2 of another result), FA_TOO_LARGE, FA_DOES_NOT_FIT.
 */
enum fa_status sim_time_estimate(const struct sim_result *result, const struct sim_l2 *l2,
                                 bool fill, struct sim_time *time, struct fa_error *error);

/* {estimate_us, without_overlap_us, bound_by, hbm_from: "count" | "l2", waves, efficiency, sms_lit,
 * kernels: [{name, pass, estimate_us, bound_by}]}: a new reference, NULL without memory. */
struct json_t *sim_time_to_json(const struct sim_time *time);

/*
 * Amdahl's law for a model of which attention takes the share f of the time: it gets faster by
 * S = 1 / ((1 - f) + f / a) where attention gets faster by a.
 *   sim_amdahl_speedup  S from f (0 .. 1) and a (above 0)
 *   sim_amdahl_share    f = (1 - 1/S) / (1 - 1/a), from S and a, both at least 1, a above 1
 * NAN outside those; a share above 1 is returned as it is: attention alone can't explain such an S.
 */
double sim_amdahl_speedup(double share, double attention_speedup);
double sim_amdahl_share(double model_speedup, double attention_speedup);

#ifdef __cplusplus
}
#endif
#endif
