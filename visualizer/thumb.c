/* Key frames made from runs. */
#include "visualizer/thumb.h"

#include <math.h>
#include <string.h>

#include "reference/dropout.h"
#include "visualizer/cross.h"
#include "visualizer/stage_parts.h"

const struct lesson_show *view_thumb_show(const struct lesson *lesson)
{
    if (lesson->card_show.scenario)
        return &lesson->card_show;
    for (int s = lesson->n_steps - 1; s >= 0; s--) {
        const char *stage = lesson->step[s].show.stage;
        if (stage && strcmp(stage, "cross") != 0)
            return &lesson->step[s].show;
    }
    return &lesson->step[lesson->n_steps - 1].show;
}

bool view_thumb_needs_values(const char *stage)
{
    return strcmp(stage, "row") == 0 || strcmp(stage, "errors") == 0;
}

/* What became of the tiles [i, i + each) x [j, j + each): done if all were, cut if some were, or
 * a mask cuts one. */
static enum view_thumb_tile tile_of(const struct view_run *run, int64_t i, int64_t j, int64_t each)
{
    uint64_t end = view_run_length(run);
    int64_t done = 0, all = 0;
    bool cut = false;
    for (int64_t r = i; r < i + each && r < view_run_tr(run); r++)
        for (int64_t c = j; c < j + each && c < view_run_tc(run); c++) {
            bool here = false;
            enum view_score score = view_run_score(run, 0, r, c, end, &here, NULL);
            done += score == VIEW_SCORE_DONE || score == VIEW_SCORE_NOW;
            cut = cut || (here && score != VIEW_SCORE_SKIPPED);
            all++;
        }
    return done == 0 ? VIEW_THUMB_SKIPPED : cut || done < all ? VIEW_THUMB_CUT : VIEW_THUMB_DONE;
}

static void make_tiles(const struct view_run *run, struct view_thumb *thumb)
{
    int64_t tr = view_run_tr(run), tc = view_run_tc(run), more = tr > tc ? tr : tc;
    int64_t each = (more + VIEW_THUMB_SIDE - 1) / VIEW_THUMB_SIDE;
    each = each < 1 ? 1 : each;
    thumb->kind = VIEW_THUMB_TILES;
    thumb->rows = (int)((tr + each - 1) / each);
    thumb->columns = (int)((tc + each - 1) / each);
    for (int r = 0; r < thumb->rows; r++)
        for (int c = 0; c < thumb->columns; c++)
            thumb->cell[r * thumb->columns + c] = (uint8_t)tile_of(run, r * each, c * each, each);
}

/* The weights of query 0 from its scores and its last m and l. */
static bool make_row(struct view_run *run, struct view_thumb *thumb)
{
    struct view_row row;
    if (!view_run_row(run, 0, 0, &row) || row.n_steps == 0 || row.keys < 1)
        return false;
    const struct view_row_step *last = &row.steps[row.n_steps - 1];
    thumb->kind = VIEW_THUMB_ROW;
    thumb->columns = (int)(row.keys < VIEW_THUMB_SIDE ? row.keys : VIEW_THUMB_SIDE);
    for (int k = 0; k < thumb->columns; k++) {
        double weight = exp(row.scores[k] - last->max) / last->sum;
        thumb->weight[k] = weight >= 0 && weight <= 1 ? (float)weight : 0;
    }
    return true;
}

static bool make_bits(const struct view_run *run, struct view_thumb *thumb)
{
    const struct fa_problem *p = &view_run_header(run)->problem;
    if (!(p->dropout_p > 0) || view_run_header(run)->has_keep || p->nq < 1 || p->nk < 1)
        return false;
    thumb->kind = VIEW_THUMB_BITS;
    thumb->rows = (int)(p->nq < 4 ? p->nq : 4);
    thumb->columns = (int)(p->nk < 18 ? p->nk : 18);
    for (int r = 0; r < thumb->rows; r++)
        fa_dropout_bits(p, 0, 0, r, 0, thumb->columns, &thumb->cell[r * thumb->columns]);
    return true;
}

static bool make_scale(const struct view_run *run, struct view_thumb *thumb)
{
    const struct fa_problem *p = &view_run_header(run)->problem;
    thumb->kind = VIEW_THUMB_SCALE;
    thumb->sram = view_run_header(run)->sram_bytes;
    thumb->scores = (uint64_t)p->nq * (uint64_t)p->nk * fa_dtype_bytes(p->dtype);
    return thumb->sram > 0 && thumb->scores > 0;
}

/* What was on chip when a block found no room, in its order. */
static bool make_blocks(const struct view_run *run, struct view_thumb *thumb)
{
    uint64_t length = view_run_length(run);
    struct sim_state state;
    if (!view_run_refused(run) || length == 0)
        return false;
    const struct sim_event *event = view_run_event(run, length - 1);
    view_run_state(run, length, &state);
    for (int id = 0; id < FA_TENSORS && thumb->n_blocks + 1 < VIEW_THUMB_TENSORS; id++) {
        const struct sim_resident *chip = &state.on_chip[id];
        if (chip->live) {
            thumb->block[thumb->n_blocks].id = (enum fa_tensor_id)id;
            thumb->block[thumb->n_blocks].place = chip->place;
            thumb->block[thumb->n_blocks++].bytes = chip->bytes;
        }
    }
    thumb->kind = VIEW_THUMB_BLOCKS;
    thumb->sram = view_run_header(run)->sram_bytes;
    thumb->block[thumb->n_blocks].id = (enum fa_tensor_id)event->tensor;
    thumb->block[thumb->n_blocks].place = state.sram_bytes;
    thumb->block[thumb->n_blocks++].bytes = view_sram_needed(run, event);
    return thumb->sram > 0;
}

static bool make_shapes(const struct view_run *run, const struct view_run *second,
                        struct view_thumb *thumb)
{
    const struct view_run *runs[2] = {run, second};
    thumb->kind = VIEW_THUMB_SHAPES;
    for (int r = 0; r < 2 && runs[r]; r++) {
        thumb->br[r] = view_run_tiles(runs[r]).br;
        thumb->bc[r] = view_run_tiles(runs[r]).bc;
    }
    return true;
}

/* Whether a check fails in the tile (0, j) or at the end of its row, for each of the first tiles. */
static bool make_checks(struct view_run *run, struct view_thumb *thumb)
{
    enum { MOST_TILES = 8 };
    struct view_check checks[VIEW_CHECKS];
    if (view_run_no_values(run))
        return false;
    thumb->kind = VIEW_THUMB_CHECKS;
    memset(thumb->cell, 1, sizeof thumb->cell);
    for (uint64_t e = 0; e < view_run_length(run); e++) {
        const struct sim_event *event = view_run_event(run, e);
        if (event->kind != SIM_COMPUTE || event->head != 0 || event->i != 0 ||
            event->j >= MOST_TILES)
            continue;
        view_run_checks(run, e + 1, checks);
        if ((int)event->j >= thumb->columns)
            thumb->columns = (int)event->j + 1;
        for (int c = 0; c < VIEW_CHECKS; c++)
            if (checks[c].verdict == VIEW_BAD)
                thumb->cell[event->j] = 0;
    }
    return thumb->columns > 0;
}

static bool make_waves(const struct view_run *run, struct view_thumb *thumb)
{
    uint64_t blocks, sms;
    if (!view_run_blocks(run, &blocks, &sms) || sms > (uint64_t)VIEW_THUMB_SIDE * VIEW_THUMB_SIDE)
        return false;
    thumb->kind = VIEW_THUMB_WAVES;
    thumb->rows = 4;
    thumb->columns = (int)((sms + 3) / 4);
    thumb->n_sms = (int)sms;
    for (uint64_t sm = 0; sm < sms; sm++)
        thumb->cell[sm] = sm < blocks;
    return true;
}

static void count(const struct view_run *run, uint64_t moved[FA_HBM_TENSORS])
{
    const struct fa_problem *p = &view_run_header(run)->problem;
    struct sim_state state;
    view_run_state(run, view_run_length(run), &state);
    sim_counters_merge_pd(&state.counters);
    for (int id = 0; id < FA_HBM_TENSORS; id++)
        moved[id] = sim_counters_read(&state.counters, p, (enum fa_tensor_id)id).bytes +
                    sim_counters_write(&state.counters, p, (enum fa_tensor_id)id).bytes;
}

void view_thumb_make(struct view_run *run, struct view_run *second, const char *stage,
                     struct view_thumb *thumb)
{
    bool made = false;
    memset(thumb, 0, sizeof *thumb);
    count(run, thumb->moved[0]);
    thumb->second = second != NULL;
    if (second)
        count(second, thumb->moved[1]);
    if (strcmp(stage, "row") == 0)
        made = make_row(run, thumb);
    else if (strcmp(stage, "scale") == 0)
        made = make_scale(run, thumb);
    else if (strcmp(stage, "bits") == 0)
        made = make_bits(run, thumb);
    else if (strcmp(stage, "tiles") == 0)
        made = make_shapes(run, second, thumb);
    else if (strcmp(stage, "errors") == 0)
        made = make_checks(run, thumb);
    else if (strcmp(stage, "waves") == 0)
        made = make_waves(run, thumb);
    made = made || make_blocks(run, thumb);
    if (!made && (second || strcmp(stage, "plot") == 0))
        thumb->kind = VIEW_THUMB_TRAFFIC;
    else if (!made)
        make_tiles(run, thumb);
}
