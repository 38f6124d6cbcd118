/* The map of the errors: which cells there are, and its picture. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/check_theirs.h"
#include "visualizer/picture.h"
#include "visualizer/theme.h"

static bool is_head_wrong(const struct sim_fault_map *map, int64_t head)
{
    for (int64_t tile = 0; tile < map->tiles; tile++)
        if (map->error[head * map->tiles + tile] > 1)
            return true;
    return false;
}

struct cli_map cli_map_make(const struct sim_fault_map *map)
{
    struct cli_map made = {.tiles = 1 + (map->tiles - 1) / CLI_MAP_COLUMNS};
    bool all = map->heads <= CLI_MAP_ROWS;
    if (map->tiles == 0)
        return made;
    made.columns = (map->tiles + made.tiles - 1) / made.tiles;
    for (int64_t head = 0; head < map->heads && made.rows < CLI_MAP_ROWS; head++)
        if (all || is_head_wrong(map, head))
            made.head[made.rows++] = head;
    return made;
}

double cli_map_error(const struct sim_fault_map *map, const struct cli_map *shown, int64_t row,
                     int64_t column)
{
    double most = NAN;
    for (int64_t i = 0; i < shown->tiles; i++) {
        int64_t tile = column * shown->tiles + i;
        if (tile < map->tiles)
            most = fmax(most, (double)map->error[shown->head[row] * map->tiles + tile]);
    }
    return most;
}

char cli_map_sign(double error)
{
    if (isnan(error))
        return ' ';
    if (isinf(error))
        return 'N';
    if (error <= 1)
        return '.';
    return (char)('0' +
                  (int)fmin(9, ceil(log10(error) - 1e-6) < 1 ? 1 : ceil(log10(error) - 1e-6)));
}

/* Grey is right, orange is wrong and stronger for larger errors, black is no number. */
static struct view_color color_of(char sign)
{
    const struct view_theme *theme = &view_light;
    if (sign == ' ')
        return theme->bg;
    if (sign == '.')
        return view_mix(theme->raised, theme->hair, 0.5);
    if (sign == 'N')
        return theme->text;
    return view_mix(theme->panel, theme->bad_fill, 0.25 + 0.75 * fmin(1, (sign - '1') / 5.0));
}

/* What is drawn: the verdict's map, or of right outputs one in which all is right. */
struct drawing {
    const struct cli_check *check;
    struct sim_fault_map map;
    struct cli_map shown;
};

static enum fa_status open_drawing(const struct cli_check *check, struct drawing *drawing,
                                   struct fa_error *error)
{
    const struct fa_problem *p = &check->inputs.problem;
    struct sim_fault_map map = check->verdict.map;
    if (!map.error) {
        map.heads = p->batch * p->heads;
        map.side = check->br;
        map.tiles = p->nq / check->br + (p->nq % check->br != 0);
        map.error = calloc((size_t)(map.heads * map.tiles) + 1, sizeof *map.error);
        if (!map.error)
            return fa_fail(error, FA_NO_MEMORY, "no memory for the map of the errors");
    }
    *drawing = (struct drawing){check, map, cli_map_make(&map)};
    return FA_OK;
}

static void close_drawing(struct drawing *drawing)
{
    if (drawing->map.error != drawing->check->verdict.map.error)
        free(drawing->map.error);
}

static char sign_at(const struct drawing *drawing, int64_t row, int64_t column)
{
    return cli_map_sign(cli_map_error(&drawing->map, &drawing->shown, row, column));
}

#ifdef FLASHLAB_HAVE_CANVAS

#include "visualizer/canvas.h"

enum { MARGIN = 24, LEFT = 72, CELL_MOST = 28, CELL_LEAST = 12, WIDTH = 880, LEGEND = 7 };

static const struct {
    char sign;
    const char *words;
} legend[LEGEND] = {
    {'.', "right"}, {'1', "up to 10 budgets"}, {'2', "100"}, {'3', "1000"}, {'4', "10,000"},
    {'5', "more"},  {'N', "NaN or infinity"},
};

static void draw_cell(struct view_draw *draw, struct view_box box, char sign)
{
    struct view_color color = color_of(sign);
    view_fill(draw, box, color);
    if (sign != '.' && sign != ' ' && box.w >= CELL_LEAST && box.h >= CELL_LEAST)
        view_text_in(draw, box, VIEW_CENTRE,
                     view_type_make(VIEW_MONO, VIEW_SIZE_CELL, view_ink(color)), "%c", sign);
}

static float draw_words(struct view_draw *draw, const struct drawing *drawing)
{
    const struct view_theme *theme = &view_light;
    const struct sim_verdict *verdict = &drawing->check->verdict;
    struct view_type body = view_type_make(VIEW_SANS, VIEW_SIZE_BODY, theme->text2);
    const char *name = sim_output_name(verdict->culprit);
    char text[2 * SIM_FAULT_TEXT + 64];
    float y = MARGIN;
    view_text(draw, MARGIN, y, VIEW_LEFT, view_type_make(VIEW_BOLD, VIEW_SIZE_TITLE, theme->text),
              verdict->pass ? "All outputs are within their budgets" : "%s is wrong: %s", name,
              sim_fault_name(verdict->fault));
    y += view_line_height(VIEW_SIZE_TITLE) + 6;
    if (verdict->pass)
        return y + 10;
    snprintf(text, sizeof text, "Looks like this: %s\nWrong: %s", verdict->look, verdict->where);
    y += view_text_wrapped(draw, view_box_make(MARGIN, y, WIDTH - 2 * MARGIN, 200), body, 0, text,
                           NULL);
    return y + 14;
}

static float draw_cells(struct view_draw *draw, const struct drawing *drawing, float y)
{
    const struct cli_map *shown = &drawing->shown;
    struct view_type label = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, view_light.text2);
    float side = fminf(CELL_MOST, (WIDTH - MARGIN - LEFT) / (float)(shown->columns + 0.01));
    float high = fmaxf(fminf(side, 24), 18);
    for (int64_t row = 0; row < shown->rows; row++, y += high) {
        view_text_in(draw, view_box_make(0, y, LEFT - 8, high), VIEW_RIGHT, label, "head %" PRId64,
                     shown->head[row]);
        for (int64_t column = 0; column < shown->columns; column++)
            draw_cell(draw,
                      view_box_inset(view_box_make(LEFT + side * (float)column, y, side, high),
                                     0.5f, 0.5f),
                      sign_at(drawing, row, column));
    }
    enum sim_output which = drawing->check->verdict.culprit;
    view_text(draw, LEFT, y + 6, VIEW_LEFT, label, "%s 0 to %" PRId64 ", %" PRId64 " a cell%s",
              which == SIM_OUT_DK || which == SIM_OUT_DV ? "keys" : "rows",
              (which == SIM_OUT_DK || which == SIM_OUT_DV ? drawing->check->inputs.problem.nk
                                                          : drawing->check->inputs.problem.nq) -
                  1,
              drawing->map.side * shown->tiles,
              shown->rows < drawing->map.heads ? "; heads without an error are left out" : "");
    return y + 36;
}

static float draw_legend(struct view_draw *draw, float y)
{
    struct view_type label = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, view_light.text2);
    float x = LEFT;
    for (int i = 0; i < LEGEND; i++) {
        draw_cell(draw, view_box_make(x, y, 16, 16), legend[i].sign);
        x += 22;
        x += view_text(draw, x, y, VIEW_LEFT, label, "%s", legend[i].words) + 18;
    }
    return y + 16 + MARGIN;
}

static float draw_all(struct view_draw *draw, const struct drawing *drawing)
{
    view_draw_clear(draw);
    return draw_legend(draw, draw_cells(draw, drawing, draw_words(draw, drawing)));
}

static enum fa_status write_picture(const struct drawing *drawing, const char *path,
                                    struct fa_error *error)
{
    struct view_canvas *canvas = NULL;
    struct view_draw draw;
    struct view_picture picture;
    view_draw_open(&draw, &view_builtin_face, &view_light);
    int height = (int)draw_all(&draw, drawing);
    enum fa_status status =
        draw.failed ? fa_fail(error, FA_NO_MEMORY, "no memory for the picture")
                    : view_canvas_open(WIDTH, height, 1, VIEW_FONT_BUILTIN, &canvas, error);
    if (status == FA_OK)
        status = view_canvas_draw(canvas, &draw, error);
    if (status == FA_OK)
        status = view_canvas_picture(canvas, &picture, error);
    if (status == FA_OK)
        status = view_png_write(path, &picture, cli_command_line(), error);
    view_draw_close(&draw);
    view_canvas_close(canvas);
    return status;
}

#else

enum { CELL = 12 };

/* Without SDL2 the cells alone, each CELL pixels wide and high, with a line between them. */
static enum fa_status write_picture(const struct drawing *drawing, const char *path,
                                    struct fa_error *error)
{
    int64_t columns = drawing->shown.columns > 0 ? drawing->shown.columns : 1;
    int64_t rows = drawing->shown.rows > 0 ? drawing->shown.rows : 1;
    struct view_picture picture = {(int)columns * CELL, (int)rows * CELL, (int)columns * CELL * 4,
                                   NULL};
    uint8_t *pixels = malloc((size_t)picture.pitch * (size_t)picture.height);
    if (!pixels)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the picture");
    for (int y = 0; y < picture.height; y++) {
        for (int x = 0; x < picture.width; x++) {
            bool line = x % CELL == 0 || y % CELL == 0 || drawing->shown.rows == 0;
            struct view_color color = color_of(line ? ' ' : sign_at(drawing, y / CELL, x / CELL));
            memcpy(pixels + (size_t)y * (size_t)picture.pitch + 4 * (size_t)x, &color, 4);
        }
    }
    picture.pixels = pixels;
    enum fa_status status = view_png_write(path, &picture, cli_command_line(), error);
    free(pixels);
    return status;
}

#endif

enum fa_status cli_check_picture(const struct cli_check *check, struct fa_error *error)
{
    struct drawing drawing = {.check = check};
    struct fa_error inner;
    enum fa_status status = open_drawing(check, &drawing, error);
    if (status != FA_OK)
        return status;
    if (write_picture(&drawing, check->heat_map, &inner) != FA_OK)
        status = fa_fail(error, inner.status, "--heat-map: %s", inner.text);
    close_drawing(&drawing);
    return status;
}
