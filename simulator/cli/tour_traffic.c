/* standard against flash1 against flash2: the same answer, and what each moved for it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "reference/compare.h"
#include "reference/profile.h"
#include "simulator/cli/inputs.h"
#include "simulator/cli/tour.h"
#include "simulator/report.h"

enum { RUNS = 3, N = 1024, D = 64, SEED = 1, BAR = 54 };

static const struct fa_algorithm *const algorithms[RUNS] = {&fa_standard, &fa_flash1, &fa_flash2};

/* All that the three runs need and leave. */
struct contest {
    struct fa_problem problem;
    struct sim_machine machine;
    struct fa_tensor q, k, v, o[RUNS], lse;
    struct sim_result result[RUNS];
    double difference[RUNS]; /* of O, from that of the first */
};

static enum fa_status make_tensors(struct contest *contest, struct fa_error *error)
{
    const int64_t matrix[4] = {1, 1, N, D}, column[4] = {1, 1, N, 1};
    enum fa_status status = fa_tensor_create(&contest->q, FA_F32, matrix, error);
    if (!status)
        status = fa_tensor_create(&contest->k, FA_F32, matrix, error);
    if (!status)
        status = fa_tensor_create(&contest->v, FA_F32, matrix, error);
    if (!status)
        status = fa_tensor_create(&contest->lse, FA_F32, column, error);
    for (int i = 0; i < RUNS && !status; i++)
        status = fa_tensor_create(&contest->o[i], FA_F32, matrix, error);
    if (!status)
        fa_profile_fill(FA_PROFILE_GAUSS, SEED, &contest->problem, &contest->q, &contest->k,
                        &contest->v);
    return status;
}

static void free_tensors(struct contest *contest)
{
    fa_tensor_free(&contest->q);
    fa_tensor_free(&contest->k);
    fa_tensor_free(&contest->v);
    fa_tensor_free(&contest->lse);
    for (int i = 0; i < RUNS; i++)
        fa_tensor_free(&contest->o[i]);
}

static enum fa_status run_one(struct contest *contest, int i, struct fa_error *error)
{
    struct sim_experiment experiment = {
        .algorithm = algorithms[i],
        .problem = contest->problem,
        .machine = contest->machine,
        .tiles = {SIM_TILES_BEST, 0, 0},
        .mode = SIM_COUNTED,
        .threads = 1,
        .q = &contest->q,
        .k = &contest->k,
        .v = &contest->v,
        .o = &contest->o[i],
        .lse = &contest->lse,
    };
    cli_tensor_poison(&contest->o[i]);
    enum fa_status status = sim_experiment_run(&experiment, &contest->result[i], error);
    struct fa_comparison comparison = fa_comparison_start();
    for (int64_t r = 0; r < N && !status; r++) {
        for (int64_t c = 0; c < D; c++) {
            double got = fa_tensor_get(&contest->o[i], 0, 0, r, c);
            double expected = fa_tensor_get(&contest->o[0], 0, 0, r, c);
            fa_comparison_add(&comparison, &got, &expected, 1);
        }
    }
    contest->difference[i] = comparison.max_abs_error;
    return status;
}

static struct sim_volume moved(const struct sim_result *result)
{
    struct sim_volume in = sim_counters_read_all(&result->counters, &result->problem);
    struct sim_volume out = sim_counters_write_all(&result->counters, &result->problem);
    return (struct sim_volume){in.elements + out.elements, in.bytes + out.bytes};
}

static uint64_t moved_scores(const struct sim_result *result)
{
    const struct sim_counters *c = &result->counters;
    return c->read[FA_S] + c->write[FA_S] + c->read[FA_P] + c->write[FA_P];
}

static void print_machine(const struct cli_tour *tour, const struct contest *contest)
{
    const struct sim_machine *m = &contest->machine;
    fprintf(tour->file,
            "A GPU has a large memory, HBM (an A100: %.0f GiB, %.3f TB a second), and on the\n"
            "chip, in each of its %" PRIu64
            " processors (SMs), a small fast one, SRAM (%.0f KiB each;\n"
            "together %.0f TB a second). Arithmetic reaches only what lies in SRAM. So what an\n"
            "algorithm costs is what it moves between the two. FlashLab counts each number.\n\n",
            (double)m->hbm_bytes / (1 << 30), m->hbm_bytes_per_second / 1e12, m->sms,
            (double)m->sram_bytes / 1024, m->sram_bytes_per_second / 1e12);
    fputs("  standard   makes S and P whole, in HBM\n"
          "  flash1     takes a tile of K and V, passes all of Q by it, then the next tile:\n"
          "             the first FlashAttention; O comes and goes with each tile\n"
          "  flash2     takes a tile of Q, passes all of K and V by it: FlashAttention-2;\n"
          "             O stays on the chip until it is done\n\n",
          tour->file);
}

static void print_table(const struct cli_tour *tour, const struct contest *contest)
{
    char read[SIM_NUMBER_TEXT], written[SIM_NUMBER_TEXT], all[SIM_NUMBER_TEXT];
    const char *times = cli_tour_pick(tour, "×", "x");
    double first = (double)moved(&contest->result[0]).elements;

    fprintf(tour->file,
            "One head (one set of Q, K, V) with N = %d queries and keys, d = %d, numbers of\n"
            "4 bytes. Each algorithm has the tiles, Br rows of Q by Bc rows of K and V, that\n"
            "move the least and fit. Counted, in numbers:\n\n",
            N, D);
    fprintf(tour->file, "  %-10s  %s%12s%12s%12s%10s   %s\n", "",
            cli_tour_pick(tour, " Br×Bc", "Br x Bc"), "read", "written", "moved", "MB", "less");
    for (int i = 0; i < RUNS; i++) {
        const struct sim_result *r = &contest->result[i];
        struct sim_volume both = moved(r);
        char tiles[48];
        snprintf(tiles, sizeof tiles, "%" PRId64 "%s%" PRId64, r->tiles.br, times, r->tiles.bc);
        /* A sign of two bytes takes one column. */
        int width = 9 + (int)strlen(times) - 1;
        fprintf(
            tour->file, "  %s%-10s%s%*s%12s%12s%12s%10.2f",
            cli_tour_algorithm(tour, r->algorithm->name), r->algorithm->name, cli_tour_plain(tour),
            width, tiles,
            sim_number_text(sim_counters_read_all(&r->counters, &r->problem).elements, read),
            sim_number_text(sim_counters_write_all(&r->counters, &r->problem).elements, written),
            sim_number_text(both.elements, all), (double)both.bytes / 1e6);
        if (i > 0)
            fprintf(tour->file, "   %.1f%s", first / (double)both.elements, times);
        fputc('\n', tour->file);
    }
}

/* A bar of `length` columns, in eighths where the alphabet has them. */
static void print_bar(const struct cli_tour *tour, double length, const char *full,
                      const char *const *eighths)
{
    int whole = (int)length, rest = (int)(8 * (length - whole));
    for (int i = 0; i < whole; i++)
        fputs(full, tour->file);
    if (eighths && rest > 0)
        fputs(eighths[rest], tour->file);
    else if (!eighths && length - whole >= 0.5)
        fputs(full, tour->file);
}

static void print_bars(const struct cli_tour *tour, const struct contest *contest)
{
    static const char *const eighths[8] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double most = (double)moved(&contest->result[0]).elements;
    double least = contest->result[0].bounds.compulsory;

    fprintf(tour->file, "\n  What moved (%s is S and P, %s all else):\n\n",
            cli_tour_pick(tour, "▒", ":"), cli_tour_pick(tour, "█", "#"));
    for (int i = 0; i < RUNS; i++) {
        const struct sim_result *r = &contest->result[i];
        double scores = rint(BAR * (double)moved_scores(r) / most);
        double all = BAR * (double)moved(r).elements / most;
        fprintf(tour->file, "  %-10s%s", r->algorithm->name,
                cli_tour_algorithm(tour, r->algorithm->name));
        print_bar(tour, scores, cli_tour_pick(tour, "▒", ":"), NULL);
        print_bar(tour, all - scores, cli_tour_pick(tour, "█", "#"), tour->utf8 ? eighths : NULL);
        fprintf(tour->file, "%s %.2f million\n", cli_tour_plain(tour),
                (double)moved(r).elements / 1e6);
    }
    fprintf(tour->file, "  %-10s", "at least");
    print_bar(tour, BAR * least / most, cli_tour_pick(tour, "█", "#"), tour->utf8 ? eighths : NULL);
    fprintf(tour->file, " %.2f million: Q, K, V read once, O written once\n\n", least / 1e6);
}

static void print_conclusion(const struct cli_tour *tour, const struct contest *contest)
{
    const struct sim_result *standard = &contest->result[0], *flash2 = &contest->result[2];
    double share = (double)moved_scores(standard) / (double)moved(standard).elements;
    double exact = fmax(contest->difference[1], contest->difference[2]);
    fprintf(tour->file,
            "S and P are %.0f %% of what standard moves; flash never moves them. Beside inputs\n"
            "and outputs, standard keeps %.2f MB in HBM, flash1 %.2f MB, flash2 %s.\n"
            "And the answers are the same: on random inputs the three O differ by at most\n"
            "%.1e, which is rounding.\n",
            100 * share, (double)standard->footprint.extra_bytes / 1e6,
            (double)contest->result[1].footprint.extra_bytes / 1e6,
            flash2->footprint.extra_bytes == 0 ? "nothing" : "more", exact);
}

enum fa_status cli_tour_traffic(const struct cli_tour *tour, struct fa_error *error)
{
    struct contest contest;
    memset(&contest, 0, sizeof contest);
    contest.problem = fa_problem_make(N, N, D);
    enum fa_status status = sim_machine_find("a100", &contest.machine, error);
    if (!status)
        status = make_tensors(&contest, error);
    for (int i = 0; i < RUNS && !status; i++)
        status = run_one(&contest, i, error);
    if (!status) {
        cli_tour_title(tour, "2. What the algorithms move");
        print_machine(tour, &contest);
        print_table(tour, &contest);
        print_bars(tour, &contest);
        print_conclusion(tour, &contest);
    }
    free_tensors(&contest);
    return status;
}
