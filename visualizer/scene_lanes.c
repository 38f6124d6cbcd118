#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "visualizer/cross.h"

enum { LINE = 17, BOX = 26, TOTAL = 20, SPACE = 3 };

void view_lane_places(const struct view_scene *scene, int which, struct view_lane_places *places)
{
    struct view_box box = scene->layout.lanes[which];
    *places = (struct view_lane_places){0};
    if (box.w < 24 || box.h < 2 * (LINE + BOX + SPACE) + 8)
        return;
    places->unit = box.h >= 2 * (2 * LINE + BOX + TOTAL + 2 * SPACE) + 8;
    places->landed = box.h >= 2 * (3 * LINE + BOX + TOTAL + 2 * SPACE) + 16;
    float total = box.h >= 2 * (LINE + BOX + TOTAL + 2 * SPACE) + 8 ? TOTAL + SPACE : 0;
    float high = LINE + SPACE + BOX + total + (places->unit ? LINE : 0);
    float above = places->landed ? LINE : 0;
    for (int lane = 0; lane < 2; lane++) {
        float centre = box.y + above / 2 + box.h * (lane == 0 ? 0.3f : 0.68f);
        places->top[lane] = roundf(centre - high / 2);
    }
    /* In a low row they stand closer, evenly. */
    float between = places->top[1] - above - places->top[0] - high;
    if (between < 6 || places->top[0] < box.y + above || places->top[1] + high > box.y + box.h) {
        float gap = floorf((box.h - 2 * (high + above)) / 3);
        places->top[0] = box.y + gap + above;
        places->top[1] = places->top[0] + high + gap + above;
    }
    places->read = view_box_make(box.x + 3, places->top[0] + LINE + SPACE, box.w - 6, BOX);
    places->write = view_box_make(box.x + 3, places->top[1] + LINE + SPACE, box.w - 6, BOX);
}

/* Counters since the current head began, where one head's are asked for. In passes whose phases
 * go by groups of heads the events of one are not together: then they are of all. */
static bool one_head(const struct view_scene *scene, const struct view_moment *moment)
{
    const struct sim_trace_header *header = view_run_header(moment->run);
    bool grouped = header->algorithm->by_group && header->problem.heads != header->problem.kv_heads;
    return !scene->frame->all_heads && view_run_heads(moment->run) > 1 && !grouped;
}

/* The first event of the head: units stand in the order of heads. */
static uint64_t head_begins(const struct view_run *run, int64_t head)
{
    uint64_t low = 0, high = view_run_units(run);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (view_run_unit(run, middle).head < head)
            low = middle + 1;
        else
            high = middle;
    }
    return low < view_run_units(run) ? view_run_unit(run, low).first : view_run_length(run);
}

static uint64_t in_units(struct sim_volume volume, bool bytes)
{
    return bytes ? volume.bytes : volume.elements;
}

static void count(const struct view_scene *scene, const struct view_moment *moment,
                  uint64_t totals[2])
{
    const struct fa_problem *problem = &view_run_header(moment->run)->problem;
    bool bytes = scene->frame->bytes;
    const struct sim_counters *now = &moment->state.counters;

    totals[0] = in_units(sim_counters_read_all(now, problem), bytes);
    totals[1] = in_units(sim_counters_write_all(now, problem), bytes);
    if (!one_head(scene, moment))
        return;
    uint64_t begins = head_begins(moment->run, moment->head);
    struct sim_state before;
    if (begins > moment->at.landed)
        begins = moment->at.landed;
    view_run_state(moment->run, begins, &before);
    totals[0] -= in_units(sim_counters_read_all(&before.counters, problem), bytes);
    totals[1] -= in_units(sim_counters_write_all(&before.counters, problem), bytes);
}

static void chevrons(struct view_draw *draw, struct view_box box, bool right,
                     struct view_color color)
{
    float step = fminf(20, floorf(box.w / 4)), y = box.y + box.h / 2, wing = 5;
    float x = roundf(box.x + box.w / 2) - step;
    for (int k = 0; k < 3; k++, x += step) {
        float tip = right ? x + 3 : x - 3, tail = right ? x - 3 : x + 3;
        view_line(draw, tail, y - wing, tip, y, 1.5f, color);
        view_line(draw, tip, y, tail, y + wing, 1.5f, color);
    }
}

/* "+512 B": what the event that landed last has moved. */
static void landed(struct view_draw *draw, const struct view_scene *scene,
                   const struct view_moment *moment, struct view_box line, bool write)
{
    const struct sim_event *event = moment->last;
    char text[VIEW_COUNT_TEXT];
    if (!event || event->kind != (write ? SIM_STORE : SIM_LOAD))
        return;
    uint64_t elements = (uint64_t)event->rows * event->columns;
    const struct fa_problem *problem = &view_run_header(moment->run)->problem;
    size_t size = fa_dtype_bytes(fa_hbm_format(problem, (enum fa_tensor_id)event->tensor));
    bool bytes = scene->frame->bytes;
    view_text_in(draw, line, VIEW_CENTRE,
                 view_type_make(VIEW_MONO_BOLD, VIEW_SIZE_LABEL, draw->theme->text), "+%s%s",
                 view_count_text(bytes ? elements * size : elements, text), bytes ? " B" : "");
}

static void total(struct view_draw *draw, const struct view_scene *scene, struct view_box line,
                  uint64_t value)
{
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, draw->theme->text);
    char text[VIEW_COUNT_TEXT];
    if (scene->frame->covered) {
        struct view_box plate = {roundf(line.x + line.w / 2) - 14, line.y, 28, line.h};
        view_fill_round(draw, plate, 4, draw->theme->raised);
        view_text_in(draw, plate, VIEW_CENTRE, bold, "?");
        return;
    }
    view_count_text(value, text);
    if (!view_text_in(draw, line, VIEW_CENTRE, bold, "%s", text))
        view_text_in(draw, line, VIEW_CENTRE,
                     view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, draw->theme->text), "%s", text);
}

/* The lanes between two memories: their names, what went along each, and of which heads. */
struct column {
    struct view_box box;
    const char *name[2];
    uint64_t total[2];
    bool bytes, unknown; /* before its end the totals of a whole run are not known */
    char heads[56]; /* "": there is one */
};

static void draw_lane(struct view_draw *draw, const struct view_scene *scene,
                      const struct view_lane_places *places, const struct column *column, int lane)
{
    const struct view_theme *theme = draw->theme;
    struct view_type plain = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text2);
    struct view_box box = column->box, track = lane == 0 ? places->read : places->write;
    float y = places->top[lane], end = lane == 0 ? places->top[1] : box.y + box.h;

    track.x = box.x + 3;
    view_text_in(draw, view_box_make(box.x, y, box.w, LINE), VIEW_CENTRE, plain, "%s",
                 column->name[lane]);
    view_fill_round(draw, track, 4, theme->panel);
    view_frame_box(draw, track, 4, 1, theme->hair);
    chevrons(draw, track, lane == 0, theme->edge);
    y = track.y + track.h + SPACE;
    if (column->unknown)
        return;
    if (y + TOTAL <= end)
        total(draw, scene, view_box_make(box.x + 2, y, box.w - 4, TOTAL), column->total[lane]);
    y += TOTAL;
    if (!places->unit)
        return;
    view_text_in(draw, view_box_make(box.x, y, box.w, LINE), VIEW_CENTRE, plain, "%s",
                 column->bytes ? "bytes" : "elements");
    if (places->landed && y + 2 * LINE <= end - (lane == 0 ? LINE : 0))
        view_text_in(draw, view_box_make(box.x, y + LINE - 1, box.w, LINE), VIEW_CENTRE, plain,
                     "%s", column->heads);
}

/* ---- with an L2 ------------------------------------------------------------------------------ */

/* How much of what the SMs read did not have to come from HBM again; as high as the read lanes. */
static void draw_found(struct view_draw *draw, const struct view_l2 *l2, struct view_box box)
{
    struct view_type plain = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
    if (l2->read == 0 || l2->dram_read > l2->read)
        return;
    view_text_in(draw, view_cut_top(&box, TOTAL), VIEW_CENTRE,
                 view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, draw->theme->text), "%.0f %%",
                 100 - 100 * (double)l2->dram_read / (double)l2->read);
    view_text_in(draw, view_cut_top(&box, LINE), VIEW_CENTRE, plain, "of the reads");
    view_text_in(draw, view_cut_top(&box, LINE), VIEW_CENTRE, plain, "found here");
}

static void draw_l2(struct view_draw *draw, const struct view_scene *scene, bool known,
                    const struct view_lane_places *places)
{
    const struct view_theme *theme = draw->theme;
    const struct view_l2 *l2 = &scene->frame->l2;
    struct view_type plain = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text2);
    struct view_box box = scene->layout.l2;
    char size[VIEW_COUNT_TEXT], heads[VIEW_COUNT_TEXT];
    view_plate(draw, box, theme->panel, theme->edge);
    box = view_box_inset(box, 3, 0);
    view_text_in(draw, view_cut_top(&box, 28), VIEW_CENTRE,
                 view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, theme->text), "L2");
    view_text_in(draw, view_cut_top(&box, LINE), VIEW_CENTRE, plain, "%s",
                 view_bytes_text(l2->capacity, size));
    view_text_in(draw, view_cut_top(&box, LINE), VIEW_CENTRE, plain, "%s", l2->machine);
    view_cut_bottom(&box, 6);
    if (!known || box.h < 7 * LINE)
        return;
    view_text_in(draw, view_cut_bottom(&box, LINE), VIEW_CENTRE, plain, "whole run");
    view_text_in(draw, view_cut_bottom(&box, LINE), VIEW_CENTRE, plain, "%s head%s",
                 view_count_text((uint64_t)l2->heads, heads), l2->heads == 1 ? "" : "s");
    view_cut_top(&box, fmaxf(places->read.y - box.y, 4));
    if (!scene->frame->covered && box.h >= TOTAL + 2 * LINE)
        draw_found(draw, l2, box);
}

/* Counted traffic right of it, HBM's left of it, of the whole run that the step counted: so there
 * are numbers when the run that is watched has come to its end. */
static void draw_with_l2(struct view_draw *draw, const struct view_scene *scene,
                         const struct view_lane_places *places)
{
    const struct view_l2 *l2 = &scene->frame->l2;
    const struct view_moment *moment = &scene->moment[0];
    bool known = moment->at.landed >= view_run_length(moment->run);
    const struct column columns[] = {
        {scene->layout.dram, {"from HBM", "to HBM"}, {l2->dram_read, l2->dram_write}, true, !known,
         ""},
        {scene->layout.lanes[0], {"read", "write"}, {l2->read, l2->write}, true, !known, ""},
    };
    draw_l2(draw, scene, known, places);
    for (int lane = 0; lane < 2; lane++)
        for (int c = 0; c < 2; c++)
            draw_lane(draw, scene, places, &columns[c], lane);
}

void view_scene_lanes(struct view_draw *draw, const struct view_scene *scene, int which)
{
    const struct view_moment *moment = &scene->moment[which];
    struct column column = {.box = scene->layout.lanes[which],
                            .name = {"read", "write"},
                            .bytes = scene->frame->bytes};
    struct view_lane_places places;
    int64_t heads = view_run_heads(moment->run);

    view_lane_places(scene, which, &places);
    if (places.read.h <= 0)
        return;
    if (scene->layout.l2.w > 0) {
        draw_with_l2(draw, scene, &places);
        return;
    }
    count(scene, moment, column.total);
    if (heads > 1 && one_head(scene, moment))
        snprintf(column.heads, sizeof column.heads, "head %s of %s", SIM_GROUPED(moment->head + 1),
                 SIM_GROUPED(heads));
    else if (heads > 1)
        snprintf(column.heads, sizeof column.heads, "all heads");
    for (int lane = 0; lane < 2; lane++) {
        struct view_box above =
            view_box_make(column.box.x, places.top[lane] - LINE, column.box.w, LINE);
        if (places.landed && !scene->frame->covered)
            landed(draw, scene, moment, above, lane == 1);
        draw_lane(draw, scene, &places, &column, lane);
    }
}
