#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/cross.h"

/* The bar as it is drawn: bytes from the left end, `all` of them over its width. */
struct bar {
    struct view_draw *draw;
    struct view_box box;
    double all;
    struct view_measure unit; /* of what is written in it */
};

static struct view_box block(const struct bar *bar, double first, double bytes)
{
    double scale = bar->all > 0 ? bar->box.w / bar->all : 0;
    float left = (float)round(bar->box.x + first * scale);
    float right = (float)round(bar->box.x + (first + bytes) * scale);
    return view_box_make(left, bar->box.y, fmaxf(right - left, 1), bar->box.h);
}

/* The refused event, landed or on its way, with the share of its way. */
static const struct sim_event *refused(const struct view_moment *moment, double *share)
{
    *share = moment->at.flight;
    if (moment->next && moment->next->kind == SIM_REFUSE)
        return moment->next;
    *share = 1;
    return moment->last && moment->last->kind == SIM_REFUSE ? moment->last : NULL;
}

static double part(double t, double from, double to)
{
    double share = (t - from) / (to - from);
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* The block that has no room slides to its place and runs past the end; then the hatch comes up. */
static void paint_refused(const struct bar *bar, const struct view_moment *moment,
                          const struct sim_event *event, double share, double capacity)
{
    const struct view_theme *theme = bar->draw->theme;
    struct view_look look = view_tensor_look(theme, (enum fa_tensor_id)event->tensor);
    double need = (double)view_sram_needed(moment->run, event),
           first = (double)moment->state.sram_bytes;
    double arrived = 1 - pow(1 - part(share, 0, 400.0 / 600), 3);
    double hatch = part(share, 400.0 / 600, 1);
    struct view_box whole = block(bar, first, need);
    float away = (float)((1 - arrived) * (bar->box.x + bar->box.w - whole.x));

    whole.x += away;
    whole.w = fminf(whole.w, bar->box.x + bar->box.w - whole.x);
    if (whole.w < 2)
        return;
    view_fill(bar->draw, whole, view_fade(look.fill, 0.35));
    view_frame_dashed(bar->draw, whole, 1, 3, 3, look.line);
    struct view_box over = block(bar, capacity, first + need - capacity);
    over.w = fminf(over.w, bar->box.x + bar->box.w - over.x);
    if (hatch > 0) {
        view_hatch(bar->draw, over, VIEW_RISING, view_fade(theme->bad, hatch));
        view_frame_box(bar->draw, over, 0, 2, view_fade(theme->bad, hatch));
    }
    view_line(bar->draw, over.x, bar->box.y - 4, over.x, bar->box.y + bar->box.h + 4, 2,
              theme->bad);
}

/* What is being reserved or given back grows or shrinks evenly. */
static void paint_moving(const struct bar *bar, const struct view_moment *moment)
{
    const struct sim_event *event = moment->next;
    if (!event || (event->kind != SIM_ALLOC && event->kind != SIM_FREE))
        return;
    struct view_look look = view_tensor_look(bar->draw->theme, (enum fa_tensor_id)event->tensor);
    double share = event->kind == SIM_ALLOC ? moment->at.flight : 1 - moment->at.flight;
    struct view_box box =
        block(bar, (double)event->place, (double)view_sram_needed(moment->run, event) * share);
    view_fill(bar->draw, box, view_fade(look.fill, 0.35));
    view_frame_dashed(bar->draw, box, 1, 3, 3, look.line);
}

/* The widest stretch that nothing lies in, with its length in words. */
static void paint_free(const struct bar *bar, const struct view_moment *moment, double capacity)
{
    const struct sim_resident *chip = moment->state.on_chip;
    double best = 0, best_at = 0, at = 0;

    while (at < capacity) { /* from the end of one block to the next one's beginning */
        double next = capacity, end = at;
        for (int id = 0; id < FA_TENSORS; id++) {
            if (!chip[id].live)
                continue;
            double first = (double)chip[id].place, last = first + (double)chip[id].bytes;
            if (first <= at && last > end)
                end = last;
            if (first > at && first < next)
                next = first;
        }
        if (end > at) {
            at = end;
            continue;
        }
        if (next - at > best)
            best = next - at, best_at = at;
        at = next;
    }
    char bytes[VIEW_COUNT_TEXT];
    if (bar->unit.size > 1)
        view_count_text((uint64_t)best / bar->unit.size, bytes);
    else
        view_bytes_text((uint64_t)best, bytes);
    char *unit = strstr(bytes, " bytes");
    if (unit)
        *unit = '\0';
    if (best > 0 && bar->box.h >= 17)
        view_text_in(bar->draw, view_box_inset(block(bar, best_at, best), 6, 0), VIEW_CENTRE,
                     view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, bar->draw->theme->text2), "%s free",
                     bytes);
}

void view_sram_bar(struct view_draw *draw, const struct view_scene *scene, int which,
                   struct view_box box)
{
    const struct view_moment *moment = &scene->moment[which];
    const struct view_theme *theme = draw->theme;
    const struct sim_resident *chip = moment->state.on_chip;
    double capacity = (double)view_sram_capacity(moment), share = 0;
    const struct sim_event *no = refused(moment, &share);
    struct bar bar = {draw, box, capacity, view_measure_of(moment->run, scene->frame->bytes)};

    if (no) /* the end of the chip moves left to show what would hang over */
        bar.all =
            fmax(capacity, (double)(moment->state.sram_bytes + view_sram_needed(moment->run, no)));
    struct view_box chip_box = block(&bar, 0, capacity);
    view_fill(draw, chip_box, theme->bg);
    view_frame_box(draw, chip_box, 0, 1, theme->edge);
    for (int id = 0; id < FA_TENSORS; id++) {
        if (!chip[id].live || (moment->next && moment->next->kind == SIM_FREE &&
                               moment->next->tensor == (unsigned)id))
            continue;
        enum fa_tensor_id holds = (enum fa_tensor_id)(chip[id].held_rows ? chip[id].holds : id);
        view_tensor_bar(draw, block(&bar, (double)chip[id].place, (double)chip[id].bytes), holds,
                        view_tensor_look(theme, holds).letter);
    }
    paint_moving(&bar, moment);
    if (no) {
        paint_refused(&bar, moment, no, share, capacity);
        return;
    }
    bool moving =
        moment->next && (moment->next->kind == SIM_ALLOC || moment->next->kind == SIM_FREE);
    if (!moving) /* a number changes when its event lands */
        paint_free(&bar, moment, capacity);
    uint64_t peak = moment->state.counters.sram_peak_bytes;
    if (peak > 0) { /* the most that there has been so far */
        float x = block(&bar, (double)peak, 0).x;
        view_triangle(draw, x - 4, box.y - 6, x + 4, box.y - 6, x, box.y - 1, theme->text2);
    }
}
