/* The mistakes that are tried on a wrong output: which there are, and what they hide. */
#include <math.h>
#include <string.h>

#include "simulator/fault_parts.h"

/* A tile is not larger than that; what is said to be is not padded to it. */
enum { MOST_PADDING = 4096 };

/* Keys of a tile that are tried beside those that are said. */
enum { SIDES = 5 };
#define PADDED(side)                                                                               \
    "last key tile not masked, if tiles have " #side                                               \
    " keys: its padding is counted as keys, with "                                                 \
    "a score of 0 (is --tiles what the kernel uses?)"
#define CUT(side)                                                                                  \
    "the ragged last key tile is left out, if tiles have " #side " keys: the loop runs Nk / Bc "   \
    "times, rounded down (is --tiles what the kernel uses?)"
static const struct {
    int64_t keys;
    const char *padded, *cut;
} sides[SIDES] = {
    {16, PADDED(16), CUT(16)},    {32, PADDED(32), CUT(32)},    {64, PADDED(64), CUT(64)},
    {128, PADDED(128), CUT(128)}, {256, PADDED(256), CUT(256)},
};

#define LOG2_E 1.4426950408889634
#define LN_2 0.6931471805599453

struct lister {
    const struct sim_theirs *theirs;
    struct sim_fault_alternative right; /* the problem as it is */
    struct sim_fault_alternative *list;
    int n;
};

static struct sim_fault_alternative *add(struct lister *lister, enum sim_fault fault,
                                         const char *look)
{
    struct sim_fault_alternative *made = &lister->list[lister->n];
    *made = lister->right;
    made->fault = fault;
    made->look = look;
    lister->n += lister->n + 1 < SIM_MOST_ALTERNATIVES;
    return made;
}

/* Causal or window without some of its edges, or with others. */
static struct sim_fault_alternative *add_edges(struct lister *lister, enum sim_fault fault,
                                               const char *look, int64_t left, int64_t right)
{
    struct sim_fault_alternative *made = add(lister, fault, look);
    made->left = left;
    made->right = right;
    return made;
}

/* A mask where there should be none. */
static void add_causal(struct lister *lister)
{
    add_edges(lister, SIM_FAULT_OTHER,
              "right under a causal mask, aligned bottom-right: is --causal missing here?",
              SIM_NO_BOUND, 0);
    add_edges(lister, SIM_FAULT_OTHER,
              "right under a causal mask, aligned top-left: is --causal=top-left missing here?",
              SIM_NO_BOUND, 0)
        ->top_left = true;
}

/* An edge that is one key off, where the problem has it. */
static void add_edges_one_off(struct lister *lister)
{
    const int64_t left = lister->right.left, right = lister->right.right;
    bool causal = lister->theirs->problem->causal != FA_CAUSAL_NONE;
    const enum sim_fault fault = SIM_FAULT_DIAGONAL;
    if (right != SIM_NO_BOUND) {
        add_edges(lister, fault,
                  causal ? "right if each row does not see its own last key: the mask is one short "
                           "(j < i, where j <= i is meant)"
                         : "right if each row does not see its last key: the window's right edge "
                           "is one short",
                  left, right - 1);
        add_edges(lister, fault,
                  causal ? "right if each row sees one key too many: the mask is one long "
                           "(j <= i + 1, where j <= i is meant)"
                         : "right if each row sees one key too many: the window's right edge is "
                           "one long",
                  left, right + 1);
    }
    if (left != SIM_NO_BOUND) {
        add_edges(lister, fault,
                  "right if each row does not see its first key: the window's left edge is one "
                  "short",
                  left - 1, right);
        add_edges(lister, fault,
                  "right if each row sees one key too many before it: the window's left edge is "
                  "one long",
                  left + 1, right);
    }
    if (right != SIM_NO_BOUND && left != SIM_NO_BOUND) {
        add_edges(lister, fault, "right if each row sees the keys of the row before it", left + 1,
                  right - 1);
        add_edges(lister, fault, "right if each row sees the keys of the row after it", left - 1,
                  right + 1);
    }
}

/* Edges that are forgotten, or taken for one another, of a window that has both. */
static void add_edges_lost(struct lister *lister)
{
    const struct fa_problem *p = lister->theirs->problem;
    const int64_t left = lister->right.left, right = lister->right.right;
    bool causal = p->causal != FA_CAUSAL_NONE;
    if (left == SIM_NO_BOUND || right == SIM_NO_BOUND)
        return;
    add_edges(lister, SIM_FAULT_OTHER,
              causal ? "right under the causal mask alone: the window's left edge is not applied"
                     : "right without the window's left edge: it is not applied",
              SIM_NO_BOUND, right);
    add_edges(lister, SIM_FAULT_OTHER,
              causal ? "right under the window's left edge alone: the causal mask is not applied"
                     : "right without the window's right edge: it is not applied",
              left, SIM_NO_BOUND);
    if (causal && p->window_right > 0)
        add_edges(lister, SIM_FAULT_OTHER,
                  "right under the window alone: the causal mask is not applied", left,
                  p->window_right);
    if (left != right && !causal)
        add_edges(lister, SIM_FAULT_OTHER,
                  "right with the window's left and right edges exchanged (--window LEFT,RIGHT)",
                  right, left);
}

static void add_diagonals(struct lister *lister)
{
    const struct fa_problem *p = lister->theirs->problem;
    bool top_left = lister->right.top_left;
    if (lister->right.left == SIM_NO_BOUND && lister->right.right == SIM_NO_BOUND) {
        add_causal(lister);
        return;
    }
    if (p->nq != p->nk)
        add(lister, SIM_FAULT_CAUSAL_ALIGNMENT,
            top_left
                ? "right with the diagonal in the bottom right corner (key j <= i + Nk - Nq): "
                  "which corner does the kernel's mask count from?"
                : "right with the diagonal in the top left corner (key j <= i): the mask does not "
                  "add Nk - Nq to the row")
            ->top_left = !top_left;
    add_edges_one_off(lister);
    add_edges_lost(lister);
    add_edges(lister, SIM_FAULT_OTHER,
              "right without the causal mask or window: it is not applied at all", SIM_NO_BOUND,
              SIM_NO_BOUND);
    /* After those that it is the same as where the diagonal cuts all tiles. */
    add(lister, SIM_FAULT_DIAGONAL,
        "right if the mask is applied to whole tiles alone: in the tiles that the diagonal cuts, "
        "the elements past it are not masked (or --tiles is not what the kernel uses)")
        ->by_tiles = true;
}

/* The last key tile's padding as keys: of zeros or of the last key again, which the mask hides from
 * some rows or does not. */
static void add_padding(struct lister *lister, int64_t missing)
{
    bool masked = lister->theirs->problem->causal != FA_CAUSAL_NONE ||
                  lister->theirs->problem->window_right >= 0;
    if (missing > MOST_PADDING)
        return;
    for (int kind = 0; kind < (masked ? 4 : 2); kind++) {
        bool again = kind % 2 == 1;
        struct sim_fault_alternative *made = add(
            lister, SIM_FAULT_LAST_TILE,
            again ? "last key tile not masked: loads past the end repeat the last key, and are "
                    "counted as keys (Nk % Bc)"
                  : "last key tile not masked: its padding is counted as keys, with a score of 0 "
                    "(Nk % Bc)");
        made->more_keys = missing;
        made->repeat_last = again;
        made->all_see_them = kind >= 2;
    }
}

static void add_tiles(struct lister *lister)
{
    const struct sim_theirs *t = lister->theirs;
    int64_t over = t->problem->nk % t->bc;
    if (over == 0)
        return;
    add_padding(lister, t->bc - over);
    if (t->problem->nk > over)
        add(lister, SIM_FAULT_LAST_TILE,
            "the ragged last key tile is left out: the loop runs Nk / Bc times, rounded down")
            ->more_keys = -over;
    add(lister, SIM_FAULT_LAST_TILE,
        "the last key of a ragged tile is left out: its bound is one short")
        ->more_keys = -1;
    add(lister, SIM_FAULT_LAST_TILE,
        "one key past the last is counted, with a score of 0: the bound is one long")
        ->more_keys = 1;
}

/* The same of other tiles than those that are said, or assumed. */
static void add_other_tiles(struct lister *lister)
{
    const struct sim_theirs *t = lister->theirs;
    int64_t nk = t->problem->nk, over_before = nk % t->bc;
    int64_t padded_before = (t->bc - over_before) % t->bc;
    for (int s = 0; s < SIDES; s++) {
        int64_t over = nk % sides[s].keys, missing = sides[s].keys - over;
        if (over == 0)
            continue;
        if (missing != padded_before) {
            struct sim_fault_alternative *made = add(lister, SIM_FAULT_LAST_TILE, sides[s].padded);
            made->more_keys = missing;
            made->all_see_them = true;
        }
        if (over != over_before && nk > over)
            add(lister, SIM_FAULT_LAST_TILE, sides[s].cut)->more_keys = -over;
        padded_before = missing;
        over_before = over;
    }
}

static void add_scales(struct lister *lister)
{
    const struct fa_problem *p = lister->theirs->problem;
    double d = (double)p->d, power = 1;
    while (power < d)
        power *= 2;
    const struct {
        double scale;
        const char *look;
    } scales[] = {
        {1, "right with a scale of 1: Q K^T is not scaled"},
        {1 / sqrt(d), "right with the default scale 1/sqrt(d): --scale is not read"},
        {sqrt(d), "right with a scale of sqrt(d): multiplied where it should be divided"},
        {1 / d, "right with a scale of 1/d: scaled twice, or the square root is missing"},
        {p->scale * p->scale, "right with the scale squared: applied twice"},
        {1 / sqrt(64), "right with the scale of d = 64: it comes from a padded head size"},
        {1 / sqrt(128), "right with the scale of d = 128: it comes from a padded head size"},
        {1 / sqrt(256), "right with the scale of d = 256: it comes from a padded head size"},
        {1 / sqrt(power), "right with the scale of d rounded up to a power of two: it comes from a "
                          "padded head size"},
        {p->scale * LN_2,
         "right with scale ln 2: 2^x stands for e^x, and log2(e) is not multiplied "
         "into the scale"},
        {p->scale * LOG2_E, "right with scale log2(e): e^x stands where 2^x is meant"},
    };
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if (fabs(scales[i].scale - p->scale) > 1e-9 * fabs(p->scale))
            add(lister, SIM_FAULT_SCALE, scales[i].look)->scale = scales[i].scale;
}

static void add_matrices(struct lister *lister)
{
    const struct sim_theirs *t = lister->theirs;
    const struct fa_problem *p = t->problem;
    struct fa_tensor view;
    if (p->kv_heads > 1 && p->heads > p->kv_heads)
        add(lister, SIM_FAULT_HEAD_SWAP,
            "right if query head h reads K/V head h mod kv_heads: it should be h / (heads / "
            "kv_heads)")
            ->heads_modulo = true;
    if (p->kv_heads > 1)
        add(lister, SIM_FAULT_HEAD_SWAP, "right if all heads read K and V of head 0")->first_head =
            true;
    if (p->batch > 1)
        add(lister, SIM_FAULT_HEAD_SWAP, "right if all sequences read K and V of the first one")
            ->first_batch = true;
    if (sim_fault_view_layout(t->q, &view) || sim_fault_view_layout(t->k, &view))
        add(lister, SIM_FAULT_LAYOUT,
            "right if all tensors are read and written in the other order of heads and rows: bshd "
            "taken for bhsd, or the other way round")
            ->other_layout = true;
    if (sim_fault_view_transposed(t->k, &view))
        add(lister, SIM_FAULT_TRANSPOSED, "right if K is read as though it were stored transposed")
            ->k_transposed = true;
    if (sim_fault_view_transposed(t->v, &view))
        add(lister, SIM_FAULT_TRANSPOSED, "right if V is read as though it were stored transposed")
            ->v_transposed = true;
}

/* Windows that are wider than the scores hide no more than one of that width, which may be added
 * to without overflow. */
static int64_t edge_of(const struct fa_problem *p, int64_t window)
{
    int64_t far = 2 * (p->nq + p->nk) + 2;
    if (window < 0)
        return SIM_NO_BOUND;
    return window < far ? window : far;
}

struct sim_fault_alternative sim_fault_alternative_none(const struct sim_theirs *theirs)
{
    const struct fa_problem *p = theirs->problem;
    return (struct sim_fault_alternative){
        .scale = p->scale,
        .top_left = p->causal == FA_CAUSAL_TOP_LEFT,
        .left = edge_of(p, p->window_left),
        .right = p->causal != FA_CAUSAL_NONE ? 0 : edge_of(p, p->window_right),
    };
}

int sim_fault_alternatives_list(const struct sim_theirs *theirs,
                                struct sim_fault_alternative list[SIM_MOST_ALTERNATIVES])
{
    const struct fa_problem *p = theirs->problem;
    struct lister lister = {.theirs = theirs, .list = list};
    lister.right = sim_fault_alternative_none(theirs);
    add_diagonals(&lister);
    add_tiles(&lister);
    add_other_tiles(&lister);
    add_scales(&lister);
    add_matrices(&lister);
    if (p->dropout_p > 0)
        add(&lister, SIM_FAULT_OTHER, "right without dropout: it is not applied")->no_dropout =
            true;
    return lister.n;
}

/* Whether a block of rows r0 .. r1 and keys k0 .. k1 has a pair that causal and window show: what
 * the rows see together is an interval. */
static bool span_shows(const struct sim_fault_alternative *a, const struct fa_problem *p,
                       int64_t r0, int64_t r1, int64_t k0, int64_t k1)
{
    int64_t shift = a->top_left ? 0 : p->nk - p->nq;
    if (a->right != SIM_NO_BOUND && k0 > r1 + shift + a->right)
        return false;
    return a->left == SIM_NO_BOUND || k1 >= r0 + shift - a->left;
}

bool sim_fault_shows(const struct sim_fault_alternative *alternative,
                     const struct sim_theirs *theirs, int64_t batch, int64_t head, int64_t row,
                     int64_t key)
{
    const struct fa_problem *p = theirs->problem;
    const struct fa_tensor *mask = p->mask;
    int64_t r0 = row, r1 = row, k0 = key, k1 = key;
    if (alternative->by_tiles) {
        r0 = row / theirs->br * theirs->br;
        r1 = r0 + theirs->br - 1 < p->nq ? r0 + theirs->br - 1 : p->nq - 1;
        k0 = key / theirs->bc * theirs->bc;
        k1 = k0 + theirs->bc - 1;
    }
    if (key >= p->nk && alternative->all_see_them)
        return true;
    if (!span_shows(alternative, p, r0, r1, k0, k1))
        return false;
    if (key >= p->nk)
        return true;
    if (p->blocks &&
        !p->blocks->visit[row / p->blocks->br * p->blocks->columns + key / p->blocks->bc])
        return false;
    return !mask ||
           fa_tensor_get(mask, fa_problem_batch(mask, batch), fa_problem_head(p, mask, head),
                         mask->shape[2] == 1 ? 0 : row, mask->shape[3] == 1 ? 0 : key) != 0;
}
