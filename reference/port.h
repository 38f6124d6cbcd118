/*
 * The memory port: the only way an algorithm reaches memory or does arithmetic.
 *
 * An algorithm is written once, in terms of tiles that it allocates on chip, loads, computes with
 * and stores. What those verbs do is the port's business: the plain port (plain_port.h) moves the
 * data and counts nothing; the simulator's memory counts every access, enforces the capacity,
 * keeps a trace, and may leave the data out altogether. So the code that computes the answer is
 * the code that is counted and drawn.
 *
 * Errors are sticky: after the first one every verb does nothing, so that the text of an algorithm
 * reads like the paper. Whoever started the run looks at port->status.
 *
 * A port belongs to one worker. Tiles on chip are named by what they hold; at most one tile of a
 * name is live at a time.
 */
#ifndef FA_PORT_H
#define FA_PORT_H

#include "reference/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every tensor in HBM, then what exists only on chip. */
enum fa_tensor_id {
    FA_Q,
    FA_K,
    FA_V,
    FA_O,
    FA_DO,
    FA_DQ,
    FA_DK,
    FA_DV,
    FA_LSE,
    FA_L, /* row sums of exp(s - m) */
    FA_M, /* row maxima */
    FA_S, /* scores */
    FA_P, /* weights */
    FA_DP,
    FA_DS,
    FA_DELTA,
    FA_MASK,
    FA_BIAS,
    FA_DROPOUT, /* keep mask of dropout */
    FA_PD,      /* `standard` alone: P after dropout; counted as P */
    FA_HBM_TENSORS,
    FA_TILE_L = FA_HBM_TENSORS, /* Algorithm 1's l and m of one tile alone */
    FA_TILE_M,
    FA_TENSORS
};

/* "q", "k", ..., "tile_l", "tile_m". */
const char *fa_tensor_name(enum fa_tensor_id id);

/*
 * A tile on chip. `rows` and `columns` say what it holds now, never padded; the capacities what it
 * was allocated for. Only kernels and ports look at the cells, which are of the compute type (f32,
 * or f64 when the problem's dtype is f64) and already rounded to `format`.
 *
 * K, V and the gradients dQ, dK, dV are row-major: cell (r, c) at r * ld + c. All others keep the
 * rows innermost: cell (r, c) at c * ld + r, so that kernels work on FA_LANES queries at once and no
 * sum is ever reordered. ld is a multiple of FA_LANES.
 */
enum { FA_LANES = 16 };

struct fa_tile {
    int64_t rows, columns;
    int64_t row_capacity, column_capacity;
    int64_t ld, row_ld; /* row_ld: of row_cells */
    enum fa_dtype format;
    bool live;
    bool row_major;
    bool alias;      /* a second name for another tile's cells */
    bool non_finite; /* a loaded Q, K, V or dO holds a NaN or an infinity */
    bool by_rows;    /* keeps a row-major copy beside the other: see FA_OP_GRAD_V */
    uint64_t bytes;  /* what it occupies on chip, by its capacity and format */
    uint64_t place;  /* offset on chip in bytes */
    void *cells;     /* NULL when nothing is computed */
    void *row_cells; /* the row-major copy */
};

/* Tile operations. Operands are the live tiles of those names; the cost of each, in floating-point
 * operations, is stated in tile_cost.h. Equation numbers are those of reference/README.md. */
enum fa_op {
    FA_OP_START,        /* O = 0, l = 0, m = -inf, of those that are live */
    FA_OP_SCORE,        /* S = scale Q K^T                                   (1) */
    FA_OP_BIAS,         /* S = S + bias                                      (2) */
    FA_OP_HIDE,         /* S = -inf where causal or window hides             (2) */
    FA_OP_MASK,         /* S = -inf where the element mask is 0              (2) */
    FA_OP_SOFTMAX_ROWS, /* S holds whole rows: m, l, P = exp(S - m) / l      (3) */
    FA_OP_ROW_STATS,    /* m, l absorb S                                     (6) */
    FA_OP_NORMALISE,    /* P = exp(S - m) / l                                (3) */
    FA_OP_ABSORB,       /* m, l absorb S; O rescaled; P = exp(S - m)         (6) (7) */
    FA_OP_TILE_SOFTMAX, /* tile_m, tile_l, P = exp(S - tile_m)               (5) */
    FA_OP_UPDATE,       /* m, l absorb tile_m, tile_l; O and P rescaled      (8) */
    FA_OP_ACCUMULATE,   /* O = O + P V                                       (4) (7) */
    FA_OP_FINISH,       /* O = O / l, m becomes LSE = m + ln l               (9) */
    FA_OP_FINISH_STATS, /* m becomes LSE = m + ln l                          (9) */
    FA_OP_NO_WEIGHTS,   /* P = 0: a skipped tile, hidden throughout */
    FA_OP_WEIGHTS,      /* P = exp(S - LSE)                                  (16) */
    FA_OP_DROPOUT,      /* P = P Z, with the Z of (11)                       (11) */
    FA_OP_START_S,      /* S = 0 */
    FA_OP_SCORE_PART,   /* S = S + Q K^T of some columns of Q and K          (1) */
    FA_OP_SCALE_S,      /* S = scale S                                       (1) */
    FA_OP_ACCUMULATE_PART, /* O = O + P V of some columns of O and V         (4) */
    FA_OP_KEEP,         /* the keep mask's bits from the seed */
    FA_OP_START_DQ,     /* dQ = 0 */
    FA_OP_START_DELTA,  /* delta = 0 */
    FA_OP_START_DKV,    /* dK = 0, dV = 0, of those that are live */
    FA_OP_DELTA,        /* delta = rowsum(dO O)                              (13) */
    FA_OP_DP,           /* dP = dO V^T                                       (12) */
    FA_OP_DROPOUT_DP,   /* dP = dP Z                                         (12) */
    FA_OP_GRAD_S,       /* dS = P (dP - delta), in dP's place                (13) */
    FA_OP_GRAD_V,       /* dV = dV + P^T dO                                  (11) */
    FA_OP_GRAD_Q,       /* dQ = dQ + scale dS K                              (14) */
    FA_OP_GRAD_K,       /* dK = dK + scale dS^T Q                            (15) */
    FA_OP_GRAD_S_ROWS,  /* whole rows: delta = rowsum(P dP), dS              (13) */
    FA_OP_ROW_DELTA,    /* delta absorbs rowsum(P dP) of a chunk             (13) */
    FA_OP_COUNT
};

const char *fa_op_name(enum fa_op op); /* "score", "absorb", ... */

#define FA_BIT(id) (UINT32_C(1) << (id))

/* Tiles of the run, and what the row-wise steps of `standard` take at a time. */
struct fa_tiles {
    int64_t br, bc;        /* 1 or more; a tile never exceeds the matrix */
    int64_t row_block;     /* rows of one row-wise step, 1 or more */
    int64_t column_chunk;  /* columns of one: nk (or more) means whole rows */
};

/* One execution: the problem, its tiles, and its tensors in HBM by name (shape 0: not used). */
struct fa_run {
    struct fa_problem problem;
    struct fa_tiles tiles;
    struct fa_tensor tensor[FA_HBM_TENSORS];
    bool backward;
    /* Outside the machine: where `standard` and `flash1` leave LSE without traffic. Shape
     * [batch, heads, nq, 1]; data NULL: nobody wants it. */
    struct fa_tensor lse_outside;
};

/* Where the algorithm stands: head is batch * heads + head; i is the query tile, j the key tile
 * (-1: none); step indexes the algorithm's table; line is the line of its source. */
struct fa_place {
    int64_t head, i, j;
    int32_t step, line;
};

/* Floating-point operations by kind; the rule is in tile_cost.h. */
struct fa_flops {
    uint64_t matmul, exp, other;
};

/* What a counting port has seen. */
struct fa_tally {
    uint64_t read[FA_HBM_TENSORS];  /* elements, HBM to chip */
    uint64_t write[FA_HBM_TENSORS]; /* elements, chip to HBM */
    struct fa_flops flops;
    uint64_t tiles_visited, tiles_masked, tiles_skipped;
};

/* What is new about the tile that the next compute works on. */
enum fa_visit { FA_VISIT_NONE, FA_VISIT_WHOLE, FA_VISIT_CUT };

struct fa_port;

/* What verbs.h calls. A skip is a rectangle of tiles [i, i_end) x [j, j_end). */
struct fa_port_verbs {
    void (*alloc)(struct fa_port *port, enum fa_tensor_id id, int64_t rows, int64_t columns);
    void (*free)(struct fa_port *port, enum fa_tensor_id id);
    void (*load)(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column);
    void (*store)(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column);
    void (*compute)(struct fa_port *port, enum fa_op op);
    void (*skip)(struct fa_port *port, int64_t i, int64_t i_end, int64_t j, int64_t j_end);
    void (*reveal_lse)(struct fa_port *port, int64_t row);
};

struct fa_port {
    const struct fa_port_verbs *verbs;
    const struct fa_run *run;
    struct fa_place at;
    struct fa_tile tile[FA_TENSORS];
    enum fa_dtype compute_type; /* FA_F32 or FA_F64 */
    struct fa_tally tally;
    bool count_only;           /* loads, stores and computes are tallied in verbs.h, and that is all */
    enum fa_visit visit;       /* said of the next compute: see fa_visit */
    /* What FA_OP_ABSORB runs in place of its kernel; it counts and shows as that does. NULL: the
     * kernel, as in every real algorithm: only the faulty ones have another. */
    void (*absorb)(struct fa_port *port);
    enum fa_status status;
    struct fa_error error;
    /* Set by fa_execute while it runs: see fa_tick. */
    void (*tick)(struct fa_port *port, double share);
    void *execution;
    void *buffer[FA_TENSORS]; /* cells by name, kept between allocations */
    size_t buffer_bytes[FA_TENSORS];
    void *row_buffer[FA_TENSORS];
    size_t row_buffer_bytes[FA_TENSORS];
};

/* Gives a tile its true size for a part that begins at `row`, `column` of the tensor. */
static inline void fa_tile_clip(struct fa_tile *tile, const struct fa_tensor *tensor, int64_t row,
                                int64_t column)
{
    int64_t rows = tensor->shape[2] - row, columns = tensor->shape[3] - column;
    tile->rows = rows < tile->row_capacity ? rows : tile->row_capacity;
    tile->columns = columns < tile->column_capacity ? columns : tile->column_capacity;
}

/* Bytes that one cell of the tile occupies on chip: the dtype's size for what was only loaded (Q,
 * K, V, dO, mask, bias), 4 (f64: 8) for accumulators, scores and statistics. */
size_t fa_on_chip_bytes(const struct fa_problem *problem, enum fa_tensor_id id);

/* The format of the tensor in HBM: statistics f32 (f64: f64), masks u8, others the dtype. */
enum fa_dtype fa_hbm_format(const struct fa_problem *problem, enum fa_tensor_id id);

#ifdef __cplusplus
}
#endif
#endif
