/* The measurements as a table, as CSV and as JSON. */
#include "simulator/cli/bench_gpu.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

/* Units of the ceilings as they are shown, and what they are divided by. */
static const struct {
    const char *unit;
    double one;
} ceiling_units[GPU_CEILINGS] = {
    [GPU_CEILING_MATRIX] = {"TFLOP/s", 1e12}, [GPU_CEILING_FMA] = {"TFLOP/s", 1e12},
    [GPU_CEILING_EXP] = {"Texp/s", 1e12},     [GPU_CEILING_L2] = {"TB/s", 1e12},
    [GPU_CEILING_COPY] = {"TB/s", 1e12},
};

struct versions {
    char driver
        [32];      /* "580.159.04", which CUDA does not tell; "" where the system does not either */
    char cuda[16]; /* the newest that the driver knows: "13.0" */
};

static struct versions read_versions(const struct bench_gpu *bench)
{
    struct versions found = {"", ""};
    char line[256] = "";
    snprintf(found.cuda, sizeof found.cuda, "%d.%d", bench->device.driver_version / 1000,
             bench->device.driver_version % 1000 / 10);
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (!file)
        return found;
    if (fgets(line, sizeof line, file))
        for (char *word = strtok(line, " \t\n"); word; word = strtok(NULL, " \t\n"))
            if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.')) {
                snprintf(found.driver, sizeof found.driver, "%.31s", word);
                break;
            }
    fclose(file);
    return found;
}

static const char *pass_name(const struct bench_gpu *bench)
{
    return bench->options->backward ? "backward" : "forward";
}

static const char *mask_name(const struct bench_gpu *bench)
{
    return bench->options->causal ? "causal" : "full";
}

static const char *protocol_name(const struct bench_gpu *bench)
{
    return bench->options->hot ? "hot" : "burst";
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_head(const struct bench_gpu *bench)
{
    const struct bench_gpu_options *o = bench->options;
    const struct gpu_device *device = &bench->device;
    const struct versions versions = read_versions(bench);
    printf("%s, %d multiprocessors, driver %s%sCUDA %s; kernels built for %s\n", device->name,
           device->multiprocessors, versions.driver, *versions.driver ? " for " : "for ",
           versions.cuda, gpu_built_architectures());
    printf("%s, %s, d = %" PRId64 ", %s; %" PRId64 " token%s, %" PRId64
           " head%s; %d input sets%s\n",
           pass_name(bench), fa_dtype_name((enum fa_dtype)o->dtype), o->d, mask_name(bench),
           o->tokens, o->tokens == 1 ? "" : "s", o->heads, o->heads == 1 ? "" : "s", bench->n_sets,
           bench->n_sets * bench->set_bytes < device->l2_bytes ? ", which all fit in L2" : "");
    printf("%" PRId64 " round%s in random order, %s\n\n", o->repeats, o->repeats == 1 ? "" : "s",
           o->hot ? "hot: about 150 ms of launches each"
                  : "burst: 0.2 s of rest, 2 launches, about 12 ms of launches");
}

static void print_gigahertz(const struct bench_spread *clock)
{
    if (isnan(clock->median))
        printf("  %5s", "-");
    else
        printf("  %5.2f", clock->median);
}

static void print_ceilings(const struct bench_gpu *bench)
{
    printf("%-8s %10s  %-21s %-8s %5s  %s\n", "ceiling", "median", "quartiles", "", "GHz", "what");
    for (int e = 0; e < bench->n_entries; e++) {
        const struct bench_gpu_entry *entry = &bench->entries[e];
        if (entry->rung)
            continue;
        double per_ms = entry->work * 1e3 / ceiling_units[entry->ceiling].one;
        printf("%-8s ", gpu_ceiling_name(entry->ceiling));
        if (!bench_gpu_is_timed(entry)) {
            printf("%10s  %s\n", "-", entry->refused);
            continue;
        }
        char range[48];
        snprintf(range, sizeof range, "%.4g .. %.4g", per_ms / entry->time.high,
                 per_ms / entry->time.low);
        printf("%10.4g  %-21s %-7s", per_ms / entry->time.median, range,
               ceiling_units[entry->ceiling].unit);
        print_gigahertz(&entry->clock);
        printf("  %s\n", gpu_ceiling_words(entry->ceiling, &bench->device));
    }
}

/* Counted, and beside it what the hardware counted. */
static void print_bytes(double counted, double measured)
{
    char text[48];
    int n = snprintf(text, sizeof text, "%.4g", counted * 1e-9);
    if (!isnan(measured))
        snprintf(text + n, sizeof text - (size_t)n, " (%.4g)", measured * 1e-9);
    printf(" %*s", isnan(measured) ? 9 : 18, text);
}

static void print_entry(const struct bench_gpu *bench, const struct bench_gpu_entry *entry)
{
    char range[48];
    printf("%-9s %7" PRId64 " ", entry->rung->name, entry->length->problem.nq);
    if (!bench_gpu_is_timed(entry)) {
        printf("%10s  %s\n", "-", entry->refused);
        return;
    }
    snprintf(range, sizeof range, "%.4f .. %.4f", entry->time.low, entry->time.high);
    printf("%10.4f  %-21s %8.4g", entry->time.median, range, entry->rate * 1e-12);
    double share = 100 * entry->rate / bench_gpu_peak(bench);
    if (isnan(share))
        printf(" %7s", "-");
    else
        printf(" %5.1f %%", share);
    printf(" %10.4f %-8s", entry->predicted_ms, entry->bound_by);
    print_bytes(entry->bytes.read, entry->bytes.measured_read);
    print_bytes(entry->bytes.write, entry->bytes.measured_write);
    print_gigahertz(&entry->clock);
    printf("  %.1e of %.1e\n", entry->error, entry->budget);
}

void bench_gpu_print(const struct bench_gpu *bench)
{
    print_head(bench);
    print_ceilings(bench);
    const int wide = bench->options->ncu ? 18 : 9;
    printf("\n%-9s %7s %10s  %-21s %8s %7s %10s %-8s %*s %*s  %5s  %s\n", "rung", "N", "ms",
           "quartiles", "TFLOP/s", "of peak", "predicted", "bound by", wide, "GB read", wide,
           "written", "GHz", "error");
    for (int e = 0; e < bench->n_entries; e++)
        if (bench->entries[e].rung)
            print_entry(bench, &bench->entries[e]);
    printf(
        "\nTFLOP/s by the papers' convention: 4 B H N^2 d, half if causal, 2.5 times backward; the "
        "peak "
        "is the %s ceiling.\n"
        "GB read and written: counted between L2 and the multiprocessors, with the rung's tiles%s. "
        "Predicted: the\nleast time in ms that these bytes, the products, the exponentials and the "
        "memory's traffic take at the ceilings above.\n"
        "Error: the largest of the sampled ones against the oracle, of what it may be.\n",
        fa_dtype_bytes((enum fa_dtype)bench->options->dtype) == 2 ? "matrix" : "fma",
        bench->options->ncu ? "; measured (in brackets)" : "");
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* A text with quotes around it, and those in it twice. */
static void write_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

/* An empty cell stands for what was not measured. */
static void write_number(FILE *file, double value)
{
    if (isnan(value))
        fputc(',', file);
    else
        fprintf(file, ",%.9g", value);
}

/* The same columns as torch_peers.py writes. */
void bench_gpu_write_csv(const struct bench_gpu *bench, FILE *file)
{
    const struct bench_gpu_options *o = bench->options;
    const struct versions versions = read_versions(bench);
    fputs("entry,pass,dtype,d,mask,n,batch,heads,protocol,repeats,median_ms,low_ms,high_ms,tflops,"
          "peak_share,clock_ghz,error,error_budget,predicted_ms,bound_by,read_bytes,write_bytes,"
          "measured_read_bytes,measured_write_bytes,memory_bytes,matrix_tflops,fma_tflops,texp,l2_"
          "tbs,copy_tbs,device,driver,cuda,refused\n",
          file);
    for (int e = 0; e < bench->n_entries; e++) {
        const struct bench_gpu_entry *entry = &bench->entries[e];
        const struct bench_gpu_bytes *b = &entry->bytes;
        const bool timed = bench_gpu_is_timed(entry);
        if (!entry->rung)
            continue;
        fprintf(file, "%s,%s,%s,%" PRId64 ",%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%" PRId64,
                entry->rung->name, pass_name(bench), fa_dtype_name((enum fa_dtype)o->dtype), o->d,
                mask_name(bench), entry->length->problem.nq, entry->length->problem.batch, o->heads,
                protocol_name(bench), o->repeats);
        const double values[] = {entry->time.median,
                                 entry->time.low,
                                 entry->time.high,
                                 entry->rate * 1e-12,
                                 entry->rate / bench_gpu_peak(bench),
                                 entry->clock.median,
                                 entry->error,
                                 entry->budget,
                                 entry->predicted_ms};
        const double bytes[] = {b->read, b->write, b->measured_read, b->measured_write, b->memory};
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            write_number(file, timed ? values[i] : NAN);
        fprintf(file, ",%s", timed ? entry->bound_by : "");
        for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
            write_number(file, timed ? bytes[i] : NAN);
        for (int c = 0; c < GPU_CEILINGS; c++)
            write_number(file, bench_gpu_rate(bench, (enum gpu_ceiling)c) / ceiling_units[c].one);
        fputc(',', file);
        write_text(file, bench->device.name);
        fprintf(file, ",%s,%s,", versions.driver, versions.cuda);
        write_text(file, entry->refused);
        fputc('\n', file);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *spread(const struct bench_spread *s)
{
    return json_pack("{s:o,s:o,s:o}", "median", number(s->median), "low", number(s->low), "high",
                     number(s->high));
}

static json_t *ceiling_json(const struct bench_gpu *bench, const struct bench_gpu_entry *entry)
{
    bool timed = bench_gpu_is_timed(entry);
    return json_pack("{s:s,s:o,s:s,s:o,s:o,s:o}", "what",
                     gpu_ceiling_words(entry->ceiling, &bench->device), "rate",
                     timed ? json_real(entry->rate) : json_null(), "unit",
                     entry->ceiling <= GPU_CEILING_FMA   ? "FLOP/s"
                     : entry->ceiling == GPU_CEILING_EXP ? "exponentials/s"
                                                         : "bytes/s",
                     "ms", timed ? spread(&entry->time) : json_null(), "clock_ghz",
                     timed ? number(entry->clock.median) : json_null(), "refused",
                     timed ? json_null() : json_string(entry->refused));
}

static json_t *entry_json(const struct bench_gpu *bench, const struct bench_gpu_entry *entry)
{
    const struct fa_problem *problem = &entry->length->problem;
    const struct bench_gpu_bytes *b = &entry->bytes;
    json_t *object = json_pack("{s:s,s:I,s:I}", "entry", entry->rung->name, "n",
                               (json_int_t)problem->nq, "batch", (json_int_t)problem->batch);
    if (!bench_gpu_is_timed(entry)) {
        json_object_set_new(object, "refused", json_string(entry->refused));
        json_object_set_new(object, "wrong", json_boolean(entry->wrong));
        return object;
    }
    json_object_set_new(object, "ms", spread(&entry->time));
    json_object_set_new(object, "tflops", number(entry->rate * 1e-12));
    json_object_set_new(object, "peak_share", number(entry->rate / bench_gpu_peak(bench)));
    json_object_set_new(object, "clock_ghz", spread(&entry->clock));
    json_object_set_new(object, "error", number(entry->error));
    json_object_set_new(object, "error_budget", number(entry->budget));
    json_object_set_new(object, "predicted",
                        json_pack("{s:o,s:s,s:o,s:o,s:o}", "ms", number(entry->predicted_ms),
                                  "bound_by", entry->bound_by, "read_bytes", number(b->read),
                                  "write_bytes", number(b->write), "memory_bytes",
                                  number(b->memory)));
    json_object_set_new(object, "measured",
                        json_pack("{s:o,s:o}", "read_bytes", number(b->measured_read),
                                  "write_bytes", number(b->measured_write)));
    return object;
}

enum fa_status bench_gpu_print_json(const struct bench_gpu *bench, struct fa_error *error)
{
    const struct bench_gpu_options *o = bench->options;
    json_t *ceilings = json_object(), *entries = json_array();
    const struct versions versions = read_versions(bench);
    for (int e = 0; e < bench->n_entries; e++) {
        const struct bench_gpu_entry *entry = &bench->entries[e];
        if (entry->rung)
            json_array_append_new(entries, entry_json(bench, entry));
        else
            json_object_set_new(ceilings, gpu_ceiling_name(entry->ceiling),
                                ceiling_json(bench, entry));
    }
    json_t *all = json_pack(
        "{s:s,s:{s:s,s:i,s:s,s:s,s:s},s:s,s:s,s:I,s:s,s:I,s:I,s:s,s:I,s:o,s:o,s:{s:s,s:s}}",
        "schema", "flashlab.bench_gpu/1", "device", "name", bench->device.name, "multiprocessors",
        bench->device.multiprocessors, "driver", versions.driver, "cuda", versions.cuda,
        "built_for", gpu_built_architectures(), "pass", pass_name(bench), "dtype",
        fa_dtype_name((enum fa_dtype)o->dtype), "d", (json_int_t)o->d, "mask", mask_name(bench),
        "tokens", (json_int_t)o->tokens, "heads", (json_int_t)o->heads, "protocol",
        protocol_name(bench), "repeats", (json_int_t)o->repeats, "ceilings", ceilings, "entries",
        entries, "provenance", "version", FLASHLAB_VERSION, "command", cli_command_line());
    bool good = all && json_dumpf(all, stdout, JSON_INDENT(2)) == 0;
    if (good)
        putchar('\n');
    json_decref(all);
    return good ? FA_OK : fa_fail(error, FA_NO_MEMORY, "no memory to print the measurement");
}
