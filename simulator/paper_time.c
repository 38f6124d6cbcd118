/* Times: Table 20, and the time model as the other topics use it. */
#include <inttypes.h>
#include <math.h>

#include "reference/block_pattern.h"
#include "simulator/paper_parts.h"
#include "simulator/time_model.h"

enum { HEAD = 64, HEADS = 8, BATCH = 16, LENGTHS = 10 };

/* In ms, as printed; NAN: out of memory there. */
static const struct {
    int64_t n;
    double standard, flash, sparse;
} entries[LENGTHS] = {
    {128, 0.67, 0.31, 0.74},      {256, 0.70, 0.31, 0.77},     {512, 1.18, 0.73, 0.82},
    {1024, 3.67, 2.29, 0.88},     {2048, 13.22, 7.64, 1.71},   {4096, 50.44, 30.09, 3.21},
    {8192, NAN, 118.50, 6.56},    {16384, NAN, 470.51, 12.60}, {32768, NAN, 1876.08, 24.93},
    {65536, NAN, 7492.85, 50.39},
};

double sim_paper_time(struct sim_paper_work *work, const struct sim_result *result, char *text,
                      size_t size)
{
    struct sim_time time;
    text[0] = '\0';
    if (!work->status)
        work->status = sim_time_estimate(result, NULL, true, &time, &work->error);
    if (work->status)
        return NAN;
    snprintf(text, size,
             "Estimate: %s, %s, tiles %" PRId64 " x %" PRId64
             ", on the rates of %s: the longest part "
             "of each of %d kernels, bound by %s; every counted byte goes to HBM; %s.",
             result->algorithm->name,
             result->pass == SIM_BOTH ? "forward and backward" : sim_pass_name(result->pass),
             result->tiles.br, result->tiles.bc, result->machine.name, time.n_kernels,
             sim_time_part_name(time.bound_by),
             result->capacity_lifted ? "capacity lifted" : "as many blocks an SM as fit");
    return time.estimate_us / 1e3;
}

static struct sim_experiment workload(const struct sim_paper_work *work,
                                      const struct fa_algorithm *algorithm, int64_t n)
{
    struct sim_experiment e = sim_paper_experiment(work, algorithm, SIM_BOTH, n, HEAD);
    e.problem.batch = BATCH;
    e.problem.heads = e.problem.kv_heads = HEADS;
    e.problem.dtype = FA_F16;
    e.tiles.policy = SIM_TILES_BEST_16;
    return e;
}

/* s: the share of the tiles that is visited, 0 where there is no block mask. */
static void add_time(struct sim_paper_work *work, const char *name,
                     const struct sim_experiment *experiment, double published, double s)
{
    int64_t n = experiment->problem.nq;
    struct sim_result result;
    struct sim_paper_row row = {
        .published = published, .unit = "ms", .how = SIM_PAPER_TIME_MODEL, .x = (double)n};
    char how[400], sparsity[24] = "";

    if (s > 0)
        snprintf(sparsity, sizeof sparsity, ", s = %.2g", s);
    sim_paper_count(work, experiment, &result);
    row.ours = sim_paper_time(work, &result, how, sizeof how);
    snprintf(row.id, sizeof row.id, "table20.%s.n%d", name, (int)n);
    snprintf(row.title, sizeof row.title, "%s, N = %d%s (estimate)", name, (int)n, sparsity);
    snprintf(row.variant, sizeof row.variant, "%s%s", how,
             s > 0 ? " Butterfly blocks of the tiles' size; the table does not print its s, so the "
                     "ratio speaks of that too."
                   : "");
    sim_paper_add(work, &row);
}

static void add_sparse(struct sim_paper_work *work, int64_t n, double published)
{
    static const struct fa_block_pattern butterfly = {.rule = FA_BLOCKS_BUTTERFLY};
    struct sim_experiment e = workload(work, &fa_flash1, n);
    struct fa_block_mask blocks = {0};
    struct fa_tiles tiles;

    e.tiles = (struct sim_tile_choice){SIM_TILES_DEFAULT, 0, 0};
    if (!work->status)
        work->status =
            sim_tiles_choose(&e.tiles, e.algorithm->backward, &e.problem, e.machine.sram_bytes,
                             e.machine.sram_bytes, &tiles, &work->error);
    if (!work->status)
        work->status =
            fa_block_pattern_make(&butterfly, n, n, tiles.br, tiles.bc, &blocks, &work->error);
    if (!work->status) {
        e.problem.blocks = &blocks;
        e.tiles = (struct sim_tile_choice){SIM_TILES_GIVEN, tiles.br, tiles.bc};
        add_time(work, "block-sparse", &e, published, fa_block_mask_share(&blocks));
    }
    fa_block_mask_free(&blocks);
}

void sim_paper_table20(struct sim_paper_work *work)
{
    for (int i = 0; i < LENGTHS && !isnan(entries[i].standard); i++) {
        struct sim_experiment e = workload(work, &fa_standard, entries[i].n);
        add_time(work, "standard", &e, entries[i].standard, 0);
    }
    for (int i = 0; i < LENGTHS && sim_paper_tick(work, 0.05 * i); i++) {
        struct sim_experiment e = workload(work, &fa_flash1, entries[i].n);
        add_time(work, "flash", &e, entries[i].flash, 0);
    }
    for (int i = 0; i < LENGTHS && sim_paper_tick(work, 0.5 + 0.05 * i); i++)
        add_sparse(work, entries[i].n, entries[i].sparse);
    sim_paper_tick(work, 1);
}
