/* Opening a run and executing it: what is refused, in which words, and how a run ends early. */
#include "reference/verbs.h" /* before cmocka.h, which has a macro of the name of a port's verb */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "reference/algorithm.h"
#include "reference/plain_port.h"
#include "tests/recording_port.h"

/* A problem of 5 queries and 4 keys in two heads, with inputs that are all 1. */
struct fixture {
    struct fa_problem problem;
    struct fa_tiles tiles;
    struct fa_tensor q, k, v, o, lse;
    float q_data[2 * 5 * 3], k_data[2 * 4 * 3], v_data[2 * 4 * 2], o_data[2 * 5 * 2], lse_data[10];
};

static void set_up(struct fixture *f)
{
    f->problem = fa_problem_make(5, 4, 3);
    f->problem.dv = 2;
    f->problem.heads = f->problem.kv_heads = 2;
    f->tiles = (struct fa_tiles){2, 2, 2, 4};
    for (int i = 0; i < 30; i++)
        f->q_data[i] = 1;
    for (int i = 0; i < 24; i++)
        f->k_data[i] = 1;
    for (int i = 0; i < 16; i++)
        f->v_data[i] = 1;
    for (int i = 0; i < 20; i++)
        f->o_data[i] = NAN;
    f->q = fa_tensor_view(FA_F32, (int64_t[]){1, 2, 5, 3}, f->q_data);
    f->k = fa_tensor_view(FA_F32, (int64_t[]){1, 2, 4, 3}, f->k_data);
    f->v = fa_tensor_view(FA_F32, (int64_t[]){1, 2, 4, 2}, f->v_data);
    f->o = fa_tensor_view(FA_F32, (int64_t[]){1, 2, 5, 2}, f->o_data);
    f->lse = fa_tensor_view(FA_F32, (int64_t[]){1, 2, 5, 1}, f->lse_data);
}

static enum fa_status open_run(struct fixture *f, const struct fa_algorithm *algorithm,
                               struct fa_run *run, struct fa_error *error)
{
    return fa_run_open(run, algorithm, &f->problem, &f->tiles, &f->q, &f->k, &f->v, &f->o, &f->lse,
                       false, error);
}

/* Refused by every algorithm in these words, and the run that was given is untouched. */
static void refuse(struct fixture *f, const char *text)
{
    for (int a = 0; a < FA_ALGORITHMS; a++) {
        struct fa_run run, before;
        struct fa_error error = {FA_OK, ""};
        memset(&run, 0x5a, sizeof run);
        memcpy(&before, &run, sizeof run);
        assert_int_equal(open_run(f, fa_algorithms[a], &run, &error), FA_BAD_ARGUMENT);
        assert_string_equal(error.text, text);
        assert_memory_equal(&run, &before, sizeof run);
    }
    set_up(f);
}

static void refusals(void **state)
{
    struct fixture f;
    (void)state;
    set_up(&f);
    f.q.shape[2] = 4;
    refuse(&f, "q is [1, 2, 4, 3]: the problem needs [1, 2, 5, 3]");
    f.k.shape[1] = 1;
    refuse(&f, "k is [1, 1, 4, 3]: the problem needs [1, 2, 4, 3]");
    f.v.shape[3] = 3;
    refuse(&f, "v is [1, 2, 4, 3]: the problem needs [1, 2, 4, 2]");
    f.o.shape[3] = 3;
    refuse(&f, "o is [1, 2, 5, 3]: the problem needs [1, 2, 5, 2]");
    f.lse.shape[3] = 2;
    refuse(&f, "lse is [1, 2, 5, 2]: the problem needs [1, 2, 5, 1]");
    f.k.dtype = FA_F16;
    refuse(&f, "k is f16: the problem's dtype is f32, expected f32");
    f.problem.dtype = FA_F64;
    f.q.dtype = f.k.dtype = f.v.dtype = f.o.dtype = FA_F64;
    refuse(&f, "lse is f32: the problem's dtype is f64, expected f64");
    f.tiles.br = 0;
    refuse(&f, "tiles of 0 x 2 (row-wise 2 x 4): expected 1 or more each");
    f.tiles.bc = -1;
    refuse(&f, "tiles of 2 x -1 (row-wise 2 x 4): expected 1 or more each");
    f.v.data = NULL;
    refuse(&f, "k, v and o need data where q has it");
    f.problem.d = 0;
    refuse(&f, "d is 0: expected 1 or more");
    struct fa_tensor bias = fa_tensor_view(FA_F16, (int64_t[]){1, 1, 1, 1}, f.q_data);
    f.problem.bias = &bias;
    refuse(&f, "bias is f16: the problem's dtype is f32, expected f32");
}

/* The row-wise steps are those of `standard` alone. */
static void row_steps_matter_to_standard_only(void **state)
{
    struct fixture f;
    struct fa_run run;
    struct fa_error error = {FA_OK, ""};
    (void)state;
    set_up(&f);
    f.tiles.row_block = 0;
    assert_int_equal(open_run(&f, &fa_flash2, &run, &error), FA_OK);
    fa_run_close(&run);
    assert_int_equal(open_run(&f, &fa_standard, &run, &error), FA_BAD_ARGUMENT);
    assert_string_equal(error.text, "tiles of 2 x 2 (row-wise 0 x 4): expected 1 or more each");
}

static void names(void **state)
{
    (void)state;
    for (int a = 0; a < FA_ALGORITHMS; a++) {
        assert_ptr_equal(fa_algorithm_find(fa_algorithms[a]->name), fa_algorithms[a]);
        for (int step = 0; step < fa_algorithms[a]->n_steps; step++) {
            assert_non_null(fa_algorithms[a]->steps[step].line);
            assert_non_null(fa_algorithms[a]->steps[step].text);
        }
    }
    assert_null(fa_algorithm_find("flash"));
    assert_null(fa_algorithm_find(""));
}

struct ticks {
    int n, stop_at;
    double last;
    bool wrong;
};

/* The share that is done rises, up to 1. Noted here and asserted later: a failed assert jumps, and
 * must not jump out of a parallel loop. */
static bool tick(void *context, double done)
{
    struct ticks *ticks = context;
    ticks->n++;
    ticks->wrong = ticks->wrong || done <= ticks->last || done > 1;
    ticks->last = done;
    return ticks->n != ticks->stop_at;
}

/* Executes on one plain port; *o_written says how many elements of O are there afterwards. */
static enum fa_status execute(struct fixture *f, const struct fa_algorithm *algorithm,
                              struct ticks *ticks, struct fa_error *error, int *o_written)
{
    struct fa_watch watch = {tick, ticks};
    struct fa_port port, *ports = &port;
    struct fa_run run;
    assert_int_equal(open_run(f, algorithm, &run, error), FA_OK);
    fa_port_open(&port, &fa_plain_verbs, &run);
    enum fa_status status = fa_execute(algorithm, &ports, 1, 2, &watch, error);
    fa_port_close(&port);
    fa_run_close(&run);
    *o_written = 0;
    for (int i = 0; i < 20; i++)
        *o_written += !isnan(f->o_data[i]);
    return status;
}

static void a_run_is_watched_and_can_be_stopped(void **state)
{
    (void)state;
    for (int a = 0; a < FA_ALGORITHMS; a++) {
        struct fixture f;
        struct fa_error error = {FA_OK, ""};
        struct ticks ticks = {.stop_at = 0}, stopped = {.stop_at = 1};
        int o_written;
        set_up(&f);
        assert_int_equal(execute(&f, fa_algorithms[a], &ticks, &error, &o_written), FA_OK);
        assert_true(ticks.last == 1);
        assert_false(ticks.wrong);
        assert_int_equal(o_written, 20);
        set_up(&f);
        assert_int_equal(execute(&f, fa_algorithms[a], &stopped, &error, &o_written), FA_CANCELLED);
        assert_string_equal(error.text, "stopped before the run was done");
        assert_int_equal(stopped.n, 1); /* and not one unit more */
        assert_true(o_written < 20);
    }
}

/* After a port's error no other unit begins. */
static void a_failing_port_ends_the_run(void **state)
{
    (void)state;
    for (int a = 0; a < FA_ALGORITHMS; a++) {
        struct fixture f;
        struct fa_run run;
        struct fa_error error = {FA_OK, ""};
        struct ticks ticks = {.stop_at = 0};
        struct fa_watch watch = {tick, &ticks};
        struct recording_port recording;
        struct fa_port *port = &recording.port;
        set_up(&f);
        assert_int_equal(open_run(&f, fa_algorithms[a], &run, NULL), FA_OK);
        recording_port_open(&recording, &run);
        recording.fail_at = 3;
        assert_int_equal(fa_execute(fa_algorithms[a], &port, 1, 2, &watch, &error), FA_NO_MEMORY);
        assert_string_equal(error.text, "verb 3 failed");
        assert_int_equal(ticks.n, 1);
        recording_port_close(&recording);
        fa_run_close(&run);
    }
}

/* 2^52 bytes are more than any address space has; each of the 2^10 lines ends with 64 that no cell
 * uses. */
static void memory_that_the_host_refuses(void **state)
{
    (void)state;
    struct fixture f;
    struct fa_run run;
    struct fa_port port;
    set_up(&f);
    assert_int_equal(open_run(&f, &fa_flash2, &run, NULL), FA_OK);
    fa_port_open(&port, &fa_plain_verbs, &run);
    fa_alloc(&port, FA_Q, (int64_t)1 << 40, 1 << 10);
    assert_int_equal(port.status, FA_NO_MEMORY);
    assert_string_equal(port.error.text,
                        "no memory for a tile of q: 4503599627436032 bytes were refused");
    fa_port_close(&port);
    fa_run_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),
        cmocka_unit_test(row_steps_matter_to_standard_only),
        cmocka_unit_test(names),
        cmocka_unit_test(a_run_is_watched_and_can_be_stopped),
        cmocka_unit_test(a_failing_port_ends_the_run),
        cmocka_unit_test(memory_that_the_host_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
