/*
 * The block mask: the tiles of the score matrix, those that the loops visit, those that the mask
 * leaves out, to be painted. What was counted is the executed run's; painting makes another run.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference/visibility.h"
#include "simulator/counters.h"
#include "visualizer/stage_parts.h"

enum { MOST_HITS = 4096, SIGNS_MOST = 1024, SIDE_WIDTH = 268 };

/* Which tiles there are to visit: what was painted, else the run's own mask, else all. */
struct tiles {
    struct fa_run run; /* problem and tiles alone, for the structural mask */
    int64_t rows, columns;
    const uint8_t *visit; /* NULL: all */
    bool painted;         /* visit is not (yet) what the run had */
};

static struct tiles tiles_of(const struct view_scene *scene, int which)
{
    const struct view_run *run = scene->moment[which].run;
    const struct fa_problem *problem = &view_run_header(run)->problem;
    const struct fa_block_mask *blocks = problem->blocks;
    struct tiles tiles = {.rows = view_run_tr(run), .columns = view_run_tc(run)};
    tiles.run.problem = *problem;
    tiles.run.tiles = view_run_tiles(run);
    bool fits = blocks && blocks->rows == tiles.rows && blocks->columns == tiles.columns;
    if (fits)
        tiles.visit = blocks->visit;
    if (scene->frame->blocks && which == 0) {
        size_t n = (size_t)(tiles.rows * tiles.columns);
        tiles.painted = true;
        if (fits)
            tiles.painted = memcmp(blocks->visit, scene->frame->blocks, n) != 0;
        else
            tiles.painted = memchr(scene->frame->blocks, 0, n) != NULL;
        tiles.visit = scene->frame->blocks;
    }
    return tiles;
}

static bool painted(const struct tiles *tiles, int64_t i, int64_t j)
{
    return !tiles->visit || tiles->visit[i * tiles->columns + j];
}

/* Tiles that causal and window leave, and of them those that the block mask does. */
static void count_tiles(const struct tiles *tiles, int64_t *seen, int64_t *live)
{
    *seen = *live = 0;
    for (int64_t i = 0; i < tiles->rows; i++) {
        struct fa_span span = fa_visible_key_tiles(&tiles->run, i);
        for (int64_t j = span.first; j < span.end; j++) {
            ++*seen;
            *live += painted(tiles, i, j);
        }
    }
}

/* ---- where all stands ------------------------------------------------------------------------ */

struct places {
    struct view_box grid_room, side; /* side: texts and buttons, right of the grid or below it */
    bool beside;
    struct view_stage_grid grid;
    bool has_grid;
};

static struct places place(const struct view_scene *scene, int which)
{
    struct view_box plate = view_stage_plate(scene, which);
    struct view_box box = view_box_inset(plate, VIEW_STAGE_MARGIN, 0);
    struct places at = {.beside = box.w >= 600};
    const struct view_run *run = scene->moment[which].run;
    view_cut_top(&box, VIEW_STAGE_TITLE);
    view_cut_bottom(&box, VIEW_STAGE_MARGIN);
    if (at.beside) {
        at.side = view_cut_right(&box, SIDE_WIDTH);
        view_cut_right(&box, 20);
    } else {
        at.side = view_cut_bottom(&box, box.h >= 260 ? 84 : 20);
        view_cut_bottom(&box, 4);
    }
    view_cut_top(&box, VIEW_STAGE_LABELS);
    view_cut_left(&box, VIEW_STAGE_GUTTER);
    at.grid_room = box;
    at.has_grid = view_stage_grid_make(box, view_run_tr(run), view_run_tc(run), &at.grid);
    return at;
}

/* Painting needs a cell a tile. */
static bool can_paint(const struct places *at)
{
    return at->has_grid && at->grid.each == 1;
}

bool view_mask_tile_at(const struct view_scene *scene, float x, float y, int64_t *row,
                       int64_t *column)
{
    if (scene->runs < 1 || view_stage_plate(scene, 0).w <= 0)
        return false;
    struct places at = place(scene, 0);
    if (!can_paint(&at) || !view_box_has(at.grid.box, x, y))
        return false;
    *row = (int64_t)((y - at.grid.box.y) / at.grid.height);
    *column = (int64_t)((x - at.grid.box.x) / at.grid.width);
    return *row < at.grid.rows && *column < at.grid.columns;
}

bool view_mask_tiles(const struct view_scene *scene, int64_t row, int64_t column,
                     struct view_box *box)
{
    if (scene->runs < 1 || view_stage_plate(scene, 0).w <= 0)
        return false;
    const struct places at = place(scene, 0);
    const struct view_stage_grid *grid = &at.grid;
    if (!at.has_grid || row >= grid->rows || column >= grid->columns)
        return false;
    struct view_box cell =
        view_stage_grid_cell(grid, row < 0 ? 0 : row, column < 0 ? 0 : column);
    *box = view_box_make(column < 0 ? grid->box.x : cell.x, row < 0 ? grid->box.y : cell.y,
                         column < 0 ? grid->box.w : cell.w, row < 0 ? grid->box.h : cell.h);
    return true;
}

/* ---- the grid -------------------------------------------------------------------------------- */

static struct view_color shade(const struct view_theme *theme, double share)
{
    return view_mix(theme->panel, view_tensor_look(theme, FA_S).fill, share);
}

/* How strong a live tile is: to visit, visited, or looked at right now. */
static struct view_color score_color(const struct view_theme *theme, enum view_score score)
{
    return shade(theme, score == VIEW_SCORE_NOW ? 1 : score == VIEW_SCORE_DONE ? 0.7 : 0.35);
}

/* Of the tiles under a drawn cell: as the furthest of them is, bg where none is live. */
static struct view_color cell_color(const struct view_theme *theme, const struct view_scene *scene,
                                    int which, const struct tiles *tiles,
                                    const struct view_stage_grid *grid, int64_t row, int64_t column)
{
    const struct view_moment *moment = &scene->moment[which];
    int64_t i_end = (row + 1) * grid->each, j_end = (column + 1) * grid->each;
    enum view_score furthest = VIEW_SCORE_AHEAD;
    bool live = false;
    for (int64_t i = row * grid->each; i < i_end && i < tiles->rows; i++) {
        struct fa_span span = fa_visible_key_tiles(&tiles->run, i);
        for (int64_t j = column * grid->each; j < j_end && j < tiles->columns; j++) {
            if (j < span.first || j >= span.end || !painted(tiles, i, j))
                continue;
            enum view_score score = view_run_score(moment->run, moment->head, i, j,
                                                   moment->at.landed, NULL, NULL);
            live = true;
            if (score == VIEW_SCORE_NOW || (score == VIEW_SCORE_DONE && furthest != VIEW_SCORE_NOW))
                furthest = score;
        }
    }
    return live ? score_color(theme, furthest) : theme->bg;
}

/* A dead tile is crossed out by the block mask, bare where causal or window hide it; a cut one
 * has a triangle. */
static void draw_sign(struct view_draw *draw, const struct tiles *tiles, struct view_box box,
                      int64_t i, int64_t j)
{
    const struct view_theme *theme = draw->theme;
    struct fa_span seen = fa_visible_key_tiles(&tiles->run, i);
    if (fa_outside(seen, j))
        return;
    if (!painted(tiles, i, j)) {
        float arm = fminf(fminf(box.w, box.h) * 0.22f, 7);
        float x = box.x + box.w / 2, y = box.y + box.h / 2;
        view_line(draw, x - arm, y - arm, x + arm, y + arm, 1, theme->text2);
        view_line(draw, x - arm, y + arm, x + arm, y - arm, 1, theme->text2);
    } else if (fa_outside(fa_whole_key_tiles(&tiles->run, i), j)) {
        view_triangle(draw, box.x, box.y, box.x + box.w, box.y, box.x + box.w, box.y + box.h,
                      theme->bg);
    }
}

static bool has_signs(const struct tiles *tiles, const struct view_stage_grid *grid)
{
    return grid->each == 1 && fminf(grid->width, grid->height) >= 8 &&
           tiles->rows * tiles->columns <= SIGNS_MOST;
}

static void draw_hits(struct view_draw *draw, const struct view_scene *scene,
                      const struct tiles *tiles, const struct view_stage_grid *grid)
{
    int64_t row, column;
    /* So many that the one under the pointer is enough. */
    if (tiles->rows * tiles->columns > MOST_HITS) {
        if (view_mask_tile_at(scene, scene->frame->pointer_x, scene->frame->pointer_y, &row,
                              &column))
            view_hit(draw, view_stage_grid_cell(grid, row, column), VIEW_BLOCK,
                     row * tiles->columns + column, false, NULL);
        return;
    }
    for (row = 0; row < tiles->rows; row++)
        for (column = 0; column < tiles->columns; column++)
            view_hit(draw, view_stage_grid_cell(grid, row, column), VIEW_BLOCK,
                     row * tiles->columns + column, false, NULL);
}

static void draw_grid(struct view_draw *draw, const struct view_scene *scene, int which,
                      const struct tiles *tiles, const struct places *at)
{
    const struct view_theme *theme = draw->theme;
    const struct view_stage_grid *grid = &at->grid;
    const struct view_moment *moment = &scene->moment[which];
    struct view_color *cells = view_image(draw, grid->box, grid->drawn_columns, grid->drawn_rows);
    for (int r = 0; cells && r < grid->drawn_rows; r++)
        for (int c = 0; c < grid->drawn_columns; c++)
            cells[r * grid->drawn_columns + c] = cell_color(theme, scene, which, tiles, grid, r, c);
    if (has_signs(tiles, grid))
        for (int64_t i = 0; i < tiles->rows; i++)
            for (int64_t j = 0; j < tiles->columns; j++)
                draw_sign(draw, tiles, view_stage_grid_cell(grid, i, j), i, j);
    view_stage_grid_lines(draw, grid);
    view_stage_grid_labels(draw, grid);
    if (moment->i >= 0 && moment->j >= 0 && moment->i < tiles->rows && moment->j < tiles->columns)
        view_ring(draw, view_stage_grid_cell(grid, moment->i, moment->j), 0, 2, theme->text);
    int64_t row, column;
    if (which == 0 &&
        view_mask_tile_at(scene, scene->frame->pointer_x, scene->frame->pointer_y, &row, &column))
        view_frame_box(draw, view_stage_grid_cell(grid, row, column), 0, 1, theme->edge);
    if (which == 0 && can_paint(at))
        draw_hits(draw, scene, tiles, grid);
}

/* ---- the texts beside it --------------------------------------------------------------------- */

static void swatch_live(struct view_draw *draw, struct view_box box)
{
    view_fill(draw, box, shade(draw->theme, 0.35));
}

static void swatch_done(struct view_draw *draw, struct view_box box)
{
    view_fill(draw, box, shade(draw->theme, 0.7));
}

static void swatch_skipped(struct view_draw *draw, struct view_box box)
{
    view_fill(draw, box, draw->theme->bg);
    view_tile(draw, box, FA_S, VIEW_TILE_SKIPPED);
    view_frame_box(draw, box, 0, 1, draw->theme->hair);
}

static void swatch_dead(struct view_draw *draw, struct view_box box)
{
    view_fill(draw, box, draw->theme->bg);
    view_frame_box(draw, box, 0, 1, draw->theme->hair);
}

static const char *live_text(const struct view_frame *frame, int64_t live, int64_t all, char *text,
                             size_t size)
{
    char a[VIEW_COUNT_TEXT], b[VIEW_COUNT_TEXT];
    view_count_text((uint64_t)live, a);
    view_count_text((uint64_t)all, b);
    if (frame->covered)
        snprintf(text, size, "? of %s tile%s live", b, all == 1 ? "" : "s");
    else
        snprintf(text, size, "%s of %s tile%s live, s = %.1f %%", a, b, all == 1 ? "" : "s",
                 all ? 100.0 * (double)live / (double)all : 0.0);
    return text;
}

/* What this run counted, from its first event to its last. */
static const char *counted_text(const struct view_scene *scene, int which, char *text, size_t size)
{
    const struct view_run *run = scene->moment[which].run;
    const struct fa_problem *problem = &view_run_header(run)->problem;
    char moved[VIEW_COUNT_TEXT], visited[VIEW_COUNT_TEXT], skipped[VIEW_COUNT_TEXT];
    struct sim_state end;
    view_run_state(run, view_run_length(run), &end);
    struct sim_volume read = sim_counters_read_all(&end.counters, problem);
    struct sim_volume write = sim_counters_write_all(&end.counters, problem);
    if (scene->frame->bytes)
        view_bytes_text(read.bytes + write.bytes, moved);
    else
        view_count_text(read.elements + write.elements, moved);
    if (scene->frame->covered)
        snprintf(text, size, "This run: ?");
    else
        snprintf(text, size, "This run visited %s tile%s, skipped %s and moved %s%s.",
                 view_count_text(end.counters.tiles_visited, visited),
                 end.counters.tiles_visited == 1 ? "" : "s",
                 view_count_text(end.counters.tiles_skipped, skipped), moved,
                 scene->frame->bytes ? "" : " elements");
    return text;
}

static const char *paint_text(const struct view_scene *scene, const struct tiles *tiles,
                              const struct places *at)
{
    if (tiles->painted)
        return "The mask was painted since: the counts are those of the run before, until it has "
               "run again.";
    if (view_run_header(scene->moment[0].run)->algorithm->stores_scores)
        return "This algorithm computes every tile, whatever the mask. Run flash2 to see tiles "
               "skipped.";
    if (!can_paint(at))
        return "The tiles are too small to paint here: set --block-pattern, or take larger tiles.";
    return "Click a tile, or drag over several: the run is made again with them in or out.";
}

static void draw_pattern_button(struct view_draw *draw, const struct view_scene *scene,
                                struct view_box *box)
{
    const struct view_frame *frame = scene->frame;
    for (int n = 0; n < frame->n_options; n++) {
        const struct view_option *option = &frame->options[n];
        if (strcmp(option->name, "block-pattern") != 0 || !option->editable || box->h < 36)
            continue;
        char text[96];
        snprintf(text, sizeof text, "Pattern: %s", option->value[0] ? option->value : "none");
        struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, draw->theme->text);
        if (view_text_width(draw, type, text) + 20 > box->w)
            snprintf(text, sizeof text, "Pattern");
        view_button_fit(draw, frame, box->x, box->y + 4, VIEW_BUTTON_REST, VIEW_CHIP, n, text,
                        "Choose the block mask's pattern");
        view_cut_top(box, 40);
        return;
    }
}

/* Without signs in the tiles what is left out looks alike, whatever left it out. */
static void draw_legend(struct view_draw *draw, struct view_box box, bool structural, bool signs)
{
    const struct {
        void (*swatch)(struct view_draw *draw, struct view_box box);
        const char *words;
        bool shown;
    } entries[] = {
        {swatch_live, "to visit", true},
        {swatch_done, "visited", true},
        {swatch_skipped, "left out by the block mask", signs},
        {swatch_dead, "hidden by causal or window", signs && structural},
        {swatch_dead, "left out by a mask", !signs},
    };
    for (size_t n = 0; n < sizeof entries / sizeof *entries; n++) {
        float x = box.x;
        if (!entries[n].shown || box.h < 20)
            continue;
        struct view_box line = view_cut_top(&box, 20);
        view_stage_legend(draw, &x, line.y + 1, box.x + box.w, entries[n].swatch, entries[n].words);
    }
}

static void draw_side(struct view_draw *draw, const struct view_scene *scene, int which,
                      const struct tiles *tiles, const struct places *at)
{
    char text[256];
    int64_t seen, live;
    struct view_box box = at->side;
    count_tiles(tiles, &seen, &live);
    live_text(scene->frame, live, tiles->rows * tiles->columns, text, sizeof text);
    view_stage_headline(draw, &box, text);
    view_cut_top(&box, at->beside ? 8 : 0);
    view_stage_lines(draw, &box, counted_text(scene, which, text, sizeof text));
    view_cut_top(&box, at->beside ? 8 : 0);
    if (which == 0) {
        view_stage_lines(draw, &box, paint_text(scene, tiles, at));
        view_cut_top(&box, 8);
        draw_pattern_button(draw, scene, &box);
    }
    if (at->beside)
        draw_legend(draw, box, seen < tiles->rows * tiles->columns, has_signs(tiles, &at->grid));
}

static void draw_one(struct view_draw *draw, const struct view_scene *scene, int which,
                     struct view_box plate)
{
    struct tiles tiles = tiles_of(scene, which);
    struct places at = place(scene, which);
    char note[128];
    snprintf(note, sizeof note,
             "%s × %s tiles of %s × %s"
             " scores, queries down, keys across",
             SIM_GROUPED(tiles.rows), SIM_GROUPED(tiles.columns), SIM_GROUPED(tiles.run.tiles.br),
             SIM_GROUPED(tiles.run.tiles.bc));
    struct view_box box = view_stage_open(draw, plate, "Block mask", note, NULL);
    if (tiles.rows < 1 || tiles.columns < 1) {
        view_stage_says(
            draw, box,
            "This run has no queries or no keys, so there are no tiles to paint. Run with --n 16.");
        return;
    }
    if (at.has_grid)
        draw_grid(draw, scene, which, &tiles, &at);
    draw_side(draw, scene, which, &tiles, &at);
}

void view_stage_mask(struct view_draw *draw, const struct view_scene *scene)
{
    view_stage_each(draw, scene, draw_one);
}
