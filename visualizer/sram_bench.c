#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "simulator/trace_ops.h"
#include "visualizer/cross.h"

struct bench_painter {
    struct view_draw *draw;
    const struct view_scene *scene;
    const struct view_moment *moment;
    const struct view_bench *bench;
};

/* ---- names ----------------------------------------------------------------------------------- */

/* What an empty slot is for: that of the scores, where a pass reads P alone, for P. */
static enum fa_tensor_id empty_name(const struct bench_painter *p, enum fa_tensor_id slot)
{
    uint32_t chip = sim_tensors_on_chip(view_run_header(p->moment->run));
    return slot == FA_S && !(chip & FA_BIT(FA_S)) ? FA_P : slot;
}

/* "K[2]", "S[1,2]", "S rows 8 to 15" (rows that are no tile), or the letter alone. */
static void name_text(const struct bench_painter *p, enum fa_tensor_id slot,
                      const struct view_hold *hold, bool held, char *text, size_t size)
{
    struct fa_tiles tiles = view_run_tiles(p->moment->run);
    enum fa_tensor_id id = held ? hold->id : empty_name(p, slot);
    const char *letter = view_tensor_look(p->draw->theme, id).letter;
    bool score = sim_is_score_tile(slot), keys = sim_is_key_side(slot);
    const struct sim_resident *r = view_slot_resident(p->moment, slot);
    int64_t i = p->moment->i, j = p->moment->j;

    if (held) {
        i = hold->row / (keys ? 1 : tiles.br);
        j = keys ? hold->row / tiles.bc : hold->column / tiles.bc;
    }
    bool rows = score && r &&
                (r->columns > tiles.bc || r->rows > tiles.br ||
                 (held && (hold->row % tiles.br || hold->column % tiles.bc)));
    if (!held && view_at_rows(p->moment))
        i = j = -1;
    if (rows && held)
        snprintf(text, size, "%s rows %" PRId64 " to %" PRId64, letter, hold->row,
                 hold->row + hold->rows - 1);
    else if (score && i >= 0 && j >= 0 && !rows)
        snprintf(text, size, "%s[%" PRId64 ",%" PRId64 "]", letter, i, j);
    else if (!score && (keys ? j : i) >= 0)
        snprintf(text, size, "%s[%" PRId64 "]", letter, keys ? j : i);
    else
        snprintf(text, size, "%s", letter);
}

/* Above the slot: the name, the letter alone where that has no room. Returns where it ends. */
static float paint_name(const struct bench_painter *p, enum fa_tensor_id slot,
                        const struct view_hold *hold, bool held)
{
    enum fa_tensor_id id = held ? hold->id : empty_name(p, slot);
    struct view_look look = view_tensor_look(p->draw->theme, id);
    struct view_type type = view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, look.line);
    struct view_box box = p->bench->slot[slot].box;
    bool statistic = !sim_is_score_tile(slot) && p->bench->slot[slot].columns == 1;
    struct view_box line = {box.x, box.y - 18, box.w + p->bench->gap - 2, 16};
    char text[80];

    name_text(p, slot, hold, held, text, sizeof text);
    if (p->bench->beside && (slot == FA_DP || sim_is_key_side(slot))) {
        line = view_box_make(p->bench->area.x, roundf(box.y + (box.h - 16) / 2),
                             box.x - 8 - p->bench->area.x, 16);
        if (box.h >= 16)
            view_text_in(p->draw, line, VIEW_RIGHT, type, "%s", text);
        return box.x;
    }
    if (statistic) { /* a narrow column: in its middle, and no number */
        line = view_box_make(box.x - 5, line.y, box.w + 10, 16);
        view_text_in(p->draw, line, VIEW_CENTRE, type, "%s",
                     slot == FA_TILE_M   ? "m~"
                     : slot == FA_TILE_L ? "ℓ~"
                                         : look.letter);
    } else if (!view_text_in(p->draw, line, VIEW_LEFT, type, "%s", text)) {
        view_text_in(p->draw, line, VIEW_LEFT, type, "%s", look.letter);
    } else {
        return box.x + view_text_width(p->draw, type, text);
    }
    return box.x + view_text_width(p->draw, type, look.letter);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void paint_numbers(const struct bench_painter *p, const struct view_matrix *slot,
                          const struct view_hold *hold)
{
    for (int64_t r = 0; r < hold->rows; r++)
        for (int64_t c = 0; c < hold->columns; c++) {
            double value = 0;
            struct view_box box = view_matrix_part(slot, r, c, 1, 1);
            enum view_cell_state state =
                view_values_chip(p->moment->values, hold->id, r, c, &value);
            view_cell_draw(p->draw, box, hold->id, state, value, p->moment->most[hold->id]);
            /* A number needs its whole cell: the line between two is drawn over the edge. */
            view_fill(p->draw, view_box_make(box.x + box.w - 1, box.y, 1, box.h),
                      p->draw->theme->panel);
            view_fill(p->draw, view_box_make(box.x, box.y + box.h - 1, box.w, 1),
                      p->draw->theme->panel);
        }
}

/* One image: of more numbers than pixels every nth. */
static void paint_shades(const struct bench_painter *p, const struct view_matrix *slot,
                         const struct view_hold *hold)
{
    struct view_box box = view_matrix_part(slot, 0, 0, hold->rows, hold->columns);
    int64_t across = slot->sideways ? hold->rows : hold->columns;
    int64_t down = slot->sideways ? hold->columns : hold->rows;
    int64_t wide = across < (int64_t)box.w ? across : (int64_t)box.w;
    int64_t high = down < (int64_t)box.h ? down : (int64_t)box.h;
    struct view_shades shades;
    struct view_color *cells = view_image(p->draw, box, (int)wide, (int)high);

    view_shades_make(p->draw->theme, hold->id, p->moment->most[hold->id], &shades);
    for (int64_t y = 0; cells && y < high; y++)
        for (int64_t x = 0; x < wide; x++) {
            int64_t a = x * across / wide, d = y * down / high;
            double value = 0;
            struct view_color color = p->draw->theme->panel;
            if (view_values_chip(p->moment->values, hold->id, slot->sideways ? a : d,
                                 slot->sideways ? d : a, &value) == VIEW_CELL_VALUE)
                color = view_shades_color(&shades, value);
            cells[y * wide + x] = color;
        }
}

/* ---- rings ----------------------------------------------------------------------------------- */

/* What the event that landed last has used and made: operands in their colour, what it wrote in
 * text. */
static void paint_rings(const struct bench_painter *p)
{
    const struct sim_event *event = p->moment->last;
    const struct view_run *run = p->moment->run;
    if (!event || p->moment->next || p->scene->frame->rate > 60)
        return;
    enum fa_tensor_id of = view_slot_of(run, (enum fa_tensor_id)event->tensor);
    for (int slot = 0; slot < FA_TENSORS; slot++) {
        const struct view_matrix *m = &p->bench->slot[slot];
        if (!m->on || m->box.w <= 0)
            continue;
        bool made = false, used = false;
        if (event->kind == SIM_LOAD || event->kind == SIM_STORE) {
            made = of == (enum fa_tensor_id)slot;
        } else if (event->kind == SIM_COMPUTE) {
            const struct sim_op *op = sim_op_of((enum fa_op)event->op);
            made = of == (enum fa_tensor_id)slot;
            for (int id = 0; id < FA_TENSORS; id++)
                used |= op->reads >> id & 1 &&
                        view_slot_of(run, (enum fa_tensor_id)id) == (enum fa_tensor_id)slot;
        }
        if (made)
            view_ring(p->draw, m->box, 1, 2, p->draw->theme->text);
        else if (used)
            view_ring(p->draw, m->box, 2, 1,
                      view_tensor_look(p->draw->theme, (enum fa_tensor_id)slot).line);
    }
}

/* ---- a slot ---------------------------------------------------------------------------------- */

/* Nothing is there: dashes, in the tensor's colour where its place is reserved. */
static void paint_empty(const struct bench_painter *p, enum fa_tensor_id slot, bool reserved,
                        bool spent)
{
    const struct view_theme *theme = p->draw->theme;
    struct view_box box = p->bench->slot[slot].box;
    struct view_color line = view_tensor_look(theme, empty_name(p, slot)).line;
    view_frame_dashed(p->draw, box, 1, 2, 3, reserved ? line : theme->edge);
    if (spent)
        view_tile(p->draw, box, slot, VIEW_TILE_USED);
}

/* Of the tile that the backward pass makes again: behind its name, or below it. */
static void paint_again(const struct bench_painter *p, const struct view_matrix *m, float from)
{
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CELL, p->draw->theme->text2);
    struct view_box line = {from + 6, m->box.y - 18, m->box.x + m->box.w - from - 6, 16};
    if (p->bench->beside)
        view_text(p->draw, m->box.x + m->box.w / 2, m->box.y + m->box.h + 2, VIEW_CENTRE, type,
                  "recomputed");
    else if (line.w > 0)
        view_text_in(p->draw, line, VIEW_RIGHT, type, "recomputed");
}

/* flash2 divides once, at the end: until then O on chip is larger than the answer. */
static void paint_undivided(const struct bench_painter *p, const struct view_hold *hold)
{
    struct view_box box = p->bench->slot[FA_O].box;
    if (!view_undivided(p->moment, hold))
        return;
    struct view_box area = p->bench->area;
    struct view_box line = {box.x, box.y + box.h + 3, area.x + area.w - box.x, 16};
    if (line.y + 16 <= area.y + area.h)
        view_text_in(p->draw, line, VIEW_LEFT,
                     view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, p->draw->theme->text2),
                     "not yet divided by ℓ");
}

static void paint_slot(const struct bench_painter *p, enum fa_tensor_id slot)
{
    const struct view_matrix *m = &p->bench->slot[slot];
    const struct sim_resident *r = view_slot_resident(p->moment, slot);
    struct view_hold hold;
    bool held = view_slot_hold(p->moment, slot, &hold), shown = held && !hold.spent;
    float cell_w = m->box.w / (float)(m->sideways ? m->rows : m->columns);
    float cell_h = m->box.h / (float)(m->sideways ? m->columns : m->rows);
    float name_end = m->box.x;

    if (p->bench->labelled)
        name_end = paint_name(p, slot, &hold, shown);
    if (!shown) {
        const struct sim_event *next = p->moment->next;
        bool filling = next && next->kind == SIM_COMPUTE &&
                       view_slot_of(p->moment->run, (enum fa_tensor_id)next->tensor) == slot;
        paint_empty(p, slot, r != NULL, held && hold.spent && !filling);
        return;
    }
    bool ragged = hold.rows < m->rows || hold.columns < m->columns;
    if (ragged)
        view_frame_dashed(p->draw, m->box, 1, 2, 3, view_tensor_look(p->draw->theme, slot).line);
    struct view_box full = view_matrix_part(m, 0, 0, hold.rows, hold.columns);
    if (!p->moment->values)
        view_tile(p->draw, full, hold.id, VIEW_TILE_FULL);
    else if (cell_w >= 30 && cell_h >= 16)
        paint_numbers(p, m, &hold);
    else
        paint_shades(p, m, &hold);
    if (p->moment->values)
        view_tensor_frame(p->draw, full, hold.id);
    if (p->bench->labelled && view_run_backward(p->moment->run) && slot == FA_S &&
        sim_tensors_on_chip(view_run_header(p->moment->run)) & FA_BIT(FA_S))
        paint_again(p, m, name_end);
    if (p->bench->labelled && slot == FA_O)
        paint_undivided(p, &hold);
}

/* ---- a larger maximum ------------------------------------------------------------------------ */

enum { TAG_HIGH = 20, FEW_ROWS = 4 };

static void paint_tag(const struct bench_painter *p, float x, float y, const char *text)
{
    const struct view_theme *theme = p->draw->theme;
    struct view_type type = view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, theme->bg);
    struct view_box box = {roundf(x), roundf(y), ceilf(view_text_width(p->draw, type, text)) + 12,
                           TAG_HIGH};
    view_fill_round(p->draw, box, 4, theme->text);
    view_text_in(p->draw, box, VIEW_CENTRE, type, "%s", text);
}

/* Where the tag fits: right of the rows, else below O and what stands there; false if nowhere. */
static bool tag_place(const struct bench_painter *p, struct view_box rows, float wide, float *x,
                      float *y)
{
    struct view_box area = p->bench->area, o = p->bench->slot[FA_O].box;
    if (rows.x + rows.w + 6 + wide <= area.x + area.w) {
        *x = rows.x + rows.w + 6;
        *y = rows.y + (rows.h - TAG_HIGH) / 2;
        return true;
    }
    *x = fminf(o.x, area.x + area.w - wide);
    *y = o.y + o.h + 22;
    return *x >= o.x - 8 && *y + TAG_HIGH <= area.y + area.h;
}

static void frame_rows(const struct bench_painter *p, const struct view_rescale *r,
                       struct view_box all)
{
    const struct view_matrix *o = &p->bench->slot[FA_O];
    struct view_color color = p->draw->theme->text;
    if (r->rows <= FEW_ROWS) {
        for (int64_t row = 0; row < r->rows; row++)
            if (r->factors[row] != 1) {
                struct view_box cells = view_matrix_part(o, row, 0, 1, 1);
                view_frame_box(p->draw,
                               view_box_make(all.x - 3, cells.y - 2, all.w + 6, cells.h + 3), 3, 2,
                               color);
            }
        return;
    }
    /* Of many rows one bracket on the right. */
    float x = all.x + all.w + 3;
    view_line(p->draw, x, all.y + 1, x, all.y + all.h - 1, 2, color);
    view_line(p->draw, x - 3, all.y + 1, x, all.y + 1, 2, color);
    view_line(p->draw, x - 3, all.y + all.h - 1, x, all.y + all.h - 1, 2, color);
}

static void paint_rescale(const struct bench_painter *p)
{
    const struct sim_event *event = p->moment->last;
    const struct view_matrix *o = &p->bench->slot[FA_O], *l = &p->bench->slot[FA_L],
                             *m = &p->bench->slot[FA_M];
    char text[96], factor[VIEW_NUMBER_TEXT];

    if (!event || event->kind != SIM_COMPUTE || p->scene->frame->covered || !o->on ||
        p->scene->frame->rate > 16)
        return;
    const struct view_rescale *r = view_run_rescale(p->moment->run, p->moment->at.landed - 1);
    if (!r || r->rose == 0)
        return;
    float end = fmaxf(l->on ? l->box.x + l->box.w : 0, m->on ? m->box.x + m->box.w : 0);
    struct view_box all = {o->box.x, o->box.y, fmaxf(end - o->box.x, o->box.w), o->box.h};
    frame_rows(p, r, all);
    if (!p->bench->labelled)
        return;
    int64_t row = r->first_row % (o->rows > 0 ? o->rows : 1);
    snprintf(factor, sizeof factor, "%.3g", r->least_factor);
    struct view_type type = view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, p->draw->theme->bg);
    struct view_box rows = all;
    if (r->rose == 1) {
        snprintf(text, sizeof text, "× %s", factor);
        rows = view_matrix_part(o, row, 0, 1, 1);
        rows.x = all.x, rows.w = all.w;
        float wide = view_text_width(p->draw, type, text) + 12;
        if (row == 0 && r->rows <= FEW_ROWS && o->box.w >= 44 + wide) { /* above, as by hand */
            paint_tag(p, o->box.x + o->box.w - wide, o->box.y - TAG_HIGH - 4, text);
            return;
        }
    }
    float x = 0, y = 0;
    for (int less = 0; less < 2; less++) {
        if (less == 1 || (r->rose == 1 && r->rows <= FEW_ROWS && rows.h >= TAG_HIGH))
            snprintf(text, sizeof text, "× %s", factor);
        else if (r->rose == 1)
            snprintf(text, sizeof text, "row %" PRId64 " × %s", r->first_row, factor);
        else
            snprintf(text, sizeof text, "%" PRId64 " of %" PRId64 " rows, least × %s", r->rose,
                     r->rows, factor);
        float wide = ceilf(view_text_width(p->draw, type, text)) + 12;
        if (tag_place(p, rows, wide, &x, &y)) {
            paint_tag(p, x, y, text);
            return;
        }
    }
}

/* ---- what cannot be read --------------------------------------------------------------------- */

static void paint_hint(const struct bench_painter *p)
{
    const struct view_matrix *s = &p->bench->slot[FA_S];
    const struct view_matrix *v = &p->bench->slot[FA_V], *dv = &p->bench->slot[FA_DV];
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, p->draw->theme->text2);
    struct view_box area = p->bench->area;
    float low = fmaxf(s->box.y + s->box.h,
                      fmaxf(v->on ? v->box.y + v->box.h : 0, dv->on ? dv->box.y + dv->box.h : 0));
    struct view_box room = {area.x, low + 12, area.w, area.y + area.h - low - 12};
    char text[160], each[48];
    if (p->bench->cell >= 4 || !p->bench->labelled || p->scene->frame->run[1])
        return;
    if (p->bench->cell >= 2)
        snprintf(each, sizeof each, "one number %d pixels", (int)p->bench->cell);
    else if (p->bench->cell >= 1)
        snprintf(each, sizeof each, "one number a pixel");
    else
        snprintf(each, sizeof each, "a pixel shows one of several");
    snprintf(text, sizeof text, "S is %s × %s numbers, %s. Point at one to read it.",
             SIM_GROUPED(s->rows), SIM_GROUPED(s->columns), each);
    view_text_wrapped(p->draw, room, type, 0, text, NULL);
}

void view_sram_bench(struct view_draw *draw, const struct view_scene *scene, int which)
{
    struct view_bench bench;
    struct bench_painter p = {draw, scene, &scene->moment[which], &bench};
    view_cross_bench(scene, which, &bench);
    for (int slot = 0; slot < FA_TENSORS; slot++)
        if (bench.slot[slot].on && bench.slot[slot].box.w > 0)
            paint_slot(&p, (enum fa_tensor_id)slot);
    paint_rings(&p);
    paint_rescale(&p);
    paint_hint(&p);
}
