#include "visualizer/lesson_view.h"
#include "visualizer/scene.h"

const char *const view_stage_names[VIEW_STAGES] = {
    "Cross", "One row", "To scale", "Plot", "Mask", "Keep bits", "Waves", "Errors",
    "Tiles"};
const char *const view_panel_names[VIEW_PANELS] = {"Code", "Traffic", "Plot", "Check", "Lesson"};

/* The picture of the memories, of one run or of two. */
static void draw_cross(struct view_draw *draw, const struct view_scene *scene)
{
    for (int which = 0; which < scene->runs; which++) {
        if (scene->layout.heading[which].h > 0)
            view_scene_heading(draw, scene, which);
        view_scene_hbm(draw, scene, which);
        view_scene_lanes(draw, scene, which);
        view_scene_sram(draw, scene, which);
        draw->layer = VIEW_FLIGHT;
        view_scene_flight(draw, scene, which);
        draw->layer = VIEW_BASE;
    }
}

static void draw_stage(struct view_draw *draw, const struct view_scene *scene)
{
    static void (*const stages[VIEW_STAGES])(struct view_draw *, const struct view_scene *) = {
        [VIEW_STAGE_CROSS] = draw_cross,       [VIEW_STAGE_ROW] = view_stage_row,
        [VIEW_STAGE_SCALE] = view_stage_scale, [VIEW_STAGE_PLOT] = view_stage_plot,
        [VIEW_STAGE_MASK] = view_stage_mask,   [VIEW_STAGE_BITS] = view_stage_bits,
        [VIEW_STAGE_WAVES] = view_stage_waves, [VIEW_STAGE_ERRORS] = view_stage_errors,
        [VIEW_STAGE_TILES] = view_stage_tiles,
    };
    stages[scene->frame->stage](draw, scene);
}

void view_scene_make(struct view_scene *scene, const struct view_frame *frame)
{
    scene->frame = frame;
    scene->runs = 0;
    view_layout_make(frame, &scene->layout);
    for (int which = 0; which < 2 && frame->run[which]; which++) {
        view_moment_make(frame, which, &scene->moment[which]);
        scene->runs++;
    }
}

/* A page of lessons, in place of all else. */
static bool draw_page(struct view_draw *draw, const struct view_scene *scene)
{
#ifdef FLASHLAB_HAVE_LESSONS
    static void (*const pages[])(struct view_draw *, const struct view_scene *) = {
        [VIEW_PAGE_CONTENTS] = view_scene_contents,
        [VIEW_PAGE_RACE] = view_scene_race,
        [VIEW_PAGE_GLOSSARY] = view_scene_glossary,
    };
    const struct view_lesson *lesson = scene->frame->lesson;
    if (lesson && lesson->page != VIEW_PAGE_STAGE && scene->frame->message.title[0] == '\0') {
        pages[lesson->page](draw, scene);
        draw->layer = VIEW_POPUP;
        if (scene->frame->help_open)
            view_scene_help(draw, scene);
        draw->layer = VIEW_BASE;
        return true;
    }
#else
    (void)draw, (void)scene;
#endif
    return false;
}

void view_scene(struct view_draw *draw, const struct view_frame *frame)
{
    struct view_scene scene;
    const struct view_layout *layout = &scene.layout;

    view_draw_clear(draw);
    draw->theme = frame->theme;
    view_scene_make(&scene, frame);
    if (draw_page(draw, &scene))
        return;
    if (scene.runs > 0 && frame->message.title[0] == '\0') {
        draw_stage(draw, &scene);
        view_scene_sentence(draw, &scene);
        view_scene_track(draw, &scene);
        if (layout->panel.w > 0)
            view_scene_panel(draw, &scene, layout->panel, frame->panel, false);
        if (layout->second_panel.w > 0)
            view_scene_panel(draw, &scene, layout->second_panel, view_second_panel(frame), true);
        view_scene_points(draw, &scene);
    } else {
        view_scene_message(draw, &scene);
    }
    draw->layer = VIEW_BASE;
    if (layout->bar.h > 0)
        view_scene_bar(draw, &scene);
    draw->layer = VIEW_POPUP;
    view_scene_card(draw, &scene);
    if (frame->help_open)
        view_scene_help(draw, &scene);
    draw->layer = VIEW_BASE;
}
