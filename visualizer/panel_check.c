#include "visualizer/panel.h"
#include "visualizer/sentence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct view_type small_type(const struct view_flow *flow)
{
    return view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, flow->draw->theme->text2);
}

static struct view_type plain_type(const struct view_flow *flow)
{
    return view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, flow->draw->theme->text);
}

/* A tick, or a cross in bad, or a dash, at the left of the row, which keeps the rest. */
static void draw_verdict(struct view_flow *flow, struct view_box *row, enum view_verdict verdict)
{
    const struct view_theme *theme = flow->draw->theme;
    struct view_box place = view_cut_left(row, 24);
    float y = floorf(place.y + (place.h - 14) / 2);
    if (verdict == VIEW_GOOD)
        view_tick(flow->draw, place.x, y, theme->text);
    else if (verdict == VIEW_BAD)
        view_cross(flow->draw, place.x, y, theme->bad);
    else
        view_fill(flow->draw, view_box_make(place.x + 2, y + 6, 10, 2), theme->text2);
}

/* ---- the three checks -------------------------------------------------------------------- */

static void check_row(struct view_flow *flow, const struct view_check *check)
{
    const struct view_theme *theme = flow->draw->theme;
    struct view_type type = plain_type(flow);
    bool goes = check->verdict == VIEW_BAD && check->first_bad != UINT64_MAX;
    struct view_box row;

    if (check->verdict == VIEW_NO_VERDICT)
        type.color = theme->text2;
    if (view_flow_row(flow, 28, &row)) {
        struct view_box all = row;
        char label[160];
        snprintf(label, sizeof label, "Go to where it first fails: %s", check->name);
        draw_verdict(flow, &row, check->verdict);
        view_text_in(flow->draw, row, VIEW_LEFT, type, "%s", check->name);
        if (goes) {
            view_focus_ring(flow->draw, flow->scene->frame, all);
            view_hit(flow->draw, all, VIEW_GO, (int64_t)check->first_bad, false, label);
        }
    }
    if (check->verdict == VIEW_BAD && check->text[0]) {
        struct view_flow inner = *flow;
        inner.x += 24;
        inner.w -= 24;
        type = small_type(flow);
        type.color = theme->bad;
        view_flow_text(&inner, type, check->text);
        flow->y = inner.y + 4;
    }
}

static void checks(struct view_flow *flow, int which)
{
    struct view_run *run = flow->scene->moment[which].run;
    struct view_check all[VIEW_CHECKS];
    view_run_checks(run, flow->scene->moment[which].at.landed, all);
    view_flow_heading(flow, "At this position");
    for (int c = 0; c < VIEW_CHECKS; c++)
        check_row(flow, &all[c]);
    if (view_run_backward(run))
        view_flow_text(flow, small_type(flow), "These are of the forward pass: none applies here.");
}

/* ---- errors of the finished run ---------------------------------------------------------- */

/* The error as a share of what is allowed, on a linear scale with the allowance at its end. */
static void error_bar(struct view_flow *flow, const struct view_error_row *error)
{
    const struct view_theme *theme = flow->draw->theme;
    struct view_box row;
    if (!view_flow_row(flow, 14, &row))
        return;
    row = view_box_make(row.x + 24, row.y + 2, row.w - 24, 8);
    double share = error->budget > 0 ? error->max_abs / error->budget : error->max_abs > 0;
    if (!(share <= 1)) /* NaN too */
        share = 1;
    view_fill(flow->draw, row, theme->raised);
    struct view_box bar = row;
    bar.w = fmaxf((float)(share * (double)row.w), error->max_abs > 0 ? 1 : 0);
    if (error->passed) {
        view_tensor_bar(flow->draw, bar, error->id, NULL);
    } else {
        view_fill(flow->draw, bar, theme->bad_fill);
        view_hatch(flow->draw, bar, VIEW_CROSSES, theme->text);
    }
    view_fill(flow->draw, view_box_make(row.x + row.w - 2, row.y - 2, 2, 12), theme->text);
}

static void error_rows(struct view_flow *flow, const struct view_error_row *error)
{
    const struct view_theme *theme = flow->draw->theme;
    struct view_look look = view_tensor_look(theme, error->id);
    struct view_type type = plain_type(flow), small = small_type(flow);
    char most[VIEW_NUMBER_TEXT], budget[VIEW_NUMBER_TEXT], rms[VIEW_NUMBER_TEXT];
    char ours[VIEW_NUMBER_TEXT], truth[VIEW_NUMBER_TEXT], text[256];
    struct view_box row;

    view_value_text(error->max_abs, most);
    view_value_text(error->budget, budget);
    if (view_flow_row(flow, 24, &row)) {
        draw_verdict(flow, &row, error->passed ? VIEW_GOOD : VIEW_BAD);
        float used =
            view_text(flow->draw, row.x, row.y + 2, VIEW_LEFT,
                      view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, look.line), "%s", error->name);
        view_cut_left(&row, used + 12);
        if (!view_text_in(flow->draw, row, VIEW_RIGHT, type, "%s of %s allowed", most, budget))
            view_text_in(flow->draw, row, VIEW_RIGHT, type, "%s", most);
    }
    error_bar(flow, error);
    struct view_flow inner = *flow;
    inner.x += 24;
    inner.w -= 24;
    view_value_text(error->ours, ours);
    view_value_text(error->truth, truth);
    if (error->max_abs == 0 && error->passed)
        snprintf(text, sizeof text, "Nothing differs.");
    else
        snprintf(text, sizeof text, "RMS %s. Worst at head %lld, row %lld, column %lld: %s%s%s.",
                 view_value_text(error->rms, rms), (long long)error->head, (long long)error->row,
                 (long long)error->column, ours, strcmp(ours, truth) == 0 ? "" : ", truly ",
                 strcmp(ours, truth) == 0 ? "" : truth);
    view_flow_text(&inner, small, text);
    flow->y = inner.y + 10;
}

/* `flashlab run` with the options of the chips: what compares where this window has no values. */
static void command_of(const struct view_frame *frame, int which, char *text, size_t size)
{
    const struct view_option *options = which ? frame->second_options : frame->options;
    int n_options = which ? frame->n_second : frame->n_options;
    size_t n = (size_t)snprintf(text, size, "flashlab run");
    for (int o = 0; o < n_options && n < size; o++) {
        const struct view_option *option = &options[o];
        if (option->value[0] == '\0' || option->name[0] == '\0')
            continue;
        bool flag = strcmp(option->value, "yes") == 0;
        n += (size_t)snprintf(text + n, size - n, " --%s%s%s", option->name, flag ? "" : " ",
                              flag ? "" : option->value);
    }
    if (n < size)
        snprintf(text + n, size - n, " --check full");
}

/* Why nothing is compared, and what would be. */
static void no_errors(struct view_flow *flow, int which)
{
    struct view_run *run = flow->scene->moment[which].run;
    struct view_type type = plain_type(flow);
    const char *why = view_run_no_values(run);
    char text[1600];

    if (view_run_refused(run)) {
        view_flow_text(flow, type,
                       "The machine refused this run before its end, so it has no "
                       "result to compare.");
        struct view_sentence refusal;
        view_sentence(run, view_run_length(run), flow->scene->frame->bytes, &refusal);
        view_flow_gap(flow, 8);
        view_flow_text(flow, small_type(flow), refusal.text);
        return;
    }
    snprintf(text, sizeof text,
             "%s Compared would be %s of the whole run with the same in double precision: the "
             "largest difference, its place, and how much rounding allows.",
             why ? why : "This run is too large to compare while it is watched.",
             view_run_backward(run) ? "dQ, dK and dV" : "O and LSE");
    view_flow_text(flow, type, text);
    view_flow_gap(flow, 8);
    view_flow_text(flow, small_type(flow), "This does it:");
    command_of(flow->scene->frame, which, text, sizeof text);
    view_flow_text(flow, view_type_make(VIEW_MONO, VIEW_SIZE_CONTROL, flow->draw->theme->text),
                   text);
}

/* ---- error by tile ----------------------------------------------------------------------- */

static void tile_errors(struct view_flow *flow, int which)
{
    struct view_run *run = flow->scene->moment[which].run;
    const struct view_theme *theme = flow->draw->theme;
    const double *errors = view_run_tile_errors(run);
    int64_t tr = view_run_tr(run), tc = view_run_tc(run);
    char most_text[VIEW_NUMBER_TEXT], text[160];
    double most = 0;
    struct view_box row;

    if (!errors || tr < 1 || tc < 1)
        return;
    for (int64_t t = 0; t < tr * tc; t++)
        if (errors[t] > most)
            most = errors[t];
    float side = floorf(fminf(flow->w / (float)tc, 128 / (float)tr));
    if (side < 1)
        return;
    side = fminf(side, 24);
    view_flow_gap(flow, 8);
    view_flow_heading(flow, "Error by tile");
    snprintf(text, sizeof text, "Largest error of %s; full shade: %s.",
             view_run_backward(run) ? "dQ, dK and dV in each tile" : "O after each tile",
             view_value_text(most, most_text));
    view_flow_text(flow, small_type(flow), text);
    view_flow_gap(flow, 6);
    if (!view_flow_row(flow, side * (float)tr, &row))
        return;
    row.w = side * (float)tc;
    struct view_color *cells = view_image(flow->draw, row, (int)tc, (int)tr);
    for (int64_t t = 0; cells && t < tr * tc; t++)
        cells[t] = isnan(errors[t])
                       ? theme->bg
                       : view_shade(theme, view_run_backward(run) ? FA_DQ : FA_O, errors[t], most);
    view_frame_box(flow->draw, row, 0, 1, theme->edge);
}

/* ---- the panel --------------------------------------------------------------------------- */

static void result(struct view_flow *flow, int which)
{
    struct view_error_row rows[4];
    int n = view_run_errors(flow->scene->moment[which].run, rows);
    view_flow_heading(flow, "The result, against doubles");
    if (n == 0)
        no_errors(flow, which);
    for (int r = 0; r < n; r++)
        error_rows(flow, &rows[r]);
    tile_errors(flow, which);
}

static void body(struct view_flow *flow)
{
    const struct view_scene *scene = flow->scene;
    if (scene->frame->covered) {
        view_flow_heading(flow, "Checks");
        view_flow_cover(flow);
        return;
    }
    for (int which = 0; which < scene->runs; which++) {
        struct view_flow right;
        char title[SIM_PASS_TITLE], text[SIM_PASS_TITLE + 4];
        if (which)
            view_flow_rule(flow);
        if (scene->runs == 2) {
            snprintf(text, sizeof text, "%s  %s", which ? "B" : "A",
                     sim_trace_pass_title(view_run_header(scene->moment[which].run), title));
            view_flow_heading(flow, text);
            view_flow_gap(flow, 4);
        }
        float x = flow->x, w = flow->w;
        bool two = view_flow_split(flow, &right);
        checks(flow, which);
        if (!two)
            view_flow_gap(flow, 12);
        result(two ? &right : flow, which);
        flow->y = fmaxf(flow->y, two ? right.y : flow->y);
        flow->x = x;
        flow->w = w;
    }
}

void view_panel_check(struct view_draw *draw, const struct view_scene *scene, struct view_box box)
{
    view_panel_flow(draw, scene, box, body);
}
