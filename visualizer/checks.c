/* The invariants of the online softmax, judged while the run goes by against a softmax of its
 * own. */
#include "visualizer/run_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/dropout.h"
#include "reference/visibility.h"
#include "visualizer/truth.h"

enum { SUMS, FALLS, OUTPUT };

/* Products in all; where more would be needed every n-th row of a tile is judged. */
#define MOST_PRODUCTS (UINT64_C(1) << 27)
enum { MOST_TILES = 4096 };

struct finding {
    uint64_t first_seen, first_bad; /* landed events; UINT64_MAX: not yet */
    char text[96];
};

struct view_audit {
    bool works;
    const struct fa_problem *problem;
    struct fa_tiles tiles;
    int64_t row_step;
    struct view_truth truth;
    double machine_roundoff, roundoff; /* of the compute type, of the dtype */
    bool scores_stored, normalised; /* S in HBM; O divided by l at all times */
    struct finding findings[VIEW_CHECKS];
    double *tile_errors; /* NULL: too many tiles */
    bool any_tile;
    int64_t tr, tc;
};

void view_audit_free(struct view_audit *audit)
{
    if (!audit)
        return;
    view_truth_close(&audit->truth);
    free(audit->tile_errors);
    free(audit);
}

static void take_tiles(struct view_audit *audit)
{
    int64_t tr = audit->tr, tc = audit->tc;
    if (tr > MOST_TILES || tc > MOST_TILES || tr * tc > MOST_TILES)
        return;
    audit->tile_errors = malloc((size_t)(tr * tc) * sizeof *audit->tile_errors);
    for (int64_t t = 0; t < tr * tc && audit->tile_errors; t++)
        audit->tile_errors[t] = NAN;
}

struct view_audit *view_audit_make(const struct fa_algorithm *algorithm, const struct fa_run *run)
{
    struct view_audit *audit = calloc(1, sizeof *audit);
    if (!audit)
        return NULL;
    const struct fa_problem *p = &run->problem;
    bool wide = p->dtype == FA_F64;
    for (int n = 0; n < VIEW_CHECKS; n++)
        audit->findings[n].first_seen = audit->findings[n].first_bad = UINT64_MAX;
    audit->problem = p;
    audit->tiles = run->tiles;
    audit->tr = fa_tile_count(p->nq, run->tiles.br);
    audit->tc = fa_tile_count(p->nk, run->tiles.bc);
    audit->machine_roundoff = fa_dtype_roundoff(wide ? FA_F64 : FA_F32);
    audit->roundoff = fa_dtype_roundoff(p->dtype);
    audit->scores_stored = algorithm->stores_scores;
    audit->normalised = algorithm->normalised;
    if (run->backward || !view_truth_open(&audit->truth, p))
        return audit;
    take_tiles(audit);
    double products = (double)p->batch * (double)p->heads * (double)p->nq * (double)p->nk *
                      (double)(p->d + p->dv);
    audit->row_step = (int64_t)ceil(products / (double)MOST_PRODUCTS);
    audit->works = true;
    return audit;
}

/* How far rounding may take the sum of a row's weights from 1: that of scores whose terms are at
 * most |q| |k| large, and of a sum of nk weights; and where S is stored, that of the dtype. */
static double sum_budget(const struct view_audit *audit, int64_t row)
{
    const struct fa_problem *p = audit->problem;
    double squares = 0;
    for (int64_t c = 0; c < p->d; c++)
        squares += audit->truth.q[row * p->d + c] * audit->truth.q[row * p->d + c];
    double size = fabs(p->scale) * sqrt(squares) * audit->truth.key_norm + audit->truth.bias;
    double rounding = sqrt((double)p->d) * fmax(1, size) + sqrt((double)p->nk) + 8;
    return 16 * audit->machine_roundoff * rounding +
           (audit->scores_stored ? 4 * audit->roundoff * size : 0);
}

#if defined(__GNUC__)
__attribute__((format(printf, 6, 7)))
#endif
static void
find(struct view_audit *audit, int which, uint64_t index, const struct sim_event *event,
     int64_t row, const char *format, ...)
{
    struct finding *finding = &audit->findings[which];
    char head[24] = "", tile[40], what[48], text[192];
    va_list arguments;
    if (finding->first_bad != UINT64_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (audit->problem->batch * audit->problem->heads > 1)
        snprintf(head, sizeof head, "head %d, ", (int)event->head);
    if (event->j == SIM_NO_TILE)
        snprintf(tile, sizeof tile, "the end of i = %d", (int)event->i);
    else
        snprintf(tile, sizeof tile, "tile (%d,%d)", (int)event->i, (int)event->j);
    snprintf(text, sizeof text, "first at %s%s, row %d: %s", head, tile, (int)row, what);
    text[sizeof finding->text - 1] = '\0';
    memcpy(finding->text, text, sizeof finding->text);
    finding->first_bad = index + 1;
}

/* "weights sum to 1": of the keys so far, with the machine's own m and l. */
static void judge_sum(struct view_audit *audit, const struct fa_port *port,
                      const struct sim_event *event, uint64_t index, int64_t row, int64_t r)
{
    double m = fa_tile_get(port, FA_M, r, 0), l = fa_tile_get(port, FA_L, r, 0);
    double true_sum = audit->truth.sum[row];
    if (!isfinite(true_sum) || !isfinite(audit->truth.max[row]) || true_sum == 0)
        return; /* No key so far, or scores that are not finite: there is no 1 to sum to. */
    double sum = exp(audit->truth.max[row] - m) * true_sum / l;
    if (!(fabs(sum - 1) <= sum_budget(audit, row)))
        find(audit, SUMS, index, event, row, "%.6g", sum);
}

/* The largest difference of the row's O from the softmax so far, with the machine's O divided
 * where it is not; NaN where the truth is not finite, infinite where ours alone is not. */
static double row_error(const struct view_audit *audit, const struct fa_port *port, int64_t row,
                        int64_t r, double machine_divisor, double divisor)
{
    const struct fa_problem *p = audit->problem;
    double most = 0;
    for (int64_t c = 0; c < p->dv; c++) {
        double truth = divisor == 0 ? 0 : audit->truth.o[row * p->dv + c] / divisor;
        double got = fa_tile_get(port, FA_O, r, c) / machine_divisor;
        if (!isfinite(truth))
            return NAN;
        double error = fabs(got - truth);
        most = error <= most ? most : isnan(error) ? INFINITY : error;
    }
    return most;
}

static void judge_output(struct view_audit *audit, const struct fa_port *port,
                         const struct sim_event *event, uint64_t index, int64_t row, double error)
{
    const struct fa_problem *p = audit->problem;
    double scale = p->dropout_p > 0 ? fa_dropout_scale(p) : 1, y = audit->truth.value * scale;
    double budget = 2 * sum_budget(audit, row) * y;
    /* An O with l and m of its tile alone beside it went through HBM, in the dtype, before. */
    if (port->tile[FA_TILE_M].live)
        budget += 2 * audit->roundoff * y * (double)(event->j + 2);
    if (!(error <= budget))
        find(audit, OUTPUT, index, event, row, "off by %.3g", error);
}

/* After O has gained a tile: of the flash passes it is the softmax so far, else a part of the
 * whole. */
static void after_accumulate(struct view_audit *audit, const struct fa_port *port,
                             const struct sim_event *event, uint64_t index, int64_t row, int64_t r)
{
    bool running = port->tile[FA_L].live && audit->findings[OUTPUT].first_seen != UINT64_MAX;
    double divisor = audit->truth.sum[row], machine_divisor = 1;
    if (!running) {
        view_truth_accumulate(&audit->truth, row, (int64_t)event->j * audit->tiles.bc,
                              event->columns);
    } else if (!audit->normalised) {
        machine_divisor = fa_tile_get(port, FA_L, r, 0);
        machine_divisor = machine_divisor == 0 ? 1 : machine_divisor;
    }
    double error = row_error(audit, port, row, r, machine_divisor, divisor);
    if (isnan(error))
        return;
    if (running)
        judge_output(audit, port, event, index, row, error);
    if (audit->tile_errors && event->head == 0) {
        double *most = &audit->tile_errors[(int64_t)event->i * audit->tc + (int64_t)event->j];
        *most = isnan(*most) || error > *most ? error : *most;
        audit->any_tile = true;
    }
}

/* After an online softmax has ended O is the softmax itself. */
static void after_finish(struct view_audit *audit, const struct fa_port *port,
                         const struct sim_event *event, uint64_t index, int64_t row, int64_t r)
{
    double error = row_error(audit, port, row, r, 1, audit->truth.sum[row]);
    if (!isnan(error) && audit->findings[OUTPUT].first_seen != UINT64_MAX)
        judge_output(audit, port, event, index, row, error);
}

static void see(struct finding *finding, uint64_t index)
{
    if (finding->first_seen == UINT64_MAX)
        finding->first_seen = index + 1;
}

static bool finishes(const struct sim_event *event)
{
    return event->op == FA_OP_FINISH || event->op == FA_OP_FINISH_STATS;
}

static bool concerns(const struct sim_event *event)
{
    return event->kind == SIM_COMPUTE &&
           (event->op == FA_OP_ABSORB || event->op == FA_OP_UPDATE ||
            event->op == FA_OP_ROW_STATS || event->op == FA_OP_SOFTMAX_ROWS ||
            event->op == FA_OP_ACCUMULATE || finishes(event));
}

void view_audit_step(struct view_audit *audit, const struct sim_memory *memory,
                     const struct sim_event *event, uint64_t index)
{
    const struct fa_port *port = &memory->port;
    if (!audit->works || !concerns(event))
        return;
    if (audit->truth.head != (int64_t)event->head)
        view_truth_begin(&audit->truth, port->run, event->head);
    bool online = event->op == FA_OP_ABSORB || event->op == FA_OP_UPDATE;
    bool by_tile = port->tile[FA_O].live; /* else it is a row-wise step */
    int64_t first_row = (int64_t)event->i * (by_tile ? audit->tiles.br : audit->tiles.row_block);
    int64_t j = event->j == SIM_NO_TILE ? 0 : (int64_t)event->j;
    int64_t first_key = j * (by_tile ? audit->tiles.bc : audit->tiles.column_chunk);
    if (event->op != FA_OP_ACCUMULATE && !finishes(event)) {
        see(&audit->findings[SUMS], index);
        see(&audit->findings[FALLS], index);
        if (online)
            see(&audit->findings[OUTPUT], index);
    }
    for (int64_t r = 0; r < (int64_t)event->rows; r += audit->row_step) {
        int64_t row = first_row + r;
        if (event->op == FA_OP_ACCUMULATE) {
            after_accumulate(audit, port, event, index, row, r);
        } else if (finishes(event)) {
            after_finish(audit, port, event, index, row, r);
        } else {
            view_truth_absorb(&audit->truth, row, first_key, event->columns, online);
            judge_sum(audit, port, event, index, row, r);
        }
    }
}

void view_audit_fall(struct view_audit *audit, const struct sim_event *event, uint64_t index,
                     int64_t row, double before, double after)
{
    find(audit, FALLS, index, event, row, "%.6g after %.6g", after, before);
}

const double *view_audit_tiles(const struct view_audit *audit)
{
    return audit->any_tile ? audit->tile_errors : NULL;
}

void view_run_checks(struct view_run *run, uint64_t landed, struct view_check checks[VIEW_CHECKS])
{
    static const char *const names[VIEW_CHECKS] = {
        [SUMS] = "weights sum to 1", [FALLS] = "m never falls", [OUTPUT] = "O = softmax so far"};
    const struct view_audit *audit =
        run->survey && !run->no_values[0] ? view_survey_audit(run->survey) : NULL;
    for (int n = 0; n < VIEW_CHECKS; n++) {
        checks[n] = (struct view_check){.name = names[n], .first_bad = UINT64_MAX};
        if (!audit || audit->findings[n].first_seen > landed)
            continue;
        checks[n].verdict = VIEW_GOOD;
        if (audit->findings[n].first_bad > landed)
            continue;
        checks[n].verdict = VIEW_BAD;
        checks[n].first_bad = audit->findings[n].first_bad;
        memcpy(checks[n].text, audit->findings[n].text, sizeof checks[n].text);
    }
}
