/*
 * The exponents of the theorems, fitted to counted sweeps.
 *
 * flash1 has the paper's tiles with the capacity lifted, flash2 and standard the best that fit;
 * f32; 8 d^2 <= M <= N d / 8. From each count the compulsory term is subtracted: every input and
 * output once (4 N d forward, 8 N d backward). What is left is N^2 d^2 s / M to the theorems.
 */
#include <stdlib.h>
#include <string.h>

#include "simulator/paper_parts.h"
#include "simulator/sweep.h"

enum { LENGTH = 65536, LENGTH_BACKWARD = 32768, HEAD = 64, POINTS = 8 };

/* What one quantity runs through, while the others stay. */
struct course {
    enum sim_sweep_key key;
    const char *name;
    double exponent;
    int n_values;
    int64_t value[POINTS];
    int64_t n, d, m; /* M in numbers of f32 */
};

static const struct course courses[2][3] = {
    {
        {SIM_SWEEP_SRAM, "M", -1, 5, {32768, 65536, 131072, 262144, 524288}, LENGTH, HEAD, 0},
        {SIM_SWEEP_N, "N", 2, 4, {8192, 16384, 32768, 65536}, 0, HEAD, 49152},
        {SIM_SWEEP_D, "d", 2, 3, {32, 64, 128}, LENGTH, 0, 131072},
    },
    {
        {SIM_SWEEP_SRAM, "M", -1, 4, {32768, 65536, 131072, 262144}, LENGTH_BACKWARD, HEAD, 0},
        {SIM_SWEEP_N, "N", 2, 3, {8192, 16384, 32768}, 0, HEAD, 49152},
        {SIM_SWEEP_D, "d", 2, 3, {32, 64, 128}, LENGTH_BACKWARD, 0, 131072},
    },
};

/* N alone: what standard stores is N^2 whatever M and d are. A row of scores fits, so it is read
 * once (f = 1) at each N. */
static const struct course standard_course = {SIM_SWEEP_N, "N",  2,    4, {2048, 4096, 8192, 16384},
                                              0,           HEAD, 49152};

static double beyond_compulsory(const struct sim_result *result)
{
    const struct fa_problem *p = &result->problem;
    double tensors = result->pass == SIM_FORWARD ? 4 : 8;
    return (double)sim_paper_moved(result).elements - tensors * (double)p->nq * (double)p->d;
}

static struct sim_experiment base_of(const struct sim_paper_work *work,
                                     const struct fa_algorithm *algorithm, enum sim_pass pass,
                                     int64_t n, int64_t d, int64_t m)
{
    struct sim_experiment e =
        sim_paper_experiment(work, algorithm, pass, n > 0 ? n : 1024, d > 0 ? d : HEAD);
    e.tiles.policy = algorithm == &fa_flash1 ? SIM_TILES_PAPER : SIM_TILES_BEST;
    e.lift_capacity = algorithm == &fa_flash1;
    if (m > 0)
        e.machine.sram_bytes = 4 * (uint64_t)m;
    return e;
}

static void add_exponent(struct sim_paper_work *work, const struct fa_algorithm *algorithm,
                         enum sim_pass pass, const char *what, double exponent, double fitted,
                         const char *range)
{
    bool sparse = strcmp(what, "s") == 0;
    struct sim_paper_row row = {.ours = fitted,
                                .published = exponent,
                                .unit = "exponent",
                                .how = SIM_PAPER_COUNTED,
                                .exact = true,
                                .rule = SIM_PAPER_WITHIN,
                                .tolerance = 0.03};
    const char *theorem = sparse ? "proposition4" : pass == SIM_FORWARD ? "theorem2" : "theorem5";
    snprintf(row.id, sizeof row.id, "theorems.%s.%s%s.%s", theorem, algorithm->name,
             sparse && pass == SIM_BACKWARD ? "-backward" : "", what);
    snprintf(row.title, sizeof row.title, "%s %s, exponent of %s", algorithm->name,
             sim_pass_name(pass), what);
    snprintf(
        row.variant, sizeof row.variant,
        "%s; f32, one head, %s; least squares of log count, the compulsory %d Nd subtracted, on "
        "log %s; within 3 %%.",
        algorithm == &fa_flash1 ? "The paper's tiles, capacity lifted" : "The best tiles that fit",
        range, pass == SIM_FORWARD ? 4 : 8, what);
    sim_paper_add(work, &row);
}

/* Where the sweep reports a share of its own, it becomes one of the topic. */
struct stretch {
    struct sim_paper_work *work;
    double from, to;
};

static bool tick(void *context, double done)
{
    struct stretch *stretch = context;
    return sim_paper_tick(stretch->work, stretch->from + done * (stretch->to - stretch->from));
}

static void fit_course(struct sim_paper_work *work, const struct fa_algorithm *algorithm,
                       enum sim_pass pass, const struct course *course, double from, double to)
{
    int64_t value[POINTS];
    double x[POINTS], y[POINTS];
    char range[128];
    struct sim_sweep_axis axis = {course->key, course->n_values, value};
    struct stretch stretch = {work, from, to};
    struct fa_watch watch = {tick, &stretch};
    struct sim_sweep sweep = {.base =
                                  base_of(work, algorithm, pass, course->n, course->d, course->m),
                              .dv_follows_d = true,
                              .scale_follows_d = true,
                              .axes = &axis,
                              .n_axes = 1,
                              .threads = work->threads,
                              .watch = &watch};
    int last = course->n_values - 1;

    if (work->status)
        return;
    for (int i = 0; i <= last; i++)
        value[i] = course->key == SIM_SWEEP_SRAM ? 4 * course->value[i] : course->value[i];
    work->status = sim_sweep_run(&sweep, &work->error);
    if (work->status)
        return;
    for (int i = 0; i <= last && !work->status; i++) {
        if (sweep.points[i].status)
            work->status =
                fa_fail(&work->error, sweep.points[i].status, "%s", sweep.points[i].message);
        x[i] = (double)course->value[i];
        y[i] = beyond_compulsory(&sweep.points[i].result);
    }
    snprintf(range, sizeof range, "%s from %ld to %ld", course->name, (long)course->value[0],
             (long)course->value[last]);
    if (!work->status)
        add_exponent(work, algorithm, pass, course->name, course->exponent,
                     sim_paper_slope(x, y, course->n_values), range);
    sim_sweep_free(&sweep);
}

/* Proposition 4: s of the tiles, evenly over rows and columns. */
static void fit_sparsity(struct sim_paper_work *work, const struct fa_algorithm *algorithm,
                         enum sim_pass pass, double from, double to)
{
    struct sim_experiment base =
        base_of(work, algorithm, pass, pass == SIM_FORWARD ? LENGTH : LENGTH_BACKWARD, HEAD, 32768);
    double x[POINTS], y[POINTS];

    for (int i = 0; i < POINTS && sim_paper_tick(work, from + (to - from) * i / POINTS); i++) {
        struct sim_experiment e = base;
        struct fa_block_mask blocks;
        struct sim_result result;
        sim_paper_blocks(work, &base, i + 1, POINTS, &blocks, &e.tiles);
        e.problem.blocks = &blocks;
        sim_paper_count(work, &e, &result);
        free((void *)blocks.visit);
        if (work->status)
            return;
        x[i] = (double)result.counters.tiles_visited / (double)result.tiles_total;
        y[i] = beyond_compulsory(&result);
    }
    if (!work->status)
        add_exponent(work, algorithm, pass, "s", 1, sim_paper_slope(x, y, POINTS),
                     "s from 1/8 to 1, spread evenly");
}

void sim_paper_theorems(struct sim_paper_work *work)
{
    static const struct fa_algorithm *const flash[] = {&fa_flash1, &fa_flash2};
    double share = 0, step = 1.0 / 18;

    for (int pass = SIM_FORWARD; pass <= SIM_BACKWARD; pass++) {
        for (int a = 0; a < 2; a++)
            for (int c = 0; c < 3; c++, share += step)
                fit_course(work, flash[a], (enum sim_pass)pass, &courses[pass][c], share,
                           share + step);
        fit_course(work, &fa_standard, (enum sim_pass)pass, &standard_course, share, share + step);
        share += step;
    }
    for (int pass = SIM_FORWARD; pass <= SIM_BACKWARD; pass++)
        for (int a = 0; a < 2; a++, share += step)
            fit_sparsity(work, flash[a], (enum sim_pass)pass, share, share + step);
    sim_paper_tick(work, 1);
}
