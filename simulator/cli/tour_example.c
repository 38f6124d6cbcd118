/* The notes' worked example, with numbers read from the cells of two runs. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "reference/plain_port.h"
#include "simulator/cli/tour.h"
#include "simulator/experiment.h"

enum { N = 2, D = 2 };

/* The example's tensors, and an experiment on them. */
struct example {
    float q[N * D], k[N * D], v[N * D], o[N * D], lse[N];
    struct fa_tensor tensor_q, tensor_k, tensor_v, tensor_o, tensor_lse;
    struct sim_experiment experiment;
    struct sim_trace *trace;
};

/* What lay on chip after one event; NAN where a tile was not live. */
struct glimpse {
    double s[N], m[N], l[N], o[N][D], p[N], lse[N];
};

struct walk {
    double scores[N][N], weights[N][N], output[N][D];      /* standard */
    struct glimpse start, absorbed[N], added[N], finished; /* flash2, by key */
};

static void make_example(struct example *example, const struct fa_algorithm *algorithm,
                         int64_t key_tile)
{
    static const float q[] = {1, 0, 0, 1}, k[] = {1, 2, 3, 4}, v[] = {1, 0, 0, 1};
    const int64_t matrix[4] = {1, 1, N, D}, column[4] = {1, 1, N, 1};
    struct sim_experiment *experiment = &example->experiment;

    memset(example, 0, sizeof *example);
    memcpy(example->q, q, sizeof q);
    memcpy(example->k, k, sizeof k);
    memcpy(example->v, v, sizeof v);
    example->tensor_q = fa_tensor_view(FA_F32, matrix, example->q);
    example->tensor_k = fa_tensor_view(FA_F32, matrix, example->k);
    example->tensor_v = fa_tensor_view(FA_F32, matrix, example->v);
    example->tensor_o = fa_tensor_view(FA_F32, matrix, example->o);
    example->tensor_lse = fa_tensor_view(FA_F32, column, example->lse);
    experiment->algorithm = algorithm;
    experiment->problem = fa_problem_make(N, N, D);
    experiment->problem.scale = 1;
    experiment->tiles = (struct sim_tile_choice){SIM_TILES_GIVEN, N, key_tile};
    experiment->mode = SIM_COUNTED;
    experiment->threads = 1;
    experiment->q = &example->tensor_q;
    experiment->k = &example->tensor_k;
    experiment->v = &example->tensor_v;
    experiment->o = &example->tensor_o;
    experiment->lse = &example->tensor_lse;
}

static double cell(struct sim_memory *memory, enum fa_tensor_id id, int64_t row, int64_t column)
{
    const struct fa_tile *tile = &memory->port.tile[id];
    bool there = tile->live && tile->cells && row < tile->rows && column < tile->columns;
    return there ? fa_tile_get(&memory->port, id, row, column) : NAN;
}

static void look(void *context, struct sim_memory *memory)
{
    struct glimpse *glimpse = context;
    for (int r = 0; r < N; r++) {
        glimpse->s[r] = cell(memory, FA_S, r, 0);
        glimpse->p[r] = cell(memory, FA_P, r, 0);
        glimpse->m[r] = cell(memory, FA_M, r, 0);
        glimpse->l[r] = cell(memory, FA_L, r, 0);
        glimpse->lse[r] = cell(memory, FA_LSE, r, 0);
        for (int c = 0; c < D; c++)
            glimpse->o[r][c] = cell(memory, FA_O, r, c);
    }
}

/* The two N x N matrices of `standard`, each while it is on chip, row block by row block. */
struct table {
    double (*cells)[N];
    enum fa_tensor_id id;
    int64_t row;
};

static void look_at_table(void *context, struct sim_memory *memory)
{
    struct table *table = context;
    for (int64_t r = 0; r + table->row < N; r++) {
        for (int64_t c = 0; c < N; c++) {
            double value = cell(memory, table->id, r, c);
            if (!isnan(value))
                table->cells[table->row + r][c] = value;
        }
    }
}

static enum fa_status start_run(struct example *example, struct sim_result *result,
                                struct fa_error *error)
{
    int n;
    const struct sim_machine *presets = sim_machine_presets(&n);
    example->experiment.machine = presets[0];
    example->experiment.trace = &example->trace;
    return sim_experiment_run(&example->experiment, result, error);
}

static enum fa_status walk_standard(struct walk *walk, struct fa_error *error)
{
    struct example example;
    struct sim_result result;
    make_example(&example, &fa_standard, N);
    enum fa_status status = start_run(&example, &result, error);
    if (status)
        return status;
    memcpy(walk->output, (double[N][D]){{example.o[0], example.o[1]}, {example.o[2], example.o[3]}},
           sizeof walk->output);
    for (uint64_t e = 0; e < sim_trace_length(example.trace) && !status; e++) {
        const struct sim_event *event = sim_trace_event(example.trace, e);
        struct table table = {NULL, FA_S, 0};
        if (event->kind == SIM_COMPUTE && event->op == FA_OP_SCORE)
            table = (struct table){walk->scores, FA_S, (int64_t)event->i * result.tiles.br};
        else if (event->kind == SIM_COMPUTE && event->op == FA_OP_SOFTMAX_ROWS)
            table = (struct table){walk->weights, FA_P, (int64_t)event->i * result.tiles.row_block};
        if (table.cells)
            status =
                sim_experiment_replay(&example.experiment, e + 1, look_at_table, &table, error);
    }
    sim_trace_free(example.trace);
    return status;
}

static enum fa_status walk_flash2(struct walk *walk, struct fa_error *error)
{
    struct example example;
    struct sim_result result;
    make_example(&example, &fa_flash2, 1);
    enum fa_status status = start_run(&example, &result, error);
    if (status)
        return status;
    for (uint64_t e = 0; e < sim_trace_length(example.trace) && !status; e++) {
        const struct sim_event *event = sim_trace_event(example.trace, e);
        struct glimpse *glimpse = NULL;
        if (event->kind != SIM_COMPUTE)
            continue;
        if (event->op == FA_OP_START)
            glimpse = &walk->start;
        else if (event->op == FA_OP_SCORE && event->j < N)
            glimpse = &walk->added[event->j]; /* for its score; seen again once V is added */
        else if (event->op == FA_OP_ABSORB && event->j < N)
            glimpse = &walk->absorbed[event->j];
        else if (event->op == FA_OP_ACCUMULATE && event->j < N)
            glimpse = &walk->added[event->j];
        else if (event->op == FA_OP_FINISH)
            glimpse = &walk->finished;
        if (!glimpse)
            continue;
        struct glimpse before = *glimpse;
        status = sim_experiment_replay(&example.experiment, e + 1, look, glimpse, error);
        if (event->op == FA_OP_ACCUMULATE)
            memcpy(glimpse->s, before.s, sizeof before.s); /* P lies where S lay */
    }
    sim_trace_free(example.trace);
    return status;
}

/* 0.135 to three places; whole numbers without any. */
static const char *number(double value, char text[32])
{
    if (isinf(value))
        snprintf(text, 32, value < 0 ? "-inf" : "inf");
    else if (value == rint(value))
        snprintf(text, 32, "%.0f", value);
    else
        snprintf(text, 32, "%.3f", value);
    return text;
}

static void print_row(FILE *file, const double *row)
{
    char a[32], b[32];
    fprintf(file, "[ %-6s %-6s]", number(row[0], a), number(row[1], b));
}

/* `name` fills 20 columns, whatever its bytes. */
static void print_matrix(const struct cli_tour *tour, const char *name, const double cells[N][N],
                         const char *meaning)
{
    fprintf(tour->file, "  %s", name);
    print_row(tour->file, cells[0]);
    fprintf(tour->file, "   %s\n  %-20s", meaning, "");
    print_row(tour->file, cells[1]);
    fputs("\n\n", tour->file);
}

static void print_step(const struct cli_tour *tour, const char *name, const struct glimpse *now,
                       double score, double factor, int row)
{
    char s[32] = "", m[32], f[32] = "", l[32];
    if (!isnan(score))
        number(score, s);
    if (!isnan(factor))
        number(factor, f);
    fprintf(tour->file, "  %-14s %6s %8s %9s %9s     ", name, s, number(now->m[row], m), f,
            number(now->l[row], l));
    print_row(tour->file, now->o[row]);
    fputc('\n', tour->file);
}

static void print_introduction(const struct cli_tour *tour)
{
    fputs("Attention looks things up. A query, a row of Q, is compared with every key, a\n"
          "row of K: the score is their product, number by number, summed. The better they\n"
          "match, the more of that key's value, a row of V, goes into the query's output,\n"
          "a row of O. The smallest example: N = 2 queries and keys of d = 2 numbers each.\n\n"
          "  Q = [ 1  0 ]      K = [ 1  2 ]      V = [ 1  0 ]\n"
          "      [ 0  1 ]          [ 3  4 ]          [ 0  1 ]\n\n"
          "Standard attention makes whole matrices, one after the other.\n\n",
          tour->file);
}

static void print_standard(const struct cli_tour *tour, const struct walk *walk)
{
    print_matrix(tour, cli_tour_pick(tour, "scores   S = Q Kᵀ   ", "scores   S = Q K^T  "),
                 walk->scores, "a row for each query, a column a key");
    print_matrix(tour, "weights  P          ", walk->weights,
                 "exp of each score, over its row's sum");
    print_matrix(tour, "output   O = P V    ", walk->output, "V is the identity, so O = P");
}

static void print_flash(const struct cli_tour *tour, const struct walk *walk)
{
    char factor_text[32], l_text[32], lse[32], m0[32], m1[32], l0[32], p1[32];
    const char *dash = cli_tour_pick(tour, "−", "-");
    double factor[N];
    /* What the second key does to the sums of the first: read from O itself. */
    for (int r = 0; r < N; r++)
        factor[r] = walk->absorbed[1].o[r][0] / walk->added[0].o[r][0];

    fprintf(tour->file,
            "S and P hold N x N numbers: too many for a chip when N is large. Flash attention\n"
            "never holds a whole row of them. It takes the keys in tiles, blocks that fit on\n"
            "the chip (here one key a tile), and keeps three things for each query:\n\n"
            "  m   the largest score so far\n"
            "  l   the sum of exp(score %s m) so far\n"
            "  O   the values so far, each times its exp(score %s m)\n\n"
            "The first query, key by key:\n\n"
            "  %-14s %6s %8s %9s %9s     %s\n",
            dash, dash, "", "score", "m", "factor", "l", "O");
    print_step(tour, "start", &walk->start, NAN, NAN, 0);
    print_step(tour, "key 0", &walk->added[0], walk->added[0].s[0], NAN, 0);
    print_step(tour, "key 1", &walk->added[1], walk->added[1].s[0], factor[0], 0);
    fprintf(tour->file, "  %-14s %6s %8s %9s %9s     ", "O / l", "", "", "", "");
    print_row(tour->file, walk->finished.o[0]);
    number(factor[0], factor_text);
    number(walk->added[1].l[0], l_text);
    fprintf(tour->file,
            "\n\nWhen a larger score arrives, all that was summed before shrinks by one factor,\n"
            "exp(m old %s m new) = %s. So l becomes %s x %s + %s = %s, and O likewise.\n"
            "The division by l comes once, at the end: the same row of O as above.\n\n",
            dash, factor_text, factor_text, number(walk->added[0].l[0], l0),
            number(walk->absorbed[1].p[0], p1), l_text);
    fprintf(tour->file,
            "The second query goes the same way: m %s, then %s; factor %s; l %s.\n"
            "A row's m + ln l, its log-sum-exp (LSE), is kept for training: first %s.\n",
            number(walk->added[0].m[1], m0), number(walk->added[1].m[1], m1),
            number(factor[1], factor_text), number(walk->added[1].l[1], l_text),
            number(walk->finished.lse[0], lse));
}

enum fa_status cli_tour_example(const struct cli_tour *tour, struct fa_error *error)
{
    struct walk walk;
    memset(&walk, 0, sizeof walk);
    enum fa_status status = walk_standard(&walk, error);
    if (!status)
        status = walk_flash2(&walk, error);
    if (status)
        return status;
    cli_tour_title(tour, "1. Attention, number by number");
    print_introduction(tour);
    print_standard(tour, &walk);
    print_flash(tour, &walk);
    return FA_OK;
}
