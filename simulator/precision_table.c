#include "simulator/precision_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALL(format) {format, format, format}
#define F32_SUMS {FA_FORMAT_F32, FA_FORMAT_F32}
#define F16_RECIPE(order_, scores_)                                                                \
    {                                                                                              \
        .inputs = ALL(FA_FORMAT_F16), .scores = scores_, .weights = FA_FORMAT_F16,                 \
        .accumulate = F32_SUMS, .output = FA_FORMAT_F16, .order = order_, .weight_scale = 1,       \
        .tile = 128                                                                                \
    }
#define E4M3_RECIPE(order_, scores_, scale_, hadamard_)                                            \
    {                                                                                              \
        .inputs = ALL(FA_FORMAT_E4M3), .scores = scores_, .weights = FA_FORMAT_E4M3,               \
        .accumulate = F32_SUMS, .output = FA_FORMAT_F16, .order = order_, .scale = scale_,         \
        .scale_rows = 128, .hadamard = hadamard_, .weight_scale = 256, .tile = 128                 \
    }

static const struct sim_precision_method methods[] = {
    {"standard-f16", "standard, f16", 3.2e-4, F16_RECIPE(FA_STANDARD_ORDER, FA_FORMAT_F16)},
    {"flash2-f16", "FlashAttention-2, f16", 1.9e-4, F16_RECIPE(FA_FLASH_ORDER, FA_FORMAT_F32)},
    {"flash3-f16", "FlashAttention-3, f16", 1.9e-4, F16_RECIPE(FA_FLASH_ORDER, FA_FORMAT_F32)},
    {"standard-e4m3", "standard, e4m3", 2.4e-2,
     E4M3_RECIPE(FA_STANDARD_ORDER, FA_FORMAT_F16, FA_SCALE_TENSOR, false)},
    {"flash3-e4m3", "FlashAttention-3, e4m3", 9.1e-3,
     E4M3_RECIPE(FA_FLASH_ORDER, FA_FORMAT_F32, FA_SCALE_BLOCK, true)},
    {"flash3-e4m3-tensor", "  no block scales", 9.3e-3,
     E4M3_RECIPE(FA_FLASH_ORDER, FA_FORMAT_F32, FA_SCALE_TENSOR, true)},
    {"flash3-e4m3-unrotated", "  no rotation", 2.4e-2,
     E4M3_RECIPE(FA_FLASH_ORDER, FA_FORMAT_F32, FA_SCALE_BLOCK, false)},
};

const struct sim_precision_method *sim_precision_methods(int *n)
{
    *n = (int)(sizeof methods / sizeof *methods);
    return methods;
}

struct fa_precision_case sim_precision_setting(void)
{
    return (struct fa_precision_case){
        .n = 8448,
        .d = 128,
        .heads = 4,
        .rows = 256,
        .profile = FA_PROFILE_OUTLIERS,
        .seed = 1,
        .threads = 1,
    };
}

/* One seed's share of the work, for the caller's watch. */
struct part {
    const struct fa_watch *watch;
    int64_t done, seeds;
};

static bool tick(void *context, double done)
{
    const struct part *part = context;
    double share = ((double)part->done + done) / (double)part->seeds;
    return part->watch->tick(part->watch->context, share);
}

/* Adds one seed's error. The variance of the mean square is summed in standard_error meanwhile. */
static void add_seed(struct sim_precision_error *sum, const struct fa_precision_error *one)
{
    double variance = 2 * one->rmse * one->standard_error;
    fa_comparison_merge(&sum->all.o, &one->o);
    sum->all.standard_error += variance * variance;
    sum->least = fmin(sum->least, one->rmse);
    sum->most = fmax(sum->most, one->rmse);
}

static void finish(struct sim_precision_error *sum, int64_t seeds)
{
    double rmse = fa_comparison_rms(&sum->all.o);
    sum->all.rmse = rmse;
    sum->all.standard_error =
        rmse > 0 ? sqrt(sum->all.standard_error) / (double)seeds / (2 * rmse) : 0;
}

enum fa_status sim_precision_measure(const struct fa_precision_case *setting, int64_t seeds,
                                     const struct fa_precision_recipe *recipes, int n,
                                     const bool wanted[FA_REFERENCE_COUNT],
                                     struct sim_precision_error (*errors)[FA_REFERENCE_COUNT],
                                     struct fa_error *error)
{
    struct fa_precision_case one = *setting;
    struct part part = {setting->watch, 0, seeds};
    struct fa_watch watch = {tick, &part};
    enum fa_status status = FA_OK;

    if (seeds < 1 || (uint64_t)(seeds - 1) > UINT64_MAX - setting->seed)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "seeds: expected 1 or more, the last of them at most 2^64 - 1");
    struct fa_precision_error(*found)[FA_REFERENCE_COUNT] = calloc((size_t)n, sizeof *found);
    struct sim_precision_error(*sums)[FA_REFERENCE_COUNT] = calloc((size_t)n, sizeof *sums);
    if (!found || !sums)
        status = fa_fail(error, FA_NO_MEMORY, "no memory for the errors of %d recipes", n);
    for (int i = 0; i < n && !status; i++)
        for (int r = 0; r < FA_REFERENCE_COUNT && !status; r++)
            sums[i][r] = (struct sim_precision_error){
                .all = {.o = fa_comparison_start()}, .least = INFINITY};
    one.watch = setting->watch && setting->watch->tick ? &watch : NULL;
    for (; part.done < seeds && !status; part.done++) {
        one.seed = setting->seed + (uint64_t)part.done;
        status = fa_precision_measure(&one, recipes, n, wanted, found, error);
        for (int i = 0; i < n && !status; i++)
            for (int r = 0; r < FA_REFERENCE_COUNT; r++)
                add_seed(&sums[i][r], &found[i][r]);
    }
    for (int i = 0; i < n && !status; i++) {
        for (int r = 0; r < FA_REFERENCE_COUNT; r++)
            finish(&sums[i][r], seeds);
    }
    if (!status)
        memcpy(errors, sums, (size_t)n * sizeof *sums);
    free(found);
    free(sums);
    return status;
}
