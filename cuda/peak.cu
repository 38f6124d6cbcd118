#include "cuda/peak.h"

#ifdef FLASHLAB_GPU_SHIM
#include "cuda/launch.cuh"
#else
#include "cuda/fragments.cuh"
#endif

static constexpr int THREADS = 256;
static constexpr int CHAINS = 8; /* operations of a thread that wait for none of the others */
static constexpr int OPERAND_BYTES = 1 << 18;

/* Rounds of a launch: about a millisecond on a GPU, and hardly any work on a CPU. */
#ifdef FLASHLAB_GPU_SHIM
static constexpr int BLOCKS_PER_SM = 1, MATRIX_ROUNDS = 1, FMA_ROUNDS = 4, EXP_ROUNDS = 4,
                     L2_PASSES = 2;
#else
static constexpr int BLOCKS_PER_SM = 8, MATRIX_ROUNDS = 8192, FMA_ROUNDS = 8192, EXP_ROUNDS = 4096,
                     L2_PASSES = 256;
#endif

static __device__ __forceinline__ int thread_of_grid()
{
    return (int)(blockIdx.x * THREADS + threadIdx.x);
}

/* ---- CUDA cores and special function units -------------------------------------------------- */

/* A result is always kept, or the compiler would leave the work out. */
static __device__ __forceinline__ void keep(float *kept, const float (&x)[CHAINS])
{
    float sum = 0;
    for (int i = 0; i < CHAINS; i++)
        sum += x[i];
    kept[thread_of_grid()] = sum;
}

__global__ void __launch_bounds__(THREADS) fma_kernel(float *kept, float factor, float addend)
{
    float x[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        x[i] = (float)(threadIdx.x + i);
    for (int round = 0; round < FMA_ROUNDS; round++)
        for (int i = 0; i < CHAINS; i++)
            x[i] = fmaf(x[i], factor, addend);
    keep(kept, x);
}

static __device__ __forceinline__ float exponential(float x)
{
#ifdef FLASHLAB_GPU_SHIM
    return exp2f(x);
#else
    return power_of_two(x);
#endif
}

/* x = 2^-x stays near 0.64. */
__global__ void __launch_bounds__(THREADS) exp_kernel(float *kept)
{
    float x[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        x[i] = (float)(threadIdx.x + i) / THREADS;
    for (int round = 0; round < EXP_ROUNDS; round++)
        for (int i = 0; i < CHAINS; i++)
            x[i] = exponential(-x[i]);
    keep(kept, x);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* All blocks together read `n` times four numbers, past L1, as often as there are passes. */
__global__ void __launch_bounds__(THREADS)
    l2_kernel(float *kept, const four<float> *from, int n, int blocks)
{
    float sum[4] = {};
    for (int pass = 0; pass < L2_PASSES; pass++)
        for (int i = thread_of_grid(); i < n; i += blocks * THREADS) {
            four<float> x = load_past_l1(from + i);
            for (int j = 0; j < 4; j++)
                sum[j] += x.at[j];
        }
    kept[thread_of_grid()] = sum[0] + sum[1] + sum[2] + sum[3];
}

__global__ void __launch_bounds__(THREADS)
    copy_kernel(four<float> *to, const four<float> *from, int64_t n, int blocks)
{
    for (int64_t i = thread_of_grid(); i < n; i += (int64_t)blocks * THREADS)
        to[i] = load_past_l1(from + i);
}

/* ---- tensor cores --------------------------------------------------------------------------- */

#ifndef FLASHLAB_GPU_SHIM
/* Two left operands by four right ones, all in registers, into eight accumulators. */
template <class T>
__global__ void __launch_bounds__(THREADS) matrix_kernel(float *kept, const uint32_t *operands)
{
    uint32_t a[2][4], b[4][2];
    float c[2][4][4] = {};
    const uint32_t *own = operands + (threadIdx.x + blockIdx.x % 8 * THREADS) * 16;
    for (int i = 0; i < 8; i++) {
        a[i / 4][i % 4] = own[i];
        b[i / 2][i % 2] = own[8 + i];
    }
    for (int round = 0; round < MATRIX_ROUNDS; round++)
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 4; j++)
                multiply_add(c[i][j], a[i], b[j][0], b[j][1], T());
    float sums[CHAINS] = {};
    for (int i = 0; i < CHAINS; i++)
        for (int j = 0; j < 4; j++)
            sums[i] += c[i / 4][i % 4][j];
    keep(kept, sums);
}

static enum fa_status matrix_launch(enum fa_dtype dtype, unsigned blocks, float *kept,
                                    const void *operands, struct fa_error *error)
{
    enum fa_status status = gpu_capability_check("a product on tensor cores", 8, error);
    if (status != FA_OK)
        return fa_fail(error, FA_UNSUPPORTED, "this device has no tensor cores that we use");
    if (dtype == FA_F16)
        GPU_LAUNCH(status, matrix_kernel<gpu_f16>, blocks, THREADS, 0, NULL, error, kept,
                   (const uint32_t *)operands);
    else
        GPU_LAUNCH(status, matrix_kernel<gpu_bf16>, blocks, THREADS, 0, NULL, error, kept,
                   (const uint32_t *)operands);
    return status;
}

static __device__ __forceinline__ uint64_t nanoseconds()
{
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

/* Both ends are ticks of the timer, which may be a microsecond apart. */
__global__ void clock_kernel(uint64_t *counts, uint64_t wait, uint64_t measure)
{
    uint64_t before = nanoseconds(), start, end;
    do
        start = nanoseconds();
    while (start - before <= wait);
    long long cycles = clock64();
    do
        end = nanoseconds();
    while (end - start < measure);
    counts[0] = (uint64_t)(clock64() - cycles);
    counts[1] = end - start;
}

enum fa_status gpu_clock_start(void *counts, double wait_ms, double measure_ms,
                               struct fa_error *error)
{
    cudaStream_t stream = nullptr;
    cudaEvent_t now = nullptr;
    enum fa_status status = gpu_cuda_status(
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream", error);
    if (status == FA_OK)
        status = gpu_cuda_status(cudaEventCreateWithFlags(&now, cudaEventDisableTiming),
                                 "making an event", error);
    if (status == FA_OK)
        status = gpu_cuda_status(cudaEventRecord(now), "recording an event", error);
    if (status == FA_OK)
        status = gpu_cuda_status(cudaStreamWaitEvent(stream, now), "waiting for an event", error);
    if (status == FA_OK)
        GPU_LAUNCH(status, clock_kernel, 1, 1, 0, stream, error, (uint64_t *)counts,
                   (uint64_t)(wait_ms * 1e6), (uint64_t)(measure_ms * 1e6));
    /* Both go once the kernel is done. */
    if (now)
        (void)cudaEventDestroy(now);
    if (stream)
        (void)cudaStreamDestroy(stream);
    return status;
}

enum fa_status gpu_clock_read(const void *counts, double *gigahertz, struct fa_error *error)
{
    uint64_t spent[2];
    enum fa_status status = gpu_wait(error);
    if (status == FA_OK)
        status = gpu_memory_download(spent, counts, sizeof spent, error);
    if (status == FA_OK && spent[1] == 0)
        return fa_fail(error, FA_BAD_ARGUMENT, "the clock was not started");
    if (status == FA_OK)
        *gigahertz = (double)spent[0] / (double)spent[1];
    return status;
}
#else
static enum fa_status matrix_launch(enum fa_dtype, unsigned, float *, const void *,
                                    struct fa_error *error)
{
    return fa_fail(error, FA_UNSUPPORTED, "the shim has no tensor cores");
}

enum fa_status gpu_clock_start(void *, double, double, struct fa_error *error)
{
    return fa_fail(error, FA_UNSUPPORTED, "the shim has no multiprocessors, so no clock of theirs");
}

enum fa_status gpu_clock_read(const void *, double *, struct fa_error *error)
{
    return gpu_clock_start(NULL, 0, 0, error);
}
#endif

/* ---- one launch ----------------------------------------------------------------------------- */

/* Whether the device and this build have Hopper's products: what peak_wgmma.cu measures. */
static bool has_wgmma(const struct gpu_device *device)
{
#ifdef FLASHLAB_GPU_HOPPER
    return device->major == 9 && device->minor == 0;
#else
    return device->major < 0;
#endif
}

const char *gpu_ceiling_name(enum gpu_ceiling which)
{
    static const char *const names[GPU_CEILINGS] = {"matrix", "fma", "exp", "l2", "copy"};
    return names[which];
}

const char *gpu_ceiling_words(enum gpu_ceiling which, const struct gpu_device *device)
{
    if (which == GPU_CEILING_MATRIX && has_wgmma(device))
        return "wgmma m64n128k16 on registers and shared memory, random operands, nothing moved";
    static const char *const words[GPU_CEILINGS] = {
        "mma.sync m16n8k16 on registers, random operands, nothing moved",
        "f32 fused multiply-adds on registers",
        "ex2.approx on registers",
        "16-byte loads past L1 of a quarter of L2, again and again",
        "a copy of 8 times L2 by 16-byte loads and stores, both counted",
    };
    return words[which];
}

int64_t gpu_ceiling_bytes(const struct gpu_device *device)
{
    int64_t least = 4 << 20;
    return 16 * device->l2_bytes > least ? 16 * device->l2_bytes : least;
}

enum fa_status gpu_ceiling_launch(enum gpu_ceiling which, enum fa_dtype dtype,
                                  const struct gpu_device *device, void *scratch, double *work,
                                  struct fa_error *error)
{
    const int sms = device->multiprocessors > 0 ? device->multiprocessors : 1;
    const unsigned blocks = (unsigned)(sms * BLOCKS_PER_SM);
    const double operations = (double)blocks * THREADS * CHAINS;
    const int64_t bytes = gpu_ceiling_bytes(device), half = bytes / 2;
    enum fa_status status = FA_OK;
    /* Results go behind the operands; what is read there by the other ceilings may be anything. */
    float *kept = (float *)scratch + OPERAND_BYTES / 4;
    const four<float> *from = (const four<float> *)scratch;
    double done = 0;
    if (which == GPU_CEILING_MATRIX && dtype != FA_F16 && dtype != FA_BF16)
        return fa_fail(error, FA_UNSUPPORTED, "tensor cores are used in f16 and bf16 alone");
    switch (which) {
    case GPU_CEILING_MATRIX: /* a warp's product has 16 x 8 x 16 multiply-adds */
#ifdef FLASHLAB_GPU_HOPPER
        if (has_wgmma(device)) {
            status = gpu_wgmma_ceiling(dtype, sms, scratch, kept, &done, error);
            break;
        }
#endif
        done = operations / 32 * MATRIX_ROUNDS * 4096;
        status = matrix_launch(dtype, blocks, kept, scratch, error);
        break;
    case GPU_CEILING_FMA:
        done = operations * FMA_ROUNDS * 2;
        GPU_LAUNCH(status, fma_kernel, blocks, THREADS, 0, NULL, error, kept, 0.999f, 0.001f);
        break;
    case GPU_CEILING_EXP:
        done = operations * EXP_ROUNDS;
        GPU_LAUNCH(status, exp_kernel, blocks, THREADS, 0, NULL, error, kept);
        break;
    case GPU_CEILING_L2:
        done = (double)(bytes / 64 / 16 * 16) * L2_PASSES;
        GPU_LAUNCH(status, l2_kernel, blocks, THREADS, 0, NULL, error, kept, from,
                   (int)(bytes / 64 / 16), (int)blocks);
        break;
    default:
        done = 2.0 * (double)half;
        GPU_LAUNCH(status, copy_kernel, blocks, THREADS, 0, NULL, error,
                   (four<float> *)((char *)scratch + half), from, half / 16, (int)blocks);
    }
    if (status == FA_OK)
        *work = done;
    return status;
}
