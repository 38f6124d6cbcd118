/*
 * Table 21: what attention keeps in memory, forward and backward, in MiB.
 *
 * A closed form meets every printed entry; it is fitted, and holds 2 to 5 tensors of N d more than
 * the algorithms name. What our runs keep stands beside it.
 */
#include <math.h>

#include "simulator/paper_parts.h"

#define MIB (1024.0 * 1024.0)
enum { HEAD = 64, HEADS = 8, BATCH = 16, LENGTHS = 10 };

static const struct {
    int64_t n;
    double standard, flash; /* as printed; NAN: out of memory there */
} entries[LENGTHS] = {
    {128, 36, 22},      {256, 104, 44},      {512, 336, 104},   {1024, 1184, 209},
    {2048, 4416, 418},  {4096, 17024, 836},  {8192, NAN, 1672}, {16384, NAN, 3344},
    {32768, NAN, 6688}, {65536, NAN, 13376},
};

/* In MiB: a tensor of N d and one of N^2 in f16, and a statistic of N in f32, over all heads. */
static double fitted(const struct fa_algorithm *algorithm, double n)
{
    double nd = 2.0 * BATCH * HEADS * n * HEAD / MIB, nn = 2.0 * BATCH * HEADS * n * n / MIB;
    double vector = 4.0 * BATCH * HEADS * n / MIB;
    if (algorithm == &fa_standard)
        return 4 * nn + 10 * nd;
    return (n <= 256 ? 11 : 13) * nd + 2 * vector;
}

static void add_fitted(struct sim_paper_work *work, const struct fa_algorithm *algorithm,
                       const char *name, int64_t n, double published)
{
    struct sim_paper_row row = {.ours = fitted(algorithm, (double)n),
                                .published = published,
                                .unit = "MiB",
                                .how = SIM_PAPER_CLOSED_FORM,
                                .x = (double)n,
                                .exact = true,
                                .rule = SIM_PAPER_TRUNCATED};
    snprintf(row.id, sizeof row.id, "table21.%s.n%d", name, (int)n);
    snprintf(row.title, sizeof row.title, "%s, N = %d, fitted form", name, (int)n);
    snprintf(
        row.variant, sizeof row.variant, "%s",
        algorithm == &fa_standard
            ? "4 N^2 + 10 Nd in f16, cut to whole MiB: fitted to the printed entries; 2 Nd more "
              "than the tensors that the algorithm names."
            : "13 Nd in f16 and 2 f32 vectors (11 Nd up to N = 256), cut to whole MiB: fitted "
              "to the printed entries; 3 to 5 Nd more than the tensors that the algorithm names.");
    sim_paper_add(work, &row);
}

static void add_executed(struct sim_paper_work *work, const struct fa_algorithm *algorithm,
                         const char *name, int64_t n, double published)
{
    struct sim_experiment e = sim_paper_experiment(work, algorithm, SIM_BOTH, n, HEAD);
    struct sim_paper_row row = {
        .published = published, .unit = "MiB", .how = SIM_PAPER_COUNTED, .x = (double)n};
    struct sim_result result;

    e.problem.batch = BATCH;
    e.problem.heads = e.problem.kv_heads = HEADS;
    e.problem.dtype = FA_F16;
    sim_paper_count(work, &e, &result);
    row.ours = (double)(result.footprint.input_bytes + result.footprint.output_bytes +
                        result.footprint.extra_bytes) /
               MIB;
    snprintf(row.id, sizeof row.id, "table21.%s-run.n%d", name, (int)n);
    snprintf(row.title, sizeof row.title, "%s, N = %d, our run", name, (int)n);
    snprintf(
        row.variant, sizeof row.variant, "%s",
        algorithm == &fa_standard
            ? "The footprint of the executed run of standard, forward and backward, tiles 64 x 64, "
              "one head executed: q k v o do dq dk dv, S, P, dP, dS and LSE of all heads."
            : "The footprint of the executed run of flash1, forward and backward, tiles 64 x 64, "
              "one head executed: q k v o do dq dk dv, l, m and LSE of all heads.");
    sim_paper_add(work, &row);
}

void sim_paper_table21(struct sim_paper_work *work)
{
    for (int i = 0; i < LENGTHS; i++)
        if (!isnan(entries[i].standard))
            add_fitted(work, &fa_standard, "standard", entries[i].n, entries[i].standard);
    for (int i = 0; i < LENGTHS; i++)
        add_fitted(work, &fa_flash1, "flash", entries[i].n, entries[i].flash);
    for (int i = 0; i < LENGTHS; i++)
        if (!isnan(entries[i].standard))
            add_executed(work, &fa_standard, "standard", entries[i].n, entries[i].standard);
    for (int i = 0; i < LENGTHS && sim_paper_tick(work, 0.1 * i); i++)
        add_executed(work, &fa_flash1, "flash", entries[i].n, entries[i].flash);
    sim_paper_tick(work, 1);
}
