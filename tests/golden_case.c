#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/golden.h"
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

void golden_tensor_read(const char *name, const char *file, enum fa_dtype dtype,
                        struct fa_tensor *tensor)
{
    struct fa_error error;
    if (sim_golden_tensor_read(golden_folder(), name, file, dtype, tensor, &error) != FA_OK)
        fail_msg("%s", error.text);
}

static void read_case(const char *name, enum fa_dtype dtype, struct sim_golden *golden)
{
    struct fa_error error;
    if (sim_golden_read(golden_folder(), name, dtype, golden, &error) != FA_OK)
        fail_msg("%s", error.text);
}

double golden_case_dropout_p(const char *name)
{
    struct sim_golden golden;
    read_case(name, FA_F32, &golden);
    double p = golden.problem.dropout_p;
    sim_golden_free(&golden);
    return p;
}

/* Element (r, c) is visible if its block is. */
static void expand_block_mask(struct attention_case *golden, const struct sim_golden *from)
{
    int64_t nq = golden->problem.nq, nk = golden->problem.nk;
    const int64_t shape[4] = {1, 1, nq, nk};
    assert_int_equal(fa_tensor_create(&golden->mask, FA_U8, shape, NULL), FA_OK);
    for (int64_t r = 0; r < nq; r++)
        for (int64_t c = 0; c < nk; c++)
            fa_tensor_set(
                &golden->mask, 0, 0, r, c,
                fa_tensor_get(&from->bytes, 0, 0, r / from->blocks.br, c / from->blocks.bc));
    golden->problem.mask = &golden->mask;
    golden->problem.blocks = NULL;
}

/* *from, which sim_golden_read made, without it. */
static struct fa_tensor take(struct fa_tensor *from)
{
    struct fa_tensor taken = *from;
    memset(from, 0, sizeof *from);
    return taken;
}

void golden_case_load(struct attention_case *golden, const char *name, enum fa_dtype dtype)
{
    struct sim_golden from;
    read_case(name, dtype, &from);
    memset(golden, 0, sizeof *golden);
    snprintf(golden->name, sizeof golden->name, "%s", name);
    golden->problem = from.problem;
    golden->problem.dropout_p = 0;
    golden->problem.dropout_keep = NULL;
    golden->q = take(&from.q);
    golden->k = take(&from.k);
    golden->v = take(&from.v);
    golden->o = take(&from.o);
    golden->lse = take(&from.lse);
    golden->mask = take(&from.mask);
    golden->bias = take(&from.bias);
    if (from.problem.mask)
        golden->problem.mask = &golden->mask;
    if (from.problem.bias)
        golden->problem.bias = &golden->bias;
    if (from.problem.blocks)
        expand_block_mask(golden, &from);
    sim_golden_free(&from);
}
