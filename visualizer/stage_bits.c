/*
 * Dropout's keep bits: all of the score matrix's (or a window of it) with the tile that is on chip,
 * and that tile alone. The bits are those that the run takes: formed from the seed and the place,
 * or of the mask it was given. Or they are dealt out in turn (turns.c): then there are those alone
 * that were drawn so far, and where two runs drew other bits for one place, both are framed.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference/dropout.h"
#include "visualizer/stage_bits.h"

/* Rows and columns of the matrix, and of the tile, that are drawn; pixels between the two. */
enum { MOST_BITS = 192, CELL_BITS = 64, APART = 32 };

/* Keep bits of n columns of a row of the head's scores. */
static void keep_row(const struct view_bits *bits, int64_t row, int64_t column, int64_t n,
                     uint8_t *keep)
{
    const struct fa_problem *p = &bits->problem;
    int64_t batch = bits->head / p->heads, head = bits->head % p->heads;
    if (bits->dealt.run) {
        memcpy(keep, &bits->dealt.turns.keep[row * p->nk + column], (size_t)n);
        return;
    }
    if (!p->dropout_keep) {
        fa_dropout_bits(p, batch, head, row, column, n, keep);
        return;
    }
    for (int64_t c = 0; c < n; c++)
        keep[c] = fa_tensor_get(p->dropout_keep, batch, head, row, column + c) != 0;
}

/* Why there are none to show, NULL if there are. */
static const char *no_bits(const struct view_run *run, struct view_bits *bits)
{
    const struct sim_trace_header *header = view_run_header(run);
    const struct sim_experiment *experiment = view_run_experiment(run);
    memset(bits, 0, sizeof *bits);
    bits->problem = header->problem;
    if (!(header->problem.dropout_p > 0))
        return "This run has no dropout. Run with --dropout 0.2 to see its bits.";
    if (header->problem.nq < 1 || header->problem.nk < 1)
        return "This run has no queries or no keys, so there are no weights to drop. Run with --n "
               "16.";
    if (header->has_keep) {
        bits->problem.dropout_keep = experiment ? experiment->problem.dropout_keep : NULL;
        if (!bits->problem.dropout_keep || !bits->problem.dropout_keep->data)
            return "The keep mask was given to this run and is not in its trace. Run it again with "
                   "the mask.";
    }
    return NULL;
}

/* The tile of the loops, where they stand at one; else row and column are of what they stand at. */
static bool current_tile(const struct view_moment *moment, struct view_bits *tile)
{
    struct fa_tiles tiles = view_run_tiles(moment->run);
    const struct fa_problem *p = &tile->problem;
    int64_t i = moment->i < 0 ? 0 : moment->i, j = moment->j < 0 ? 0 : moment->j;
    tile->row = i * tiles.br < p->nq ? i * tiles.br : 0;
    tile->column = j * tiles.bc < p->nk ? j * tiles.bc : 0;
    tile->rows = tiles.br < p->nq - tile->row ? tiles.br : p->nq - tile->row;
    tile->columns = tiles.bc < p->nk - tile->column ? tiles.bc : p->nk - tile->column;
    return i == moment->i && j == moment->j && tile->row == i * tiles.br &&
           tile->column == j * tiles.bc;
}

/* How many of n bits are drawn in so many pixels: all, at two pixels or more each, else some at
 * three. */
static int64_t bits_in(float pixels, int64_t n)
{
    int64_t most = (int64_t)fmaxf(pixels / ((double)n * 2 <= (double)pixels ? 2 : 3), 1);
    return most < MOST_BITS ? most : MOST_BITS;
}

/* Of n places `most` at most, round the tile that begins at `at`. */
static void window_of(int64_t n, int64_t at, int64_t size, int64_t most, int64_t *first,
                      int64_t *length)
{
    *first = 0;
    *length = n < most ? n : most;
    if (n <= most)
        return;
    int64_t from = at - (most - (size < most ? size : most)) / 2;
    from = from < 0 ? 0 : from;
    from -= size <= most ? from % size : 0;
    *first = from + *length > n ? n - *length : from;
}

static struct view_color kept_color(const struct view_theme *theme, bool visited)
{
    return view_mix(theme->panel, view_tensor_look(theme, FA_P).fill, visited ? 1 : 0.45);
}

/* Which bits of the part's row have no tile yet that drew them: they are neither kept nor not. */
static void undrawn_row(const struct view_bits *part, int64_t row, uint8_t undrawn[MOST_BITS])
{
    for (int64_t c = 0; c < part->columns; c++)
        undrawn[c] = part->dealt.run && !view_bits_drawn(&part->dealt, row, part->column + c);
}

/* The bits of a part as an image, those of tiles that were worked on in full strength. Returns
 * how many are kept. */
static int64_t draw_image(struct view_draw *draw, const struct view_moment *moment,
                          const struct view_bits *part, struct view_box box)
{
    struct fa_tiles tiles = view_run_tiles(moment->run);
    struct view_color *cells = view_image(draw, box, (int)part->columns, (int)part->rows);
    uint8_t keep[MOST_BITS], visited[MOST_BITS], undrawn[MOST_BITS];
    int64_t kept = 0, last = -1;
    for (int64_t r = 0; cells && r < part->rows; r++) {
        int64_t row = part->row + r;
        keep_row(part, row, part->column, part->columns, keep);
        if (row / tiles.br != last) {
            last = row / tiles.br;
            for (int64_t c = 0; c < part->columns; c++) {
                int64_t j = (part->column + c) / tiles.bc;
                if (c > 0 && (part->column + c) % tiles.bc != 0) {
                    visited[c] = visited[c - 1];
                    continue;
                }
                enum view_score score =
                    view_run_score(moment->run, part->head, last, j, moment->at.landed, NULL, NULL);
                visited[c] = score == VIEW_SCORE_NOW || score == VIEW_SCORE_DONE;
            }
            undrawn_row(part, row, undrawn);
        }
        for (int64_t c = 0; c < part->columns; c++) {
            kept += keep[c] && !undrawn[c];
            cells[r * part->columns + c] = undrawn[c] ? draw->theme->panel
                                           : keep[c]  ? kept_color(draw->theme, visited[c])
                                                      : draw->theme->bg;
        }
    }
    return kept;
}

/* A square of whole pixels a bit, as large as the room allows. */
static struct view_box fit(struct view_box room, int64_t rows, int64_t columns, float most,
                           float *cell)
{
    float size = fminf(room.w / (float)columns, room.h / (float)rows);
    *cell = fminf(size >= 1 ? floorf(size) : size, most);
    return view_box_make(room.x, room.y, *cell * (float)columns, *cell * (float)rows);
}

static struct view_type small_type(const struct view_draw *draw)
{
    return view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
}

/* Returns the width that it took. */
static float draw_matrix(struct view_draw *draw, const struct view_moment *moment,
                         const struct view_bits *bits, const struct view_bits *tile, bool has_tile,
                         struct view_box room)
{
    struct view_bits part = *bits;
    float cell;
    window_of(bits->problem.nq, tile->row, tile->rows, bits_in(room.h - 20, bits->problem.nq),
              &part.row, &part.rows);
    window_of(bits->problem.nk, tile->column, tile->columns, bits_in(room.w, bits->problem.nk),
              &part.column, &part.columns);
    struct view_box words = view_cut_top(&room, 20);
    struct view_box box = fit(room, part.rows, part.columns, 16, &cell);
    draw_image(draw, moment, &part, box);
    if (part.dealt.run)
        view_bits_frame(draw, &part, box, cell);
    view_frame_box(draw, view_box_make(box.x - 1, box.y - 1, box.w + 2, box.h + 2), 0, 1,
                   draw->theme->edge);
    bool whole = part.rows == bits->problem.nq && part.columns == bits->problem.nk;
    char text[128], brief[64];
    if (whole) {
        snprintf(text, sizeof text, "all %s × %s bits", SIM_GROUPED(part.rows),
                 SIM_GROUPED(part.columns));
        snprintf(brief, sizeof brief, "all bits");
    } else {
        snprintf(text, sizeof text, "queries %s to %s, keys %s to %s of %s × %s",
                 SIM_GROUPED(part.row), SIM_GROUPED(part.row + part.rows - 1),
                 SIM_GROUPED(part.column), SIM_GROUPED(part.column + part.columns - 1),
                 SIM_GROUPED(bits->problem.nq), SIM_GROUPED(bits->problem.nk));
        snprintf(brief, sizeof brief, "%s × %s of the bits", SIM_GROUPED(part.rows),
                 SIM_GROUPED(part.columns));
    }
    float width = view_text_width(draw, small_type(draw), text);
    if (!view_text_in(draw, words, VIEW_LEFT, small_type(draw), "%s", text)) {
        view_text_in(draw, words, VIEW_LEFT, small_type(draw), "%s", brief);
        width = view_text_width(draw, small_type(draw), brief);
    }
    width = fminf(fmaxf(width, box.w), words.w);
    if (!has_tile)
        return width;
    struct view_box frame = view_box_make(box.x + (float)(tile->column - part.column) * cell,
                                          box.y + (float)(tile->row - part.row) * cell,
                                          (float)tile->columns * cell, (float)tile->rows * cell);
    frame.w = fminf(frame.w, box.x + box.w - frame.x);
    frame.h = fminf(frame.h, box.y + box.h - frame.y);
    view_ring(draw, frame, 0, 2, draw->theme->text);
    return width;
}

/* One bit of the tile: filled and 1, or empty, crossed out, and 0 where there is room for the
 * number. */
static void draw_bit(struct view_draw *draw, struct view_box box, bool keep)
{
    const struct view_theme *theme = draw->theme;
    struct view_color fill = keep ? view_tensor_look(theme, FA_P).fill : theme->bg;
    struct view_box inside = view_box_make(box.x, box.y, box.w - 1, box.h - 1);
    view_fill(draw, inside, fill);
    if (box.w >= 18)
        view_text_in(
            draw, inside, VIEW_CENTRE,
            view_type_make(VIEW_MONO, VIEW_SIZE_CELL, keep ? view_ink(fill) : theme->text2),
            keep ? "1" : "0");
}

static int64_t draw_tile(struct view_draw *draw, const struct view_moment *moment,
                         const struct view_bits *tile, struct view_box room)
{
    uint8_t keep[CELL_BITS];
    struct view_bits part = *tile;
    struct view_box words = view_cut_top(&room, 20);
    float cell;
    int64_t kept = 0;
    part.rows = part.rows < CELL_BITS ? part.rows : CELL_BITS;
    part.columns = part.columns < CELL_BITS ? part.columns : CELL_BITS;
    struct view_box box = fit(room, part.rows, part.columns, 32, &cell);
    bool undrawn = part.dealt.run && !view_bits_drawn(&part.dealt, part.row, part.column);
    if (cell < 18 || undrawn) {
        kept = draw_image(draw, moment, &part, box);
    } else {
        for (int64_t r = 0; r < part.rows; r++) {
            keep_row(&part, part.row + r, part.column, part.columns, keep);
            for (int64_t c = 0; c < part.columns; c++) {
                kept += keep[c];
                draw_bit(
                    draw,
                    view_box_make(box.x + (float)c * cell, box.y + (float)r * cell, cell, cell),
                    keep[c]);
            }
        }
    }
    if (part.dealt.run)
        view_bits_frame(draw, &part, box, cell);
    view_frame_box(draw, view_box_make(box.x - 1, box.y - 1, box.w + 2, box.h + 2), 0, 1,
                   draw->theme->edge);
    if (undrawn) {
        view_text_in(draw, words, VIEW_LEFT, small_type(draw), "not drawn yet");
        return kept;
    }
    const char *what =
        part.rows < tile->rows || part.columns < tile->columns ? " (its first 64)" : "";
    if (!view_text_in(draw, words, VIEW_LEFT, small_type(draw), "tile (%s, %s)%s: %s of %s kept",
                      SIM_GROUPED(moment->i), SIM_GROUPED(moment->j), what, SIM_GROUPED(kept),
                      SIM_GROUPED(part.rows * part.columns)))
        view_text_in(draw, words, VIEW_LEFT, small_type(draw), "%s of %s kept", SIM_GROUPED(kept),
                     SIM_GROUPED(part.rows * part.columns));
    return kept;
}

static const char *explain(const struct view_bits *bits, char *text, size_t size)
{
    const struct fa_problem *p = &bits->problem;
    double bytes = (double)p->batch * (double)p->heads * (double)p->nq * (double)p->nk;
    char stored[VIEW_COUNT_TEXT];
    view_bytes_text((uint64_t)bytes, stored);
    if (bits->dealt.run)
        snprintf(text, size,
                 "As a generator would deal them out that has no places, only turns: a tile takes "
                 "the next bits when the run comes to it.");
    else if (p->dropout_keep)
        snprintf(text, size, "The mask was given: %s, a byte a weight, loaded tile by tile.",
                 stored);
    else
        snprintf(text, size,
                 "Each bit follows from the seed and its place alone, so any tile can form its "
                 "own, in any "
                 "order, forward and backward. Kept instead of a mask of %s: 8 bytes.",
                 stored);
    return text;
}

static void draw_one(struct view_draw *draw, const struct view_scene *scene, int which,
                     struct view_box plate)
{
    const struct view_moment *moment = &scene->moment[which];
    struct view_bits bits;
    char text[320], note[96], right[64];
    const char *reason = no_bits(moment->run, &bits);
    if (reason) {
        struct view_box box = view_stage_open(draw, plate, "Keep bits", NULL, NULL);
        view_stage_says(draw, box, reason);
        return;
    }
    bits.head = moment->head;
    bool in_turn = scene->frame->in_turn && view_bits_deal(scene, which, &bits);
    if (bits.problem.dropout_keep)
        snprintf(note, sizeof note, "p = %g, mask given", bits.problem.dropout_p);
    else
        snprintf(note, sizeof note, "p = %g, seed %" PRIu64 "%s", bits.problem.dropout_p,
                 bits.problem.dropout_seed, in_turn ? ", dealt out in turn" : "");
    struct view_box box = view_stage_open(draw, plate, "Keep bits", note,
                                          view_bits_compare(&bits, right, sizeof right));
    if (box.h >= 220) {
        explain(&bits, text, sizeof text);
        struct view_box below =
            view_cut_bottom(&box, view_text_height(draw, box.w, small_type(draw), 0, text) + 8);
        view_cut_top(&below, 8);
        view_stage_lines(draw, &below, text);
    }
    struct view_bits tile = bits;
    bool has_tile = current_tile(moment, &tile);
    struct view_box left = box;
    left.w = floorf((box.w - APART) / 2);
    view_cut_left(&box, draw_matrix(draw, moment, &bits, &tile, has_tile, left) + APART);
    if (has_tile)
        draw_tile(draw, moment, &tile, box);
    else if (bits.other.run)
        view_stage_says(draw, box,
                        "Framed: bits that the other run drew otherwise, since it came to their "
                        "tile in another turn.");
    else
        view_stage_says(draw, box, "No tile is worked on here: step to one.");
}

void view_stage_bits(struct view_draw *draw, const struct view_scene *scene)
{
    view_stage_each(draw, scene, draw_one);
}
