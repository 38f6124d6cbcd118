#include "simulator/golden.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reference/npy.h"

enum { PATH_BYTES = 4096 };

/* False where the path is too long for any file. */
static bool make_path(char path[PATH_BYTES], const char *folder, const char *name, const char *file)
{
    return (size_t)snprintf(path, PATH_BYTES, "%s/%s/%s", folder, name, file) < PATH_BYTES;
}

static bool exists(const char *folder, const char *name, const char *file)
{
    char path[PATH_BYTES];
    return make_path(path, folder, name, file) && access(path, F_OK) == 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

enum fa_status sim_golden_list(const char *folder, char names[SIM_GOLDEN_MOST][SIM_GOLDEN_NAME],
                               int *n, struct fa_error *error)
{
    int found = 0;
    bool too_many = false;
    DIR *stream = opendir(folder);
    if (!stream)
        return fa_fail(error, FA_IO, "%s: %s", folder, strerror(errno));
    for (struct dirent *entry; (entry = readdir(stream)) && !too_many;) {
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || length >= SIM_GOLDEN_NAME ||
            !exists(folder, entry->d_name, "case.json"))
            continue;
        too_many = found == SIM_GOLDEN_MOST;
        if (!too_many)
            memcpy(names[found++], entry->d_name, length + 1);
    }
    closedir(stream);
    if (found == 0 || too_many)
        return fa_fail(error, FA_BAD_FILE,
                       "%s: expected 1 to %d folders of golden cases, each with a case.json",
                       folder, SIM_GOLDEN_MOST);
    qsort(names, (size_t)found, SIM_GOLDEN_NAME, compare_names);
    *n = found;
    return FA_OK;
}

enum fa_status sim_golden_tensor_read(const char *folder, const char *name, const char *file,
                                      enum fa_dtype dtype, struct fa_tensor *tensor,
                                      struct fa_error *error)
{
    char path[PATH_BYTES];
    struct fa_npy array;
    if (!make_path(path, folder, name, file))
        return fa_fail(error, FA_BAD_ARGUMENT, "%s: expected a path of less than %d bytes", folder,
                       PATH_BYTES);
    enum fa_status status = fa_npy_read(path, dtype, &array, error);
    if (status != FA_OK)
        return status;
    int64_t shape[4] = {1, 1, 1, 1}, n = 1;
    if (array.rank < 2 || array.rank > 4) {
        status = fa_fail(error, FA_BAD_FILE, "%s: rank %d: expected 2, 3 or 4", path, array.rank);
        goto done;
    }
    for (int axis = 0; axis < array.rank; axis++) {
        shape[array.rank == 2 ? axis + 2 : axis] = array.shape[axis];
        n *= array.shape[axis];
    }
    status = fa_tensor_create(tensor, dtype, shape, error);
    if (status == FA_OK)
        memcpy(tensor->data, array.data, (size_t)n * fa_dtype_bytes(dtype));
done:
    fa_npy_free(&array);
    return status;
}

/* What case.json says besides the problem. */
struct words {
    const char *mask, *align;
    json_t *window, *block;
    double dropout_p;
};

static bool read_pair(const json_t *array, int64_t *first, int64_t *second)
{
    if (json_is_null(array))
        return true;
    *first = json_integer_value(json_array_get(array, 0));
    *second = json_integer_value(json_array_get(array, 1));
    return json_array_size(array) == 2 && json_is_integer(json_array_get(array, 0)) &&
           json_is_integer(json_array_get(array, 1));
}

static bool unpack(json_t *root, enum fa_dtype dtype, struct fa_problem *problem,
                   struct fa_block_mask *blocks, json_error_t *error)
{
    json_int_t batch, heads, kv_heads, nq, nk, d;
    double scale;
    struct words words;
    if (json_unpack_ex(root, error, 0, "{s:I,s:I,s:I,s:I,s:I,s:I,s:F,s:s,s:s,s:o,s:o,s:F}", "batch",
                       &batch, "heads_q", &heads, "heads_kv", &kv_heads, "n_q", &nq, "n_k", &nk,
                       "d", &d, "scale", &scale, "mask", &words.mask, "causal_align", &words.align,
                       "window", &words.window, "block_mask_tile", &words.block, "dropout_p",
                       &words.dropout_p) != 0)
        return false;
    *problem = fa_problem_make(nq, nk, d);
    problem->batch = batch;
    problem->heads = heads;
    problem->kv_heads = kv_heads;
    problem->scale = scale;
    problem->dtype = dtype;
    problem->dropout_p = words.dropout_p;
    if (strcmp(words.mask, "causal") == 0)
        problem->causal =
            strcmp(words.align, "top_left") == 0 ? FA_CAUSAL_TOP_LEFT : FA_CAUSAL_BOTTOM_RIGHT;
    snprintf(error->text, sizeof error->text, "mask, window or block_mask_tile");
    return (problem->causal != FA_CAUSAL_NONE || strcmp(words.mask, "none") == 0) &&
           read_pair(words.window, &problem->window_left, &problem->window_right) &&
           read_pair(words.block, &blocks->br, &blocks->bc);
}

static enum fa_status read_problem(const char *folder, const char *name, enum fa_dtype dtype,
                                   struct sim_golden *golden, struct fa_error *error)
{
    char path[PATH_BYTES];
    json_error_t problem;
    enum fa_status status = FA_OK;
    if (!make_path(path, folder, name, "case.json"))
        return fa_fail(error, FA_BAD_ARGUMENT, "%s: expected a path of less than %d bytes", folder,
                       PATH_BYTES);
    json_t *root = json_load_file(path, 0, &problem);
    if (!root || !unpack(root, dtype, &golden->problem, &golden->blocks, &problem))
        status = fa_fail(error, FA_BAD_FILE, "%s: %s", path, problem.text);
    json_decref(root);
    return status;
}

/* A file of the case, where it must have a shape. */
static enum fa_status read_shaped(const char *folder, const char *name, const char *file,
                                  enum fa_dtype dtype, const int64_t shape[4],
                                  struct fa_tensor *tensor, struct fa_error *error)
{
    enum fa_status status = sim_golden_tensor_read(folder, name, file, dtype, tensor, error);
    if (status == FA_OK && memcmp(tensor->shape, shape, sizeof tensor->shape) != 0)
        status = fa_fail(error, FA_BAD_FILE, "%s/%s/%s: expected the shape that case.json says",
                         folder, name, file);
    return status;
}

static enum fa_status read_tensors(const char *folder, const char *name, struct sim_golden *g,
                                   struct fa_error *error)
{
    const struct fa_problem *p = &g->problem;
    const int64_t q[4] = {p->batch, p->heads, p->nq, p->d};
    const int64_t k[4] = {p->batch, p->kv_heads, p->nk, p->d};
    const int64_t v[4] = {p->batch, p->kv_heads, p->nk, p->dv};
    const int64_t o[4] = {p->batch, p->heads, p->nq, p->dv};
    const int64_t lse[4] = {p->batch, p->heads, p->nq, 1};
    enum fa_status status = read_shaped(folder, name, "q.npy", p->dtype, q, &g->q, error);
    if (status == FA_OK)
        status = read_shaped(folder, name, "k.npy", p->dtype, k, &g->k, error);
    if (status == FA_OK)
        status = read_shaped(folder, name, "v.npy", p->dtype, v, &g->v, error);
    if (status == FA_OK)
        status = read_shaped(folder, name, "o.npy", FA_F64, o, &g->o, error);
    if (status == FA_OK)
        status = read_shaped(folder, name, "lse.npy", FA_F64, lse, &g->lse, error);
    return status;
}

static enum fa_status read_masks(const char *folder, const char *name, struct sim_golden *g,
                                 struct fa_error *error)
{
    struct fa_problem *p = &g->problem;
    enum fa_status status = FA_OK;
    if (exists(folder, name, "mask.npy")) {
        status = sim_golden_tensor_read(folder, name, "mask.npy", FA_U8, &g->mask, error);
        p->mask = &g->mask;
    }
    if (status == FA_OK && exists(folder, name, "bias.npy")) {
        status = sim_golden_tensor_read(folder, name, "bias.npy", p->dtype, &g->bias, error);
        p->bias = &g->bias;
    }
    if (status == FA_OK && exists(folder, name, "dropout_keep.npy")) {
        status = sim_golden_tensor_read(folder, name, "dropout_keep.npy", FA_U8, &g->keep, error);
        p->dropout_keep = &g->keep;
    }
    if (status == FA_OK && g->blocks.br > 0) {
        status = sim_golden_tensor_read(folder, name, "block_mask.npy", FA_U8, &g->bytes, error);
        g->blocks.rows = g->bytes.shape[2];
        g->blocks.columns = g->bytes.shape[3];
        g->blocks.visit = g->bytes.data;
        p->blocks = &g->blocks;
    }
    return status;
}

enum fa_status sim_golden_read(const char *folder, const char *name, enum fa_dtype dtype,
                               struct sim_golden *golden, struct fa_error *error)
{
    struct fa_error inner;
    memset(golden, 0, sizeof *golden);
    enum fa_status status = read_problem(folder, name, dtype, golden, error);
    if (status == FA_OK)
        status = read_tensors(folder, name, golden, error);
    if (status == FA_OK)
        status = read_masks(folder, name, golden, error);
    if (status == FA_OK && fa_problem_check(&golden->problem, &inner) != FA_OK)
        status = fa_fail(error, FA_BAD_FILE, "%s/%s: %s", folder, name, inner.text);
    if (status != FA_OK)
        sim_golden_free(golden);
    return status;
}

void sim_golden_free(struct sim_golden *golden)
{
    struct fa_tensor *const tensors[] = {&golden->q,    &golden->k,     &golden->v,
                                         &golden->bias, &golden->mask,  &golden->keep,
                                         &golden->o,    &golden->bytes, &golden->lse};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        fa_tensor_free(tensors[i]);
    memset(golden, 0, sizeof *golden);
}
