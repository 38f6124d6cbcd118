/* What the Hopper rungs need of the host: maps of tensors for the copy engine, and the device. */
#include "cuda/hopper.cuh"

#include <inttypes.h>

#ifndef FLASHLAB_GPU_SHIM
#include <cudaTypedefs.h>

/* The driver's function, asked for by name so that the library needs no driver to be loaded. */
static enum fa_status find_encode(PFN_cuTensorMapEncodeTiled_v12000 *encode, struct fa_error *error)
{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t code = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found,
                                                              12000, cudaEnableDefault, &result);
#else
    const cudaError_t code =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
    if (code != cudaSuccess)
        return gpu_cuda_status(code, "asking the driver for tensor maps", error);
    if (result != cudaDriverEntryPointSuccess || !found)
        return fa_fail(error, FA_MISSING_PART, "the driver knows no tensor maps: expected CUDA 12");
    *encode = (PFN_cuTensorMapEncodeTiled_v12000)found;
    return FA_OK;
}

/* Strides in bytes: of rows, heads and batches. */
static enum fa_status encode(const struct hopper_tensor *t, const uint64_t (&strides)[3],
                             CUtensorMap *map, struct fa_error *error)
{
    const cuuint64_t sizes[4] = {(cuuint64_t)t->columns, (cuuint64_t)t->rows, (cuuint64_t)t->heads,
                                 (cuuint64_t)t->batch};
    const cuuint32_t box[4] = {HOPPER_COLUMNS, (cuuint32_t)t->box_rows, 1, 1};
    const cuuint32_t steps[4] = {1, 1, 1, 1};
    PFN_cuTensorMapEncodeTiled_v12000 call = nullptr;
    enum fa_status status = find_encode(&call, error);
    if (status != FA_OK)
        return status;
    const CUtensorMapDataType type =
        t->dtype == FA_F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    const CUresult result =
        call(map, type, 4, t->tensor->data, sizes, strides, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS)
        return fa_fail(error, FA_UNSUPPORTED, "TMA cannot take %s (driver error %d)", t->name,
                       (int)result);
    return FA_OK;
}

enum fa_status hopper_check(const char *rung, int *multiprocessors, struct fa_error *error)
{
    int device = 0, major = 0, minor = 0;
    cudaDeviceProp properties;
    enum fa_status status = gpu_cuda_status(cudaGetDevice(&device), "finding the device", error);
    if (status == FA_OK)
        status = gpu_cuda_status(
            cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
            "asking the device", error);
    if (status == FA_OK)
        status = gpu_cuda_status(
            cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
            "asking the device", error);
    if (status == FA_OK)
        status = gpu_cuda_status(
            cudaDeviceGetAttribute(multiprocessors, cudaDevAttrMultiProcessorCount, device),
            "asking the device", error);
    if (status != FA_OK || (major == 9 && minor == 0))
        return status;
    status =
        gpu_cuda_status(cudaGetDeviceProperties(&properties, device), "asking the device", error);
    if (status != FA_OK)
        return status;
    return fa_fail(error, FA_MISSING_PART,
                   "%s needs a Hopper GPU, compute capability 9.0, and %s has %d.%d", rung,
                   properties.name, major, minor);
}

#else

static enum fa_status encode(const struct hopper_tensor *t, const uint64_t (&strides)[3],
                             CUtensorMap *map, struct fa_error *)
{
    *map = {(const char *)t->tensor->data,
            t->rows,
            {(int64_t)strides[2], (int64_t)strides[1], (int64_t)strides[0]},
            t->box_rows};
    return FA_OK;
}

/* Few: then blocks that stay take many tiles. */
enum fa_status hopper_check(const char *, int *multiprocessors, struct fa_error *)
{
    *multiprocessors = 2;
    return FA_OK;
}

#endif

/* The copy engine's strides are bytes of the outer axes; of an axis of one, anything will do. */
static enum fa_status map_stride(const struct hopper_tensor *t, int axis, int64_t n,
                                 uint64_t *bytes, struct fa_error *error)
{
    const int64_t stride = t->tensor->stride[axis];
    *bytes = 2 * (uint64_t)t->columns;
    if (n < 2)
        return FA_OK;
    if (stride == 0)
        return fa_fail(error, FA_UNSUPPORTED,
                       "%s is broadcast along axis %d, by a stride of 0: TMA takes strides above 0",
                       t->name, axis);
    if (stride >= (int64_t)1 << 39)
        return fa_fail(error, FA_UNSUPPORTED,
                       "%s has a stride of %" PRId64 " elements: TMA takes less than 2^40 bytes",
                       t->name, stride);
    *bytes = 2 * (uint64_t)stride;
    return FA_OK;
}

enum fa_status hopper_map(const struct hopper_tensor *t, CUtensorMap *map, struct fa_error *error)
{
    uint64_t strides[3];
    if (t->batch == 0 || t->heads == 0 || t->rows == 0)
        return FA_OK;
    enum fa_status status = map_stride(t, 2, t->rows, &strides[0], error);
    if (status == FA_OK)
        status = map_stride(t, 1, t->heads, &strides[1], error);
    if (status == FA_OK)
        status = map_stride(t, 0, t->batch, &strides[2], error);
    return status == FA_OK ? encode(t, strides, map, error) : status;
}
