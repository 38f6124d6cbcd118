#include "visualizer/chart.h"

#include <math.h>

static void chart(struct view_flow *flow, float height)
{
    struct view_box row;
    if (view_flow_row(flow, height, &row))
        view_chart_draw(flow->draw, flow->scene, row);
}

static void words(struct view_flow *flow, const struct view_plot *plot)
{
    view_flow_heading(flow, view_chart_title(plot ? plot->axis : VIEW_PLOT_SRAM));
    view_flow_gap(flow, 4);
    view_chart_choices(flow, plot);
    view_chart_progress(flow, plot);
}

/* The height that the caption takes. */
static float caption_height(const struct view_flow *flow, const struct view_plot *plot)
{
    struct view_flow probe = *flow;
    probe.measures = true;
    view_chart_caption(&probe, plot);
    return probe.y - flow->y;
}

static void body(struct view_flow *flow)
{
    const float least = 120, most = fmaxf(340, flow->w * 0.6f);
    const struct view_plot *plot = flow->scene->frame->plot;
    struct view_flow right;

    if (flow->scene->frame->covered) {
        view_flow_heading(flow, "Elements moved");
        view_flow_cover(flow);
        return;
    }
    if (view_flow_split(flow, &right)) {
        chart(flow, fmaxf(flow->seen.h, 64));
        words(&right, plot);
        view_chart_caption(&right, plot);
        flow->y = fmaxf(flow->y, right.y);
        return;
    }
    float top = flow->y;
    words(flow, plot);
    float left = flow->seen.h - (flow->y - top) - caption_height(flow, plot) - 16;
    chart(flow, floorf(fminf(fmaxf(left, least), most)));
    view_flow_gap(flow, 12);
    view_chart_caption(flow, plot);
}

void view_panel_plot(struct view_draw *draw, const struct view_scene *scene, struct view_box box)
{
    view_panel_flow(draw, scene, box, body);
}
