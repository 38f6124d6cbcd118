#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "simulator/trace_ops.h"
#include "visualizer/cross.h"

/* ---- names ----------------------------------------------------------------------------------- */

enum { FACTS_TEXT = 192 };

/* Size, "on its side" and what else there is to say: as much as has room behind the letter. */
static const char *facts(const struct view_draw *draw, const struct view_matrix *m,
                         struct view_type type, float room, char text[FACTS_TEXT])
{
    const char *side = m->sideways ? ", on its side" : "";
    int64_t n = m->ghost ? 1 : view_matrix_tiles_a_square(m);
    char sizes[VIEW_SIZES_TEXT];

    view_sizes_text(m->rows, m->columns, sizes);
    for (int less = n > 1 ? 0 : m->stretched ? 1 : 2; less < 4; less++) {
        if (less == 0 && view_matrix_tile_columns(m) > 1)
            snprintf(text, FACTS_TEXT, "%s; a square is %s × %s tiles", sizes, SIM_GROUPED(n),
                     SIM_GROUPED(n));
        else if (less == 0)
            snprintf(text, FACTS_TEXT, "%s%s; a square is %s tiles", sizes, side, SIM_GROUPED(n));
        else
            snprintf(text, FACTS_TEXT, "%s%s%s", sizes, less < 3 ? side : "",
                     less == 1 && m->stretched ? ", not to scale" : "");
        if (view_text_width(draw, type, text) <= room)
            return text;
    }
    return "";
}

static void name_in(struct view_draw *draw, struct view_box box, const struct view_matrix *m,
                    enum fa_tensor_id id, bool plate)
{
    struct view_look look = view_tensor_look(draw->theme, id);
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, look.line);
    struct view_type plain = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
    char text[FACTS_TEXT];
    float letter = view_text_width(draw, bold, look.letter);

    if (letter > box.w)
        return;
    const char *rest = facts(draw, m, plain, box.w - letter - 5, text);
    if (plate) {
        float w = letter + (rest[0] ? 5 + view_text_width(draw, plain, rest) : 0);
        view_fill_round(draw, view_box_make(box.x - 4, box.y, w + 8, box.h), 3, draw->theme->panel);
    }
    view_text(draw, box.x, box.y, VIEW_LEFT, bold, "%s", look.letter);
    if (rest[0])
        view_text(draw, box.x + letter + 5, box.y, VIEW_LEFT, plain, "%s", rest);
}

/* A broken line at the end of a strip that is drawn thicker or thinner than it is. */
static void paint_zigzag(struct view_draw *draw, const struct view_matrix *m)
{
    struct view_box b = m->box;
    float length = m->sideways ? b.h : b.w;
    int parts = length < 18 ? 3 : 5;
    for (int k = 0; k < parts; k++) {
        float a = length * (float)k / (float)parts, c = length * (float)(k + 1) / (float)parts;
        float up = k % 2 ? 5 : 2, down = k % 2 ? 2 : 5;
        if (m->sideways)
            view_line(draw, b.x + b.w + up, b.y + a, b.x + b.w + down, b.y + c, 1,
                      draw->theme->text2);
        else
            view_line(draw, b.x + a, b.y + b.h + up, b.x + c, b.y + b.h + down, 1,
                      draw->theme->text2);
    }
}

/* The P that dropout left is another matrix than P. */
static const char *square_name(const struct view_painter *p, enum fa_tensor_id id)
{
    return id == FA_PD ? "P × keep" : view_tensor_look(p->draw->theme, id).letter;
}

/* Names of squares that share one place, if they have room: the one that is seen has its colour
 * and a bar. */
static void name_shared(const struct view_painter *p)
{
    enum { APART = 10 };
    float x = p->matrix->box.x, y = p->matrix->box.y - VIEW_LABEL_HEIGHT - 2, all = -APART;
    struct view_type widest = view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, p->draw->theme->text2);
    for (int k = 0; k < p->cross->n_squares; k++)
        all += APART + view_text_width(p->draw, widest, square_name(p, p->cross->square[k]));
    if (all > p->matrix->box.w) {
        name_in(p->draw, view_box_make(x, y, p->matrix->box.w, VIEW_LABEL_HEIGHT + 1), p->matrix,
                p->id, false);
        return;
    }
    for (int k = 0; k < p->cross->n_squares; k++) {
        struct view_look look = view_tensor_look(p->draw->theme, p->cross->square[k]);
        bool here = k == p->cross->shown;
        struct view_type type = view_type_make(here ? VIEW_BOLD : VIEW_SANS, VIEW_SIZE_LABEL,
                                               here ? look.line : p->draw->theme->text2);
        const char *name = square_name(p, p->cross->square[k]);
        float w = view_text_width(p->draw, type, name);
        view_text(p->draw, x, y, VIEW_LEFT, type, "%s", name);
        if (here)
            view_fill(p->draw, view_box_make(x, y + VIEW_LABEL_HEIGHT - 1, w, 2), look.line);
        x += w + APART;
    }
}

/* From S to P, while the softmax of `standard` goes over the rows of S in HBM. */
static void paint_softmax(const struct view_painter *p)
{
    const struct view_matrix *s = &p->cross->matrix[FA_S], *o = &p->cross->matrix[FA_P];
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, p->draw->theme->text);
    enum { NAME = 96, HEAD = 20 };

    if (!view_at_rows(p->moment) || !p->cross->labelled || p->cross->zoom > 1 || !s->on || !o->on ||
        s->ghost || o->box.x < s->box.x + s->box.w)
        return;
    float w = view_text_width(p->draw, type, "softmax by rows"), end = o->box.x - 6;
    float y = s->box.y - VIEW_LABEL_HEIGHT - 2, x = end - HEAD - 4 - w;
    if (x < s->box.x + NAME)
        return;
    view_text(p->draw, x, y, VIEW_LEFT, type, "softmax by rows");
    view_arrow(p->draw, end - HEAD, y + 9, end, y + 9, 2, type.color);
}

static void paint_name(const struct view_painter *p)
{
    const struct view_matrix *m = p->matrix;
    struct view_box area = p->cross->area, b = m->box;
    float right = area.x + area.w, h = VIEW_LABEL_HEIGHT + 1;
    bool low = p->id == FA_V || p->id == FA_DV;

    if (p->cross->zoom > 1) { /* names stay in sight */
        float x = fmaxf(b.x, area.x) + 6, y = fmaxf(b.y, area.y) + 2;
        float end = fminf(b.x + b.w, right) - 6;
        if (end - x >= 12 && fminf(b.y + b.h, area.y + area.h) - y >= h && !m->ghost)
            name_in(p->draw, view_box_make(x, y, end - x, h), m, p->id, true);
        return;
    }
    if (m->stretched)
        paint_zigzag(p->draw, m);
    if (!p->cross->labelled || m->ghost)
        return;
    if (p->cross->shown >= 0 && sim_is_score_tile(p->id))
        name_shared(p);
    else if (m->sideways)
        name_in(p->draw, view_box_make(b.x, low ? b.y + b.h + 2 : b.y - h - 1, right - b.x, h), m,
                p->id, false);
    else if (sim_is_score_tile(p->id))
        name_in(p->draw, view_box_make(b.x, b.y - h - 1, b.w, h), m, p->id, false);
    else
        view_text(p->draw, b.x + b.w / 2, b.y - h - 1, VIEW_CENTRE,
                  view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL,
                                 view_tensor_look(p->draw->theme, p->id).line),
                  "%s", view_tensor_look(p->draw->theme, p->id).letter);
}

/* ---- the memory ------------------------------------------------------------------------------ */

static void paint_title(const struct view_painter *p, struct view_box box)
{
    static const enum fa_tensor_id order[] = {FA_Q, FA_K, FA_V,   FA_S,  FA_P,  FA_DP, FA_DS, FA_O,
                                              FA_M, FA_L, FA_LSE, FA_DO, FA_DQ, FA_DK, FA_DV};
    const struct view_theme *theme = p->draw->theme;
    struct view_type plain = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text2);
    bool never = p->cross->matrix[FA_S].ghost;

    view_cut_left(&box, view_cross_pad(p->scene));
    struct view_box line = view_cut_top(&box, 28);
    float w = view_text(p->draw, line.x, line.y + 4, VIEW_LEFT,
                        view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, theme->text), "HBM");
    view_cut_left(&line, w + 10);
    view_cut_right(&line, 8);
    for (int with_statistics = 1; with_statistics >= 0; with_statistics--) {
        char text[128] = "holds ";
        size_t n = strlen(text);
        for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
            int64_t rows = 0, columns = 0;
            view_run_shape(p->moment->run, order[k], &rows, &columns);
            bool statistic = order[k] == FA_M || order[k] == FA_L || order[k] == FA_LSE;
            if (rows > 0 && (with_statistics || !statistic))
                n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n > 6 ? ", " : "",
                                      view_tensor_look(theme, order[k]).letter);
        }
        snprintf(text + n, sizeof text - n, "%s", never ? ": never S" : "");
        if (view_text_in(p->draw, line, VIEW_LEFT, plain, "%s", text))
            return;
    }
    if (never)
        view_text_in(p->draw, line, VIEW_LEFT, plain, "never holds S");
}

static void paint_sram(const struct view_painter *p)
{
    const struct view_theme *theme = p->draw->theme;
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text2);
    struct view_box box = p->cross->sram, words = p->cross->sram_words;
    if (box.w <= 0)
        return;
    view_fill(p->draw, box, theme->panel);
    view_frame_dashed(p->draw, box, 1, 2, 2, theme->text2);
    if (words.w <= 0)
        return;
    if (words.h < 20) {
        const char *text = "all of SRAM, at this scale";
        if (view_text_width(p->draw, type, text) + 8 > words.w)
            return;
        view_fill(p->draw,
                  view_box_make(words.x, words.y, view_text_width(p->draw, type, text) + 8, 17),
                  theme->panel);
        view_text(p->draw, words.x + 4, words.y, VIEW_LEFT, type, "%s", text);
        return;
    }
    float y = roundf(words.y + (words.h - 32) / 2);
    enum view_align align = words.x > box.x + box.w ? VIEW_LEFT : VIEW_CENTRE;
    if (words.h < 32)
        return;
    view_text_in(p->draw, view_box_make(words.x, y, words.w, 16), align, type, "all of SRAM");
    view_text_in(p->draw, view_box_make(words.x, y + 16, words.w, 16), align, type,
                 "at this scale");
}

void view_scene_hbm(struct view_draw *draw, const struct view_scene *scene, int which)
{
    struct view_box box = scene->layout.hbm[which];
    struct view_cross cross;
    if (box.w < 16 || box.h < 16)
        return;
    view_cross_hbm(scene, which, &cross);
    view_plate(draw, box, draw->theme->panel, draw->theme->hair);
    struct view_painter p = {draw, scene, &scene->moment[which], &cross, FA_Q, NULL};
    if (cross.titled)
        paint_title(&p, box);
    if (cross.zoom > 1)
        view_clip(draw, cross.area);
    for (int id = 0; id < FA_TENSORS; id++) {
        p.id = (enum fa_tensor_id)id;
        p.matrix = &cross.matrix[id];
        if (!p.matrix->on)
            continue;
        if (p.matrix->ghost)
            view_hbm_ghost_paint(&p);
        else
            view_hbm_matrix_paint(&p);
        if (sim_is_score_tile(p.id) && !p.matrix->ghost)
            view_hbm_bands_paint(&p);
    }
    for (int id = 0; id < FA_TENSORS; id++) {
        p.id = (enum fa_tensor_id)id;
        p.matrix = &cross.matrix[id];
        if (p.matrix->on)
            paint_name(&p);
    }
    paint_softmax(&p);
    paint_sram(&p);
    if (cross.zoom > 1)
        view_clip_none(draw);
}
