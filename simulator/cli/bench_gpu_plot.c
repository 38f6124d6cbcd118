/* The measured ladder as a figure: TFLOP/s over N, a line a rung, and what was predicted for it. */
#include "simulator/cli/bench_gpu.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "simulator/plot.h"

/* Colours that colour-blind readers tell apart (Okabe and Ito), and a marker each. */
static const struct {
    const char *colour;
    int marker;
} styles[] = {
    {"#D55E00", 5},  {"#0072B2", 7},  {"#009E73", 9}, {"#CC79A7", 13},
    {"#E69F00", 11}, {"#56B4E9", 15}, {"#000000", 4}, {"#8A6D3B", 6},
};
enum { STYLES = sizeof styles / sizeof *styles };

struct drawing {
    const struct bench_gpu *bench;
    struct sim_plot_files files;
    double x_low, x_high, y_low, y_high;
};

/* Text at the right: a rung, or the peak. */
struct name {
    const struct gpu_rung *rung; /* NULL: the peak */
    double value, text;          /* TFLOP/s; the height of the text as a share of the axis */
};

static bool is_drawn(const struct bench_gpu_entry *entry)
{
    return entry->rung && bench_gpu_is_timed(entry);
}

static void find_range(struct drawing *drawing)
{
    const struct bench_gpu *bench = drawing->bench;
    double peak = bench_gpu_peak(bench) * 1e-12;
    drawing->x_low = drawing->y_low = INFINITY;
    drawing->x_high = drawing->y_high = 0;
    for (int e = 0; e < bench->n_entries; e++) {
        const struct bench_gpu_entry *entry = &bench->entries[e];
        if (!is_drawn(entry))
            continue;
        double n = (double)entry->length->problem.nq, rate = entry->rate * 1e-12;
        double predicted = entry->work / entry->predicted_ms * 1e-9;
        drawing->x_low = fmin(drawing->x_low, n);
        drawing->x_high = fmax(drawing->x_high, n);
        drawing->y_low = fmin(drawing->y_low, fmin(rate, predicted));
        drawing->y_high = fmax(drawing->y_high, fmax(rate, predicted));
    }
    if (peak > 0) /* NAN where it was not measured */
        drawing->y_high = fmax(drawing->y_high, peak);
    drawing->y_low /= 1.3;
    drawing->y_high *= 1.3;
    drawing->x_low /= 1.06;
    drawing->x_high *= 1.03;
}

static void write_head(FILE *file, const struct drawing *drawing)
{
    fputs("# The kernel ladder, measured. Made by:\n#   ", file);
    sim_gnuplot_write_comment(file, cli_command_line());
    fputs("# To draw it again, in this folder:  gnuplot THIS_FILE\n", file);
    sim_plot_write_settings(file, drawing->files.stem);
    fputs("unset key\nset logscale xy\n"
          "set border 3 lw 1.5 lc rgb '#404040'\nset tics nomirror out scale 0.6\n"
          "set grid xtics ytics back lw 1 lc rgb '#E4E4E4' dt 1\n"
          "set lmargin at screen 0.085\nset rmargin at screen 0.82\n"
          "set bmargin at screen 0.19\nset tmargin at screen 0.81\n",
          file);
}

/* Ticks 1, 2 and 5 along y, and along x the lengths that were measured. */
static void write_axes(FILE *file, const struct drawing *drawing)
{
    static const double mantissa[] = {1, 2, 5};
    const struct bench_gpu_options *o = drawing->bench->options;
    const char *comma = "";
    fprintf(file, "set xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\nset ytics (", drawing->x_low,
            drawing->x_high, drawing->y_low, drawing->y_high);
    for (int e = (int)floor(log10(drawing->y_low)); e <= (int)ceil(log10(drawing->y_high)); e++)
        for (int k = 0; k < 3; k++) {
            double value = mantissa[k] * pow(10, e);
            if (value < drawing->y_low || value > drawing->y_high)
                continue;
            fprintf(file, "%s'%.4g' %.6g", comma, value, value);
            comma = ", ";
        }
    fputs(")\nset xtics (", file);
    comma = "";
    for (int i = 0; i < o->n_lengths; i++) {
        if ((double)o->n[i] < drawing->x_low || (double)o->n[i] > drawing->x_high)
            continue; /* no rung took it */
        fprintf(file, "%s'%" PRId64 "' %" PRId64, comma, o->n[i], o->n[i]);
        comma = ", ";
    }
    fputs(")\nset label 'N: queries and keys' at screen 0.4525,0.12 center noenhanced\n"
          "set label 'TFLOP/s' at screen 0.085,0.842 right noenhanced\n",
          file);
}

static void write_titles(FILE *file, const struct bench_gpu *bench)
{
    const struct bench_gpu_options *o = bench->options;
    char device[sizeof bench->device.name];
    snprintf(device, sizeof device, "%s", bench->device.name);
    for (char *at = device; *at; at++)
        if (*at == '\'' || *at == '\\' || *at == '{' || *at == '}' || *at < ' ')
            *at = ' ';
    fprintf(
        file,
        "set label '{/:Bold The kernel ladder, measured: %s}' at screen 0.02,0.95 left enhanced "
        "font big\n"
        "set label '%s, %s, d = %" PRId64 ", %s, %" PRId64 " head%s, %" PRId64
        " token%s. Median of %" PRId64 " round%s in random order, %s' at screen 0.02,0.903 left "
        "noenhanced tc rgb '#404040'\n",
        device, o->backward ? "Backward" : "Forward", fa_dtype_name((enum fa_dtype)o->dtype), o->d,
        o->causal ? "causal" : "full", o->heads, o->heads == 1 ? "" : "s", o->tokens,
        o->tokens == 1 ? "" : "s", o->repeats, o->repeats == 1 ? "" : "s",
        o->hot ? "without a rest" : "after a rest");
    fputs("set label 'Solid: measured. Dotted: the least time that the counted bytes, the products "
          "and "
          "the exponentials take' at screen 0.02,0.06 left noenhanced font small tc rgb '#404040'\n"
          "set label 'at the rates that kernels of ours reach on this device. Dashed: the rate of "
          "products alone.' at screen 0.02,0.028 left noenhanced font small tc rgb '#404040'\n",
          file);
}

static int by_value(const void *a, const void *b)
{
    double x = ((const struct name *)a)->value, y = ((const struct name *)b)->value;
    return (x > y) - (x < y);
}

/* A style of its own for each rung of this build, whichever are asked for: figures agree. */
static int style_of(const struct gpu_rung *rung)
{
    int index = 0;
    while (index < gpu_rung_count && gpu_rungs[index] != rung)
        index++;
    return index % STYLES;
}

/* A name for each rung that was timed, at its longest length, and one for the peak; from the lowest
 * on. */
static int list_names(const struct bench_gpu *bench, struct name names[BENCH_GPU_RUNGS + 1])
{
    const double peak = bench_gpu_peak(bench) * 1e-12;
    int n = 0;
    for (int e = 0; e < bench->n_entries; e++) {
        const struct bench_gpu_entry *entry = &bench->entries[e];
        if (!is_drawn(entry))
            continue;
        if (n == 0 || names[n - 1].rung != entry->rung)
            n++;
        names[n - 1] = (struct name){entry->rung, entry->rate * 1e-12, 0};
    }
    if (peak > 0)
        names[n++] = (struct name){NULL, peak, 0};
    qsort(names, (size_t)n, sizeof *names, by_value);
    return n;
}

/* Names stand where their lines end, but no two nearer than a line's height. */
static void write_names(FILE *file, const struct drawing *drawing, struct name *names, int n)
{
    const double height = 0.045, span = log(drawing->y_high / drawing->y_low);
    for (int i = 0; i < n; i++) {
        double wanted = log(names[i].value / drawing->y_low) / span;
        names[i].text = i > 0 ? fmax(wanted, names[i - 1].text + height) : wanted;
    }
    for (int i = n - 1; i >= 0; i--) {
        const char *colour = names[i].rung ? styles[style_of(names[i].rung)].colour : "#606060";
        double most = i == n - 1 ? 1.02 : names[i + 1].text - height;
        names[i].text = fmin(names[i].text, most);
        double line = log(names[i].value / drawing->y_low) / span;
        fprintf(file,
                "set arrow from graph 1.004,%.4f to graph 1.024,%.4f nohead lw 1.5 lc rgb '%s'\n"
                "set label '%s' at graph 1.03,%.4f left noenhanced tc rgb '%s'\n",
                line, names[i].text, colour, names[i].rung ? names[i].rung->name : "products alone",
                names[i].text, colour);
    }
}

static void write_lines(FILE *file, const struct drawing *drawing)
{
    struct name names[BENCH_GPU_RUNGS + 1];
    const int n = list_names(drawing->bench, names);
    const char *comma = "";
    write_names(file, drawing, names, n);
    fputs(
        "rate(name) = strcol('entry') eq name && strcol('tflops') ne '' ? column('tflops') : NaN\n"
        "least(name) = rate(name) * column('median_ms') / column('predicted_ms')\nplot",
        file);
    for (int i = 0; i < n; i++) {
        if (names[i].rung) {
            const char *name = names[i].rung->name;
            const int style = style_of(names[i].rung);
            fprintf(file,
                    "%s \\\n    points using (column('n')):(least('%s')) with lines lc rgb '%s' "
                    "dt (2,8) lw 2, \\\n    points using (column('n')):(rate('%s')) with "
                    "linespoints lw 2 pt %d ps marker lc rgb '%s'",
                    comma, name, styles[style].colour, name, styles[style].marker,
                    styles[style].colour);
        } else {
            fprintf(file, "%s \\\n    %.6g with lines lc rgb '#606060' dt (8,4) lw 2", comma,
                    names[i].value);
        }
        comma = ",";
    }
    fputs("\nset output\n", file);
}

/* ---- files ----------------------------------------------------------------------------------- */

static enum fa_status print_script(FILE *file, const void *context, struct fa_error *error)
{
    const struct drawing *drawing = context;
    (void)error;
    write_head(file, drawing);
    write_axes(file, drawing);
    write_titles(file, drawing->bench);
    write_lines(file, drawing);
    return FA_OK;
}

static enum fa_status print_csv(FILE *file, const void *context, struct fa_error *error)
{
    const struct drawing *drawing = context;
    (void)error;
    bench_gpu_write_csv(drawing->bench, file);
    return FA_OK;
}

enum fa_status bench_gpu_plot(const struct bench_gpu *bench, const char *path,
                              struct fa_error *error)
{
    struct drawing *drawing = calloc(1, sizeof *drawing);
    const struct sim_plot_printer printer = {print_csv, print_script, drawing};
    if (!drawing)
        return fa_fail(error, FA_NO_MEMORY, "no memory to draw %s", path);
    drawing->bench = bench;
    find_range(drawing);
    enum fa_status status = sim_plot_files_name(&drawing->files, path, error);
    if (!status && drawing->x_high == 0)
        status = fa_fail(error, FA_BAD_ARGUMENT, "no rung was timed, so there is nothing to draw");
    if (!status)
        status = sim_plot_files_write(&drawing->files, &printer, error);
    free(drawing);
    return status;
}
