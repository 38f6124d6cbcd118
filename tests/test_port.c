/*
 * What each algorithm says to its port, in words that can be read beside the paper: the texts of
 * tests/port_logs. With FLASHLAB_WRITE_LOGS=FOLDER in the environment the texts are written there
 * instead, to be read and, if they are right, put in place.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/recording_port.h"

/* The text of a file without its leading lines of comment, which begin with '#'. */
static char *read_log(const char *name)
{
    char path[1024];
    enum { MOST = 1 << 16 };
    char *text = malloc(MOST);
    assert_non_null(text);
    snprintf(path, sizeof path, "%s/tests/port_logs/%s.txt", FLASHLAB_SOURCE_DIR, name);
    FILE *stream = fopen(path, "rb");
    if (!stream)
        fail_msg("%s cannot be read", path);
    size_t n = fread(text, 1, MOST - 1, stream);
    fclose(stream);
    text[n] = '\0';
    char *body = text;
    while (*body == '#')
        body += strcspn(body, "\n") + 1;
    memmove(text, body, strlen(body) + 1);
    return text;
}

static void write_log(const char *folder, const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.txt", folder, name);
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

/* Equal, or the first line that is not. */
static void expect_text(const char *name, const char *got, const char *expected)
{
    int line = 1;
    const char *g = got, *e = expected;
    if (strcmp(got, expected) == 0)
        return;
    for (size_t i = 0; got[i] && got[i] == expected[i]; i++)
        if (got[i] == '\n') {
            line++;
            g = got + i + 1;
            e = expected + i + 1;
        }
    fail_msg("%s, line %d of the log is \"%.*s\": expected \"%.*s\"", name, line,
             (int)strcspn(g, "\n"), g, (int)strcspn(e, "\n"), e);
}

static void expect_log(const char *name, const struct fa_algorithm *algorithm,
                       const struct fa_problem *problem, const struct fa_tiles *tiles)
{
    struct recording_port recording;
    struct fa_port *port = &recording.port;
    struct fa_error error = {FA_OK, ""};
    struct fa_run run;
    const char *folder = getenv("FLASHLAB_WRITE_LOGS");
    if (fa_run_open(&run, algorithm, problem, tiles, NULL, NULL, NULL, NULL, NULL, false, &error) !=
        FA_OK)
        fail_msg("%s", error.text);
    recording_port_open(&recording, &run);
    if (fa_execute(algorithm, &port, 1, problem->batch * problem->heads, NULL, &error) != FA_OK)
        fail_msg("%s", error.text);
    if (folder) {
        write_log(folder, name, recording.log);
    } else {
        char *expected = read_log(name);
        expect_text(name, recording.log, expected);
        free(expected);
    }
    recording_port_close(&recording);
    fa_run_close(&run);
}

/* Three queries and keys of one number, tiles of two: the second tile of each side is one row. */
static const struct fa_tiles tiles_2x2 = {2, 2, 2, 3};

static void dense(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(3, 3, 1);
    expect_log("standard", &fa_standard, &problem, &tiles_2x2);
    expect_log("flash1", &fa_flash1, &problem, &tiles_2x2);
    expect_log("flash2", &fa_flash2, &problem, &tiles_2x2);
    expect_log("fused_save_p", &fa_fused_save_p, &problem, &tiles_2x2);
}

static void causal(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(3, 3, 1);
    problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    expect_log("standard_causal", &fa_standard, &problem, &tiles_2x2);
    expect_log("flash1_causal", &fa_flash1, &problem, &tiles_2x2);
    expect_log("flash2_causal", &fa_flash2, &problem, &tiles_2x2);
    expect_log("fused_save_p_causal", &fa_fused_save_p, &problem, &tiles_2x2);
}

/* More queries than keys, aligned at the end: query tile 0 and its rows see nothing. */
static void a_row_block_that_sees_nothing(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(4, 2, 1);
    problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    expect_log("flash2_empty_block", &fa_flash2, &problem, &tiles_2x2);
}

/* A bias of one row for all queries, and a mask of each element; two heads over one K/V head. */
static void bias_and_mask(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(2, 3, 1);
    struct fa_tensor bias = fa_tensor_view(FA_F32, (int64_t[]){1, 1, 1, 3}, NULL);
    struct fa_tensor mask = fa_tensor_view(FA_U8, (int64_t[]){1, 2, 2, 3}, NULL);
    problem.heads = 2;
    problem.bias = &bias;
    problem.mask = &mask;
    expect_log("flash2_bias_mask", &fa_flash2, &problem, &tiles_2x2);
}

/* Two columns of Q, K, V and O, one at a time: P comes again for each of O's. */
static void square_tiling(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(1, 2, 2);
    expect_log("square_tiling", &fa_square_tiling, &problem, &(struct fa_tiles){1, 1, 1, 2});
}

/* Rows too long for the chip: the softmax goes over chunks of two columns, twice. */
static void standard_in_chunks(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(2, 3, 1);
    struct fa_tensor bias = fa_tensor_view(FA_F32, (int64_t[]){1, 1, 2, 3}, NULL);
    problem.bias = &bias;
    expect_log("standard_chunks_bias", &fa_standard, &problem, &(struct fa_tiles){2, 3, 1, 2});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense),
        cmocka_unit_test(causal),
        cmocka_unit_test(a_row_block_that_sees_nothing),
        cmocka_unit_test(bias_and_mask),
        cmocka_unit_test(square_tiling),
        cmocka_unit_test(standard_in_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
