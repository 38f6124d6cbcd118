/* Beside the plane of tiles: what must be on chip, to scale, and what was moved. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "simulator/counters.h"
#include "visualizer/stage_parts.h"
#include "visualizer/stage_tiles.h"

/* ---- what must be on chip -------------------------------------------------------------------- */

struct piece {
    enum fa_tensor_id id;
    const char *letter;
    uint64_t bytes;
};

enum { PIECES = 6 };

/* The tiles of a fused forward pass, which lie on chip together. 0: of other passes, whose need is
 * the largest of several moments. */
static int pieces_of(const struct view_tiles_look *tiles, struct piece pieces[PIECES])
{
    const struct fa_problem *p = &tiles->experiment->problem;
    const struct fa_algorithm *algorithm = tiles->experiment->algorithm;
    if (tiles->experiment->pass != SIM_FORWARD || algorithm->stores_scores)
        return 0;
    int64_t br = tiles->br, bc = tiles->bc, statistics = algorithm == &fa_flash1 ? 4 : 2;
    const struct {
        enum fa_tensor_id id;
        const char *letter;
        int64_t cells;
    } parts[PIECES] = {{FA_Q, "Q", br * p->d},  {FA_K, "K", bc * p->d},
                       {FA_V, "V", bc * p->dv}, {FA_O, "O", br * p->dv},
                       {FA_S, "S", br * bc},    {FA_M, "m, ℓ", br * statistics}};
    for (int n = 0; n < PIECES; n++)
        pieces[n] = (struct piece){parts[n].id, parts[n].letter,
                                   (uint64_t)parts[n].cells * fa_on_chip_bytes(p, parts[n].id)};
    return PIECES;
}

/* On a plain plate, over the hatch of what hangs over. */
static void draw_letter(struct view_draw *draw, struct view_box part, const struct piece *piece)
{
    struct view_color fill = view_tensor_look(draw->theme, piece->id).fill;
    struct view_type type = view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, view_ink(fill));
    float width = view_text_width(draw, type, piece->letter) + 6;
    if (width > part.w - 2)
        return;
    struct view_box plate =
        view_box_make(floorf(part.x + (part.w - width) / 2), part.y + 4, width, part.h - 8);
    view_fill(draw, plate, fill);
    view_text_in(draw, plate, VIEW_CENTRE, type, "%s", piece->letter);
}

static void draw_capacity(struct view_draw *draw, const struct view_tiles_look *tiles,
                          struct view_box box)
{
    const struct view_theme *theme = draw->theme;
    struct piece pieces[PIECES];
    int n = pieces_of(tiles, pieces);
    double need = (double)tiles->need, capacity = tiles->lifted ? need : (double)tiles->capacity;
    double scale = (double)box.w / fmax(fmax(need, capacity), 1), used = 0;
    struct view_box chip = view_box_make(box.x, box.y, roundf((float)(capacity * scale)), box.h);
    view_fill(draw, chip, theme->bg);
    view_frame_box(draw, chip, 0, 1, theme->edge);
    struct view_box parts[PIECES];
    for (int k = 0; k <= n; k++) {
        double bytes = k < n ? (double)pieces[k].bytes : need - used; /* last: masks, bias, all */
        float left = roundf((float)(used * scale)), right = roundf((float)((used + bytes) * scale));
        struct view_box part = view_box_make(box.x + left, box.y, right - left, box.h);
        used += bytes;
        if (k < n)
            parts[k] = part;
        if (k < n && part.w >= 1)
            view_tensor_bar(draw, part, pieces[k].id, NULL);
        else if (part.w >= 1)
            view_fill(draw, part, view_mix(theme->bg, theme->text2, 0.5));
    }
    if (!view_tiles_fit(tiles)) {
        struct view_box over = view_box_make(chip.x + chip.w, box.y, box.w - chip.w, box.h);
        view_hatch(draw, over, VIEW_RISING, theme->bad);
        view_frame_box(draw, over, 0, 2, theme->bad);
        view_line(draw, over.x, box.y - 3, over.x, box.y + box.h + 3, 2, theme->bad);
    }
    for (int k = 0; k < n; k++)
        draw_letter(draw, parts[k], &pieces[k]);
}

static void draw_need(struct view_draw *draw, const struct view_tiles_look *tiles,
                      struct view_measure unit, struct view_box *box)
{
    char text[160], need[VIEW_COUNT_TEXT], capacity[VIEW_COUNT_TEXT], over[VIEW_COUNT_TEXT];
    view_count_exact(view_in_units(unit, tiles->need), need);
    view_count_exact(view_in_units(unit, tiles->capacity), capacity);
    if (tiles->need == UINT64_MAX)
        snprintf(text, sizeof text, "What must be on chip: too much to count.");
    else if (tiles->lifted)
        snprintf(text, sizeof text, "What must be on chip: %s %s. The capacity is lifted.", need,
                 unit.name);
    else if (view_tiles_fit(tiles))
        snprintf(text, sizeof text, "What must be on chip: %s of %s %s. It fits.", need, capacity,
                 unit.name);
    else
        snprintf(text, sizeof text, "What must be on chip: %s %s, %s more than fit.", need,
                 unit.name,
                 view_count_exact(view_in_units(unit, tiles->need - tiles->capacity), over));
    struct view_type type = view_type_make(
        VIEW_SANS, VIEW_SIZE_LABEL, view_tiles_fit(tiles) ? draw->theme->text2 : draw->theme->bad);
    bool complete;
    view_cut_top(box, view_text_wrapped(draw, *box, type, 0, text, &complete));
    if (box->h < 34)
        return;
    view_cut_top(box, 7);
    draw_capacity(draw, tiles, view_cut_top(box, 24));
    view_cut_top(box, 10);
}

/* ---- what was moved -------------------------------------------------------------------------- */

struct row {
    const char *name;
    int64_t br, bc;
    const char *instead; /* of a number; NULL: it was counted */
    uint64_t moved;
    bool strong;
};

static uint64_t in_unit(const struct view_frame *frame, struct sim_volume volume)
{
    return frame->bytes ? volume.bytes : volume.elements;
}

static int rows_of(const struct view_scene *scene, int which, const struct view_tiles_look *tiles,
                   struct row rows[3])
{
    static const char *const outcomes[] = {NULL, "does not fit", "let go to count", "not counted"};
    const struct view_frame *frame = scene->frame;
    const struct view_tiles_tried *tried = &frame->tiles;
    const struct view_run *run = scene->moment[which].run;
    const struct fa_problem *problem = &view_run_header(run)->problem;
    int64_t heads = problem->batch * problem->heads;
    struct fa_tiles own = view_run_tiles(run);
    struct sim_state end;
    int n = 0;
    view_run_state(run, view_run_length(run), &end);
    uint64_t moved = in_unit(frame, sim_counters_read_all(&end.counters, problem)) +
                     in_unit(frame, sim_counters_write_all(&end.counters, problem));
    rows[n++] = (struct row){"this run", own.br,
                             own.bc,     view_run_refused(run) ? "does not fit" : NULL,
                             moved,      !tiles->dragged};
    if (tiles->dragged)
        rows[n++] = (struct row){
            "dragged", tiles->br, tiles->bc, outcomes[tried->outcome], in_unit(frame, tried->moved),
            true};
    if (which == 0 && tried->best_br > 0)
        rows[n++] = (struct row){
            "best so far", tried->best_br, tried->best_bc, NULL, in_unit(frame, tried->best),
            false};
    for (int k = 0; k < n; k++) {
        if (frame->covered && !rows[k].instead)
            rows[k].instead = "?";
        if (!frame->all_heads && heads > 0)
            rows[k].moved /= (uint64_t)heads;
    }
    return n;
}

static void draw_row(struct view_draw *draw, const struct view_frame *frame, const struct row *row,
                     uint64_t most, struct view_box *box)
{
    const struct view_theme *theme = draw->theme;
    struct view_color color = row->strong ? theme->text : theme->text2;
    struct view_type words = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, color);
    struct view_type strong = view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, color);
    char number[VIEW_COUNT_TEXT], name[96];
    if (box->h < 30)
        return;
    if (row->instead)
        snprintf(number, sizeof number, "%s", row->instead);
    else if (frame->bytes)
        view_bytes_text(row->moved, number);
    else
        view_count_text(row->moved, number);
    struct view_box line = view_cut_top(box, 18), bar = view_cut_top(box, 6);
    view_cut_top(box, 6);
    snprintf(name, sizeof name, "%s × %s, %s", SIM_GROUPED(row->br), SIM_GROUPED(row->bc),
             row->name);
    if (view_text_in(draw, line, VIEW_RIGHT, strong, "%s", number))
        view_cut_right(&line, view_text_width(draw, strong, number) + 10);
    if (!view_text_in(draw, line, VIEW_LEFT, words, "%s", name))
        view_text_in(draw, line, VIEW_LEFT, words, "%s", row->name);
    view_fill(draw, bar, theme->bg);
    if (!row->instead && most > 0)
        bar.w = fmaxf(1, roundf((float)((double)bar.w * (double)row->moved / (double)most)));
    else
        bar.w = 0;
    if (bar.w > 0)
        view_fill(draw, bar, color);
}

void view_tiles_side(struct view_draw *draw, const struct view_scene *scene, int which,
                     const struct view_tiles_look *tiles, struct view_box box)
{
    const struct view_frame *frame = scene->frame;
    const struct fa_problem *problem = &view_run_header(scene->moment[which].run)->problem;
    struct row rows[3];
    char text[128];
    uint64_t most = 0;
    int n = rows_of(scene, which, tiles, rows);
    snprintf(text, sizeof text, "Br %s, Bc %s", SIM_GROUPED(tiles->br), SIM_GROUPED(tiles->bc));
    view_stage_headline(draw, &box, text);
    view_cut_top(&box, box.h > 120 ? 6 : 0);
    draw_need(draw, tiles, view_measure_of(scene->moment[which].run, frame->bytes), &box);
    for (int k = 0; k < n; k++)
        most = !rows[k].instead && rows[k].moved > most ? rows[k].moved : most;
    snprintf(text, sizeof text, "%s moved%s", frame->bytes ? "Bytes" : "Elements",
             problem->batch * problem->heads == 1 ? ""
             : frame->all_heads                   ? ", all heads"
                                                  : ", one head");
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, draw->theme->text);
    if (box.h >= 20 + 30 * (float)n)
        view_text_in(draw, view_cut_top(&box, 20), VIEW_LEFT, bold, "%s", text);
    for (int k = n - 1; k >= 0 && box.h < 30 * (float)n; k--)
        if (!rows[k].strong) /* what is looked at stays longest */
            memmove(rows + k, rows + k + 1, (size_t)(--n - k) * sizeof *rows);
    for (int k = 0; k < n; k++)
        draw_row(draw, frame, &rows[k], most, &box);
    view_cut_top(&box, 4);
    if (which == 0 && view_tiles_chip(frame) >= 0) {
        view_stage_lines(draw, &box,
                         "Drag the corner of the tile. Let it go, and the run is made again.");
        view_stage_lines(draw, &box,
                         "Or Tab to it: arrows drag it, with Shift by halves. Enter runs it, Esc "
                         "lets go.");
    }
}
