#include "visualizer/cross.h"

#include <math.h>

#include "simulator/trace_ops.h"

/* Slots by column from left to right, and by row from the top; S and dP are the middle. */
static const enum fa_tensor_id on_left[] = {FA_DQ, FA_Q}, above[] = {FA_DK, FA_K},
                               middle[] = {FA_S, FA_DP}, below[] = {FA_V, FA_DV},
                               on_right[] = {FA_O, FA_DO},
                               statistics[] = {FA_M, FA_L, FA_LSE, FA_DELTA, FA_TILE_M, FA_TILE_L};

enum {
    LEFT = 2,
    ABOVE = 2,
    MIDDLE = 2,
    BELOW = 2,
    RIGHT = 2,
    STATISTICS = 6,
    NUMBER_WIDE = 30,
    NUMBER_HIGH = 16,
    MOST_CELL = 64,
    BESIDE_GAP = 9
};

/* ---- which slot holds what ------------------------------------------------------------------- */

enum fa_tensor_id view_slot_of(const struct view_run *run, enum fa_tensor_id id)
{
    uint32_t chip = sim_tensors_on_chip(view_run_header(run));
    switch (id) {
    case FA_P:
    case FA_PD:
        id = FA_S;
        return chip & (FA_BIT(FA_S) | FA_BIT(FA_P) | FA_BIT(FA_PD)) ? id : FA_TENSORS;
    case FA_S:
        break;
    case FA_DS:
        id = FA_DP;
        break;
    case FA_LSE:
        if (chip & FA_BIT(FA_M))
            id = FA_M;
        break;
    default:
        break;
    }
    return chip & FA_BIT(id) ? id : FA_TENSORS;
}

const struct sim_resident *view_slot_resident(const struct view_moment *moment,
                                              enum fa_tensor_id slot)
{
    const struct sim_resident *chip = moment->state.on_chip;
    static const enum fa_tensor_id in_s[] = {FA_S, FA_P, FA_PD}, in_dp[] = {FA_DP, FA_DS},
                                   in_m[] = {FA_M, FA_LSE};
    const enum fa_tensor_id *names = &slot;
    int n = 1;
    if (slot == FA_S)
        names = in_s, n = 3;
    else if (slot == FA_DP)
        names = in_dp, n = 2;
    else if (slot == FA_M)
        names = in_m, n = 2;
    for (int k = 0; k < n; k++)
        if (names[k] < FA_TENSORS && chip[names[k]].live)
            return &chip[names[k]];
    return NULL;
}

/* Whether the event left numbers in the slot. */
static bool event_wrote(const struct view_run *run, const struct sim_event *event,
                        enum fa_tensor_id slot)
{
    if (event->kind == SIM_LOAD)
        return view_slot_of(run, (enum fa_tensor_id)event->tensor) == slot;
    if (event->kind != SIM_COMPUTE)
        return false;
    const struct sim_op *op = sim_op_of((enum fa_op)event->op);
    for (int k = 0; k < op->n_results; k++)
        if (view_slot_of(run, (enum fa_tensor_id)op->results[k].tensor) == slot)
            return true;
    return false;
}

/* The last event before `landed` that wrote into the slot, NULL: none since its tile was
 * reserved. */
static const struct sim_event *last_write(const struct view_run *run, enum fa_tensor_id slot,
                                          uint64_t landed, uint64_t *index)
{
    enum { LOOK_BACK = 100000 };
    for (uint64_t back = 0; back < LOOK_BACK && back < landed; back++) {
        const struct sim_event *event = view_run_event(run, landed - 1 - back);
        if (event->kind == SIM_ALLOC && view_slot_of(run, (enum fa_tensor_id)event->tensor) == slot)
            return NULL;
        if (event_wrote(run, event, slot)) {
            *index = landed - 1 - back;
            return event;
        }
    }
    return NULL;
}

bool view_slot_hold(const struct view_moment *moment, enum fa_tensor_id slot,
                    struct view_hold *hold)
{
    const struct sim_resident *resident = view_slot_resident(moment, slot);
    struct fa_tiles tiles = view_run_tiles(moment->run);
    uint64_t index = UINT64_MAX;

    *hold =
        (struct view_hold){.id = slot, .i = -1, .j = -1, .written = UINT64_MAX, .op = FA_OP_COUNT};
    if (!resident || resident->held_rows == 0 || resident->held_columns == 0)
        return false;
    hold->id = resident->holds;
    hold->rows = resident->held_rows;
    hold->columns = resident->held_columns;
    const struct sim_event *event = last_write(moment->run, slot, moment->at.landed, &index);
    if (event) {
        hold->written = index;
        hold->op = event->kind == SIM_COMPUTE ? (enum fa_op)event->op : FA_OP_COUNT;
        hold->head = event->head;
        hold->i = event->i == SIM_NO_TILE ? -1 : (int64_t)event->i;
        hold->j = event->j == SIM_NO_TILE ? -1 : (int64_t)event->j;
    }
    if (resident->loaded) {
        hold->head = resident->head;
        hold->row = resident->row;
        hold->column = resident->column;
    } else {
        bool keys = sim_is_key_side(slot);
        int64_t i = hold->i < 0 ? 0 : hold->i, j = hold->j < 0 ? 0 : hold->j;
        hold->row = keys ? j * tiles.bc : i * tiles.br;
        hold->column = sim_is_score_tile(slot) ? j * tiles.bc : 0;
    }
    /* Scores stay on chip until others are written over them; their work is done as soon as an
     * event is about another tile. */
    const struct sim_event *last = moment->last;
    hold->spent = (slot == FA_S || slot == FA_DP) && !resident->loaded && event && last &&
                  event->i != SIM_NO_TILE && event->j != SIM_NO_TILE &&
                  (last->i != event->i || last->j != event->j);
    return true;
}

/* ---- SRAM's parts ---------------------------------------------------------------------------- */

/* Under the bench where there is room for a row of them, or three; in a low window beside the title. */
static void place_checks(struct view_box *inside, struct view_sram_places *places)
{
    enum { CHIP = 26, APART = 4, WORDS = 456, SIGNS = 112 };
    float lines = inside->w >= WORDS ? 1 : 3;
    if (inside->h >= (lines == 1 ? 300 : 400) && inside->w >= 150) {
        /* Side by side where their words have room, else below each other. */
        places->checks = view_cut_bottom(inside, lines * CHIP + (lines - 1) * APART);
        view_cut_bottom(inside, 8);
    } else if (places->title.h > 0 && inside->h < 300 && inside->w >= 300 && inside->h >= 100) {
        places->checks = view_cut_right(&places->title, SIGNS); /* a tick or a cross each */
        view_cut_right(&places->title, 8);
        places->checks.y += APART;
        places->checks.h = CHIP;
        view_cut_top(inside, APART);
    }
}

void view_sram_places(const struct view_scene *scene, int which, struct view_sram_places *places)
{
    struct view_box box = scene->layout.sram[which];
    bool mini = scene->layout.class == VIEW_MINI;
    float pad = mini ? 6 : scene->layout.class == VIEW_COMPACT ? 10 : 12;

    *places = (struct view_sram_places){0};
    if (box.w < 40 || box.h < 40)
        return;
    struct view_box inside = view_box_inset(box, pad, 0);
    view_cut_bottom(&inside, mini ? 4 : 8);
    if (box.h >= 84)
        places->title = view_cut_top(&inside, 26);
    else
        view_cut_top(&inside, 4);
    if (!scene->frame->run[1])
        place_checks(&inside, places);
    if (inside.h >= 60) {
        places->bar = view_cut_bottom(&inside, inside.h >= 220 ? 22 : inside.h >= 100 ? 18 : 12);
        view_cut_bottom(&inside, 8);
    }
    places->bench = inside;
}

/* ---- the bench ------------------------------------------------------------------------------- */

struct bench_scale {
    double wide, high, high_strip; /* a number's size; of K and V, whose rows are d numbers */
    float gap, label, least_statistic;
    float below_p;
    float row_label; /* over the rows of the middle column but S, whose row has columns beside it */
    bool narrow;     /* statistics are as narrow as can be: without numbers */
};

/* Rows and columns that a slot is for: the tile's, as the run cuts the tensor. */
static void take_slot(struct view_bench *bench, const struct view_moment *moment,
                      enum fa_tensor_id id)
{
    const struct fa_problem *p = &view_run_header(moment->run)->problem;
    struct fa_tiles tiles = view_run_tiles(moment->run);
    struct view_matrix *slot = &bench->slot[id];
    int64_t br = tiles.br < p->nq ? tiles.br : p->nq, bc = tiles.bc < p->nk ? tiles.bc : p->nk;

    bool here = view_slot_of(moment->run, id) == id;
    if (!here && !(id == FA_S && view_slot_of(moment->run, FA_P) == FA_S))
        return;
    sim_matrix_size(p, id, &slot->rows, &slot->columns);
    slot->sideways = sim_is_key_side(id);
    slot->rows = slot->sideways ? bc : br;
    if (sim_is_score_tile(id))
        slot->columns = bc;
    slot->on = slot->rows > 0 && slot->columns > 0;
}

/* Its name stands above it: that of LSE, which m becomes, is wide. */
static float statistic_width(const struct bench_scale *s, enum fa_tensor_id id)
{
    float least = fmaxf(s->least_statistic, (id == FA_LSE || id == FA_M) && s->label > 8 ? 18 : 0);
    return s->narrow ? least : fmaxf(least, fminf((float)round(s->wide), 36));
}

static float slot_width(const struct view_bench *bench, enum fa_tensor_id id,
                        const struct bench_scale *s)
{
    const struct view_matrix *slot = &bench->slot[id];
    if (!slot->on)
        return 0;
    return (float)round((double)slot->columns * s->wide) + s->gap;
}

static float bench_width(const struct view_bench *bench, const struct bench_scale *s)
{
    float width = slot_width(bench, FA_S, s);
    for (int k = 0; k < LEFT; k++)
        width += slot_width(bench, on_left[k], s) + slot_width(bench, on_right[k], s);
    for (int k = 0; k < STATISTICS; k++)
        if (bench->slot[statistics[k]].on)
            width += statistic_width(s, statistics[k]) + s->gap;
    return width - s->gap;
}

static float slot_height(const struct view_matrix *slot, const struct bench_scale *s)
{
    return slot->sideways ? (float)round((double)slot->columns * s->high_strip)
                          : (float)round((double)slot->rows * s->high);
}

static float row_label(const struct bench_scale *s, enum fa_tensor_id id)
{
    /* Below P stands that it was computed again. */
    return id == FA_S ? s->label : id == FA_DP ? fmaxf(s->row_label, s->below_p) : s->row_label;
}

static float bench_height(const struct view_bench *bench, const struct bench_scale *s)
{
    static const enum fa_tensor_id column[] = {FA_DK, FA_K, FA_S, FA_DP, FA_V, FA_DV};
    float height = 0;
    for (int k = 0; k < ABOVE + MIDDLE + BELOW; k++)
        if (bench->slot[column[k]].on)
            height += slot_height(&bench->slot[column[k]], s) + row_label(s, column[k]);
    return height;
}

/* Numbers of 30 x 16 and more, if they fit; the strips of K and V give way first. */
static bool fit_numbers(const struct view_bench *bench, struct bench_scale *s)
{
    double low = NUMBER_WIDE, high = MOST_CELL;
    s->wide = low, s->high = NUMBER_HIGH, s->high_strip = 4;
    s->least_statistic = NUMBER_WIDE, s->narrow = false;
    if (bench_width(bench, s) > bench->area.w)
        s->narrow = true, s->least_statistic = 12;
    if (bench_width(bench, s) > bench->area.w || bench_height(bench, s) > bench->area.h)
        return false;
    while (high - low >= 1) {
        s->wide = floor((low + high + 1) / 2);
        if (bench_width(bench, s) <= bench->area.w)
            low = s->wide;
        else
            high = s->wide - 1;
    }
    s->wide = low;
    for (int up = 0; up < 2 * MOST_CELL; up++) { /* rows and strips grow in turn */
        struct bench_scale larger = *s;
        if (s->high_strip < s->high)
            larger.high_strip += 1;
        else
            larger.high += 1;
        if (larger.high > 0.8 * s->wide || bench_height(bench, &larger) > bench->area.h)
            break;
        *s = larger;
    }
    return true;
}

/* Square cells, of whole pixels where there are any. */
static void fit_shades(const struct view_bench *bench, struct bench_scale *s)
{
    double low = 0, high = MOST_CELL;
    s->narrow = false;
    s->least_statistic = s->label > 8 ? 12 : 8;
    for (int step = 0; step < 40; step++) {
        s->wide = s->high = s->high_strip = (low + high) / 2;
        if (bench_width(bench, s) <= bench->area.w && bench_height(bench, s) <= bench->area.h)
            low = s->wide;
        else
            high = s->wide;
    }
    /* Halves look even enough, and on a screen of twice as many pixels they are whole. */
    low = low >= 3 ? floor(low) : low >= 1 ? floor(2 * low) / 2 : low;
    s->wide = s->high = s->high_strip = low;
}

static float place_column(struct view_bench *bench, enum fa_tensor_id id,
                          const struct bench_scale *s, float x, float y, bool statistic)
{
    struct view_matrix *slot = &bench->slot[id];
    if (!slot->on)
        return x;
    float w = statistic ? statistic_width(s, id) : slot_width(bench, id, s) - s->gap;
    slot->box = view_box_make(x, y, w, slot_height(slot, s));
    return x + w + s->gap;
}

static float place_row(struct view_bench *bench, enum fa_tensor_id id, const struct bench_scale *s,
                       float x, float w, float y)
{
    struct view_matrix *slot = &bench->slot[id];
    if (!slot->on)
        return y;
    slot->box = view_box_make(x, y + row_label(s, id), w, slot_height(slot, s));
    return y + row_label(s, id) + slot->box.h;
}

/* Masks, biases and keep bits have the corners that the cross leaves free. */
static void place_corner(struct view_bench *bench, enum fa_tensor_id id, struct view_box corner,
                         const struct bench_scale *s)
{
    struct view_matrix *slot = &bench->slot[id];
    if (!slot->on)
        return;
    view_cut_top(&corner, s->label);
    float share = fminf(1, fminf(corner.w / ((float)slot->columns * (float)s->wide),
                                 corner.h / ((float)slot->rows * (float)s->high)));
    float w = floorf((float)slot->columns * (float)s->wide * share);
    float h = floorf((float)slot->rows * (float)s->high * share);
    slot->on = w >= 8 && h >= 8;
    slot->box = view_box_make(corner.x, corner.y + corner.h - h, w, h);
}

static void place_bench(struct view_bench *bench, const struct bench_scale *s)
{
    struct view_box a = bench->area;
    float w = bench_width(bench, s), h = bench_height(bench, s);
    float left = floorf(a.x + (a.w - w) / 2), top = floorf(a.y + (a.h - h) / 2), x = left, y = top;
    float middle_w = slot_width(bench, FA_S, s) - s->gap;

    for (int k = 0; k < LEFT; k++)
        x += slot_width(bench, on_left[k], s);
    for (int k = 0; k < ABOVE; k++)
        y = place_row(bench, above[k], s, x, middle_w, y);
    float centre_x = x, centre_y = y + row_label(s, FA_S);
    for (int k = 0; k < MIDDLE; k++)
        y = place_row(bench, middle[k], s, x, middle_w, y);
    float centre_end = y;
    for (int k = 0; k < BELOW; k++)
        y = place_row(bench, below[k], s, x, middle_w, y);
    x = left;
    for (int k = 0; k < LEFT; k++)
        x = place_column(bench, on_left[k], s, x, centre_y, false);
    x = centre_x + middle_w + s->gap;
    for (int k = 0; k < RIGHT; k++)
        x = place_column(bench, on_right[k], s, x, centre_y, false);
    for (int k = 0; k < STATISTICS; k++)
        x = place_column(bench, statistics[k], s, x, centre_y, true);

    float over = centre_y - s->label - top, right = centre_x + middle_w + s->gap;
    place_corner(bench, FA_MASK, view_box_make(left, top, centre_x - s->gap - left, over), s);
    place_corner(bench, FA_BIAS, view_box_make(right, top, left + w - right, over), s);
    place_corner(bench, FA_DROPOUT,
                 view_box_make(left, centre_end, centre_x - s->gap - left, top + h - centre_end),
                 s);
}

void view_cross_bench(const struct view_scene *scene, int which, struct view_bench *bench)
{
    const struct view_moment *moment = &scene->moment[which];
    struct view_sram_places places;

    *bench = (struct view_bench){.labelled = true};
    view_sram_places(scene, which, &places);
    bench->area = places.bench;
    if (bench->area.w < 40 || bench->area.h < 30)
        return;
    for (int id = 0; id < FA_TENSORS; id++)
        take_slot(bench, moment, (enum fa_tensor_id)id);
    if (!bench->slot[FA_S].on)
        return;

    enum view_class class = scene->layout.class;
    float label = scene->frame->run[1] ? 17 : 19;
    struct bench_scale s = {.gap = class == VIEW_MINI      ? 6
                                   : class == VIEW_COMPACT ? 8
                                                           : 10,
                            .label = label};
    bool corners = bench->slot[FA_MASK].on || bench->slot[FA_BIAS].on || bench->slot[FA_DROPOUT].on;
    /* A backward pass has six rows: their names stand in the corners that the cross leaves free. */
    bench->beside = bench->slot[FA_DP].on && !corners;
    s.row_label = bench->beside ? BESIDE_GAP : label;
    s.below_p = bench->beside ? label : 0;
    if (!scene->layout.numbers || !fit_numbers(bench, &s))
        fit_shades(bench, &s);
    if (s.high * (double)bench->slot[FA_S].rows < 24) { /* names go where that makes much room */
        struct bench_scale bare = {.gap = s.gap, .label = 4, .row_label = 4};
        fit_shades(bench, &bare);
        bench->labelled = bare.high < 1.7 * s.high;
        if (!bench->labelled)
            s = bare;
    }
    place_bench(bench, &s);
    bench->gap = s.gap;
    bench->cell = fmin(s.wide, s.high);
    /* What is on chip says how its place is divided: rows of `standard` are no tiles. */
    for (int id = 0; id < FA_TENSORS; id++) {
        const struct sim_resident *r = view_slot_resident(moment, (enum fa_tensor_id)id);
        if (bench->slot[id].on && r && r->rows > 0 && r->columns > 0) {
            bench->slot[id].rows = r->rows;
            bench->slot[id].columns = r->columns;
        }
    }
}
