#include "visualizer/track_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "visualizer/clock.h"
#include "visualizer/clock_index.h"
#include "visualizer/sentence.h"

enum {
    MOST_NAMED = 400,       /* units in view past which none has room for its name */
    DENSE_EVENTS = 400000,  /* past which a column is wider than a pixel */
    BLOCK = 512             /* events that such columns begin and end with a multiple of */
};

void view_transport_make(const struct view_scene *scene, struct view_transport *transport)
{
    struct view_box box = scene->layout.track;
    bool compare = scene->runs == 2;
    *transport = (struct view_transport){.mini = scene->layout.class == VIEW_MINI};

    if (transport->mini) {
        box = view_box_inset(box, 8, 0);
        box.y += floorf((box.h - 28) / 2);
        box.h = 28;
        transport->buttons = view_cut_left(&box, fminf(4 * 28 + 3 * 4, box.w));
        view_cut_left(&box, 12);
        box = view_box_inset(box, 0, 4);
    } else {
        bool low = box.h < 80;
        box = view_box_inset(box, 16, 0);
        view_cut_bottom(&box, low ? 4 : 6);
        transport->buttons = view_cut_bottom(&box, low ? 28 : 30);
        view_cut_top(&box, low ? 6 : 8);
        transport->under = view_cut_bottom(&box, 11);
        transport->names = compare ? 0 : low ? 12 : 14;
    }
    transport->strip[0] = box;
    if (compare) {
        transport->strip[0] = view_cut_top(&box, floorf((box.h - 3) / 2));
        view_cut_top(&box, 3);
        box.h = transport->strip[0].h;
        transport->strip[1] = box;
    }
}

/* The events that the track shows. */
static void shown(const struct view_frame *frame, uint64_t *first, uint64_t *end)
{
    uint64_t length = view_run_length(frame->run[0]);
    *end = frame->track_end > 0 && frame->track_end < length ? frame->track_end : length;
    *first = frame->track_first < *end ? frame->track_first : 0;
}

static double share_of(struct view_box strip, float x)
{
    double share = strip.w > 0 ? (x - strip.x) / (double)strip.w : 0;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

uint64_t view_track_event(const struct view_scene *scene, float x)
{
    struct view_transport transport;
    uint64_t first, end;
    view_transport_make(scene, &transport);
    shown(scene->frame, &first, &end);
    return first + (uint64_t)(share_of(transport.strip[0], x) * (double)(end - first) + 0.5);
}

double view_track_share(const struct view_scene *scene, float x)
{
    struct view_transport transport;
    view_transport_make(scene, &transport);
    return share_of(transport.strip[0], x);
}

/* x of a moment between the events first and end; outside of them it is left or right of the strip.
 */
static float x_of(struct view_box strip, uint64_t first, uint64_t end, double at)
{
    return end > first
               ? strip.x + (float)((at - (double)first) / (double)(end - first)) * strip.w
               : strip.x;
}

/* ---- units
 * --------------------------------------------------------------------------------------------- */

/* Lines between the outer iterations, and their names where they have room left of `seen`. */
static void draw_units(struct view_draw *draw, const struct view_scene *scene,
                       struct view_box strip, float names, uint64_t first, uint64_t end, float seen)
{
    const struct view_run *run = scene->frame->run[0];
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CELL, draw->theme->text2);
    float x0, x1;
    if (end <= first)
        return;
    uint64_t u = view_run_unit_of(run, first), last = view_run_unit_of(run, end - 1);
    if (last - u > MOST_NAMED)
        return;
    for (; u <= last; u++) {
        struct view_unit unit = view_run_unit(run, u);
        x0 = fmaxf(x_of(strip, first, end, (double)unit.first), strip.x);
        x1 = fminf(x_of(strip, first, end, (double)unit.end), strip.x + strip.w);
        if (unit.first > first)
            view_fill(draw, view_box_make(roundf(x0), strip.y, 1, strip.h), draw->theme->bg);
        float width = view_text_width(draw, type, unit.title);
        if (names > 0 && width + 10 <= x1 - x0 && roundf(x0) + 5 + width <= seen)
            view_text(draw, roundf(x0) + 5, strip.y - 1, VIEW_LEFT, type, "%s", unit.title);
    }
}

/* A letter on a plate with its line: an end of the loop, the plate outside of it. */
static void draw_loop_mark(struct view_draw *draw, struct view_box strip, float x, const char *name,
                           bool left)
{
    const struct view_theme *theme = draw->theme;
    struct view_type type = view_type_make(VIEW_BOLD, VIEW_SIZE_CELL, theme->bg);
    if (x < strip.x - 0.5f || x > strip.x + strip.w + 0.5f)
        return;
    view_fill(draw, view_box_make(roundf(x) - 1, strip.y, 2, strip.h), theme->text);
    struct view_box plate = {roundf(x) + (left ? -14 : 0), strip.y + strip.h - 15, 14, 15};
    view_fill(draw, plate, theme->text);
    view_text_in(draw, plate, VIEW_CENTRE, type, "%s", name);
}

static void draw_loop(struct view_draw *draw, const struct view_frame *frame, struct view_box strip,
                      uint64_t first, uint64_t end)
{
    uint64_t a = frame->mark_a, b = frame->mark_b;
    if (a != UINT64_MAX)
        draw_loop_mark(draw, strip, x_of(strip, first, end, (double)a), "A", a <= b);
    if (b != UINT64_MAX)
        draw_loop_mark(draw, strip, x_of(strip, first, end, (double)b), "B",
                       a != UINT64_MAX && b < a);
}

static void draw_play_head(struct view_draw *draw, const struct view_transport *transport, float x)
{
    const struct view_theme *theme = draw->theme;
    const struct view_box *first = &transport->strip[0];
    const struct view_box *last = transport->strip[1].h > 0 ? &transport->strip[1] : first;
    float top = first->y, bottom = last->y + last->h + 2;
    if (x < first->x - 1 || x > first->x + first->w + 1)
        return;
    view_fill(draw, view_box_make(first->x, last->y + last->h, fmaxf(0, x - first->x), 2),
              theme->text);
    view_fill(draw, view_box_make(roundf(x) - 1, top, 2, bottom - top), theme->text);
    view_triangle(draw, x - 6, top - 4, x + 6, top - 4, x, top + 4, theme->text);
}

/* The name of the place under the pointer, over the track. */
static void draw_hover(struct view_draw *draw, const struct view_scene *scene,
                       const struct view_transport *transport)
{
    const struct view_frame *frame = scene->frame;
    const struct view_theme *theme = draw->theme;
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text);
    struct view_box strip = transport->strip[0];
    char name[VIEW_TILE_NAME], text[160], count[VIEW_COUNT_TEXT];
    uint64_t first, end;

    struct view_box area = strip;
    area.h += transport->strip[1].h + transport->under.h;
    if (!view_box_has(area, frame->pointer_x, frame->pointer_y) || frame->covered ||
        view_run_length(frame->run[0]) == 0)
        return;
    if (scene->runs == 2) {
        double share = view_track_share(scene, frame->pointer_x);
        snprintf(text, sizeof text, "%.0f %% of the clock", 100 * share);
    } else {
        shown(frame, &first, &end);
        uint64_t at = first + (uint64_t)(share_of(strip, frame->pointer_x) * (double)(end - first));
        at = at < end ? at : end - 1;
        const struct sim_event *event = view_run_event(frame->run[0], at);
        struct view_unit unit = view_run_unit(frame->run[0], view_run_unit_of(frame->run[0], at));
        snprintf(text, sizeof text, "event %s, %s: %s %s", view_count_exact(at, count), unit.title,
                 sim_event_kind_name((enum sim_event_kind)event->kind),
                 view_tile_name(frame->run[0], event, name));
    }
    float width = ceilf(view_text_width(draw, type, text)) + 16;
    struct view_box plate = {frame->pointer_x - width / 2, strip.y - 30, width, 24};
    plate.x = floorf(fmaxf(4, fminf(plate.x, frame->width - width - 4)));
    draw->layer = VIEW_POPUP;
    view_plate(draw, plate, theme->raised, theme->edge);
    view_text_in(draw, plate, VIEW_CENTRE, type, "%s", text);
    draw->layer = VIEW_BASE;
}

/* What is right of the play head may answer an open prediction. */
static void draw_cover(struct view_draw *draw, struct view_box strip, float x)
{
    const struct view_theme *theme = draw->theme;
    struct view_box rest = {x, strip.y, strip.x + strip.w - x, strip.h};
    if (rest.w < 2)
        return;
    view_fill(draw, rest, theme->raised);
    view_frame_box(draw, rest, 0, 1, theme->edge);
    view_text_in(draw, rest, VIEW_CENTRE, view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, theme->text),
                 "?");
}

/* Which part of the run the track shows, as a line over it. */
static void draw_range(struct view_draw *draw, struct view_box strip, uint64_t first, uint64_t end,
                       uint64_t length)
{
    struct view_box line = {strip.x, strip.y - 5, strip.w, 2};
    if (first == 0 && end == length)
        return;
    view_fill(draw, line, draw->theme->hair);
    line.x = x_of(strip, 0, length, (double)first);
    line.w = fmaxf(3, x_of(strip, 0, length, (double)end) - line.x);
    view_fill(draw, line, draw->theme->text2);
}

/* A column an event, or a pixel, or wide enough for two blocks of events. */
static int columns_for(uint64_t events, int width)
{
    uint64_t most = events > DENSE_EVENTS ? events / (2 * BLOCK) : events;
    return most < (uint64_t)width ? (int)most : width;
}

/* The end of a column that begins at `first`: many events are summed up by whole blocks, which is
 * less than a pixel away and much faster. */
static uint64_t settle_end(uint64_t first, uint64_t end, uint64_t last)
{
    return end - first >= 2 * BLOCK && end < last ? end / BLOCK * BLOCK : end;
}

static void fill_bins(const struct view_run *run, uint64_t first, uint64_t end,
                      struct view_track_bin *bins, int n)
{
    if (end - first <= DENSE_EVENTS) {
        view_run_track(run, first, end, bins, n);
        return;
    }
    uint64_t from = first;
    for (int b = 0; b < n; b++) {
        uint64_t to = first + (end - first) * (uint64_t)(b + 1) / (uint64_t)n;
        to = settle_end(from, to, end);
        view_run_track(run, from, to, &bins[b], 1);
        from = to;
    }
}

static void draw_one(struct view_draw *draw, const struct view_scene *scene,
                     const struct view_transport *transport)
{
    const struct view_frame *frame = scene->frame;
    const struct view_run *run = frame->run[0];
    struct view_box strip = transport->strip[0], bars = strip;
    uint64_t first, end, length = view_run_length(run);
    int width = (int)strip.w;

    shown(frame, &first, &end);
    int n = columns_for(end - first, width);
    const struct view_position at = scene->moment[0].at;
    float x = x_of(strip, first, end, (double)at.landed + (double)at.flight);
    view_fill(draw, strip, draw->theme->raised);
    struct view_track_bin *bins = n > 0 ? malloc((size_t)n * sizeof *bins) : NULL;
    if (bins) {
        fill_bins(run, first, end, bins, n);
        view_cut_top(&bars, transport->names);
        view_track_bars(draw, bars, bins, n);
        if (transport->under.h >= 8)
            view_track_marks(draw, strip, transport->under, bins, n,
                       frame->covered ? (int)(share_of(strip, x) * n) : n);
        free(bins);
    }
    draw_units(draw, scene, strip, transport->names, first, end,
               frame->covered ? x : strip.x + strip.w);
    if (frame->covered)
        draw_cover(draw, strip, x);
    draw_loop(draw, frame, strip, first, end);
    draw_range(draw, strip, first, end, length);
    draw_play_head(draw, transport, x);
}

/* One of two runs along the common clock: what lies between two of its moments is one column. */
static void draw_compared(struct view_draw *draw, const struct view_scene *scene,
                          const struct view_transport *transport, int which)
{
    enum { COLUMN = 4 };
    const struct view_frame *frame = scene->frame;
    const struct view_run *run = frame->run[which];
    const struct view_clock_index *index = view_run_clock_index(run);
    struct view_box strip = transport->strip[which];
    int n = (int)(strip.w / COLUMN);
    struct view_track_bin *bins = n > 0 ? malloc((size_t)n * sizeof *bins) : NULL;

    view_fill(draw, strip, draw->theme->raised);
    if (bins) {
        uint64_t from = 0;
        for (int b = 0; b < n; b++) {
            double work = frame->work_in_all * (b + 1) / n;
            uint64_t to = b + 1 == n || work >= view_work_in_all(run, frame->clock)
                              ? index->length
                              : view_clock_before_work(index, work, (int)frame->clock);
            to = to > from ? settle_end(from, to, index->length) : from;
            view_run_track(run, from, to, &bins[b], 1);
            from = to;
        }
        view_track_bars(draw, strip, bins, n);
        free(bins);
    }
    if (!transport->mini) {
        struct view_box name = {0, strip.y, strip.x, strip.h};
        view_text_in(draw, name, VIEW_CENTRE,
                     view_type_make(VIEW_BOLD, VIEW_SIZE_CELL, draw->theme->text2), "%s",
                     which ? "B" : "A");
    }
}

void view_scene_track(struct view_draw *draw, const struct view_scene *scene)
{
    const struct view_theme *theme = draw->theme;
    const struct view_frame *frame = scene->frame;
    struct view_box box = scene->layout.track;
    struct view_transport transport;

    if (box.h < 1 || scene->runs == 0)
        return;
    view_fill(draw, box, theme->bg);
    view_fill(draw, view_box_make(box.x, box.y, box.w, 1), theme->hair);
    view_transport_make(scene, &transport);
    struct view_box hit = transport.strip[0];
    hit.y = fminf(hit.y, box.y + 2);
    hit.h = fmaxf(28, transport.mini ? box.h - 4 : transport.buttons.y - 2 - hit.y);
    if (transport.strip[0].w >= 8) {
        view_focus_ring(draw, frame, view_box_inset(hit, 0, 4));
        view_hit(draw, hit, VIEW_SCRUB, 0, false, "Time line");
        if (scene->runs == 2) {
            double share = frame->work_in_all > 0 ? frame->work / frame->work_in_all : 0;
            draw_compared(draw, scene, &transport, 0);
            draw_compared(draw, scene, &transport, 1);
            draw_play_head(draw, &transport,
                           transport.strip[0].x + (float)share * transport.strip[0].w);
        } else {
            draw_one(draw, scene, &transport);
        }
    }
    view_track_buttons(draw, scene, &transport);
    draw_hover(draw, scene, &transport);
}
