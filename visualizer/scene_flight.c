#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "simulator/trace_ops.h"
#include "visualizer/cross.h"

/* Milliseconds at speed 1, of the way of a load or a store and of a compute. */
static const double move_time = 420, ring_time = 80, landing_time = 360, compute_time = 520,
                    fill_time = 320, fade_time = 120;

enum { MOST_WIDE = 56, MOST_HIGH = 40, CORNER = 16, TRAIL = 14 };

struct flight {
    struct view_draw *draw;
    const struct view_scene *scene;
    const struct view_moment *moment;
    const struct sim_event *event;
    int which;
    struct view_cross cross;
    struct view_bench bench;
    double t; /* of its way */
};

static double part(double at, double from, double to)
{
    double share = (at - from) / (to - from);
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* Cubic in and out. */
static double eased(double t)
{
    return t < 0.5 ? 4 * t * t * t : 1 - pow(2 - 2 * t, 3) / 2;
}

static struct view_look look_of(const struct flight *f, enum fa_tensor_id id)
{
    return view_tensor_look(f->draw->theme, id);
}

/* ---- the way along a lane -------------------------------------------------------------------- */

struct point {
    float x, y;
};

/* From the middle of one box to the lane's height, along the lane, to the middle of the other. */
struct way {
    struct point corner[4];
    float length[3];
};

static struct point middle(struct view_box box)
{
    return (struct point){box.x + box.w / 2, box.y + box.h / 2};
}

static struct way way_between(struct view_box from, struct view_box to, float lane)
{
    struct point a = middle(from), b = middle(to);
    struct way way = {.corner = {a, {a.x, lane}, {b.x, lane}, b}};
    for (int leg = 0; leg < 3; leg++)
        way.length[leg] = fabsf(way.corner[leg + 1].x - way.corner[leg].x) +
                          fabsf(way.corner[leg + 1].y - way.corner[leg].y);
    return way;
}

static struct point between(struct point a, struct point b, float t)
{
    return (struct point){a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t};
}

/* On the broken line, so far from its beginning. */
static struct point along_legs(const struct way *way, float distance)
{
    for (int leg = 0; leg < 3; leg++) {
        if (distance <= way->length[leg] && way->length[leg] > 0)
            return between(way->corner[leg], way->corner[leg + 1], distance / way->length[leg]);
        distance -= way->length[leg];
    }
    return way->corner[3];
}

/* The same with rounded corners: near one the way is a curve between the points 16 before and
 * behind. */
static struct point along(const struct way *way, float distance)
{
    float at = 0;
    for (int k = 1; k < 3; k++) {
        at += way->length[k - 1];
        float round = fminf(CORNER, fminf(way->length[k - 1], way->length[k]) / 2);
        if (round < 1 || fabsf(distance - at) >= round)
            continue;
        float t = (distance - at + round) / (2 * round);
        struct point a = along_legs(way, at - round), b = along_legs(way, at + round);
        return between(between(a, way->corner[k], t), between(way->corner[k], b, t), t);
    }
    return along_legs(way, distance);
}

/* ---- loads and stores ------------------------------------------------------------------------ */

static struct view_box clipped(struct view_box box, struct view_box area)
{
    float left = fmaxf(box.x, area.x), top = fmaxf(box.y, area.y);
    float right = fminf(box.x + box.w, area.x + area.w);
    float bottom = fminf(box.y + box.h, area.y + area.h);
    return view_box_make(left, top, fmaxf(right - left, 0), fmaxf(bottom - top, 0));
}

/* Where the event's numbers are in HBM; where the matrix is not seen, the edge of the memory. */
static struct view_box in_hbm(const struct flight *f)
{
    const struct sim_event *e = f->event;
    const struct view_matrix *m = &f->cross.matrix[e->tensor];
    struct view_box hbm = f->scene->layout.hbm[f->which];
    if (m->on) {
        struct view_box box = view_matrix_part(m, e->row, e->column, e->rows, e->columns);
        if (view_box_meets(box, f->cross.area))
            return clipped(box, f->cross.area);
    }
    return view_box_make(hbm.x + hbm.w - 12, hbm.y + hbm.h / 2 - 6, 12, 12);
}

static bool on_bench(const struct flight *f, enum fa_tensor_id id, struct view_box *box)
{
    enum fa_tensor_id slot = view_slot_of(f->moment->run, id);
    if (slot == FA_TENSORS || !f->bench.slot[slot].on || f->bench.slot[slot].box.w <= 0)
        return false;
    *box = f->bench.slot[slot].box;
    return true;
}

static void paint_copy(const struct flight *f, struct view_box box, double alpha)
{
    struct view_look look = look_of(f, (enum fa_tensor_id)f->event->tensor);
    view_fill(f->draw, box, view_fade(look.fill, alpha));
    if (alpha < 1)
        return;
    view_frame_box(f->draw, box, 3, 2, f->draw->theme->text);
    view_text_in(f->draw, view_box_inset(box, 3, 0), VIEW_CENTRE,
                 view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, view_ink(look.fill)), "%s",
                 look.letter);
}

static struct view_box sized(struct point at, struct view_box from, struct view_box to, double t)
{
    float w0 = fminf(from.w, MOST_WIDE), w1 = fminf(to.w, MOST_WIDE);
    float h0 = fminf(from.h, MOST_HIGH), h1 = fminf(to.h, MOST_HIGH);
    float w = fmaxf(w0 + (w1 - w0) * (float)t, 8), h = fmaxf(h0 + (h1 - h0) * (float)t, 8);
    return view_box_make(at.x - w / 2, at.y - h / 2, w, h);
}

/* Without motion: the way as an arrow. */
static void paint_way(const struct flight *f, const struct way *way, double alpha)
{
    struct view_color color = view_fade(f->draw->theme->text, alpha);
    const struct point *c = way->corner;
    view_line(f->draw, c[0].x, c[0].y, c[1].x, c[1].y, 2, color);
    view_line(f->draw, c[1].x, c[1].y, c[2].x, c[2].y, 2, color);
    view_arrow(f->draw, c[2].x, c[2].y, c[3].x, c[3].y, 2, color);
}

/* What is counted comes out of L2, or goes into it, where there is one: whether HBM sent it this
 * time, nothing here says. */
static struct view_box at_lanes(const struct flight *f, struct view_box hbm, float height)
{
    struct view_box l2 = f->scene->layout.l2;
    return l2.w > 0 ? view_box_make(l2.x + l2.w - 12, height - 6, 12, 12) : hbm;
}

static void fly(const struct flight *f)
{
    bool load = f->event->kind == SIM_LOAD;
    struct view_lane_places lanes;
    struct view_box hbm = in_hbm(f), slot;
    double ms = f->t * move_time;

    view_lane_places(f->scene, f->which, &lanes);
    if (!on_bench(f, (enum fa_tensor_id)f->event->tensor, &slot))
        return;
    struct view_box from = load ? hbm : slot, to = load ? slot : hbm;
    struct view_box lane = load ? lanes.read : lanes.write;
    struct view_box all = f->scene->layout.lanes[f->which];
    float height = lane.h > 0 ? lane.y + lane.h / 2 : all.y + all.h / 2;
    struct way way = way_between(load ? at_lanes(f, hbm, height) : slot,
                                 load ? slot : at_lanes(f, hbm, height), height);
    struct view_look look = look_of(f, (enum fa_tensor_id)f->event->tensor);

    view_ring(f->draw, from, 3, 2, view_fade(f->draw->theme->text, part(ms, 0, ring_time)));
    view_frame_dashed(f->draw, to, 1, 4, 3, look.line);
    if (f->scene->frame->reduced_motion) {
        double alpha = part(ms, 0, fade_time);
        paint_way(f, &way, alpha);
        view_ring(f->draw, to, 3, 2, view_fade(f->draw->theme->text, alpha));
        return;
    }
    if (ms < ring_time)
        return;
    if (ms >= landing_time) { /* it is there; its numbers appear as the event lands */
        view_fill(f->draw, to,
                  view_fade(look.fill, 0.45 + 0.3 * part(ms, landing_time, move_time)));
        view_ring(f->draw, to, 1, 2, f->draw->theme->text);
        return;
    }
    double t = eased(part(ms, ring_time, landing_time));
    float distance = (float)t * (way.length[0] + way.length[1] + way.length[2]);
    if (f->scene->frame->rate <= 4)
        paint_copy(f, sized(along(&way, fmaxf(distance - TRAIL, 0)), from, to, t), 0.3);
    paint_copy(f, sized(along(&way, distance), from, to, t), 1);
}

/* ---- computes -------------------------------------------------------------------------------- */

/* A short arrow from inside the operand to inside the result, across what lies between them. */
static void paint_operand_arrow(const struct flight *f, struct view_box from, struct view_box to,
                                double alpha)
{
    struct view_color color = view_fade(f->draw->theme->text, alpha);
    float reach = 14, x = fmaxf(from.x, to.x), y = fmaxf(from.y, to.y);
    float across = fminf(from.x + from.w, to.x + to.w), down = fminf(from.y + from.h, to.y + to.h);
    if (down > y) { /* side by side */
        float at = (y + down) / 2;
        bool right = to.x >= from.x + from.w - 1;
        float start =
            right ? from.x + from.w - fminf(reach, from.w / 3) : from.x + fminf(reach, from.w / 3);
        float end = right ? to.x + fminf(reach, to.w / 3) : to.x + to.w - fminf(reach, to.w / 3);
        view_arrow(f->draw, start, at, end, at, 2, color);
    } else if (across > x) { /* one above the other */
        float at = (x + across) / 2;
        bool low = to.y >= from.y + from.h - 1;
        float start =
            low ? from.y + from.h - fminf(reach, from.h / 3) : from.y + fminf(reach, from.h / 3);
        float end = low ? to.y + fminf(reach, to.h / 3) : to.y + to.h - fminf(reach, to.h / 3);
        view_arrow(f->draw, at, start, at, end, 2, color);
    } else { /* over a corner, as from V to O */
        bool right = to.x > from.x, low = to.y > from.y;
        float inside = 10;
        view_arrow(f->draw, right ? from.x + from.w - inside : from.x + inside,
                   low ? from.y + from.h - inside : from.y + inside,
                   right ? to.x + inside : to.x + to.w - inside,
                   low ? to.y + inside : to.y + to.h - inside, 2, color);
    }
}

/* The score tile lights up in the ghost, too. */
static void light_ghost(const struct flight *f, double share)
{
    const struct view_matrix *ghost = &f->cross.matrix[FA_S];
    if (f->event->op != FA_OP_SCORE || !ghost->on || !ghost->ghost || f->event->i == SIM_NO_TILE ||
        f->event->j == SIM_NO_TILE)
        return;
    struct view_box box = view_matrix_tile(ghost, f->event->i, f->event->j);
    if (!view_box_meets(box, f->cross.area))
        return;
    box = clipped(box, f->cross.area);
    view_ring(f->draw, box, 1, 2, view_fade(f->draw->theme->text, share));
    view_fill(f->draw, box, view_fade(look_of(f, FA_S).fill, share));
}

static void compute(const struct flight *f)
{
    enum fa_tensor_id made = (enum fa_tensor_id)f->event->tensor;
    enum fa_tensor_id slot = view_slot_of(f->moment->run, made);
    const struct sim_op *op = sim_op_of((enum fa_op)f->event->op);
    double ms = f->t * compute_time, rise = part(ms, 0, ring_time), done = part(ms, 0, fill_time);
    struct view_box to, from;
    struct view_hold hold;

    if (!on_bench(f, made, &to))
        return;
    for (int id = 0; id < FA_TENSORS; id++) {
        enum fa_tensor_id tensor = (enum fa_tensor_id)id;
        if (!(op->reads >> id & 1) || !on_bench(f, tensor, &from))
            continue;
        view_ring(f->draw, from, 2, 1, view_fade(look_of(f, tensor).line, rise));
        bool changed = false; /* an operand that the operation changes too is a result */
        for (int k = 0; k < op->n_results; k++)
            changed |= op->results[k].tensor == id;
        bool statistic = f->bench.slot[view_slot_of(f->moment->run, tensor)].columns == 1;
        if (view_slot_of(f->moment->run, tensor) != slot && !statistic && !changed)
            paint_operand_arrow(f, from, to, rise);
    }
    struct view_look look = look_of(f, made);
    bool over = view_slot_hold(f->moment, slot, &hold) && !hold.spent;
    bool turns = over && hold.id != made; /* S turns into P where it lies */
    view_ring(f->draw, to, 1, 2, view_fade(f->draw->theme->text, rise));
    if (turns || f->scene->frame->reduced_motion) {
        view_fill(f->draw, to, view_fade(look.fill, (over ? 0.6 : 0.85) * done));
    } else {
        struct view_box rows = to;
        rows.h = (float)done * to.h;
        view_fill(f->draw, rows, view_fade(look.fill, over ? 0.35 : 0.85));
        if (done > 0 && done < 1)
            view_fill(f->draw, view_box_make(to.x, to.y + rows.h - 1, to.w, 2),
                      f->draw->theme->text);
    }
    light_ghost(f, done);
}

/* ---- reserving, giving back, skipping -------------------------------------------------------- */

/* The bar shows the bytes (sram_bar.c); here the slot comes or goes. */
static void come_or_go(const struct flight *f)
{
    double share = 1 - pow(1 - f->t, 3);
    struct view_box box;
    if (!on_bench(f, (enum fa_tensor_id)f->event->tensor, &box))
        return;
    if (f->event->kind == SIM_FREE)
        share = 1 - share;
    float dx = box.w / 2 * (float)(1 - share), dy = box.h / 2 * (float)(1 - share);
    view_frame_dashed(f->draw, view_box_inset(box, dx, dy), 1, 2, 3,
                      look_of(f, (enum fa_tensor_id)f->event->tensor).line);
}

/* How many skips follow each other here, of a long run at least so many. */
static uint64_t skips_in_a_row(const struct flight *f)
{
    enum { LOOK = 4096 };
    uint64_t at = f->moment->at.landed, n = 1, length = view_run_length(f->moment->run);
    for (uint64_t k = 1; k < LOOK && k <= at; k++, n++)
        if (view_run_event(f->moment->run, at - k)->kind != SIM_SKIP)
            break;
    for (uint64_t k = 1; k < LOOK && at + k < length; k++, n++)
        if (view_run_event(f->moment->run, at + k)->kind != SIM_SKIP)
            break;
    return n;
}

static void skip(const struct flight *f)
{
    const struct view_theme *theme = f->draw->theme;
    const struct view_matrix *m = &f->cross.matrix[FA_S];
    struct view_type type = view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, theme->text);
    char text[64];

    if (!m->on || f->event->i == SIM_NO_TILE || f->event->j == SIM_NO_TILE)
        return;
    struct view_box box = view_matrix_tile(m, f->event->i, f->event->j), area = f->cross.area;
    if (!view_box_meets(box, area))
        return;
    float arm = fminf(fminf(box.w, box.h) * 0.25f, 8) * (float)f->t;
    struct point at = middle(box);
    view_line(f->draw, at.x - arm, at.y - arm, at.x + arm, at.y + arm, 2, theme->text);
    view_line(f->draw, at.x - arm, at.y + arm, at.x + arm, at.y - arm, 2, theme->text);

    uint64_t n = skips_in_a_row(f);
    snprintf(text, sizeof text, "%s tile%s, 0 B", SIM_GROUPED(n), n == 1 ? "" : "s");
    float w = view_text_width(f->draw, type, text) + 12;
    struct view_box plate = {fminf(box.x + box.w + 4, area.x + area.w - w),
                             fminf(box.y + box.h + 4, area.y + area.h - 20), w, 20};
    if (plate.x < area.x || plate.y < area.y)
        return;
    view_plate(f->draw, plate, theme->raised, theme->edge);
    view_text_in(f->draw, plate, VIEW_CENTRE, type, "%s", text);
}

void view_scene_flight(struct view_draw *draw, const struct view_scene *scene, int which)
{
    const struct view_moment *moment = &scene->moment[which];
    struct flight f = {draw,
                       scene,
                       moment,
                       moment->next,
                       which,
                       {.shown = -1},
                       {.labelled = true},
                       moment->at.flight};

    if (!moment->next || scene->frame->rate > 16)
        return;
    view_cross_hbm(scene, which, &f.cross);
    view_cross_bench(scene, which, &f.bench);
    switch ((enum sim_event_kind)f.event->kind) {
    case SIM_LOAD:
    case SIM_STORE:
        fly(&f);
        return;
    case SIM_COMPUTE:
        compute(&f);
        return;
    case SIM_ALLOC:
    case SIM_FREE:
        come_or_go(&f);
        return;
    case SIM_SKIP:
        skip(&f);
        return;
    default:
        return; /* a refusal is the bar's */
    }
}
