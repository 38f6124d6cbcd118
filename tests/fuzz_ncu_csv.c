/* Fuzzes the reader of the profiler's CSV: any bytes are either refused in words, or give launches
 * whose metrics can all be asked for. */
#include <stdlib.h>
#include <string.h>

#include "cuda/ncu_csv.h"
#include "tests/fuzz.h"

/* Every text is whole, and lies in the reader's own copy. */
static void check_csv(const struct ncu_csv *csv, size_t n_bytes)
{
    int metrics = 0;
    size_t letters = 0;
    fuzz_expect(csv->n_launches >= 1 && csv->n_launches <= NCU_LAUNCHES);
    for (int l = 0; l < csv->n_launches; l++) {
        const struct ncu_launch *launch = &csv->launch[l];
        fuzz_expect(launch->first == metrics && launch->n >= 0);
        metrics += launch->n;
        letters += strlen(launch->kernel) + strlen(launch->id) + strlen(launch->process);
    }
    fuzz_expect(metrics == csv->n_metrics && letters <= 3 * n_bytes * (size_t)csv->n_launches);
    for (int m = 0; m < metrics; m++) {
        const struct ncu_metric *metric = &csv->metric[m];
        struct fa_error error = {FA_OK, ""};
        uint64_t bytes = 1;
        fuzz_expect(metric->line >= 1 && metric->column >= 1 && metric->column <= NCU_COLUMNS);
        if (ncu_csv_bytes(csv, metric, &bytes, &error) != FA_OK)
            fuzz_expect(bytes == 1 && error.status == FA_BAD_FILE && error.text[0]);
        else
            fuzz_expect(bytes <= INT64_MAX);
    }
    for (int l = 0; l < csv->n_launches && l < 16; l++)
        if (csv->launch[l].n > 0)
            fuzz_expect(ncu_csv_find(csv, l, csv->metric[csv->launch[l].first].name) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct ncu_csv csv, before;
    struct fa_error error = {FA_OK, ""};
    memset(&before, 0x5a, sizeof before);
    memcpy(&csv, &before, sizeof csv);
    enum fa_status status = ncu_csv_parse("input", (const char *)data, n_bytes, &csv, &error);
    if (status == FA_OK) {
        check_csv(&csv, n_bytes);
        ncu_csv_free(&csv);
        return 0;
    }
    fuzz_expect(memcmp(&csv, &before, sizeof csv) == 0 && error.status == status);
    fuzz_expect(status == FA_BAD_FILE || status == FA_TOO_LARGE || status == FA_NO_MEMORY);
    fuzz_expect(strncmp(error.text, "input: ", 7) == 0);
    for (const char *at = error.text; *at; at++)
        fuzz_expect(*at >= ' ' && *at <= '~');
    return 0;
}

/* Both forms, with and without quotes, and one after the other. */
size_t fuzz_seed(int index, uint8_t *data, size_t capacity)
{
    static const char *const seeds[] = {
        "\"ID\",\"Kernel Name\",\"a__b\",\"c__d.sum\"\n\"\",\"\",\"byte\",\"Mbyte\"\n"
        "\"0\",\"void f<int, 3>(int)\",\"1,234\",\"5.25\"\n\"1\",\"\"\"g\"\"\",\"\",\"n/a\"\n",
        "==PROF== x\n\"ID\",\"Process ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\","
        "\"Metric Value\"\r\n\"0\",\"7\",\"k\",\"a\",\"sector\",\"3\"\r\n"
        "\"0\",\"7\",\"k\",\"\",\"\",\"two\r\nlines\"\r\n==PROF== y\r\n",
        "Kernel Name,Metric Name,Metric Unit,Metric Value\nk,a,Gbyte,0\n\n"
        "ID,Kernel Name,a__b\n,,byte\n3,k,1\n",
    };
    if (index < 0 || (size_t)index >= sizeof seeds / sizeof *seeds ||
        strlen(seeds[index]) > capacity)
        return 0;
    memcpy(data, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
