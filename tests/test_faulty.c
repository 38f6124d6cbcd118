/*
 * The faulty updates: which probe shows which fault, and at which tile, as faulty.h has it; the
 * check of a forward pass rejects each and passes the healthy one; and nothing but values tells
 * them from flash2.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/faulty/faulty.h"
#include "reference/oracle.h"
#include "simulator/check.h"
#include "simulator/experiment.h"
#include "tests/mutants.h"

enum { RANDOM, EQUAL, RISING, FALLING, ONE_TILE };
enum { A, B, C, D, E, F };
enum { N_MOST = 70, D_MOST = 16, TILES_MOST = 4 };

/* ---- one run --------------------------------------------------------------------------------- */

/* A problem of one batch with its inputs, a run on it, and what was seen of head 0. */
struct work {
    struct fa_problem problem;
    struct fa_tensor q, k, v, o, lse;
    const struct fa_algorithm *algorithm;
    double truth[TILES_MOST][N_MOST * D_MOST]; /* the softmax of the keys up to each tile */
    double tile_error[TILES_MOST];             /* the largest after it; 0: not visited */
    double o_of_row_3[TILES_MOST];             /* its column 2 */
    struct sim_check check;
    struct sim_result result;
};

static void create(struct fa_tensor *tensor, enum fa_dtype dtype, int64_t heads, int64_t rows,
                   int64_t columns)
{
    assert_int_equal(
        fa_tensor_create(tensor, dtype, (int64_t[]){1, heads, rows, columns}, NULL), FA_OK);
}

static void make_work(struct work *work, const struct fa_problem *problem, enum fa_profile profile)
{
    const struct fa_problem *p = problem;
    memset(work, 0, sizeof *work);
    work->problem = *p;
    create(&work->q, p->dtype, p->heads, p->nq, p->d);
    create(&work->k, p->dtype, p->kv_heads, p->nk, p->d);
    create(&work->v, p->dtype, p->kv_heads, p->nk, p->dv);
    create(&work->o, p->dtype, p->heads, p->nq, p->dv);
    create(&work->lse, p->dtype == FA_F64 ? FA_F64 : FA_F32, p->heads, p->nq, 1);
    fa_profile_fill(profile, 1, p, &work->q, &work->k, &work->v);
}

static void make_probe(struct work *work, int probe)
{
    const struct fa_faulty_probe *which = &fa_faulty_probes[probe];
    struct fa_problem problem = fa_problem_make(which->n, which->n, which->d);
    make_work(work, &problem, which->profile);
}

static void free_work(struct work *work)
{
    fa_tensor_free(&work->q);
    fa_tensor_free(&work->k);
    fa_tensor_free(&work->v);
    fa_tensor_free(&work->o);
    fa_tensor_free(&work->lse);
}

/* The oracle on the first keys alone. */
static void find_truths(struct work *work, int64_t bc)
{
    int64_t rows[N_MOST];
    double lse[N_MOST];
    for (int64_t row = 0; row < work->problem.nq; row++)
        rows[row] = row;
    for (int64_t j = 0; j * bc < work->problem.nk; j++) {
        struct fa_problem part = work->problem;
        struct fa_tensor k = work->k, v = work->v;
        part.nk = (j + 1) * bc < part.nk ? (j + 1) * bc : part.nk;
        k.shape[2] = v.shape[2] = part.nk;
        assert_int_equal(fa_oracle_rows(&part, &work->q, &k, &v, 0, rows, part.nq, work->truth[j],
                                        lse, NULL),
                         FA_OK);
    }
}

/* After a tile was added to O: how far it is from the softmax of the keys so far. */
static void look(void *context, struct sim_memory *memory)
{
    struct work *work = context;
    const struct fa_port *port = &memory->port;
    const struct sim_event *event = sim_trace_event(memory->trace, memory->events - 1);
    int64_t dv = work->problem.dv, first = port->at.i * port->run->tiles.br;
    if (event->kind != SIM_COMPUTE || event->op != FA_OP_ACCUMULATE || port->at.head != 0)
        return;
    for (int64_t r = 0; r < port->tile[FA_O].rows; r++)
        for (int64_t c = 0; c < dv; c++) {
            double o = fa_tile_get(port, FA_O, r, c);
            if (!work->algorithm->normalised)
                o /= fa_tile_get(port, FA_L, r, 0);
            double error = fabs(o - work->truth[port->at.j][(first + r) * dv + c]);
            double *most = &work->tile_error[port->at.j];
            *most = error <= *most ? *most : isnan(error) ? INFINITY : error;
            if (first + r == 3 && c == 2)
                work->o_of_row_3[port->at.j] = fa_tile_get(port, FA_O, r, c);
        }
}

static struct sim_experiment experiment_of(struct work *work, const struct fa_algorithm *algorithm,
                                           int64_t br, int64_t bc)
{
    work->algorithm = algorithm;
    return (struct sim_experiment){
        .algorithm = algorithm,
        .problem = work->problem,
        .machine = {.name = "test", .sram_bytes = 65536},
        .tiles = {SIM_TILES_GIVEN, br, bc},
        .lift_capacity = true,
        .mode = SIM_COUNTED,
        .threads = 1,
        .q = &work->q,
        .k = &work->k,
        .v = &work->v,
        .o = &work->o,
        .lse = &work->lse,
    };
}

/* Runs it and checks what it stored; the caller frees the trace, if it wants one. */
static void run_work(struct work *work, struct sim_experiment *experiment, struct sim_trace **trace)
{
    struct fa_error error = {FA_OK, ""};
    experiment->trace = trace;
    if (sim_experiment_run(experiment, &work->result, &error) != FA_OK)
        fail_msg("%s: %s", experiment->algorithm->name, error.text);
    assert_int_equal(sim_check_forward(&work->problem, &work->q, &work->k, &work->v, &work->o,
                                       &work->lse, SIM_CHECK_FULL, sim_error_factor(&work->result),
                                       1, NULL, &work->check, &error),
                     FA_OK);
}

static void run_probe(struct work *work, int probe, const struct fa_algorithm *algorithm)
{
    const struct fa_faulty_probe *which = &fa_faulty_probes[probe];
    struct sim_trace *trace = NULL;
    make_probe(work, probe);
    find_truths(work, which->bc);
    struct sim_experiment experiment = experiment_of(work, algorithm, which->br, which->bc);
    experiment.after = look;
    experiment.after_context = work;
    run_work(work, &experiment, &trace);
    sim_trace_free(trace);
}

/* ---- what the probes show -------------------------------------------------------------------- */

static bool exposed(const struct work *work)
{
    return !fa_comparison_within(&work->check.o, work->check.o_budget);
}

/* The table's cell, as faulty.h writes it. */
static const char *cell_of(const struct work *work, char text[8])
{
    for (int j = 0; j < TILES_MOST; j++)
        if (!(work->tile_error[j] <= work->check.o_budget)) {
            snprintf(text, 8, exposed(work) ? "%d" : "(%d)", j);
            return text;
        }
    return exposed(work) ? "end" : "-";
}

static char *read_header(void)
{
    FILE *file = fopen(FLASHLAB_SOURCE_DIR "/reference/faulty/faulty.h", "rb");
    char *text = calloc(1, 1 << 16);
    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
    return text;
}

/* The six words after the probe's name in the header's table. */
static void read_line(const char *header, const char *name, char words[FA_FAULTY][8])
{
    char begin[32];
    snprintf(begin, sizeof begin, "\n *   %s  ", name);
    const char *line = strstr(header, begin);
    if (!line)
        fail_msg("faulty.h has no line for the probe \"%s\"", name);
    line += strlen(begin);
    assert_int_equal(sscanf(line, "%7s %7s %7s %7s %7s %7s", words[A], words[B], words[C], words[D],
                            words[E], words[F]),
                     FA_FAULTY);
}

static void the_table_of_the_header(void **state)
{
    static struct work work;
    char words[FA_FAULTY][8], text[8], *header = read_header();
    (void)state;
    for (int probe = 0; probe < FA_FAULTY_PROBES; probe++) {
        read_line(header, fa_faulty_probes[probe].name, words);
        for (int f = 0; f < FA_FAULTY; f++) {
            run_probe(&work, probe, fa_faulty_algorithms[f]);
            if (strcmp(cell_of(&work, text), words[f]) != 0)
                fail_msg("%s, %s: \"%s\", where faulty.h has \"%s\" (O is off by %g of %g)",
                         fa_faulty_probes[probe].name, fa_faulty_algorithms[f]->name,
                         cell_of(&work, text), words[f], work.check.o.max_abs_error,
                         work.check.o_budget);
            free_work(&work);
        }
    }
    free(header);
}

/* The same in the lesson's words, which do not depend on the table. */
static void what_a_probe_hides(void **state)
{
    static const char *const shown[FA_FAULTY_PROBES] = {
        [RANDOM] = "ABCDEF", [EQUAL] = "ADEF", [RISING] = "BCDEF", [FALLING] = "ADEF",
        [ONE_TILE] = "DF",
    };
    static struct work work;
    (void)state;
    for (int probe = 0; probe < FA_FAULTY_PROBES; probe++)
        for (int f = 0; f < FA_FAULTY; f++) {
            run_probe(&work, probe, fa_faulty_algorithms[f]);
            if (exposed(&work) != (strchr(shown[probe], 'A' + f) != NULL))
                fail_msg("the probe \"%s\" %s %s", fa_faulty_probes[probe].name,
                         exposed(&work) ? "exposes" : "hides", fa_faulty_algorithms[f]->name);
            free_work(&work);
        }
}

static void the_healthy_one_passes(void **state)
{
    static struct work work;
    char text[8];
    (void)state;
    for (int probe = 0; probe < FA_FAULTY_PROBES; probe++) {
        run_probe(&work, probe, &fa_healthy);
        if (!work.check.pass || strcmp(cell_of(&work, text), "-") != 0)
            fail_msg("%s: O is off by %g of %g, LSE by %g of %g", fa_faulty_probes[probe].name,
                     work.check.o.max_abs_error, work.check.o_budget, work.check.lse.max_abs_error,
                     work.check.lse_budget);
        free_work(&work);
    }
}

static void the_check_rejects_each(void **state)
{
    static struct work work;
    (void)state;
    for (int f = 0; f < FA_FAULTY; f++) {
        int rejected = 0;
        for (int probe = 0; probe < FA_FAULTY_PROBES; probe++) {
            run_probe(&work, probe, fa_faulty_algorithms[f]);
            rejected += !work.check.pass;
            free_work(&work);
        }
        if (rejected == 0)
            fail_msg("no probe rejects %s", fa_faulty_algorithms[f]->name);
    }
}

/* ---- in numbers ------------------------------------------------------------------------------ */

static void expect_near(double got, double expected, const char *what)
{
    if (!(fabs(got - expected) <= 1e-5 * fmax(1, fabs(expected))))
        fail_msg("%s is %.9g, expected %.9g", what, got, expected);
}

/* V = 1 and equal scores: O on chip after each tile, and stored. */
static void equal_scores_in_numbers(void **state)
{
    static const struct {
        double on_chip[TILES_MOST], stored, lse;
    } expected[FA_FAULTY] = {
        [A] = {{1, 1.5, 1.5 + 1 / 3., 25 / 12.}, 25 / 12., 20.1588831}, /* 16 + ln 64 */
        [B] = {{1, 1, 1, 1}, 1, 20.1588831},
        [C] = {{1, 1, 1, 1}, 1, 20.1588831},
        [D] = {{1, 1, 1, 1}, 1 / 64., 20.1588831},
        [E] = {{1, 2, 3, 4}, 4, 18.7725887}, /* 16 + ln 16 */
        [F] = {{16, 32, 48, 64}, 64, 20.1588831},
    };
    static struct work work;
    (void)state;
    for (int f = 0; f < FA_FAULTY; f++) {
        run_probe(&work, EQUAL, fa_faulty_algorithms[f]);
        for (int j = 0; j < TILES_MOST; j++)
            expect_near(work.o_of_row_3[j], expected[f].on_chip[j], "O on chip");
        for (int64_t row = 0; row < work.problem.nq; row++) {
            expect_near(fa_tensor_get(&work.o, 0, 0, row, 5), expected[f].stored, "O");
            expect_near(fa_tensor_get(&work.lse, 0, 0, row, 0), expected[f].lse, "LSE");
        }
        free_work(&work);
    }
}

/* Rising scores: what A does at a tile is nearly gone at the end. l is in units of one tile's sum;
 * a tile of 16 steps of 1/4 raises m by 4. */
static void rising_scores_hide_a(void **state)
{
    static struct work work;
    double o = 0, l = 0, e = exp(-4);
    (void)state;
    run_probe(&work, RISING, fa_faulty_algorithms[A]);
    for (int j = 0; j < TILES_MOST; j++) {
        l = e * l + 1;
        o = e * o + 1 / l;
        if (fabs(work.o_of_row_3[j] - o) > 1e-6)
            fail_msg("O is %.9g at tile %d, expected %.9g", work.o_of_row_3[j], j, o);
    }
    assert_true(work.tile_error[1] > 100 * work.check.o_budget);
    assert_true(work.check.o.max_abs_error > 0);
    free_work(&work);
}

/* The wrong attentions of mutants.h, which share no code with these, have the same faults. */
static void the_mutants_give_the_same(void **state)
{
    static struct work work;
    static double o[N_MOST * D_MOST], lse[N_MOST];
    int64_t rows[N_MOST];
    (void)state;
    for (int f = 0; f < FA_FAULTY; f++) {
        run_probe(&work, RANDOM, fa_faulty_algorithms[f]);
        const struct fa_problem *p = &work.problem;
        double most = 0;
        for (int64_t row = 0; row < p->nq; row++)
            rows[row] = row;
        mutant_rows((enum mutant)(MUTANT_A_FORGETS_OLD_L + f), p, &work.q, &work.k, &work.v, 0,
                    rows, p->nq, o, lse);
        for (int64_t n = 0; n < p->nq * p->dv; n++)
            most = fmax(most, fabs(o[n]));
        for (int64_t n = 0; n < p->nq * p->dv; n++) {
            double got = fa_tensor_get(&work.o, 0, 0, n / p->dv, n % p->dv);
            if (!(fabs(got - o[n]) <= 1e-5 * most))
                fail_msg("%s: element %d is %.9g, the mutant's %.9g", fa_faulty_algorithms[f]->name,
                         (int)n, got, o[n]);
        }
        for (int64_t row = 0; row < p->nq; row++)
            expect_near(fa_tensor_get(&work.lse, 0, 0, row, 0), lse[row], "LSE");
        free_work(&work);
    }
}

/* ---- like a real algorithm ------------------------------------------------------------------- */

enum { SHAPES = 5 };

static struct fa_problem shape(int which, enum fa_dtype dtype)
{
    static const uint8_t visit[5 * 4] = {1, 0, 1, 0, 0, 1, 1, 1, 0, 0,
                                          0, 0, 1, 1, 1, 1, 0, 0, 1, 0};
    static const struct fa_block_mask blocks = {8, 13, 5, 4, visit};
    struct fa_problem problem = fa_problem_make(37, 45, 11);
    problem.dtype = dtype;
    problem.dv = 7;
    if (which == 1)
        problem.causal = FA_CAUSAL_TOP_LEFT;
    if (which == 2) { /* its first rows see nothing */
        problem.nq = 60;
        problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
        problem.heads = 2;
    }
    if (which == 3) {
        problem.window_left = 9;
        problem.window_right = 3;
        problem.dropout_p = 0.25;
    }
    if (which == 4)
        problem.blocks = &blocks;
    return problem;
}

static void the_healthy_one_is_right_everywhere(void **state)
{
    static const enum fa_dtype dtypes[] = {FA_F64, FA_F32, FA_F16, FA_BF16};
    static struct work work;
    (void)state;
    for (int which = 0; which < SHAPES; which++)
        for (int t = 0; t < 4; t++) {
            struct fa_problem problem = shape(which, dtypes[t]);
            make_work(&work, &problem, FA_PROFILE_PEAKY);
            if (which == 1) /* key 38 is in a visited tile, and no row sees it */
                fa_tensor_set(&work.v, 0, 0, 38, 0, NAN);
            struct sim_experiment experiment = experiment_of(&work, &fa_healthy, 8, 13);
            run_work(&work, &experiment, NULL);
            if (!work.check.pass)
                fail_msg("shape %d, %s: O is off by %g of %g, LSE by %g of %g", which,
                         fa_dtype_name(dtypes[t]), work.check.o.max_abs_error, work.check.o_budget,
                         work.check.lse.max_abs_error, work.check.lse_budget);
            free_work(&work);
        }
}

/* Counts are flash2's, with data and without, and so are the events of the trace. `divides` says
 * that the last step is flash2's too; else it costs a division an element less. */
static void looks_like_flash2(const struct fa_algorithm *algorithm, int which, bool divides)
{
    static struct work work, model;
    struct fa_problem problem = shape(which, FA_F32);
    struct sim_trace *trace = NULL, *expected = NULL;
    make_work(&work, &problem, FA_PROFILE_GAUSS);
    make_work(&model, &problem, FA_PROFILE_GAUSS);
    struct sim_experiment experiment = experiment_of(&work, algorithm, 8, 13);
    struct sim_experiment flash2 = experiment_of(&model, &fa_flash2, 8, 13);
    run_work(&work, &experiment, &trace);
    run_work(&model, &flash2, &expected);

    uint64_t heads = (uint64_t)problem.heads, o = heads * (uint64_t)(problem.nq * problem.dv);
    struct sim_counters counted = work.result.counters;
    counted.flops.other += divides ? 0 : o;
    assert_memory_equal(&counted, &model.result.counters, sizeof counted);
    assert_int_equal(sim_trace_length(trace), sim_trace_length(expected));
    for (uint64_t n = 0; n < sim_trace_length(trace); n++) {
        struct sim_event a = *sim_trace_event(trace, n), b = *sim_trace_event(expected, n);
        if (!divides && b.op == FA_OP_FINISH && b.kind == SIM_COMPUTE) {
            b.op = FA_OP_FINISH_STATS;
            b.tensor = FA_LSE;
            b.place = a.place; /* LSE's, which is m's */
        }
        a.line = b.line = 0;
        assert_memory_equal(&a, &b, sizeof a);
    }
    experiment.trace = NULL;
    experiment.mode = SIM_COUNT_ONLY;
    counted = work.result.counters;
    assert_int_equal(sim_experiment_run(&experiment, &work.result, NULL), FA_OK);
    assert_memory_equal(&counted, &work.result.counters, sizeof counted);
    sim_trace_free(trace);
    sim_trace_free(expected);
    free_work(&work);
    free_work(&model);
}

static void only_values_tell_them_apart(void **state)
{
    (void)state;
    for (int which = 0; which < SHAPES; which++) {
        for (int f = 0; f < FA_FAULTY; f++)
            looks_like_flash2(fa_faulty_algorithms[f], which, f == D);
        looks_like_flash2(&fa_healthy, which, false);
    }
}

/* Two workers, and the plain port, give what one counted worker gives. */
static void values_do_not_depend_on_the_port(void **state)
{
    static struct work one, other;
    struct fa_problem problem = shape(2, FA_F32);
    (void)state;
    for (int f = 0; f <= FA_FAULTY; f++) {
        const struct fa_algorithm *algorithm =
            f < FA_FAULTY ? fa_faulty_algorithms[f] : &fa_healthy;
        make_work(&one, &problem, FA_PROFILE_GAUSS);
        make_work(&other, &problem, FA_PROFILE_GAUSS);
        struct sim_experiment first = experiment_of(&one, algorithm, 8, 13);
        struct sim_experiment second = experiment_of(&other, algorithm, 8, 13);
        second.mode = SIM_PLAIN;
        second.threads = 2;
        run_work(&one, &first, NULL);
        run_work(&other, &second, NULL);
        assert_memory_equal(one.o.data, other.o.data,
                            (size_t)(problem.heads * problem.nq * problem.dv) * sizeof(float));
        free_work(&one);
        free_work(&other);
    }
}

/* What runs next on the same port finds no update of another's. */
static void the_real_ones_keep_their_kernel(void **state)
{
    static struct work work;
    struct fa_problem problem = shape(0, FA_F32);
    struct fa_tiles tiles = {.br = 8, .bc = 13, .row_block = 1, .column_chunk = 1};
    struct fa_run run;
    struct fa_port port, *ports[] = {&port};
    (void)state;
    make_work(&work, &problem, FA_PROFILE_GAUSS);
    for (int f = 0; f < FA_FAULTY; f++) {
        assert_int_equal(fa_run_open(&run, fa_faulty_algorithms[f], &problem, &tiles, &work.q,
                                     &work.k, &work.v, &work.o, &work.lse, false, NULL),
                         FA_OK);
        fa_port_open(&port, &fa_plain_verbs, &run);
        assert_int_equal(fa_execute(fa_faulty_algorithms[f], ports, 1, 1, NULL, NULL), FA_OK);
        assert_null(port.absorb);
        fa_port_close(&port);
        fa_run_close(&run);
    }
    free_work(&work);
}

static void they_are_found_by_name_and_apart(void **state)
{
    (void)state;
    for (int f = 0; f < FA_FAULTY; f++) {
        const struct fa_algorithm *algorithm = fa_faulty_algorithms[f];
        char name[16], title[16];
        snprintf(name, sizeof name, "faulty-%c", 'a' + f);
        snprintf(title, sizeof title, "update %c", 'A' + f);
        assert_string_equal(algorithm->name, name);
        assert_string_equal(algorithm->title, title);
        assert_ptr_equal(fa_faulty_find(name), algorithm);
        assert_null(fa_algorithm_find(name));
        assert_true(strlen(fa_faults[f].fault) > 0 && strlen(fa_faults[f].breaks) > 0);
        assert_int_equal(algorithm->n_steps, fa_flash2.n_steps);
        for (int s = 0; s < algorithm->n_steps; s++)
            assert_string_equal(algorithm->steps[s].line, fa_flash2.steps[s].line);
    }
    assert_ptr_equal(fa_faulty_find("healthy"), &fa_healthy);
    assert_null(fa_faulty_find("flash2"));
    assert_null(fa_algorithm_find("healthy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_the_header),
        cmocka_unit_test(what_a_probe_hides),
        cmocka_unit_test(the_healthy_one_passes),
        cmocka_unit_test(the_check_rejects_each),
        cmocka_unit_test(equal_scores_in_numbers),
        cmocka_unit_test(rising_scores_hide_a),
        cmocka_unit_test(the_mutants_give_the_same),
        cmocka_unit_test(the_healthy_one_is_right_everywhere),
        cmocka_unit_test(only_values_tell_them_apart),
        cmocka_unit_test(values_do_not_depend_on_the_port),
        cmocka_unit_test(the_real_ones_keep_their_kernel),
        cmocka_unit_test(they_are_found_by_name_and_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
