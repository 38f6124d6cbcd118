/* The outputs that `flashlab check` reads. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reference/npy_header.h"
#include "simulator/cli/check_theirs.h"

const char *const cli_output_files[SIM_OUTPUTS] = {"o", "lse", "dq", "dk", "dv"};

enum { PATH_BYTES = 4096 };

static bool make_path(const struct cli_check *check, const char *name, char path[PATH_BYTES])
{
    return (size_t)snprintf(path, PATH_BYTES, "%s/%s.npy", check->problem.in, name) < PATH_BYTES;
}

bool cli_check_has(const struct cli_check *check, const char *name)
{
    char path[PATH_BYTES];
    return make_path(check, name, path) && access(path, F_OK) == 0;
}

/* How the file holds its elements: "f32", "u16" and so on; "" where the header can't be read, about
 * which the reader of the array says more. */
static void find_stored(const char *path, char stored[8], int *integer_bytes)
{
    static unsigned char bytes[FA_NPY_PREAMBLE_MAX + FA_NPY_TEXT_MAX];
    struct fa_npy_header header;
    FILE *file = fopen(path, "rb");
    stored[0] = '\0';
    *integer_bytes = 0;
    if (!file)
        return;
    size_t n = fread(bytes, 1, sizeof bytes, file);
    bool sized = fseek(file, 0, SEEK_END) == 0;
    long size = sized ? ftell(file) : -1;
    fclose(file);
    if (size < 0 || fa_npy_header_parse(path, bytes, n, (uint64_t)size, &header, NULL) != FA_OK)
        return;
    snprintf(stored, 8, "%c%d", header.kind, 8 * header.bytes);
    if (header.kind == 'u' || header.kind == 'i')
        *integer_bytes = header.bytes;
}

/* Integers of 16 bits that are the bits of a format, as programs without bf16 in NumPy save it. */
static void read_bits(struct fa_npy *array, enum fa_dtype dtype)
{
    double *values = array->data;
    int64_t n = 1;
    for (int axis = 0; axis < array->rank; axis++)
        n *= array->shape[axis];
    for (int64_t i = 0; i < n; i++) {
        uint16_t bits = (uint16_t)(int32_t)values[i];
        values[i] = dtype == FA_F16 ? fa_f32_from_f16(bits) : fa_f32_from_bf16(bits);
    }
}

/* "[2, 4, 37, 9]" */
static void put_shape(char *text, size_t size, const int64_t *shape, int rank)
{
    int n = snprintf(text, size, "[");
    for (int axis = 0; axis < rank && n > 0 && (size_t)n < size; axis++)
        n += snprintf(text + n, size - (size_t)n, "%s%" PRId64, axis ? ", " : "", shape[axis]);
    if (n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, "]");
}

/* The axes of a file in its own order, from the logical [batch, heads, rows, columns]. */
static int file_shape(const struct cli_check *check, const int64_t logical[4], bool statistic,
                      bool by_heads, int64_t shape[4])
{
    int rank = check->inputs.rank, n = 0;
    bool bshd = check->inputs.layout == CLI_BSHD && rank > 2 && !by_heads;
    const int order[4] = {0, bshd ? 2 : 1, bshd ? 1 : 2, 3};
    for (int axis = 4 - rank; axis < 4 - statistic; axis++)
        shape[n++] = logical[rank == 2 ? axis : order[axis]];
    return n;
}

static bool has_shape(const struct fa_npy *array, const int64_t *shape, int rank)
{
    return array->rank == rank && memcmp(array->shape, shape, (size_t)rank * sizeof *shape) == 0;
}

static void set_strides(struct fa_tensor *tensor, bool bshd)
{
    const int order[4] = {0, bshd ? 2 : 1, bshd ? 1 : 2, 3};
    int64_t stride = 1;
    for (int at = 3; at >= 0; at--) {
        tensor->stride[order[at]] = stride;
        stride *= tensor->shape[order[at]];
    }
}

/* The largest of 128, 64, 32 and 16 that divides the axis `at` of an array which is longer there
 * than `shape`, by less than two such parts, and otherwise alike; else 0. */
static int padded_to(const struct fa_npy *array, const int64_t *shape, int rank, int at)
{
    int part = 128;
    if (array->rank != rank || array->shape[at] <= shape[at])
        return 0;
    for (int axis = 0; axis < rank; axis++)
        if (axis != at && array->shape[axis] != shape[axis])
            return 0;
    while (part >= 16 && array->shape[at] % part != 0)
        part /= 2;
    return part >= 16 && array->shape[at] - shape[at] < 2 * part ? part : 0;
}

/* `rank` axes of the logical shape were expected. */
static enum fa_status refuse_shape(const struct cli_check *check, bool statistic, const char *path,
                                   const int64_t logical[4], const struct fa_npy *array, int rank,
                                   struct fa_error *error)
{
    const int64_t swapped[4] = {logical[0], logical[2], logical[1], logical[3]};
    bool bshd = check->inputs.layout == CLI_BSHD && check->inputs.rank > 2;
    const struct fa_problem *p = &check->inputs.problem;
    const int64_t each[4] = {logical[0], p->heads, logical[2], logical[3]};
    int64_t shape[4], other[4], by_heads[4], by_query_heads[4];
    char got[160], expected[160], more[80] = "";
    file_shape(check, logical, statistic, false, shape);
    file_shape(check, swapped, statistic, false, other);
    file_shape(check, logical, statistic, true, by_heads);
    file_shape(check, each, statistic, false, by_query_heads);
    put_shape(got, sizeof got, array->shape, array->rank);
    put_shape(expected, sizeof expected, shape, rank);
    int part = statistic ? padded_to(array, by_heads, rank, rank - 1) : 0;
    if (statistic && part == 0 && bshd)
        part = padded_to(array, shape, rank, rank - 2);
    if (part > 0)
        snprintf(more, sizeof more,
                 " (it looks padded to a multiple of %d rows: cut it to those of q.npy)", part);
    else if (logical[1] != p->heads && has_shape(array, by_query_heads, rank))
        snprintf(more, sizeof more, " (one for each query head: add up those of a group)");
    return fa_fail(error, FA_BAD_FILE, "%s: %s: expected %s%s", path, got, expected,
                   has_shape(array, other, rank) && rank > 2
                       ? " (heads and rows are exchanged: is the other --layout meant?)"
                       : more);
}

/* An output as a tensor of its logical shape. */
static enum fa_status take(struct cli_check *check, enum sim_output which, const char *path,
                           const int64_t logical[4], struct fa_npy *array, struct fa_error *error)
{
    bool statistic = which == SIM_OUT_LSE, by_heads = false;
    int64_t shape[4], other[4];
    struct fa_tensor *tensor = &check->output[which];
    int rank = file_shape(check, logical, statistic, false, shape);
    /* A statistic may keep its last axis of 1. */
    if (statistic && array->rank == rank + 1 && array->shape[rank] == 1)
        array->rank = rank;
    if (!has_shape(array, shape, rank) && statistic) {
        file_shape(check, logical, true, true, other);
        by_heads = has_shape(array, other, rank);
    }
    if (!has_shape(array, shape, rank) && !by_heads)
        return refuse_shape(check, statistic, path, logical, array, rank, error);
    memcpy(tensor->shape, logical, sizeof tensor->shape);
    tensor->dtype = FA_F64;
    tensor->data = tensor->memory = array->data;
    set_strides(tensor, check->inputs.layout == CLI_BSHD && !by_heads);
    check->lse_by_heads = check->lse_by_heads || by_heads;
    return FA_OK;
}

/* Integers are taken where they are the bits of the dtype; truth values, whose `stored` is "b8",
 * never. */
static enum fa_status refuse_integers(const char *path, const char *stored, int integer_bytes,
                                      bool bits, struct fa_error *error)
{
    if (stored[0] == 'b')
        return fa_fail(error, FA_BAD_FILE, "%s: truth values (bool): expected floats", path);
    if (integer_bytes == 0 || (integer_bytes == 2 && bits))
        return FA_OK;
    return fa_fail(error, FA_BAD_FILE,
                   "%s: integers of %d bits: expected floats (or, with --dtype f16 or bf16, "
                   "their bits as integers of 16)",
                   path, 8 * integer_bytes);
}

static enum fa_status read_output(struct cli_check *check, enum sim_output which,
                                  struct fa_error *error)
{
    const struct fa_problem *p = &check->inputs.problem;
    bool of_keys = which == SIM_OUT_DK || which == SIM_OUT_DV;
    const int64_t columns[SIM_OUTPUTS] = {p->dv, 1, p->d, p->d, p->dv};
    const int64_t logical[4] = {p->batch, of_keys ? p->kv_heads : p->heads, of_keys ? p->nk : p->nq,
                                columns[which]};
    bool narrow = p->dtype == FA_F16 || p->dtype == FA_BF16;
    char path[PATH_BYTES];
    int integer_bytes;
    struct fa_npy array;
    if (!make_path(check, cli_output_files[which], path))
        return fa_fail(error, FA_BAD_ARGUMENT, "--theirs: expected a path of less than 4096 bytes");
    find_stored(path, check->stored[which], &integer_bytes);
    enum fa_status status = refuse_integers(path, check->stored[which], integer_bytes,
                                            narrow && which != SIM_OUT_LSE, error);
    if (status == FA_OK)
        status = fa_npy_read(path, FA_F64, &array, error);
    if (status != FA_OK)
        return status;
    if (integer_bytes == 2) {
        read_bits(&array, p->dtype);
        snprintf(check->stored[which], sizeof check->stored[which], "%s", fa_dtype_name(p->dtype));
    }
    status = take(check, which, path, logical, &array, error);
    if (status != FA_OK)
        fa_npy_free(&array);
    return status;
}

/* An input whose file holds bits: inputs.c, which takes integers for numbers, read those. */
static enum fa_status read_input_bits(struct cli_check *check, const char *name,
                                      const struct fa_tensor *tensor, char stored[8],
                                      struct fa_error *error)
{
    enum fa_dtype dtype = check->inputs.problem.dtype;
    bool narrow = dtype == FA_F16 || dtype == FA_BF16;
    char path[PATH_BYTES];
    int integer_bytes = 0;
    int64_t n = 0;
    struct fa_npy array;
    if (!tensor->data || !make_path(check, name, path))
        return FA_OK;
    find_stored(path, stored, &integer_bytes);
    enum fa_status status = refuse_integers(path, stored, integer_bytes, narrow, error);
    if (status != FA_OK || integer_bytes == 0)
        return status;
    status = fa_shape_elements(tensor->shape, &n, error);
    if (status == FA_OK)
        status = fa_npy_read(path, FA_F64, &array, error);
    if (status != FA_OK)
        return status;
    read_bits(&array, dtype);
    /* Both are in the file's order. */
    for (int64_t i = 0; i < n; i++)
        fa_dtype_set(dtype, tensor->data, i, ((const double *)array.data)[i]);
    fa_npy_free(&array);
    snprintf(stored, 8, "%s", fa_dtype_name(dtype));
    return FA_OK;
}

enum fa_status cli_check_read(struct cli_check *check, struct fa_error *error)
{
    const struct cli_inputs *inputs = &check->inputs;
    const struct fa_tensor *const tensors[] = {&inputs->q, &inputs->k, &inputs->v, &inputs->dout};
    static const char *const names[] = {"q", "k", "v", "do"};
    char other[8];
    enum fa_status status = FA_OK;
    for (int i = 0; i < 4 && status == FA_OK; i++)
        status =
            read_input_bits(check, names[i], tensors[i], i ? other : check->inputs_stored, error);
    for (int i = 0; i < SIM_OUTPUTS && status == FA_OK; i++) {
        bool judged = i == SIM_OUT_O || i == SIM_OUT_LSE || check->backward;
        if (judged && (i == SIM_OUT_O || cli_check_has(check, cli_output_files[i])))
            status = read_output(check, (enum sim_output)i, error);
    }
    return status;
}

static struct cli_nonfinite count_nonfinite(const char *name, const struct fa_tensor *tensor)
{
    struct cli_nonfinite found = {.name = name};
    const int64_t *n = tensor->shape;
    found.of = n[0] * n[1] * n[2] * n[3];
    for (int64_t e = 0; e < found.of; e++) {
        const int64_t at[4] = {e / n[3] / n[2] / n[1], e / n[3] / n[2] % n[1], e / n[3] % n[2],
                               e % n[3]};
        double x = fa_tensor_get(tensor, at[0], at[1], at[2], at[3]);
        if (isfinite(x))
            continue;
        if (found.n++ == 0)
            memcpy(found.first, at, sizeof at);
        found.nan += isnan(x) != 0;
    }
    return found;
}

int cli_check_nonfinite(const struct cli_check *check, struct cli_nonfinite found[CLI_INPUTS])
{
    const struct cli_inputs *inputs = &check->inputs;
    const struct fa_tensor *const tensors[CLI_INPUTS] = {&inputs->q, &inputs->k, &inputs->v,
                                                         check->backward ? &inputs->dout : NULL,
                                                         inputs->problem.bias};
    static const char *const names[CLI_INPUTS] = {"q", "k", "v", "do", "bias"};
    int n = 0;
    for (int i = 0; i < CLI_INPUTS; i++) {
        if (!tensors[i] || !tensors[i]->data)
            continue;
        found[n] = count_nonfinite(names[i], tensors[i]);
        n += found[n].n > 0;
    }
    return n;
}

enum fa_status cli_check_refuse_nan(const struct cli_check *check, struct fa_error *error)
{
    struct cli_nonfinite found[CLI_INPUTS];
    if (check->verdict.pass || check->verdict.nonfinite_inputs == 0)
        return FA_OK;
    int n = cli_check_nonfinite(check, found);
    for (int i = 0; i < n; i++)
        if (found[i].nan == found[i].of)
            return fa_fail(error, FA_BAD_FILE,
                           "%s/%s.npy: all %" PRId64
                           " elements are NaN, from [0, 0, 0, 0] on, and the outputs are not: "
                           "nothing can be checked; save the %s that the kernel read",
                           check->problem.in, found[i].name, found[i].of, found[i].name);
    return FA_OK;
}

void cli_check_free(struct cli_check *check)
{
    for (int i = 0; i < SIM_OUTPUTS; i++)
        fa_tensor_free(&check->output[i]);
    cli_inputs_close(&check->inputs);
    sim_verdict_free(&check->verdict);
}
