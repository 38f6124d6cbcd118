/*
 * What a run shows of itself as it goes by, event after event: the largest value of each tensor,
 * the events at which a maximum rose or fell, and snapshots from which it can be taken up again
 * later.
 */
#include "visualizer/run_parts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/trace_ops.h"

/* Snapshots lie so far apart that getting from one to the next is a matter of milliseconds, and
 * that taking them is a small part of the run; where that makes too many, every second is given
 * up. */
enum { MOST_SNAPSHOTS = 64, WORK_A_BYTE = 32 };
#define FIRST_GAP (UINT64_C(1) << 25)
#define MOST_BYTES ((size_t)96 << 20)

struct view_survey {
    uint32_t written;
    double most[FA_TENSORS];
    uint32_t *rescales;
    size_t n_rescales, rescale_capacity;
    struct view_audit *audit;
    double *maxima; /* of the rows on chip, after the last event that changed them */
    int64_t n_maxima, maxima_capacity;
    struct view_snapshot snapshots[MOST_SNAPSHOTS];
    int n_snapshots;
    size_t bytes;
    uint64_t gap, last_work;
};

struct view_survey *view_survey_make(void)
{
    struct view_survey *survey = calloc(1, sizeof *survey);
    if (!survey)
        return NULL;
    survey->gap = FIRST_GAP;
    return survey;
}

void view_survey_free(struct view_survey *survey)
{
    if (!survey)
        return;
    for (int n = 0; n < survey->n_snapshots; n++)
        view_snapshot_free(&survey->snapshots[n]);
    view_audit_free(survey->audit);
    free(survey->rescales);
    free(survey->maxima);
    free(survey);
}

static double largest_f32(const float *cells, int64_t ld, int64_t lines, int64_t n)
{
    float most = 0;
    for (int64_t line = 0; line < lines; line++)
        for (int64_t c = 0; c < n; c++) {
            float value = fabsf(cells[line * ld + c]);
            most = value <= FLT_MAX && value > most ? value : most;
        }
    return (double)most;
}

static double largest_f64(const double *cells, int64_t ld, int64_t lines, int64_t n)
{
    double most = 0;
    for (int64_t line = 0; line < lines; line++)
        for (int64_t c = 0; c < n; c++) {
            double value = fabs(cells[line * ld + c]);
            most = value <= DBL_MAX && value > most ? value : most;
        }
    return most;
}

static void look_at_tile(struct view_survey *survey, const struct fa_port *port, unsigned id)
{
    const struct fa_tile *tile = &port->tile[id];
    if (!tile->live || !tile->cells)
        return;
    int64_t lines = tile->row_major ? tile->rows : tile->columns;
    int64_t n = tile->row_major ? tile->columns : tile->rows;
    double most = port->compute_type == FA_F64 ? largest_f64(tile->cells, tile->ld, lines, n)
                                               : largest_f32(tile->cells, tile->ld, lines, n);
    if (most > survey->most[id])
        survey->most[id] = most;
}

/* What lies in HBM before the first event: inputs, and what a forward pass left. */
static void look_at_inputs(struct view_survey *survey, const struct fa_run *run, uint32_t given)
{
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        const struct fa_tensor *tensor = &run->tensor[id];
        if (!(given & FA_BIT(id)) || !tensor->data)
            continue;
        for (int64_t b = 0; b < tensor->shape[0]; b++)
            for (int64_t h = 0; h < tensor->shape[1]; h++)
                for (int64_t r = 0; r < tensor->shape[2]; r++)
                    for (int64_t c = 0; c < tensor->shape[3]; c++) {
                        double value = fabs(fa_tensor_get(tensor, b, h, r, c));
                        if (value <= DBL_MAX && value > survey->most[id])
                            survey->most[id] = value;
                    }
    }
}

static bool sets_maxima(const struct sim_event *event)
{
    if (event->kind == SIM_LOAD)
        return event->tensor == FA_M;
    return event->kind == SIM_COMPUTE &&
           (event->op == FA_OP_START || event->op == FA_OP_ABSORB || event->op == FA_OP_UPDATE ||
            event->op == FA_OP_ROW_STATS || event->op == FA_OP_SOFTMAX_ROWS);
}

static bool keep_maxima(struct view_survey *survey, const struct fa_port *port)
{
    int64_t rows = port->tile[FA_M].live ? port->tile[FA_M].rows : 0;
    if (rows > survey->maxima_capacity) {
        double *maxima = realloc(survey->maxima, (size_t)rows * sizeof *maxima);
        if (!maxima)
            return false;
        survey->maxima = maxima;
        survey->maxima_capacity = rows;
    }
    for (int64_t r = 0; r < rows; r++)
        survey->maxima[r] = fa_tile_get(port, FA_M, r, 0);
    survey->n_maxima = rows;
    return true;
}

static bool add_rescale(struct view_survey *survey, uint64_t index)
{
    if (survey->n_rescales == survey->rescale_capacity) {
        size_t capacity = survey->rescale_capacity ? 2 * survey->rescale_capacity : 256;
        uint32_t *rescales = realloc(survey->rescales, capacity * sizeof *rescales);
        if (!rescales)
            return false;
        survey->rescales = rescales;
        survey->rescale_capacity = capacity;
    }
    survey->rescales[survey->n_rescales++] = (uint32_t)index;
    return true;
}

/* The rows' maxima before and after an event that absorbs scores. */
static bool compare_maxima(struct view_survey *survey, const struct fa_port *port,
                           const struct sim_event *event, uint64_t index)
{
    const struct fa_tiles *tiles = &port->run->tiles;
    bool with_o = event->op == FA_OP_ABSORB || event->op == FA_OP_UPDATE, rose = false;
    if (event->kind != SIM_COMPUTE || (!with_o && event->op != FA_OP_ROW_STATS))
        return true;
    int64_t rows = view_least(port->tile[FA_M].rows, survey->n_maxima);
    int64_t block = port->tile[FA_O].live ? tiles->br : tiles->row_block;
    for (int64_t r = 0; r < rows; r++) {
        double before = survey->maxima[r], after = fa_tile_get(port, FA_M, r, 0);
        rose |= after > before && before > -INFINITY;
        if (after < before)
            view_audit_fall(survey->audit, event, index, (int64_t)event->i * block + r, before,
                            after);
    }
    return !rose || !with_o || add_rescale(survey, index);
}

/* A number that grows with the time that the run has taken. */
static uint64_t work_done(const struct sim_memory *memory)
{
    const struct fa_flops *flops = &memory->port.tally.flops;
    return flops->matmul + flops->other + 16 * flops->exp + 256 * memory->events;
}

static void thin_out(struct view_survey *survey)
{
    int kept = 0;
    for (int n = 0; n < survey->n_snapshots; n++)
        if (n % 2 == 0) {
            survey->bytes -= survey->snapshots[n].bytes;
            view_snapshot_free(&survey->snapshots[n]);
        } else {
            struct view_snapshot moved = survey->snapshots[n];
            memset(&survey->snapshots[n], 0, sizeof moved); /* its memory has one owner */
            survey->snapshots[kept++] = moved;
        }
    survey->n_snapshots = kept;
    survey->gap *= 2;
}

/* Without memory for a snapshot there is none: looking back is slower then, and no less right. */
static void keep_snapshot(struct view_survey *survey, const struct sim_memory *memory)
{
    struct view_snapshot *snapshot = &survey->snapshots[survey->n_snapshots];
    uint64_t work = work_done(memory);
    if (work - survey->last_work < survey->gap)
        return;
    size_t bytes = view_snapshot_bytes(memory, survey->written);
    if (work - survey->last_work < WORK_A_BYTE * (uint64_t)bytes || bytes > MOST_BYTES)
        return;
    survey->last_work = work;
    if (!view_snapshot_take(snapshot, memory, survey->written))
        return;
    survey->bytes += snapshot->bytes;
    survey->n_snapshots++;
    while (survey->n_snapshots == MOST_SNAPSHOTS ||
           (survey->bytes > MOST_BYTES && survey->n_snapshots > 0))
        thin_out(survey);
}

static bool begin(struct view_survey *survey, const struct sim_trace_header *header,
                  const struct fa_run *run)
{
    survey->audit = view_audit_make(header->algorithm, run);
    survey->written = view_run_written_set(header);
    look_at_inputs(survey, run, sim_tensors_in_hbm(header) & ~survey->written);
    return survey->audit != NULL;
}

void view_survey_step(void *context, struct sim_memory *memory)
{
    struct view_survey *survey = context;
    const struct fa_port *port = &memory->port;
    uint64_t index = memory->events - 1;
    const struct sim_event *event = sim_trace_event(memory->trace, index);

    if (!survey->audit && !begin(survey, sim_trace_get_header(memory->trace), port->run)) {
        memory->port.status = fa_fail(&memory->port.error, FA_NO_MEMORY, "no memory for a run");
        return;
    }
    if (event->kind == SIM_COMPUTE) {
        const struct sim_op *op = sim_op_of((enum fa_op)event->op);
        for (int n = 0; n < op->n_results; n++)
            look_at_tile(survey, port, op->results[n].tensor);
    }
    if (sets_maxima(event) &&
        (!compare_maxima(survey, port, event, index) || !keep_maxima(survey, port)))
        memory->port.status = fa_fail(&memory->port.error, FA_NO_MEMORY, "no memory for a run");
    view_audit_step(survey->audit, memory, event, index);
    keep_snapshot(survey, memory);
}

const uint32_t *view_survey_rescales(const struct view_survey *survey, size_t *n)
{
    *n = survey->n_rescales;
    return survey->rescales;
}

const struct view_audit *view_survey_audit(const struct view_survey *survey)
{
    return survey->audit;
}

const struct view_snapshot *view_survey_before(const struct view_survey *survey, uint64_t position)
{
    const struct view_snapshot *best = NULL;
    for (int n = 0; n < survey->n_snapshots && survey->snapshots[n].position <= position; n++)
        best = &survey->snapshots[n];
    return best;
}

double view_run_most(const struct view_run *run, enum fa_tensor_id id)
{
    if (!run->survey || run->no_values[0] || (id == FA_PD && !(run->in_hbm & FA_BIT(FA_PD))))
        return 0;
    return run->survey->most[id == FA_PD ? FA_P : id];
}
