/*
 * SRAM and the matrices at one scale: the area of each is its bytes. The matrices stand as in the
 * cross: Q left of S, K above, V below, O right.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "visualizer/stage_parts.h"

/* What is drawn, in bytes and in elements of the problem's type. */
struct sizes {
    const struct sim_trace_header *header;
    int64_t nq, nk, d, dv;
    uint64_t element, sram;
    bool stored; /* S goes through HBM */
};

/* Where all stands, in pixels. */
struct places {
    float unit; /* pixels that the side of an element is long */
    struct view_box q, k, v, o, s, sram;
};

static struct sizes sizes_of(const struct view_run *run)
{
    const struct sim_trace_header *header = view_run_header(run);
    const struct fa_problem *p = &header->problem;
    return (struct sizes){
        .header = header,
        .nq = p->nq,
        .nk = p->nk,
        .d = p->d,
        .dv = p->dv,
        .element = fa_dtype_bytes(p->dtype),
        .sram = header->sram_bytes,
        .stored = header->algorithm->stores_scores,
    };
}

static uint64_t bytes_of(const struct sizes *sizes, int64_t rows, int64_t columns)
{
    return (uint64_t)rows * (uint64_t)columns * sizes->element;
}

enum { GAP = 8, LABEL = 18, APART = 32 };

/* The largest scale at which S with its strips, and SRAM right of it, have room in the box. */
static struct places place(const struct sizes *z, struct view_box box)
{
    struct places at;
    double side = sqrt((double)z->sram / (double)z->element); /* of SRAM's square, in elements */
    double wide = (double)(z->d + z->nk + z->dv) + side, high = (double)(z->d + z->nq + z->dv);
    double by_width = ((double)box.w - 2 * GAP - APART) / wide;
    double by_height = ((double)box.h - 2 * GAP - 2 * LABEL) / high;
    double by_sram = ((double)box.h - 3 * LABEL) / side;
    float u = (float)fmax(fmin(fmin(by_width, by_height), by_sram), 0);
    float left = floorf(box.x + (box.w - ((float)wide * u + 2 * GAP + APART)) / 2);
    float top = floorf(box.y + LABEL + (box.h - 2 * LABEL - 2 * GAP - (float)high * u) / 2);
    float d = (float)z->d * u, dv = (float)z->dv * u;
    float nq = (float)z->nq * u, nk = (float)z->nk * u, s = (float)side * u;

    at.unit = u;
    at.s = view_box_make(left + d + GAP, top + d + GAP, nk, nq);
    at.q = view_box_make(left, at.s.y, d, nq);
    at.k = view_box_make(at.s.x, top, nk, d);
    at.v = view_box_make(at.s.x, at.s.y + nq + GAP, nk, dv);
    at.o = view_box_make(at.s.x + nk + GAP, at.s.y, dv, nq);
    float y = at.s.y + nq / 2 - s / 2, lowest = box.y + box.h - s - LABEL;
    at.sram = view_box_make(at.o.x + dv + APART, fmaxf(fminf(y, lowest), box.y + 2 * LABEL), s, s);
    return at;
}

/* A matrix with its pattern, thin strips without a frame that would be more than they are. */
static void draw_matrix(struct view_draw *draw, struct view_box box, enum fa_tensor_id id)
{
    struct view_look look = view_tensor_look(draw->theme, id);
    if (box.w <= 0 || box.h <= 0)
        return;
    view_fill(draw, box, view_mix(draw->theme->panel, look.fill, 0.45));
    if (fminf(box.w, box.h) >= 6) {
        view_hatch(draw, box, look.pattern, view_fade(look.line, 0.35));
        view_frame_box(draw, box, 0, 1, look.line);
    }
}

/* The tiles of S as hair lines, while they can be told apart. */
static void draw_tile_lines(struct view_draw *draw, const struct view_run *run,
                            const struct sizes *z, const struct places *at)
{
    struct fa_tiles tiles = view_run_tiles(run);
    struct view_color hair = draw->theme->hair;
    float width = (float)tiles.bc * at->unit, height = (float)tiles.br * at->unit;
    for (int64_t j = 1; width >= 6 && j * tiles.bc < z->nk; j++)
        view_fill(draw, view_box_make(at->s.x + (float)j * width, at->s.y, 1, at->s.h), hair);
    for (int64_t i = 1; height >= 6 && i * tiles.br < z->nq; i++)
        view_fill(draw, view_box_make(at->s.x, at->s.y + (float)i * height, at->s.w, 1), hair);
}

/* The tiles that the loops stand at, in full strength. */
static void draw_current(struct view_draw *draw, const struct view_scene *scene, int which,
                         const struct sizes *z, const struct places *at)
{
    const struct view_moment *moment = &scene->moment[which];
    struct fa_tiles tiles = view_run_tiles(moment->run);
    float u = at->unit;
    int64_t i = moment->i, j = moment->j;
    float row = (float)(i * tiles.br) * u, column = (float)(j * tiles.bc) * u;
    float rows = (float)(tiles.br < z->nq - i * tiles.br ? tiles.br : z->nq - i * tiles.br) * u;
    float columns = (float)(tiles.bc < z->nk - j * tiles.bc ? tiles.bc : z->nk - j * tiles.bc) * u;
    if (i >= 0 && rows > 0) {
        view_fill(draw, view_box_make(at->q.x, at->q.y + row, at->q.w, rows),
                  view_tensor_look(draw->theme, FA_Q).fill);
        view_fill(draw, view_box_make(at->o.x, at->o.y + row, at->o.w, rows),
                  view_tensor_look(draw->theme, FA_O).fill);
    }
    if (j >= 0 && columns > 0) {
        view_fill(draw, view_box_make(at->k.x + column, at->k.y, columns, at->k.h),
                  view_tensor_look(draw->theme, FA_K).fill);
        view_fill(draw, view_box_make(at->v.x + column, at->v.y, columns, at->v.h),
                  view_tensor_look(draw->theme, FA_V).fill);
    }
    if (i >= 0 && j >= 0 && rows > 0 && columns > 0)
        view_fill(draw, view_box_make(at->s.x + column, at->s.y + row, columns, rows),
                  view_tensor_look(draw->theme, FA_S).fill);
}

/* What lies on chip, as bands of SRAM's square from its bottom up: areas at the scale of all the
 * rest. */
static void draw_sram(struct view_draw *draw, const struct view_moment *moment,
                      const struct sizes *z, const struct places *at)
{
    const struct view_theme *theme = draw->theme;
    struct view_box box = at->sram;
    view_fill(draw, box, theme->bg);
    for (int id = 0; id < FA_TENSORS; id++) {
        const struct sim_resident *tile = &moment->state.on_chip[id];
        if (!tile->live || z->sram == 0)
            continue;
        double from = (double)tile->place / (double)z->sram;
        double share = (double)tile->bytes / (double)z->sram;
        struct view_box band = view_box_make(box.x, box.y + box.h - (float)(from + share) * box.h,
                                             box.w, (float)share * box.h);
        enum fa_tensor_id holds =
            tile->holds < FA_TENSORS ? (enum fa_tensor_id)tile->holds : (enum fa_tensor_id)id;
        view_tensor_bar(draw, band, holds, view_tensor_look(theme, holds).letter);
    }
    view_frame_box(draw, box, 0, 2, theme->text);
}

static struct view_type label_type(const struct view_draw *draw, enum fa_tensor_id id)
{
    return view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, view_tensor_look(draw->theme, id).line);
}

/* Letters at the matrices, each in a place of its own. */
static void draw_letters(struct view_draw *draw, const struct sizes *z, const struct places *at)
{
    struct view_type type = label_type(draw, FA_K);
    float gap = 10;
    view_text_in(draw, view_box_make(at->k.x, at->k.y - LABEL, at->k.w, LABEL), VIEW_LEFT, type,
                 at->k.w >= 150 ? "K, on its side" : "K");
    view_text_in(draw, view_box_make(at->v.x, at->v.y + at->v.h, at->v.w, LABEL), VIEW_LEFT,
                 label_type(draw, FA_V), at->v.w >= 150 ? "V, on its side" : "V");
    /* Q and O stand beside K and V where these are thinner than a line is high. */
    float q = at->q.x + at->q.w / 2, o = at->o.x + at->o.w / 2;
    float corner = at->s.x - gap;
    type = label_type(draw, FA_Q);
    view_text(draw, fminf(q, corner), at->q.y - LABEL, VIEW_CENTRE, type, "Q");
    type = label_type(draw, FA_O);
    view_text(draw, fmaxf(o, at->s.x + at->s.w + gap), at->o.y - LABEL, VIEW_CENTRE, type, "O");
    struct view_box middle = view_box_make(at->s.x, at->s.y + at->s.h / 2 - 9, at->s.w, LABEL);
    struct view_color ground = view_mix(
        draw->theme->panel, view_tensor_look(draw->theme, FA_S).fill, z->stored ? 0.45 : 0);
    type = view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, view_ink(ground));
    const char *text = z->stored ? "S" : at->s.w >= 120 ? "S, never stored" : "S";
    float width = view_text_width(draw, type, text) + 12;
    if (width <= middle.w && at->s.h >= LABEL) {
        struct view_box plate = view_box_make(floorf(middle.x + (middle.w - width) / 2),
                                              floorf(middle.y), width, LABEL);
        view_fill(draw, plate, ground);
        view_text_in(draw, plate, VIEW_CENTRE, type, "%s", text);
    }
}

static const char *times_sram(const struct sizes *z, uint64_t bytes, char text[VIEW_NUMBER_TEXT])
{
    double times = (double)bytes / (double)z->sram;
    snprintf(text, VIEW_NUMBER_TEXT,
             times >= 99.95  ? "%.0f"
             : times >= 0.95 ? "%.1f"
                             : "%.2f",
             times);
    return text;
}

/* The list beside the picture: each with its shape, its bytes, and how many times SRAM that is. */
static void draw_list(struct view_draw *draw, const struct view_frame *frame, const struct sizes *z,
                      struct view_box box)
{
    static const enum fa_tensor_id ids[] = {FA_Q, FA_K, FA_V, FA_O, FA_S};
    const int64_t rows[] = {z->nq, z->nk, z->nk, z->nq, z->nq};
    const int64_t columns[] = {z->d, z->d, z->dv, z->dv, z->nk};
    struct view_type small = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
    char bytes[VIEW_COUNT_TEXT], times[VIEW_NUMBER_TEXT];

    for (int n = 0; n < 5 && box.h >= 20; n++) {
        struct view_box line = view_cut_top(&box, 20);
        uint64_t size = bytes_of(z, rows[n], columns[n]);
        if (!frame->covered || ids[n] != FA_S) {
            struct view_box right = view_cut_right(&line, 96);
            view_text_in(draw, right, VIEW_RIGHT, small, "%s × SRAM", times_sram(z, size, times));
        }
        struct view_box swatch = view_cut_left(&line, 22);
        view_tensor_bar(draw, view_box_make(swatch.x, swatch.y + 3, 14, 14), ids[n], NULL);
        if (!view_text_in(draw, line, VIEW_LEFT, small, "%s  %s × %s, %s",
                          view_tensor_look(draw->theme, ids[n]).letter, SIM_GROUPED(rows[n]),
                          SIM_GROUPED(columns[n]), view_bytes_text(size, bytes)))
            view_text_in(draw, line, VIEW_LEFT, small, "%s  %s",
                         view_tensor_look(draw->theme, ids[n]).letter, bytes);
    }
}

static void draw_picture(struct view_draw *draw, const struct view_scene *scene, int which,
                         const struct sizes *z, struct view_box box)
{
    struct view_type small = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
    struct places at = place(z, box);
    if (at.s.w < 8 || at.s.h < 8) {
        view_stage_says(draw, box, "No room for the picture here: make the window larger.");
        return;
    }
    draw_matrix(draw, at.q, FA_Q);
    draw_matrix(draw, at.k, FA_K);
    draw_matrix(draw, at.v, FA_V);
    draw_matrix(draw, at.o, FA_O);
    if (z->stored)
        draw_matrix(draw, at.s, FA_S);
    draw_tile_lines(draw, scene->moment[which].run, z, &at);
    draw_current(draw, scene, which, z, &at);
    if (!z->stored)
        view_frame_dashed(draw, at.s, 1, 5, 4, view_tensor_look(draw->theme, FA_S).line);
    draw_letters(draw, z, &at);
    draw_sram(draw, &scene->moment[which], z, &at);
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, draw->theme->text);
    struct view_box over =
        view_box_make(at.sram.x, at.sram.y - LABEL, box.x + box.w - at.sram.x, LABEL);
    view_text_in(draw, over, VIEW_LEFT, bold, "SRAM");
    struct view_box under = view_box_make(at.sram.x, at.sram.y + at.sram.h, over.w, LABEL);
    if (!view_text_in(draw, under, VIEW_LEFT, small, "of one SM"))
        view_text_in(draw, under, VIEW_LEFT, small, "one SM");
}

static void draw_one(struct view_draw *draw, const struct view_scene *scene, int which,
                     struct view_box plate)
{
    const struct view_run *run = scene->moment[which].run;
    struct sizes z = sizes_of(run);
    char note[96], sram[VIEW_COUNT_TEXT], times[VIEW_NUMBER_TEXT], text[128];

    if (z.sram == 0 || z.nq == 0 || z.nk == 0) {
        struct view_box box = view_stage_open(draw, plate, "To scale", NULL, NULL);
        view_stage_says(draw, box,
                        z.sram == 0
                            ? "This run's SRAM has no limit, so there is nothing to compare "
                              "with. Run with a capacity: --sram 192K."
                            : "This run has no queries or no keys, so its matrices are empty. "
                              "Run with --n 16.");
        return;
    }
    snprintf(note, sizeof note, "one area is one number of bytes; one head, %s",
             fa_dtype_name(z.header->problem.dtype));
    struct view_box box = view_stage_open(draw, plate, "To scale", note, NULL);
    uint64_t s = bytes_of(&z, z.nq, z.nk);
    if (scene->frame->covered)
        snprintf(text, sizeof text, "S is ? × SRAM");
    else
        snprintf(text, sizeof text, "S is %s × SRAM", times_sram(&z, s, times));
    struct view_type big = view_type_make(VIEW_BOLD, VIEW_SIZE_BIG, draw->theme->text);
    struct view_type small = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
    if (box.w >= 560 && box.h >= 200) {
        struct view_box list = view_cut_right(&box, box.w >= 800 ? 300 : 272);
        view_cut_right(&box, 24);
        float height = view_line_height(VIEW_SIZE_BIG) + 24 + 20 * 5;
        view_cut_top(&list, fmaxf(0, floorf((list.h - height) / 2)));
        struct view_box line = view_cut_top(&list, view_line_height(VIEW_SIZE_BIG));
        if (!view_text_in(draw, line, VIEW_LEFT, big, "%s", text)) {
            big.size = VIEW_SIZE_TITLE;
            view_text_in(draw, line, VIEW_LEFT, big, "%s", text);
        }
        view_text_in(draw, view_cut_top(&list, 24), VIEW_LEFT, small, "SRAM of one SM: %s",
                     view_bytes_text(z.sram, sram));
        draw_list(draw, scene->frame, &z, list);
    } else {
        view_stage_headline(draw, &box, text);
    }
    draw_picture(draw, scene, which, &z, box);
}

void view_stage_scale(struct view_draw *draw, const struct view_scene *scene)
{
    view_stage_each(draw, scene, draw_one);
}
