/* The rows as a whole: making them topic by topic, judging them, and what the topics share. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/paper_parts.h"

static const struct {
    const char *name, *title;
    double weight; /* of its work among all */
    void (*make)(struct sim_paper_work *work);
} topics[SIM_PAPER_TOPICS] = {
    [SIM_PAPER_FIGURE2] = {"figure2", "Figure 2, left: A100, N = 1024, d = 64, 16 heads, batch 64",
                           1, sim_paper_figure2},
    [SIM_PAPER_BLOCKS] = {"figure2-blocks", "Figure 2, middle: forward traffic by block size", 1,
                          sim_paper_figure2_blocks},
    [SIM_PAPER_TABLE20] = {"table20", "Table 20: time, forward and backward, A100", 1,
                           sim_paper_table20},
    [SIM_PAPER_TABLE21] = {"table21", "Table 21: memory, forward and backward", 1,
                           sim_paper_table21},
    [SIM_PAPER_THEOREMS] = {"theorems", "Exponents of Theorems 2 and 5 and Proposition 4", 20,
                            sim_paper_theorems},
    [SIM_PAPER_ERROR] = {"error", "Numerical error: FlashAttention-3, section 4.3", 60,
                         sim_paper_error},
    [SIM_PAPER_HEADLINES] = {"headlines", "What the abstracts say", 2, sim_paper_headlines},
};

static const char *const how_names[] = {
    [SIM_PAPER_COUNTED] = "counted run",
    [SIM_PAPER_CLOSED_FORM] = "closed form at this size",
    [SIM_PAPER_TIME_MODEL] = "time model",
    [SIM_PAPER_EMULATED] = "emulated precision",
};

const char *sim_paper_topic_name(enum sim_paper_topic topic)
{
    return topics[topic].name;
}

const char *sim_paper_topic_title(enum sim_paper_topic topic)
{
    return topics[topic].title;
}

const char *sim_paper_how_name(enum sim_paper_how how)
{
    return how_names[how];
}

double sim_paper_ratio(const struct sim_paper_row *row)
{
    return row->published != 0 ? row->ours / row->published : NAN;
}

static void judge(struct sim_paper_row *row)
{
    row->pass = false;
    if (!row->exact)
        return;
    if (row->rule == SIM_PAPER_TRUNCATED)
        row->pass = trunc(row->ours) == row->published;
    else
        row->pass = fabs(row->ours - row->published) <= row->tolerance * fabs(row->published);
}

enum fa_status sim_paper_publish(struct sim_paper *paper, const char *id, double published,
                                 struct fa_error *error)
{
    if (!isfinite(published))
        return fa_fail(error, FA_BAD_ARGUMENT, "%s: expected a finite number", id);
    for (int i = 0; i < paper->n_rows; i++) {
        if (strcmp(paper->rows[i].id, id) != 0)
            continue;
        paper->rows[i].published = published;
        judge(&paper->rows[i]);
        return FA_OK;
    }
    return fa_fail(error, FA_BAD_ARGUMENT, "%s: no row of this run has that id", id);
}

int sim_paper_missed(const struct sim_paper *paper)
{
    int n = 0;
    for (int i = 0; i < paper->n_rows; i++)
        n += paper->rows[i].exact && !paper->rows[i].pass;
    return n;
}

void sim_paper_free(struct sim_paper *paper)
{
    free(paper->rows);
    memset(paper, 0, sizeof *paper);
}

void sim_paper_add(struct sim_paper_work *work, const struct sim_paper_row *row)
{
    struct sim_paper *paper = work->paper;
    if (work->status)
        return;
    if (paper->n_rows == paper->capacity) {
        int capacity = paper->capacity ? 2 * paper->capacity : 64;
        struct sim_paper_row *rows = realloc(paper->rows, (size_t)capacity * sizeof *rows);
        if (!rows) {
            work->status = fa_fail(&work->error, FA_NO_MEMORY, "no memory for the paper's rows");
            return;
        }
        paper->rows = rows;
        paper->capacity = capacity;
    }
    struct sim_paper_row *added = &paper->rows[paper->n_rows++];
    *added = *row;
    added->topic = work->topic;
    if (added->x == 0)
        added->x = NAN;
    judge(added);
}

bool sim_paper_tick(struct sim_paper_work *work, double share)
{
    double done = work->from + share * (work->to - work->from);
    if (!work->status && work->watch && work->watch->tick &&
        !work->watch->tick(work->watch->context, done < 1 ? done : 1))
        work->status = fa_fail(&work->error, FA_CANCELLED, "cancelled");
    return work->status == FA_OK;
}

struct sim_experiment sim_paper_experiment(const struct sim_paper_work *work,
                                           const struct fa_algorithm *algorithm, enum sim_pass pass,
                                           int64_t n, int64_t d)
{
    return (struct sim_experiment){
        .algorithm = algorithm,
        .pass = pass,
        .problem = fa_problem_make(n, n, d),
        .machine = work->a100,
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
    };
}

void sim_paper_count(struct sim_paper_work *work, const struct sim_experiment *experiment,
                     struct sim_result *result)
{
    memset(result, 0, sizeof *result);
    if (!work->status)
        work->status = sim_experiment_run(experiment, result, &work->error);
}

struct sim_volume sim_paper_moved(const struct sim_result *result)
{
    struct sim_volume read = sim_counters_read_all(&result->counters, &result->problem);
    struct sim_volume write = sim_counters_write_all(&result->counters, &result->problem);
    return (struct sim_volume){read.elements + write.elements, read.bytes + write.bytes};
}

void sim_paper_describe(const struct sim_result *result, const char *more, char *text, size_t size)
{
    const struct fa_problem *p = &result->problem;
    char needs[96] = "", heads[96] = "";
    if (!result->algorithm) { /* after an error nothing was run, and the row is not kept */
        text[0] = '\0';
        return;
    }
    if (result->capacity_lifted)
        snprintf(needs, sizeof needs,
                 ", capacity lifted (needs %" PRIu64 " bytes of %" PRIu64 " on chip)",
                 result->counters.sram_peak_bytes, result->machine.sram_bytes);
    if (result->heads_executed < p->batch * p->heads)
        snprintf(heads, sizeof heads, "; %" PRId64 " head executed and scaled to %" PRId64,
                 result->heads_executed, p->batch * p->heads);
    snprintf(text, size, "%s, %s, %s, tiles %" PRId64 " x %" PRId64 "%s%s%s%s",
             result->algorithm->name,
             result->pass == SIM_BOTH ? "forward and backward" : sim_pass_name(result->pass),
             fa_dtype_name(p->dtype), result->tiles.br, result->tiles.bc, needs, heads,
             *more ? "; " : "", more);
}

void sim_paper_blocks(struct sim_paper_work *work, const struct sim_experiment *experiment,
                      int part, int of, struct fa_block_mask *blocks,
                      struct sim_tile_choice *choice)
{
    const struct fa_problem *p = &experiment->problem;
    uint64_t rule = experiment->machine.sram_bytes;
    struct fa_tiles tiles;

    memset(blocks, 0, sizeof *blocks);
    if (work->status)
        return;
    work->status = sim_tiles_choose(
        &experiment->tiles,
        experiment->pass == SIM_FORWARD ? experiment->algorithm : experiment->algorithm->backward,
        p, experiment->lift_capacity ? 0 : rule, rule, &tiles, &work->error);
    if (work->status)
        return;
    *blocks = (struct fa_block_mask){tiles.br, tiles.bc, (p->nq + tiles.br - 1) / tiles.br,
                                     (p->nk + tiles.bc - 1) / tiles.bc, NULL};
    uint8_t *visit = malloc((size_t)blocks->rows * (size_t)blocks->columns);
    if (!visit) {
        work->status = fa_fail(&work->error, FA_NO_MEMORY, "no memory for a block mask");
        return;
    }
    for (int64_t i = 0; i < blocks->rows; i++)
        for (int64_t j = 0; j < blocks->columns; j++)
            visit[i * blocks->columns + j] = (i + j) % of < part;
    blocks->visit = visit;
    *choice = (struct sim_tile_choice){SIM_TILES_GIVEN, tiles.br, tiles.bc};
}

double sim_paper_slope(const double *x, const double *y, int n)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < n; i++) {
        double u = log(x[i]), v = log(y[i]);
        sx += u;
        sy += v;
        sxx += u * u;
        sxy += u * v;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

enum fa_status sim_paper_run(uint32_t asked, int threads, const struct fa_watch *watch,
                             struct sim_paper *paper, struct fa_error *error)
{
    struct sim_paper made = {NULL, 0, 0};
    struct sim_paper_work work = {
        .paper = &made, .threads = threads > 1 ? threads : 1, .watch = watch};
    double all = 0;

    for (int t = 0; t < SIM_PAPER_TOPICS; t++)
        all += asked >> t & 1 ? topics[t].weight : 0;
    work.status = sim_machine_find("a100", &work.a100, &work.error);
    for (int t = 0; t < SIM_PAPER_TOPICS; t++) {
        if (!(asked >> t & 1))
            continue;
        work.topic = (enum sim_paper_topic)t;
        work.to = work.from + topics[t].weight / all;
        if (sim_paper_tick(&work, 0))
            topics[t].make(&work);
        work.from = work.to;
    }
    if (work.status) {
        sim_paper_free(&made);
        return fa_fail(error, work.status, "%s", work.error.text);
    }
    *paper = made;
    return FA_OK;
}
