/* The plane of all tiles, Br down and Bc across: those that fit, and the corner to drag. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/stage_parts.h"
#include "visualizer/stage_tiles.h"

enum { TICKS = 18, GUTTER = 40, HANG = 14, LEAST_PLANE = 48, STRIDE = 2 };

/* Bytes that must be on chip at once; UINT64_MAX where no such tiles can be made. */
static uint64_t need_of(const struct sim_experiment *experiment, int64_t br, int64_t bc)
{
    struct sim_experiment tried = *experiment;
    struct fa_tiles tiles;
    tried.tiles = (struct sim_tile_choice){SIM_TILES_GIVEN, br, bc};
    if (sim_experiment_tiles(&tried, &tiles, NULL) != FA_OK)
        return UINT64_MAX;
    return sim_live_bytes(tried.pass == SIM_BACKWARD ? tried.algorithm->backward : tried.algorithm,
                          &tried.problem, &tiles);
}

bool view_tiles_fit(const struct view_tiles_look *tiles)
{
    return tiles->lifted || tiles->need <= tiles->capacity;
}

static struct view_tiles_look tiles_of(const struct view_scene *scene, int which)
{
    const struct view_run *run = scene->moment[which].run;
    const struct view_tiles_tried *tried = &scene->frame->tiles;
    struct fa_tiles own = view_run_tiles(run);
    struct view_tiles_look tiles = {
        .experiment = view_run_experiment(run), .br = own.br, .bc = own.bc};
    if (which == 0 && tried->br > 0) {
        tiles.dragged = true;
        tiles.br = tried->br;
        tiles.bc = tried->bc;
    }
    tiles.lifted = tiles.experiment->lift_capacity;
    tiles.capacity = tiles.experiment->machine.sram_bytes;
    tiles.need = need_of(tiles.experiment, tiles.br, tiles.bc);
    return tiles;
}

int view_tiles_chip(const struct view_frame *frame)
{
    for (int n = 0; n < frame->n_options; n++)
        if (strcmp(frame->options[n].name, "tiles") == 0)
            return frame->options[n].editable ? n : -1;
    return -1;
}

/* ---- where all stands ------------------------------------------------------------------------ */

struct places {
    struct view_box plane; /* w 0: it has no room */
    struct view_box side;  /* right of it or below it */
    bool named;            /* the axes have a line of words */
    int64_t nq, nk;        /* at the ends of the axes */
};

static struct places place(const struct view_scene *scene, int which)
{
    struct view_box box = view_box_inset(view_stage_plate(scene, which), VIEW_STAGE_MARGIN, 0);
    const struct fa_problem *problem = &view_run_header(scene->moment[which].run)->problem;
    struct places at = {.nq = problem->nq, .nk = problem->nk};
    view_cut_top(&box, VIEW_STAGE_TITLE);
    view_cut_bottom(&box, VIEW_STAGE_MARGIN);
    bool beside = box.w > 1.2f * box.h;
    at.named = box.h >= 200;
    float top = TICKS * (at.named ? 2 : 1);
    float wide = beside ? box.w * 0.56f : box.w, high = beside ? box.h : box.h * 0.55f;
    float side = floorf(fminf(wide - GUTTER - HANG, high - top - HANG));
    at.side = box;
    if (side < LEAST_PLANE || at.nq < 1 || at.nk < 1)
        return at;
    at.plane = view_box_make(box.x + GUTTER, box.y + top, side, side);
    if (beside)
        view_cut_left(&at.side, GUTTER + side + HANG + 10);
    else
        view_cut_top(&at.side, top + side + HANG + 10);
    return at;
}

/* From 1 to n on a logarithmic axis, 0 to 1. */
static float share_of(int64_t value, int64_t n)
{
    return n > 1 ? (float)(log((double)value) / log((double)n)) : 1;
}

static int64_t value_at(double share, int64_t n)
{
    int64_t value = llround(exp(share * log((double)n)));
    return value < 1 ? 1 : value > n ? n : value;
}

static float x_of(const struct places *at, int64_t bc)
{
    return roundf(at->plane.x + share_of(bc, at->nk) * at->plane.w);
}

static float y_of(const struct places *at, int64_t br)
{
    return roundf(at->plane.y + share_of(br, at->nq) * at->plane.h);
}

static bool has_plane(const struct view_scene *scene, struct places *at)
{
    if (scene->runs < 1 || !view_run_experiment(scene->moment[0].run) ||
        view_stage_plate(scene, 0).w <= 0)
        return false;
    *at = place(scene, 0);
    return at->plane.w > 0;
}

bool view_tiles_at(const struct view_scene *scene, float x, float y, int64_t *br, int64_t *bc)
{
    struct places at;
    if (!has_plane(scene, &at))
        return false;
    *br = value_at(fmin(fmax((y - at.plane.y) / at.plane.h, 0), 1), at.nq);
    *bc = value_at(fmin(fmax((x - at.plane.x) / at.plane.w, 0), 1), at.nk);
    return true;
}

bool view_tiles_place(const struct view_scene *scene, int64_t br, int64_t bc, float *x, float *y)
{
    struct places at;
    if (!has_plane(scene, &at))
        return false;
    *x = x_of(&at, bc);
    *y = y_of(&at, br);
    return true;
}

/* ---- the plane ------------------------------------------------------------------------------- */

/* The tallest tile of that width that fits; 0: none does. */
static int64_t tallest(const struct view_tiles_look *tiles, int64_t bc, int64_t nq)
{
    int64_t low = 0, high = nq + 1;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (tiles->lifted || need_of(tiles->experiment, middle, bc) <= tiles->capacity)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* What fits, column by column, with the line where it ends. */
static void draw_fitting(struct view_draw *draw, const struct view_tiles_look *tiles,
                         const struct places *at)
{
    const struct view_theme *theme = draw->theme;
    float end = at->plane.x + at->plane.w, bottom = at->plane.y + at->plane.h, before = -1;
    for (float x = at->plane.x; x < end; x += STRIDE) {
        float wide = fminf(STRIDE, end - x);
        int64_t bc = value_at((x + wide / 2 - at->plane.x) / at->plane.w, at->nk);
        int64_t br = tallest(tiles, bc, at->nq);
        float y = br > 0 ? y_of(at, br) : at->plane.y;
        if (y > at->plane.y)
            view_fill(draw, view_box_make(x, at->plane.y, wide, y - at->plane.y), theme->raised);
        if (before >= 0 && before != y)
            view_line(draw, x, before, x, y, 2, theme->text2);
        if (y > at->plane.y && y < bottom)
            view_line(draw, x, y, x + wide, y, 2, theme->text2);
        before = y;
    }
}

/* Powers of four, and the axis' end where it has room. */
static void draw_ticks(struct view_draw *draw, const struct places *at)
{
    const struct view_theme *theme = draw->theme;
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CELL, theme->text2);
    struct view_type words = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text2);
    struct view_box plane = at->plane;
    float free = plane.x - 18;
    for (int64_t bc = 1; bc <= at->nk; bc *= 4) {
        char text[24];
        float x = x_of(at, bc);
        snprintf(text, sizeof text, "%s", SIM_GROUPED(bc));
        float wide = view_text_width(draw, type, text);
        view_line(draw, x, plane.y, x, plane.y + plane.h, 1, theme->hair);
        if (x - wide / 2 < free || x + wide / 2 > plane.x + plane.w + HANG + 4)
            continue;
        view_text(draw, x, plane.y - TICKS, VIEW_CENTRE, type, "%s", text);
        free = x + wide / 2 + 8;
    }
    free = plane.y - 9;
    for (int64_t br = 1; br <= at->nq; br *= 4) {
        float y = y_of(at, br);
        view_line(draw, plane.x, y, plane.x + plane.w, y, 1, theme->hair);
        if (y - 8 < free)
            continue;
        view_text_in(draw, view_box_make(plane.x - GUTTER, y - 8, GUTTER - 8, 16), VIEW_RIGHT, type,
                     "%s", SIM_GROUPED(br));
        free = y + 8;
    }
    if (at->named)
        view_text_in(
            draw,
            view_box_make(plane.x - GUTTER, plane.y - 2 * TICKS, plane.w + GUTTER + HANG, TICKS),
            VIEW_LEFT, words, "Br down, Bc across");
}

static void draw_tile(struct view_draw *draw, const struct view_tiles_look *tiles,
                      const struct places *at)
{
    const struct view_theme *theme = draw->theme;
    char text[64];
    struct view_box tile =
        view_box_make(at->plane.x, at->plane.y, x_of(at, tiles->bc) - at->plane.x,
                      y_of(at, tiles->br) - at->plane.y);
    if (tile.w < 1 || tile.h < 1)
        return;
    snprintf(text, sizeof text, "%s × %s", SIM_GROUPED(tiles->br), SIM_GROUPED(tiles->bc));
    if (view_tiles_fit(tiles)) {
        view_tensor_bar(draw, tile, FA_S, text);
        return;
    }
    view_fill(draw, tile, view_fade(theme->bad, 0.15)); /* the border stays in sight below it */
    view_hatch(draw, tile, VIEW_RISING, view_fade(theme->bad, 0.5));
    view_frame_box(draw, tile, 0, 2, theme->bad);
}

/* A small square where other tiles stand. */
static void draw_mark(struct view_draw *draw, const struct places *at, int64_t br, int64_t bc)
{
    struct view_box box = view_box_make(x_of(at, bc) - 4, y_of(at, br) - 4, 8, 8);
    view_fill(draw, box, draw->theme->bg);
    view_frame_box(draw, box, 0, 2, draw->theme->text2);
}

static void draw_handle(struct view_draw *draw, const struct view_scene *scene,
                        const struct view_tiles_look *tiles, const struct places *at)
{
    const struct view_theme *theme = draw->theme;
    char label[96];
    struct view_box box = view_box_make(x_of(at, tiles->bc) - 14, y_of(at, tiles->br) - 14, 28, 28);
    struct view_box knob = view_box_inset(box, 6, 6);
    view_focus_ring(draw, scene->frame, view_box_inset(box, 4, 4));
    view_fill_round(draw, knob, 8, theme->bg);
    view_fill_round(draw, view_box_inset(knob, 1, 1), 7, theme->text);
    view_fill_round(draw, view_box_inset(knob, 4, 4), 4,
                    view_tiles_fit(tiles) ? theme->bg : theme->bad);
    snprintf(label, sizeof label, "Br %" PRId64 ", Bc %" PRId64 ": drag, or arrows, to change the tiles",
             tiles->br, tiles->bc);
    view_hit(draw, at->plane, VIEW_TILES_DRAG, 0, false, NULL);
    view_hit(draw, box, VIEW_TILES_DRAG, 0, false, label);
}

static void draw_plane(struct view_draw *draw, const struct view_scene *scene, int which,
                       const struct view_tiles_look *tiles, const struct places *at)
{
    struct fa_tiles own = view_run_tiles(scene->moment[which].run);
    const struct view_tiles_tried *tried = &scene->frame->tiles;
    view_fill(draw, at->plane, draw->theme->bg);
    draw_fitting(draw, tiles, at);
    draw_ticks(draw, at);
    draw_tile(draw, tiles, at);
    view_frame_box(draw, at->plane, 0, 1, draw->theme->edge);
    if (tiles->dragged)
        draw_mark(draw, at, own.br, own.bc);
    if (which == 0 && tried->best_br > 0)
        draw_mark(draw, at, tried->best_br, tried->best_bc);
    if (which == 0 && view_tiles_chip(scene->frame) >= 0)
        draw_handle(draw, scene, tiles, at);
}

static void draw_one(struct view_draw *draw, const struct view_scene *scene, int which,
                     struct view_box plate)
{
    const char *note = "which fit, and what they move";
    struct view_box box = view_stage_open(draw, plate, "Tiles", note, NULL);
    if (!view_run_experiment(scene->moment[which].run)) {
        view_stage_says(draw, box,
                        "This trace was read from a file that does not say how to run it again, so "
                        "other tiles cannot be tried.");
        return;
    }
    struct places at = place(scene, which);
    if (at.nq < 1 || at.nk < 1) {
        view_stage_says(draw, box,
                        "This run has no queries or no keys, so there are no tiles to choose. Run "
                        "with --n 16.");
        return;
    }
    struct view_tiles_look tiles = tiles_of(scene, which);
    if (at.plane.w > 0)
        draw_plane(draw, scene, which, &tiles, &at);
    view_tiles_side(draw, scene, which, &tiles, at.side);
}

void view_stage_tiles(struct view_draw *draw, const struct view_scene *scene)
{
    view_stage_each(draw, scene, draw_one);
}
