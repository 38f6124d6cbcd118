/*
 * Six online softmaxes with a fault each, and one without: to find the fault by what it does, and
 * to see that a check finds it. They are a library of their own, which nothing that is right needs.
 *
 * All have flash2's loop, Q outside, and its traffic; what they do to a row when a tile of scores
 * comes differs. `healthy` keeps O divided by l at all times:
 *
 *   m' = max(m, rowmax S),  l' = exp(m - m') l + rowsum exp(S - m'),
 *   O' = (l / l') exp(m - m') O + P V,  P = exp(S - m') / l'
 *
 *   A   O' without l / l': the pseudocode that is copied most
 *   B   O' with exp(m' - m): the inverse, as misprinted in the FlashAttention-2 paper
 *   C   O' without exp(m - m')
 *   D   right, but divided by l once more at the end
 *   E   l' without the l before it: the sum of the last tile alone, in l / l', P and LSE too
 *   F   flash2's own update, which leaves O undivided, without the division at the end
 *
 * O of B, C and E at the end is the same as if it were kept undivided, with the same fault. No row
 * keeps anything of the O that its first tile finds, which is 0. The update counts as FA_OP_ABSORB
 * does and the traces are alike, so that only values tell one from another.
 *
 * Each probe hides some of them. The number is that of the first key tile after which O on chip is
 * not the softmax of the keys so far (of F, whose O is undivided: O / l); "end": only what is
 * stored is wrong; "-": nothing is. In brackets: what is stored is right all the same, within the
 * budget of sim_check_forward.
 *
 *   probe        A     B     C     D     E     F
 *   random       1     1     1    end    1    end
 *   equal        1     -     -    end    1    end
 *   rising      (1)    1     1    end    1    end
 *   falling      1     -     -    end    1    end
 *   one tile     -     -     -    end    -    end
 *
 * Rising scores hide A, since each tile outweighs those before it by far: l / l' is nearly 1 / (1 +
 * exp(-4)) at tile 1, and exp(m - m') takes what that does to O back at the tiles after it.
 */
#ifndef FA_FAULTY_H
#define FA_FAULTY_H

#include "reference/algorithm.h"
#include "reference/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Their titles do not tell the fault; their steps do, as code does. They have no backward pass. */
enum { FA_FAULTY = 6 };
extern const struct fa_algorithm *const fa_faulty_algorithms[FA_FAULTY]; /* "faulty-a", ... */
extern const struct fa_algorithm fa_healthy;                             /* "healthy" */

/* One of these seven; NULL if there is none of that name. */
const struct fa_algorithm *fa_faulty_find(const char *name);

/* What there is to find out about fa_faulty_algorithms[f], in words. */
struct fa_fault {
    const char *fault;  /* what is wrong */
    const char *breaks; /* where it shows first */
};
extern const struct fa_fault fa_faults[FA_FAULTY];

/* Inputs of n queries and keys in f32. All but random and one tile have V = 1, so O must be 1. */
struct fa_faulty_probe {
    const char *name; /* "one tile" */
    enum fa_profile profile;
    int64_t n, d, br, bc;
};

enum { FA_FAULTY_PROBES = 5 };
extern const struct fa_faulty_probe fa_faulty_probes[FA_FAULTY_PROBES]; /* as in the table */

#ifdef __cplusplus
}
#endif
#endif
