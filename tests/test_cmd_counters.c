/* flashlab counters from outside: CSVs with planted gaps, and a stand-in for the profiler. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/program_expect.h"

#define ALGORITHM "counters --algorithm flash2 --tiles 64x64 --n 128 --d 16 --heads 2 --dtype f16 "

enum {
    READ,
    WRITE,
    DRAM_READ,
    DRAM_WRITE,
    LOCAL_LOAD,
    LOCAL_STORE,
    LOADS,
    LOAD_HITS,
    STORES,
    L2_HITS,
    ADDS,
    METRICS
};

static const char *const metrics[METRICS] = {
    "l1tex__m_xbar2l1tex_read_bytes.sum",
    "l1tex__m_l1tex2xbar_write_bytes.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
};

/* One launch: -1 stands for a counter that the CSV has not (in the first launch: in all). */
struct launch {
    const char *kernel;
    int64_t value[METRICS]; /* bytes, and sectors from LOADS on */
};

static void print_csv(FILE *file, const struct launch *launches, int n)
{
    fprintf(file, "==PROF== Connected to process 77\n\"ID\",\"Process ID\",\"Kernel Name\"");
    for (int m = 0; m < METRICS; m++)
        if (launches[0].value[m] >= 0)
            fprintf(file, ",\"%s\"", metrics[m]);
    fprintf(file, "\n\"\",\"\",\"\"");
    for (int m = 0; m < METRICS; m++)
        if (launches[0].value[m] >= 0)
            fprintf(file, ",\"%s\"", m < LOADS ? "byte" : "sector");
    for (int l = 0; l < n; l++) {
        fprintf(file, "\n\"%d\",\"77\",\"%s\"", l, launches[l].kernel);
        for (int m = 0; m < METRICS; m++)
            if (launches[0].value[m] >= 0)
                fprintf(file, ",\"%lld\"", (long long)launches[l].value[m]);
    }
    fputc('\n', file);
}

static void write_csv(const char *name, const struct launch *launches, int n)
{
    FILE *file = fopen(program_path(name), "wb");
    assert_non_null(file);
    print_csv(file, launches, n);
    fclose(file);
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(program_path(name), "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static const json_t *kernel_of(const json_t *report, size_t pass, size_t kernel)
{
    const json_t *at = json_array_get(json_at(report, "passes"), pass);
    at = json_array_get(json_object_get(at, "kernels"), kernel);
    assert_non_null(at);
    return at;
}

/* One row: its two numbers, its reasons as "name seen accounts;", and what is left. */
static void expect_row(const json_t *kernel, const char *row, json_int_t counted,
                       json_int_t measured, const char *reasons, json_int_t unexplained)
{
    const json_t *at = json_at(kernel, row), *list = json_at(at, "reasons");
    char text[512] = "";
    size_t n = 0;
    for (size_t r = 0; r < json_array_size(list); r++) {
        const json_t *one = json_array_get(list, r);
        n += (size_t)snprintf(
            text + n, sizeof text - n, "%s %lld %lld;", json_string_value(json_at(one, "reason")),
            (long long)json_integer_value(json_at(one, "seen_bytes")),
            (long long)json_integer_value(json_at(one, "accounts_for_up_to_bytes")));
    }
    json_expect_integer(at, "counted_bytes", counted);
    json_expect_integer(at, "measured_bytes", measured);
    json_expect_integer(at, "unexplained_bytes", unexplained);
    if (strcmp(text, reasons) != 0)
        fail_msg("%s: %s: expected %s", row, text, reasons);
}

/* By hand: reads 2 (2048 + 2 x 2 x 2048) x 2 bytes, writes 2 (2048 x 2 + 128 x 4). */
enum { COUNTED_READ = 40960, COUNTED_WRITE = 9216, ONCE_READ = 24576 };

/* A launch with a gap in one row, and what is to be said of it. */
static const struct gap {
    int64_t value[METRICS];
    const char *row;
    json_int_t counted, measured;
    const char *reasons;
    json_int_t unexplained;
} gaps[] = {
    {{40960, 9216, 24576, 9216, 0, 0, 0, 0, 0, 0}, "l2_to_sm", COUNTED_READ, 40960, "", 0},
    {{41960, 9216, 24576, 9216, 600, 0, 0, 0, 0, 0},
     "l2_to_sm",
     COUNTED_READ,
     41960,
     "spills 600 600;",
     400},
    {{41960, 9216, 24576, 9216, 5000, 0, 0, 0, 0, 0},
     "l2_to_sm",
     COUNTED_READ,
     41960,
     "spills 5000 1000;",
     0},
    /* 1300 sectors are 41600 bytes, 640 beyond the count. */
    {{41960, 9216, 24576, 9216, 0, 0, 1300, 0, 0, 0},
     "l2_to_sm",
     COUNTED_READ,
     41960,
     "partial sectors 640 640;",
     360},
    {{41960, 9216, 24576, 9216, 100, 0, 1320, 20, 0, 0},
     "l2_to_sm",
     COUNTED_READ,
     41960,
     "spills 100 100;partial sectors 640 640;",
     260},
    {{40000, 9216, 24576, 9216, 700, 0, 0, 20, 0, 0},
     "l2_to_sm",
     COUNTED_READ,
     40000,
     "L1 hits 640 640;",
     320},
    {{40000, 9216, 24576, 9216, 0, 0, 0, 0, 0, 0}, "l2_to_sm", COUNTED_READ, 40000, "", 960},
    {{40960, 10000, 24576, 9216, 0, 0, 0, 0, 300, 0},
     "sm_to_l2",
     COUNTED_WRITE,
     10000,
     "partial sectors 384 384;",
     400},
    {{40960, 10000, 24576, 9216, 0, 9999, 0, 0, 300, 0},
     "sm_to_l2",
     COUNTED_WRITE,
     10000,
     "spills 9999 784;",
     0},
    {{40960, 10000, 24576, 9216, 50, 0, 0, 0, 0, 0}, "sm_to_l2", COUNTED_WRITE, 10000, "", 784},
    {{40960, 9000, 24576, 9216, 0, 70, 0, 0, 400, 0}, "sm_to_l2", COUNTED_WRITE, 9000, "", 216},
    {{40960, 9216, 24576, 9000, 0, 0, 0, 0, 0, 0},
     "dram_write",
     COUNTED_WRITE,
     9000,
     "kept in L2 216 216;",
     0},
    {{40960, 9100, 24576, 9000, 0, 0, 0, 0, 0, 0},
     "dram_write",
     COUNTED_WRITE,
     9000,
     "kept in L2 100 100;",
     116},
    {{40960, 9216, 24576, 9300, 0, 50, 0, 0, 0, 0},
     "dram_write",
     COUNTED_WRITE,
     9300,
     "spills 50 50;",
     34},
    {{40960, 9216, 25000, 9216, 0, 0, 0, 0, 0, 5}, "dram_read", ONCE_READ, 25000, "", 424},
    {{40960, 9216, 25000, 9216, 0, 0, 0, 0, 0, 5, 10},
     "dram_read",
     ONCE_READ,
     25000,
     "reductions 320 320;",
     104},
    {{40960, 10000, 24576, 9216, 0, 0, 0, 0, 100, 0, 200},
     "sm_to_l2",
     COUNTED_WRITE,
     10000,
     "partial sectors 384 384;",
     400},
};

static void expect_gap(const struct gap *gap)
{
    struct launch launch = {.kernel = "void fwd<half>(int)"};
    memcpy(launch.value, gap->value, sizeof launch.value);
    write_csv("gap.csv", &launch, 1);
    json_t *report = program_run_json(ALGORITHM "--csv @gap.csv --format json", 0);
    const json_t *kernel = kernel_of(report, 0, 0);
    expect_row(kernel, gap->row, gap->counted, gap->measured, gap->reasons, gap->unexplained);
    if (gap->value[L2_HITS] > 0)
        json_expect_integer(kernel, "reused_from_l2_bytes", 40960 - 25000);
    else
        assert_true(json_is_null(json_at(kernel, "reused_from_l2_bytes")));
    json_decref(report);
}

static void planted_gaps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        expect_gap(&gaps[i]);
}

static void schema(void **state)
{
    (void)state;
    const struct launch launch = {"k", {40960, -1, 24576, -1, -1, -1, -1, -1, -1, -1, -1}};
    write_csv("part.csv", &launch, 1);
    json_t *report = program_run_json(ALGORITHM "--csv @part.csv --causal --format json", 0);
    const json_t *kernel = kernel_of(report, 0, 0), *pass;
    assert_string_equal(json_string_value(json_at(report, "schema")), "flashlab.counters/1");
    assert_string_equal(json_string_value(json_at(report, "algorithm")), "flash2");
    assert_true(json_is_null(json_at(report, "rung")));
    assert_string_equal(json_string_value(json_at(report, "problem.causal")), "bottom-right");
    pass = json_array_get(json_at(report, "passes"), 0);
    assert_string_equal(json_string_value(json_at(pass, "pass")), "forward");
    json_expect_integer(pass, "tiles.br", 64);
    assert_true(json_is_null(json_at(pass, "tiles.dq_br")));
    assert_string_equal(json_string_value(json_at(kernel, "launched_as")), "k");
    /* Causal, 64 x 64: three of four tiles. */
    json_expect_integer(kernel, "l2_to_sm.counted_bytes", 2 * (2048 + 3 * 2 * 1024) * 2);
    json_expect_integer(pass, "total.l2_to_sm.measured_bytes", 40960);
    assert_true(json_is_null(json_at(kernel, "sm_to_l2.measured_bytes")));
    assert_true(json_is_null(json_at(kernel, "sm_to_l2.unexplained_bytes")));
    assert_true(json_is_null(json_at(pass, "total.sm_to_l2.measured_bytes")));
    json_decref(report);
    /* Tiles that no SM's memory holds are counted all the same: they are the user's own. */
    report = program_run_json("counters --algorithm flash2 --tiles 512x512 --n 512 --d 256 --csv "
                              "@part.csv --format json",
                              0);
    json_expect_integer(kernel_of(report, 0, 0), "l2_to_sm.counted_bytes", 3 * 512 * 256 * 4);
    json_decref(report);
    struct program_run run = program_run_line(ALGORITHM "--csv @part.csv --out @report.txt");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, "");
    program_run_free(&run);
    char *text = program_read_file(program_path("report.txt"), NULL);
    assert_non_null(strstr(text, "flash2, forward, tiles 64x64\n"));
    assert_non_null(strstr(text, "    L2 to SM                                  40,960"
                                 "              40,960  1.0000\n    SM to L2"));
    assert_non_null(strstr(text, " 9,216                   -       -\n"));
    free(text);
    /* Any one of the four has a row to itself. */
    const struct launch last = {"k", {-1, -1, -1, 9216, -1, -1, -1, -1, -1, -1, -1}};
    write_csv("last.csv", &last, 1);
    report = program_run_json(ALGORITHM "--csv @last.csv --format json", 0);
    json_expect_integer(kernel_of(report, 0, 0), "dram_write.measured_bytes", 9216);
    json_decref(report);
}

/* 80 columns, whatever the gaps and names are, and nothing that a terminal obeys. */
static void lines_fit(void **state)
{
    (void)state;
    const struct launch launches[] = {
        {"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false>>(Params)",
         {999999999, 888888888, 777777777, 1, 77777777, 66666666, 55555555, 1, 44444444, 333, 222}},
        {"void \033[31mred<float, (int)64, (int)64, (int)64, (int)64, (int)64, (int)64, (int)64, "
         "(int)64, (int)64, (int)64, (int)64, (int)64, (int)64>(int)",
         {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}},
    };
    write_csv("long.csv", launches, 2);
    struct program_run run = program_run_line(ALGORITHM "--csv @long.csv --kernel flash_fwd");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "; partial sectors up to "));
    assert_non_null(strstr(run.out, "  flash2: void flash_fwd_kernel<"));
    assert_non_null(strstr(run.out, "\nNot counted  void ?[31mred<float, (int)64,"));
    assert_non_null(strstr(run.out, "...\n"));
    for (const char *line = run.out; *line; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > 80)
            fail_msg("%zu columns: %.*s", strcspn(line, "\n"), (int)strcspn(line, "\n"), line);
    program_run_free(&run);
}

static void within_a_share(void **state)
{
    (void)state;
    const struct launch launch = {"k", {41369, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}};
    write_csv("off.csv", &launch, 1); /* 409 more than 40960: 0.9985 % */
    struct program_run run = program_run_line(ALGORITHM "--csv @off.csv --within 1");
    assert_int_equal(run.status, 0);
    assert_non_null(
        strstr(run.out, "\nCheck      the reads from L2 are within 1 % of the count\n"));
    program_run_free(&run);
    run = program_run_line(ALGORITHM "--csv @off.csv --within 0.998");
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.out, " are NOT within 0.998 % of the count\n"));
    program_run_free(&run);
    json_t *report = program_run_json(ALGORITHM "--csv @off.csv --within 0 --format json", 1);
    assert_true(json_is_false(json_at(report, "agrees")));
    json_decref(report);
    report = program_run_json(ALGORITHM "--csv @off.csv --format json", 0);
    assert_true(json_is_null(json_at(report, "agrees")));
    json_decref(report);
    const struct launch without = {"k", {-1, 5, -1, -1, -1, -1, -1, -1, -1, -1, -1}};
    write_csv("off.csv", &without, 1);
    report = program_run_json(ALGORITHM "--csv @off.csv --within 90 --format json", 1);
    assert_true(json_is_null(json_at(report, "agrees")));
    json_decref(report);
    run = program_run_line(ALGORITHM "--csv @off.csv --within 90");
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.out, "\nCheck      the reads from L2 were not measured: there is no"
                                    "\n           l1tex__m_xbar2l1tex_read_bytes.sum\n"));
    program_run_free(&run);
}

/* A mean that is right says nothing of launches that are not. */
static void within_in_each_launch(void **state)
{
    (void)state;
    struct launch launches[] = {
        {"k", {20480, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}},
        {"k", {61440, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}},
    };
    write_csv("apart.csv", launches, 2); /* half of 40960, and half as much again */
    struct program_run run = program_run_line(ALGORITHM "--csv @apart.csv --within 49");
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.out, " are NOT within 49 % of the count, in each launch\n"));
    program_run_free(&run);
    json_t *report = program_run_json(ALGORITHM "--csv @apart.csv --within 50 --format json", 0);
    assert_true(json_is_true(json_at(report, "agrees")));
    json_decref(report);
    for (int64_t sign = -1; sign <= 1; sign += 2) { /* one side alone */
        launches[0].value[READ] = 40960;
        launches[1].value[READ] = 40960 + sign * 4096;
        write_csv("apart.csv", launches, 2);
        report = program_run_json(ALGORITHM "--csv @apart.csv --within 9 --format json", 1);
        assert_true(json_is_false(json_at(report, "agrees")));
        json_decref(report);
    }
}

/* What ncu prints as n/a is not measured, like a counter that is not there. */
static void not_available(void **state)
{
    (void)state;
    write_text("na.csv", "Kernel Name,l1tex__m_xbar2l1tex_read_bytes.sum,dram__bytes_read.sum\n"
                         ",byte,byte\nk,40960,n/a\nk,40960,24576\n");
    json_t *report = program_run_json(ALGORITHM "--csv @na.csv --within 0 --format json", 0);
    json_expect_integer(kernel_of(report, 0, 0), "l2_to_sm.measured_bytes", 40960);
    assert_true(json_is_null(json_at(kernel_of(report, 0, 0), "dram_read.measured_bytes")));
    json_decref(report);
    write_text("na.csv", "Kernel Name,l1tex__m_xbar2l1tex_read_bytes.sum,dram__bytes_read.sum\n"
                         ",byte,byte\nk,n/a,24576\n");
    struct program_run run = program_run_line(ALGORITHM "--csv @na.csv --within 90");
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.out, "\nCheck      the reads from L2 were not measured: ncu has n/a"
                                    " for\n           l1tex__m_xbar2l1tex_read_bytes.sum\n"));
    program_run_free(&run);
}

/* Several kernels and launches: one by a part of its name, a mean of launches, a sum of kernels. */
static void choice_of_kernels(void **state)
{
    (void)state;
    const struct launch launches[] = {
        {"fwd_a", {30000, 100, 0, 0, -1, -1, -1, -1, -1, -1, -1}},
        {"fwd_b", {1000, 200, 0, 0, -1, -1, -1, -1, -1, -1}},
        {"fwd_a", {30003, 100, 0, 0, -1, -1, -1, -1, -1, -1}},
        {"other", {7, 7, 7, 7, -1, -1, -1, -1, -1, -1}},
    };
    write_csv("many.csv", launches, 4);
    json_t *report = program_run_json(ALGORITHM "--csv @many.csv --kernel wd_a --format json", 0);
    json_expect_integer(kernel_of(report, 0, 0), "l2_to_sm.measured_bytes", 30002);
    json_expect_integer(kernel_of(report, 0, 0), "launches", 2);
    json_expect_integer(kernel_of(report, 0, 0), "least_read_bytes", 30000);
    json_expect_integer(kernel_of(report, 0, 0), "most_read_bytes", 30003);
    assert_int_equal(json_array_size(json_at(report, "not_counted")), 2);
    json_decref(report);
    report = program_run_json(ALGORITHM "--csv @many.csv --kernel fwd --format json", 0);
    json_expect_integer(kernel_of(report, 0, 0), "l2_to_sm.measured_bytes", 31002);
    json_expect_integer(kernel_of(report, 0, 0), "kernels", 2);
    json_expect_integer(kernel_of(report, 0, 0), "launches", 3);
    json_decref(report);
    struct program_run run = program_run_line(ALGORITHM "--csv @many.csv --kernel fwd");
    /* A mean says nothing of launches of several sizes: how far apart they are is said. */
    assert_non_null(strstr(run.out,
                           "flash2: fwd_a and 1 more, their sum, mean of 3 launches, which "
                           "read 31,000 to\n    31,003 bytes\n"));
    assert_non_null(strstr(run.out, "\nNot counted  other\n"));
    program_run_free(&run);
}

/* A profile of a whole program has many: the first are named, the others are counted. */
static void many_kernels(void **state)
{
    (void)state;
    static char names[20][16];
    struct launch launches[40];
    for (int l = 0; l < 40; l++) {
        launches[l] = (struct launch){names[l % 20], {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}};
        snprintf(names[l % 20], sizeof names[0], "kernel_%02d", l % 20);
    }
    write_csv("program.csv", launches, 40);
    struct program_run run = program_run_line(ALGORITHM "--csv @program.csv --kernel _03");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "\nNot counted  kernel_00\n             kernel_01\n"));
    assert_non_null(strstr(run.out, "\n             kernel_16\n             and 3 more\n"));
    program_run_free(&run);
    json_t *report = program_run_json(ALGORITHM "--csv @program.csv --kernel _03 --format json", 0);
    assert_int_equal(json_array_size(json_at(report, "not_counted")), 16);
    json_expect_integer(report, "not_counted_kernels", 19);
    json_decref(report);
}

/* Status, and the message in text and in JSON, with "@" for the test's folder. */
static void expect_refusal(const char *line, int status, const char *code, const char *text)
{
    char json_line[512];
    struct program_run run = program_run_line(line);
    if (run.status != status || run.out[0] || !strstr(run.err, text) ||
        strncmp(run.err, "flashlab counters: ", 19) != 0)
        fail_msg("%s: status %d, %s%s: expected %s", line, run.status, run.out, run.err, text);
    program_run_free(&run);
    snprintf(json_line, sizeof json_line, "%s --format json", line);
    json_t *object = program_run_json(json_line, status);
    assert_string_equal(json_string_value(json_at(object, "error.code")), code);
    json_decref(object);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *line, *code, *text;
    } refused[] = {
        {"counters", "bad_argument", "expected --rung NAME, or --csv FILE with --algorithm"},
        {"counters --rung flash2 --algorithm flash2", "bad_argument",
         "--rung and --algorithm: expected one of them"},
        {"counters --algorithm flash2 --tiles 64x64", "bad_argument",
         "--algorithm: expected --csv with it"},
        {"counters --algorithm flash2 --csv @many.csv", "bad_argument",
         "--algorithm: expected --tiles BRxBC with it"},
        {"counters --algorithm flash2 --tiles best --csv @many.csv", "bad_argument",
         "--tiles best: expected BRxBC, the tiles of the kernel: 128x64"},
        {"counters --algorithm flash3 --csv @many.csv", "bad_argument",
         "--algorithm flash3: expected standard, flash1, flash2"},
        {ALGORITHM "--csv @many.csv --pass both", "bad_argument",
         "--pass both: expected forward or backward with --algorithm"},
        {ALGORITHM "--csv @many.csv --mask @many.csv", "bad_argument", "--mask: unknown option; "},
        {ALGORITHM "--csv @none.csv", "io", "none.csv: cannot be read: "},
        {ALGORITHM "--csv @many.csv", "bad_argument",
         "many.csv: 3 kernels fit: expected --kernel with a part of one's name: fwd_a, fwd_b, "
         "other"},
        {ALGORITHM "--csv @many.csv --kernel bwd", "bad_file",
         "many.csv: no kernel has in its name bwd: there are fwd_a, fwd_b, other"},
        {ALGORITHM "--csv @bare.csv", "bad_file",
         "bare.csv: k has none of the counters: expected ncu to be run with --metrics "
         "l1tex__m_xbar2l1tex_read_bytes.sum,"},
        {ALGORITHM "--csv @bad.csv", "bad_file",
         "bad.csv: line 3, column 2: l1tex__m_xbar2l1tex_read_bytes.sum is 'much': expected a "},
        {ALGORITHM "--csv @na.csv", "bad_file",
         "na.csv: k has none of the counters: l1tex__m_xbar2l1tex_read_bytes.sum is n/a, so ncu "},
        {ALGORITHM "--csv @forbidden.csv", "bad_file",
         "forbidden.csv: ncu measured nothing: ==ERROR== ERR_NVGPUCTRPERM - The user does not (run "
         "as root, or load NVIDIA's driver with NVreg_RestrictProfilingToAdminUsers=0"},
        {ALGORITHM "--csv @many.csv --out @many.csv", "bad_argument",
         "--out and --csv: expected two files"},
        {ALGORITHM "--csv @many.csv --out @no/where.txt", "io", "--out: "},
        {ALGORITHM "--csv @many.csv --within -1", "bad_argument",
         "--within -1: expected a percentage from 0 on"},
        {ALGORITHM "--csv @many.csv --launch", "bad_argument", "--launch and --csv: expected one"},
        {ALGORITHM "--launch", "bad_argument", "--algorithm: expected --csv with it"},
        {"counters --rung flash2 --launch --kernel k", "bad_argument",
         "--launch and --kernel: expected one of them"},
        {"counters --rung flash2 --launch --within 1", "bad_argument",
         "--launch and --within: expected one of them"},
        {"counters --rung flash2 --tiles 64x64", "bad_argument",
         "--tiles: expected --algorithm with it: a rung's tiles are its own"},
        {ALGORITHM "--csv @many.csv --deterministic", "bad_argument",
         "--deterministic: expected --rung with it"},
    };
    const struct launch bare = {"k", {-1, -1, -1, -1, 5, 5, 5, 5, 5, 5}};
    write_text("bad.csv", "Kernel Name,l1tex__m_xbar2l1tex_read_bytes.sum\n,byte\nk,much\n");
    write_text("na.csv", "Kernel Name,l1tex__m_xbar2l1tex_read_bytes.sum\n,byte\nk,n/a\n");
    write_text("forbidden.csv",
               "==PROF== x\n==ERROR== ERR_NVGPUCTRPERM - The user does not\n==ERROR== y\n");
    write_csv("bare.csv", &bare, 1);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect_refusal(refused[i].line, 2, refused[i].code, refused[i].text);
    /* A build without kernels says so, one with them and without a GPU names what is missing; where
     * both are there, it runs. */
    struct program_run run = program_run_line("counters --rung flash2 --n 64");
    assert_true(run.status == 3 || (run.status == 0 && run.err[0] == '\0'));
    if (strstr(run.err, "its tiles are not known"))
        assert_non_null(strstr(run.err, "this build has no CUDA kernels: install a CUDA toolkit "));
    program_run_free(&run);
}

/* ---- with the kernels, on the CPU ------------------------------------------------------------ */

#define ON_THE_SHIM                                                                                \
    do {                                                                                           \
        if (FLASHLAB_SHIM_PROGRAM[0] == '\0')                                                      \
            skip();                                                                                \
        program_use(FLASHLAB_SHIM_PROGRAM);                                                        \
    } while (0)

static int use_the_program(void **state)
{
    (void)state;
    program_use(NULL);
    return 0;
}

static const struct launch rung_launches[] = {
    {"void flash2_kernel<float, (int)64, (int)4>(gpu_head_problem, unsigned int)",
     {1, 2, 3, 4, 0, 0, 0, 0, 0, 0}},
    {"void flash2_delta_kernel<float>(gpu_gradient_problem, float *)",
     {5, 6, 7, 8, 0, 0, 0, 0, 0, 0}},
    {"void flash2_keys_kernel<float>(gpu_gradient_problem, unsigned int, const float *)",
     {9, 10, 11, 12, 0, 0, 0, 0, 0, 0}},
    {"void flash2_queries_kernel<float>(gpu_gradient_problem, unsigned int, const float *)",
     {13, 14, 15, 16, 0, 0, 0, 0, 0, 0}},
    {"void my_flash2_kernel(int)", {90, 90, 90, 90, 0, 0, 0, 0, 0, 0}},
    {"void standard_scores_kernel<float>(int)", {91, 90, 90, 90, 0, 0, 0, 0, 0, 0}},
    {"void flash2_kernel_two<float>(int)", {92, 90, 90, 90, 0, 0, 0, 0, 0, 0}},
    {"void mma_keys_kernel<__half>(int)", {93, 90, 90, 90, 0, 0, 0, 0, 0, 0}},
};
enum { RUNG_LAUNCHES = sizeof rung_launches / sizeof *rung_launches };

/* Each kernel of a pass by its name; the counts are those of kernel_walk.h. */
static void rung_by_name(void **state)
{
    (void)state;
    ON_THE_SHIM;
    write_csv("rung.csv", rung_launches, RUNG_LAUNCHES);
    json_t *report = program_run_json("counters --rung flash2 --n 65 --d 8 --heads 4 --kv-heads 2 "
                                      "--pass both --csv @rung.csv --format json",
                                      0);
    for (size_t k = 0; k < 4; k++)
        json_expect_integer(kernel_of(report, k > 0, k > 0 ? k - 1 : 0), "l2_to_sm.measured_bytes",
                            (json_int_t)(1 + 4 * k));
    const json_t *backward = json_array_get(json_at(report, "passes"), 1);
    json_expect_integer(backward, "total.l2_to_sm.measured_bytes", 5 + 9 + 13);
    json_expect_integer(backward, "tiles.dq_bc", 64);
    /* Nq d + 2 Tr Nk d; Nk (d + dv) a K/V head and Tc (2 Nq d + 2 Nq) a head, of 4 bytes. */
    json_expect_integer(kernel_of(report, 0, 0), "l2_to_sm.counted_bytes",
                        4 * 4 * (65 * 8 + 2 * 2 * 65 * 8));
    json_expect_integer(kernel_of(report, 1, 1), "l2_to_sm.counted_bytes",
                        4 * (2 * 65 * 16 + 4 * 2 * (2 * 65 * 8 + 2 * 65)));
    json_expect_integer(kernel_of(report, 1, 0), "sm_to_l2.counted_bytes", 4 * 4 * 65);
    assert_int_equal(json_array_size(json_at(report, "not_counted")), 4);
    json_decref(report);
    /* The forward kernel that a backward pass needs is nothing to wonder at. */
    report = program_run_json("counters --rung flash2 --n 65 --d 8 --pass backward --csv @rung.csv "
                              "--format json",
                              0);
    assert_int_equal(json_array_size(json_at(report, "passes")), 1);
    assert_int_equal(json_array_size(json_at(report, "not_counted")), 4);
    json_decref(report);
    expect_refusal("counters --rung flash1 --csv @rung.csv", 2, "bad_file",
                   "rung.csv: no kernel is called flash1_kernel: there are void flash2_kernel<");
    expect_refusal("counters --rung standard --csv @rung.csv", 2, "bad_file",
                   "rung.csv: no kernel is called _softmax_kernel: there are ");
    expect_refusal("counters --rung flash2 --csv @rung.csv --kernel half", 2, "bad_file",
                   "no kernel is called flash2_kernel, with half: ");
    expect_refusal("counters --rung best --csv @rung.csv", 2, "bad_argument",
                   "--rung best: expected one of standard, flash1, flash2");
    expect_refusal("counters --rung flash1 --pass backward --csv @rung.csv", 2, "unsupported",
                   "flash1 has no backward pass");
    expect_refusal("counters --rung flash1 --window 3,3 --csv @rung.csv", 2, "unsupported",
                   "flash1");
    expect_refusal("counters --rung flash2 --d 300 --csv @rung.csv", 2, "unsupported", "flash2");
}

/* A program named ncu, in a folder that PATH begins with. */
static void put_ncu(const char *script)
{
    char path[4096];
    const char *before = getenv("PATH");
    if (mkdir(program_path("bin"), 0777) == 0) {
        snprintf(path, sizeof path, "%s:%s", program_path("bin"), before ? before : "");
        setenv("PATH", path, 1);
    }
    FILE *file = fopen(program_path("bin/ncu"), "wb");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s", script);
    fclose(file);
    assert_int_equal(chmod(program_path("bin/ncu"), 0777), 0);
}

/* A sanitizer may have its say of the shim's fibres on standard error. */
static void expect_silence(const char *line)
{
    struct program_run run = program_run_line(line);
    if (run.status != 0 || run.out[0])
        fail_msg("%s: status %d, %s%s", line, run.status, run.out, run.err);
    program_run_free(&run);
}

/* The words that ncu is given, and the program that it is to run: which runs, and is silent. */
static void runs_the_profiler(void **state)
{
    (void)state;
    ON_THE_SHIM;
    char script[4096];
    write_csv("rung.csv", rung_launches, RUNG_LAUNCHES);
    snprintf(script, sizeof script,
             "echo \"$@\" > '%s/words'\n"
             "while [ \"$1\" != --metrics ]; do shift; done\n"
             "shift 2\n"
             "\"$@\" > '%s/launched' || exit 1\n"
             "cat '%s/rung.csv'\n",
             program_folder(), program_folder(), program_folder());
    put_ncu(script);
    json_t *report =
        program_run_json("counters --rung flash2 --nq 40 --nk 70 --d 8 --dv 4 --batch 2 --heads 2 "
                         "--kv-heads 1 --causal=top-left --window 30,-1 --pass both --dtype bf16 "
                         "--format json",
                         0);
    json_expect_integer(kernel_of(report, 0, 0), "l2_to_sm.measured_bytes", 1);
    json_expect_integer(kernel_of(report, 1, 2), "dram_write.measured_bytes", 16);
    json_decref(report);
    char *words = program_read_file(program_path("words"), NULL);
    char *launched = program_read_file(program_path("launched"), NULL);
    assert_ptr_equal(strstr(words, "--csv --page raw --print-units base --clock-control none "
                                   "--metrics l1tex__m_xbar2l1tex_read_bytes.sum,"),
                     words);
    assert_non_null(strstr(words, " counters --launch --rung flash2 --pass both --dtype bf16 "
                                  "--batch 2 --heads 2 --kv-heads 1 --nq 40 --nk 70 --d 8 --dv 4 "
                                  "--scale 0.3535533905932737"));
    assert_non_null(strstr(words, " --causal=top-left --window 30,-1\n"));
    for (int m = 0; m < METRICS; m++)
        assert_non_null(strstr(words, metrics[m]));
    assert_string_equal(launched, "");
    free(words);
    free(launched);
    expect_silence("counters --launch --rung standard --n 70 --d 8 --heads 2");
    expect_silence("counters --launch --rung flash1 --n 70 --d 8 --dtype f16");
    expect_silence("counters --launch --rung flash2 --n 0 --pass both");
}

static void profiler_fails(void **state)
{
    (void)state;
    ON_THE_SHIM;
    put_ncu("echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'; exit 1\n");
    expect_refusal("counters --rung flash2 --n 64", 3, "missing_part",
                   "ncu may not read the GPU's counters (ERR_NVGPUCTRPERM): run as root, or load ");
    put_ncu("echo '==ERROR== ERR_NVGPUCTRPERM - x' >&2; echo '==WARNING== No kernels'; exit 0\n");
    expect_refusal("counters --rung flash2 --n 64", 3, "missing_part", "(ERR_NVGPUCTRPERM)");
    put_ncu("echo '==ERROR== one'; echo '==ERROR== Failed to find metric l1tex__x'; exit 9\n");
    expect_refusal("counters --rung flash2 --n 64", 2, "io",
                   "ncu ended with 9: Failed to find metric l1tex__x\n");
    put_ncu("echo 'flashlab counters: the device is gone' >&2; echo '==ERROR== app'; exit 2\n");
    expect_refusal("counters --rung flash2 --n 64", 2, "io",
                   "ncu ended with 2: the device is gone");
    put_ncu("echo '==PROF== x'; printf 'a\\nncu: libx.so: no such file\\n\\n' >&2; exit 127\n");
    expect_refusal("counters --rung flash2 --n 64", 2, "io",
                   "ncu ended with 127: ncu: libx.so: no such file\n");
    put_ncu("exit 4\n");
    expect_refusal("counters --rung flash2 --n 64", 2, "io", "ncu ended with 4 and no word of why");
    put_ncu("echo '==WARNING== No kernels were profiled.'\n");
    expect_refusal("counters --rung flash2 --n 64", 2, "bad_file",
                   "ncu: no line has a field \"Kernel Name\": expected what ncu --csv prints");
    if (access("/usr/local/cuda/bin/ncu", X_OK) == 0)
        return; /* it would be found */
    setenv("PATH", program_folder(), 1);
    expect_refusal("counters --rung flash2 --n 64", 3, "missing_part",
                   "ncu cannot be run: No such file or directory: it comes with NVIDIA Nsight ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_gaps),
        cmocka_unit_test(schema),
        cmocka_unit_test(lines_fit),
        cmocka_unit_test(within_a_share),
        cmocka_unit_test(within_in_each_launch),
        cmocka_unit_test(not_available),
        cmocka_unit_test(choice_of_kernels),
        cmocka_unit_test(many_kernels),
        cmocka_unit_test(refusals),
        cmocka_unit_test_teardown(rung_by_name, use_the_program),
        cmocka_unit_test_teardown(runs_the_profiler, use_the_program),
        cmocka_unit_test_teardown(profiler_fails, use_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, program_folder_remove);
}
