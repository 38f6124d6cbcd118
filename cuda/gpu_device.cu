#include "cuda/gpu_device.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/launch.cuh"

#ifdef FLASHLAB_GPU_SHIM

#include <chrono>

enum fa_status gpu_device_find(struct gpu_device *device, struct fa_error *)
{
    *device = {};
    memcpy(device->name, "shim", 5);
    device->block_shared_bytes = 232448;
    return FA_OK;
}

enum fa_status gpu_device_check(const struct gpu_device *, struct fa_error *)
{
    return FA_OK;
}

const char *gpu_built_architectures(void)
{
    return "shim";
}

enum fa_status gpu_memory_take(size_t bytes, void **memory, struct fa_error *error)
{
    void *taken = aligned_alloc(256, (bytes + 256) / 256 * 256);
    if (!taken)
        return fa_fail(error, FA_NO_MEMORY, "no memory for %zu bytes", bytes);
    *memory = taken;
    return FA_OK;
}

void gpu_memory_free(void *memory)
{
    free(memory);
}

enum fa_status gpu_memory_fill(void *memory, unsigned char byte, size_t bytes, struct fa_error *)
{
    memset(memory, byte, bytes);
    return FA_OK;
}

enum fa_status gpu_memory_upload(void *to, const void *from, size_t bytes, struct fa_error *)
{
    memcpy(to, from, bytes);
    return FA_OK;
}

enum fa_status gpu_memory_download(void *to, const void *from, size_t bytes, struct fa_error *)
{
    memcpy(to, from, bytes);
    return FA_OK;
}

enum fa_status gpu_wait(struct fa_error *)
{
    return FA_OK;
}

/* The time of the CPU that stands in for a device: it says nothing about one, and is for tests. */
static double milliseconds_now()
{
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

enum fa_status gpu_timer_make(struct gpu_timer *timer, struct fa_error *error)
{
    void *start = malloc(sizeof(double));
    if (!start)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a timer");
    *timer = {start, nullptr};
    return FA_OK;
}

void gpu_timer_free(struct gpu_timer *timer)
{
    free(timer->start);
    *timer = {};
}

enum fa_status gpu_timer_start(struct gpu_timer *timer, struct fa_error *)
{
    *(double *)timer->start = milliseconds_now();
    return FA_OK;
}

enum fa_status gpu_timer_stop(struct gpu_timer *timer, double *milliseconds, struct fa_error *)
{
    *milliseconds = milliseconds_now() - *(double *)timer->start;
    return FA_OK;
}

#else

enum fa_status gpu_cuda_status(cudaError_t code, const char *what, struct fa_error *error)
{
    if (code == cudaSuccess)
        return FA_OK;
    (void)cudaGetLastError(); /* said here: the next launch is not to be blamed for it */
    switch (code) {
    case cudaErrorMemoryAllocation:
        return fa_fail(error, FA_NO_MEMORY, "%s: the device has too little memory left", what);
    case cudaErrorInsufficientDriver:
        return fa_fail(error, FA_MISSING_PART,
                       "%s: no NVIDIA driver, or one older than this build's CUDA %d.%d", what,
                       CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    case cudaErrorNoDevice:
        return fa_fail(error, FA_MISSING_PART, "%s: there is no NVIDIA device", what);
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
        return fa_fail(error, FA_MISSING_PART,
                       "%s: the device runs none of the architectures that were built (%s)", what,
                       gpu_built_architectures());
    default:
        return fa_fail(error, FA_IO, "%s: %s (CUDA error %d)", what, cudaGetErrorString(code),
                       (int)code);
    }
}

enum fa_status gpu_kernel_prepare(const void *kernel, size_t shared_bytes, struct fa_error *error)
{
    int device = 0, most = 0;
    enum fa_status status = gpu_cuda_status(cudaGetDevice(&device), "finding the device", error);
    if (status == FA_OK)
        status = gpu_cuda_status(
            cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
            "asking the device", error);
    if (status == FA_OK && shared_bytes > (size_t)most)
        return fa_fail(error, FA_DOES_NOT_FIT,
                       "the tiles need %zu bytes of shared memory, and a block of this device may "
                       "have %d",
                       shared_bytes, most);
    if (status == FA_OK)
        status = gpu_cuda_status(cudaFuncSetAttribute(kernel,
                                                      cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                      (int)shared_bytes),
                                 "preparing a kernel", error);
    return status;
}

enum fa_status gpu_capability_check(const char *rung, int major, struct fa_error *error)
{
    int device = 0, have = 0;
    enum fa_status status = gpu_cuda_status(cudaGetDevice(&device), "finding the device", error);
    if (status == FA_OK)
        status = gpu_cuda_status(
            cudaDeviceGetAttribute(&have, cudaDevAttrComputeCapabilityMajor, device),
            "asking the device", error);
    if (status == FA_OK && have < major)
        return fa_fail(error, FA_MISSING_PART,
                       "%s needs compute capability %d.0, and this device has %d.x", rung, major,
                       have);
    return status;
}

static int attribute(cudaDeviceAttr which, int device)
{
    int value = 0;
    (void)cudaDeviceGetAttribute(&value, which, device);
    return value;
}

enum fa_status gpu_device_find(struct gpu_device *device, struct fa_error *error)
{
    int count = 0, index = 0;
    cudaDeviceProp properties;
    struct gpu_device found = {};
    enum fa_status status = gpu_cuda_status(cudaGetDeviceCount(&count), "counting devices", error);
    if (status == FA_OK && count == 0)
        return fa_fail(error, FA_MISSING_PART, "there is no NVIDIA device");
    if (status == FA_OK)
        status = gpu_cuda_status(cudaGetDevice(&index), "finding the device", error);
    if (status == FA_OK)
        status = gpu_cuda_status(cudaGetDeviceProperties(&properties, index), "asking the device",
                                 error);
    if (status != FA_OK)
        return status;
    memcpy(found.name, properties.name, sizeof found.name - 1);
    found.major = properties.major;
    found.minor = properties.minor;
    found.multiprocessors = properties.multiProcessorCount;
    found.clock_khz = attribute(cudaDevAttrClockRate, index);
    found.memory_bytes = (int64_t)properties.totalGlobalMem;
    found.l2_bytes = properties.l2CacheSize;
    found.block_shared_bytes = (int64_t)properties.sharedMemPerBlockOptin;
    (void)cudaDriverGetVersion(&found.driver_version);
    *device = found;
    return FA_OK;
}

/* Compiled for the same architectures as the rungs, so that where it is missing they are. */
static __global__ void probe_kernel()
{
}

enum fa_status gpu_device_check(const struct gpu_device *device, struct fa_error *error)
{
    cudaFuncAttributes attributes;
    struct fa_error inner;
    enum fa_status status = gpu_cuda_status(
        cudaFuncGetAttributes(&attributes, (const void *)probe_kernel), "loading a kernel", &inner);
    if (status == FA_OK)
        return FA_OK;
    return fa_fail(error, status, "%s, compute capability %d.%d: %s", device->name, device->major,
                   device->minor, inner.text);
}

const char *gpu_built_architectures(void)
{
    return FLASHLAB_GPU_ARCHITECTURES;
}

enum fa_status gpu_memory_take(size_t bytes, void **memory, struct fa_error *error)
{
    void *taken = nullptr;
    enum fa_status status =
        gpu_cuda_status(cudaMalloc(&taken, bytes > 0 ? bytes : 1), "taking memory", error);
    if (status == FA_OK)
        *memory = taken;
    return status;
}

void gpu_memory_free(void *memory)
{
    (void)cudaFree(memory);
}

enum fa_status gpu_memory_fill(void *memory, unsigned char byte, size_t bytes,
                               struct fa_error *error)
{
    return gpu_cuda_status(cudaMemset(memory, byte, bytes), "filling memory", error);
}

enum fa_status gpu_memory_upload(void *to, const void *from, size_t bytes, struct fa_error *error)
{
    return gpu_cuda_status(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "uploading", error);
}

enum fa_status gpu_memory_download(void *to, const void *from, size_t bytes, struct fa_error *error)
{
    return gpu_cuda_status(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "downloading",
                           error);
}

enum fa_status gpu_wait(struct fa_error *error)
{
    return gpu_cuda_status(cudaDeviceSynchronize(), "waiting for the device", error);
}

enum fa_status gpu_timer_make(struct gpu_timer *timer, struct fa_error *error)
{
    cudaEvent_t start = nullptr, stop = nullptr;
    enum fa_status status = gpu_cuda_status(cudaEventCreate(&start), "making an event", error);
    if (status == FA_OK)
        status = gpu_cuda_status(cudaEventCreate(&stop), "making an event", error);
    if (status != FA_OK) {
        if (start)
            (void)cudaEventDestroy(start);
        return status;
    }
    timer->start = start;
    timer->stop = stop;
    return FA_OK;
}

void gpu_timer_free(struct gpu_timer *timer)
{
    if (timer->start)
        (void)cudaEventDestroy((cudaEvent_t)timer->start);
    if (timer->stop)
        (void)cudaEventDestroy((cudaEvent_t)timer->stop);
    *timer = {};
}

enum fa_status gpu_timer_start(struct gpu_timer *timer, struct fa_error *error)
{
    return gpu_cuda_status(cudaEventRecord((cudaEvent_t)timer->start), "recording an event", error);
}

enum fa_status gpu_timer_stop(struct gpu_timer *timer, double *milliseconds, struct fa_error *error)
{
    float elapsed = 0;
    enum fa_status status =
        gpu_cuda_status(cudaEventRecord((cudaEvent_t)timer->stop), "recording an event", error);
    if (status == FA_OK)
        status = gpu_cuda_status(cudaEventSynchronize((cudaEvent_t)timer->stop),
                                 "waiting for an event", error);
    if (status == FA_OK)
        status = gpu_cuda_status(
            cudaEventElapsedTime(&elapsed, (cudaEvent_t)timer->start, (cudaEvent_t)timer->stop),
            "reading an event", error);
    if (status == FA_OK)
        *milliseconds = elapsed;
    return status;
}

#endif
