/*
 * Reads what NVIDIA's profiler prints: `ncu --csv`, in the wide form of `--page raw` (a column a
 * metric, a row of units under the names) and in the long one (a row a metric: "Metric Name",
 * "Metric Unit", "Metric Value"). Plain C: no CUDA is needed to read it.
 *
 * Lines before the header, which is the line with a field "Kernel Name", are passed over: ncu and
 * the profiled program print there; so are later lines that begin with "==", rows without a metric
 * (rules), and the mark of UTF-8 before a line. A second header, as two files after one another
 * have, is taken as such.
 *
 * Where there is no launch, the first line that begins with "==ERROR==" is quoted, and what to do
 * about ERR_NVGPUCTRPERM said.
 *
 * Errors: FA_BAD_FILE with the line, the column (the number of the field, from 1) and what was
 * expected; FA_TOO_LARGE past NCU_BYTES, NCU_LAUNCHES or NCU_METRICS; FA_IO; FA_NO_MEMORY.
 */
#ifndef CUDA_NCU_CSV_H
#define CUDA_NCU_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reference/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What helps where ncu may not read the counters. */
#define NCU_PERMISSION                                                                             \
    "run as root, or load NVIDIA's driver with NVreg_RestrictProfilingToAdminUsers=0"

enum { NCU_BYTES = 1 << 26, NCU_LAUNCHES = 1 << 16, NCU_METRICS = 1 << 21, NCU_COLUMNS = 8192 };

struct ncu_metric {
    const char *name;  /* "dram__bytes_read.sum" */
    const char *unit;  /* "byte", "Mbyte", "sector", ... */
    const char *value; /* as printed: "1,234.5", "n/a" */
    int line, column;  /* of the value */
};

/* One launch of a kernel: metric[first .. first + n) are its own. */
struct ncu_launch {
    const char *id, *process; /* as printed; "" where there is no such column */
    const char *kernel;
    int first, n;
};

struct ncu_csv {
    struct ncu_launch *launch; /* in the order of the file */
    struct ncu_metric *metric;
    int n_launches, n_metrics;
    char name[256]; /* of the file, for errors */
    char *text;     /* what the names point to */
};

/* `name` stands before errors. At least one launch is there when it succeeds. */
enum fa_status ncu_csv_parse(const char *name, const char *text, size_t n_bytes,
                             struct ncu_csv *csv, struct fa_error *error);
enum fa_status ncu_csv_read(const char *path, struct ncu_csv *csv, struct fa_error *error);
void ncu_csv_free(struct ncu_csv *csv);

/* NULL if the launch has no such metric. */
const struct ncu_metric *ncu_csv_find(const struct ncu_csv *csv, int launch, const char *metric);

/* False for "n/a": ncu was asked for the counter, and has no value of it. */
bool ncu_csv_is_measured(const struct ncu_metric *metric);

/*
 * The metric as bytes: units byte, Kbyte, Mbyte, Gbyte, Tbyte (powers of 1000, as ncu has them) or
 * KB, MB, GB, TB, and sector (32 bytes) with the same letters. Thousands may be set apart by
 * commas. Scaled units are rounded by ncu already (`--print-units base` prints all digits).
 * FA_BAD_FILE for another unit, for what is no number from 0 up to 2^63, and for a part of a byte
 * or sector.
 */
enum fa_status ncu_csv_bytes(const struct ncu_csv *csv, const struct ncu_metric *metric,
                             uint64_t *bytes, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
