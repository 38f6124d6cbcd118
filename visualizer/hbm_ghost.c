#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "reference/visibility.h"
#include "visualizer/cross.h"

enum { LEAST_TILE = 6, MARKED_TILE = 12, MARKED_TILES = 2048, MOST_SIDE = 128 };

/* The ghost as it is drawn: squares of n x n tiles. */
struct ghost {
    const struct view_painter *p;
    const struct view_matrix *m;
    struct fa_run shape; /* for what the structural mask hides */
    bool spent;          /* the tile that is on chip has done its work */
    bool skips;          /* tiles that it hides throughout are left out: they are bare */
    int64_t n, tr, tc, rows, columns;
};

static int64_t end_of(int64_t first, int64_t n, int64_t tiles)
{
    return first + n < tiles ? first + n : tiles;
}

static struct view_box square_box(const struct ghost *g, int64_t r, int64_t c)
{
    const struct view_matrix *m = g->m;
    int64_t row = r * g->n * m->tile_rows, column = c * g->n * m->tile_columns;
    int64_t rows = g->n * m->tile_rows, columns = g->n * m->tile_columns;
    return view_matrix_part(m, row, column, rows < m->rows - row ? rows : m->rows - row,
                            columns < m->columns - column ? columns : m->columns - column);
}

/* Tiles of row i that causal and window leave. */
static struct fa_span alive(const struct ghost *g, int64_t i)
{
    if (!g->skips)
        return (struct fa_span){0, g->tc};
    return fa_visible_key_tiles(&g->shape, i);
}

static struct ghost make_ghost(const struct view_painter *p)
{
    struct ghost g = {.p = p, .m = p->matrix, .n = 1};
    const struct sim_trace_header *header = view_run_header(p->moment->run);
    g.shape.problem = header->problem;
    g.shape.tiles = view_run_tiles(p->moment->run);
    struct view_hold hold;
    g.spent = view_slot_hold(p->moment, FA_S, &hold) && hold.spent;
    g.skips = true;
    g.tr = view_matrix_tile_rows(g.m);
    g.tc = view_matrix_tile_columns(g.m);
    int64_t most = g.tr > g.tc ? g.tr : g.tc;
    float side = fmaxf(g.m->box.w, g.m->box.h);
    if (fminf(g.m->box.w / (float)g.tc, g.m->box.h / (float)g.tr) < LEAST_TILE ||
        most > MOST_SIDE) {
        int64_t squares = (int64_t)(side / LEAST_TILE);
        squares = squares < 1 ? 1 : squares > MOST_SIDE ? MOST_SIDE : squares;
        g.n = fa_tile_count(most, squares);
    }
    g.rows = fa_tile_count(g.tr, g.n);
    g.columns = fa_tile_count(g.tc, g.n);
    return g;
}

void view_hbm_bands_paint(const struct view_painter *p)
{
    const struct view_matrix *m = p->matrix;
    const struct view_moment *at = p->moment;
    struct view_color query = view_tensor_look(p->draw->theme, FA_Q).fill;
    struct view_color key = view_tensor_look(p->draw->theme, FA_K).fill;
    struct fa_tiles tiles = view_run_tiles(at->run);
    bool by_rows = view_at_rows(at);
    int64_t high = by_rows ? tiles.row_block : m->tile_rows, row = at->i * high;
    int64_t wide = by_rows ? tiles.column_chunk : m->tile_columns, column = at->j * wide;
    if (at->i >= 0 && row < m->rows) {
        struct view_box band =
            view_matrix_part(m, row, 0, high < m->rows - row ? high : m->rows - row, m->columns);
        view_fill(p->draw, band, view_fade(query, p->draw->theme->dark ? 0.16 : 0.20));
    }
    if (at->j >= 0 && column < m->columns) {
        struct view_box band = view_matrix_part(
            m, 0, column, m->rows, wide < m->columns - column ? wide : m->columns - column);
        view_fill(p->draw, band, view_fade(key, p->draw->theme->dark ? 0.14 : 0.20));
    }
}

/* Hairs between the squares, where the mask leaves something on either side: its dead part is
 * bare. */
static void paint_grid(const struct ghost *g)
{
    struct view_draw *draw = g->p->draw;
    struct view_color hair = draw->theme->hair;
    for (int64_t r = 0; r < g->rows; r++) {
        struct fa_span here = alive(g, end_of(r * g->n, g->n, g->tr) - 1), next = here;
        struct fa_span first = alive(g, r * g->n);
        if (r + 1 < g->rows)
            next = alive(g, (r + 1) * g->n);
        int64_t low = here.first < next.first ? here.first : next.first;
        int64_t high = here.end > next.end ? here.end : next.end;
        if (first.end > here.end)
            here.end = first.end;
        if (here.first >= here.end)
            continue;
        float y = square_box(g, r, 0).y + square_box(g, r, 0).h;
        if (r + 1 < g->rows && low < high)
            view_fill(draw,
                      view_box_make(square_box(g, 0, low / g->n).x, y,
                                    square_box(g, 0, (high - 1) / g->n).x +
                                        square_box(g, 0, (high - 1) / g->n).w -
                                        square_box(g, 0, low / g->n).x,
                                    1),
                      hair);
    }
    for (int64_t c = 0; c + 1 < g->columns; c++) {
        struct fa_span left = {0, g->tr}, right = {0, g->tr};
        if (g->skips) {
            left = fa_visible_query_tiles(&g->shape, end_of(c * g->n, g->n, g->tc) - 1);
            right = fa_visible_query_tiles(&g->shape, (c + 1) * g->n);
        }
        int64_t low = left.first < right.first ? left.first : right.first;
        int64_t high = left.end > right.end ? left.end : right.end;
        if (low >= high)
            continue;
        struct view_box from = square_box(g, low / g->n, c),
                        to = square_box(g, (high - 1) / g->n, c);
        view_fill(draw, view_box_make(from.x + from.w, from.y, 1, to.y + to.h - from.y), hair);
    }
}

/* ---- marks ----------------------------------------------------------------------------------- */

static enum view_score score(const struct ghost *g, int64_t i, int64_t j, bool *cut)
{
    const struct view_moment *at = g->p->moment;
    enum view_score state = view_run_score(at->run, at->head, i, j, at->at.landed, cut, NULL);
    return state == VIEW_SCORE_NOW && g->spent ? VIEW_SCORE_DONE : state;
}

/* S until it has become P. */
static enum fa_tensor_id held_now(const struct ghost *g)
{
    const struct sim_resident *r = view_slot_resident(g->p->moment, FA_S);
    return r && (r->holds == FA_P || r->holds == FA_PD) ? FA_P : FA_S;
}

/* What causal or window hide of a tile that they cut: its upper right, its lower left, or both. */
static void paint_cut(const struct ghost *g, int64_t i, int64_t j, struct view_box box,
                      struct view_color color)
{
    const struct fa_problem *problem = &g->shape.problem;
    int64_t br = g->shape.tiles.br, bc = g->shape.tiles.bc;
    int64_t top = i * br, bottom = (top + br < problem->nq ? top + br : problem->nq) - 1;
    int64_t left = j * bc, right = (left + bc < problem->nk ? left + bc : problem->nk) - 1;
    float x = box.x + 1, y = box.y + 1, end_x = box.x + box.w, end_y = box.y + box.h;

    if (fa_visible_keys(problem, top).end <= right)
        view_triangle(g->p->draw, x, y, end_x, y, end_x, end_y, color);
    if (fa_visible_keys(problem, bottom).first > left)
        view_triangle(g->p->draw, x, y, x, end_y, end_x, end_y, color);
}

/* A tile that the block mask leaves out, before the loops have come to it. */
static void paint_dead(const struct ghost *g, struct view_box box)
{
    struct view_color hair = g->p->draw->theme->hair;
    float arm = fminf(fminf(box.w, box.h) * 0.25f, 8);
    float x = box.x + box.w / 2, y = box.y + box.h / 2;
    view_line(g->p->draw, x - arm, y - arm, x + arm, y + arm, 1, hair);
    view_line(g->p->draw, x - arm, y + arm, x + arm, y - arm, 1, hair);
}

static void paint_mark(const struct ghost *g, int64_t i, int64_t j)
{
    struct view_draw *draw = g->p->draw;
    struct view_box box = square_box(g, i, j);
    bool cut = false, quick = g->p->scene->frame->rate > 60;
    bool blocked = !fa_block_visits(&g->shape, i, j);
    enum view_score state = score(g, i, j, &cut);
    unsigned states = 0;

    if (!view_box_meets(box, g->p->cross->area))
        return;
    if (cut && state != VIEW_SCORE_NOW)
        paint_cut(g, i, j, box, draw->theme->hair);
    if (state == VIEW_SCORE_AHEAD && blocked)
        paint_dead(g, box);
    if (state == VIEW_SCORE_SKIPPED)
        states = VIEW_TILE_SKIPPED;
    else if (state == VIEW_SCORE_DONE)
        states = VIEW_TILE_USED;
    else if (state == VIEW_SCORE_NOW)
        states = VIEW_TILE_FULL | (view_run_backward(g->p->moment->run) ? VIEW_TILE_AGAIN : 0);
    else
        return;
    if (state == VIEW_SCORE_NOW)
        box = view_box_make(box.x + 1, box.y + 1, box.w - 1, box.h - 1);
    view_tile(draw, box, state == VIEW_SCORE_NOW ? held_now(g) : FA_S, states);
    if (cut && state == VIEW_SCORE_NOW)
        paint_cut(g, i, j, box, draw->theme->panel);
    if (state == VIEW_SCORE_NOW && !quick)
        view_ring(draw, box, 1, 2, draw->theme->text);
}

static struct view_color tint(const struct ghost *g, int64_t i, int64_t j)
{
    const struct view_theme *theme = g->p->draw->theme;
    switch (score(g, i, j, NULL)) {
    case VIEW_SCORE_DONE:
        return view_fade(view_tensor_look(theme, FA_S).fill, 0.30);
    case VIEW_SCORE_SKIPPED:
        return view_fade(theme->hair, 0.6);
    default:
        return view_fade(view_tensor_look(theme, FA_S).fill, 0);
    }
}

/* Small tiles: one image of tints; where a square is several tiles, its first and its last
 * one's. */
static void paint_tints(const struct ghost *g)
{
    struct view_draw *draw = g->p->draw;
    struct view_color *cells = view_image(draw, g->m->box, (int)g->columns, (int)g->rows);
    for (int64_t r = 0; cells && r < g->rows; r++)
        for (int64_t c = 0; c < g->columns; c++) {
            struct view_color color = tint(g, r * g->n, c * g->n);
            if (g->n > 1)
                color = view_mix(
                    color,
                    tint(g, end_of(r * g->n, g->n, g->tr) - 1, end_of(c * g->n, g->n, g->tc) - 1),
                    0.5);
            cells[r * g->columns + c] = color;
        }
}

/* The tile that is on chip now, over the tints. */
static void paint_now(const struct ghost *g)
{
    const struct view_moment *at = g->p->moment;
    struct view_hold hold;
    if (!view_slot_hold(at, FA_S, &hold) || hold.spent || hold.i < 0 || hold.j < 0)
        return;
    struct view_box box = square_box(g, hold.i / g->n, hold.j / g->n);
    if (!view_box_meets(box, g->p->cross->area))
        return;
    view_fill(g->p->draw, box, view_tensor_look(g->p->draw->theme, held_now(g)).fill);
    if (g->p->scene->frame->rate <= 60)
        view_ring(g->p->draw, box, 1, 2, g->p->draw->theme->text);
}

/* "S 16 x 16, never stored" on a plate at the foot of the ghost; of grouped tiles also how many. */
static void paint_words(const struct ghost *g)
{
    struct view_draw *draw = g->p->draw;
    const struct view_theme *theme = draw->theme;
    struct view_type bold =
        view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, view_tensor_look(theme, FA_S).line);
    struct view_type plain = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text2);
    char sizes[VIEW_SIZES_TEXT], name[80], lines[2][80];
    struct view_box seen = view_box_inset(g->m->box, 2, 2), area = g->p->cross->area;
    bool backward = view_run_backward(g->p->moment->run);
    int n = g->n > 1 ? 2 : 1;

    snprintf(name, sizeof name, "%s  %s", backward ? "S, P" : "S",
             view_sizes_text(g->m->rows, g->m->columns, sizes));
    snprintf(lines[0], sizeof lines[0], "%s",
             backward ? "made again, never stored" : "never stored");
    snprintf(lines[1], sizeof lines[1], "a square is %s × %s tiles", SIM_GROUPED(g->n),
             SIM_GROUPED(g->n));
    float right = fminf(seen.x + seen.w, area.x + area.w),
          bottom = fminf(seen.y + seen.h, area.y + area.h);
    seen.x = fmaxf(seen.x, area.x), seen.y = fmaxf(seen.y, area.y);
    seen.w = right - seen.x, seen.h = bottom - seen.y;
    /* It may take the last 2 of 4 tiles' rows, not more: the marks under it count. */
    float w = view_text_width(draw, bold, name), most = seen.h * 0.5f;
    if (backward && view_text_width(draw, plain, lines[0]) + 16 > seen.w)
        snprintf(lines[0], sizeof lines[0], "never stored");
    while (n > 0 && view_text_width(draw, plain, lines[n - 1]) + 16 > seen.w)
        n--;
    for (int k = 0; k < n; k++)
        w = fmaxf(w, view_text_width(draw, plain, lines[k]));
    if (w + 16 > seen.w || 24 > most) {
        name[1] = '\0', n = 0;
        w = view_text_width(draw, bold, "S");
        if (w + 16 > seen.w || 24 > 0.4f * seen.h)
            return;
    }
    while (n > 0 && 6 + (float)(n + 1) * 16 + 2 > most)
        n--;
    float h = 6 + (float)(n + 1) * 16;
    struct view_box plate = {roundf(seen.x + (seen.w - w - 16) / 2),
                             roundf(seen.y + seen.h - h - 4), w + 16, h};
    view_fill_round(draw, plate, 4, theme->panel);
    view_text_in(draw, view_box_make(plate.x, plate.y + 3, plate.w, 16), VIEW_CENTRE, bold, "%s",
                 name);
    for (int k = 0; k < n; k++)
        view_text_in(draw, view_box_make(plate.x, plate.y + 19 + 16 * (float)k, plate.w, 16),
                     VIEW_CENTRE, plain, "%s", lines[k]);
}

void view_hbm_ghost_paint(const struct view_painter *p)
{
    struct ghost g = make_ghost(p);
    struct view_look look = view_tensor_look(p->draw->theme, FA_S);
    float tile = fminf(g.m->box.w / (float)g.tc, g.m->box.h / (float)g.tr);

    if (g.tr == 0 || g.tc == 0 || !view_box_meets(g.m->box, p->cross->area))
        return;
    bool marked = g.n == 1 && tile >= MARKED_TILE && g.tr * g.tc <= MARKED_TILES;
    if (!marked)
        paint_tints(&g);
    view_hbm_bands_paint(p);
    paint_grid(&g);
    for (int64_t i = 0; marked && i < g.tr; i++)
        for (int64_t j = 0; j < g.tc; j++)
            paint_mark(&g, i, j);
    if (!marked)
        paint_now(&g);
    view_frame_dashed(p->draw, g.m->box, 1, 5, 4, look.line);
    paint_words(&g);
}
