/*
 * Products as Hopper's tensor cores do them, and nothing else: the product ceiling of peak.h on a
 * device of compute capability 9.0, which mma.sync does not reach.
 *
 * Four warpgroups of a block add 64 x 16 by 16 x 128 products to accumulators of their own. The
 * left operand is in registers, as P is; the right one in shared memory, as V is, the same for all.
 */
#include "cuda/hopper_products.cuh"

enum { PEAK_GROUPS = 4, PEAK_STEPS = 4, PEAK_COLUMNS = 128, PEAK_ROUNDS = 2048 };
enum { PEAK_TILE_BYTES = 2 * 16 * PEAK_STEPS * PEAK_COLUMNS };

template <class T>
__global__ void __launch_bounds__(PEAK_GROUPS *WARPGROUP, 1)
    peak_kernel(float *kept, const uint32_t *operands)
{
    extern __shared__ __align__(HOPPER_TILE_ALIGN) uint32_t tile[];
    const uint32_t address = shared_address(tile);
    float c[PEAK_COLUMNS / 8][4];
    uint32_t a[PEAK_STEPS][4];
    for (int i = threadIdx.x; i < PEAK_TILE_BYTES / 4; i += PEAK_GROUPS * WARPGROUP)
        tile[i] = operands[i];
    for (int i = 0; i < PEAK_STEPS * 4; i++)
        a[i / 4][i % 4] = operands[(threadIdx.x * PEAK_STEPS * 4 + i)];
    for (int n = 0; n < PEAK_COLUMNS / 8; n++)
        for (int e = 0; e < 4; e++)
            c[n][e] = 0;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    const uint64_t right = operand(address, PEAK_TILE_BYTES / 2);
    for (int round = 0; round < PEAK_ROUNDS; round++) {
        multiply_values<T, 0, 16 * PEAK_STEPS, PEAK_COLUMNS, PEAK_STEPS>(c, a, right);
        products_wait<1>(c);
    }
    products_wait<0>(c);
    float sum = 0;
    for (int n = 0; n < PEAK_COLUMNS / 8; n++)
        for (int e = 0; e < 4; e++)
            sum += c[n][e];
    kept[blockIdx.x * PEAK_GROUPS * WARPGROUP + threadIdx.x] = sum;
}

enum fa_status gpu_wgmma_ceiling(enum fa_dtype dtype, int multiprocessors, const void *operands,
                                 float *kept, double *work, struct fa_error *error)
{
    enum fa_status status = FA_OK;
    if (dtype == FA_F16)
        GPU_LAUNCH(status, peak_kernel<gpu_f16>, multiprocessors, PEAK_GROUPS * WARPGROUP,
                   PEAK_TILE_BYTES, NULL, error, kept, (const uint32_t *)operands);
    else
        GPU_LAUNCH(status, peak_kernel<gpu_bf16>, multiprocessors, PEAK_GROUPS * WARPGROUP,
                   PEAK_TILE_BYTES, NULL, error, kept, (const uint32_t *)operands);
    if (status == FA_OK)
        *work = 2.0 * multiprocessors * PEAK_GROUPS * PEAK_ROUNDS * PEAK_STEPS * WARPGROUP_ROWS *
                16 * PEAK_COLUMNS;
    return status;
}
