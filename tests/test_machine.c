/* Machines: presets with sources, files read strictly, sizes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/machine.h"

static const struct sim_machine *preset(const char *name)
{
    int n;
    const struct sim_machine *all = sim_machine_presets(&n);
    for (int i = 0; i < n; i++) {
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    }
    fail_msg("no preset %s", name);
    return NULL;
}

static void test_presets(void **state)
{
    (void)state;
    static const char *const order[] = {"v100", "t4",      "a100",    "a100-80", "h100",
                                        "h200", "rtx3090", "rtx4090", "toy"};
    int n;
    const struct sim_machine *all = sim_machine_presets(&n);
    assert_int_equal(n, sizeof order / sizeof *order);
    for (int i = 0; i < n; i++)
        assert_string_equal(all[i].name, order[i]);
    assert_int_equal(preset("a100")->sram_bytes, 196608);
    assert_int_equal(preset("a100-80")->sram_bytes, 196608);
    assert_int_equal(preset("h100")->sram_bytes, 232448);
    assert_int_equal(preset("h200")->sram_bytes, 232448);
    assert_int_equal(preset("toy")->sram_bytes, 4096);
    /* The notes' table: 1.5 TB/s, about 20 MB of SRAM in all at 19 TB/s. */
    assert_true(preset("a100")->hbm_bytes_per_second / 1e12 > 1.5);
    assert_true(preset("a100")->sram_bytes_per_second == 19e12);
    assert_in_range(preset("a100")->sram_bytes * preset("a100")->sms, 20000000, 22000000);
}

/* A figure without a source, and a source without a figure, are both mistakes. */
static void test_every_figure_has_a_source(void **state)
{
    (void)state;
    int n;
    const struct sim_machine *all = sim_machine_presets(&n);
    for (int i = 0; i < n; i++) {
        const struct sim_machine *m = &all[i];
        assert_true(m->title[0] && m->sram_bytes > 0 && m->source_sram[0]);
        assert_int_equal(m->sms > 0, m->source_sms[0] != 0);
        assert_int_equal(m->l2_bytes > 0, m->source_l2[0] != 0);
        assert_int_equal(m->hbm_bytes > 0, m->source_hbm[0] != 0);
        assert_int_equal(m->hbm_bytes_per_second > 0, m->source_hbm[0] != 0);
        assert_int_equal(m->sram_bytes_per_second > 0, m->source_sram_rate[0] != 0);
        assert_int_equal(m->f32_flops_per_second > 0, m->source_flops[0] != 0);
        assert_int_equal(m->f16_flops_per_second > 0, m->source_flops[0] != 0);
        assert_int_equal(m->exp_per_second > 0, m->source_exp[0] != 0);
    }
}

/* What is printed for a preset is a machine file, and gives the same machine. */
static void test_json_round_trip(void **state)
{
    (void)state;
    int n;
    const struct sim_machine *all = sim_machine_presets(&n);
    for (int i = 0; i < n; i++) {
        struct sim_machine read;
        struct fa_error error = {0};
        json_t *object = sim_machine_to_json(&all[i]);
        assert_non_null(object);
        char *text = json_dumps(object, JSON_INDENT(2));
        memset(&read, 0xff, sizeof read);
        assert_int_equal(sim_machine_parse("m", text, strlen(text), &read, &error), FA_OK);
        assert_memory_equal(&read, &all[i], sizeof read);
        free(text);
        json_decref(object);
    }
}

static void test_small_file(void **state)
{
    (void)state;
    static const char text[] = "{\"name\": \"mine\", \"sram_bytes\": 9223372036854775807,\n"
                               " \"sms\": null, \"hbm_bytes_per_second\": 2.5e11}";
    struct sim_machine machine;
    assert_int_equal(sim_machine_parse("m", text, strlen(text), &machine, NULL), FA_OK);
    assert_string_equal(machine.name, "mine");
    assert_int_equal(machine.sram_bytes, INT64_MAX);
    assert_int_equal(machine.sms, 0);
    assert_true(machine.hbm_bytes_per_second == 2.5e11);
    assert_string_equal(machine.title, "");
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "f.json:1:0: machine file: '[' or '{' expected near end of file"},
        {"{\n  \"name\": \"x\",\n  \"sram_bytes\" 4\n}",
         "f.json:3:16: machine file: ':' expected near '4'"},
        {"{\"name\": \"x\", \"sram_bytes\": 1, \"name\": \"y\"}",
         "f.json:1:37: machine file: duplicate object key near '\"name\"'"},
        {"[]", "f.json: machine file: expected one machine, an object such as `flashlab machines "
               "a100 --format json` prints"},
        {"{\"name\": \"x\"}", "f.json: machine file: \"sram_bytes\" is missing"},
        {"{\"sram_bytes\": 4}", "f.json: machine file: \"name\" is missing"},
        {"{\"name\": \"\", \"sram_bytes\": 4}",
         "f.json: machine file: \"name\": expected a text of 1 to 47 bytes"},
        {"{\"name\": \"123456789012345678901234567890123456789012345678\", \"sram_bytes\": 4}",
         "f.json: machine file: \"name\": expected a text of 1 to 47 bytes"},
        {"{\"name\": \"a\\nb\", \"sram_bytes\": 4}",
         "f.json: machine file: \"name\": expected a text without control characters"},
        {"{\"name\": \"x\", \"sram_bytes\": 0}",
         "f.json: machine file: \"sram_bytes\": expected a whole number, 1 or more"},
        {"{\"name\": \"x\", \"sram_bytes\": null}",
         "f.json: machine file: \"sram_bytes\": expected a whole number, 1 or more"},
        {"{\"name\": \"x\", \"sram_bytes\": 4096.0}",
         "f.json: machine file: \"sram_bytes\": expected a whole number, 1 or more"},
        {"{\"name\": \"x\", \"sram_bytes\": 4, \"hbm_bytes_per_second\": -1}",
         "f.json: machine file: \"hbm_bytes_per_second\": expected a number above 0"},
        {"{\"name\": \"x\", \"sram_bytes\": 4, \"hbm_bytes_per_second\": \"fast\"}",
         "f.json: machine file: \"hbm_bytes_per_second\": expected a number above 0"},
        {"{\"name\": \"x\", \"sram_bytes\": 4, \"sramm\": 1}",
         "f.json: machine file: unknown key \"sramm\""},
        {"{\"name\": \"x\", \"sram_bytes\": 4, \"sources\": {\"rumour\": \"\"}}",
         "f.json: machine file: unknown key \"sources.rumour\""},
        {"{\"name\": \"x\", \"sram_bytes\": 4, \"sources\": {\"l2\": 1}}",
         "f.json: machine file: \"sources.l2\": expected a text of 0 to 159 bytes"},
        {"{\"name\": \"x\", \"sram_bytes\": 4, \"sources\": []}",
         "f.json: machine file: \"sources\": expected an object of texts"},
        {"{\"name\": \"x\", \"sram_bytes\": 4, \"schema\": \"flashlab.machine/2\"}",
         "f.json: machine file: \"schema\": expected \"flashlab.machine/1\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sim_machine machine = {.name = "untouched"};
        struct fa_error error = {0};
        assert_int_equal(
            sim_machine_parse("f.json", cases[i].text, strlen(cases[i].text), &machine, &error),
            FA_BAD_FILE);
        assert_string_equal(error.text, cases[i].message);
        assert_int_equal(error.status, FA_BAD_FILE);
        assert_string_equal(machine.name, "untouched");
    }
}

static void test_find(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct fa_error error = {0};
    char path[] = "flashlab-machine-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "{\"name\": \"x\", \"sram_bytes\": 77}", 31), 31);
    close(fd);
    assert_int_equal(sim_machine_find(path, &machine, &error), FA_OK);
    assert_int_equal(machine.sram_bytes, 77);
    assert_int_equal(sim_machine_find("h200", &machine, &error), FA_OK);
    assert_string_equal(machine.name, "h200");

    FILE *large = fopen(path, "w");
    for (int i = 0; i < 70000; i++)
        fputc(' ', large);
    fclose(large);
    assert_int_equal(sim_machine_find(path, &machine, &error), FA_BAD_FILE);
    assert_non_null(strstr(error.text, "more than 65536 bytes"));
    unlink(path);
    assert_int_equal(sim_machine_find(path, &machine, &error), FA_BAD_ARGUMENT);
    assert_int_equal(sim_machine_find("/", &machine, &error), FA_IO);
    assert_int_equal(sim_machine_find("a1000", &machine, &error), FA_BAD_ARGUMENT);
    assert_string_equal(error.text,
                        "machine \"a1000\": neither a preset (v100, t4, a100, a100-80, h100, h200, "
                        "rtx3090, rtx4090, toy) nor a file that is there");
    assert_string_equal(machine.name, "h200");
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"4096", 4096},     {"192K", 196608},
        {"192k", 196608},   {"1.5M", 1572864},
        {"2G", 2147483648}, {"0.5K", 512},
        {"1", 1},           {"9223372036854775807", INT64_MAX},
        {"007", 7},         {"0.0009765625K", 1},
        {"1.000K", 1024},   {"8589934591G", UINT64_C(8589934591) << 30},
    };
    static const char *const bad[] = {"",
                                      "K",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 K",
                                      "1KB",
                                      "1T",
                                      "1.K",
                                      ".5K",
                                      "0x10",
                                      "1e3",
                                      "0",
                                      "0K",
                                      "1.5",
                                      "1.3K",
                                      "9223372036854775808",
                                      "8589934592G",
                                      "99999999999999999999999",
                                      "1.00000000000000000000001K",
                                      "1,5M",
                                      "inf",
                                      "nan"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t bytes = 0;
        assert_int_equal(sim_parse_bytes(good[i].text, &bytes, NULL), FA_OK);
        assert_int_equal(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t bytes = 5;
        struct fa_error error = {0};
        if (sim_parse_bytes(bad[i], &bytes, &error) != FA_BAD_ARGUMENT)
            fail_msg("\"%s\" was read as %llu", bad[i], (unsigned long long)bytes);
        assert_int_equal(bytes, 5);
        assert_non_null(strstr(error.text, bad[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_presets),         cmocka_unit_test(test_every_figure_has_a_source),
        cmocka_unit_test(test_json_round_trip), cmocka_unit_test(test_small_file),
        cmocka_unit_test(test_refusals),        cmocka_unit_test(test_find),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
