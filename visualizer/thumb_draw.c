/* Key frames drawn. */
#include <math.h>

#include "visualizer/parts.h"
#include "visualizer/thumb.h"

static uint64_t sum_of(const uint64_t moved[FA_HBM_TENSORS])
{
    uint64_t sum = 0;
    for (int id = 0; id < FA_HBM_TENSORS; id++)
        sum += moved[id];
    return sum;
}

/* Patterns would be noise at this size; the lesson shows them. */
static void draw_part(struct view_draw *draw, struct view_box box, enum fa_tensor_id id)
{
    if (box.w <= 0)
        return;
    struct view_look look = view_tensor_look(draw->theme, id);
    view_fill(draw, box, look.fill);
    if (box.w > 3)
        view_frame_box(draw, box, 0, 1, look.line);
}

/* What moved as one bar, `most` bytes over the box's width. */
static void draw_moved(struct view_draw *draw, struct view_box box,
                       const uint64_t moved[FA_HBM_TENSORS], uint64_t most)
{
    double before = 0;
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        double from = before / (double)most, to = (before + (double)moved[id]) / (double)most;
        float left = roundf(box.x + box.w * (float)from), right = roundf(box.x + box.w * (float)to);
        before += (double)moved[id];
        draw_part(draw, view_box_make(left, box.y, right - left, box.h), (enum fa_tensor_id)id);
    }
}

static void draw_cell(struct view_draw *draw, struct view_box box, uint8_t what)
{
    struct view_look look = view_tensor_look(draw->theme, FA_S);
    if (what == VIEW_THUMB_SKIPPED)
        return;
    bool framed = fminf(box.w, box.h) >= 5;
    bool apart = fminf(box.w, box.h) == 3; /* without a frame, and none round all of them */
    struct view_color fill = apart ? view_mix(look.fill, look.line, 0.25) : look.fill;
    view_fill(draw, box, what == VIEW_THUMB_CUT ? view_mix(draw->theme->panel, fill, 0.5) : fill);
    if (framed)
        view_frame_box(draw, box, 0, 1, look.line);
}

static void draw_tiles(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb)
{
    int more = thumb->rows > thumb->columns ? thumb->rows : thumb->columns;
    float pitch = floorf(box.h / (float)more), gap = pitch >= 4 ? 1 : 0;
    uint64_t most = sum_of(thumb->moved[0]);

    pitch = fmaxf(1, fminf(pitch, 12));
    gap = pitch >= 6 ? 2 : gap;
    float height = pitch * (float)thumb->rows, width = pitch * (float)thumb->columns;
    float x = box.x, y = floorf(box.y + (box.h - height) / 2);
    if (gap == 0)
        view_frame_box(draw, view_box_make(x - 1, y - 1, width + 2, height + 2), 0, 1,
                       view_tensor_look(draw->theme, FA_S).line);
    for (int r = 0; r < thumb->rows; r++)
        for (int c = 0; c < thumb->columns; c++)
            draw_cell(
                draw,
                view_box_make(x + (float)c * pitch, y + (float)r * pitch, pitch - gap, pitch - gap),
                thumb->cell[r * thumb->columns + c]);
    view_cut_left(&box, width + 14);
    if (most > 0 && box.w >= 24)
        draw_moved(draw, view_box_make(box.x, floorf(box.y + box.h / 2) - 6, box.w, 12),
                   thumb->moved[0], most);
}

static void draw_traffic(struct view_draw *draw, struct view_box box,
                         const struct view_thumb *thumb)
{
    uint64_t first = sum_of(thumb->moved[0]), second = sum_of(thumb->moved[1]);
    uint64_t most = first > second ? first : second;
    float high = floorf(fminf(14, (box.h - 5) / 2)), y = floorf(box.y + box.h / 2);
    if (most == 0)
        return;
    if (!thumb->second) {
        draw_moved(draw, view_box_make(box.x, y - 8, box.w, 16), thumb->moved[0], most);
        return;
    }
    draw_moved(draw, view_box_make(box.x, y - 2 - high, box.w, high), thumb->moved[0], most);
    draw_moved(draw, view_box_make(box.x, y + 3, box.w, high), thumb->moved[1], most);
}

static void draw_row(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb)
{
    struct view_look look = view_tensor_look(draw->theme, FA_P);
    float pitch = floorf(fminf(26, box.w / (float)thumb->columns)), gap = pitch >= 12 ? 6 : 1;
    float most = 0;

    for (int k = 0; k < thumb->columns; k++)
        most = fmaxf(most, thumb->weight[k]);
    for (int k = 0; k < thumb->columns; k++) {
        float high = most > 0 ? fmaxf(2, roundf(box.h * thumb->weight[k] / most)) : 2;
        struct view_box bar = {box.x + (float)k * pitch, box.y + box.h - high,
                               fmaxf(1, pitch - gap), high};
        view_fill(draw, bar, look.fill);
        if (bar.w >= 4 && bar.h >= 4)
            view_frame_box(draw, bar, 0, 1, look.line);
    }
}

static void draw_scale(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb)
{
    double ratio = sqrt((double)thumb->sram / (double)thumb->scores);
    float scores = box.h / (float)fmax(1, ratio), sram = fmaxf(2, scores * (float)ratio);
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CELL, draw->theme->text2);
    struct view_look look = view_tensor_look(draw->theme, FA_S);
    struct view_box s = {box.x, box.y + box.h - scores, scores, scores};

    view_fill(draw, s, view_mix(draw->theme->panel, look.fill, 0.45));
    view_frame_dashed(draw, s, 1, 5, 4, look.line);
    view_cut_left(&box, scores + 14);
    view_fill(draw, view_box_make(box.x, box.y + box.h - sram, sram, sram), draw->theme->text);
    view_cut_left(&box, sram + 6);
    view_text_in(draw, view_box_make(box.x, box.y + box.h - 15, box.w, 15), VIEW_LEFT, type,
                 "SRAM");
}

static void draw_bits(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb)
{
    float pitch = floorf(fminf(box.h / (float)thumb->rows, box.w / (float)thumb->columns));
    for (int r = 0; r < thumb->rows; r++)
        for (int c = 0; c < thumb->columns; c++) {
            struct view_box bit = {box.x + (float)c * pitch, box.y + (float)r * pitch, pitch - 2,
                                   pitch - 2};
            if (thumb->cell[r * thumb->columns + c])
                view_fill(draw, bit, draw->theme->text2);
            else
                view_frame_box(draw, bit, 0, 1, draw->theme->edge);
        }
}

/* The capacity, and what runs past its end. */
static void draw_blocks(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb)
{
    const struct view_theme *theme = draw->theme;
    int last = thumb->n_blocks - 1;
    double all =
        fmax((double)thumb->sram, (double)(thumb->block[last].place + thumb->block[last].bytes));
    float scale = (float)((double)(box.w - 2) / all);
    float high = floorf(fminf(18, box.h - 8)), y = floorf(box.y + (box.h - high) / 2);
    float end = roundf(box.x + (float)thumb->sram * scale);

    view_fill(draw, view_box_make(box.x, y, end - box.x, high), theme->bg);
    view_frame_box(draw, view_box_make(box.x, y, end - box.x, high), 0, 1, theme->edge);
    for (int b = 0; b <= last; b++) {
        float left = roundf(box.x + (float)thumb->block[b].place * scale);
        float right =
            roundf(box.x + (float)(thumb->block[b].place + thumb->block[b].bytes) * scale);
        struct view_box part = {left, y, fmaxf(1, right - left), high};
        if (b < last) {
            draw_part(draw, part, thumb->block[b].id);
            continue;
        }
        view_fill(draw, part, view_fade(view_tensor_look(theme, thumb->block[b].id).fill, 0.35));
        part.w = fmaxf(2, right - fmaxf(left, end));
        part.x = right - part.w;
        view_hatch(draw, part, VIEW_RISING, theme->bad);
        view_frame_box(draw, part, 0, 1, theme->bad);
    }
    view_line(draw, end, y - 4, end, y + high + 4, 2, theme->bad);
}

/* A row for each run: its tile, to one scale, and what moved. */
static void draw_shapes(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb)
{
    struct view_look look = view_tensor_look(draw->theme, FA_S);
    int n = thumb->second ? 2 : 1;
    int64_t side = 1;
    uint64_t most = 1;
    for (int r = 0; r < n; r++) {
        side = thumb->br[r] > side ? thumb->br[r] : side;
        side = thumb->bc[r] > side ? thumb->bc[r] : side;
        most = sum_of(thumb->moved[r]) > most ? sum_of(thumb->moved[r]) : most;
    }
    float high = floorf((box.h - 2 * (float)(n - 1)) / (float)n);
    for (int r = 0; r < n; r++) {
        struct view_box row = view_cut_top(&box, high), at = view_cut_left(&row, high);
        float w = fmaxf(2, roundf(high * (float)thumb->bc[r] / (float)side));
        float h = fmaxf(2, roundf(high * (float)thumb->br[r] / (float)side));
        struct view_box tile = {at.x, floorf(at.y + (high - h) / 2), w, h};
        view_fill(draw, tile, look.fill);
        view_frame_box(draw, tile, 0, 1, look.line);
        view_cut_left(&row, 14);
        float bar = fminf(12, row.h - 2);
        draw_moved(draw, view_box_make(row.x, floorf(row.y + (row.h - bar) / 2), row.w, bar),
                   thumb->moved[r], most);
        view_cut_top(&box, 2);
    }
}

static void draw_checks(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb)
{
    const struct view_theme *theme = draw->theme;
    float side = floorf(fminf(26, fminf(box.h - 4, box.w / (float)thumb->columns - 4)));
    float y = floorf(box.y + (box.h - side) / 2);
    for (int c = 0; c < thumb->columns; c++) {
        struct view_box tile = {box.x + (float)c * (side + 4), y, side, side};
        float x = tile.x + floorf((side - 14) / 2), mark = y + floorf((side - 14) / 2);
        bool good = thumb->cell[c];
        view_frame_box(draw, tile, 3, good ? 1 : 2, good ? theme->edge : theme->bad);
        if (side >= 16 && good)
            view_tick(draw, x, mark, theme->text);
        else if (side >= 16)
            view_cross(draw, x, mark, theme->bad);
    }
}

static void draw_waves(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb)
{
    const struct view_theme *theme = draw->theme;
    float pitch = floorf(fminf(box.h / (float)thumb->rows, box.w / (float)thumb->columns));
    float gap = pitch >= 4 ? 2 : 1;
    float y = floorf(box.y + (box.h - pitch * (float)thumb->rows) / 2);
    for (int sm = 0; sm < thumb->n_sms; sm++) {
        struct view_box at = {box.x + (float)(sm % thumb->columns) * pitch,
                              y + (float)(sm / thumb->columns) * pitch, pitch - gap, pitch - gap};
        if (thumb->cell[sm])
            view_fill(draw, at, theme->text);
        else
            view_frame_box(draw, at, 0, 1, theme->edge);
    }
}

void view_thumb_draw(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb)
{
    static void (*const kinds[])(struct view_draw *, struct view_box, const struct view_thumb *) = {
        [VIEW_THUMB_TILES] = draw_tiles,   [VIEW_THUMB_TRAFFIC] = draw_traffic,
        [VIEW_THUMB_ROW] = draw_row,       [VIEW_THUMB_SCALE] = draw_scale,
        [VIEW_THUMB_BITS] = draw_bits,     [VIEW_THUMB_BLOCKS] = draw_blocks,
        [VIEW_THUMB_SHAPES] = draw_shapes, [VIEW_THUMB_CHECKS] = draw_checks,
        [VIEW_THUMB_WAVES] = draw_waves,
    };
    if (thumb)
        kinds[thumb->kind](draw, box, thumb);
    else
        view_fill_round(draw, box, 4, view_mix(draw->theme->panel, draw->theme->bg, 0.5));
}
