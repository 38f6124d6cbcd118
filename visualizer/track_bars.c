/* The bars of a time line and the signs below them. */
#include "visualizer/track_parts.h"

#include <math.h>

enum { APART = 9 }; /* pixels from one sign to the next */

static uint64_t sum_of(const uint64_t bytes[FA_HBM_TENSORS])
{
    uint64_t sum = 0;
    for (int id = 0; id < FA_HBM_TENSORS; id++)
        sum += bytes[id];
    return sum;
}

/* Fills the rows of one column from the middle line on, upwards or down, tensor upon tensor. */
static void stack(const struct view_theme *theme, struct view_color *cells, int columns, int column,
                  int from, int step, double rows_per_byte, const uint64_t bytes[FA_HBM_TENSORS],
                  int most)
{
    double height = 0;
    int row = 0;
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        if (bytes[id] == 0)
            continue;
        struct view_color color = view_tensor_look(theme, (enum fa_tensor_id)id).line;
        height += (double)bytes[id] * rows_per_byte;
        for (bool first = true; row < most && (first ? row < 1 || height - row > 0.25
                                                     : height - row >= 0.5);
             row++, first = false)
            cells[(from + step * row) * columns + column] = color;
    }
}

/* Reads upwards and writes down from a line between them, each up to the most of its own, in an
 * image of one cell a column and pixel. */
void view_track_bars(struct view_draw *draw, struct view_box box, const struct view_track_bin *bins,
                      int n)
{
    int rows = (int)box.h;
    uint64_t most_read = 0, most_write = 0;
    for (int b = 0; b < n; b++) {
        uint64_t read = sum_of(bins[b].read), write = sum_of(bins[b].write);
        most_read = read > most_read ? read : most_read;
        most_write = write > most_write ? write : most_write;
    }
    if (rows < 4 || most_read + most_write == 0)
        return;
    int up = most_write == 0 ? rows : most_read == 0 ? 0 : rows * 2 / 3;
    double up_scale = most_read ? up / (double)most_read : 0;
    double down_scale = most_write ? (rows - up) / (double)most_write : 0;
    struct view_color *cells = view_image(draw, box, n, rows);
    if (!cells)
        return;
    for (int c = 0; c < n * rows; c++)
        cells[c] = draw->theme->raised;
    for (int b = 0; b < n; b++) {
        stack(draw->theme, cells, n, b, up - 1, -1, up_scale, bins[b].read, up);
        stack(draw->theme, cells, n, b, up, 1, down_scale, bins[b].write, rows - up);
    }
}

static void draw_triangle(struct view_draw *draw, float x, float y)
{
    view_triangle(draw, x, y, x - 4, y + 7, x + 4, y + 7, draw->theme->text2);
}

static void draw_cross(struct view_draw *draw, float x, float y, struct view_color color)
{
    view_line(draw, x - 3, y, x + 3, y + 6, 1.5f, color);
    view_line(draw, x - 3, y + 6, x + 3, y, 1.5f, color);
}

/* Where signs would stand side by side, a line of ticks above for the triangles and one below for
 * the crosses say where they are. */
static void draw_ticks(struct view_draw *draw, struct view_box strip, struct view_box under,
                       const struct view_track_bin *bins, int n)
{
    const struct view_theme *theme = draw->theme;
    struct view_box line = {strip.x, under.y + 4, strip.w, 2};
    struct view_color *rose = view_image(draw, line, n, 1);
    for (int b = 0; rose && b < n; b++)
        rose[b] = bins[b].rescales ? theme->text2 : theme->bg;
    line.y += 3;
    struct view_color *skipped = view_image(draw, line, n, 1);
    for (int b = 0; skipped && b < n; b++)
        skipped[b] = bins[b].skips ? theme->edge : theme->bg;
}

/* Triangles where maxima rose, crosses where tiles were skipped or the run was refused. Nothing
 * from bin `end` on: a prediction may ask for it. */
void view_track_marks(struct view_draw *draw, struct view_box strip, struct view_box under,
                       const struct view_track_bin *bins, int n, int end)
{
    float y = under.y + 3, width = strip.w / (float)n;
    int marks = 0, close = 0, last = -n;
    for (int b = 0; b < end; b++) {
        if (!bins[b].rescales && !bins[b].skips)
            continue;
        marks++;
        close += (float)(b - last) * width < APART;
        last = b;
    }
    bool dense = close > marks / 4 && marks > 8;
    if (dense)
        draw_ticks(draw, strip, under, bins, end < n ? 0 : n);
    for (int b = 0; b < end; b++) {
        float x = strip.x + width * ((float)b + 0.5f);
        if (bins[b].refuses)
            draw_cross(draw, x, y, draw->theme->bad);
        else if (!dense && bins[b].rescales)
            draw_triangle(draw, x, y);
        else if (!dense && bins[b].skips && (b == 0 || !bins[b - 1].skips))
            draw_cross(draw, x, y, draw->theme->text2);
    }
}
