/* flashlab bench gpu, as a user meets it: on a machine without a GPU, and with the kernels on the
 * CPU, whose times say nothing, and whose counts are the same as a GPU's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/program_expect.h"

/* 2 sequences of 64 tokens, one head: one tile. 100 is a ragged length of two. */
#define SMALL "bench gpu --d 8 --tokens 128 --heads 1 --repeats 2 --dtype f32 "

static double number_at(const json_t *value, const char *path)
{
    const json_t *found = json_at(value, path);
    assert_true(json_is_number(found));
    return json_number_value(found);
}

static void test_refusals(void **state)
{
    static const struct program_refusal refusals[] = {
        {"bench --rungs mma", "bad_argument", "--rungs: an option of `flashlab bench gpu` alone"},
        {"bench count --hot", "bad_argument", "--hot: an option of `flashlab bench gpu` alone"},
        {"bench gpu --rounds 3", "bad_argument",
         "--rounds: not an option of `flashlab bench gpu`, which has --repeats"},
        {"bench gpu --n 64,0", "bad_argument",
         "--n 64,0: expected 1 to 1048576; K, M and G are powers of 1024"},
        {"bench gpu --n 64,1K,64", "bad_argument", "--n 64,1K,64: expected each length once"},
        {"bench gpu --n 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "bad_argument",
         "--n 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17: expected at most 16 lengths"},
        {"bench gpu --n 64,", "bad_argument",
         "--n 64,: expected a whole number, 1 to 1048576; K, M and G are powers of 1024"},
        {"bench gpu --dtype f64", "bad_argument", "--dtype f64: expected f32, f16 or bf16"},
        {"bench gpu --d 257", "bad_argument", "--d 257: expected 1 to 256"},
        {"bench gpu --repeats 0", "bad_argument", "--repeats 0: expected 1 to 1000"},
        {"bench gpu --plot @ladder.pdf", "bad_argument",
         "@/ladder.pdf: expected a name that ends in .svg or .png, the formats of a figure"},
        {"bench gpu --csv @a.svg --plot @a.svg", "bad_argument",
         "--csv @/a.svg: expected another file than the figure and its script"},
        {"bench gpu --csv @a.gp --plot @a.svg", "bad_argument",
         "--csv @/a.gp: expected another file than the figure and its script"},
        {"bench gpus", "bad_argument",
         "'gpus': expected attention, count, trace, memory, view, all or gpu"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        program_expect_refusal(&refusals[i]);
}

static void test_without_a_gpu(void **state)
{
    (void)state;
    struct program_run run =
        program_run_line("bench gpu --n 64 --tokens 64 --repeats 1 --csv @none.csv --format json");
    if (run.status == 0) {
        program_run_free(&run);
        skip();
    }
    assert_int_equal(run.status, 3);
    text_expect(run.out, "\"code\":\"missing_part\"");
    text_expect(run.out, strstr(run.out, "NVIDIA") ? "NVIDIA" : "this build has no CUDA kernels");
    assert_int_not_equal(access(program_path("none.csv"), F_OK), 0);
    program_run_free(&run);
}

/* ---- with the kernels on the CPU ------------------------------------------------------------- */

static int use_shim(void **state)
{
    (void)state;
    program_use(FLASHLAB_SHIM_PROGRAM);
    return 0;
}

static int use_program(void **state)
{
    (void)state;
    program_use(NULL);
    return 0;
}

#define NEEDS_SHIM                                                                                 \
    do {                                                                                           \
        (void)state;                                                                               \
        if (FLASHLAB_SHIM_PROGRAM[0] == '\0')                                                      \
            skip();                                                                                \
    } while (0)

static const json_t *entry_of(const json_t *result, const char *rung, int n)
{
    const json_t *entry;
    size_t i;
    json_array_foreach(json_at(result, "entries"), i,
                       entry) if (strcmp(json_string_value(json_at(entry, "entry")), rung) == 0 &&
                                  json_integer_value(json_at(entry, "n")) == n) return entry;
    fail_msg("there is no %s at %d", rung, n);
    return NULL;
}

static void expect_order(const json_t *entry, const char *what)
{
    char path[64];
    double at[3];
    static const char *const names[] = {"low", "median", "high"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s.%s", what, names[i]);
        at[i] = number_at(entry, path);
    }
    assert_true(0 < at[0] && at[0] <= at[1] && at[1] <= at[2]);
}

/* What the header of rung_flash2.cu says of a head, times 2 sequences, 4 bytes. */
static void test_figures(void **state)
{
    NEEDS_SHIM;
    json_t *result = program_run_json(SMALL "--n 100,64 --rungs flash2,flash1 --format json", 0);
    const json_t *flash2 = entry_of(result, "flash2", 64);
    assert_int_equal(json_array_size(json_at(result, "entries")), 4);
    assert_string_equal(json_string_value(json_at(result, "schema")), "flashlab.bench_gpu/1");
    assert_non_null(
        strstr(json_string_value(json_at(result, "provenance.command")), "--n 100,64 --rungs"));
    assert_string_equal(json_string_value(json_at(result, "protocol")), "burst");
    json_expect_integer(flash2, "batch", 2);
    json_expect_integer(entry_of(result, "flash2", 100), "batch", 1);
    expect_order(flash2, "ms");
    assert_true(number_at(flash2, "predicted.read_bytes") == 4 * 2 * (64 * 8 + 2 * 64 * 8));
    assert_true(number_at(flash2, "predicted.write_bytes") == 4 * 2 * (64 * 8 + 64));
    assert_true(number_at(flash2, "predicted.memory_bytes") == 4 * 2 * (4 * 64 * 8 + 64));
    /* Two tiles of queries read K and V twice. */
    assert_true(number_at(entry_of(result, "flash2", 100), "predicted.read_bytes") ==
                4 * (100 * 8 + 2 * 2 * 100 * 8));
    double flops = 4.0 * 2 * 64 * 64 * 8, ms = number_at(flash2, "ms.median");
    assert_true(fabs(number_at(flash2, "tflops") / (flops / ms * 1e-9) - 1) < 1e-9);
    double error = number_at(flash2, "error"), budget = number_at(flash2, "error_budget");
    assert_true(0 < error && error <= budget && budget < 1e-5);
    double fma = number_at(result, "ceilings.fma.rate");
    assert_true(fabs(number_at(flash2, "peak_share") / (flops / ms * 1e3 / fma) - 1) < 1e-9);
    /* The products' part of the roofline is a lower bound of the whole. */
    assert_true(number_at(flash2, "predicted.ms") >= flops / fma * 1e3 * (1 - 1e-9));
    assert_true(json_is_null(json_at(result, "ceilings.matrix.rate")));
    assert_true(json_is_null(json_at(flash2, "clock_ghz.median")));
    json_decref(result);
}

/* Half the work, and of the tiles those on the diagonal and below. */
static void test_causal(void **state)
{
    NEEDS_SHIM;
    json_t *result = program_run_json(SMALL "--n 128 --causal --rungs flash2 --format json", 0);
    const json_t *flash2 = entry_of(result, "flash2", 128);
    double flops = 4.0 * 128 * 128 * 8 / 2, ms = number_at(flash2, "ms.median");
    assert_int_equal(json_array_size(json_at(result, "entries")), 1);
    assert_true(fabs(number_at(flash2, "tflops") / (flops / ms * 1e-9) - 1) < 1e-9);
    assert_true(number_at(flash2, "predicted.read_bytes") == 4 * (128 * 8 + 3 * 2 * 64 * 8));
    json_decref(result);
}

static void test_backward(void **state)
{
    NEEDS_SHIM;
    json_t *result = program_run_json(SMALL "--n 64 --backward --dtype f16 --format json", 2);
    json_decref(result); /* an option is given once */
    result =
        program_run_json("bench gpu --d 8 --tokens 64 --heads 2 --repeats 1 --dtype f16 --n 64 "
                         "--backward --causal --rungs flash1,flash2 --format json",
                         0);
    const json_t *flash2 = entry_of(result, "flash2", 64);
    double flops = 10.0 * 2 * 64 * 64 * 8 / 2, ms = number_at(flash2, "ms.median");
    assert_true(fabs(number_at(flash2, "tflops") / (flops / ms * 1e-9) - 1) < 1e-9);
    double error = number_at(flash2, "error"), budget = number_at(flash2, "error_budget");
    assert_true(0 < error && error <= budget && budget < 0.1);
    assert_string_equal(json_string_value(json_at(entry_of(result, "flash1", 64), "refused")),
                        "it has no backward pass");
    json_decref(result);
}

/* A cell of a line of CSV without quotes before it. */
static void read_cell(const char *line, int column, char cell[64])
{
    for (int c = 0; c < column; c++) {
        line += strcspn(line, ",\n");
        assert_true(*line == ',');
        line++;
    }
    snprintf(cell, 64, "%.*s", (int)strcspn(line, ",\n"), line);
}

static void test_table(void **state)
{
    NEEDS_SHIM;
    static const char header[] =
        "entry,pass,dtype,d,mask,n,batch,heads,protocol,repeats,median_ms,low_ms,high_ms,tflops,"
        "peak_share,clock_ghz,error,error_budget,predicted_ms,bound_by,read_bytes,write_bytes,"
        "measured_read_bytes,measured_write_bytes,memory_bytes,matrix_tflops,fma_tflops,texp,l2_"
        "tbs,copy_tbs,device,driver,cuda,refused\n";
    char cell[64];
    struct program_run run = program_run_line(SMALL "--n 64 --hot --rungs flash2,standard "
                                                    "--csv @table.csv");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.err, "");
    text_expect(run.out, "forward, f32, d = 8, full; 128 tokens, 1 head; 2 input sets\n");
    text_expect(run.out, "matrix            -  tensor cores are used in f16 and bf16 alone\n");
    text_expect(run.out, "\nflash2         64 ");
    text_expect(run.out, "table.csv: written\n");
    char *csv = program_read_file(program_path("table.csv"), NULL);
    assert_non_null(csv);
    assert_memory_equal(csv, header, strlen(header));
    const char *standard = strstr(csv, "\nstandard,forward,f32,8,full,64,2,1,hot,2,");
    const char *flash2 = strstr(csv, "\nflash2,forward,f32,8,full,64,2,1,hot,2,");
    assert_non_null(standard);
    assert_non_null(flash2);
    read_cell(flash2 + 1, 20, cell);
    assert_string_equal(cell, "12288");
    read_cell(flash2 + 1, 15, cell); /* no clock on the CPU */
    assert_string_equal(cell, "");
    read_cell(standard + 1, 10, cell);
    assert_true(strtod(cell, NULL) > 0);
    free(csv);
    program_run_free(&run);
}

/* The Python script that times PyTorch writes the same columns. */
static void test_peers_share_the_columns(void **state)
{
    char *script = program_read_file(FLASHLAB_SOURCE_DIR "/cuda/torch_peers.py", NULL);
    char *ours = program_read_file(FLASHLAB_SOURCE_DIR "/simulator/cli/bench_gpu_report.c", NULL);
    (void)state;
    assert_non_null(script);
    assert_non_null(ours);
    const char *from[2] = {strstr(script, "COLUMNS = ("), strstr(ours, "fputs(\"entry,")};
    char columns[2][1024];
    for (int i = 0; i < 2; i++) {
        size_t n = 0;
        bool inside = false;
        assert_non_null(from[i]);
        for (const char *at = from[i]; *at && !(*at == ')' || (!inside && *at == ';')); at++) {
            if (*at == '"')
                inside = !inside;
            else if (inside && *at == '\\')
                break;
            else if (inside && n + 1 < sizeof columns[0])
                columns[i][n++] = *at;
        }
        columns[i][n] = '\0';
    }
    assert_true(strlen(columns[0]) > 200);
    assert_string_equal(columns[0], columns[1]);
    free(script);
    free(ours);
}

static void test_figure(void **state)
{
    NEEDS_SHIM;
    size_t n_bytes;
    struct program_run run =
        program_run_line(SMALL "--n 32,64 --rungs flash1,flash2 --plot @ladder.png");
    if (run.status == 3) {
        text_expect(run.err, "gnuplot is missing");
        program_run_free(&run);
        skip();
    }
    assert_int_equal(run.status, 0);
    text_expect(run.out, "ladder.png: drawn, with its .csv and .gp beside it\n");
    char *picture = program_read_file(program_path("ladder.png"), &n_bytes);
    assert_true(picture && n_bytes > 10000);
    assert_memory_equal(picture, "\x89PNG\r\n", 6);
    char *script = program_read_file(program_path("ladder.gp"), NULL);
    text_expect(script, "The kernel ladder, measured: shim");
    text_expect(script, "Forward, f32, d = 8, full, 1 head, 128 tokens. Median of 2 rounds");
    text_expect(script, "rate('flash2')");
    text_expect(script, "'products alone'"); /* in f32 those of the CUDA cores */
    assert_int_equal(access(program_path("ladder.csv"), F_OK), 0);
    free(picture);
    free(script);
    program_run_free(&run);
    run = program_run_line("bench gpu --d 8 --tokens 16 --heads 1 --repeats 1 --dtype f32 --n 16 "
                           "--rungs flash2 --hot --plot @hot.svg");
    assert_int_equal(run.status, 0);
    script = program_read_file(program_path("hot.gp"), NULL);
    text_expect(script, "16 tokens. Median of 1 round in random order, without a rest' at screen ");
    free(script);
    program_run_free(&run);
}

/* The table is there before it is regretted that there is no figure. */
static void test_without_gnuplot(void **state)
{
    NEEDS_SHIM;
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    struct program_run run = program_run_line(SMALL "--n 32 --rungs flash2 --plot @none.svg");
    setenv("PATH", path, 1);
    free(path);
    assert_int_equal(run.status, 3);
    text_expect(run.out, "\nflash2         32 ");
    text_expect(run.err, "gnuplot is missing");
    assert_int_equal(access(program_path("none.gp"), F_OK), 0);
    assert_int_not_equal(access(program_path("none.svg"), F_OK), 0);
    program_run_free(&run);
}

/* The measurement is not lost with its file: this one is longer than the KiB that it may have. What
 * a pipe takes is not counted. (An OpenMP runtime may make a file of one KiB as it starts.) */
static void test_no_room(void **state)
{
    NEEDS_SHIM;
    char command[1024];
    snprintf(command, sizeof command,
             "cd '%s' && { trap '' XFSZ; ulimit -f 2; '%s' bench gpu --d 8 --tokens 16 --n "
             "4,5,6,7,8,9,10,11,12,13,14,15,16 --heads 1 --repeats 1 --dtype f32 --rungs flash2 "
             "--csv room.csv; echo status $?; } 2>&1 | cat",
             program_folder(), FLASHLAB_SHIM_PROGRAM);
    program_use("/bin/sh");
    struct program_run run = program_run("-c", command, NULL);
    program_use(FLASHLAB_SHIM_PROGRAM);
    text_expect(run.out, "\nflash2         16 ");
    text_expect(run.out, "\nflashlab bench: room.csv: cannot be written: ");
    text_expect(run.out, "\nstatus 2\n");
    assert_null(strstr(run.out, "room.csv: written"));
    assert_int_not_equal(access(program_path("room.csv"), F_OK), 0);
    program_run_free(&run);
}

/* Where no rung takes the problem nothing is measured, not even the ceilings. */
static void test_nothing_to_time(void **state)
{
    NEEDS_SHIM;
    static const char line[] =
        "bench gpu --d 8 --tokens 1 --heads 1 --repeats 1 --n 16,32 --dtype "
        "f32 --backward --rungs flash1 --plot @nothing.svg --csv @nothing.csv";
    struct program_run run = program_run_line(line);
    assert_int_equal(run.status, 3);
    assert_string_equal(run.out, "");
    assert_string_equal(run.err, "flashlab bench: flash1 took none of the lengths: it has no "
                                 "backward pass\n");
    assert_int_not_equal(access(program_path("nothing.gp"), F_OK), 0);
    assert_int_not_equal(access(program_path("nothing.csv"), F_OK), 0);
    program_run_free(&run);
    json_t *result = program_run_json(SMALL "--n 64 --rungs mma,async --format json", 3);
    assert_string_equal(json_string_value(json_at(result, "error.code")), "missing_part");
    text_expect(json_string_value(json_at(result, "error.message")),
                "mma took none of the lengths, nor did another rung: mma ");
    json_decref(result);
}

/* Ctrl-C in the middle: nothing is written, not even a part of a file. */
static void test_cancelled(void **state)
{
    NEEDS_SHIM;
    char command[1024];
    snprintf(command, sizeof command,
             "cd '%s' && mkdir -p empty && cd empty && { (sleep 2; kill -INT $$) > /dev/null 2>&1 "
             "& } && "
             "exec '%s' bench gpu --d 8 --n 64 --tokens 64 --heads 1 --repeats 1000 --csv a.csv "
             "--plot a.png",
             program_folder(), FLASHLAB_SHIM_PROGRAM);
    program_use("/bin/sh");
    struct program_run run = program_run("-c", command, NULL);
    program_use(FLASHLAB_SHIM_PROGRAM);
    assert_int_equal(run.status, 130);
    assert_string_equal(run.out, "");
    assert_string_equal(run.err, "flashlab bench: stopped before the measurement was done\n");
    assert_int_equal(rmdir(program_path("empty")), 0);
    program_run_free(&run);
}

/* Ctrl-C while the profiler runs ends both: it is no failure of the profiler's. */
static void test_cancelled_profile(void **state)
{
    NEEDS_SHIM;
    char command[1024];
    FILE *file = fopen(program_path("ncu"), "wb");
    assert_non_null(file);
    fputs("#!/bin/sh\nkill -INT $PPID $$\n", file);
    fclose(file);
    assert_int_equal(chmod(program_path("ncu"), 0777), 0);
    snprintf(command, sizeof command,
             "PATH='%s':$PATH exec '%s' bench gpu --d 8 --n 16 --tokens 16 --heads 1 --repeats 1 "
             "--dtype f32 --rungs flash2 --ncu",
             program_folder(), FLASHLAB_SHIM_PROGRAM);
    program_use("/bin/sh");
    struct program_run run = program_run("-c", command, NULL);
    program_use(FLASHLAB_SHIM_PROGRAM);
    assert_int_equal(unlink(program_path("ncu")), 0);
    assert_int_equal(run.status, 130);
    assert_string_equal(run.err, "flashlab bench: stopped before the measurement was done\n");
    program_run_free(&run);
}

/* What disagrees with the oracle is not timed, and the exit status says so; the others are. */
static void test_wrong_kernels(void **state)
{
    (void)state;
    if (FLASHLAB_BROKEN_PROGRAM[0] == '\0')
        skip();
    program_use(FLASHLAB_BROKEN_PROGRAM);
    json_t *result = program_run_json(SMALL "--n 64 --rungs off,lazy,atomic --format json", 1);
    const json_t *off = entry_of(result, "off", 64), *sound = entry_of(result, "atomic", 64);
    assert_true(json_is_true(json_at(off, "wrong")));
    text_expect(
        json_string_value(json_at(off, "refused")),
        "wrong, and so not timed: O differs from the oracle by 0.25 in head 0, rows from 48");
    text_expect(
        json_string_value(json_at(entry_of(result, "lazy", 64), "refused")),
        "wrong, and so not timed: O differs from the oracle by inf in head 0, rows from 48");
    assert_null(json_object_get(off, "ms"));
    assert_true(number_at(sound, "ms.median") > 0);
    json_decref(result);
    result = program_run_json(SMALL "--n 64 --rungs off-dk,atomic --backward --format json", 1);
    text_expect(json_string_value(json_at(entry_of(result, "off-dk", 64), "refused")),
                "wrong, and so not timed: dK differs from the oracle by 0.25 at a small length");
    assert_true(number_at(entry_of(result, "atomic", 64), "ms.median") > 0);
    json_decref(result);
    /* A ladder of wrong rungs is one that was run, and has nothing to draw. */
    struct program_run run = program_run_line(SMALL "--n 64 --rungs off --plot @nothing.svg");
    assert_int_equal(run.status, 2);
    text_expect(run.out, "wrong, and so not timed");
    text_expect(run.err, "no rung was timed, so there is nothing to draw");
    assert_int_not_equal(access(program_path("nothing.gp"), F_OK), 0);
    program_run_free(&run);
}

#define ON_THE_CPU(test) cmocka_unit_test_setup_teardown(test, use_shim, use_program)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_without_a_gpu),
        cmocka_unit_test(test_peers_share_the_columns),
        ON_THE_CPU(test_figures),
        ON_THE_CPU(test_causal),
        ON_THE_CPU(test_backward),
        ON_THE_CPU(test_table),
        ON_THE_CPU(test_figure),
        ON_THE_CPU(test_without_gnuplot),
        ON_THE_CPU(test_no_room),
        ON_THE_CPU(test_nothing_to_time),
        ON_THE_CPU(test_cancelled),
        ON_THE_CPU(test_cancelled_profile),
        ON_THE_CPU(test_wrong_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, program_folder_remove);
}
