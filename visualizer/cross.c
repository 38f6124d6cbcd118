#include "visualizer/cross.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "reference/visibility.h"
#include "simulator/trace_ops.h"

/* Outside in on the left and above, inside out on the right and below. */
static const enum fa_tensor_id on_left[] = {FA_DQ, FA_Q}, above[] = {FA_DK, FA_K},
                               below[] = {FA_V, FA_DV},
                               on_right[] = {FA_O, FA_DO, FA_M, FA_L, FA_LSE, FA_DELTA},
                               squares[] = {FA_S,  FA_P,    FA_PD,   FA_DP,
                                            FA_DS, FA_MASK, FA_BIAS, FA_DROPOUT};

enum {
    LEFT = 2,
    ABOVE = 2,
    BELOW = 2,
    RIGHT = 6,
    SQUARES = 8,
    LEAST_THICK = 12,
    LEAST_SQUARE = 24,
    SHARED_BELOW = 96
};

const char *view_sizes_text(int64_t rows, int64_t columns, char text[VIEW_SIZES_TEXT])
{
    char high[VIEW_COUNT_TEXT], wide[VIEW_COUNT_TEXT];
    snprintf(text, VIEW_SIZES_TEXT, "%s × %s", view_count_exact((uint64_t)rows, high),
             view_count_exact((uint64_t)columns, wide));
    return text;
}

void view_shades_make(const struct view_theme *theme, enum fa_tensor_id id, double most,
                      struct view_shades *shades)
{
    for (int k = 0; k < 8; k++)
        shades->step[k] = view_shade(theme, id, k, 7);
    shades->nan = theme->bad_fill;
    shades->minus_infinity = theme->bg;
    shades->per_step = most > 0 ? 7 / most : 0;
}

struct view_color view_shades_color(const struct view_shades *shades, double value)
{
    if (isnan(value))
        return shades->nan;
    if (value == -INFINITY)
        return shades->minus_infinity;
    double step = floor(fabs(value) * shades->per_step + 0.5);
    return shades->step[step < 7 ? (int)step : 7];
}

/* ---- parts of a matrix ----------------------------------------------------------------------- */

struct view_box view_matrix_part(const struct view_matrix *m, int64_t row, int64_t column,
                                 int64_t rows, int64_t columns)
{
    double across = (double)(m->sideways ? m->rows : m->columns);
    double down = (double)(m->sideways ? m->columns : m->rows);
    double x0 = (double)(m->sideways ? row : column), y0 = (double)(m->sideways ? column : row);
    double x1 = x0 + (double)(m->sideways ? rows : columns);
    double y1 = y0 + (double)(m->sideways ? columns : rows);
    double w = m->box.w / fmax(across, 1), h = m->box.h / fmax(down, 1);
    float left = (float)round(m->box.x + x0 * w), top = (float)round(m->box.y + y0 * h);
    float right = (float)round(m->box.x + x1 * w), bottom = (float)round(m->box.y + y1 * h);
    return view_box_make(left, top, right - left, bottom - top);
}

int64_t view_matrix_tile_rows(const struct view_matrix *m)
{
    return m->tile_rows > 0 ? fa_tile_count(m->rows, m->tile_rows) : 0;
}

int64_t view_matrix_tile_columns(const struct view_matrix *m)
{
    return m->tile_columns > 0 ? fa_tile_count(m->columns, m->tile_columns) : 0;
}

struct view_box view_matrix_tile(const struct view_matrix *m, int64_t row, int64_t column)
{
    int64_t r = row * m->tile_rows, c = column * m->tile_columns;
    int64_t rows = m->rows - r < m->tile_rows ? m->rows - r : m->tile_rows;
    int64_t columns = m->columns - c < m->tile_columns ? m->columns - c : m->tile_columns;
    return view_matrix_part(m, r, c, rows, columns);
}

bool view_matrix_at(const struct view_matrix *m, float x, float y, int64_t *row, int64_t *column)
{
    if (!m->on || m->rows <= 0 || m->columns <= 0 || !view_box_has(m->box, x, y))
        return false;
    double across = (x - m->box.x) / m->box.w, down = (y - m->box.y) / m->box.h;
    int64_t r = (int64_t)((m->sideways ? across : down) * (double)m->rows);
    int64_t c = (int64_t)((m->sideways ? down : across) * (double)m->columns);
    *row = r < m->rows ? r : m->rows - 1;
    *column = c < m->columns ? c : m->columns - 1;
    return true;
}

/* ---- HBM: which matrices, and how large ------------------------------------------------------ */

static void take_matrix(struct view_cross *cross, const struct view_run *run, enum fa_tensor_id id)
{
    struct view_matrix *m = &cross->matrix[id];
    view_run_shape(run, id, &m->rows, &m->columns);
    m->on = m->rows > 0 && m->columns > 0;
    if (!m->on && id == FA_S && sim_tensors_on_chip(view_run_header(run)) & FA_BIT(FA_S)) {
        m->ghost = true;
        sim_matrix_size(&view_run_header(run)->problem, id, &m->rows, &m->columns);
        m->on = m->rows > 0 && m->columns > 0;
    }
    m->sideways = sim_is_key_side(id);
    if (m->on)
        view_run_tiling(run, id, &m->tile_rows, &m->tile_columns);
}

/* The sizes that follow from one pixel count a number. */
struct scale {
    double cell;
    float gap;
    bool labelled;
    bool stored; /* the squares' own labels stand above them */
    float square_w, square_h;
    int side_by_side;
};

static float thickness(const struct view_matrix *m, double cell, float square, bool *stretched)
{
    double true_one = (double)m->columns * cell;
    double most = fmax(square, 3 * LEAST_THICK);
    double drawn = fmin(fmax(true_one, LEAST_THICK), most);
    *stretched = fabs(drawn - true_one) > 0.5;
    return (float)round(drawn);
}

/* Room for a column's name above it, too. */
static float column_slot(const struct view_matrix *m, float thick)
{
    (void)m;
    return fmaxf(thick, 16);
}

static void size_squares(const struct view_cross *cross, struct scale *s, double cell)
{
    const struct view_matrix *first = &cross->matrix[cross->square[0]];
    s->cell = cell;
    s->square_w = (float)round(fmax((double)first->columns * cell, LEAST_SQUARE));
    s->square_h = (float)round(fmax((double)first->rows * cell, LEAST_SQUARE));
}

static float width_in_all(const struct view_cross *cross, const struct scale *s)
{
    bool stretched;
    float width = (float)s->side_by_side * (s->square_w + s->gap) - s->gap;
    for (int k = 0; k < LEFT + RIGHT; k++) {
        const struct view_matrix *m = &cross->matrix[k < LEFT ? on_left[k] : on_right[k - LEFT]];
        if (m->on)
            width += column_slot(m, thickness(m, s->cell, s->square_w, &stretched)) + s->gap;
    }
    return width;
}

static float height_in_all(const struct view_cross *cross, const struct scale *s)
{
    bool stretched;
    float label = s->labelled ? VIEW_LABEL_HEIGHT + 2 : 0;
    float height = s->square_h + (s->stored ? label : 0);
    for (int k = 0; k < ABOVE + BELOW; k++) {
        const struct view_matrix *m = &cross->matrix[k < ABOVE ? above[k] : below[k - ABOVE]];
        if (m->on)
            height += thickness(m, s->cell, s->square_h, &stretched) + s->gap + label;
    }
    return height;
}

/* The largest scale at which everything fits. */
static void fit(const struct view_cross *cross, struct scale *s)
{
    double low = 0, high = 256;
    for (int step = 0; step < 40; step++) {
        double middle = (low + high) / 2;
        size_squares(cross, s, middle);
        if (width_in_all(cross, s) <= cross->area.w && height_in_all(cross, s) <= cross->area.h)
            low = middle;
        else
            high = middle;
    }
    /* Tiles of whole pixels look even; of small ones that would waste too much. */
    double tile = (double)cross->matrix[cross->square[0]].tile_columns;
    if (low * tile >= LEAST_THICK)
        low = floor(low * tile) / tile;
    size_squares(cross, s, low);
}

/* Of squares that share one place the one that the events are at: that of the last one among
 * them. */
static int square_in_use(const struct view_cross *cross, const struct view_moment *moment)
{
    enum { LOOK_BACK = 64 };
    uint64_t at = moment->next ? moment->at.landed + 1 : moment->at.landed;
    for (uint64_t back = 0; back < LOOK_BACK && back < at; back++) {
        const struct sim_event *event = view_run_event(moment->run, at - 1 - back);
        for (int k = 0; k < cross->n_squares; k++)
            if (event->tensor == (unsigned)cross->square[k] &&
                (event->kind == SIM_LOAD || event->kind == SIM_STORE))
                return k;
    }
    return 0;
}

/* ---- HBM: where ------------------------------------------------------------------------------ */

static void place_squares(struct view_cross *cross, const struct scale *s, float x, float y)
{
    for (int k = 0; k < cross->n_squares; k++) {
        struct view_matrix *m = &cross->matrix[cross->square[k]];
        int column = s->side_by_side > 1 ? k : 0;
        m->box =
            view_box_make(x + (float)column * (s->square_w + s->gap), y, s->square_w, s->square_h);
        m->on = s->side_by_side > 1 || cross->n_squares == 1 || k == cross->shown;
    }
}

static float place_columns(struct view_cross *cross, const struct scale *s,
                           const enum fa_tensor_id *ids, int n, float x, float y)
{
    for (int k = 0; k < n; k++) {
        struct view_matrix *m = &cross->matrix[ids[k]];
        if (!m->on)
            continue;
        float thick = thickness(m, s->cell, s->square_w, &m->stretched);
        float slot = column_slot(m, thick);
        m->box = view_box_make(roundf(x + (slot - thick) / 2), y, thick, s->square_h);
        x += slot + s->gap;
    }
    return x;
}

static float place_rows(struct view_cross *cross, const struct scale *s,
                        const enum fa_tensor_id *ids, int n, float x, float y, bool label_first)
{
    float label = s->labelled ? VIEW_LABEL_HEIGHT + 2 : 0;
    for (int k = 0; k < n; k++) {
        struct view_matrix *m = &cross->matrix[ids[k]];
        if (!m->on)
            continue;
        float thick = thickness(m, s->cell, s->square_h, &m->stretched);
        m->box = view_box_make(x, y + (label_first ? label : 0), s->square_w, thick);
        y += thick + label + s->gap;
    }
    return y;
}

/* V stands below the P that it is multiplied with, K above the S; where they are side by side. */
static float square_x(const struct view_cross *cross, const struct scale *s, float x,
                      bool of_products)
{
    bool backward = cross->matrix[FA_DQ].on;
    int column = 0;
    for (int k = 0; k < cross->n_squares && s->side_by_side > 1; k++)
        if (cross->square[k] == (of_products ? FA_P : backward ? FA_DS : FA_S))
            column = k;
    return x + (float)column * (s->square_w + s->gap);
}

static void place(struct view_cross *cross, const struct scale *s, float x, float y)
{
    float label = s->labelled ? VIEW_LABEL_HEIGHT + 2 : 0;
    float left = x;
    for (int k = 0; k < LEFT; k++)
        if (cross->matrix[on_left[k]].on) {
            bool stretched;
            const struct view_matrix *m = &cross->matrix[on_left[k]];
            left += column_slot(m, thickness(m, s->cell, s->square_w, &stretched)) + s->gap;
        }
    y = place_rows(cross, s, above, ABOVE, square_x(cross, s, left, false), y, true);
    y += s->stored ? label : 0;
    place_columns(cross, s, on_left, LEFT, x, y);
    place_squares(cross, s, left, y);
    place_columns(cross, s, on_right, RIGHT, left + (float)s->side_by_side * (s->square_w + s->gap),
                  y);
    place_rows(cross, s, below, BELOW, square_x(cross, s, left, true), y + s->square_h + s->gap,
               false);
}

/* All of SRAM as a square of as many numbers, below the cross if there is room (then the answer
 * is the height that it takes), else in the ghost. */
static float place_sram(struct view_cross *cross, const struct view_moment *moment,
                        const struct scale *s, struct view_box under)
{
    const struct sim_trace_header *header = view_run_header(moment->run);
    size_t bytes = fa_dtype_bytes(header->problem.dtype);
    float side = (float)round(sqrt((double)header->sram_bytes / (double)bytes) * s->cell);
    enum { WORDS_WIDE = 180, INSET = 10, BELOW_GAP = 16, WORDS_WITHIN = 104 };

    cross->sram = cross->sram_words = view_box_make(0, 0, 0, 0);
    if (header->sram_bytes == 0 || side < 8 || !cross->labelled)
        return 0;
    if (side <= under.w && side + BELOW_GAP <= under.h) {
        bool within = side >= WORDS_WITHIN;
        float words = within ? 0 : 8 + WORDS_WITHIN;
        float x = floorf(under.x + fmaxf(under.w - side - words, 0) / 2);
        cross->sram = view_box_make(x, under.y + BELOW_GAP, side, side);
        cross->sram_words = within ? view_box_inset(cross->sram, 6, 6)
                                   : view_box_make(x + side + 8, cross->sram.y, WORDS_WITHIN, side);
        if (x + side + words > under.x + under.w) { /* without words it would puzzle */
            cross->sram.w = 0;
            return 0;
        }
        return side + BELOW_GAP;
    }
    const struct view_matrix *ghost = &cross->matrix[FA_S];
    struct view_box room = view_box_inset(ghost->box, INSET, INSET);
    if (!ghost->on || !ghost->ghost || side > 0.35f * room.h || side + WORDS_WIDE > 0.5f * room.w)
        return 0;
    cross->sram = view_box_make(room.x, room.y + room.h - side, side, side);
    cross->sram_words =
        view_box_make(room.x + side + 8, cross->sram.y + (side - 17) / 2, WORDS_WIDE - 8, 17);
    return 0;
}

static void zoom_box(const struct view_cross *cross, const struct view_frame *frame,
                     struct view_box *box)
{
    float z = (float)cross->zoom;
    float cx = cross->area.x + cross->area.w / 2, cy = cross->area.y + cross->area.h / 2;
    float px = cross->area.x + frame->zoom_x * cross->area.w;
    float py = cross->area.y + frame->zoom_y * cross->area.h;
    *box = view_box_make(cx + (box->x - px) * z, cy + (box->y - py) * z, box->w * z, box->h * z);
}

float view_cross_pad(const struct view_scene *scene)
{
    enum view_class class = scene->layout.class;
    return class >= VIEW_REGULAR ? 12 : class == VIEW_MINI ? 4 : 8;
}

static void take_area(const struct view_scene *scene, int which, struct view_cross *cross)
{
    struct view_box box = scene->layout.hbm[which];
    float pad = view_cross_pad(scene);
    /* Of two runs the heading above says what they are: their rows are low. */
    cross->titled = !scene->frame->run[1] && box.h >= 150 && box.w >= 90;
    cross->area = view_box_inset(box, pad, pad - 4);
    if (cross->titled)
        view_cut_top(&cross->area, 26 - (pad - 4));
}

/* Chooses how the squares stand, then the scale. */
static void fit_squares(struct view_cross *cross, const struct view_moment *moment, struct scale *s)
{
    s->stored = s->labelled && (cross->n_squares > 1 || !cross->matrix[cross->square[0]].ghost);
    s->side_by_side = cross->n_squares;
    fit(cross, s);
    if (cross->n_squares < 2 || s->square_w >= SHARED_BELOW)
        return;
    s->side_by_side = 1;
    cross->shown = square_in_use(cross, moment);
    fit(cross, s);
}

void view_cross_hbm(const struct view_scene *scene, int which, struct view_cross *cross)
{
    const struct view_moment *moment = &scene->moment[which];
    *cross = (struct view_cross){.shown = -1, .labelled = true};
    take_area(scene, which, cross);
    for (int id = 0; id < FA_TENSORS; id++)
        take_matrix(cross, moment->run, (enum fa_tensor_id)id);
    for (int k = 0; k < SQUARES; k++)
        if (cross->matrix[squares[k]].on)
            cross->square[cross->n_squares++] = squares[k];
    if (cross->n_squares == 0 || cross->area.w < 40 || cross->area.h < 40) {
        for (int id = 0; id < FA_TENSORS; id++)
            cross->matrix[id].on = false;
        return;
    }

    struct scale s = {.gap = scene->layout.class == VIEW_MINI ? 4 : 8, .labelled = true};
    fit_squares(cross, moment, &s);
    if (s.square_h < 48 || height_in_all(cross, &s) > cross->area.h) {
        s.labelled = cross->labelled = false;
        fit_squares(cross, moment, &s);
    }
    cross->cell = s.cell;
    float w = width_in_all(cross, &s), h = height_in_all(cross, &s);
    float x = floorf(cross->area.x + fmaxf(cross->area.w - w, 0) / 2);
    place(cross, &s, x, 0);
    float below_it =
        place_sram(cross, moment, &s, view_box_make(x, h, w, fmaxf(cross->area.h - h, 0)));
    float y = floorf(cross->area.y + fmaxf(cross->area.h - h - below_it, 0) / 2);
    for (int id = 0; id < FA_TENSORS; id++)
        cross->matrix[id].box.y += y;
    cross->sram.y += y;
    cross->sram_words.y += y;

    cross->zoom = scene->frame->zoom > 1 ? scene->frame->zoom : 1;
    if (cross->zoom > 1) {
        for (int id = 0; id < FA_TENSORS; id++)
            zoom_box(cross, scene->frame, &cross->matrix[id].box);
        cross->sram.w = 0; /* its words would lie over the matrices */
    }
}
