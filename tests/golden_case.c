#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/npy.h"
#include "tests/golden_case.h"

const char *const golden_case_names[] = {
    "bias",
    "block_sparse_16",
    "block_sparse_causal_32x16",
    "causal_65",
    "causal_bottom_right_130x5",
    "causal_bottom_right_5x130",
    "causal_top_left_5x130",
    "dense_64",
    "gqa_8_2",
    "head_128",
    "head_256",
    "large_logits",
    "mask_random",
    "odd_small",
    "outliers",
    "single_key",
    "single_query",
    "window_16_4",
    "worked_example",
    NULL,
};

const char golden_case_dropout[] = "dropout_keep_mask";

const char *golden_folder(void)
{
    const char *folder = getenv("FLASHLAB_GOLDEN_DIR");
    return folder ? folder : FLASHLAB_GOLDEN_DIR;
}

static void make_path(char path[1024], const char *name, const char *file)
{
    int length = snprintf(path, 1024, "%s/%s/%s", golden_folder(), name, file);
    assert_true(length > 0 && length < 1024);
}

static bool exists(const char *name, const char *file)
{
    char path[1024];
    make_path(path, name, file);
    FILE *stream = fopen(path, "rb");
    if (stream)
        fclose(stream);
    return stream != NULL;
}

void golden_tensor_read(const char *name, const char *file, enum fa_dtype dtype,
                        struct fa_tensor *tensor)
{
    char path[1024];
    struct fa_npy array;
    struct fa_error error;
    make_path(path, name, file);
    if (fa_npy_read(path, dtype, &array, &error) != FA_OK)
        fail_msg("%s", error.text);
    if (array.rank < 2 || array.rank > 4)
        fail_msg("%s has rank %d: expected 2, 3 or 4", path, array.rank);
    int64_t shape[4] = {1, 1, 1, 1}, n = 1;
    for (int axis = 0; axis < array.rank; axis++) {
        shape[array.rank == 2 ? axis + 2 : axis] = array.shape[axis];
        n *= array.shape[axis];
    }
    if (fa_tensor_create(tensor, dtype, shape, &error) != FA_OK)
        fail_msg("%s: %s", path, error.text);
    memcpy(tensor->data, array.data, (size_t)n * fa_dtype_bytes(dtype));
    fa_npy_free(&array);
}

static void read_shaped(const char *name, const char *file, enum fa_dtype dtype, int64_t batch,
                        int64_t heads, int64_t rows, int64_t columns, struct fa_tensor *tensor)
{
    const int64_t shape[4] = {batch, heads, rows, columns};
    golden_tensor_read(name, file, dtype, tensor);
    if (memcmp(tensor->shape, shape, sizeof shape) != 0)
        fail_msg("%s of golden case %s does not have the shape that case.json says", file, name);
}

static json_t *read_json(const char *name)
{
    char path[1024];
    json_error_t error;
    make_path(path, name, "case.json");
    json_t *root = json_load_file(path, 0, &error);
    if (!root)
        fail_msg("%s:%d: %s", path, error.line, error.text);
    return root;
}

double golden_case_dropout_p(const char *name)
{
    json_t *root = read_json(name);
    json_t *value = json_object_get(root, "dropout_p");
    assert_true(json_is_number(value));
    double p = json_number_value(value);
    json_decref(root);
    return p;
}

static void read_pair(const json_t *array, int64_t *first, int64_t *second)
{
    assert_int_equal(json_array_size(array), 2);
    *first = json_integer_value(json_array_get(array, 0));
    *second = json_integer_value(json_array_get(array, 1));
}

/* Element (r, c) is visible if its block is. */
static void expand_block_mask(struct attention_case *golden, const char *name, int64_t br,
                              int64_t bc)
{
    int64_t nq = golden->problem.nq, nk = golden->problem.nk;
    const int64_t shape[4] = {1, 1, nq, nk};
    struct fa_tensor blocks;
    read_shaped(name, "block_mask.npy", FA_U8, 1, 1, (nq + br - 1) / br, (nk + bc - 1) / bc,
                &blocks);
    assert_int_equal(fa_tensor_create(&golden->mask, FA_U8, shape, NULL), FA_OK);
    for (int64_t r = 0; r < nq; r++)
        for (int64_t c = 0; c < nk; c++)
            fa_tensor_set(&golden->mask, 0, 0, r, c, fa_tensor_get(&blocks, 0, 0, r / br, c / bc));
    golden->problem.mask = &golden->mask;
    fa_tensor_free(&blocks);
}

static void read_problem(struct attention_case *golden, const char *name, enum fa_dtype dtype)
{
    json_t *root = read_json(name), *window, *block;
    json_int_t batch, heads, kv_heads, nq, nk, d;
    json_error_t error;
    const char *mask, *align;
    double scale;
    if (json_unpack_ex(root, &error, 0, "{s:I,s:I,s:I,s:I,s:I,s:I,s:F,s:s,s:s,s:o,s:o}", "batch",
                       &batch, "heads_q", &heads, "heads_kv", &kv_heads, "n_q", &nq, "n_k", &nk,
                       "d", &d, "scale", &scale, "mask", &mask, "causal_align", &align, "window",
                       &window, "block_mask_tile", &block) != 0)
        fail_msg("case.json of golden case %s: %s", name, error.text);
    golden->problem = fa_problem_make(nq, nk, d);
    golden->problem.batch = batch;
    golden->problem.heads = heads;
    golden->problem.kv_heads = kv_heads;
    golden->problem.scale = scale;
    golden->problem.dtype = dtype;
    if (strcmp(mask, "causal") == 0)
        golden->problem.causal =
            strcmp(align, "top_left") == 0 ? FA_CAUSAL_TOP_LEFT : FA_CAUSAL_BOTTOM_RIGHT;
    else
        assert_string_equal(mask, "none");
    if (!json_is_null(window))
        read_pair(window, &golden->problem.window_left, &golden->problem.window_right);
    if (!json_is_null(block)) {
        int64_t br, bc;
        read_pair(block, &br, &bc);
        expand_block_mask(golden, name, br, bc);
    }
    json_decref(root);
}

void golden_case_load(struct attention_case *golden, const char *name, enum fa_dtype dtype)
{
    memset(golden, 0, sizeof *golden);
    snprintf(golden->name, sizeof golden->name, "%s", name);
    read_problem(golden, name, dtype);
    const struct fa_problem *p = &golden->problem;
    read_shaped(name, "q.npy", dtype, p->batch, p->heads, p->nq, p->d, &golden->q);
    read_shaped(name, "k.npy", dtype, p->batch, p->kv_heads, p->nk, p->d, &golden->k);
    read_shaped(name, "v.npy", dtype, p->batch, p->kv_heads, p->nk, p->dv, &golden->v);
    read_shaped(name, "o.npy", FA_F64, p->batch, p->heads, p->nq, p->dv, &golden->o);
    read_shaped(name, "lse.npy", FA_F64, p->batch, p->heads, p->nq, 1, &golden->lse);
    if (exists(name, "mask.npy")) {
        golden_tensor_read(name, "mask.npy", FA_U8, &golden->mask);
        golden->problem.mask = &golden->mask;
    }
    if (exists(name, "bias.npy")) {
        golden_tensor_read(name, "bias.npy", dtype, &golden->bias);
        golden->problem.bias = &golden->bias;
    }
}
