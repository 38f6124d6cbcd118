#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "reference/visibility.h"
#include "simulator/trace_ops.h"
#include "visualizer/cross.h"

enum { LEAST_CELL = 4, LEAST_TILE = 6, IMAGE_FROM = 1024, MOST_SIDE = 64 };

struct span {
    int64_t first, end;
};

/* The part of n pieces, evenly along [at, at + length), that lies within [low, high). */
static struct span seen(float at, float length, int64_t n, float low, float high)
{
    double piece = length / (double)n;
    double first = floor((low - at) / piece), end = ceil((high - at) / piece);
    return (struct span){first > 0 ? (int64_t)first : 0, end < (double)n ? (int64_t)end : n};
}

/* Rows and columns of numbers that are seen, in the matrix's own axes. */
static void seen_numbers(const struct view_painter *p, struct span *rows, struct span *columns)
{
    const struct view_matrix *m = p->matrix;
    struct view_box a = p->cross->area, b = m->box;
    struct span across = seen(b.x, b.w, m->sideways ? m->rows : m->columns, a.x, a.x + a.w);
    struct span down = seen(b.y, b.h, m->sideways ? m->columns : m->rows, a.y, a.y + a.h);
    *rows = m->sideways ? across : down;
    *columns = m->sideways ? down : across;
}

static enum view_cell_state value_at(const struct view_painter *p, int64_t row, int64_t column,
                                     double *value)
{
    if (!p->moment->values)
        return VIEW_CELL_NONE;
    return view_values_hbm(p->moment->values, p->id, p->moment->head, row, column, value);
}

/* ---- the state of a tile --------------------------------------------------------------------- */

/* What is on chip of this tensor, as a copy of its numbers in HBM; NULL: nothing. */
static const struct sim_resident *copy_on_chip(const struct view_painter *p)
{
    enum fa_tensor_id slot = view_slot_of(p->moment->run, p->id);
    const struct sim_resident *r = slot == FA_TENSORS ? NULL : view_slot_resident(p->moment, slot);
    if (!r || !r->loaded || !sim_resident_is(r, p->id) || r->head != p->moment->head)
        return NULL;
    return r->held_rows > 0 ? r : NULL;
}

static bool covers(const struct sim_resident *r, const struct view_matrix *m, int64_t row,
                   int64_t column)
{
    int64_t first = row * m->tile_rows, left = column * m->tile_columns;
    return r && r->row < first + m->tile_rows && first < (int64_t)r->row + r->held_rows &&
           r->column < left + m->tile_columns && left < (int64_t)r->column + r->held_columns;
}

/* Whether the pass finds the tensor in HBM when it begins; all others it has to write first. */
static bool given(const struct view_run *run, enum fa_tensor_id id)
{
    uint32_t set = FA_BIT(FA_Q) | FA_BIT(FA_K) | FA_BIT(FA_V) | FA_BIT(FA_MASK) | FA_BIT(FA_BIAS);
    if (view_run_backward(run))
        set |= FA_BIT(FA_O) | FA_BIT(FA_DO) | FA_BIT(FA_LSE) | FA_BIT(FA_L) | FA_BIT(FA_M) |
               FA_BIT(FA_P) | FA_BIT(FA_PD) | FA_BIT(FA_DROPOUT);
    if (view_run_header(run)->has_keep)
        set |= FA_BIT(FA_DROPOUT);
    return set >> id & 1;
}

static unsigned tile_states(const struct view_painter *p, int64_t row, int64_t column,
                            struct view_tile_past *past)
{
    const struct sim_resident *copy = copy_on_chip(p);
    unsigned states = VIEW_TILE_REST;
    *past =
        view_run_past(p->moment->run, p->id, p->moment->head, row, column, p->moment->at.landed);
    bool ahead = past->stores == 0 && !given(p->moment->run, p->id);
    if (ahead)
        states |= VIEW_TILE_AHEAD;
    if (covers(copy, p->matrix, row, column)) {
        if (!ahead)
            states |= VIEW_TILE_FULL;
        if (copy->changed && !ahead)
            states |= VIEW_TILE_STALE;
    }
    return states;
}

/* How strongly a tile is lit while events rush by: what was touched fades in 0.4 s. */
static double glow(const struct view_painter *p, const struct view_tile_past *past)
{
    float rate = p->scene->frame->rate;
    if (rate <= 60 || past->last == UINT64_MAX)
        return 0;
    double age = (double)(p->moment->at.landed - past->last) / rate;
    return age < 0.4 ? 1 - age / 0.4 : 0;
}

/* ---- tiles as squares ------------------------------------------------------------------------ */

static struct view_color tile_color(const struct view_painter *p, int64_t row, int64_t column)
{
    struct view_tile_past past;
    const struct view_theme *theme = p->draw->theme;
    unsigned states = tile_states(p, row, column, &past);
    struct view_color fill = view_tensor_look(theme, p->id).fill;
    if (states & VIEW_TILE_AHEAD)
        return theme->panel;
    double lit = states & VIEW_TILE_FULL && p->scene->frame->rate <= 60 ? 1 : glow(p, &past);
    return view_mix(theme->panel, fill, 0.45 + 0.55 * lit);
}

/* So many tiles that frames of their own would be noise: colours, n x n tiles each. */
static void paint_tile_image(const struct view_painter *p, int64_t n)
{
    const struct view_matrix *m = p->matrix;
    int64_t tr = view_matrix_tile_rows(m), tc = view_matrix_tile_columns(m);
    int64_t rows = fa_tile_count(tr, n), columns = fa_tile_count(tc, n);
    int64_t across = m->sideways ? rows : columns, down = m->sideways ? columns : rows;
    struct view_color *cells = view_image(p->draw, m->box, (int)across, (int)down);
    for (int64_t r = 0; cells && r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            int64_t last_r = (r + 1) * n < tr ? (r + 1) * n - 1 : tr - 1;
            int64_t last_c = (c + 1) * n < tc ? (c + 1) * n - 1 : tc - 1;
            struct view_color color = tile_color(p, r * n, c * n);
            if (n > 1) /* the first tile and the last of the square, in equal parts */
                color = view_mix(color, tile_color(p, last_r, last_c), 0.5);
            cells[m->sideways ? c * across + r : r * across + c] = color;
        }
    view_tensor_frame(p->draw, m->box, p->id);
}

/* "3 of 8", or "3/8", on a tile that will be written again. */
static void paint_progress(const struct view_painter *p, struct view_box box,
                           const struct view_tile_past *past)
{
    const struct view_theme *theme = p->draw->theme;
    struct view_type type = view_type_make(VIEW_MONO, VIEW_SIZE_CELL, theme->text);
    char text[48];
    if (past->stores == 0 || past->stores_in_all < 2 || past->stores >= past->stores_in_all ||
        sim_is_score_tile(p->id) || box.h < 18)
        return;
    snprintf(text, sizeof text, "%" PRIu32 " of %" PRIu32, past->stores, past->stores_in_all);
    float w = ceilf(view_text_width(p->draw, type, text)) + 4;
    if (w > box.w - 2) {
        snprintf(text, sizeof text, "%" PRIu32 "/%" PRIu32, past->stores, past->stores_in_all);
        w = ceilf(view_text_width(p->draw, type, text)) + 4;
    }
    if (w > box.w - 2)
        return;
    struct view_box plate = {roundf(box.x + (box.w - w) / 2), roundf(box.y + (box.h - 16) / 2), w,
                             16};
    view_fill(p->draw, plate, theme->panel);
    view_text_in(p->draw, plate, VIEW_CENTRE, type, "%s", text);
}

static void paint_tile(const struct view_painter *p, int64_t row, int64_t column, bool shaded,
                       bool numbered)
{
    struct view_box box = view_matrix_tile(p->matrix, row, column);
    const struct view_theme *theme = p->draw->theme;
    struct view_look look = view_tensor_look(theme, p->id);
    struct view_tile_past past;
    unsigned states = tile_states(p, row, column, &past);
    float across = p->matrix->sideways ? box.w : box.h;
    int64_t rows = p->matrix->rows - row * p->matrix->tile_rows;
    rows = rows < p->matrix->tile_rows ? rows : p->matrix->tile_rows;

    if (!view_box_meets(box, p->cross->area))
        return;
    if (across >= 8) /* a hair between neighbours */
        box = view_box_make(box.x + 0.5f, box.y + 0.5f, box.w - 1, box.h - 1);
    if (p->scene->frame->rate > 60)
        states &= ~(unsigned)(VIEW_TILE_FULL | VIEW_TILE_STALE);
    /* Rows of it are written and others not yet, as the softmax of `standard` goes. */
    bool partly = past.rows_stored > 0 && past.rows_stored < rows;
    if (partly || states & VIEW_TILE_AHEAD) {
        view_tile(p->draw, box, p->id, VIEW_TILE_AHEAD);
    } else if (!shaded) {
        view_tile(p->draw, box, p->id, states);
    } else {
        if (!(states & VIEW_TILE_FULL) && !numbered) /* over numbers it would cost contrast */
            view_fill(p->draw, box, view_fade(theme->panel, 0.4));
        if (states & VIEW_TILE_STALE)
            view_hatch(p->draw, box, VIEW_RISING, theme->text);
        view_tensor_frame(p->draw, box, p->id);
    }
    if (partly && !shaded) {
        struct view_box part = box;
        view_fill(p->draw, view_cut_top(&part, box.h * (float)past.rows_stored / (float)rows),
                  view_mix(theme->panel, look.fill, states & VIEW_TILE_FULL ? 1 : 0.45));
    }
    double lit = glow(p, &past);
    if (lit > 0)
        view_fill(p->draw, box, view_fade(look.fill, lit));
    paint_progress(p, box, &past);
}

static void paint_tiles(const struct view_painter *p, bool shaded, bool numbered)
{
    const struct view_matrix *m = p->matrix;
    struct span rows, columns;
    seen_numbers(p, &rows, &columns);
    for (int64_t r = rows.first / m->tile_rows; r * m->tile_rows < rows.end; r++)
        for (int64_t c = columns.first / m->tile_columns; c * m->tile_columns < columns.end; c++)
            paint_tile(p, r, c, shaded, numbered);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void paint_shades(const struct view_painter *p, struct span rows, struct span columns)
{
    const struct view_matrix *m = p->matrix;
    int64_t tall = rows.end - rows.first, wide = columns.end - columns.first;
    struct view_box box = view_matrix_part(m, rows.first, columns.first, tall, wide);
    int64_t across = m->sideways ? tall : wide, down = m->sideways ? wide : tall;
    struct view_color *cells = view_image(p->draw, box, (int)across, (int)down);
    struct view_shades shades;

    view_shades_make(p->draw->theme, p->id, p->moment->most[p->id], &shades);
    for (int64_t r = 0; cells && r < tall; r++)
        for (int64_t c = 0; c < wide; c++) {
            double value = 0;
            struct view_color color = p->draw->theme->panel;
            if (value_at(p, rows.first + r, columns.first + c, &value) == VIEW_CELL_VALUE)
                color = view_shades_color(&shades, value);
            cells[m->sideways ? c * across + r : r * across + c] = color;
        }
}

static void paint_numbers(const struct view_painter *p, struct span rows, struct span columns)
{
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int64_t c = columns.first; c < columns.end; c++) {
            double value = 0;
            struct view_box box = view_matrix_part(p->matrix, r, c, 1, 1);
            /* A number that the edge would cut is left out: the cell is a shade there. */
            bool whole = box.x >= p->cross->area.x && box.y >= p->cross->area.y &&
                         box.x + box.w <= p->cross->area.x + p->cross->area.w &&
                         box.y + box.h <= p->cross->area.y + p->cross->area.h;
            if (whole && value_at(p, r, c, &value) == VIEW_CELL_VALUE)
                view_cell_draw(p->draw, view_box_inset(box, 0.5f, 0.5f), p->id, VIEW_CELL_VALUE,
                               value, p->moment->most[p->id]);
        }
}

/* ---- a matrix -------------------------------------------------------------------------------- */

static void paint_ring(const struct view_painter *p)
{
    const struct sim_resident *copy = copy_on_chip(p);
    if (!copy || p->scene->frame->rate > 60)
        return;
    struct view_box box =
        view_matrix_part(p->matrix, copy->row, copy->column, copy->held_rows, copy->held_columns);
    view_ring(p->draw, box, fminf(box.w, box.h) < 12 ? 1 : 2, 2, p->draw->theme->text);
}

int64_t view_matrix_tiles_a_square(const struct view_matrix *m)
{
    int64_t tiles = view_matrix_tile_rows(m) > view_matrix_tile_columns(m)
                        ? view_matrix_tile_rows(m)
                        : view_matrix_tile_columns(m);
    float length = m->sideways ? m->box.w : m->box.h;
    if (length / (float)tiles >= LEAST_TILE)
        return 1;
    int64_t most = (int64_t)(length / LEAST_TILE);
    most = most < 1 ? 1 : most < MOST_SIDE ? most : MOST_SIDE;
    return fa_tile_count(tiles, most);
}

void view_hbm_matrix_paint(const struct view_painter *p)
{
    const struct view_matrix *m = p->matrix;
    float cell_w = m->box.w / (float)(m->sideways ? m->rows : m->columns);
    float cell_h = m->box.h / (float)(m->sideways ? m->columns : m->rows);
    bool shaded = p->moment->values && fminf(cell_w, cell_h) >= LEAST_CELL;
    int64_t n = view_matrix_tiles_a_square(m);

    if (!view_box_meets(m->box, p->cross->area))
        return;
    if (shaded) {
        struct span rows, columns;
        seen_numbers(p, &rows, &columns);
        if (rows.first >= rows.end || columns.first >= columns.end)
            return;
        paint_shades(p, rows, columns);
        bool numbered = cell_w >= 31 && cell_h >= 17;
        if (numbered)
            paint_numbers(p, rows, columns);
        paint_tiles(p, true, numbered);
    } else if (n > 1 || view_matrix_tile_rows(m) * view_matrix_tile_columns(m) > IMAGE_FROM) {
        paint_tile_image(p, n);
    } else {
        paint_tiles(p, false, false);
    }
    paint_ring(p);
}
