/* The presets, and finding a machine. */
#include "simulator/machine.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)

/*
 * Datasheets give memory in "GB" that are 2^30 bytes and rates in powers of ten. The rate of the
 * on-chip memory is 32 banks x 4 bytes a clock an SM (CUDA C++ Programming Guide, shared memory)
 * at the boost clock; the A100's agrees with the "about 19 TB/s" of the FlashAttention paper. The
 * special function units of an SM give 16 results a clock (the same guide, arithmetic instructions:
 * base-2 exponential), here at the clock that the tensor cores' rate is stated for.
 */
static const struct sim_machine presets[] = {
    {
        .name = "v100",
        .title = "NVIDIA V100, SXM2, 16 GB (Volta, 2017)",
        .sram_bytes = 128 * KIB,
        .sms = 80,
        .l2_bytes = 6 * MIB,
        .hbm_bytes = 16 * GIB,
        .hbm_bytes_per_second = 900e9,
        .sram_bytes_per_second = 15.7e12,
        .f32_flops_per_second = 15.7e12,
        .f16_flops_per_second = 125e12,
        .exp_per_second = 1958.4e9,
        .source_sram = "Tesla V100 whitepaper: L1 and shared memory of an SM together; one block "
                       "may have 98,304 of it",
        .source_sms = "Tesla V100 whitepaper, table 1",
        .source_l2 = "Tesla V100 whitepaper, table 1: 6144 KB",
        .source_hbm = "Tesla V100 whitepaper, table 1: HBM2, 16 GB, 900 GB/s",
        .source_sram_rate = "80 SMs x 128 bytes a clock x 1.53 GHz",
        .source_flops = "Tesla V100 whitepaper, table 1",
        .source_exp = "80 SMs x 16 a clock x 1.53 GHz",
    },
    {
        .name = "t4",
        .title = "NVIDIA T4 (Turing, 2018)",
        .sram_bytes = 96 * KIB,
        .sms = 40,
        .l2_bytes = 4 * MIB,
        .hbm_bytes = 16 * GIB,
        .hbm_bytes_per_second = 320e9,
        .f32_flops_per_second = 8.1e12,
        .f16_flops_per_second = 65e12,
        .exp_per_second = 1017.6e9,
        .source_sram = "Turing whitepaper: L1 and shared memory of an SM together; one block may "
                       "have 65,536 of it",
        .source_sms = "Turing whitepaper: 2560 CUDA cores, 64 an SM",
        .source_l2 = "Turing whitepaper: 4096 KB",
        .source_hbm = "Turing whitepaper: 16 GB of GDDR6 (not HBM), 320 GB/s",
        .source_flops = "T4 datasheet: FP32 8.1, mixed precision 65 TFLOPS",
        .source_exp = "40 SMs x 16 a clock x 1.59 GHz",
    },
    {
        .name = "a100",
        .title = "NVIDIA A100, SXM4, 40 GB (Ampere, 2020): the machine of the FlashAttention paper",
        .sram_bytes = 192 * KIB,
        .sms = 108,
        .l2_bytes = 40 * MIB,
        .hbm_bytes = 40 * GIB,
        .hbm_bytes_per_second = 1555e9,
        .sram_bytes_per_second = 19e12,
        .f32_flops_per_second = 19.5e12,
        .f16_flops_per_second = 312e12,
        .exp_per_second = 2436.48e9,
        .source_sram = "FlashAttention paper, section 2.1: 192 KB an SM, L1 and shared memory "
                       "together; one block may have 166,912 of it",
        .source_sms = "FlashAttention paper, section 2.1; A100 whitepaper, table 1",
        .source_l2 = "A100 whitepaper, table 1: 40 MB",
        .source_hbm = "A100 datasheet: HBM2, 40 GB, 1,555 GB/s; the paper rounds to 1.5 TB/s",
        .source_sram_rate = "FlashAttention paper, section 2.1: about 19 TB/s (108 SMs x 128 bytes "
                            "a clock x 1.41 GHz = 19.5)",
        .source_flops = "A100 whitepaper, table 1",
        .source_exp = "108 SMs x 16 a clock x 1.41 GHz",
    },
    {
        .name = "a100-80",
        .title = "NVIDIA A100, SXM4, 80 GB (Ampere, 2020)",
        .sram_bytes = 192 * KIB,
        .sms = 108,
        .l2_bytes = 40 * MIB,
        .hbm_bytes = 80 * GIB,
        .hbm_bytes_per_second = 2039e9,
        .sram_bytes_per_second = 19e12,
        .f32_flops_per_second = 19.5e12,
        .f16_flops_per_second = 312e12,
        .exp_per_second = 2436.48e9,
        .source_sram = "FlashAttention paper, section 2.1: 192 KB an SM, L1 and shared memory "
                       "together; one block may have 166,912 of it",
        .source_sms = "FlashAttention paper, section 2.1; A100 whitepaper, table 1",
        .source_l2 = "A100 whitepaper, table 1: 40 MB",
        .source_hbm = "A100 datasheet: HBM2e, 80 GB, 2,039 GB/s",
        .source_sram_rate = "FlashAttention paper, section 2.1: about 19 TB/s (108 SMs x 128 bytes "
                            "a clock x 1.41 GHz = 19.5)",
        .source_flops = "A100 whitepaper, table 1",
        .source_exp = "108 SMs x 16 a clock x 1.41 GHz",
    },
    {
        .name = "h100",
        .title = "NVIDIA H100, SXM5, 80 GB (Hopper, 2022)",
        .sram_bytes = 232448,
        .sms = 132,
        .l2_bytes = 50 * MIB,
        .hbm_bytes = 80 * GIB,
        .hbm_bytes_per_second = 3.35e12,
        .sram_bytes_per_second = 33.5e12,
        .f32_flops_per_second = 67e12,
        .f16_flops_per_second = 989e12,
        .exp_per_second = 3864.96e9,
        .source_sram = "Hopper Tuning Guide: what one block may have, 227 KB, of the 256 KB of L1 "
                       "and shared memory of an SM",
        .source_sms = "H100 whitepaper: SXM5",
        .source_l2 = "H100 whitepaper: 50 MB",
        .source_hbm = "H100 datasheet: SXM, HBM3, 80 GB, 3.35 TB/s",
        .source_sram_rate = "132 SMs x 128 bytes a clock x 1.98 GHz",
        .source_flops = "H100 datasheet: SXM, FP32 67, FP16 1,979 TFLOPS with sparsity, so 989 "
                        "dense",
        .source_exp = "132 SMs x 16 a clock x 1.83 GHz; the FlashAttention-3 paper, "
                      "section 3.1: 3.9 T/s",
    },
    {
        .name = "h200",
        .title = "NVIDIA H200, SXM5, 141 GB (Hopper, 2023)",
        .sram_bytes = 232448,
        .sms = 132,
        .l2_bytes = 60 * MIB,
        .hbm_bytes = UINT64_C(150109880320),
        .hbm_bytes_per_second = 4.8e12,
        .sram_bytes_per_second = 33.5e12,
        .f32_flops_per_second = 67e12,
        .f16_flops_per_second = 989e12,
        .exp_per_second = 3864.96e9,
        .source_sram = "Hopper Tuning Guide: what one block may have, 227 KB, of the 256 KB of L1 "
                       "and shared memory of an SM; an H200's driver agrees",
        .source_sms = "asked of an H200's driver (cuDeviceGetAttribute)",
        .source_l2 = "asked of an H200's driver (cuDeviceGetAttribute): 62,914,560",
        .source_hbm = "rate: H200 datasheet, HBM3e, 4.8 TB/s; size: an H200's driver "
                      "(cuDeviceTotalMem), sold as 141 GB",
        .source_sram_rate = "132 SMs x 128 bytes a clock x 1.98 GHz",
        .source_flops = "H200 datasheet: SXM, FP32 67, FP16 1,979 TFLOPS with sparsity, so 989 "
                        "dense",
        .source_exp = "132 SMs x 16 a clock x 1.83 GHz; the FlashAttention-3 paper, "
                      "section 3.1, of an H100: 3.9 T/s",
    },
    {
        .name = "rtx3090",
        .title = "NVIDIA GeForce RTX 3090 (Ampere GA102, 2020)",
        .sram_bytes = 128 * KIB,
        .sms = 82,
        .l2_bytes = 6 * MIB,
        .hbm_bytes = 24 * GIB,
        .hbm_bytes_per_second = 936e9,
        .sram_bytes_per_second = 17.8e12,
        .f32_flops_per_second = 35.6e12,
        .f16_flops_per_second = 71e12,
        .exp_per_second = 2223.84e9,
        .source_sram = "GA102 whitepaper: L1 and shared memory of an SM together; one block may "
                       "have 101,376 of it",
        .source_sms = "GA102 whitepaper, RTX 3090",
        .source_l2 = "GA102 whitepaper, RTX 3090: 6144 KB",
        .source_hbm = "GA102 whitepaper, RTX 3090: 24 GB of GDDR6X (not HBM), 936 GB/s",
        .source_sram_rate = "82 SMs x 128 bytes a clock x 1.695 GHz",
        .source_flops = "GA102 whitepaper, RTX 3090: FP32 35.6, FP16 tensor with FP32 accumulation "
                        "71 TFLOPS, dense",
        .source_exp = "82 SMs x 16 a clock x 1.695 GHz",
    },
    {
        .name = "rtx4090",
        .title = "NVIDIA GeForce RTX 4090 (Ada AD102, 2022)",
        .sram_bytes = 128 * KIB,
        .sms = 128,
        .l2_bytes = 72 * MIB,
        .hbm_bytes = 24 * GIB,
        .hbm_bytes_per_second = 1008e9,
        .sram_bytes_per_second = 41.3e12,
        .f32_flops_per_second = 82.6e12,
        .f16_flops_per_second = 165.2e12,
        .exp_per_second = 5160.96e9,
        .source_sram = "Ada whitepaper: L1 and shared memory of an SM together; one block may have "
                       "101,376 of it",
        .source_sms = "Ada whitepaper, RTX 4090",
        .source_l2 = "Ada whitepaper, RTX 4090: 73728 KB",
        .source_hbm = "Ada whitepaper, RTX 4090: 24 GB of GDDR6X (not HBM), 1,008 GB/s",
        .source_sram_rate = "128 SMs x 128 bytes a clock x 2.52 GHz",
        .source_flops = "Ada whitepaper, RTX 4090: FP32 82.6, FP16 tensor with FP32 accumulation "
                        "165.2 TFLOPS, dense",
        .source_exp = "128 SMs x 16 a clock x 2.52 GHz",
    },
    {
        .name = "toy",
        .title = "a machine for small examples: 1,024 numbers of 4 bytes fit",
        .sram_bytes = 4 * KIB,
        .sms = 1,
        .source_sram = "made up: small enough for the tiles of a lesson to fill it",
        .source_sms = "made up",
    },
};

enum { PRESETS = sizeof presets / sizeof *presets };

const struct sim_machine *sim_machine_presets(int *n)
{
    *n = PRESETS;
    return presets;
}

/* A machine file is a page of text; more than this is something else. */
enum { FILE_LIMIT = 64 * 1024 };

/* Refuses a name that is neither a preset nor a file. */
static enum fa_status fail_not_found(const char *name, struct fa_error *error)
{
    char known[256] = "";
    size_t length = 0;
    for (int i = 0; i < PRESETS && length < sizeof known; i++) {
        int n =
            snprintf(known + length, sizeof known - length, "%s%s", i ? ", " : "", presets[i].name);
        length += n > 0 ? (size_t)n : 0;
    }
    return fa_fail(error, FA_BAD_ARGUMENT,
                   "machine \"%s\": neither a preset (%s) nor a file that is there", name, known);
}

static enum fa_status find_file(const char *path, struct sim_machine *machine,
                                struct fa_error *error)
{
    enum fa_status status = FA_OK;
    size_t n = 0;
    char *bytes = NULL;
    FILE *file = fopen(path, "rb");

    if (!file) {
        int cause = errno;
        if (cause == ENOENT || cause == ENOTDIR || cause == ENAMETOOLONG)
            return fail_not_found(path, error);
        return fa_fail(error, FA_IO, "%s: can't open the machine file: %s", path, strerror(cause));
    }
    bytes = malloc(FILE_LIMIT + 1);
    if (!bytes) {
        status = fa_fail(error, FA_NO_MEMORY, "%s: no memory to read the machine file", path);
        goto done;
    }
    n = fread(bytes, 1, FILE_LIMIT + 1, file);
    if (ferror(file)) {
        status =
            fa_fail(error, FA_IO, "%s: can't read the machine file: %s", path, strerror(errno));
        goto done;
    }
    if (n > FILE_LIMIT) {
        status = fa_fail(error, FA_BAD_FILE, "%s: more than %d bytes, so no machine file", path,
                         FILE_LIMIT);
        goto done;
    }
    status = sim_machine_parse(path, bytes, n, machine, error);
done:
    free(bytes);
    fclose(file);
    return status;
}

enum fa_status sim_machine_find(const char *name_or_path, struct sim_machine *machine,
                                struct fa_error *error)
{
    for (int i = 0; i < PRESETS; i++) {
        if (strcmp(presets[i].name, name_or_path) == 0) {
            *machine = presets[i];
            return FA_OK;
        }
    }
    return find_file(name_or_path, machine, error);
}

/* The power of 1024 that a unit's letter stands for; 0 for another letter. */
static uint64_t unit_of(const char *letter)
{
    if (!*letter)
        return 1;
    if (letter[1])
        return 0;
    switch (*letter) {
    case 'K':
    case 'k':
        return KIB;
    case 'M':
    case 'm':
        return MIB;
    case 'G':
    case 'g':
        return GIB;
    default:
        return 0;
    }
}

/* Reads digits, of which at least one must stand there; false past 2^63 - 1. */
static bool read_digits(const char **at, uint64_t *value, uint64_t *power)
{
    const char *start = *at;
    *value = 0;
    *power = 1;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        uint64_t digit = (uint64_t)(**at - '0');
        if (*value > (INT64_MAX - digit) / 10 || *power > UINT64_MAX / 10)
            return false;
        *value = *value * 10 + digit;
        *power *= 10;
    }
    return *at > start;
}

enum fa_status sim_parse_bytes(const char *text, uint64_t *bytes, struct fa_error *error)
{
    const char *at = text;
    uint64_t whole, fraction = 0, power = 1, unit;
    bool good = read_digits(&at, &whole, &(uint64_t){0});

    if (good && *at == '.') {
        at++;
        good = read_digits(&at, &fraction, &power);
    }
    unit = good ? unit_of(at) : 0;
    if (unit == 0)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "\"%s\": expected a size such as 4096, 192K, 1.5M or 2G", text);
    /* The fraction is below one, so what the unit makes of it is below the unit: at most 2^30. */
    if (power > UINT64_MAX / unit || fraction * unit % power != 0)
        return fa_fail(error, FA_BAD_ARGUMENT, "\"%s\": not a whole number of bytes", text);
    uint64_t rest = fraction * unit / power;
    if (whole > (INT64_MAX - rest) / unit)
        return fa_fail(error, FA_BAD_ARGUMENT, "\"%s\": past 2^63 - 1 bytes", text);
    if (whole == 0 && rest == 0)
        return fa_fail(error, FA_BAD_ARGUMENT, "\"%s\": expected at least one byte", text);
    *bytes = whole * unit + rest;
    return FA_OK;
}
