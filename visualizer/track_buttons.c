/* The buttons below the time line. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/track_parts.h"

static const char *const speed_names[VIEW_SPEEDS] = {"auto", "0.25 ×", "0.5 ×", "1 ×",
                                                     "2 ×",  "4 ×",    "16 ×",  "64 ×"};
static const char *const by_names[VIEW_BYS] = {"event", "tile", "row", "phase"};

enum sign { SIGN_HOME, SIGN_BACK, SIGN_PLAY, SIGN_PAUSE, SIGN_ON, SIGN_END };

/* The sign of a button, drawn: bars of 2, triangles of 7 x 12. `flip`: it points to the left. */
static void draw_sign(struct view_draw *draw, struct view_box box, enum sign sign,
                      struct view_color color)
{
    float x = floorf(box.x + box.w / 2), y = floorf(box.y + box.h / 2);
    switch (sign) {
    case SIGN_PLAY:
        view_triangle(draw, x - 5, y - 8, x - 5, y + 8, x + 8, y, color);
        return;
    case SIGN_PAUSE:
        view_fill(draw, view_box_make(x - 6, y - 7, 4, 14), color);
        view_fill(draw, view_box_make(x + 2, y - 7, 4, 14), color);
        return;
    case SIGN_HOME:
        view_fill(draw, view_box_make(x - 8, y - 6, 2, 12), color);
        view_triangle(draw, x + 1, y - 6, x + 1, y + 6, x - 6, y, color);
        view_triangle(draw, x + 8, y - 6, x + 8, y + 6, x + 1, y, color);
        return;
    case SIGN_BACK:
        view_fill(draw, view_box_make(x - 5, y - 6, 2, 12), color);
        view_triangle(draw, x + 5, y - 6, x + 5, y + 6, x - 3, y, color);
        return;
    case SIGN_ON:
        view_fill(draw, view_box_make(x + 3, y - 6, 2, 12), color);
        view_triangle(draw, x - 5, y - 6, x - 5, y + 6, x + 3, y, color);
        return;
    case SIGN_END:
        view_fill(draw, view_box_make(x + 6, y - 6, 2, 12), color);
        view_triangle(draw, x - 8, y - 6, x - 8, y + 6, x - 1, y, color);
        view_triangle(draw, x - 1, y - 6, x - 1, y + 6, x + 6, y, color);
        return;
    }
}

static void sign_button(struct view_draw *draw, const struct view_scene *scene, struct view_box box,
                        enum sign sign, enum view_action action, int64_t value, const char *label)
{
    unsigned states = VIEW_BUTTON_ICON;
    if (action == VIEW_PLAY)
        states |= VIEW_BUTTON_PRIMARY;
    draw_sign(draw, box, sign,
              view_button(draw, scene->frame, box, states, action, value, NULL, label));
}

/* Home, back, play, on, end; without the last where four have to do. */
static void draw_moves(struct view_draw *draw, const struct view_scene *scene, struct view_box *row,
                       float width, int n)
{
    const struct view_frame *frame = scene->frame;
    static const enum view_action steps[VIEW_BYS] = {VIEW_STEP_EVENT, VIEW_STEP_TILE, VIEW_STEP_ROW,
                                                     VIEW_STEP_PHASE};
    static const char *const labels[5] = {"To the start", "Step back", "Play", "Step on",
                                          "To the end"};
    enum view_action step = steps[frame->step_by];
    const struct {
        enum sign sign;
        enum view_action action;
        int64_t value;
    } moves[5] = {
        {SIGN_HOME, VIEW_HOME, 0},
        {SIGN_BACK, step, -1},
        {frame->playing ? SIGN_PAUSE : SIGN_PLAY, VIEW_PLAY, 0},
        {SIGN_ON, step, 1},
        {SIGN_END, VIEW_END, 0},
    };
    for (int m = 0; m < n; m++) {
        struct view_box box = view_cut_left(row, width);
        sign_button(draw, scene, box, moves[m].sign, moves[m].action, moves[m].value,
                    m == 2 && frame->playing ? "Pause" : labels[m]);
        view_cut_left(row, 4);
    }
}

/* The drop-down's list, over its button. */
static void draw_speeds(struct view_draw *draw, const struct view_scene *scene,
                        struct view_box button)
{
    const struct view_frame *frame = scene->frame;
    enum { ROW = 28 };
    struct view_box list = {button.x, button.y - 8 - VIEW_SPEEDS * ROW - 4, fmaxf(button.w, 84),
                            VIEW_SPEEDS * ROW + 8};
    list.x = fminf(list.x, frame->width - list.w - 4);
    list.y = fmaxf(list.y, 2);
    draw->layer = VIEW_POPUP;
    view_plate(draw, list, draw->theme->panel, draw->theme->edge);
    view_hit(draw, list, VIEW_NOTHING, 0, false, NULL);
    list = view_box_inset(list, 4, 4);
    for (int s = 0; s < VIEW_SPEEDS; s++) {
        char label[32];
        snprintf(label, sizeof label, "Speed %s", speed_names[s]);
        view_button(draw, frame, view_cut_top(&list, ROW),
                    (int)frame->speed == s ? VIEW_BUTTON_ON | VIEW_BUTTON_QUIET : VIEW_BUTTON_QUIET,
                    VIEW_SPEED, s, speed_names[s], label);
    }
    draw->layer = VIEW_BASE;
}

static void draw_speed(struct view_draw *draw, const struct view_scene *scene, struct view_box box)
{
    const struct view_frame *frame = scene->frame;
    struct view_color ink =
        view_button(draw, frame, box, VIEW_BUTTON_ICON, VIEW_SPEED, -1, NULL, "Speed");
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, ink);
    struct view_box text = view_box_inset(box, 8, 0);
    float y = floorf(box.y + box.h / 2);
    view_text_in(draw, text, VIEW_LEFT, type, "%s", speed_names[frame->speed]);
    float x = box.x + box.w - 13;
    view_triangle(draw, x - 4, y - 3, x + 4, y - 3, x, y + 3, ink);
    if (frame->speed_open)
        draw_speeds(draw, scene, box);
}

/* The right end: "event 46, last 106"; of two runs where the clock and both stand. */
static void place_text(const struct view_scene *scene, char text[160])
{
    const struct view_frame *frame = scene->frame;
    char at[2][VIEW_COUNT_TEXT], last[VIEW_COUNT_TEXT], all[VIEW_COUNT_TEXT];
    uint64_t length = view_run_length(frame->run[0]);

    for (int which = 0; which < scene->runs; which++) {
        uint64_t landed = scene->moment[which].at.landed;
        bool flies = scene->moment[which].at.flight > 0;
        view_count_exact(flies || landed == 0 ? landed : landed - 1, at[which]);
        if (landed == 0 && !flies)
            snprintf(at[which], VIEW_COUNT_TEXT, "start");
    }
    if (scene->runs == 2 && frame->clock == VIEW_SAME_TILE)
        snprintf(text, 160, "tile %s of %s: event %s in A, %s in B",
                 view_count_exact((uint64_t)frame->work, last),
                 view_count_exact((uint64_t)frame->work_in_all, all), at[0], at[1]);
    else if (scene->runs == 2)
        snprintf(text, 160, "%.0f %% of the %s: event %s in A, %s in B",
                 frame->work_in_all > 0 ? 100 * frame->work / frame->work_in_all : 0,
                 frame->clock == VIEW_SAME_TRAFFIC ? "traffic" : "work", at[0], at[1]);
    else if (length == 0)
        snprintf(text, 160, "no event");
    else if (strcmp(at[0], "start") == 0)
        snprintf(text, 160, "start, last event %s", view_count_exact(length - 1, last));
    else
        snprintf(text, 160, "event %s, last %s", at[0], view_count_exact(length - 1, last));
}

static float width_of(const struct view_draw *draw, enum view_type_size size, const char *text)
{
    return ceilf(
        view_text_width(draw, view_type_make(VIEW_SANS, (float)size, draw->theme->text), text));
}

/* Which of the parts behind the five buttons have room, the least needed going first. */
enum {
    HAS_SPEED_LABEL = 1,
    HAS_BY_LABEL = 2,
    HAS_PHASE = 4,
    HAS_TEXT = 8,
    HAS_BYS = 16,
    HAS_SPEED = 32
};

static unsigned parts_that_fit(const struct view_draw *draw, float room, const char *text)
{
    static const unsigned goes[] = {HAS_SPEED_LABEL, HAS_BY_LABEL, HAS_PHASE, HAS_BYS, HAS_SPEED,
                                    HAS_TEXT};
    unsigned has = 63;
    for (size_t g = 0;; g++) {
        float need = 0;
        if (has & HAS_BY_LABEL)
            need += width_of(draw, VIEW_SIZE_CONTROL, "Step by") + 8;
        for (int b = 0; has & HAS_BYS && b < (has & HAS_PHASE ? VIEW_BYS : VIEW_BYS - 1); b++)
            need += width_of(draw, VIEW_SIZE_CONTROL, by_names[b]) + 20 + 4;
        if (has & HAS_SPEED_LABEL)
            need += width_of(draw, VIEW_SIZE_CONTROL, "Speed") + 8;
        if (has & HAS_SPEED)
            need += 72 + 12;
        if (has & HAS_TEXT)
            need += width_of(draw, VIEW_SIZE_CONTROL, text) + 28;
        if (need <= room || g == sizeof goes / sizeof *goes)
            return has;
        has &= ~goes[g];
        if (goes[g] == HAS_BYS)
            has &= ~(unsigned)HAS_PHASE;
    }
}

static void label_left(struct view_draw *draw, struct view_box *row, const char *text)
{
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, draw->theme->text2);
    view_text_in(draw, view_cut_left(row, width_of(draw, VIEW_SIZE_CONTROL, text)), VIEW_LEFT, type,
                 "%s", text);
    view_cut_left(row, 8);
}

void view_track_buttons(struct view_draw *draw, const struct view_scene *scene,
                        const struct view_transport *transport)
{
    const struct view_frame *frame = scene->frame;
    struct view_box row = transport->buttons;
    char text[160];

    if (transport->mini) {
        draw_moves(draw, scene, &row, 28, 4);
        return;
    }
    draw_moves(draw, scene, &row, 36, 5);
    view_cut_left(&row, 12);
    place_text(scene, text);
    unsigned has = parts_that_fit(draw, row.w, text);
    if (has & HAS_BY_LABEL)
        label_left(draw, &row, "Step by");
    for (int b = 0; has & HAS_BYS && b < (has & HAS_PHASE ? VIEW_BYS : VIEW_BYS - 1); b++) {
        char label[32];
        snprintf(label, sizeof label, "Step by %s", by_names[b]);
        view_button(draw, frame,
                    view_cut_left(&row, width_of(draw, VIEW_SIZE_CONTROL, by_names[b]) + 20),
                    (int)frame->step_by == b ? VIEW_BUTTON_ON : VIEW_BUTTON_REST, VIEW_STEP_BY, b,
                    by_names[b], label);
        view_cut_left(&row, 4);
    }
    if (has & (HAS_BYS | HAS_BY_LABEL))
        view_cut_left(&row, 12);
    if (has & HAS_SPEED_LABEL)
        label_left(draw, &row, "Speed");
    if (has & HAS_SPEED)
        draw_speed(draw, scene, view_cut_left(&row, 72));
    if (has & HAS_TEXT && !frame->covered) {
        struct view_box place = view_cut_right(&row, width_of(draw, VIEW_SIZE_CONTROL, text) + 8);
        bool hover = view_box_has(place, frame->pointer_x, frame->pointer_y);
        view_text_in(draw, place, VIEW_RIGHT,
                     view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL,
                                    hover ? draw->theme->text : draw->theme->text2),
                     "%s", text);
        view_focus_ring(draw, frame, place);
        view_hit(draw, place, VIEW_GO_TO, 0, false, "Go to an event or a tile");
    }
}
