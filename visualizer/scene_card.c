#include <math.h>
#include <string.h>

#include "visualizer/cross.h"

enum { CARD_WIDE = 216, PAD = 10, AWAY = 14, LINE_GAP = 2 };

/* Where the cell is drawn: the place that was pointed at, and all others that show the same
 * number. */
struct anchors {
    struct view_box box[2];
    int n;
};

static struct view_box grown(struct view_box box, float least)
{
    float dx = fmaxf(least - box.w, 0) / 2, dy = fmaxf(least - box.h, 0) / 2;
    return view_box_make(box.x - dx, box.y - dy, box.w + 2 * dx, box.h + 2 * dy);
}

static void find_anchors(const struct view_scene *scene, struct anchors *anchors)
{
    const struct view_cell *cell = &scene->frame->cell;
    enum fa_tensor_id slot = view_slot_of(scene->moment[cell->which].run, cell->id);
    struct view_box hbm, chip;
    struct view_cross cross;
    struct view_hold hold;

    view_cross_hbm(scene, cell->which, &cross);
    bool in_hbm = view_hbm_cell(scene, cell->which, cell->id, cell->row, cell->column, &hbm) &&
                  view_box_meets(hbm, cross.area);
    bool on_chip = slot != FA_TENSORS && view_slot_hold(&scene->moment[cell->which], slot, &hold) &&
                   !hold.spent && cell->row < hold.row + hold.rows &&
                   cell->column < hold.column + hold.columns &&
                   view_bench_cell(scene, cell->which, cell->id, cell->row - hold.row,
                                   cell->column - hold.column, &chip);
    if (cell->chip && on_chip)
        anchors->box[anchors->n++] = grown(chip, 4);
    if (in_hbm)
        anchors->box[anchors->n++] = grown(hbm, 4);
    if (!cell->chip && on_chip)
        anchors->box[anchors->n++] = grown(chip, 4);
}

static float card_height(const struct view_draw *draw, const struct view_card *card, float width,
                         struct view_type title, struct view_type line)
{
    float h = view_text_height(draw, width, title, 0, card->title);
    for (int k = 0; k < card->n; k++)
        h += LINE_GAP + view_text_height(draw, width, line, 12, card->line[k]);
    return h + 2 * PAD;
}

/* The first place beside the cell that lies in the stage and leaves the cell free. */
static bool place_card(const struct view_scene *scene, struct view_box anchor,
                       struct view_box *card)
{
    int which = scene->frame->cell.which;
    struct view_box stage = view_box_inset(scene->layout.stage, 4, 4), o, v;
    struct view_box places[6];
    int n = 0;
    float low = anchor.y + anchor.h + AWAY, right = anchor.x + anchor.w + AWAY;

    if (scene->frame->cell.chip && view_bench_tile(scene, which, FA_O, &o) &&
        view_bench_tile(scene, which, FA_V, &v)) /* the corner that the cross leaves free */
        places[n++] = view_box_make(v.x + v.w + 10, o.y + o.h + 20, card->w, card->h);
    places[n++] = view_box_make(right, anchor.y - 20, card->w, card->h);
    places[n++] = view_box_make(right, anchor.y + anchor.h - card->h, card->w, card->h);
    places[n++] = view_box_make(anchor.x - AWAY - card->w, anchor.y - 20, card->w, card->h);
    places[n++] = view_box_make(anchor.x, low, card->w, card->h);
    places[n++] = view_box_make(anchor.x, anchor.y - AWAY - card->h, card->w, card->h);
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < n; k++) {
            struct view_box b = places[k];
            if (pass == 1) { /* moved into the stage */
                b.x = fmaxf(stage.x, fminf(b.x, stage.x + stage.w - b.w));
                b.y = fmaxf(stage.y, fminf(b.y, stage.y + stage.h - b.h));
            }
            b.x = roundf(b.x), b.y = roundf(b.y);
            if (b.x >= stage.x && b.y >= stage.y && b.x + b.w <= stage.x + stage.w &&
                b.y + b.h <= stage.y + stage.h &&
                !view_box_meets(b, view_box_inset(anchor, -2, -2))) {
                *card = b;
                return true;
            }
        }
    return false;
}

static float nearest(float at, float low, float length)
{
    return fmaxf(low, fminf(at, low + length));
}

/* From the edge of the cell's matrix to the card, round a corner in the gap between the
 * matrices: over the other cells it would hide their numbers. */
static void connect(struct view_draw *draw, struct view_box cell, struct view_box matrix,
                    struct view_box card)
{
    struct view_color edge = draw->theme->edge;
    float x = nearest(cell.x + cell.w / 2, matrix.x, matrix.w);
    float y = nearest(cell.y + cell.h / 2, matrix.y, matrix.h);
    float end = nearest(y, card.y + 12, fmaxf(card.h - 24, 0));
    bool right = card.x >= matrix.x + matrix.w, left = card.x + card.w <= matrix.x;
    if (!right && !left) { /* above or below */
        float x1 = nearest(x, card.x + 6, card.w - 12);
        bool low = card.y >= matrix.y + matrix.h;
        view_line(draw, x1, low ? matrix.y + matrix.h : matrix.y, x1,
                  low ? card.y : card.y + card.h, 1, edge);
        return;
    }
    float from = right ? matrix.x + matrix.w : matrix.x, to = right ? card.x : card.x + card.w;
    float turn = right ? from + fminf(5, (to - from) / 2) : from - fminf(5, (from - to) / 2);
    view_line(draw, from, y, turn, y, 1, edge);
    view_line(draw, turn, y, turn, end, 1, edge);
    view_line(draw, turn, end, to, end, 1, edge);
}

void view_scene_card(struct view_draw *draw, const struct view_scene *scene)
{
    const struct view_theme *theme = draw->theme;
    const struct view_frame *frame = scene->frame;
    struct anchors anchors = {.n = 0};
    struct view_card card;

    if (!frame->cell.on || frame->covered || frame->help_open || scene->runs == 0 ||
        frame->stage != VIEW_STAGE_CROSS || frame->message.title[0] || scene->layout.stage.w <= 0)
        return;
    if (!view_card_make(scene, &card))
        return;
    find_anchors(scene, &anchors);
    if (anchors.n == 0)
        return;
    for (int k = 0; k < anchors.n; k++)
        view_frame_box(draw, view_box_inset(anchors.box[k], -2, -2), 2, 2, theme->text);

    struct view_type title =
        view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, view_tensor_look(theme, card.id).line);
    struct view_type line = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text);
    float most = fminf(CARD_WIDE, scene->layout.stage.w - 16) - 2 * PAD;
    struct view_box box = {0, 0, most + 2 * PAD, card_height(draw, &card, most, title, line)};
    if (!place_card(scene, anchors.box[0], &box)) { /* without the formula it may still fit */
        card.n = 0;
        box.h = card_height(draw, &card, most, title, line);
        if (!place_card(scene, anchors.box[0], &box))
            return;
    }
    struct view_box matrix;
    int which = frame->cell.which;
    if (frame->cell.chip ? view_bench_tile(scene, which, frame->cell.id, &matrix)
                         : view_hbm_matrix(scene, which, frame->cell.id, &matrix))
        connect(draw, anchors.box[0], matrix, box);
    view_plate(draw, box, theme->raised, theme->edge);
    struct view_box rest = view_box_inset(box, PAD, PAD);
    rest.h += 2; /* heights are sums of rounded lines */
    view_cut_top(&rest, view_text_wrapped(draw, rest, title, 0, card.title, NULL));
    for (int k = 0; k < card.n; k++) {
        view_cut_top(&rest, LINE_GAP);
        view_cut_top(&rest, view_text_wrapped(draw, rest, line, 12, card.line[k], NULL));
    }
}
