#include "simulator/precision_table.h"

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
        .heads = 16,
        .rows = 256,
        .profile = FA_PROFILE_OUTLIERS,
        .seed = 2,
        .threads = 1,
    };
}
