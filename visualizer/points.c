/* What a lesson's step points to: where it is, and the rings round it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "simulator/trace_ops.h"
#include "visualizer/cross.h"
#include "visualizer/lesson_view.h"
#include "visualizer/track_parts.h"

static struct view_box join(struct view_box a, struct view_box b)
{
    float right = fmaxf(a.x + a.w, b.x + b.w), bottom = fmaxf(a.y + a.h, b.y + b.h);
    float x = fminf(a.x, b.x), y = fminf(a.y, b.y);
    return view_box_make(x, y, right - x, bottom - y);
}

/* The part of the box that is seen of a memory. */
static bool seen_in(struct view_box memory, struct view_box *box)
{
    float x = fmaxf(memory.x, box->x), y = fmaxf(memory.y, box->y);
    float right = fminf(memory.x + memory.w, box->x + box->w);
    float bottom = fminf(memory.y + memory.h, box->y + box->h);
    *box = view_box_make(x, y, right - x, bottom - y);
    return box->w > 0 && box->h > 0;
}

static bool tensor_named(const char *name, size_t n, enum fa_tensor_id *id)
{
    for (int exact = 1; exact >= 0; exact--)
        for (int k = 0; k < FA_TENSORS; k++) {
            const char *other = fa_tensor_name((enum fa_tensor_id)k);
            if (strlen(other) == n && (exact ? strncmp(other, name, n) : strncasecmp(other, name, n)) == 0) {
                *id = (enum fa_tensor_id)k;
                return true;
            }
        }
    return false;
}

/* The slot, if what lies there is that tile. */
static bool on_bench(const struct view_scene *scene, int which, enum fa_tensor_id id, int64_t row,
                     int64_t column, struct view_box *box)
{
    const struct view_moment *moment = &scene->moment[which];
    enum fa_tensor_id slot = view_slot_of(moment->run, id);
    struct view_hold hold;
    if (slot == FA_TENSORS || !view_bench_tile(scene, which, id, box))
        return false;
    if (row < 0)
        return true;
    if (!view_slot_hold(moment, slot, &hold) || hold.rows < 1)
        return false;
    bool of_keys = id == FA_K || id == FA_V || id == FA_DK || id == FA_DV;
    return (of_keys ? hold.j : hold.i) == row && (column < 0 || hold.j == column);
}

/* "K", "K[2]", "S[1,2]": in HBM, else on chip. */
static bool tensor_box(const struct view_scene *scene, int which, const char *name,
                       struct view_box *box)
{
    enum fa_tensor_id id;
    int64_t row = -1, column = -1;
    size_t n = strcspn(name, "[");
    if (!tensor_named(name, n, &id))
        return false;
    if (name[n] == '[') {
        char *end;
        row = strtoll(name + n + 1, &end, 10);
        column = *end == ',' ? strtoll(end + 1, NULL, 10) : -1;
    }
    if (scene->frame->stage == VIEW_STAGE_MASK && id == FA_S && row >= 0)
        return view_mask_tiles(scene, row, column, box);
    if (scene->frame->stage != VIEW_STAGE_CROSS)
        return false;
    bool there = row < 0 ? view_hbm_matrix(scene, which, id, box)
                         : view_hbm_tile(scene, which, id, row, column < 0 ? 0 : column, box);
    if (there && seen_in(scene->layout.hbm[which], box))
        return true;
    return on_bench(scene, which, id, row, column, box);
}

/* The band of a query through Q, S and O, or of a key through K, S and V. */
static bool band_box(const struct view_scene *scene, int which, bool of_keys, int64_t index,
                     struct view_box *box)
{
    static const enum fa_tensor_id queries[] = {FA_Q, FA_S, FA_O}, keys[] = {FA_K, FA_S, FA_V};
    const enum fa_tensor_id *ids = of_keys ? keys : queries;
    struct view_box cell, matrix;
    bool any = false;
    if (scene->frame->stage == VIEW_STAGE_MASK) {
        struct fa_tiles tiles = view_run_tiles(scene->moment[which].run);
        return of_keys ? view_mask_tiles(scene, -1, index / tiles.bc, box)
                       : view_mask_tiles(scene, index / tiles.br, -1, box);
    }
    if (scene->frame->stage != VIEW_STAGE_CROSS)
        return false;
    for (int n = 0; n < 3; n++) {
        bool scores = ids[n] == FA_S;
        if (!view_hbm_matrix(scene, which, ids[n], &matrix) ||
            !view_hbm_cell(scene, which, ids[n], scores && of_keys ? 0 : index,
                           scores && of_keys ? index : 0, &cell))
            continue;
        struct view_box part = of_keys ? view_box_make(cell.x, matrix.y, cell.w, matrix.h)
                                       : view_box_make(matrix.x, cell.y, matrix.w, cell.h);
        *box = any ? join(*box, part) : part;
        any = true;
    }
    return any && seen_in(scene->layout.hbm[which], box);
}

static bool place_box(const struct view_scene *scene, int which, const char *name,
                      struct view_box *box)
{
    const struct view_layout *layout = &scene->layout;
    struct view_sram_places sram;
    struct view_lane_places lanes;
    *box = view_box_make(0, 0, 0, 0);
    if (strcmp(name, "track") == 0) {
        struct view_transport transport;
        view_transport_make(scene, &transport);
        *box = transport.strip[1].h > 0 ? join(transport.strip[0], transport.strip[1])
                                        : transport.strip[0];
    } else if (strcmp(name, "sentence") == 0) {
        *box = layout->sentence;
    } else if (strcmp(name, "panel") == 0) {
        *box = layout->second_panel.w > 0 ? layout->second_panel : layout->panel;
    }
    if (box->h > 0 || scene->frame->stage != VIEW_STAGE_CROSS || layout->stage.w <= 0)
        return box->w > 0 && box->h > 0;
    view_sram_places(scene, which, &sram);
    view_lane_places(scene, which, &lanes);
    if (strcmp(name, "capacity") == 0)
        *box = sram.bar;
    else if (strcmp(name, "checks") == 0)
        *box = sram.checks;
    else if (strcmp(name, "read lane") == 0)
        *box = lanes.read;
    else if (strcmp(name, "write lane") == 0)
        *box = lanes.write;
    else if (strcmp(name, "L2") == 0 && which == 0)
        *box = layout->l2;
    return box->w > 0 && box->h > 0;
}

static bool point_box(const struct view_scene *scene, int which, const char *name,
                      struct view_box *box)
{
    bool row = strncmp(name, "row ", 4) == 0, column = strncmp(name, "column ", 7) == 0;
    if (which >= scene->runs)
        return false;
    if ((row || column) && scene->frame->stage == VIEW_STAGE_ROW && scene->layout.stage.w > 0) {
        *box = scene->layout.stage; /* that stage is of this row */
        return row;
    }
    if (row || column)
        return scene->layout.stage.w > 0 &&
               band_box(scene, which, column, strtoll(strchr(name, ' ') + 1, NULL, 10), box);
    if (place_box(scene, which, name, box))
        return true;
    return scene->layout.stage.w > 0 && tensor_box(scene, which, name, box);
}

bool view_point_box(const struct view_scene *scene, const char *name, struct view_box *box)
{
    return point_box(scene, 0, name, box) || point_box(scene, 1, name, box);
}

bool view_point_there(const struct view_run *run, const char *name)
{
    const struct fa_problem *p = &view_run_header(run)->problem;
    bool of_row = strncmp(name, "row ", 4) == 0, of_column = strncmp(name, "column ", 7) == 0;
    enum fa_tensor_id id;
    int64_t rows, columns, across = 0;
    char *end;
    if (of_row || of_column)
        return strtoll(strchr(name, ' ') + 1, NULL, 10) < (of_row ? p->nq : p->nk);
    const char *bracket = strchr(name, '[');
    if (!bracket)
        return true; /* a part of the window */
    if (!tensor_named(name, (size_t)(bracket - name), &id))
        return false;
    int64_t down = strtoll(bracket + 1, &end, 10);
    if (*end == ',')
        across = strtoll(end + 1, NULL, 10);
    view_run_shape(run, id, &rows, &columns);
    if (rows == 0 && view_slot_of(run, id) == FA_TENSORS)
        return false; /* neither in HBM nor on chip */
    bool score = sim_is_score_tile(id);
    return down < (sim_is_key_side(id) ? view_run_tc(run) : view_run_tr(run)) &&
           across < (score ? view_run_tc(run) : 1);
}

/* With a line of the ground inside it, so that it shows on any colour; within the frame where the
 * thing is at its edge. */
static void draw_ring(struct view_draw *draw, const struct view_frame *frame, struct view_box box)
{
    const float far = 4;
    float x = fmaxf(box.x - far, 2), y = fmaxf(box.y - far, 2);
    float right = fminf(box.x + box.w + far, frame->width - 2);
    float bottom = fminf(box.y + box.h + far, frame->height - 2);
    struct view_box ring = view_box_make(x, y, right - x, bottom - y);
    view_frame_box(draw, view_box_inset(ring, 2, 2), 4, 1, draw->theme->bg);
    view_frame_box(draw, ring, 6, 2, draw->theme->text);
}

/* The numbers of a query in the tiles that are on chip. */
static bool row_on_bench(const struct view_scene *scene, int which, int64_t row,
                         struct view_box *box)
{
    static const enum fa_tensor_id ids[] = {FA_Q, FA_S, FA_O, FA_M, FA_L};
    bool any = false;
    for (size_t n = 0; n < sizeof ids / sizeof *ids; n++) {
        enum fa_tensor_id slot = view_slot_of(scene->moment[which].run, ids[n]);
        struct view_hold hold;
        struct view_box cell, tile;
        if (slot == FA_TENSORS || !view_slot_hold(&scene->moment[which], slot, &hold) ||
            row < hold.row || row >= hold.row + hold.rows ||
            !view_bench_tile(scene, which, ids[n], &tile) ||
            !view_bench_cell(scene, which, ids[n], row - hold.row, 0, &cell))
            continue;
        struct view_box part = view_box_make(tile.x, cell.y, tile.w, cell.h);
        *box = any ? join(*box, part) : part;
        any = true;
    }
    return any;
}

/* The tile or row on chip too: the copy is what the step is about. */
static void ring_copy(struct view_draw *draw, const struct view_scene *scene, int which,
                      const char *name, struct view_box first)
{
    enum fa_tensor_id id;
    struct view_box box;
    size_t n = strcspn(name, "[");
    if (strncmp(name, "row ", 4) == 0 && scene->frame->stage == VIEW_STAGE_CROSS &&
        row_on_bench(scene, which, strtoll(name + 4, NULL, 10), &box))
        draw_ring(draw, scene->frame, box);
    if (name[n] != '[' || scene->frame->stage != VIEW_STAGE_CROSS || !tensor_named(name, n, &id))
        return;
    char *end;
    int64_t row = strtoll(name + n + 1, &end, 10);
    int64_t column = *end == ',' ? strtoll(end + 1, NULL, 10) : -1;
    if (on_bench(scene, which, id, row, column, &box) && !view_box_meets(box, first))
        draw_ring(draw, scene->frame, box);
}

/* The panel that is meant is behind the lesson's, whose prose leads there. */
static bool is_elsewhere(const struct view_scene *scene, const char *name)
{
    return strcmp(name, "panel") == 0 && scene->layout.second_panel.w <= 0 &&
           scene->frame->panel == VIEW_PANEL_LESSON;
}

void view_scene_points(struct view_draw *draw, const struct view_scene *scene)
{
    const struct view_lesson *view = scene->frame->lesson;
    if (!view || !view->lesson || view->step >= view->lesson->n_steps || view->changed)
        return;
    const struct lesson_show *show = &view->lesson->step[view->step].show;
    draw->layer = VIEW_FLIGHT;
    for (int p = 0; p < show->n_points; p++)
        for (int which = 0; which < scene->runs; which++) {
            struct view_box box;
            if (is_elsewhere(scene, show->point[p]) ||
                !point_box(scene, which, show->point[p], &box) ||
                memcmp(&box, &scene->layout.stage, sizeof box) == 0)
                continue;
            draw_ring(draw, scene->frame, box);
            ring_copy(draw, scene, which, show->point[p], box);
        }
    draw->layer = VIEW_BASE;
}
