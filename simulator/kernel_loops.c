#include "simulator/kernel_loops.h"

#include "reference/algorithm.h"
#include "reference/verbs.h"
#include "reference/visibility.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A tile of the tensor, as many rows as the tiles have on its side. */
static void reserve(struct fa_port *port, enum fa_tensor_id id, int64_t rows, int64_t columns)
{
    const struct fa_tensor *tensor = &port->run->tensor[id];
    fa_alloc(port, id, least(rows, tensor->shape[2]), least(columns, tensor->shape[3]));
}

static void reserve_rows(struct fa_port *port, const enum fa_tensor_id *ids, int n, int64_t rows)
{
    for (int t = 0; t < n; t++)
        reserve(port, ids[t], rows, INT64_MAX);
}

#define RESERVE(port, rows, ...)                                                                   \
    do {                                                                                           \
        const enum fa_tensor_id wanted[] = {__VA_ARGS__};                                          \
        reserve_rows(port, wanted, (int)(sizeof wanted / sizeof *wanted), rows);                   \
    } while (0)

static int64_t row_tiles(const struct fa_run *run)
{
    return fa_tile_count(run->problem.nq, run->tiles.br);
}

static int64_t key_tiles(const struct fa_run *run)
{
    return fa_tile_count(run->problem.nk, run->tiles.bc);
}

/* Every tile, hidden ones too. */
static void scores(struct fa_port *port)
{
    const struct fa_run *run = port->run;
    int64_t br = run->tiles.br, bc = run->tiles.bc, columns = key_tiles(run);
    RESERVE(port, br, FA_Q);
    RESERVE(port, bc, FA_K);
    reserve(port, FA_S, br, bc);
    for (int64_t i = 0; i < row_tiles(run); i++) {
        fa_load(port, FA_Q, i * br, 0);
        for (int64_t j = 0; j < columns; j++) {
            fa_visit(port, false);
            fa_load(port, FA_K, j * bc, 0);
            port->tile[FA_S].rows = port->tile[FA_Q].rows;
            port->tile[FA_S].columns = port->tile[FA_K].rows;
            fa_store(port, FA_S, i * br, j * bc);
        }
    }
}

/* Each row of S twice: for m and l, and to write P. */
static void softmax(struct fa_port *port)
{
    RESERVE(port, 1, FA_S, FA_P, FA_LSE);
    for (int64_t row = 0; row < port->run->problem.nq; row++) {
        fa_load(port, FA_S, row, 0);
        fa_load(port, FA_S, row, 0);
        fa_store(port, FA_P, row, 0);
        fa_store(port, FA_LSE, row, 0);
    }
}

static void product(struct fa_port *port)
{
    const struct fa_run *run = port->run;
    int64_t br = run->tiles.br, bc = run->tiles.bc, columns = key_tiles(run);
    reserve(port, FA_P, br, bc);
    RESERVE(port, bc, FA_V);
    RESERVE(port, br, FA_O);
    for (int64_t i = 0; i < row_tiles(run); i++) {
        for (int64_t j = 0; j < columns; j++) {
            fa_visit(port, false);
            fa_load(port, FA_P, i * br, j * bc);
            fa_load(port, FA_V, j * bc, 0);
        }
        fa_tile_clip(&port->tile[FA_O], &run->tensor[FA_O], i * br, 0);
        fa_store(port, FA_O, i * br, 0);
    }
}

/* Algorithm 1; in the end LSE is formed from l and m. */
static void keys_outside(struct fa_port *port)
{
    const struct fa_run *run = port->run;
    int64_t br = run->tiles.br, bc = run->tiles.bc, rows = row_tiles(run);
    static const enum fa_tensor_id kept[] = {FA_O, FA_L, FA_M};
    RESERVE(port, br, FA_Q, FA_O, FA_L, FA_M, FA_LSE);
    RESERVE(port, bc, FA_K, FA_V);
    for (int64_t i = 0; i < rows; i++)
        for (int t = 0; t < 3; t++) {
            fa_tile_clip(&port->tile[kept[t]], &run->tensor[kept[t]], i * br, 0);
            fa_store(port, kept[t], i * br, 0);
        }
    for (int64_t j = 0; j < key_tiles(run); j++) {
        const struct fa_span seen = fa_visible_query_tiles(run, j);
        fa_load(port, FA_K, j * bc, 0);
        fa_load(port, FA_V, j * bc, 0);
        for (int64_t i = seen.first; i < seen.end; i++) {
            fa_visit(port, false);
            fa_load(port, FA_Q, i * br, 0);
            for (int t = 0; t < 3; t++)
                fa_load(port, kept[t], i * br, 0);
            for (int t = 0; t < 3; t++)
                fa_store(port, kept[t], i * br, 0);
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        fa_load(port, FA_L, i * br, 0);
        fa_load(port, FA_M, i * br, 0);
        fa_tile_clip(&port->tile[FA_LSE], &run->tensor[FA_LSE], i * br, 0);
        fa_store(port, FA_LSE, i * br, 0);
    }
}

static void queries_outside(struct fa_port *port)
{
    for (int64_t i = 0; i < row_tiles(port->run); i++)
        fa_flash2.unit(port, 0, port->at.head, i);
}

/* The same for tiles by whole boxes, of which what is stored has the rows that there are. */
static void boxes_outside(struct fa_port *port)
{
    const struct fa_run *run = port->run;
    const int64_t br = run->tiles.br, bc = run->tiles.bc;
    static const enum fa_tensor_id stored[] = {FA_O, FA_LSE};
    RESERVE(port, br, FA_Q, FA_O, FA_LSE);
    RESERVE(port, bc, FA_K, FA_V);
    for (int64_t i = 0; i < row_tiles(run); i++) {
        const struct fa_span seen = fa_visible_key_tiles(run, i);
        if (seen.first < seen.end)
            fa_load(port, FA_Q, i * br, 0);
        for (int64_t j = seen.first; j < seen.end; j++) {
            fa_visit(port, false);
            fa_load(port, FA_K, j * bc, 0);
            fa_load(port, FA_V, j * bc, 0);
        }
        for (int t = 0; t < 2; t++) {
            fa_tile_clip(&port->tile[stored[t]], &run->tensor[stored[t]], i * br, 0);
            fa_store(port, stored[t], i * br, 0);
        }
    }
}

static void delta(struct fa_port *port)
{
    int64_t br = port->run->tiles.br;
    RESERVE(port, br, FA_O, FA_DO, FA_DELTA);
    for (int64_t i = 0; i < row_tiles(port->run); i++) {
        fa_load(port, FA_O, i * br, 0);
        fa_load(port, FA_DO, i * br, 0);
        port->tile[FA_DELTA].rows = port->tile[FA_O].rows;
        fa_store(port, FA_DELTA, i * br, 0);
    }
}

/* LSE and delta beside each other, both f32. */
static void stats(struct fa_port *port)
{
    int64_t br = port->run->tiles.br;
    RESERVE(port, br, FA_O, FA_DO, FA_LSE, FA_DELTA);
    for (int64_t i = 0; i < row_tiles(port->run); i++) {
        fa_load(port, FA_O, i * br, 0);
        fa_load(port, FA_DO, i * br, 0);
        fa_load(port, FA_LSE, i * br, 0);
        port->tile[FA_DELTA].rows = port->tile[FA_O].rows;
        fa_store(port, FA_LSE, i * br, 0);
        fa_store(port, FA_DELTA, i * br, 0);
    }
}

/* And zeros for the sums of dQ. */
static void stats_and_zeros(struct fa_port *port)
{
    int64_t br = port->run->tiles.br;
    stats(port);
    RESERVE(port, br, FA_DQ);
    for (int64_t i = 0; i < row_tiles(port->run); i++) {
        fa_tile_clip(&port->tile[FA_DQ], &port->run->tensor[FA_DQ], i * br, 0);
        fa_store(port, FA_DQ, i * br, 0);
    }
}

struct keys_owner {
    bool lazy;     /* K_j and V_j are loaded if a query sees them */
    bool adds;     /* dQ_i goes out at each visit */
    int64_t parts; /* blocks that share a tile of keys, each with its columns of the gradients */
};

/* One block: the heads of a group one after the other while its dK_j and dV_j stay on chip. */
static void own_keys(struct fa_port *port, const struct keys_owner *how, int64_t j, int64_t part)
{
    const struct fa_run *run = port->run;
    const int64_t br = run->tiles.br, bc = run->tiles.bc;
    const int64_t group = run->problem.heads / run->problem.kv_heads;
    const int64_t first = part * (run->problem.d / how->parts);
    const int64_t first_of_v = part * (run->problem.dv / how->parts);
    const struct fa_span seen = fa_visible_query_tiles(run, j);
    fa_tile_clip(&port->tile[FA_DK], &run->tensor[FA_DK], j * bc, first);
    fa_tile_clip(&port->tile[FA_DV], &run->tensor[FA_DV], j * bc, first_of_v);
    if (!how->lazy || seen.first < seen.end) {
        fa_load(port, FA_K, j * bc, 0);
        fa_load(port, FA_V, j * bc, 0);
    }
    for (int64_t head = 0; head < group; head++)
        for (int64_t i = seen.first; i < seen.end; i++) {
            fa_visit(port, false);
            fa_load(port, FA_Q, i * br, 0);
            fa_load(port, FA_DO, i * br, 0);
            fa_load(port, FA_LSE, i * br, 0);
            fa_load(port, FA_DELTA, i * br, 0);
            fa_tile_clip(&port->tile[FA_DQ], &run->tensor[FA_DQ], i * br, first);
            if (how->adds)
                fa_store(port, FA_DQ, i * br, first);
        }
    fa_store(port, FA_DK, j * bc, first);
    fa_store(port, FA_DV, j * bc, first_of_v);
}

static void owner_of_keys(struct fa_port *port, struct keys_owner how)
{
    const struct fa_run *run = port->run;
    const int64_t br = run->tiles.br, bc = run->tiles.bc;
    RESERVE(port, bc, FA_K, FA_V);
    reserve(port, FA_DK, bc, run->problem.d / how.parts);
    reserve(port, FA_DV, bc, run->problem.dv / how.parts);
    RESERVE(port, br, FA_Q, FA_DO, FA_LSE, FA_DELTA);
    reserve(port, FA_DQ, br, run->problem.d / how.parts);
    for (int64_t j = 0; j < key_tiles(run); j++)
        for (int64_t part = 0; part < how.parts; part++)
            own_keys(port, &how, j, part);
}

static void keys(struct fa_port *port)
{
    owner_of_keys(port, (struct keys_owner){false, false, 1});
}

static void lazy_keys(struct fa_port *port)
{
    owner_of_keys(port, (struct keys_owner){true, false, 1});
}

static void adding_keys(struct fa_port *port)
{
    owner_of_keys(port, (struct keys_owner){true, true, 1});
}

static void lazy_halves(struct fa_port *port)
{
    owner_of_keys(port, (struct keys_owner){true, false, 2});
}

static void adding_halves(struct fa_port *port)
{
    owner_of_keys(port, (struct keys_owner){true, true, 2});
}

/* `lazy`: Q_i and dO_i are loaded if they see a key. */
static void owner_of_queries(struct fa_port *port, bool lazy)
{
    const struct fa_run *run = port->run;
    int64_t br = run->tiles.br, bc = run->tiles.bc;
    RESERVE(port, br, FA_Q, FA_DO, FA_LSE, FA_DELTA, FA_DQ);
    RESERVE(port, bc, FA_K, FA_V);
    for (int64_t i = 0; i < row_tiles(run); i++) {
        const struct fa_span seen = fa_visible_key_tiles(run, i);
        if (!lazy || seen.first < seen.end) {
            fa_load(port, FA_Q, i * br, 0);
            fa_load(port, FA_DO, i * br, 0);
        }
        fa_load(port, FA_LSE, i * br, 0);
        fa_load(port, FA_DELTA, i * br, 0);
        for (int64_t j = seen.first; j < seen.end; j++) {
            fa_visit(port, false);
            fa_load(port, FA_K, j * bc, 0);
            fa_load(port, FA_V, j * bc, 0);
        }
        port->tile[FA_DQ].rows = port->tile[FA_LSE].rows;
        fa_store(port, FA_DQ, i * br, 0);
    }
}

static void queries(struct fa_port *port)
{
    owner_of_queries(port, false);
}

static void lazy_queries(struct fa_port *port)
{
    owner_of_queries(port, true);
}

/* dQ from the sum in f32 to the dtype, the rows that there are. */
static void convert(struct fa_port *port)
{
    const int64_t br = port->run->tiles.br, nq = port->run->problem.nq;
    RESERVE(port, br, FA_DQ);
    for (int64_t i = 0; i < row_tiles(port->run); i++) {
        fa_load(port, FA_DQ, i * br, 0);
        port->tile[FA_DQ].rows = least(br, nq - i * br);
        fa_store(port, FA_DQ, i * br, 0);
    }
}

static const struct sim_kernel_loops standard[] = {
    {.name = "scores", .loops = scores},
    {.name = "softmax", .loops = softmax},
    {.name = "product", .loops = product},
};
static const struct sim_kernel_loops flash1[] = {
    {.name = "attention", .loops = keys_outside, .rereads = true}};
static const struct sim_kernel_loops flash2[] = {{.name = "attention", .loops = queries_outside}};
#define BOXES (1u << FA_Q | 1u << FA_K | 1u << FA_V)
static const struct sim_kernel_loops copy_engine[] = {
    {.name = "attention", .loops = boxes_outside, .whole = BOXES}};
static const struct sim_kernel_loops owned[] = {
    {.name = "delta", .loops = delta},
    {.name = "keys", .loops = keys, .by_group = true},
    {.name = "queries", .loops = queries, .takes_dq_tiles = true},
};
static const struct sim_kernel_loops mma_owned[] = {
    {.name = "stats", .loops = stats},
    {.name = "keys", .loops = lazy_keys, .by_group = true},
    {.name = "queries", .loops = lazy_queries, .takes_dq_tiles = true},
};
static const struct sim_kernel_loops mma_added[] = {
    {.name = "stats", .loops = stats},
    {.name = "keys", .loops = adding_keys, .by_group = true, .dq_written_wide = true},
    {.name = "dq", .loops = convert, .dq_read_wide = true},
};

static const struct sim_kernel_loops mma_owned_halves[] = {
    {.name = "stats", .loops = stats},
    {.name = "keys", .loops = lazy_halves, .by_group = true},
    {.name = "queries", .loops = lazy_queries, .takes_dq_tiles = true},
};
static const struct sim_kernel_loops mma_added_halves[] = {
    {.name = "stats", .loops = stats},
    {.name = "keys", .loops = adding_halves, .by_group = true, .dq_written_wide = true},
    {.name = "dq", .loops = convert, .dq_read_wide = true},
};

#define PADDED (1u << FA_LSE | 1u << FA_DELTA | 1u << FA_DQ) /* in the workspace */
static const struct sim_kernel_loops ws_owned[] = {
    {.name = "stats", .loops = stats},
    {.name = "keys", .loops = lazy_keys, .by_group = true, .whole = BOXES | 1u << FA_DO | PADDED},
    {.name = "queries",
     .loops = lazy_queries,
     .takes_dq_tiles = true,
     .whole = BOXES | 1u << FA_DO},
};
static const struct sim_kernel_loops ws_added[] = {
    {.name = "stats", .loops = stats_and_zeros, .dq_written_wide = true, .whole = 1u << FA_DQ},
    {.name = "keys",
     .loops = adding_keys,
     .by_group = true,
     .dq_written_wide = true,
     .whole = BOXES | 1u << FA_DO | PADDED},
    {.name = "dq", .loops = convert, .dq_read_wide = true, .whole = 1u << FA_DQ},
};

const struct sim_kernel_loops *sim_kernel_loops_of(enum sim_walk which, bool owns_dq, bool halves)
{
    switch (which) {
    case SIM_WALK_STANDARD:
        return standard;
    case SIM_WALK_FLASH1:
        return flash1;
    case SIM_WALK_FLASH2:
        return flash2;
    case SIM_WALK_COPY_ENGINE:
        return copy_engine;
    case SIM_WALK_BACKWARD:
        return owns_dq ? owned : mma_added;
    case SIM_WALK_WS_BACKWARD:
        return owns_dq ? ws_owned : ws_added;
    default:
        if (halves)
            return owns_dq ? mma_owned_halves : mma_added_halves;
        return owns_dq ? mma_owned : mma_added;
    }
}
