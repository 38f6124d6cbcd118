#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/cross.h"

uint64_t view_sram_capacity(const struct view_moment *moment)
{
    const struct sim_trace_header *header = view_run_header(moment->run);
    struct sim_state end;
    if (header->sram_bytes > 0)
        return header->sram_bytes;
    view_run_state(moment->run, view_run_length(moment->run), &end);
    return end.counters.sram_peak_bytes;
}

uint64_t view_sram_needed(const struct view_run *run, const struct sim_event *event)
{
    return (uint64_t)event->rows * event->columns *
           fa_on_chip_bytes(&view_run_header(run)->problem, (enum fa_tensor_id)event->tensor);
}

/* ---- the title ------------------------------------------------------------------------------- */

/* "352 bytes", "5.3 KiB", "88 elements". */
static const char *room_text(struct view_measure unit, uint64_t bytes, char *text, size_t size)
{
    char count[VIEW_COUNT_TEXT];
    if (unit.size == 1)
        snprintf(text, size, "%s", view_bytes_text(bytes, count));
    else
        snprintf(text, size, "%s %s", view_count_text(view_in_units(unit, bytes), count),
                 unit.name);
    return text;
}

/* "352 of 512 bytes", "5.3 of 10 KiB", "88 of 128 elements": both in the unit of the second. */
static void share_text(struct view_measure unit, uint64_t used, uint64_t all, char *text,
                       size_t size)
{
    char a[2 * VIEW_COUNT_TEXT], b[2 * VIEW_COUNT_TEXT];
    if (unit.size > 1) {
        snprintf(text, size, "%s of %s", view_count_text(view_in_units(unit, used), a),
                 room_text(unit, all, b, sizeof b));
        return;
    }
    view_bytes_text(used, a);
    view_bytes_text(all, b);
    char *unit_a = strrchr(a, ' '), *unit_b = strrchr(b, ' ');
    if (unit_a && unit_b && strcmp(unit_a, unit_b) == 0)
        *unit_a = '\0';
    else if (unit_b && strcmp(unit_b, " KiB") == 0)
        view_value_text(round((double)used / 102.4) / 10, a);
    snprintf(text, size, "%s of %s", a, b);
}

static void paint_title(struct view_draw *draw, const struct view_moment *moment,
                        struct view_measure unit, struct view_box line)
{
    const struct view_theme *theme = draw->theme;
    struct view_type plain = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text2);
    uint64_t capacity = view_run_header(moment->run)->sram_bytes, used = moment->state.sram_bytes;
    char text[5 * VIEW_COUNT_TEXT], bytes[2 * VIEW_COUNT_TEXT];

    line.h = 28;
    float w = view_text(draw, line.x, line.y + 4, VIEW_LEFT,
                        view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, theme->text), "SRAM");
    view_cut_left(&line, w + 10);
    if (moment->last && moment->last->kind == SIM_REFUSE && capacity > 0) {
        uint64_t all = used + view_sram_needed(moment->run, moment->last);
        struct view_type bad = view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, theme->bad);
        share_text(unit, all, capacity, text, sizeof text);
        if (view_text_in(
                draw, line, VIEW_LEFT, bad, "%s: %s too many", text,
                room_text(unit, all > capacity ? all - capacity : 0, bytes, sizeof bytes)) ||
            view_text_in(draw, line, VIEW_LEFT, bad, "%s", text))
            return;
        view_text_in(draw, line, VIEW_LEFT, bad, "refused");
        return;
    }
    if (capacity == 0) {
        if (!view_text_in(draw, line, VIEW_LEFT, plain, "%s in use, no limit",
                          room_text(unit, used, bytes, sizeof bytes)))
            view_text_in(draw, line, VIEW_LEFT, plain, "%s", bytes);
        return;
    }
    share_text(unit, used, capacity, text, sizeof text);
    if (!view_text_in(draw, line, VIEW_LEFT, plain, "%s in use", text))
        view_text_in(draw, line, VIEW_LEFT, plain, "%s", text);
}

/* ---- checks ---------------------------------------------------------------------------------- */

enum { CHIP_PAD = 9, SIGN = 14, SIGN_GAP = 6, CHIP_GAP = 8, CHIP_HIGH = 26, TICK_ALONE = 32 };

/* What a chip says: a failed one also where, if that fits. */
static const char *check_words(const struct view_draw *draw, const struct view_check *check,
                               struct view_type type, float room, char *text, size_t size)
{
    if (check->verdict == VIEW_BAD) {
        snprintf(text, size, "%s: %s", check->name, check->text);
        if (view_text_width(draw, type, text) <= room)
            return text;
        if (view_text_width(draw, type, check->text) <= room)
            return check->text;
    }
    return view_text_width(draw, type, check->name) <= room ? check->name : "";
}

static void paint_check(struct view_draw *draw, const struct view_frame *frame,
                        const struct view_check *check, struct view_box box)
{
    const struct view_theme *theme = draw->theme;
    bool bad = check->verdict == VIEW_BAD, none = check->verdict == VIEW_NO_VERDICT;
    struct view_color ink = bad ? theme->bad : none ? theme->text2 : theme->text;
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, ink);
    bool leads = bad && check->first_bad != UINT64_MAX;
    float room = box.w - 2 * CHIP_PAD - SIGN - SIGN_GAP;
    char text[256], label[288];
    const char *words = check_words(draw, check, type, room, text, sizeof text);
    float wide = SIGN + (words[0] ? SIGN_GAP + view_text_width(draw, type, words) : 0);
    float x = words[0] ? box.x + CHIP_PAD : roundf(box.x + (box.w - wide) / 2);
    float y = box.y + (box.h - SIGN) / 2;

    if (leads && view_box_has(box, frame->pointer_x, frame->pointer_y))
        view_fill_round(draw, box, 4, theme->hair);
    view_frame_box(draw, box, 4, 1, bad ? theme->bad : theme->hair);
    if (bad)
        view_cross(draw, x, y, theme->bad);
    else if (none)
        view_line(draw, x + 2, y + 7, x + 12, y + 7, 2, theme->text2);
    else
        view_tick(draw, x, y, theme->text);
    if (words[0])
        view_text_in(draw, view_box_make(x + SIGN + SIGN_GAP, box.y, room + 1, box.h), VIEW_LEFT,
                     type, "%s", words);
    if (!leads)
        return;
    snprintf(label, sizeof label, "%s fails, %s: go there", check->name, check->text);
    /* A control's place is at least 28 high; the chip is a little less. */
    view_focus_ring(draw, frame, box);
    view_hit(draw, view_box_make(box.x, box.y - 1, box.w, box.h + 2), VIEW_GO,
             (int64_t)check->first_bad, false, label);
}

void view_sram_checks(struct view_draw *draw, const struct view_scene *scene, int which,
                      struct view_box box)
{
    const struct view_moment *moment = &scene->moment[which];
    struct view_check checks[VIEW_CHECKS];
    int bad = 0;

    view_run_checks(moment->run, moment->at.landed, checks);
    if (box.h > CHIP_HIGH + 2) { /* below each other */
        for (int k = 0; k < VIEW_CHECKS; k++) {
            paint_check(draw, scene->frame, &checks[k], view_cut_top(&box, CHIP_HIGH));
            view_cut_top(&box, 4);
        }
        return;
    }
    for (int k = 0; k < VIEW_CHECKS; k++)
        bad += checks[k].verdict == VIEW_BAD;
    float gaps = (VIEW_CHECKS - 1) * CHIP_GAP, third = floorf((box.w - gaps) / VIEW_CHECKS);
    /* What fails needs the words: the others keep their sign alone then. */
    float wide =
        bad ? floorf((box.w - gaps - (float)(VIEW_CHECKS - bad) * TICK_ALONE) / (float)bad) : third;
    for (int k = 0; k < VIEW_CHECKS; k++) {
        float w = !bad ? third : checks[k].verdict == VIEW_BAD ? wide : TICK_ALONE;
        paint_check(draw, scene->frame, &checks[k], view_cut_left(&box, w));
        view_cut_left(&box, CHIP_GAP);
    }
}

void view_scene_sram(struct view_draw *draw, const struct view_scene *scene, int which)
{
    struct view_box box = scene->layout.sram[which];
    struct view_sram_places places;

    if (box.w < 16 || box.h < 16)
        return;
    view_sram_places(scene, which, &places);
    view_plate(draw, box, draw->theme->panel, draw->theme->edge);
    if (places.title.h > 0)
        paint_title(draw, &scene->moment[which],
                    view_measure_of(scene->moment[which].run, scene->frame->bytes), places.title);
    if (places.bench.h > 0)
        view_sram_bench(draw, scene, which);
    if (places.bar.h > 0)
        view_sram_bar(draw, scene, which, places.bar);
    if (places.checks.h > 0)
        view_sram_checks(draw, scene, which, places.checks);
}
