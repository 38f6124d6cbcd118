#include "visualizer/stage_errors.h"

#include <math.h>
#include <stdio.h>

enum { WIDE = 332, LINE = 17, ROW = 30, BAR = 12, NAME = 34, WHERE = 104, NUMBER = 76 };

struct view_box view_errors_cut_side(const struct view_scene *scene, int which,
                                     struct view_box *box)
{
    enum { LEAST_GRID = 150, APART = 20 };
    struct view_stage_error stages[VIEW_ERROR_STAGES];
    struct view_box none = {0};
    if (box->w < WIDE + LEAST_GRID + APART || box->h < 2 * LINE + VIEW_ERROR_STAGES * 22 ||
        view_run_stage_errors(scene->moment[which].run, stages) == 0)
        return none;
    struct view_box side = view_cut_right(box, WIDE);
    view_cut_right(box, APART);
    return side;
}

/* Powers of ten round all errors of the runs on screen. */
static void find_scale(const struct view_scene *scene, double *low, double *high)
{
    struct view_stage_error stages[VIEW_ERROR_STAGES];
    double least = INFINITY, most = 0;
    for (int run = 0; run < scene->runs; run++)
        for (int n = view_run_stage_errors(scene->moment[run].run, stages); n-- > 0;)
            if (stages[n].formed && stages[n].rms > 0 && isfinite(stages[n].rms)) {
                least = fmin(least, stages[n].rms);
                most = fmax(most, stages[n].rms);
            }
    *high = most > 0 ? ceil(log10(most)) : 0;
    *low = most > 0 ? floor(log10(least)) - 1 : -1; /* the least is to be seen, too */
}

static void draw_bar(struct view_draw *draw, const struct view_stage_error *stage, double low,
                     double high, struct view_box box)
{
    struct view_look look = view_tensor_look(draw->theme, stage->id);
    double share = stage->rms > 0 ? (log10(stage->rms) - low) / (high - low) : 0;
    struct view_box bar = view_box_make(box.x, floorf(box.y + (box.h - BAR) / 2), box.w, BAR);
    view_frame_box(draw, bar, 0, 1, draw->theme->hair);
    bar.w *= (float)fmin(fmax(share, 0), 1);
    if (bar.w < 1)
        return;
    view_fill(draw, bar, look.fill);
    view_hatch(draw, bar, look.pattern, look.line);
    view_frame_box(draw, bar, 0, 1, look.line);
}

static void draw_stage(struct view_draw *draw, const struct view_stage_error *stage, bool known,
                       double low, double high, struct view_box row)
{
    const struct view_theme *theme = draw->theme;
    struct view_look look = view_tensor_look(theme, stage->id);
    struct view_type plain = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text2);
    char number[VIEW_NUMBER_TEXT];
    view_text_in(draw, view_cut_left(&row, NAME), VIEW_LEFT,
                 view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, look.line), "%s", look.letter);
    if (!stage->formed) {
        view_text_in(draw, row, VIEW_LEFT, plain, "never there as a whole");
        return;
    }
    view_text_in(draw, view_cut_left(&row, WHERE), VIEW_LEFT, plain, "%s, %s",
                 stage->in_hbm ? "in HBM" : "on chip", fa_dtype_name(stage->format));
    struct view_box right = view_cut_right(&row, NUMBER);
    if (!known) {
        view_text_in(draw, right, VIEW_RIGHT, plain, "?");
        return;
    }
    draw_bar(draw, stage, low, high, row);
    view_text_in(draw, right, VIEW_RIGHT, view_type_make(VIEW_MONO, VIEW_SIZE_CELL, theme->text),
                 "%s", view_value_text(stage->rms, number));
}

void view_errors_side(struct view_draw *draw, const struct view_scene *scene, int which,
                      const struct view_box *side)
{
    const struct view_moment *moment = &scene->moment[which];
    struct view_type plain = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
    struct view_stage_error stages[VIEW_ERROR_STAGES];
    struct view_box box = *side;
    double low, high;
    if (box.w <= 0)
        return;
    int n = view_run_stage_errors(moment->run, stages);
    bool known = !scene->frame->covered && moment->at.landed >= view_run_length(moment->run);
    float row = fminf(ROW, floorf((box.h - 2 * LINE) / VIEW_ERROR_STAGES));
    find_scale(scene, &low, &high);
    struct view_box title = view_cut_top(&box, LINE);
    view_text_in(draw, title, VIEW_RIGHT, plain, "rms error");
    view_text_in(draw, title, VIEW_LEFT, plain, "stage, head 0");
    for (int k = 0; k < n; k++)
        draw_stage(draw, &stages[k], known, low, high, view_cut_top(&box, row));
    view_text_in(draw, view_cut_top(&box, LINE), VIEW_LEFT, plain, "%s",
                 known ? "against the same inputs in double precision"
                       : "known when the run has ended");
}
