/* What the abstracts say: accesses, speed, memory, block sparsity, and whole models. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/paper_parts.h"
#include "simulator/time_model.h"

enum { HEAD = 64, LENGTH = 8192, LENGTHS = 7 };

static void add(struct sim_paper_work *work, const char *id, const char *title, double ours,
                double published, const char *unit, enum sim_paper_how how, const char *variant)
{
    struct sim_paper_row row = {.ours = ours, .published = published, .how = how};
    snprintf(row.id, sizeof row.id, "headlines.%s", id);
    snprintf(row.title, sizeof row.title, "%s", title);
    snprintf(row.unit, sizeof row.unit, "%s", unit);
    snprintf(row.variant, sizeof row.variant, "%s", variant);
    sim_paper_add(work, &row);
}

/* Figure 2's workload: accesses of both passes, and the time of the forward one. */
static double add_ratios(struct sim_paper_work *work)
{
    struct sim_result standard, flash;
    char text[400], more[512];
    double both, forward;

    sim_paper_figure2_standard(work, SIM_BOTH, &standard);
    sim_paper_figure2_flash(work, SIM_BOTH, &flash);
    both = (double)sim_paper_moved(&standard).bytes / (double)sim_paper_moved(&flash).bytes;
    add(work, "accesses", "fewer HBM accesses", both, 9, "times", SIM_PAPER_COUNTED,
        "standard over flash1, forward and backward: the two exact rows of figure2, capacity "
        "lifted, "
        "one head of each executed and scaled.");
    sim_paper_figure2_standard(work, SIM_FORWARD, &standard);
    sim_paper_figure2_flash(work, SIM_FORWARD, &flash);
    forward = sim_paper_time(work, &standard, text, sizeof text);
    forward /= sim_paper_time(work, &flash, text, sizeof text);
    snprintf(
        more, sizeof more,
        "Standard over flash on figure2's workload, forward, with mask and dropout. For flash: %s",
        text);
    add(work, "attention-speedup", "faster attention on GPT-2 (estimate)", forward, 7.6, "times",
        SIM_PAPER_TIME_MODEL, more);
    return forward;
}

static void add_memory(struct sim_paper_work *work)
{
    static const struct fa_algorithm *const algorithms[] = {&fa_flash1, &fa_standard};
    double x[LENGTHS], y[LENGTHS];

    for (int a = 0; a < 2; a++) {
        int n_lengths = a == 0 ? LENGTHS : LENGTHS - 2;
        for (int i = 0; i < n_lengths && !work->status; i++) {
            struct sim_experiment e =
                sim_paper_experiment(work, algorithms[a], SIM_BOTH, INT64_C(1024) << i, HEAD);
            struct sim_result result;
            e.problem.dtype = FA_F16;
            sim_paper_count(work, &e, &result);
            x[i] = (double)e.problem.nq;
            y[i] = (double)(result.footprint.input_bytes + result.footprint.output_bytes +
                            result.footprint.extra_bytes);
        }
        if (work->status)
            return;
        add(work, a == 0 ? "memory.flash" : "memory.standard",
            a == 0 ? "flash, memory's exponent of N to 64K"
                   : "standard, memory's exponent of N to 16K",
            sim_paper_slope(x, y, n_lengths), a == 0 ? 1 : NAN, "exponent", SIM_PAPER_COUNTED,
            a == 0
                ? "Least squares on the footprints of executed runs of flash1, forward and "
                  "backward, "
                  "one head, N = 1024 to 65536: linear is 1."
                : "The same for standard, N = 1024 to 16384: on the way from 1 (Nd) to 2 (N^2).");
    }
}

/* "2 to 4 times faster still, in proportion to s": accesses fall by nearly 1/s. */
static void add_sparsity(struct sim_paper_work *work)
{
    struct sim_experiment dense = sim_paper_experiment(work, &fa_flash2, SIM_BOTH, LENGTH, HEAD);
    struct sim_result all, some;

    dense.problem.dtype = FA_F16;
    sim_paper_count(work, &dense, &all);
    for (int times = 2; times <= 4 && !work->status; times += 2) {
        struct sim_experiment e = dense;
        struct fa_block_mask blocks;
        char id[32], title[64], variant[256];
        sim_paper_blocks(work, &dense, 1, times, &blocks, &e.tiles);
        e.problem.blocks = &blocks;
        sim_paper_count(work, &e, &some);
        free((void *)blocks.visit);
        if (work->status)
            return;
        snprintf(id, sizeof id, "block-sparse.s%d", 100 / times);
        snprintf(title, sizeof title, "block-sparse, fewer accesses at s = 1/%d", times);
        snprintf(
            variant, sizeof variant,
            "flash2, forward and backward, f16, N = 8192, tiles 64 x 64, s = 1/%d spread evenly: "
            "accesses of the dense run over those of the sparse one; printed: 2 to 4 times.",
            times);
        add(work, id, title,
            (double)sim_paper_moved(&all).elements / (double)sim_paper_moved(&some).elements, times,
            "times", SIM_PAPER_COUNTED, variant);
    }
}

/* What share of a model's time attention must take for its speed-up, by Amdahl's law. */
static void add_models(struct sim_paper_work *work, double attention)
{
    static const struct {
        const char *id, *title;
        double speedup;
    } models[] = {
        {"gpt2-huggingface", "GPT-2 (HuggingFace)", 3.5},
        {"gpt2-megatron", "GPT-2 (Megatron)", 1.8},
        {"bert-large", "BERT-large", 1.15},
        {"long-range-arena", "Long-Range Arena", 2.4},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models && !work->status; i++) {
        char id[48], title[64], variant[320];
        double share = sim_amdahl_share(models[i].speedup, attention);
        snprintf(id, sizeof id, "model.%s", models[i].id);
        snprintf(title, sizeof title, "attention's share, %s %gx", models[i].title,
                 models[i].speedup);
        snprintf(variant, sizeof variant,
                 "Amdahl: the share of the model's time that attention must take for the printed "
                 "speed-up, %g times, where attention itself gets faster by the estimate above; by "
                 "the printed 7.6 it is %.4g. No share is printed%s.",
                 models[i].speedup, sim_amdahl_share(models[i].speedup, 7.6),
                 share > 1 ? "; above 1, attention alone can't explain it" : "");
        add(work, id, title, share, NAN, "share", SIM_PAPER_TIME_MODEL, variant);
    }
}

void sim_paper_headlines(struct sim_paper_work *work)
{
    double attention = add_ratios(work);
    sim_paper_tick(work, 0.3);
    add_memory(work);
    sim_paper_tick(work, 0.6);
    add_sparsity(work);
    add_models(work, attention);
    sim_paper_tick(work, 1);
}
