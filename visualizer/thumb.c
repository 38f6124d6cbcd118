#include "visualizer/thumb.h"

#include <math.h>
#include <string.h>

#include "reference/dropout.h"
#include "visualizer/parts.h"

const struct lesson_step *view_thumb_step(const struct lesson *lesson)
{
    for (int s = lesson->n_steps - 1; s >= 0; s--) {
        const char *stage = lesson->step[s].show.stage;
        if (stage && strcmp(stage, "cross") != 0)
            return &lesson->step[s];
    }
    return &lesson->step[lesson->n_steps - 1];
}

/* ---- made from runs ---- */

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
    if (!made && (second || strcmp(stage, "plot") == 0))
        thumb->kind = VIEW_THUMB_TRAFFIC;
    else if (!made)
        make_tiles(run, thumb);
}

/* ---- drawn ---- */

static uint64_t sum_of(const uint64_t moved[FA_HBM_TENSORS])
{
    uint64_t sum = 0;
    for (int id = 0; id < FA_HBM_TENSORS; id++)
        sum += moved[id];
    return sum;
}

/* Patterns would be noise at this size; the lesson shows them. */
static void draw_part(struct view_draw *draw, struct view_box box, enum fa_tensor_id id)
{
    if (box.w <= 0)
        return;
    struct view_look look = view_tensor_look(draw->theme, id);
    view_fill(draw, box, look.fill);
    if (box.w > 3)
        view_frame_box(draw, box, 0, 1, look.line);
}

/* What moved as one bar, `most` bytes over the box's width. */
static void draw_moved(struct view_draw *draw, struct view_box box,
                       const uint64_t moved[FA_HBM_TENSORS], uint64_t most)
{
    double before = 0;
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        double from = before / (double)most, to = (before + (double)moved[id]) / (double)most;
        float left = roundf(box.x + box.w * (float)from), right = roundf(box.x + box.w * (float)to);
        before += (double)moved[id];
        draw_part(draw, view_box_make(left, box.y, right - left, box.h), (enum fa_tensor_id)id);
    }
}

static void draw_cell(struct view_draw *draw, struct view_box box, uint8_t what)
{
    struct view_look look = view_tensor_look(draw->theme, FA_S);
    if (what == VIEW_THUMB_SKIPPED)
        return;
    bool framed = fminf(box.w, box.h) >= 5;
    bool apart = fminf(box.w, box.h) == 3; /* without a frame, and none round all of them */
    struct view_color fill = apart ? view_mix(look.fill, look.line, 0.25) : look.fill;
    view_fill(draw, box, what == VIEW_THUMB_CUT ? view_mix(draw->theme->panel, fill, 0.5) : fill);
    if (framed)
        view_frame_box(draw, box, 0, 1, look.line);
}

static void draw_tiles(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb)
{
    int more = thumb->rows > thumb->columns ? thumb->rows : thumb->columns;
    float pitch = floorf(box.h / (float)more), gap = pitch >= 4 ? 1 : 0;
    uint64_t most = sum_of(thumb->moved[0]);

    pitch = fmaxf(1, fminf(pitch, 12));
    gap = pitch >= 6 ? 2 : gap;
    float height = pitch * (float)thumb->rows, width = pitch * (float)thumb->columns;
    float x = box.x, y = floorf(box.y + (box.h - height) / 2);
    if (gap == 0)
        view_frame_box(draw, view_box_make(x - 1, y - 1, width + 2, height + 2), 0, 1,
                       view_tensor_look(draw->theme, FA_S).line);
    for (int r = 0; r < thumb->rows; r++)
        for (int c = 0; c < thumb->columns; c++)
            draw_cell(
                draw,
                view_box_make(x + (float)c * pitch, y + (float)r * pitch, pitch - gap, pitch - gap),
                thumb->cell[r * thumb->columns + c]);
    view_cut_left(&box, width + 14);
    if (most > 0 && box.w >= 24)
        draw_moved(draw, view_box_make(box.x, floorf(box.y + box.h / 2) - 6, box.w, 12),
                   thumb->moved[0], most);
}

static void draw_traffic(struct view_draw *draw, struct view_box box,
                         const struct view_thumb *thumb)
{
    uint64_t first = sum_of(thumb->moved[0]), second = sum_of(thumb->moved[1]);
    uint64_t most = first > second ? first : second;
    float high = floorf(fminf(14, (box.h - 5) / 2)), y = floorf(box.y + box.h / 2);
    if (most == 0)
        return;
    if (!thumb->second) {
        draw_moved(draw, view_box_make(box.x, y - 8, box.w, 16), thumb->moved[0], most);
        return;
    }
    draw_moved(draw, view_box_make(box.x, y - 2 - high, box.w, high), thumb->moved[0], most);
    draw_moved(draw, view_box_make(box.x, y + 3, box.w, high), thumb->moved[1], most);
}

static void draw_row(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb)
{
    struct view_look look = view_tensor_look(draw->theme, FA_P);
    float pitch = floorf(fminf(26, box.w / (float)thumb->columns)), gap = pitch >= 12 ? 6 : 1;
    float most = 0;

    for (int k = 0; k < thumb->columns; k++)
        most = fmaxf(most, thumb->weight[k]);
    for (int k = 0; k < thumb->columns; k++) {
        float high = most > 0 ? fmaxf(2, roundf(box.h * thumb->weight[k] / most)) : 2;
        struct view_box bar = {box.x + (float)k * pitch, box.y + box.h - high,
                               fmaxf(1, pitch - gap), high};
        view_fill(draw, bar, look.fill);
        if (bar.w >= 4 && bar.h >= 4)
            view_frame_box(draw, bar, 0, 1, look.line);
    }
}

static void draw_scale(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb)
{
    double ratio = sqrt((double)thumb->sram / (double)thumb->scores);
    float scores = box.h / (float)fmax(1, ratio), sram = fmaxf(2, scores * (float)ratio);
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CELL, draw->theme->text2);
    struct view_look look = view_tensor_look(draw->theme, FA_S);
    struct view_box s = {box.x, box.y + box.h - scores, scores, scores};

    view_fill(draw, s, view_mix(draw->theme->panel, look.fill, 0.45));
    view_frame_dashed(draw, s, 1, 5, 4, look.line);
    view_cut_left(&box, scores + 14);
    view_fill(draw, view_box_make(box.x, box.y + box.h - sram, sram, sram), draw->theme->text);
    view_cut_left(&box, sram + 6);
    view_text_in(draw, view_box_make(box.x, box.y + box.h - 15, box.w, 15), VIEW_LEFT, type,
                 "SRAM");
}

static void draw_bits(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb)
{
    float pitch = floorf(fminf(box.h / (float)thumb->rows, box.w / (float)thumb->columns));
    for (int r = 0; r < thumb->rows; r++)
        for (int c = 0; c < thumb->columns; c++) {
            struct view_box bit = {box.x + (float)c * pitch, box.y + (float)r * pitch, pitch - 2,
                                   pitch - 2};
            if (thumb->cell[r * thumb->columns + c])
                view_fill(draw, bit, draw->theme->text2);
            else
                view_frame_box(draw, bit, 0, 1, draw->theme->edge);
        }
}

void view_thumb_draw(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb)
{
    static void (*const kinds[])(struct view_draw *, struct view_box, const struct view_thumb *) = {
        [VIEW_THUMB_TILES] = draw_tiles, [VIEW_THUMB_TRAFFIC] = draw_traffic,
        [VIEW_THUMB_ROW] = draw_row,     [VIEW_THUMB_SCALE] = draw_scale,
        [VIEW_THUMB_BITS] = draw_bits,
    };
    if (thumb)
        kinds[thumb->kind](draw, box, thumb);
    else
        view_fill_round(draw, box, 4, view_mix(draw->theme->panel, draw->theme->bg, 0.5));
}
