/* What stands in place of the stage where there is nothing to show: what, why, what to do, one
 * button. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/scene.h"

enum { WIDEST = 560, BAR = 6 };

/* The text in the largest type that lets it into the height; the longest beginning of whole
 * sentences where none does. Returns its type; `part` is what is to be drawn. */
static struct view_type fit_text(const struct view_draw *draw, float width, float height,
                                 const char *text, char part[1024])
{
    static const float sizes[] = {VIEW_SIZE_BODY, VIEW_SIZE_CONTROL, VIEW_SIZE_LABEL,
                                  VIEW_SIZE_CELL};
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_BODY, draw->theme->text);

    snprintf(part, 1024, "%s", text);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        type.size = sizes[s];
        if (view_text_height(draw, width, type, 0, part) <= height)
            return type;
    }
    for (size_t n = strlen(part); n-- > 0;) {
        if (!strchr(".;", part[n]) || (part[n + 1] != ' ' && part[n + 1] != '\n'))
            continue;
        part[n + 1] = '\0';
        if (view_text_height(draw, width, type, 0, part) <= height)
            return type;
    }
    part[0] = '\0';
    return type;
}

static void draw_progress(struct view_draw *draw, struct view_box box, double done)
{
    done = done > 1 ? 1 : done;
    view_fill_round(draw, box, BAR / 2, draw->theme->hair);
    box.w = fmaxf(BAR, box.w * (float)done);
    view_fill_round(draw, box, BAR / 2, draw->theme->text);
}

void view_scene_message(struct view_draw *draw, const struct view_scene *scene)
{
    const struct view_frame *frame = scene->frame;
    const struct view_message *message = &frame->message;
    const struct view_theme *theme = draw->theme;
    float top = scene->layout.bar.h;
    struct view_box area = {0, top, frame->width, fmaxf(0, frame->height - top)};
    struct view_type title = view_type_make(VIEW_BOLD, VIEW_SIZE_TITLE, theme->text);
    bool running = frame->progress >= 0, button = message->button[0] != '\0';
    char part[1024];

    area = view_box_inset(area, area.w < 500 ? 16 : 24, area.h < 300 ? 8 : 24);
    float width = fminf(area.w, WIDEST);
    float head =
        message->title[0] ? view_text_height(draw, width, title, 0, message->title) + 12 : 0;
    float foot = (running ? 16 + BAR : 0) + (button ? 20 + 32 : 0);
    struct view_type type = fit_text(draw, width, area.h - head - foot, message->text, part);
    float body = part[0] ? view_text_height(draw, width, type, 0, part) : 0;
    /* A little above the middle, where the eye looks for it. */
    struct view_box box = {floorf(area.x + (area.w - width) / 2),
                           floorf(area.y + fmaxf(0, (area.h - head - body - foot) * 0.4f)), width,
                           head + body + foot};

    if (head > 0)
        view_text_wrapped(draw, view_cut_top(&box, head), title, 0, message->title, NULL);
    if (body > 0)
        view_text_wrapped(draw, view_cut_top(&box, body), type, 0, part, NULL);
    if (running) {
        view_cut_top(&box, 16);
        draw_progress(draw, view_cut_top(&box, BAR), frame->progress);
    }
    if (button) {
        view_cut_top(&box, 20);
        struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_CONTROL, theme->text);
        float wide = fminf(box.w, ceilf(view_text_width(draw, bold, message->button)) + 36);
        view_button(draw, frame, view_box_make(box.x, box.y, wide, 32), VIEW_BUTTON_PRIMARY,
                    VIEW_RETRY, message->remedy, message->button, message->button);
    }
}
