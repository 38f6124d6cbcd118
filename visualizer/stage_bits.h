/*
 * What the stage of keep bits shares with its bits in turn: stage_bits.c draws them,
 * stage_bits_turns.c knows which were dealt out, and which of them two runs have otherwise.
 */
#ifndef VIEW_STAGE_BITS_H
#define VIEW_STAGE_BITS_H

#include "visualizer/stage_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bits that a run has dealt out by now. */
struct view_bits_dealt {
    const struct view_run *run; /* NULL: bits go by their place */
    uint64_t landed;
    struct view_turns turns;
};

struct view_bits {
    struct fa_problem problem;          /* with the given mask, if there was one */
    int64_t head;                       /* over the batch */
    int64_t row, column, rows, columns; /* of the scores */
    struct view_bits_dealt dealt, other; /* of this run, and of the one it is compared with */
};

/* The run has drawn that bit by now: its tile has had its turn. */
bool view_bits_drawn(const struct view_bits_dealt *dealt, int64_t row, int64_t column);

/* Frames round the bits of a part that the other run has otherwise, and dashes round tiles whose
 * bits are not drawn yet. A bit is `cell` pixels wide. */
void view_bits_frame(struct view_draw *draw, const struct view_bits *part, struct view_box box,
                     float cell);

/* The bits of run `which` in turn, and those of the other, but while a prediction is open. False
 * where it has none. */
bool view_bits_deal(const struct view_scene *scene, int which, struct view_bits *bits);

/* "74 of 256 bits differ", of those that both runs have drawn; NULL: there are none. */
const char *view_bits_compare(const struct view_bits *bits, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
