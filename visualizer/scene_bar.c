#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/bar_parts.h"
#include "visualizer/lesson_view.h"

enum { CHIP_GAP = 6 };

static float width_of(const struct view_draw *draw, enum view_style style, float size,
                      const char *text)
{
    return ceilf(view_text_width(draw, view_type_make(style, size, draw->theme->text), text));
}

/* A control of 28 in the middle of the bar's height. */
static struct view_box control(struct view_box box)
{
    box.y += floorf((box.h - 28) / 2);
    box.h = 28;
    return box;
}

bool view_options_differ(const struct view_frame *frame, int option)
{
    const struct view_option *first = &frame->options[option];
    if (!frame->run[1])
        return false;
    for (int o = 0; o < frame->n_second; o++)
        if (strcmp(frame->second_options[o].name, first->name) == 0)
            return strcmp(frame->second_options[o].value, first->value) != 0;
    return frame->n_second > 0;
}

/* ---- menu and title
 * ------------------------------------------------------------------------------------ */

/* The stages, one below the other. */
static void draw_stages(struct view_draw *draw, const struct view_scene *scene,
                        struct view_box button)
{
    enum { ROW = 28, WIDTH = 148 };
    const struct view_frame *frame = scene->frame;
    struct view_box list = {button.x, button.y + button.h + 6, WIDTH, VIEW_STAGES * ROW + 8};

    list.h = fminf(list.h, fmaxf(ROW + 8, frame->height - list.y - 4));
    draw->layer = VIEW_POPUP;
    view_plate(draw, list, draw->theme->panel, draw->theme->edge);
    view_hit(draw, list, VIEW_NOTHING, 0, false, NULL);
    list = view_box_inset(list, 4, 4);
    for (int s = 0; s < VIEW_STAGES && list.h >= ROW; s++) {
        char label[40];
        snprintf(label, sizeof label, "Show %s", view_stage_names[s]);
        view_button(draw, frame, view_cut_top(&list, ROW),
                    (int)frame->stage == s ? VIEW_BUTTON_QUIET | VIEW_BUTTON_ON : VIEW_BUTTON_QUIET,
                    VIEW_STAGE, s, view_stage_names[s], label);
    }
    draw->layer = VIEW_BASE;
}

/* With lessons the menu is that of the contents page, and the stages have one of their own. */
static void draw_stage_menu(struct view_draw *draw, const struct view_scene *scene,
                            struct view_box *bar)
{
    const struct view_frame *frame = scene->frame;
    const char *name = view_stage_names[frame->stage];
    float width = 34 + width_of(draw, VIEW_SANS, VIEW_SIZE_CONTROL, name);
    if (scene->layout.class <= VIEW_COMPACT && frame->lesson->lesson)
        return; /* the step has chosen; V goes on */
    struct view_box box = control(view_cut_left(bar, width));
    struct view_color ink =
        view_button(draw, frame, box, frame->stages_open ? VIEW_BUTTON_ON | VIEW_BUTTON_ICON : VIEW_BUTTON_ICON,
                    VIEW_CONTENTS, 0, NULL, "Stages");
    float x = box.x + box.w - 17, y = floorf(box.y + box.h / 2);
    view_triangle(draw, x, y - 2, x + 8, y - 2, x + 4, y + 3, ink);
    view_text_in(draw, view_box_inset(box, 10, 0), VIEW_LEFT,
                 view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, ink), "%s", name);
    if (frame->stages_open)
        draw_stages(draw, scene, box);
    view_cut_left(bar, CHIP_GAP);
}

static void draw_menu(struct view_draw *draw, const struct view_scene *scene, struct view_box *bar)
{
    const struct view_frame *frame = scene->frame;
    const struct view_theme *theme = draw->theme;
    bool mini = scene->layout.class == VIEW_MINI, lessons = frame->lesson != NULL;
    const char *name = lessons ? "Lessons" : view_stage_names[frame->stage];
    float width = mini ? 32 : 38 + width_of(draw, VIEW_SANS, VIEW_SIZE_CONTROL, name);
    struct view_box box = control(view_cut_left(bar, width));
    struct view_color ink = view_button(draw, frame, box, VIEW_BUTTON_QUIET | VIEW_BUTTON_ICON,
                                        lessons ? VIEW_PAGE : VIEW_CONTENTS,
                                        lessons ? VIEW_PAGE_CONTENTS : 0, NULL,
                                        lessons ? "Lessons" : "Stages");
    float x = box.x + 8, y = floorf(box.y + box.h / 2);

    for (int line = -1; line <= 1; line++)
        view_fill(draw, view_box_make(x, y - 1 + (float)line * 5, 14, 2), theme->text);
    if (!mini) {
        box.x += 30;
        view_text_in(draw, box, VIEW_LEFT, view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, ink), "%s",
                     name);
    }
    if (frame->stages_open && (!lessons || mini)) {
        box.x = bar->x - width;
        draw_stages(draw, scene, box);
    }
    view_cut_left(bar, 6);
    if (mini || !frame->title)
        return;
    view_fill(draw, view_box_make(bar->x, bar->y + 10, 1, bar->h - 20), theme->edge);
    view_cut_left(bar, 12);
    width = width_of(draw, VIEW_BOLD, VIEW_SIZE_BODY, frame->title);
    const char *title = frame->title;
    char brief[32];
    if (width > bar->w / 3 && lessons && frame->lesson->lesson) {
        snprintf(brief, sizeof brief, "Lesson %d", frame->lesson->lesson->number);
        title = brief;
        width = width_of(draw, VIEW_BOLD, VIEW_SIZE_BODY, title);
    }
    if (width <= bar->w / 3) {
        view_text_in(draw, view_cut_left(bar, width), VIEW_LEFT,
                     view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, theme->text), "%s", title);
        view_cut_left(bar, 14);
    }
    if (lessons)
        draw_stage_menu(draw, scene, bar);
}

/* ---- the right end
 * ------------------------------------------------------------------------------------- */

static void quiet_right(struct view_draw *draw, const struct view_scene *scene,
                        struct view_box *bar, enum view_action action, int64_t value,
                        const char *text, const char *label)
{
    float width = fmaxf(28, width_of(draw, VIEW_SANS, VIEW_SIZE_CONTROL, text) + 18);
    view_button(draw, scene->frame, control(view_cut_right(bar, fminf(width, bar->w))),
                VIEW_BUTTON_QUIET, action, value, text, label);
}

static void draw_right(struct view_draw *draw, const struct view_scene *scene, struct view_box *bar)
{
    const struct view_frame *frame = scene->frame;
    quiet_right(draw, scene, bar, VIEW_HELP, 0, "?", "Keys and signs");
    quiet_right(draw, scene, bar, VIEW_THEME, 0, "Theme", "Change the theme");
    if (scene->runs > 0)
        quiet_right(draw, scene, bar, VIEW_SAVE, 0, "Save", "Save a picture");
    if (scene->runs > 0 && !frame->panel_open)
        quiet_right(draw, scene, bar, VIEW_PANEL, frame->panel, view_panel_names[frame->panel],
                    "Open the panel");
    else if (scene->runs > 0 && scene->layout.stage.h < 1) /* the panel is a page of its own */
        quiet_right(draw, scene, bar, VIEW_PANEL, -1, "Picture", "Back to the picture");
    view_cut_right(bar, 8);
}

/* "running 42 %, Esc keeps the old run" over a bar, and that what is seen is the old run. */
static void draw_running(struct view_draw *draw, const struct view_scene *scene,
                         struct view_box *bar)
{
    const struct view_frame *frame = scene->frame;
    const struct view_theme *theme = draw->theme;
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text);
    char text[64];

    if (frame->old && bar->w >= 80) {
        float width = width_of(draw, VIEW_SANS, VIEW_SIZE_LABEL, "old run") + 16;
        struct view_box tag = control(view_cut_right(bar, width));
        view_frame_dashed(draw, view_box_inset(tag, 0, 3), 1, 3, 3, theme->text2);
        view_text_in(draw, tag, VIEW_CENTRE, type, "old run");
        view_cut_right(bar, 8);
    }
    if (!(frame->progress >= 0))
        return;
    double done = frame->progress > 1 ? 1 : frame->progress;
    snprintf(text, sizeof text, "running %.0f %%, Esc keeps the old run", 100 * done);
    if (width_of(draw, VIEW_SANS, VIEW_SIZE_LABEL, text) > bar->w / 2)
        snprintf(text, sizeof text, "%.0f %%", 100 * done);
    float width = width_of(draw, VIEW_SANS, VIEW_SIZE_LABEL, text);
    if (width + 8 > bar->w)
        return;
    struct view_box box = control(view_cut_right(bar, width));
    view_cut_right(bar, 12);
    view_text_in(draw, view_box_make(box.x, box.y, box.w, 20), VIEW_RIGHT, type, "%s", text);
    view_fill(draw, view_box_make(box.x, box.y + 22, box.w, 3), theme->hair);
    view_fill(draw, view_box_make(box.x, box.y + 22, box.w * (float)done, 3), theme->text);
}

/* ---- chips
 * --------------------------------------------------------------------------------------------- */

/* A flag that is off has no label of its own, and no chip: it is found behind the rest. */
static const char *label_of(const struct view_option *option)
{
    return option->label[0] ? option->label : option->name;
}

/* What the lesson's step asks to be changed has a border of text. */
static bool may_be_broken(const struct view_frame *frame, const char *option)
{
    const struct view_lesson *view = frame->lesson;
    if (!view || !view->lesson || view->phase != VIEW_LESSON_BREAK ||
        view->step >= view->lesson->n_steps || !view->lesson->step[view->step].breaks)
        return false;
    const struct lesson_break *breaks = view->lesson->step[view->step].breaks;
    for (int o = 0; o < breaks->n_options; o++)
        if (strcmp(breaks->options[o], option) == 0)
            return true;
    return false;
}

static struct view_box draw_chip(struct view_draw *draw, const struct view_frame *frame, int option,
                                 struct view_box *row, float width)
{
    const struct view_option *which = &frame->options[option];
    struct view_box box = control(view_cut_left(row, width));
    char label[112];
    view_cut_left(row, CHIP_GAP);
    snprintf(label, sizeof label, "Change %s", label_of(which));
    if (which->editable) {
        view_button(draw, frame, box,
                    frame->open_chip == option ? VIEW_BUTTON_ON : VIEW_BUTTON_REST, VIEW_CHIP,
                    option, label_of(which), label);
        if (may_be_broken(frame, which->name))
            view_frame_box(draw, box, 4, 2, draw->theme->text);
    } else {
        view_fill_round(draw, box, 4, draw->theme->raised);
        view_text_in(draw, box, VIEW_CENTRE,
                     view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, draw->theme->text), "%s",
                     label_of(which));
    }
    return box;
}

/* The chip behind which those are that had no room: it opens the first of them that can be changed.
 */
static struct view_box draw_more(struct view_draw *draw, const struct view_frame *frame,
                                 const int *hidden, int n_hidden, struct view_box *row)
{
    char text[16], label[48];
    int first = -1;
    bool open = false;
    for (int h = 0; h < n_hidden; h++) {
        if (first < 0 && frame->options[hidden[h]].editable)
            first = hidden[h];
        open = open || hidden[h] == frame->open_chip;
    }
    snprintf(text, sizeof text, "+%d", n_hidden);
    snprintf(label, sizeof label, "%d more options", n_hidden);
    float width = fmaxf(32, width_of(draw, VIEW_SANS, VIEW_SIZE_CONTROL, text) + 20);
    struct view_box box = control(view_cut_left(row, width));
    view_button(draw, frame, box,
                first < 0 ? VIEW_BUTTON_OFF : open ? VIEW_BUTTON_ON : VIEW_BUTTON_REST, VIEW_CHIP,
                open ? frame->open_chip : first, text, label);
    return box;
}

static void draw_chips(struct view_draw *draw, const struct view_scene *scene, struct view_box row)
{
    const struct view_frame *frame = scene->frame;
    int hidden[VIEW_MOST_OPTIONS], n_hidden = 0, order[VIEW_MOST_OPTIONS], n = 0;
    float widths[VIEW_MOST_OPTIONS], left = row.w;
    struct view_box anchor = {0, 0, 0, 0};

    for (int o = 0; o < frame->n_options && o < VIEW_MOST_OPTIONS; o++)
        if (frame->options[o].label[0] != '\0' && !view_options_differ(frame, o))
            order[n++] = o;
    for (int o = 0; o < frame->n_options && o < VIEW_MOST_OPTIONS; o++)
        if (frame->options[o].label[0] == '\0' && frame->options[o].editable)
            hidden[n_hidden++] = o;
    int shown = 0;
    for (; shown < n; shown++) {
        widths[shown] = fmaxf(28, width_of(draw, VIEW_SANS, VIEW_SIZE_CONTROL,
                                           label_of(&frame->options[order[shown]])) +
                                      20);
        /* The last may take the room that the chip for the rest would have. */
        float rest = shown + 1 < n || n_hidden > 0 ? 44 : 0;
        if (widths[shown] + rest > left)
            break;
        left -= widths[shown] + CHIP_GAP;
    }
    for (int c = 0; c < shown; c++) {
        struct view_box box = draw_chip(draw, frame, order[c], &row, widths[c]);
        if (order[c] == frame->open_chip)
            anchor = box;
    }
    for (int c = n - 1; c >= shown; c--) { /* before the flags that are off */
        memmove(&hidden[1], &hidden[0], (size_t)n_hidden * sizeof hidden[0]);
        hidden[0] = order[c];
        n_hidden++;
    }
    bool listed = false;
    if (n_hidden > 0 && row.w >= 32) {
        struct view_box box = draw_more(draw, frame, hidden, n_hidden, &row);
        for (int h = 0; h < n_hidden; h++)
            listed = listed || hidden[h] == frame->open_chip;
        if (listed)
            anchor = box;
    }
    if (frame->open_chip >= 0 && frame->open_chip < frame->n_options && anchor.w > 0)
        view_bar_editor(draw, scene, anchor, hidden, listed ? n_hidden : 0);
}

void view_scene_bar(struct view_draw *draw, const struct view_scene *scene)
{
    const struct view_theme *theme = draw->theme;
    struct view_box bar = scene->layout.bar;

    if (bar.h < 1)
        return;
    view_fill(draw, bar, theme->panel);
    view_fill(draw, view_box_make(bar.x, bar.y + bar.h - 1, bar.w, 1), theme->hair);
    bar = view_box_inset(bar, 4, 0);
    struct view_box right = bar;
    draw_menu(draw, scene, &bar);
    right.w = fmaxf(0, right.x + right.w - bar.x);
    right.x = bar.x;
    draw_right(draw, scene, &right);
    draw_running(draw, scene, &right);
    draw_chips(draw, scene, right);
}

/* ---- the heading of a compared run
 * ----------------------------------------------------------------------- */

static const char *loop_order(const struct view_run *run)
{
    static const struct {
        const char *name, *order;
    } orders[] = {
        {"flash1", "for each K, V tile: all queries"},
        {"flash2", "for each Q tile: all keys"},
        {"fused-save-p", "for each Q tile: all keys, twice; P is stored"},
        {"standard", "S and P go through HBM"},
        {"square-tiling", "S and P go through HBM, tiled along d too"},
    };
    const char *name = view_run_header(run)->algorithm->name;
    if (view_run_backward(run))
        return strcmp(name, "standard") == 0 ? "backward: P, dP and dS go through HBM"
                                             : "backward, for each K, V tile: all queries";
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++)
        if (strcmp(orders[o].name, name) == 0)
            return orders[o].order;
    return "";
}

/* What tells this run from the other: the options that differ, else its algorithm. */
static void run_name(const struct view_frame *frame, int which, char *text, size_t size)
{
    const struct view_option *options = which ? frame->second_options : frame->options;
    int n = which ? frame->n_second : frame->n_options;
    text[0] = '\0';
    for (int o = 0; o < frame->n_options; o++) {
        if (!view_options_differ(frame, o))
            continue;
        for (int k = 0; k < n; k++) {
            size_t used = strlen(text);
            if (strcmp(options[k].name, frame->options[o].name) == 0 && options[k].label[0])
                snprintf(text + used, size - used, "%s%s", used ? ", " : "", options[k].label);
        }
    }
    if (text[0] == '\0')
        snprintf(text, size, "%s", view_run_header(frame->run[which])->algorithm->name);
}

void view_scene_heading(struct view_draw *draw, const struct view_scene *scene, int which)
{
    const struct view_frame *frame = scene->frame;
    const struct view_theme *theme = draw->theme;
    const struct view_moment *moment = &scene->moment[which];
    const struct fa_problem *problem = &view_run_header(moment->run)->problem;
    struct sim_volume read = sim_counters_read_all(&moment->state.counters, problem);
    struct sim_volume write = sim_counters_write_all(&moment->state.counters, problem);
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, theme->text);
    struct view_type big = view_type_make(VIEW_BOLD, VIEW_SIZE_HEADING, theme->text);
    struct view_type small = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text2);
    struct view_box box = view_box_inset(scene->layout.heading[which], 4, 0);
    const char *unit = frame->bytes ? "bytes moved" : "elements moved";
    char count[VIEW_COUNT_TEXT], name[160];

    view_count_text(frame->bytes ? read.bytes + write.bytes : read.elements + write.elements,
                    count);
    if (!frame->covered) {
        float width = ceilf(view_text_width(draw, small, unit));
        view_text_in(draw, view_cut_right(&box, width), VIEW_RIGHT, small, "%s", unit);
        view_cut_right(&box, 6);
        width = ceilf(view_text_width(draw, big, count));
        view_text_in(draw, view_cut_right(&box, width), VIEW_RIGHT, big, "%s", count);
        view_cut_right(&box, 16);
    }
    view_text_in(draw, view_cut_left(&box, 20), VIEW_LEFT, bold, "%s", which ? "B" : "A");
    run_name(frame, which, name, sizeof name);
    float width = ceilf(view_text_width(draw, bold, name));
    view_text_in(draw, view_cut_left(&box, width), VIEW_LEFT, bold, "%s", name);
    view_cut_left(&box, 10);
    view_text_in(draw, box, VIEW_LEFT, view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, theme->text2),
                 "%s", loop_order(moment->run));
}
