#include "visualizer/stage_parts.h"

#include <math.h>
#include <stdio.h>

struct view_box view_stage_plate(const struct view_scene *scene, int which)
{
    struct view_box hbm = scene->layout.hbm[which], sram = scene->layout.sram[which];
    return view_box_make(hbm.x, hbm.y, sram.x + sram.w - hbm.x, hbm.h);
}

void view_stage_each(struct view_draw *draw, const struct view_scene *scene,
                     void (*one)(struct view_draw *draw, const struct view_scene *scene, int which,
                                 struct view_box plate))
{
    for (int which = 0; which < scene->runs; which++) {
        struct view_box plate = view_stage_plate(scene, which);
        if (plate.w < 4 * VIEW_STAGE_MARGIN || plate.h < 4 * VIEW_STAGE_MARGIN)
            continue;
        if (scene->layout.heading[which].h > 0)
            view_scene_heading(draw, scene, which);
        one(draw, scene, which, plate);
    }
}

struct view_box view_stage_open(struct view_draw *draw, struct view_box plate, const char *title,
                                const char *note, const char *right)
{
    const struct view_theme *theme = draw->theme;
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, theme->text);
    struct view_type small = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text2);
    struct view_box box = view_box_inset(plate, VIEW_STAGE_MARGIN, 0);
    struct view_box line = view_cut_top(&box, VIEW_STAGE_TITLE);

    view_plate(draw, plate, theme->panel, theme->hair);
    view_cut_bottom(&box, VIEW_STAGE_MARGIN);
    float width = view_text_width(draw, bold, title);
    float wide = right ? view_text_width(draw, bold, right) : 0;
    if (right && wide <= line.w && (width + 16 + wide <= line.w || width > line.w)) {
        view_text_in(draw, line, VIEW_RIGHT, bold, "%s", right);
        view_cut_right(&line, wide + 16);
    }
    if (!view_text_in(draw, line, VIEW_LEFT, bold, "%s", title))
        return box;
    view_cut_left(&line, width + 10);
    if (note)
        view_text_in(draw, line, VIEW_LEFT, small, "%s", note);
    return box;
}

void view_stage_says(struct view_draw *draw, struct view_box box, const char *text)
{
    enum { MOST_WIDE = 520 };
    static const int sizes[] = {VIEW_SIZE_BODY, VIEW_SIZE_LABEL, VIEW_SIZE_CELL};
    float spare = fmaxf(box.w - MOST_WIDE, 0) / 2;
    box = view_box_inset(box, floorf(spare), 0);
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        struct view_type type = view_type_make(VIEW_SANS, (float)sizes[n], draw->theme->text2);
        float height = view_text_height(draw, box.w, type, 0, text);
        if (height > box.h)
            continue;
        struct view_box middle =
            view_box_make(box.x, floorf(box.y + (box.h - height) / 2), box.w, height + 1);
        view_text_wrapped(draw, middle, type, 0, text, NULL);
        return;
    }
}

void view_stage_headline(struct view_draw *draw, struct view_box *box, const char *text)
{
    static const int sizes[] = {VIEW_SIZE_HEADING, VIEW_SIZE_BODY, VIEW_SIZE_LABEL, VIEW_SIZE_CELL};
    struct view_type type;
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        type = view_type_make(VIEW_BOLD, (float)sizes[n], draw->theme->text);
        float height = view_line_height(type.size);
        if (height > box->h || view_text_width(draw, type, text) > box->w)
            continue;
        view_text(draw, box->x, box->y, VIEW_LEFT, type, "%s", text);
        view_cut_top(box, height);
        return;
    }
    type.size = VIEW_SIZE_LABEL;
    bool complete;
    float height = view_text_wrapped(draw, *box, type, 0, text, &complete);
    view_cut_top(box, height);
}

bool view_stage_lines(struct view_draw *draw, struct view_box *box, const char *text)
{
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
    bool complete;
    float height = view_text_wrapped(draw, *box, type, 0, text, &complete);
    view_cut_top(box, height);
    return complete;
}

bool view_stage_legend(struct view_draw *draw, float *x, float y, float right,
                       void (*swatch)(struct view_draw *draw, struct view_box box),
                       const char *words)
{
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
    float width = view_text_width(draw, type, words);
    if (*x + 18 + width > right)
        return false;
    swatch(draw, view_box_make(*x, y + 3, 12, 12));
    view_text(draw, *x + 18, y, VIEW_LEFT, type, "%s", words);
    *x += 18 + ceilf(width) + 16;
    return true;
}

/* ---- a grid of tiles ------------------------------------------------------------------------- */

static int64_t up(int64_t n, int64_t by)
{
    return n / by + (n % by != 0);
}

bool view_stage_grid_make(struct view_box room, int64_t rows, int64_t columns,
                          struct view_stage_grid *grid)
{
    enum { SLENDER = 16 }; /* so high are the cells of a grid of few rows and many columns */
    if (rows < 1 || columns < 1 || room.w < 1 || room.h < 1)
        return false;
    double needed = fmax((double)columns * VIEW_STAGE_LEAST / (double)room.w,
                         (double)rows * VIEW_STAGE_LEAST / (double)room.h);
    int64_t each = needed <= 1 ? 1 : (int64_t)ceil(needed);
    int64_t drawn_rows = up(rows, each), drawn_columns = up(columns, each);
    float width = floorf(room.w / (float)drawn_columns);
    float height = floorf(room.h / (float)drawn_rows);
    float side = fminf(fminf(width, height), VIEW_STAGE_MOST);
    width = fminf(width, fmaxf(side, SLENDER));
    height = fminf(height, fmaxf(side, SLENDER));
    if (width < 1 || height < 1)
        return false;
    *grid = (struct view_stage_grid){
        .rows = rows,
        .columns = columns,
        .each = each,
        .drawn_rows = (int)drawn_rows,
        .drawn_columns = (int)drawn_columns,
        .width = width,
        .height = height,
    };
    grid->box = view_box_make(floorf(room.x + (room.w - width * (float)drawn_columns) / 2), room.y,
                              width * (float)drawn_columns, height * (float)drawn_rows);
    return true;
}

struct view_box view_stage_grid_cell(const struct view_stage_grid *grid, int64_t row,
                                     int64_t column)
{
    return view_box_make(grid->box.x + (float)(column / grid->each) * grid->width,
                         grid->box.y + (float)(row / grid->each) * grid->height, grid->width,
                         grid->height);
}

void view_stage_grid_lines(struct view_draw *draw, const struct view_stage_grid *grid)
{
    struct view_box box = grid->box;
    if (fminf(grid->width, grid->height) >= 5) {
        for (int c = 1; c < grid->drawn_columns; c++)
            view_fill(draw, view_box_make(box.x + (float)c * grid->width - 1, box.y, 1, box.h),
                      draw->theme->panel);
        for (int r = 1; r < grid->drawn_rows; r++)
            view_fill(draw, view_box_make(box.x, box.y + (float)r * grid->height - 1, box.w, 1),
                      draw->theme->panel);
    }
    view_frame_box(draw, view_box_make(box.x - 1, box.y - 1, box.w + 1, box.h + 1), 0, 1,
                   draw->theme->hair);
}

/* The least of 1, 2, 4, 8 ... cells between two labels that keeps them `apart` pixels apart. */
static int64_t label_step(float cell, float apart)
{
    int64_t step = 1;
    while ((float)step * cell < apart)
        step *= 2;
    return step;
}

void view_stage_grid_labels(struct view_draw *draw, const struct view_stage_grid *grid)
{
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CELL, draw->theme->text2);
    char last[24];
    snprintf(last, sizeof last, "%lld", (long long)(grid->columns - 1));
    float apart = view_text_width(draw, type, last) + 8;
    int64_t step = label_step(grid->width, apart);
    for (int64_t c = 0; c < grid->drawn_columns; c += step)
        view_text(draw, grid->box.x + ((float)c + 0.5f) * grid->width,
                  grid->box.y - VIEW_STAGE_LABELS, VIEW_CENTRE, type, "%lld",
                  (long long)(c * grid->each));
    step = label_step(grid->height, view_line_height(type.size));
    for (int64_t r = 0; r < grid->drawn_rows; r += step) {
        float y = grid->box.y + ((float)r + 0.5f) * grid->height - view_line_height(type.size) / 2;
        view_text(draw, grid->box.x - 6, floorf(y), VIEW_RIGHT, type, "%lld",
                  (long long)(r * grid->each));
    }
}
