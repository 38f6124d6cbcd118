/* The cases of `flashlab check`: a grid of sizes by masks, the field cases, golden ones. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/check_rungs.h"

const char *const cli_case_kinds[CLI_CASE_KINDS] = {"grid", "field", "golden"};

enum { WIDE = 64 };

/* Sizes that end inside tiles, grouped heads, every head size that rungs name, and none that they
 * name. A problem of one element, and more heads than a grid's y axis has blocks. */
static const struct {
    int64_t batch, heads, kv_heads, nq, nk, d, dv;
    bool once; /* without masks alone */
} sizes[] = {
    {1, 1, 1, 1, 1, 64, 64, false},       {2, 4, 2, 33, 70, 64, 64, false},
    {1, 2, 1, 70, 33, 128, 128, false},   {1, 2, 2, 128, 128, 64, 64, false},
    {1, 2, 1, 129, 257, 128, 128, false}, {1, 2, 1, 1, 200, 128, 128, false},
    {1, 1, 1, 300, 300, 64, 64, false},   {1, 3, 1, 65, 65, 80, 80, false},
    {2, 1, 1, 40, 70, 256, 256, false},   {1, 1, 1, 100, 90, 33, 20, false},
    {1, 1, 1, 3, 512, 192, 192, false},   {3, 7, 1, 20, 50, 3, 5, false},
    {1, 1, 1, 640, 640, 128, 128, true},  {65536, 1, 1, 1, 1, 1, 1, true},
    {66000, 1, 1, 1, 2, 64, 64, true},
};

enum grid_mask {
    NO_MASK,
    CAUSAL,
    CAUSAL_HIDES_NAN,
    TOP_LEFT,
    WINDOW,
    WINDOW_CAUSAL,
    BLOCKS,
    DROPOUT,
    GRID_MASKS
};

static const char *const mask_names[GRID_MASKS] = {
    "full",
    "causal",
    "causal, NaN and infinity in the last keys",
    "causal top-left",
    "window 40,9",
    "window 33,-1 causal",
    "block mask",
    "dropout 0.25 causal",
};

enum { SIZES = (int)(sizeof sizes / sizeof *sizes), GRID = SIZES * GRID_MASKS };

static void name_grid_case(int index, char name[96])
{
    int at = index / GRID_MASKS;
    int n = snprintf(name, 96, "%" PRId64 " x %" PRId64, sizes[at].batch, sizes[at].heads);
    if (sizes[at].heads != sizes[at].kv_heads)
        n += snprintf(name + n, 96 - (size_t)n, "/%" PRId64, sizes[at].kv_heads);
    n += snprintf(name + n, 96 - (size_t)n, " heads, %" PRId64 " x %" PRId64 ", d = %" PRId64,
                  sizes[at].nq, sizes[at].nk, sizes[at].d);
    if (sizes[at].d != sizes[at].dv)
        n += snprintf(name + n, 96 - (size_t)n, ", dv = %" PRId64, sizes[at].dv);
    snprintf(name + n, 96 - (size_t)n, ", %s", mask_names[index % GRID_MASKS]);
}

/* Into the list, where the kind is the part, or the name has it in it. */
static void add(struct cli_case_list *list, const char *part, struct cli_case_entry entry)
{
    if (part && strcmp(part, cli_case_kinds[entry.kind]) != 0 && !strstr(entry.name, part))
        return;
    list->entries[list->n++] = entry;
    list->of_kind[entry.kind]++;
}

static enum fa_status add_field_cases(struct cli_case_list *list, const char *part,
                                      struct fa_error *error)
{
    for (int i = 0; i < fa_field_case_count(); i++) {
        struct cli_case_entry entry = {CLI_FIELD_CASE, i, false, ""};
        struct fa_field_case field;
        enum fa_status status = fa_field_case_make(&field, i, FA_F64, error);
        if (status != FA_OK)
            return status;
        snprintf(entry.name, sizeof entry.name, "%s", field.name);
        bool narrow = field.problem.d < WIDE && field.problem.dv < WIDE;
        fa_field_case_free(&field);
        add(list, part, entry);
        entry.wide = true;
        snprintf(entry.name + strlen(entry.name), sizeof entry.name - strlen(entry.name),
                 ", in 64 columns");
        if (narrow)
            add(list, part, entry);
    }
    return FA_OK;
}

enum fa_status cli_case_list_make(struct cli_case_list *list, const char *golden, const char *part,
                                  struct fa_error *error)
{
    int most = GRID + 2 * fa_field_case_count() + SIM_GOLDEN_MOST, n_golden = 0;
    enum fa_status status = FA_OK;
    memset(list, 0, sizeof *list);
    list->golden = golden;
    list->entries = malloc((size_t)most * sizeof *list->entries);
    if (!list->entries)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the list of cases");
    for (int i = 0; i < GRID; i++) {
        struct cli_case_entry entry = {CLI_GRID_CASE, i, false, ""};
        name_grid_case(i, entry.name);
        if (!sizes[i / GRID_MASKS].once || i % GRID_MASKS == NO_MASK)
            add(list, part, entry);
    }
    status = add_field_cases(list, part, error);
    if (status == FA_OK && golden)
        status = sim_golden_list(golden, list->golden_names, &n_golden, error);
    for (int i = 0; i < n_golden && status == FA_OK; i++) {
        struct cli_case_entry entry = {CLI_GOLDEN_CASE, i, false, ""};
        snprintf(entry.name, sizeof entry.name, "%s", list->golden_names[i]);
        add(list, part, entry);
    }
    if (status == FA_OK && list->n == 0)
        status = fa_fail(error, FA_BAD_ARGUMENT, "--case: no case has '%s' in its name", part);
    if (status != FA_OK)
        cli_case_list_free(list);
    return status;
}

void cli_case_list_free(struct cli_case_list *list)
{
    free(list->entries);
    memset(list, 0, sizeof *list);
}

/* ---- one case ------------------------------------------------------------------------------- */

static enum fa_status create_inputs(struct cli_rung_case *made, struct fa_error *error)
{
    const struct fa_problem *p = &made->problem;
    const int64_t q[4] = {p->batch, p->heads, p->nq, p->d};
    const int64_t k[4] = {p->batch, p->kv_heads, p->nk, p->d};
    const int64_t v[4] = {p->batch, p->kv_heads, p->nk, p->dv};
    enum fa_status status = fa_tensor_create(&made->q, p->dtype, q, error);
    if (status == FA_OK)
        status = fa_tensor_create(&made->k, p->dtype, k, error);
    if (status == FA_OK)
        status = fa_tensor_create(&made->v, p->dtype, v, error);
    return status;
}

static enum fa_status create_blocks(struct cli_rung_case *made, int64_t br, int64_t bc,
                                    struct fa_error *error)
{
    const struct fa_problem *p = &made->problem;
    made->blocks = (struct fa_block_mask){br, bc, (p->nq + br - 1) / br, (p->nk + bc - 1) / bc, 0};
    made->visit = calloc((size_t)(made->blocks.rows * made->blocks.columns) + 1, 1);
    if (!made->visit)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a block mask");
    made->blocks.visit = made->visit;
    made->problem.blocks = &made->blocks;
    return FA_OK;
}

/* Keys that the diagonal hides from most rows or from all: they may hold anything. */
static void spoil_last_keys(struct cli_rung_case *made)
{
    const struct fa_problem *p = &made->problem;
    if (p->nk < 3)
        return;
    fa_tensor_set(&made->v, 0, 0, p->nk - 1, 0, NAN);
    fa_tensor_set(&made->v, 0, 0, p->nk - 2, p->dv - 1, INFINITY);
    fa_tensor_set(&made->k, 0, 0, p->nk - 1, 0, NAN);
}

static enum fa_status make_grid_case(int index, enum fa_dtype dtype, struct cli_rung_case *made,
                                     struct fa_error *error)
{
    int at = index / GRID_MASKS, mask = index % GRID_MASKS;
    struct fa_problem *p = &made->problem;
    *p = fa_problem_make(sizes[at].nq, sizes[at].nk, sizes[at].d);
    p->batch = sizes[at].batch;
    p->heads = sizes[at].heads;
    p->kv_heads = sizes[at].kv_heads;
    p->dv = sizes[at].dv;
    p->dtype = dtype;
    if (mask == CAUSAL || mask == CAUSAL_HIDES_NAN || mask == WINDOW_CAUSAL || mask == DROPOUT)
        p->causal = FA_CAUSAL_BOTTOM_RIGHT;
    if (mask == TOP_LEFT)
        p->causal = FA_CAUSAL_TOP_LEFT;
    if (mask == WINDOW || mask == WINDOW_CAUSAL)
        p->window_left = mask == WINDOW ? 40 : 33;
    if (mask == WINDOW)
        p->window_right = 9;
    if (mask == DROPOUT) {
        p->dropout_p = 0.25;
        p->dropout_seed = 0x123456789abcdef0u + (uint64_t)index;
    }
    enum fa_status status = create_inputs(made, error);
    if (status == FA_OK && mask == BLOCKS)
        status = create_blocks(made, 24, 40, error);
    if (status != FA_OK)
        return status;
    /* Half of the blocks, and none in the second row of blocks. */
    for (int64_t i = 0; mask == BLOCKS && i < made->blocks.rows * made->blocks.columns; i++)
        made->visit[i] = (i * 2654435761u >> 7) % 2 && i / made->blocks.columns != 1;
    fa_profile_fill(index % 2 ? FA_PROFILE_PEAKY : FA_PROFILE_GAUSS, (uint64_t)index, p, &made->q,
                    &made->k, &made->v);
    if (mask == CAUSAL_HIDES_NAN)
        spoil_last_keys(made);
    return FA_OK;
}

/* *from without its tensor, or a copy with zeros to its right; `from` is freed then. */
static enum fa_status take_tensor(struct fa_tensor *from, bool wide, struct fa_tensor *to,
                                  struct fa_error *error)
{
    if (!wide) {
        *to = *from;
        memset(from, 0, sizeof *from);
        return FA_OK;
    }
    const int64_t shape[4] = {from->shape[0], from->shape[1], from->shape[2], WIDE};
    enum fa_status status = fa_tensor_create(to, from->dtype, shape, error);
    if (status != FA_OK)
        return status;
    for (int64_t b = 0; b < shape[0]; b++)
        for (int64_t h = 0; h < shape[1]; h++)
            for (int64_t r = 0; r < shape[2]; r++)
                for (int64_t c = 0; c < WIDE; c++)
                    fa_tensor_set(to, b, h, r, c,
                                  c < from->shape[3] ? fa_tensor_get(from, b, h, r, c) : 0);
    fa_tensor_free(from);
    return FA_OK;
}

static enum fa_status take_inputs(struct cli_rung_case *made, struct fa_tensor *q,
                                  struct fa_tensor *k, struct fa_tensor *v, bool wide,
                                  struct fa_error *error)
{
    enum fa_status status = take_tensor(q, wide, &made->q, error);
    if (status == FA_OK)
        status = take_tensor(k, wide, &made->k, error);
    if (status == FA_OK)
        status = take_tensor(v, wide, &made->v, error);
    if (wide)
        made->problem.d = made->problem.dv = WIDE;
    return status;
}

/* An element mask of all heads as a block mask: one block an element. */
static enum fa_status spread_mask(struct cli_rung_case *made, struct fa_error *error)
{
    const struct fa_tensor *mask = made->problem.mask;
    int64_t nq = made->problem.nq, nk = made->problem.nk;
    if (!mask || mask->shape[0] != 1 || mask->shape[1] != 1 || made->problem.blocks)
        return FA_OK;
    enum fa_status status = create_blocks(made, 1, 1, error);
    if (status != FA_OK)
        return status;
    for (int64_t r = 0; r < nq; r++)
        for (int64_t c = 0; c < nk; c++)
            made->visit[r * nk + c] = fa_tensor_get(mask, 0, 0, mask->shape[2] == 1 ? 0 : r,
                                                    mask->shape[3] == 1 ? 0 : c) != 0;
    made->problem.mask = NULL;
    return FA_OK;
}

/* What every case ends with: its mask as rungs take it, and dO. */
static enum fa_status complete(struct cli_rung_case *made, struct fa_error *error)
{
    const struct fa_problem *p = &made->problem;
    const int64_t o[4] = {p->batch, p->heads, p->nq, p->dv};
    enum fa_status status = spread_mask(made, error);
    if (status == FA_OK)
        status = fa_tensor_create(&made->d_o, p->dtype, o, error);
    if (status != FA_OK)
        return status;
    fa_profile_fill_dout(5, p, &made->d_o);
    return FA_OK;
}

enum fa_status cli_rung_case_make(const struct cli_case_list *list, int at, enum fa_dtype dtype,
                                  struct cli_rung_case *made, struct fa_error *error)
{
    const struct cli_case_entry *entry = &list->entries[at];
    struct fa_field_case *field = &made->field;
    struct sim_golden *golden = &made->golden;
    enum fa_status status;
    memset(made, 0, sizeof *made);
    if (entry->kind == CLI_GRID_CASE) {
        status = make_grid_case(entry->index, dtype, made, error);
    } else if (entry->kind == CLI_FIELD_CASE) {
        status = fa_field_case_make(field, entry->index, dtype, error);
        made->problem = field->problem;
        if (status == FA_OK)
            status = take_inputs(made, &field->q, &field->k, &field->v, entry->wide, error);
    } else {
        status = sim_golden_read(list->golden, entry->name, dtype, golden, error);
        made->problem = golden->problem;
        if (status == FA_OK)
            status = take_inputs(made, &golden->q, &golden->k, &golden->v, false, error);
    }
    if (status == FA_OK)
        status = complete(made, error);
    if (status != FA_OK)
        cli_rung_case_free(made);
    return status;
}

enum fa_status cli_repeated_case_make(enum fa_dtype dtype, struct cli_rung_case *made,
                                      struct fa_error *error)
{
    memset(made, 0, sizeof *made);
    made->problem = fa_problem_make(190, 200, 64);
    made->problem.batch = 2;
    made->problem.heads = 4;
    made->problem.kv_heads = 2;
    made->problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    made->problem.dtype = dtype;
    enum fa_status status = create_inputs(made, error);
    if (status == FA_OK) {
        fa_profile_fill(FA_PROFILE_GAUSS, 7, &made->problem, &made->q, &made->k, &made->v);
        status = complete(made, error);
    }
    if (status != FA_OK)
        cli_rung_case_free(made);
    return status;
}

void cli_rung_case_free(struct cli_rung_case *made)
{
    fa_tensor_free(&made->q);
    fa_tensor_free(&made->k);
    fa_tensor_free(&made->v);
    fa_tensor_free(&made->d_o);
    fa_field_case_free(&made->field);
    sim_golden_free(&made->golden);
    free(made->visit);
    memset(made, 0, sizeof *made);
}
