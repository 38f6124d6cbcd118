/* The reader of the profiler's CSV: both forms, what may stand around them, and what is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ncu_csv.h"
#include "tests/program_run.h"

static const char wide[] =
    "hello from the program\n"
    "==PROF== Connected to process 4242 (/usr/bin/flashlab)\n"
    "==PROF== Profiling \"flash2_kernel\" - 0: 0%....50%....100% - 3 passes\n"
    "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"dram__bytes_read.sum\","
    "\"l1tex__m_xbar2l1tex_read_bytes.sum\",\"device__attribute_display_name\"\n"
    "\"\",\"\",\"\",\"\",\"Mbyte\",\"byte\",\"\"\n"
    "\"0\",\"4242\",\"void f<__half, (int)128>(gpu_head_problem, unsigned int)\",\"(256, 1, 1)\","
    "\"201.33\",\"8,657,043,456\",\"NVIDIA \"\"H200\"\"\"\n"
    "==PROF== Disconnected from process 4242\n"
    "\"1\",\"4242\",\"g\",\"(32, 1, 1)\",\"0\",\"n/a\",\"\"\n";

static const char tall[] =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\","
    "\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\"\r\n"
    "\"0\",\"7\",\"a.out\",\"127.0.0.1\",\"k(float*, int)\",\"1\",\"7\",\"Command line\","
    "\"dram__bytes_read.sum\",\"Kbyte\",\"1,234.5\",\"\"\r\n"
    "\"0\",\"7\",\"a.out\",\"127.0.0.1\",\"k(float*, int)\",\"1\",\"7\",\"Command line\","
    "\"lts__t_sectors.sum\",\"sector\",\"3\",\"\"\r\n"
    "\"0\",\"7\",\"a.out\",\"127.0.0.1\",\"k(float*, int)\",\"1\",\"7\",\"Rules\",\"\",\"\",\"\","
    "\"a rule,\r\non two lines\"\r\n"
    "\"1\",\"7\",\"a.out\",\"127.0.0.1\",\"k(float*, int)\",\"1\",\"7\",\"Command line\","
    "\"dram__bytes_read.sum\",\"Gbyte\",\"2\",\"\"\r\n"
    "\r\n";

static struct ncu_csv parse(const char *text)
{
    struct ncu_csv csv;
    struct fa_error error = {FA_OK, ""};
    if (ncu_csv_parse("a.csv", text, strlen(text), &csv, &error) != FA_OK)
        fail_msg("%s", error.text);
    return csv;
}

static uint64_t bytes_of(const struct ncu_csv *csv, int launch, const char *name)
{
    uint64_t bytes = 0;
    struct fa_error error = {FA_OK, ""};
    const struct ncu_metric *metric = ncu_csv_find(csv, launch, name);
    assert_non_null(metric);
    if (ncu_csv_bytes(csv, metric, &bytes, &error) != FA_OK)
        fail_msg("%s", error.text);
    return bytes;
}

static void wide_form(void **state)
{
    (void)state;
    struct ncu_csv csv = parse(wide);
    uint64_t bytes = 5;
    struct fa_error error = {FA_OK, ""};
    assert_int_equal(csv.n_launches, 2);
    assert_string_equal(csv.launch[0].id, "0");
    assert_string_equal(csv.launch[0].process, "4242");
    assert_string_equal(csv.launch[0].kernel,
                        "void f<__half, (int)128>(gpu_head_problem, unsigned int)");
    assert_int_equal(csv.launch[0].n, 3);
    assert_int_equal(bytes_of(&csv, 0, "dram__bytes_read.sum"), 201330000);
    assert_int_equal(bytes_of(&csv, 0, "l1tex__m_xbar2l1tex_read_bytes.sum"), 8657043456);
    assert_string_equal(ncu_csv_find(&csv, 0, "device__attribute_display_name")->value,
                        "NVIDIA \"H200\"");
    assert_string_equal(csv.launch[1].kernel, "g");
    assert_int_equal(bytes_of(&csv, 1, "dram__bytes_read.sum"), 0);
    assert_null(ncu_csv_find(&csv, 1, "dram__bytes_read"));
    assert_null(ncu_csv_find(&csv, 1, "Block Size"));
    assert_int_equal(ncu_csv_bytes(&csv,
                                   ncu_csv_find(&csv, 1, "l1tex__m_xbar2l1tex_read_bytes.sum"),
                                   &bytes, &error),
                     FA_BAD_FILE);
    assert_string_equal(error.text,
                        "a.csv: line 8, column 6: l1tex__m_xbar2l1tex_read_bytes.sum is 'n/a': "
                        "expected a number such as 1234 or 1,234.5");
    assert_int_equal(bytes, 5);
    assert_int_equal(ncu_csv_bytes(&csv, ncu_csv_find(&csv, 0, "device__attribute_display_name"),
                                   &bytes, &error),
                     FA_BAD_FILE);
    assert_string_equal(error.text, "a.csv: line 6, column 7: device__attribute_display_name in "
                                    "'': expected byte, Kbyte, Mbyte, Gbyte or sector");
    ncu_csv_free(&csv);
}

static void long_form(void **state)
{
    (void)state;
    struct ncu_csv csv = parse(tall);
    assert_int_equal(csv.n_launches, 2);
    assert_int_equal(csv.launch[0].n, 2);
    assert_int_equal(bytes_of(&csv, 0, "dram__bytes_read.sum"), 1234500);
    assert_int_equal(bytes_of(&csv, 0, "lts__t_sectors.sum"), 96);
    assert_int_equal(bytes_of(&csv, 1, "dram__bytes_read.sum"), 2000000000);
    assert_int_equal(ncu_csv_find(&csv, 1, "dram__bytes_read.sum")->line, 6);
    ncu_csv_free(&csv);
    /* One file after the other: the second header counts, and its first launch is a new one. */
    char both[2 * sizeof tall + sizeof wide];
    snprintf(both, sizeof both, "%s%s%s", wide, tall, tall);
    csv = parse(both);
    assert_int_equal(csv.n_launches, 6);
    assert_int_equal(bytes_of(&csv, 0, "dram__bytes_read.sum"), 201330000);
    assert_int_equal(bytes_of(&csv, 4, "lts__t_sectors.sum"), 96);
    ncu_csv_free(&csv);
    static const char one[] = "Kernel Name,Metric Name,Metric Unit,Metric Value\nk,a,byte,1\n"
                              "Kernel Name,Metric Name,Metric Unit,Metric Value\nk,a,byte,2\n";
    csv = parse(one);
    assert_int_equal(csv.n_launches, 2);
    assert_int_equal(bytes_of(&csv, 1, "a"), 2);
    ncu_csv_free(&csv);
}

/* As an editor saves it. Without its first column, two launches of one kernel would be one. */
static void marked(void **state)
{
    (void)state;
    static const char text[] =
        "\xef\xbb\xbf\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\r\n"
        "\"0\",\"k\",\"a\",\"byte\",\"1\"\r\n\"1\",\"k\",\"a\",\"byte\",\"2\"\r\n"
        "\xef\xbb\xbfKernel Name,a__b\n,byte\nk,3\n";
    struct ncu_csv csv = parse(text);
    assert_int_equal(csv.n_launches, 3);
    assert_string_equal(csv.launch[1].id, "1");
    assert_int_equal(bytes_of(&csv, 1, "a"), 2);
    assert_int_equal(bytes_of(&csv, 2, "a__b"), 3);
    ncu_csv_free(&csv);
}

/* As ncu 2025.3 prints its sections: rows of metrics end early, those of rules do not. */
static void rows_of_sections(void **state)
{
    (void)state;
    static const char text[] =
        "\"ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\","
        "\"Rule Name\",\"Rule Type\",\"Rule Description\"\n"
        "\"0\",\"k<float, 64>(int)\",\"Memory\",\"Mem Bytes\",\"Kbyte\",\"7\",\n"
        "\"0\",\"k<float, 64>(int)\",\"Memory\",\"\",\"\",\"\",\"R\",\"OPT\",\"Use \"\"more\"\" "
        "warps.\"\n"
        "\"0\",\"k<float, 64>(int)\",\"Memory\",\"L1/TEX Hit Rate\",\"%\",\"3.5\"\n";
    struct ncu_csv csv = parse(text);
    assert_int_equal(csv.n_launches, 1);
    assert_int_equal(csv.launch[0].n, 2);
    assert_int_equal(bytes_of(&csv, 0, "Mem Bytes"), 7000);
    assert_string_equal(ncu_csv_find(&csv, 0, "L1/TEX Hit Rate")->value, "3.5");
    ncu_csv_free(&csv);
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *unit, *value;
        int64_t bytes; /* -1: refused */
    } cases[] = {
        {"byte", "0", 0},
        {"byte", "1234", 1234},
        {"byte", "1,234", 1234},
        {"byte", "12,345,678", 12345678},
        {"Tbyte", "1.5", 1500000000000},
        {"Ksector", "2", 64000},
        {"KB", "1.5", 1500},
        {"MB", "9.00", 9000000},
        {"GB", "2", 2000000000},
        {"KiB", "2", -1},
        {"B", "2", -1},
        {"byte", "n/a", -1},
        {"Mbyte", "1.005", 1005000},
        {"byte", "9007199254740992", 9007199254740992},
        {"byte", "1234.0", 1234},
        {"byte", "1.234", -1}, /* a point between thousands, or a part of a byte */
        {"sector", "2.5", -1},
        {"byte", "1,23", -1},
        {"byte", "1,23,456", -1},
        {"byte", "9,00", -1},
        {"byte", "1234,567", -1},
        {"byte", ",123", -1},
        {"byte", "1,234,5", -1},
        {"byte", "-1", -1},
        {"byte", "", -1},
        {"byte", "1e3", -1},
        {"byte", "nan", -1},
        {"Tbyte", "9999999999", -1},
        {"Xbyte", "1", -1},
        {"%", "1", -1},
        {"byte/second", "1", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        uint64_t bytes = 77;
        snprintf(text, sizeof text,
                 "Kernel Name,Metric Name,Metric Unit,Metric Value\n"
                 "k,a__b,%s,\"%s\"\n",
                 cases[i].unit, cases[i].value);
        struct ncu_csv csv = parse(text);
        enum fa_status status = ncu_csv_bytes(&csv, ncu_csv_find(&csv, 0, "a__b"), &bytes, NULL);
        if (status != (cases[i].bytes < 0 ? FA_BAD_FILE : FA_OK) ||
            bytes != (cases[i].bytes < 0 ? 77 : (uint64_t)cases[i].bytes))
            fail_msg("%s %s: status %d, %llu", cases[i].value, cases[i].unit, status,
                     (unsigned long long)bytes);
        ncu_csv_free(&csv);
    }
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "a.csv: no line has a field \"Kernel Name\": expected what ncu --csv prints"},
        {"==PROF== Kernel Names\nab\n", "a.csv: no line has a field \"Kernel Name\": expected "},
        {"\"ID\",\"Kernel Name\",\"a__b\"\n", "a.csv: no kernel after the header, line 1: "},
        {"\"ID\",\"Kernel Name\",\"a__b\"\n\"\",\"\",\"byte\"\n", "a.csv: no kernel after the "},
        {"\"ID\",\"Kernel Name\",\"a__b\"\n\"0\",\"k\",\"1\"\n",
         "a.csv: line 2, column 2: expected the row of units, without a kernel, under the names"},
        {"x\nID,Kernel Name,a__b\n,,byte\n0,k\n",
         "a.csv: line 4, column 2: a row of 2 fields: expected 3, as the header has"},
        {"ID,Kernel Name,a__b\n,,byte\n0,k,1,2\n",
         "a.csv: line 3, column 4: a row of 4 fields: expected 3, as the header has"},
        {"ID,Kernel Name,a__b\n,,byte\n\n0,\"k,1\n",
         "a.csv: line 4, column 2: a quote is never closed: expected \" before the end"},
        {"ID,Kernel Name,a__b\n,,byte\n0,\"k\"x,1\n",
         "a.csv: line 3, column 2: text after a closing quote or a carriage return: expected "},
        {"Kernel Name,Metric Name,Metric Value\nk,a,1\n",
         "a.csv: line 1, column 2: a column \"Metric Name\": expected \"Metric Unit\" and "},
        {"Kernel Name,Metric Name,Metric Unit,Metric Value,Rule\nk,a,byte\n",
         "a.csv: line 2, column 3: a row of 3 fields: expected 5, as the header has"},
        {"==PROF== x\r\n==ERROR== Profiling failed\r\n==ERROR== two\r\n",
         "a.csv: ncu measured nothing: ==ERROR== Profiling failed"},
        {"==ERROR== ERR_NVGPUCTRPERM - no\n\"ID\",\"Kernel Name\"\n",
         "a.csv: ncu measured nothing: ==ERROR== ERR_NVGPUCTRPERM - no (run as root, or load "},
        {"\"ID\",\"Kernel Name\"\n==ERROR== late", "a.csv: ncu measured nothing: ==ERROR== late"},
        {"a Kernel Name,b\n", "a.csv: no line has a field \"Kernel Name\": "},
    };
    struct ncu_csv csv, before;
    struct fa_error error;
    memset(&before, 0x5a, sizeof before);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        csv = before;
        enum fa_status status =
            ncu_csv_parse("a.csv", cases[i].text, strlen(cases[i].text), &csv, &error);
        if (status != FA_BAD_FILE ||
            strncmp(error.text, cases[i].error, strlen(cases[i].error)) != 0)
            fail_msg("case %zu: status %d, %s", i, status, error.text);
        assert_memory_equal(&csv, &before, sizeof csv);
    }
    assert_int_equal(ncu_csv_parse("a.csv", "Kernel\0Name", 11, &csv, &error), FA_BAD_FILE);
    assert_string_equal(error.text, "a.csv: byte 6 is a zero: expected text");
    assert_int_equal(ncu_csv_read("/nothing/at/all.csv", &csv, &error), FA_IO);
}

/* Past each bound: columns, launches. */
static void bounds(void **state)
{
    (void)state;
    enum { ROOM = 1 << 20 };
    char *text = malloc(ROOM);
    struct ncu_csv csv;
    struct fa_error error;
    size_t n = (size_t)snprintf(text, ROOM, "Kernel Name");
    for (int c = 0; c < NCU_COLUMNS; c++)
        text[n++] = ',';
    assert_int_equal(ncu_csv_parse("a.csv", text, n, &csv, &error), FA_TOO_LARGE);
    assert_string_equal(error.text, "a.csv: line 1: more than 8192 columns");
    n = (size_t)snprintf(text, ROOM, "Kernel Name,a__b\n,byte\n");
    for (int l = 0; l <= NCU_LAUNCHES; l++)
        n += (size_t)snprintf(text + n, ROOM - n, "k,1\n");
    assert_int_equal(ncu_csv_parse("a.csv", text, n, &csv, &error), FA_TOO_LARGE);
    assert_string_equal(error.text, "a.csv: line 65539: more than 65536 launches");
    assert_int_equal(ncu_csv_parse("a.csv", text, n - 4, &csv, &error), FA_OK);
    assert_int_equal(csv.n_launches, NCU_LAUNCHES);
    ncu_csv_free(&csv);
    free(text);
}

static void from_a_file(void **state)
{
    (void)state;
    const char *path = program_path("a.csv");
    struct ncu_csv csv;
    struct fa_error error = {FA_OK, ""};
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < 1000; i++) /* longer than one read */
        fprintf(file, "%-200d\n", i);
    fputs(wide, file);
    fclose(file);
    enum fa_status status = ncu_csv_read(path, &csv, &error);
    program_folder_remove(NULL);
    if (status != FA_OK)
        fail_msg("%s", error.text);
    assert_int_equal(csv.n_launches, 2);
    assert_int_equal(ncu_csv_find(&csv, 1, "dram__bytes_read.sum")->line, 1008);
    ncu_csv_free(&csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_form), cmocka_unit_test(long_form),
        cmocka_unit_test(marked),    cmocka_unit_test(rows_of_sections),
        cmocka_unit_test(numbers),   cmocka_unit_test(refusals),
        cmocka_unit_test(bounds),    cmocka_unit_test(from_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
