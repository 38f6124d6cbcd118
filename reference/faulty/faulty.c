/* The updates of faulty.h, the kernel that they share, and flash2's loop round it. */
#include "reference/faulty/faulty.h"

#include <math.h>
#include <string.h>

#include "reference/dropout.h"
#include "reference/plain_port.h"
#include "reference/scores.h"
#include "reference/verbs.h"
#include "reference/visibility.h"

/* ---- the updates ----------------------------------------------------------------------------- */

/* A row when a tile of scores has come: m and l before, m after, the sum of exp(s - m after). */
struct row {
    double m, l, m_new, sum;
};

/* O = o O + P V with P = p exp(s - m after), and l. */
struct update {
    double o, p, l;
};

/* exp(m - m'); 0 at a row's first tile, which finds no O to keep. */
static double shrink(const struct row *row)
{
    return row->m == -INFINITY ? 0 : exp(row->m - row->m_new);
}

static double grow(const struct row *row)
{
    return row->m == -INFINITY ? 0 : exp(row->m_new - row->m);
}

static double new_l(const struct row *row)
{
    return shrink(row) * row->l + row->sum;
}

/* A row that sees no key yet has l = 0: it stays as it is. */
static double over(double a, double l)
{
    return l == 0 ? a : a / l;
}

static struct update update_healthy(const struct row *row)
{
    double l = new_l(row);
    return (struct update){over(row->l, l) * shrink(row), over(1, l), l};
}

static struct update update_a(const struct row *row)
{
    double l = new_l(row);
    return (struct update){shrink(row), over(1, l), l};
}

static struct update update_b(const struct row *row)
{
    double l = new_l(row);
    return (struct update){over(row->l, l) * grow(row), over(1, l), l};
}

static struct update update_c(const struct row *row)
{
    double l = new_l(row);
    return (struct update){over(row->l, l), over(1, l), l};
}

static struct update update_e(const struct row *row)
{
    double l = row->sum;
    return (struct update){over(row->l, l) * shrink(row), over(1, l), l};
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void put(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column,
                double value)
{
    const struct fa_tile *tile = &port->tile[id];
    fa_dtype_set(port->compute_type, tile->cells, column * tile->ld + row, value);
}

/* exp(s - m), and -0 for a hidden key (see tile_kernels.h); where m is -inf all keys are hidden. */
static double weight(const struct fa_port *port, int64_t row, int64_t key, double m)
{
    double s = fa_tile_get(port, FA_S, row, key);
    return s == -INFINITY ? -0.0 : exp(s - m);
}

/* In doubles, rounded where they are put: only the fault is to be seen. */
static void absorb_row(struct fa_port *port, int64_t r,
                       struct update (*update_of)(const struct row *row))
{
    int64_t keys = port->tile[FA_S].columns, columns = port->tile[FA_O].columns;
    struct row row = {.m = fa_tile_get(port, FA_M, r, 0), .l = fa_tile_get(port, FA_L, r, 0)};
    row.m_new = row.m;
    for (int64_t key = 0; key < keys; key++) {
        double s = fa_tile_get(port, FA_S, r, key);
        row.m_new = s > row.m_new ? s : row.m_new;
    }
    for (int64_t key = 0; key < keys; key++)
        row.sum += weight(port, r, key, row.m_new);
    struct update update = update_of(&row);
    for (int64_t key = 0; key < keys; key++)
        put(port, FA_P, r, key, update.p * weight(port, r, key, row.m_new));
    for (int64_t c = 0; c < columns; c++)
        put(port, FA_O, r, c, update.o * fa_tile_get(port, FA_O, r, c));
    put(port, FA_M, r, 0, row.m_new);
    put(port, FA_L, r, 0, update.l);
}

static void absorb(struct fa_port *port, struct update (*update_of)(const struct row *row))
{
    for (int64_t r = 0; r < port->tile[FA_S].rows; r++)
        absorb_row(port, r, update_of);
}

static void absorb_healthy(struct fa_port *port)
{
    absorb(port, update_healthy);
}

static void absorb_a(struct fa_port *port)
{
    absorb(port, update_a);
}

static void absorb_b(struct fa_port *port)
{
    absorb(port, update_b);
}

static void absorb_c(struct fa_port *port)
{
    absorb(port, update_c);
}

static void absorb_e(struct fa_port *port)
{
    absorb(port, update_e);
}

/* ---- the loop -------------------------------------------------------------------------------- */

enum { RESERVE, LOAD_Q, START, SKIP, LOAD_KV, SCORE, MODIFY, UPDATE, DROP, ACCUMULATE, FINISH,
       STORE_O, STORE_LSE, STEPS };

static void visit(struct fa_port *port, int64_t i, int64_t j, bool cut)
{
    const struct fa_run *run = port->run;
    fa_visit(port, cut);
    fa_step(port, LOAD_KV);
    fa_load(port, FA_K, j * run->tiles.bc, 0);
    fa_load(port, FA_V, j * run->tiles.bc, 0);
    fa_step(port, SCORE);
    fa_compute(port, FA_OP_SCORE);
    fa_step(port, MODIFY);
    if (cut || fa_scores_any(run))
        fa_scores_modify(port, i, j, cut);
    fa_step(port, UPDATE);
    fa_compute(port, FA_OP_ABSORB);
    if (fa_dropout_any(run)) {
        fa_step(port, DROP);
        fa_dropout_load(port, i, j);
        fa_compute(port, FA_OP_DROPOUT);
    }
    fa_step(port, ACCUMULATE);
    fa_compute(port, FA_OP_ACCUMULATE);
}

static void visit_row(struct fa_port *port, int64_t head, int64_t i, struct fa_span seen)
{
    const struct fa_run *run = port->run;
    struct fa_span whole = fa_whole_key_tiles(run, i);
    fa_step(port, SKIP);
    fa_skip(port, i, i + 1, 0, seen.first);
    for (int64_t j = seen.first; j < seen.end; j++) {
        if (!fa_block_visits(run, i, j)) {
            fa_step(port, SKIP);
            fa_skip(port, i, i + 1, j, j + 1);
            continue;
        }
        fa_at(port, head, i, j);
        visit(port, i, j, fa_outside(whole, j));
    }
    fa_step(port, SKIP);
    fa_skip(port, i, i + 1, seen.end, fa_tile_count(run->problem.nk, run->tiles.bc));
}

static void reserve(struct fa_port *port)
{
    const struct fa_problem *problem = &port->run->problem;
    const struct fa_tiles *tiles = &port->run->tiles;
    int64_t rows = tiles->br < problem->nq ? tiles->br : problem->nq;
    int64_t columns = tiles->bc < problem->nk ? tiles->bc : problem->nk;
    fa_alloc(port, FA_Q, rows, problem->d);
    fa_alloc(port, FA_K, columns, problem->d);
    fa_alloc(port, FA_V, columns, problem->dv);
    fa_alloc(port, FA_O, rows, problem->dv);
    fa_alloc(port, FA_S, rows, columns);
    fa_alloc(port, FA_L, rows, 1);
    fa_alloc(port, FA_M, rows, 1);
    fa_alias(port, FA_P, FA_S);
    fa_alias(port, FA_LSE, FA_M);
    fa_scores_alloc(port, rows, columns);
    fa_dropout_alloc(port, rows, columns);
}

static void release(struct fa_port *port)
{
    static const enum fa_tensor_id tiles[] = {FA_M, FA_L, FA_S, FA_O, FA_V, FA_K, FA_Q};
    fa_dropout_free(port);
    fa_scores_free(port);
    for (size_t n = 0; n < sizeof tiles / sizeof *tiles; n++)
        fa_free(port, tiles[n]);
}

/* finish: FA_OP_FINISH divides O by l, FA_OP_FINISH_STATS forms LSE alone. */
static void row_block(struct fa_port *port, int64_t head, int64_t i,
                      void (*update)(struct fa_port *port), enum fa_op finish)
{
    const struct fa_run *run = port->run;
    int64_t first_row = i * run->tiles.br;
    struct fa_span seen = fa_visible_key_tiles(run, i);

    port->absorb = update;
    fa_at(port, head, i, -1);
    fa_step(port, RESERVE);
    reserve(port);
    fa_step(port, LOAD_Q);
    if (fa_row_is_visited(run, i, seen))
        fa_load(port, FA_Q, first_row, 0);
    fa_step(port, START);
    fa_compute(port, FA_OP_START);
    visit_row(port, head, i, seen);
    fa_at(port, head, i, -1);
    fa_step(port, FINISH);
    fa_compute(port, finish);
    fa_step(port, STORE_O);
    fa_store(port, FA_O, first_row, 0);
    fa_step(port, STORE_LSE);
    fa_store(port, FA_LSE, first_row, 0);
    release(port);
    port->absorb = NULL;
}

/* ---- the algorithms -------------------------------------------------------------------------- */

static const char *const phases[] = {"attention"};

static int64_t units(const struct fa_run *run, int phase)
{
    (void)phase;
    return fa_tile_count(run->problem.nq, run->tiles.br);
}

#define M_NEW "m_new = max(m, rowmax S), "
#define L_NEW "l_new = exp(m - m_new) l + rowsum exp(S - m_new), "
#define P_NEW ", P = exp(S - m_new) / l_new"
#define LSE "LSE_i = m_i + ln l_i"

/* One of the seven: `x` is its symbol; the rest is what its steps say, what its unit runs, and
 * whether O is divided at all times. */
#define VARIANT(x, called, headline, says_update, says_finish, update, finish, divided)            \
    static const struct fa_step steps_##x[STEPS] = {                                               \
        [RESERVE] = {"Algorithm 1, line 1", "reserve Q_i, O_i, l_i, m_i, K_j, V_j, S_ij on chip",  \
                     0},                                                                           \
        [LOAD_Q] = {"Algorithm 1, line 4", "load Q_i", 0},                                         \
        [START] = {"Algorithm 1, line 5", "O_i = 0, l_i = 0, m_i = -inf", 0},                      \
        [SKIP] = {"Section 3.1.1", "skip tiles that no row of Q_i sees", 0},                       \
        [LOAD_KV] = {"Algorithm 1, line 7", "load K_j, V_j", 0},                                   \
        [SCORE] = {"Algorithm 1, line 8", "S_ij = scale Q_i K_j^T", 0},                            \
        [MODIFY] = {"Algorithm 1, line 8", "S_ij: add the bias, hide what the masks hide", 0},     \
        [UPDATE] = {"Algorithm 1, line 9", says_update, 0},                                        \
        [DROP] = {"after Algorithm 1, line 9",                                                     \
                  "P: what dropout dropped is 0, the rest over 1 - p", 0},                         \
        [ACCUMULATE] = {"Algorithm 1, line 10", "O_i = O_i + P V_j", 0},                           \
        [FINISH] = {"Algorithm 1, lines 12 and 13", says_finish, 0},                               \
        [STORE_O] = {"Algorithm 1, line 14", "store O_i", 0},                                      \
        [STORE_LSE] = {"Algorithm 1, line 15", "store LSE_i", 0},                                  \
    };                                                                                             \
    static void unit_##x(struct fa_port *port, int phase, int64_t head, int64_t i)                 \
    {                                                                                              \
        (void)phase;                                                                               \
        row_block(port, head, i, update, finish);                                                  \
    }                                                                                              \
    const struct fa_algorithm fa_##x = {                                                           \
        .name = called,                                                                            \
        .title = headline,                                                                         \
        .source = "after FlashAttention-2 (arXiv 2307.08691), Algorithm 1",                        \
        .file = "reference/faulty/faulty.c",                                                       \
        .steps = steps_##x,                                                                        \
        .n_steps = STEPS,                                                                          \
        .n_phases = 1,                                                                             \
        .phases = phases,                                                                          \
        .normalised = divided,                                                                     \
        .stores_lse = true,                                                                        \
        .units = units,                                                                            \
        .unit = unit_##x,                                                                          \
    };

extern const struct fa_algorithm fa_faulty_a, fa_faulty_b, fa_faulty_c, fa_faulty_d, fa_faulty_e,
    fa_faulty_f;

VARIANT(healthy, "healthy", "tiled attention with Q outside: O stays on chip, divided at all times",
        M_NEW L_NEW "O_i = (l / l_new) exp(m - m_new) O_i" P_NEW, LSE,
        absorb_healthy, FA_OP_FINISH_STATS, true)
VARIANT(faulty_a, "faulty-a", "update A", M_NEW L_NEW "O_i = exp(m - m_new) O_i" P_NEW, LSE,
        absorb_a, FA_OP_FINISH_STATS, true)
VARIANT(faulty_b, "faulty-b", "update B",
        M_NEW L_NEW "O_i = (l / l_new) exp(m_new - m) O_i" P_NEW, LSE,
        absorb_b, FA_OP_FINISH_STATS, true)
VARIANT(faulty_c, "faulty-c", "update C", M_NEW L_NEW "O_i = (l / l_new) O_i" P_NEW, LSE,
        absorb_c, FA_OP_FINISH_STATS, true)
VARIANT(faulty_d, "faulty-d", "update D",
        M_NEW L_NEW "O_i = (l / l_new) exp(m - m_new) O_i" P_NEW, "O_i = O_i / l_i, " LSE,
        absorb_healthy, FA_OP_FINISH, true)
VARIANT(faulty_e, "faulty-e", "update E",
        M_NEW "l_new = rowsum exp(S - m_new), O_i = (l / l_new) exp(m - m_new) O_i" P_NEW, LSE,
        absorb_e, FA_OP_FINISH_STATS, true)
VARIANT(faulty_f, "faulty-f", "update F",
        M_NEW "P = exp(S - m_new), l = exp(m - m_new) l + rowsum P, O_i = exp(m - m_new) O_i", LSE,
        NULL, FA_OP_FINISH_STATS, false)

const struct fa_algorithm *const fa_faulty_algorithms[FA_FAULTY] = {
    &fa_faulty_a, &fa_faulty_b, &fa_faulty_c, &fa_faulty_d, &fa_faulty_e, &fa_faulty_f,
};

const struct fa_algorithm *fa_faulty_find(const char *name)
{
    for (int f = 0; f < FA_FAULTY; f++)
        if (strcmp(fa_faulty_algorithms[f]->name, name) == 0)
            return fa_faulty_algorithms[f];
    return strcmp(fa_healthy.name, name) == 0 ? &fa_healthy : NULL;
}

const struct fa_fault fa_faults[FA_FAULTY] = {
    {"P is divided by the new l, but O, which was divided by the old one, is not brought to the "
     "new one: the factor l / l_new is forgotten",
     "at the second tile that a row sees"},
    {"O is multiplied by exp(m_new - m), the inverse of the factor that it needs",
     "at the first tile after a row's first in which its maximum rises"},
    {"O is not rescaled to the new maximum: the factor exp(m - m_new) is missing",
     "at the first tile after a row's first in which its maximum rises"},
    {"O is divided by l at each tile, and by l once more at the end",
     "after the last tile"},
    {"l is the sum of the last tile alone: the sum of the tiles before is forgotten",
     "at the second tile that a row sees"},
    {"O is never divided by l",
     "after the last tile, where the division belongs"},
};

const struct fa_faulty_probe fa_faulty_probes[FA_FAULTY_PROBES] = {
    {"random", FA_PROFILE_GAUSS, 64, 16, 16, 16},
    {"equal", FA_PROFILE_EQUAL, 64, 16, 16, 16},
    {"rising", FA_PROFILE_RISING, 64, 16, 16, 16},
    {"falling", FA_PROFILE_FALLING, 64, 16, 16, 16},
    {"one tile", FA_PROFILE_GAUSS, 64, 16, 16, 64},
};
