#include "visualizer/chart.h"

#include <math.h>

void view_stage_plot(struct view_draw *draw, const struct view_scene *scene)
{
    const struct view_theme *theme = draw->theme;
    const struct view_plot *plot = scene->frame->plot;
    bool small = scene->layout.class < VIEW_REGULAR;
    struct view_box box = view_box_inset(scene->layout.stage, small ? 8 : 12, small ? 6 : 8);
    struct view_box row;

    if (box.w < 120 || box.h < 80)
        return;
    view_plate(draw, box, theme->panel, theme->hair);
    box = view_box_inset(box, small ? 12 : 20, small ? 8 : 16);
    struct view_flow flow = {draw, scene, box, box.x, box.w, box.y, false};
    if (scene->frame->covered) {
        view_flow_cover(&flow);
        return;
    }
    view_flow_text(
        &flow, view_type_make(VIEW_BOLD, small ? VIEW_SIZE_HEADING : VIEW_SIZE_TITLE, theme->text),
        view_chart_title(plot ? plot->axis : VIEW_PLOT_SRAM));
    view_flow_gap(&flow, 8);
    view_chart_choices(&flow, plot);
    view_chart_progress(&flow, plot);
    view_flow_gap(&flow, 8);

    struct view_flow probe = flow;
    probe.measures = true;
    view_chart_caption(&probe, plot);
    float caption = probe.y - flow.y, height = box.y + box.h - flow.y - caption - 8;
    if (height < 80) { /* The chart before the words. */
        caption = 0;
        height = box.y + box.h - flow.y;
    }
    if (view_flow_row(&flow, floorf(height), &row))
        view_chart_draw(draw, scene, row);
    view_flow_gap(&flow, 8);
    if (caption > 0)
        view_chart_caption(&flow, plot);
}
