#include <string.h>

#include "visualizer/cross.h"

bool view_at_rows(const struct view_moment *moment)
{
    const struct sim_event *here = moment->next ? moment->next : moment->last;
    const struct fa_algorithm *algorithm = view_run_header(moment->run)->algorithm;
    if (!here)
        return false;
    const char *phase = algorithm->phases[algorithm->steps[here->step].phase];
    return strcmp(phase, "softmax") == 0 || strcmp(phase, "dS by rows") == 0;
}

bool view_undivided(const struct view_moment *moment, const struct view_hold *o)
{
    const struct fa_algorithm *algorithm = view_run_header(moment->run)->algorithm;
    return o->op != FA_OP_FINISH && view_run_divides_late(algorithm);
}

/* ---- where a tile or a number is drawn ------------------------------------------------------- */

bool view_hbm_matrix(const struct view_scene *scene, int which, enum fa_tensor_id id,
                     struct view_box *box)
{
    struct view_cross cross;
    view_cross_hbm(scene, which, &cross);
    if (!cross.matrix[id].on)
        return false;
    *box = cross.matrix[id].box;
    return true;
}

bool view_hbm_tile(const struct view_scene *scene, int which, enum fa_tensor_id id, int64_t row,
                   int64_t column, struct view_box *box)
{
    struct view_cross cross;
    view_cross_hbm(scene, which, &cross);
    const struct view_matrix *m = &cross.matrix[id];
    if (!m->on || row < 0 || column < 0 || row >= view_matrix_tile_rows(m) ||
        column >= view_matrix_tile_columns(m))
        return false;
    *box = view_matrix_tile(m, row, column);
    return true;
}

bool view_hbm_cell(const struct view_scene *scene, int which, enum fa_tensor_id id, int64_t row,
                   int64_t column, struct view_box *box)
{
    struct view_cross cross;
    view_cross_hbm(scene, which, &cross);
    const struct view_matrix *m = &cross.matrix[id];
    if (!m->on || row < 0 || column < 0 || row >= m->rows || column >= m->columns)
        return false;
    *box = view_matrix_part(m, row, column, 1, 1);
    return true;
}

bool view_bench_tile(const struct view_scene *scene, int which, enum fa_tensor_id id,
                     struct view_box *box)
{
    struct view_bench bench;
    enum fa_tensor_id slot = view_slot_of(scene->moment[which].run, id);
    view_cross_bench(scene, which, &bench);
    if (slot == FA_TENSORS || !bench.slot[slot].on)
        return false;
    *box = bench.slot[slot].box;
    return true;
}

bool view_bench_cell(const struct view_scene *scene, int which, enum fa_tensor_id id, int64_t row,
                     int64_t column, struct view_box *box)
{
    struct view_bench bench;
    enum fa_tensor_id slot = view_slot_of(scene->moment[which].run, id);
    view_cross_bench(scene, which, &bench);
    if (slot == FA_TENSORS || !bench.slot[slot].on || row < 0 || column < 0 ||
        row >= bench.slot[slot].rows || column >= bench.slot[slot].columns)
        return false;
    *box = view_matrix_part(&bench.slot[slot], row, column, 1, 1);
    return true;
}

/* ---- which number is under a point ----------------------------------------------------------- */

static bool cell_on_bench(const struct view_scene *scene, int which, float x, float y,
                          struct view_cell *cell)
{
    struct view_bench bench;
    view_cross_bench(scene, which, &bench);
    for (int slot = 0; slot < FA_TENSORS; slot++) {
        int64_t row = 0, column = 0;
        struct view_hold hold;
        if (!view_matrix_at(&bench.slot[slot], x, y, &row, &column) ||
            !view_slot_hold(&scene->moment[which], (enum fa_tensor_id)slot, &hold) || hold.spent ||
            row >= hold.rows || column >= hold.columns)
            continue;
        *cell =
            (struct view_cell){true, which, true, hold.id, hold.row + row, hold.column + column};
        return true;
    }
    return false;
}

static bool cell_in_hbm(const struct view_scene *scene, int which, float x, float y,
                        struct view_cell *cell)
{
    struct view_cross cross;
    view_cross_hbm(scene, which, &cross);
    if (!view_box_has(cross.area, x, y))
        return false;
    for (int id = 0; id < FA_TENSORS; id++) {
        int64_t row = 0, column = 0;
        if (!view_matrix_at(&cross.matrix[id], x, y, &row, &column))
            continue;
        *cell = (struct view_cell){true, which, false, (enum fa_tensor_id)id, row, column};
        return true;
    }
    return false;
}

bool view_cell_at(const struct view_scene *scene, float x, float y, struct view_cell *cell)
{
    if (scene->frame->stage != VIEW_STAGE_CROSS)
        return false;
    for (int which = 0; which < scene->runs; which++)
        if (view_box_has(scene->layout.sram[which], x, y))
            return cell_on_bench(scene, which, x, y, cell);
        else if (view_box_has(scene->layout.hbm[which], x, y))
            return cell_in_hbm(scene, which, x, y, cell);
    return false;
}
