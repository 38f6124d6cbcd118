#include "visualizer/stage_row.h"

#include <inttypes.h>
#include <stdio.h>

/* Three significant digits, a real minus, never a decimal comma. */
static const char *three(double value, char text[VIEW_NUMBER_TEXT])
{
    char raw[24];
    size_t n = 0;
    snprintf(raw, sizeof raw, "%.3g", value);
    for (const char *c = raw; *c && n + 4 < VIEW_NUMBER_TEXT; c++) {
        if (*c == '-')
            n += (size_t)snprintf(text + n, VIEW_NUMBER_TEXT - n, "−");
        else
            text[n++] = *c == ',' ? '.' : *c;
    }
    text[n] = '\0';
    return text;
}

static const char *sum_text(const struct view_row_picture *p, char *text, size_t size)
{
    char sum[VIEW_NUMBER_TEXT], factor[VIEW_NUMBER_TEXT], old[VIEW_NUMBER_TEXT],
        added[VIEW_NUMBER_TEXT];
    three(p->sum, sum);
    if (p->scene->frame->covered)
        snprintf(text, size, "ℓ = ?");
    else if (p->n_steps == 0)
        snprintf(text, size, "ℓ = 0: no key yet");
    else if (p->n_steps == 1)
        snprintf(text, size, "%s = the sum of %" PRId64 " weights", sum, p->end - p->first);
    else
        snprintf(text, size, "%s = %s × %s + %s", sum, three(p->factor, factor),
                 three(p->old_sum, old), three(p->added, added));
    return text;
}

void view_row_draw_sum(struct view_draw *draw, const struct view_row_picture *p,
                       struct view_box box)
{
    const struct view_theme *theme = draw->theme;
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, theme->text);
    char text[128];
    sum_text(p, text, sizeof text);
    float width = view_text_width(draw, type, text);
    struct view_box words = view_cut_right(&box, fmaxf(width + 2, fminf(box.w * 0.4f, 260)));
    view_text_in(draw, words, VIEW_LEFT, type, "%s", text);
    view_cut_right(&box, 12);
    box = view_box_inset(box, 0, floorf(fmaxf((box.h - 16) / 2, 0)));
    if (box.w < 24)
        return;
    view_frame_box(draw, box, 0, 1, theme->edge);
    if (!(p->most_sum > 0) || p->scene->frame->covered || !isfinite(p->sum))
        return;
    float scale = (box.w - 2) / (float)p->most_sum;
    float kept = (float)(p->factor * p->old_sum) * scale, all = (float)p->sum * scale;
    kept = fminf(kept, all);
    struct view_box inside = view_box_inset(box, 1, 1);
    view_tensor_bar(draw, view_box_make(inside.x, inside.y, kept, inside.h), FA_L, NULL);
    view_tensor_bar(draw, view_box_make(inside.x + kept, inside.y, all - kept, inside.h), FA_P,
                    NULL);
    if (p->rose)
        view_frame_box(draw,
                       view_box_make(inside.x, box.y - 2, (float)p->old_sum * scale, box.h + 4), 0,
                       1, theme->text);
}

/* The row's element c of O: on chip if its tile is there, else in HBM. */
static enum view_cell_state output_cell(const struct view_row_picture *p, int64_t c, double *value)
{
    const struct view_moment *moment = p->moment;
    const struct sim_resident *tile = &moment->state.on_chip[FA_O];
    int64_t br = view_run_tiles(moment->run).br;
    int64_t first = tile->loaded ? (int64_t)tile->row : moment->i >= 0 ? moment->i * br : -1;
    if (!moment->values)
        return VIEW_CELL_NONE;
    if (tile->live && first >= 0 && p->index >= first && p->index < first + (int64_t)tile->rows)
        return view_values_chip(moment->values, FA_O, p->index - first, c, value);
    return view_values_hbm(moment->values, FA_O, moment->head, p->index, c, value);
}

/* Whether the tile of O on chip has this row and is not yet divided by l. */
static bool is_undivided(const struct view_row_picture *p)
{
    const struct sim_state *state = &p->moment->state;
    int64_t br = view_run_tiles(p->moment->run).br;
    return p->divides && state->on_chip[FA_O].live && p->moment->i == p->index / br &&
           state->on_chip[FA_M].holds != FA_LSE;
}

/* The first cells of O, all divided by `by`, as numbers where a third of them has room, and how many
 * more there are; else as shades. */
static void draw_cells(struct view_draw *draw, const struct view_row_picture *p,
                       struct view_box box, double by)
{
    enum { NUMBER = 40, SHADE = 6, MORE = 32 };
    struct view_type small = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
    int64_t dv = view_run_header(p->moment->run)->problem.dv, n = dv;
    double most = p->moment->most[FA_O];
    if (box.w < NUMBER || box.h < 16)
        return;
    float width = (float)NUMBER;
    if ((float)dv * NUMBER > box.w)
        width = fmaxf(floorf(box.w / (float)dv), SHADE);
    bool some = width < 30 && (float)dv * NUMBER <= 3 * box.w;
    if (some) {
        width = (float)NUMBER;
        n = (int64_t)((box.w - MORE) / width);
    } else if (width < 30 && width * (float)dv > box.w) {
        n = (int64_t)(box.w / width);
    }
    for (int64_t c = 0; c < n; c++) {
        double value = 0;
        enum view_cell_state state = output_cell(p, c, &value);
        struct view_box cell =
            view_box_make(box.x + width * (float)c, box.y, width - (width >= 8 ? 1 : 0), box.h);
        view_cell_draw(draw, cell, FA_O, state, value / by, most);
    }
    if (some)
        view_text_in(draw, view_box_make(box.x + width * (float)n + 4, box.y, MORE - 4, box.h),
                     VIEW_LEFT, small, "+%" PRId64, dv - n);
}

void view_row_draw_output(struct view_draw *draw, const struct view_row_picture *p,
                          struct view_box box)
{
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
    int64_t dv = view_run_header(p->moment->run)->problem.dv;
    bool undivided = is_undivided(p);
    const char *words = undivided && !p->in_step ? "O waits for P V"
                        : undivided              ? "O/ℓ"
                                                 : "divided by ℓ";
    if (!p->divides && p->n_steps > 0)
        words = view_run_header(p->moment->run)->algorithm->normalised
                    ? "kept divided by ℓ"
                    : "its weights are divided by ℓ";
    bool second = undivided && p->in_step && p->sum > 0;
    float cells = fminf((float)dv * 40, (box.w - (box.w >= 500 ? 130 : 60)) / (second ? 2 : 1));
    struct view_box first = view_cut_left(&box, cells);
    draw_cells(draw, p, first, 1);
    view_cut_left(&box, 12);
    if (second) {
        view_text_in(draw, view_cut_left(&box, 32), VIEW_LEFT, type, "%s", words);
        draw_cells(draw, p, box, p->sum);
    } else if (p->n_steps > 0) {
        view_text_in(draw, box, VIEW_LEFT, type, "%s", words);
    }
}
