/* The ladder, from the lowest rung on. */
#include "cuda/gpu_checks.h"

const struct gpu_rung *const gpu_rungs[] = {
    &gpu_standard,
    &gpu_flash1,
    &gpu_flash2,
    &gpu_mma,
    &gpu_async,
#ifdef FLASHLAB_GPU_HOPPER
    &gpu_wgmma,
    &gpu_ws,
#endif
};
const int gpu_rung_count = sizeof gpu_rungs / sizeof gpu_rungs[0];
