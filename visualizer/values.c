/*
 * Values by running again. A replay begins at the nearest snapshot before the position: those that
 * the survey kept, or the last few that were asked for; up to there it does the same events without
 * data.
 */
#include "visualizer/run_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/trace_ops.h"

enum { SLOTS = 4 };
#define LARGE_SLOT ((size_t)64 << 20)

struct view_values {
    const struct view_run *run;
    struct sim_state state;
    struct view_snapshot snapshot;
    enum fa_dtype compute_type;
    int64_t head; /* that the run was at */
    uint64_t used; /* 0: the slot is empty; else greater, the later it was asked for */
};

struct view_replays {
    struct view_run *run;
    struct sim_replay replay;
    bool open;
    struct fa_tensor outputs[5]; /* o, lse, dq, dk, dv: what the run left in the source's stays */
    struct view_values slots[SLOTS];
    uint64_t clock;
    struct view_rescale rescale;
    double *factors;
    uint64_t rescale_event;
};

const char *view_run_no_values(const struct view_run *run)
{
    return run->no_values[0] ? run->no_values : NULL;
}

/* Tensors of the replay's own in place of those that the experiment would write to. */
static bool take_outputs(struct view_replays *replays, struct sim_experiment *experiment)
{
    const struct fa_tensor **given[] = {&experiment->o, &experiment->lse, &experiment->dq,
                                        &experiment->dk, &experiment->dv};
    for (int n = 0; n < 5; n++) {
        struct fa_tensor *own = &replays->outputs[n];
        if (!*given[n])
            continue;
        if (fa_tensor_create(own, (*given[n])->dtype, (*given[n])->shape, NULL) != FA_OK)
            return false;
        *given[n] = own;
    }
    return true;
}

void view_replays_free(struct view_replays *replays)
{
    if (!replays)
        return;
    if (replays->open)
        sim_replay_close(&replays->replay);
    for (int n = 0; n < 5; n++)
        fa_tensor_free(&replays->outputs[n]);
    for (int n = 0; n < SLOTS; n++)
        view_snapshot_free(&replays->slots[n].snapshot);
    free(replays->factors);
    free(replays);
}

/* The replays, made at the first call; NULL, with the reason in the run, if there can be none. */
static struct view_replays *open_replays(struct view_run *run)
{
    struct fa_error error = {FA_OK, "there is no memory"};
    if (run->replays || run->no_values[0])
        return run->replays;
    struct view_replays *made = calloc(1, sizeof *made);
    bool enough = made != NULL;
    if (enough) {
        struct sim_experiment experiment = run->source.experiment;
        experiment.trace = NULL;
        experiment.after = NULL;
        made->run = run;
        made->rescale_event = UINT64_MAX;
        enough = take_outputs(made, &experiment) &&
                 sim_replay_open(&experiment, &made->replay, &error) == FA_OK;
        made->open = enough;
    }
    if (!enough) {
        snprintf(run->no_values, sizeof run->no_values, "The run cannot be repeated: %s",
                 error.text);
        view_replays_free(made);
        return NULL;
    }
    run->replays = made;
    return made;
}

static const struct view_snapshot *nearest(const struct view_replays *replays, uint64_t position)
{
    const struct view_snapshot *best =
        replays->run->survey ? view_survey_before(replays->run->survey, position) : NULL;
    for (int n = 0; n < SLOTS; n++) {
        const struct view_snapshot *snapshot = &replays->slots[n].snapshot;
        if (replays->slots[n].used && snapshot->position <= position &&
            (!best || snapshot->position > best->position))
            best = snapshot;
    }
    return best;
}

bool view_replays_watch(struct view_run *run,
                        void (*after)(void *context, struct sim_memory *memory), void *context)
{
    struct view_replays *replays = open_replays(run);
    const struct sim_replay_steps steps = {
        .position = view_run_length(run) - (run->refused ? 1 : 0),
        .after = after,
        .context = context,
    };
    return replays && sim_replay_run(&replays->replay, &steps, NULL) == FA_OK;
}

/* One replay: where it begins, and the slot that it fills. */
struct filling {
    const struct view_snapshot *from; /* NULL: at the first event */
    struct view_values *slot;
};

static void begin(void *context, struct sim_memory *memory)
{
    const struct filling *filling = context;
    view_snapshot_give(filling->from, memory);
}

/* By now the slot's old contents, from which the replay may have begun, have served. */
static void take(void *context, struct sim_memory *memory)
{
    struct view_values *values = ((struct filling *)context)->slot;
    values->used = 0;
    values->compute_type = memory->port.compute_type;
    if (view_snapshot_take(&values->snapshot, memory, values->run->written))
        values->used = 1;
}

/* The slot that was asked for longest ago; of large runs not all slots are used. */
static struct view_values *oldest_slot(struct view_replays *replays)
{
    struct view_values *oldest = &replays->slots[0];
    int n_slots = replays->slots[0].snapshot.bytes > LARGE_SLOT ? 2 : SLOTS;
    for (int n = 1; n < n_slots; n++)
        if (replays->slots[n].used < oldest->used)
            oldest = &replays->slots[n];
    return oldest;
}

static bool fill_slot(struct view_replays *replays, struct view_values *slot, uint64_t position)
{
    struct view_run *run = replays->run;
    struct fa_error error = {FA_OK, ""};
    struct filling filling = {nearest(replays, position), slot};
    const struct sim_replay_steps steps = {
        .from = filling.from ? filling.from->position : 0,
        .position = position,
        .begin = begin,
        .look = take,
        .context = &filling,
    };
    slot->run = run;
    if (sim_replay_run(&replays->replay, &steps, &error) != FA_OK) {
        if (error.status != FA_NO_MEMORY)
            snprintf(run->no_values, sizeof run->no_values, "The run cannot be repeated: %s",
                     error.text);
        return false;
    }
    if (slot->used == 0 || slot->snapshot.position != position)
        return false;
    view_run_state(run, position, &slot->state);
    slot->head = position > 0 ? view_run_event(run, position - 1)->head : 0;
    return true;
}

const struct view_values *view_run_values(struct view_run *run, uint64_t landed)
{
    struct view_replays *replays = open_replays(run);
    uint64_t length = view_run_length(run);
    if (!replays)
        return NULL;
    landed = landed < length ? landed : length;
    /* A refusal changes nothing: the machine is as it was before it. */
    uint64_t position = run->refused && landed == length ? landed - 1 : landed;
    struct view_values *slot = NULL;
    for (int n = 0; n < SLOTS && !slot; n++)
        if (replays->slots[n].used && replays->slots[n].snapshot.position == position)
            slot = &replays->slots[n];
    if (!slot) {
        slot = oldest_slot(replays);
        if (!fill_slot(replays, slot, position))
            return NULL;
    }
    slot->used = ++replays->clock;
    return slot;
}

enum view_cell_state view_values_chip(const struct view_values *values, enum fa_tensor_id id,
                                      int64_t row, int64_t column, double *value)
{
    if (!values)
        return VIEW_CELL_NONE;
    /* The function only looks; its result may be changed, so it wants a state that may be. */
    struct sim_state *state = (struct sim_state *)&values->state;
    const struct sim_resident *resident = sim_state_holder(state, id);
    if (!resident || (resident != &state->on_chip[id] && !sim_resident_is(resident, id)) ||
        row < 0 || column < 0 || row >= (int64_t)resident->rows ||
        column >= (int64_t)resident->columns)
        return VIEW_CELL_NONE;
    if (row >= (int64_t)resident->held_rows || column >= (int64_t)resident->held_columns)
        return VIEW_CELL_UNWRITTEN;
    const struct fa_tile *tile = &values->snapshot.tile[resident - state->on_chip];
    if (!tile->cells)
        return VIEW_CELL_NONE;
    int64_t index = tile->row_major ? row * tile->ld + column : column * tile->ld + row;
    *value = fa_dtype_get(values->compute_type, tile->cells, index);
    return VIEW_CELL_VALUE;
}

/* What the pass stores to: from the snapshot, if it was stored by then. */
static enum view_cell_state written_cell(const struct view_values *values, enum fa_tensor_id id,
                                         int64_t batch, int64_t head_of_tensor, int64_t head,
                                         int64_t row, int64_t column, double *value)
{
    const struct view_copy *copy = &values->snapshot.hbm[id];
    if (!copy->data)
        return VIEW_CELL_NONE;
    if (!view_history_stored(values->run, id, head, row, column, values->snapshot.position))
        return VIEW_CELL_UNWRITTEN;
    if (copy->shared && head != values->head)
        return VIEW_CELL_NONE; /* It is that of the head that the run is at. */
    int64_t b = copy->batches == 1 ? 0 : batch, h = copy->heads == 1 ? 0 : head_of_tensor;
    *value = fa_dtype_get(copy->dtype, copy->data,
                          ((b * copy->heads + h) * copy->rows + row) * copy->columns + column);
    return VIEW_CELL_VALUE;
}

enum view_cell_state view_values_hbm(const struct view_values *values, enum fa_tensor_id id,
                                     int64_t head, int64_t row, int64_t column, double *value)
{
    if (!values || id >= FA_HBM_TENSORS || !(values->run->in_hbm & FA_BIT(id)))
        return VIEW_CELL_NONE;
    const struct fa_problem *problem = &values->run->shape.problem;
    const struct fa_tensor *tensor = &values->run->replays->replay.run.tensor[id];
    if (!tensor->data || head < 0 || head >= problem->batch * problem->heads || row < 0 ||
        column < 0 || row >= tensor->shape[2] || column >= tensor->shape[3])
        return VIEW_CELL_NONE;
    int64_t batch = fa_problem_batch(tensor, head / problem->heads);
    int64_t head_of_tensor = fa_problem_head(problem, tensor, head % problem->heads);
    if (values->run->written & FA_BIT(id))
        return written_cell(values, id, batch, head_of_tensor, head, row, column, value);
    *value = fa_tensor_get(tensor, batch, head_of_tensor, row, column);
    return VIEW_CELL_VALUE;
}

/* Fills the rows' factors from the maxima before and after. */
static void compare_rows(struct view_replays *replays, const struct view_values *before,
                         const struct view_values *after_it, const struct sim_event *event)
{
    struct view_rescale *rescale = &replays->rescale;
    *rescale = (struct view_rescale){.rows = event->rows, .first_row = -1, .factor = 1,
                                     .least_factor = 1, .factors = replays->factors};
    for (int64_t r = 0; r < rescale->rows; r++) {
        double old_max = -INFINITY, new_max = -INFINITY;
        view_values_chip(before, FA_M, r, 0, &old_max);
        view_values_chip(after_it, FA_M, r, 0, &new_max);
        replays->factors[r] = 1;
        if (!(new_max > old_max) || old_max == -INFINITY)
            continue;
        double factor = exp(old_max - new_max);
        replays->factors[r] = factor;
        if (factor < rescale->least_factor)
            rescale->least_factor = factor;
        if (rescale->rose++ > 0)
            continue;
        rescale->first_row = (int64_t)event->i * replays->run->shape.tiles.br + r;
        rescale->old_max = old_max;
        rescale->new_max = new_max;
        rescale->factor = factor;
    }
}

const struct view_rescale *view_run_rescale(struct view_run *run, uint64_t index)
{
    struct view_replays *replays = open_replays(run);
    if (!replays || index >= view_run_length(run))
        return NULL;
    const struct sim_event *event = view_run_event(run, index);
    if (event->kind != SIM_COMPUTE || (event->op != FA_OP_ABSORB && event->op != FA_OP_UPDATE))
        return NULL;
    if (replays->rescale_event == index)
        return &replays->rescale;
    const struct view_values *before = view_run_values(run, index);
    const struct view_values *after_it = view_run_values(run, index + 1);
    double *factors = realloc(replays->factors, ((size_t)event->rows + 1) * sizeof *factors);
    if (factors)
        replays->factors = factors;
    if (!factors || !before || !after_it)
        return NULL;
    compare_rows(replays, before, after_it, event);
    replays->rescale_event = index;
    return &replays->rescale;
}
