/* Keep bits in turn: which were dealt out by now, and which of them two runs have otherwise. */
#include <inttypes.h>
#include <stdio.h>

#include "visualizer/stage_bits.h"

bool view_bits_drawn(const struct view_bits_dealt *dealt, int64_t row, int64_t column)
{
    struct fa_tiles tiles = view_run_tiles(dealt->run);
    int64_t tile = row / tiles.br * view_run_tc(dealt->run) + column / tiles.bc;
    return dealt->turns.event[tile] < dealt->landed;
}

/* Both runs have drawn that bit by now. */
static bool is_shared(const struct view_bits *bits, int64_t row, int64_t column)
{
    return bits->dealt.run && bits->other.run && view_bits_drawn(&bits->dealt, row, column) &&
           view_bits_drawn(&bits->other, row, column);
}

static bool differs(const struct view_bits *bits, int64_t row, int64_t column)
{
    int64_t at = row * bits->problem.nk + column;
    return is_shared(bits, row, column) &&
           bits->dealt.turns.keep[at] != bits->other.turns.keep[at];
}

void view_bits_frame(struct view_draw *draw, const struct view_bits *part, struct view_box box,
                     float cell)
{
    enum { LEAST = 5 };
    struct fa_tiles tiles = view_run_tiles(part->dealt.run);
    for (int64_t r = 0; r < part->rows && cell >= LEAST; r++)
        for (int64_t c = 0; c < part->columns; c++) {
            int64_t row = part->row + r, column = part->column + c;
            struct view_box bit =
                view_box_make(box.x + (float)c * cell, box.y + (float)r * cell, cell, cell);
            if (differs(part, row, column))
                view_frame_box(draw, bit, 0, cell >= 8 ? 2 : 1, draw->theme->bad);
            if (row % tiles.br || column % tiles.bc || view_bits_drawn(&part->dealt, row, column))
                continue;
            bit.w *= (float)(tiles.bc < part->columns - c ? tiles.bc : part->columns - c);
            bit.h *= (float)(tiles.br < part->rows - r ? tiles.br : part->rows - r);
            view_frame_dashed(draw, view_box_inset(bit, 2, 2), 1, 2, 3, draw->theme->edge);
        }
}

bool view_bits_deal(const struct view_scene *scene, int which, struct view_bits *bits)
{
    for (int run = 0; run < scene->runs; run++) {
        const struct view_moment *moment = &scene->moment[run];
        const struct fa_problem *p = &view_run_header(moment->run)->problem;
        struct view_bits_dealt *dealt = run == which ? &bits->dealt : &bits->other;
        bool wanted = run == which || (!scene->frame->covered && p->nq == bits->problem.nq &&
                                       p->nk == bits->problem.nk);
        if (wanted && view_run_turns(moment->run, bits->head, &dealt->turns)) {
            dealt->run = moment->run;
            dealt->landed = moment->at.landed;
        }
    }
    return bits->dealt.run != NULL;
}

const char *view_bits_compare(const struct view_bits *bits, char *text, size_t size)
{
    int64_t both = 0, other = 0;
    for (int64_t row = 0; bits->other.run && row < bits->problem.nq; row++)
        for (int64_t column = 0; column < bits->problem.nk; column++) {
            both += is_shared(bits, row, column);
            other += differs(bits, row, column);
        }
    if (both == 0)
        return NULL;
    snprintf(text, size, "%s of %s bits differ", SIM_GROUPED(other), SIM_GROUPED(both));
    return text;
}
