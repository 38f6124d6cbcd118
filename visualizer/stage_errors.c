/*
 * Error by tile: how far O was from the softmax over the keys seen so far, after each tile that was
 * absorbed; of a backward pass, its gradients' errors at the end. Shades go by the logarithm. Where
 * there is room, error by stage beside it: stage_errors_side.c.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "visualizer/stage_errors.h"

enum { DECADES_MOST = 8, STEPS = 8, LEGEND = 360 };

/* The scale of the shades: powers of ten from `low` to `high`; of the whole run, so that it
 * never moves. */
struct scale {
    int low, high;
    double budget; /* NAN: none */
};

/* What has happened by now. */
struct found {
    int64_t i, j; /* of the worst so far; -1: none */
    double worst;
    int64_t done, all; /* tiles that have an error, now and in the end */
};

/* Marks the tiles of head 0 that were accumulated by now, of a backward pass all at its end. */
static void mark_done(const struct view_moment *moment, int64_t columns, int64_t n, uint8_t *done)
{
    bool backward = view_run_backward(moment->run);
    memset(done, backward && moment->at.landed >= view_run_length(moment->run), (size_t)n);
    for (uint64_t e = 0; !backward && e < moment->at.landed; e++) {
        const struct sim_event *event = view_run_event(moment->run, e);
        int64_t tile = (int64_t)event->i * columns + (int64_t)event->j;
        if (event->head > 0)
            return;
        if (event->kind == SIM_COMPUTE && event->i != SIM_NO_TILE && event->j != SIM_NO_TILE &&
            tile < n && (event->op == FA_OP_ACCUMULATE || event->op == FA_OP_ACCUMULATE_PART))
            done[tile] = 1;
    }
}

static struct found find(const double *errors, int64_t rows, int64_t columns, uint8_t *done)
{
    struct found found = {.i = -1, .j = -1};
    for (int64_t tile = 0; tile < rows * columns; tile++) {
        done[tile] &= !isnan(errors[tile]);
        found.all += !isnan(errors[tile]);
        found.done += done[tile];
        if (done[tile] && (found.i < 0 || errors[tile] > found.worst)) {
            found.i = tile / columns;
            found.j = tile % columns;
            found.worst = errors[tile];
        }
    }
    return found;
}

static struct scale scale_of(struct view_run *run, const double *errors, int64_t n)
{
    struct scale scale = {.budget = NAN};
    struct view_error_row rows[4];
    double most = 0, least = INFINITY;
    for (int64_t t = 0; t < n; t++)
        if (errors[t] > 0 && isfinite(errors[t])) {
            most = fmax(most, errors[t]);
            least = fmin(least, errors[t]);
        }
    if (view_run_errors(run, rows) > 0) {
        scale.budget = rows[0].budget;
        if (scale.budget > 0)
            most = fmax(most, scale.budget);
    }
    if (most <= 0)
        most = least = 1;
    scale.high = (int)ceil(log10(most));
    scale.low = (int)floor(log10(fmin(least, most)));
    if (scale.low >= scale.high)
        scale.low = scale.high - 1;
    if (scale.high - scale.low > DECADES_MOST)
        scale.low = scale.high - DECADES_MOST;
    return scale;
}

/* 0 to 1 along the scale; an exact tile stands at its lower end. */
static double along(const struct scale *scale, double error)
{
    if (!(error > 0))
        return 0;
    double at = (log10(error) - scale->low) / (scale->high - scale->low);
    return at < 0 ? 0 : at > 1 ? 1 : at;
}

static struct view_color color_at(const struct view_theme *theme, double share)
{
    share = floor(share * (STEPS - 1) + 0.5) / (STEPS - 1);
    return view_mix(theme->panel, view_tensor_look(theme, FA_O).fill, 0.12 + 0.88 * share);
}

/* ---- the picture ----------------------------------------------------------------------------- */

static void draw_cells(struct view_draw *draw, const struct view_stage_grid *grid,
                       const struct scale *scale, const double *errors, const uint8_t *done)
{
    const struct view_theme *theme = draw->theme;
    int columns = grid->drawn_columns;
    struct view_color *cells = view_image(draw, grid->box, columns, grid->drawn_rows);
    if (!cells)
        return;
    for (int n = 0; n < columns * grid->drawn_rows; n++)
        cells[n] = theme->bg;
    for (int64_t i = 0; i < grid->rows; i++)
        for (int64_t j = 0; j < grid->columns; j++) {
            int64_t tile = i * grid->columns + j;
            int64_t cell = i / grid->each * columns + j / grid->each;
            if (!done[tile])
                continue;
            bool bad = errors[tile] > scale->budget || isinf(errors[tile]);
            cells[cell] = bad ? theme->bad_fill : color_at(theme, along(scale, errors[tile]));
        }
}

/* Tiles above the budget are crossed too, those to come dashed: not by colour alone. */
static void draw_signs(struct view_draw *draw, const struct view_stage_grid *grid,
                       const struct scale *scale, const double *errors, const uint8_t *done)
{
    enum { MOST = 1024 };
    const struct view_theme *theme = draw->theme;
    if (grid->each > 1 || fminf(grid->width, grid->height) < 8 || grid->rows * grid->columns > MOST)
        return;
    for (int64_t i = 0; i < grid->rows; i++)
        for (int64_t j = 0; j < grid->columns; j++) {
            int64_t tile = i * grid->columns + j;
            struct view_box box = view_stage_grid_cell(grid, i, j);
            struct view_box inside = view_box_make(box.x, box.y, box.w - 1, box.h - 1);
            if (done[tile] && errors[tile] > scale->budget)
                view_hatch(draw, inside, VIEW_CROSSES, theme->text);
            else if (!done[tile] && !isnan(errors[tile]))
                view_frame_dashed(draw, view_box_inset(inside, 1, 1), 1, 2, 3, theme->hair);
        }
}

/* One digit and the power of ten: "3e−7". */
static const char *short_error(double error, char text[VIEW_NUMBER_TEXT])
{
    char raw[16];
    snprintf(raw, sizeof raw, "%.0e", error);
    int power = (int)strtol(strchr(raw, 'e') + 1, NULL, 10) % 1000;
    if (error == 0)
        snprintf(text, VIEW_NUMBER_TEXT, "0");
    else
        snprintf(text, VIEW_NUMBER_TEXT, "%ce%s%d", raw[0], power < 0 ? "−" : "", abs(power));
    return text;
}

static void draw_numbers(struct view_draw *draw, const struct view_stage_grid *grid,
                         const struct scale *scale, const double *errors, const uint8_t *done)
{
    if (grid->width < 36 || grid->height < 18 || grid->each > 1)
        return;
    for (int64_t i = 0; i < grid->rows; i++)
        for (int64_t j = 0; j < grid->columns; j++) {
            double error = errors[i * grid->columns + j];
            if (!done[i * grid->columns + j] || error > scale->budget)
                continue;
            struct view_color fill = color_at(draw->theme, along(scale, error));
            char text[VIEW_NUMBER_TEXT];
            view_text_in(draw, view_stage_grid_cell(grid, i, j), VIEW_CENTRE,
                         view_type_make(VIEW_MONO, VIEW_SIZE_CELL, view_ink(fill)), "%s",
                         short_error(error, text));
        }
}

/* The shades with powers of ten below them, and above them where the budget stands. */
static void draw_scale(struct view_draw *draw, const struct scale *scale, const char *budget_name,
                       struct view_box box)
{
    enum { BAR = 12 };
    const struct view_theme *theme = draw->theme;
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CELL, theme->text2);
    struct view_box over = view_cut_top(&box, 16), bar = view_cut_top(&box, BAR);
    struct view_color *cells = view_image(draw, bar, STEPS, 1);
    for (int n = 0; cells && n < STEPS; n++)
        cells[n] = color_at(theme, (double)n / (STEPS - 1));
    view_frame_box(draw, bar, 0, 1, theme->edge);
    int decades = scale->high - scale->low;
    int step = 1;
    while (bar.w / (float)decades * (float)step < 44)
        step *= 2;
    for (int n = 0; n <= decades; n += step) {
        float x = bar.x + bar.w * (float)n / (float)decades;
        enum view_align align = n == 0                               ? VIEW_LEFT
                                : n + step > decades && n == decades ? VIEW_RIGHT
                                                                     : VIEW_CENTRE;
        int power = scale->low + n;
        view_text(draw, x, box.y + 1, align, type, "1e%s%d", power < 0 ? "−" : "", abs(power));
    }
    if (!(scale->budget > 0))
        return;
    float x = bar.x + bar.w * (float)along(scale, scale->budget);
    view_line(draw, x, over.y + 14, x, bar.y + bar.h + 2, 2, theme->text);
    char number[VIEW_NUMBER_TEXT], text[64];
    snprintf(text, sizeof text, "%s %s", budget_name, view_value_text(scale->budget, number));
    float width = view_text_width(draw, type, text);
    float left = fmaxf(fminf(x - width / 2, bar.x + bar.w - width), bar.x);
    if (width <= bar.w)
        view_text(draw, left, over.y - 2, VIEW_LEFT, type, "%s", text);
}

static const char *worst_text(const struct found *found, bool brief, char *text, size_t size)
{
    char number[VIEW_NUMBER_TEXT];
    if (found->i < 0)
        return NULL;
    snprintf(text, size, "%s (%" PRId64 ", %" PRId64 "), %s",
             brief ? "worst" : "worst so far: tile", found->i, found->j,
             view_value_text(found->worst, number));
    return text;
}

static const char *no_errors(struct view_run *run)
{
    const char *reason = view_run_no_values(run);
    if (reason)
        return reason;
    if (view_run_refused(run))
        return "The machine refused this run, so nothing was computed. Take smaller tiles or more "
               "SRAM.";
    return "This run has more than 4 096 tiles: too many to compare one by one. Take larger tiles "
           "or a smaller N.";
}

static void draw_one(struct view_draw *draw, const struct view_scene *scene, int which,
                     struct view_box plate)
{
    enum { MOST_TILES = 4096 };
    static const char *const title = "Error by tile";
    const struct view_moment *moment = &scene->moment[which];
    int64_t rows = view_run_tr(moment->run), columns = view_run_tc(moment->run);
    const double *errors = rows < 1 || columns < 1 || rows > MOST_TILES / columns
                               ? NULL
                               : view_run_tile_errors(moment->run);
    uint8_t done[MOST_TILES];
    struct view_stage_grid grid;
    char right[96], note[128];

    if (!errors) {
        struct view_box box = view_stage_open(draw, plate, title, NULL, NULL);
        view_stage_says(draw, box, no_errors(moment->run));
        return;
    }
    mark_done(moment, columns, rows * columns, done);
    struct found found = find(errors, rows, columns, done);
    struct scale scale = scale_of(moment->run, errors, rows * columns);
    bool backward = view_run_backward(moment->run);
    snprintf(note, sizeof note,
             backward ? "dQ, dK and dV at the end, head 0: %s of %s"
                      : "O against the softmax so far, head 0: %s of %s tile%s",
             SIM_GROUPED(found.done), SIM_GROUPED(found.all), found.all == 1 ? "" : "s");
    struct view_box box = view_stage_open(draw, plate, title, note,
                                          worst_text(&found, plate.w < 480, right, sizeof right));
    enum fa_dtype dtype = view_run_header(moment->run)->problem.dtype;
    struct view_box side = view_errors_cut_side(scene, which, &box);
    if (box.h >= 120) {
        struct view_box legend = view_cut_bottom(&box, 46);
        view_cut_left(&legend, VIEW_STAGE_GUTTER);
        legend = view_box_inset(legend, floorf(fmaxf(legend.w - LEGEND, 0) / 2), 0);
        char name[32];
        snprintf(name, sizeof name, "%s budget", fa_dtype_name(dtype));
        draw_scale(draw, &scale, name, legend);
        view_cut_bottom(&box, 10);
    }
    view_errors_side(draw, scene, which, &side);
    view_cut_top(&box, VIEW_STAGE_LABELS);
    view_cut_left(&box, VIEW_STAGE_GUTTER);
    if (!view_stage_grid_make(box, rows, columns, &grid))
        return;
    draw_cells(draw, &grid, &scale, errors, done);
    draw_signs(draw, &grid, &scale, errors, done);
    view_stage_grid_lines(draw, &grid);
    draw_numbers(draw, &grid, &scale, errors, done);
    view_stage_grid_labels(draw, &grid);
    if (found.i >= 0)
        view_ring(draw, view_stage_grid_cell(&grid, found.i, found.j), 0, 2, draw->theme->text);
}

void view_stage_errors(struct view_draw *draw, const struct view_scene *scene)
{
    view_stage_each(draw, scene, draw_one);
}
