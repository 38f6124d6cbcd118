/* The figure as a gnuplot script: bounds from a table inside it, counted points from the CSV. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "simulator/plot.h"
#include "simulator/plot_figure.h"

/* Colours that colour-blind readers tell apart (Okabe and Ito), and a marker each. */
static const struct {
    const char *name, *words, *colour;
    int marker;
} styles[] = {
    {"standard", "standard", "#D55E00", 5},
    {"flash1", "flash1 (K, V outside)", "#0072B2", 7},
    {"flash2", "flash2 (Q outside)", "#009E73", 9},
    {"fused-save-p", "fused-save-p", "#CC79A7", 13},
    {"square-tiling", "square tiling (d tiled)", "#56B4E9", 11},
};

static const struct {
    const char *words, *colour, *line;
} curves[SIM_CURVES] = {
    [SIM_CURVE_THETA] = {"N²d²/M (Theorem 2)", "#000000", "dt (12,6) lw 3"},
    [SIM_CURVE_FLOOR] = {"floor (our derivation)", "#000000", "dt (2,5) lw 3"},
    [SIM_CURVE_STANDARD] = {"Nd + N² (standard)", "#8A8A8A", "dt (8,4,2,4) lw 3"},
    [SIM_CURVE_COMPULSORY] = {"compulsory: Q, K, V, O once", "#8A8A8A", "lw 3"},
};

/* Where the plot stands in the picture. */
#define LEFT 0.085
#define RIGHT 0.745
#define BOTTOM 0.185
#define TOP 0.80

static int style_of(int algorithm)
{
    for (int s = 0; s < (int)(sizeof styles / sizeof *styles); s++) {
        if (strcmp(styles[s].name, fa_algorithms[algorithm]->name) == 0)
            return s;
    }
    return 0;
}

/* Text in single quotes, in which gnuplot looks at nothing but the quote. */
static void write_quoted(FILE *file, const char *text)
{
    putc('\'', file);
    for (; *text; text++) {
        if (*text == '\'')
            putc('\'', file);
        putc((unsigned char)*text < ' ' ? '?' : *text, file);
    }
    putc('\'', file);
}

static void write_comment(FILE *file, const char *text)
{
    for (; *text; text++)
        putc((unsigned char)*text < ' ' ? '?' : *text, file);
    putc('\n', file);
}

static void write_head(FILE *file, const struct sim_provenance *provenance, const char *stem)
{
    fprintf(file, "# Counted IO against the bound, by flashlab %s. Made by:\n#   ",
            provenance->version);
    write_comment(file, provenance->command);
    fputs("# To draw it again, in this folder:  gnuplot THIS_FILE  (or, for the other format,\n"
          "#   gnuplot -e \"format='png'\" THIS_FILE)\n"
          "stem = ",
          file);
    write_quoted(file, stem);
    fputs("\nif (!exists(\"format\")) format = 'svg'\n"
          "if (!exists(\"picture\")) picture = stem.'.'.format\n"
          "if (!exists(\"points\")) points = stem.'.csv'\n"
          "# The two formats measure letters and markers differently.\n"
          "if (format eq 'png') {\n"
          "    set terminal pngcairo size 1600,1000 font 'DejaVu Sans,19' rounded\n"
          "    big = ',30'; small = ',16'; marker = 1.9\n"
          "} else {\n"
          "    set terminal svg size 1600,1000 dynamic rounded font 'sans-serif,25' \\\n"
          "        background '#FFFFFF'\n"
          "    big = ',39'; small = ',21'; marker = 0.75\n"
          "}\n"
          "set output picture\n"
          "set encoding utf8\n"
          "set datafile separator comma\n"
          "set datafile missing NaN\n",
          file);
}

static const char *x_words(enum sim_sweep_key key)
{
    switch (key) {
    case SIM_SWEEP_N:
        return "N: queries and keys";
    case SIM_SWEEP_D:
        return "d: head size";
    case SIM_SWEEP_SRAM:
        return "M: SRAM of one SM (KiB)";
    case SIM_SWEEP_BR:
        return "Br: rows of a tile (queries)";
    default:
        return "Bc: columns of a tile (keys)";
    }
}

static const char *x_column(enum sim_sweep_key key)
{
    switch (key) {
    case SIM_SWEEP_N:
        return "problem.nq";
    case SIM_SWEEP_D:
        return "problem.d";
    case SIM_SWEEP_SRAM:
        return "machine.sram_bytes";
    case SIM_SWEEP_BR:
        return "tiles.br";
    default:
        return "tiles.bc";
    }
}

static void write_number(FILE *file, int64_t value)
{
    char text[SIM_NUMBER_TEXT];
    fputs(sim_number_text((uint64_t)value, text), file);
}

/* The part of the subtitle that the axis does not say. */
static void write_subtitle(FILE *file, const struct sim_figure *figure)
{
    const struct sim_result *result = &figure->sample->result;
    const struct fa_problem *problem = &result->problem;
    bool tiles_varied = figure->x == SIM_SWEEP_BR || figure->x == SIM_SWEEP_BC;

    if (figure->x != SIM_SWEEP_N && problem->nq == problem->nk) {
        fputs("N = ", file);
        write_number(file, problem->nq);
        fputs(", ", file);
    } else if (figure->x != SIM_SWEEP_N) {
        fputs("Nq = ", file);
        write_number(file, problem->nq);
        fputs(", Nk = ", file);
        write_number(file, problem->nk);
        fputs(", ", file);
    }
    if (figure->x != SIM_SWEEP_D)
        fprintf(file, "d = %" PRId64 ", ", problem->d);
    if (figure->x != SIM_SWEEP_D && problem->dv != problem->d)
        fprintf(file, "dv = %" PRId64 ", ", problem->dv);
    fputs(fa_dtype_name(problem->dtype), file);
    if (figure->x != SIM_SWEEP_SRAM)
        fprintf(file, ", SRAM %.4g KiB", (double)result->machine.sram_bytes / 1024);
    if (problem->batch * problem->heads == 1)
        fputs(", one head", file);
    else
        fprintf(file, ", all of %" PRId64 " x %" PRId64 " heads", problem->batch, problem->heads);
    if (problem->causal != FA_CAUSAL_NONE)
        fprintf(file, ", causal");
    if (problem->window_left >= 0 || problem->window_right >= 0)
        fputs(", window", file);
    fputs(". Tiles: ", file);
    if (tiles_varied && figure->x == SIM_SWEEP_BR)
        fprintf(file, "Bc = %" PRId64, result->tiles.bc);
    else if (tiles_varied)
        fprintf(file, "Br = %" PRId64, result->tiles.br);
    else if (result->policy == SIM_TILES_GIVEN)
        fprintf(file, "%" PRId64 " x %" PRId64, result->tiles.br, result->tiles.bc);
    else if (result->policy == SIM_TILES_BEST || result->policy == SIM_TILES_BEST_16)
        fprintf(file, "%s (those that move the least and fit)", sim_policy_name(result->policy));
    else if (result->policy == SIM_TILES_SQUARE)
        fputs("square (the largest that fits)", file);
    else if (result->policy == SIM_TILES_PAPER)
        fputs("paper (Bc = ⌈M/4d⌉, Br = min(Bc, d))", file);
    else
        fputs("64 x 64, or the largest square that fits", file);
}

static void write_titles(FILE *file, const struct sim_figure *figure)
{
    const struct fa_problem *problem = &figure->sample->result.problem;
    bool square = figure->sample->result.policy == SIM_TILES_SQUARE;
    bool masked = problem->causal != FA_CAUSAL_NONE || problem->window_left >= 0 ||
                  problem->window_right >= 0;

    enum sim_pass pass = figure->sample->result.pass;
    fprintf(file,
            "set label '{/:Bold Attention, %s: counted IO against the bound}' \\\n"
            "    at screen 0.02,0.95 left enhanced font big\n",
            pass == SIM_BOTH ? "forward and backward" : sim_pass_name(pass));
    fputs("set label '", file);
    write_subtitle(file, figure);
    fputs("' at screen 0.02,0.893 left noenhanced tc rgb '#404040'\n", file);
    fprintf(file,
            "set label 'Markers: counted, by running the algorithm''s loops. Lines: bounds, with "
            "constant 1 and M in numbers of %s.' at screen 0.02,0.06 left noenhanced font small "
            "tc rgb '#404040'\n",
            fa_dtype_name(problem->dtype));
    fprintf(file,
            "set label 'Theorem 2 is FlashAttention''s, drawn bold where d² ≤ M ≤ Nd; the floor "
            "holds for M ≥ 2d².%s%s' at screen 0.02,0.027 left noenhanced font small "
            "tc rgb '#404040'\n",
            square ? " Square tiles are not the optimum past M = 16d²." : "",
            masked ? " Both times the share of tiles visited." : "");
    for (int a = 0, line = 0; a < FA_ALGORITHMS; a++) {
        if (figure->refused[a] == 0)
            continue;
        fprintf(file,
                "set label '%s: %d of %d did not fit' at screen %.3f,%.3f left noenhanced "
                "font small tc rgb '%s'\n",
                fa_algorithms[a]->name, figure->refused[a], figure->refused[a] + figure->counted[a],
                RIGHT + 0.02, 0.16 - 0.032 * line++, styles[style_of(a)].colour);
    }
}

/* A label at the end of each line, tied to it by a stroke where it had to move. */
static void write_labels(FILE *file, const struct sim_figure *figure)
{
    for (int i = 0; i < figure->n_labels; i++) {
        const struct sim_figure_label *label = &figure->label[i];
        int style = label->algorithm >= 0 ? style_of(label->algorithm) : 0;
        const char *words =
            label->algorithm >= 0 ? styles[style].words : curves[label->curve].words;
        const char *colour =
            label->algorithm >= 0 ? styles[style].colour : curves[label->curve].colour;
        if (label->algorithm < 0 && strcmp(colour, "#8A8A8A") == 0)
            colour = "#606060"; /* letters are thinner than lines */
        fprintf(file,
                "set arrow from graph 1.006,%.4f to graph 1.026,%.4f nohead lw 1.5 lc rgb '%s'\n",
                label->line, label->text, colour);
        fputs("set label ", file);
        write_quoted(file, words);
        fprintf(file, " at graph 1.032,%.4f left noenhanced tc rgb '%s'\n", label->text, colour);
    }
}

/* Ticks of a logarithmic axis: 1, 2, 5, or powers of 10 where those would be too many. */
static void write_y_ticks(FILE *file, const struct sim_figure *figure)
{
    static const double mantissa[] = {1, 2, 5};
    double decades = log10(figure->y_max / figure->y_min);
    int used = decades > 3.4 ? 1 : 3, stride = (int)ceil(decades / 10);
    const char *comma = "";

    fputs("set ytics (", file);
    for (int e = (int)floor(log10(figure->y_min)); e <= (int)ceil(log10(figure->y_max)); e++) {
        for (int k = 0; k < used; k++) {
            double value = mantissa[k] * pow(10, e);
            if (value < figure->y_min || value > figure->y_max || e % stride != 0)
                continue;
            fprintf(file, "%s'", comma);
            if (value >= 1000)
                write_number(file, llround(value));
            else
                fprintf(file, "%.10g", value);
            fprintf(file, "' %.10g", value);
            comma = ", ";
        }
    }
    fputs(")\n", file);
}

/* Powers of two, every other one where they would be too close. */
static void write_x_ticks(FILE *file, const struct sim_figure *figure)
{
    double octaves = log2(figure->x_max / figure->x_min);
    int stride = (int)ceil(octaves / 9), first = (int)ceil(log2(figure->x_min) - 1e-9);
    const char *comma = "";

    stride = stride < 1 ? 1 : stride;
    fputs("set xtics (", file);
    for (int e = first; e <= (int)floor(log2(figure->x_max) + 1e-9); e += stride) {
        double value = ldexp(1, e);
        fprintf(file, "%s'", comma);
        if (e >= 0)
            write_number(file, INT64_C(1) << (e < 62 ? e : 62));
        else
            fprintf(file, "%.4g", value);
        fprintf(file, "' %.10g", value);
        comma = ", ";
    }
    /* A range between two powers of two has none: its ends do. */
    if (*comma == '\0')
        fprintf(file, "'%.6g' %.10g, '%.6g' %.10g", figure->x_min, figure->x_min, figure->x_max,
                figure->x_max);
    fputs(")\n", file);
}

/* A vertical line at x with its name above, unless a name stands there already. */
static void write_mark(FILE *file, const struct sim_figure *figure, double x, const char *name,
                       double *taken, int *n_taken)
{
    double width = log(figure->x_max / figure->x_min);
    double at = log(x / figure->x_min) / width;
    if (!(at > 0.005 && at < 0.995))
        return;
    for (int i = 0; i < *n_taken; i++) {
        if (fabs(at - taken[i]) < 0.12)
            return;
    }
    taken[(*n_taken)++] = at;
    fprintf(file,
            "set arrow from first %.10g,graph 0 to first %.10g,graph 1 nohead back lw 1.5 dt (4,4) "
            "lc rgb '#B0B0B0'\n"
            "set label '%s' at first %.10g,graph 1.025 center noenhanced font small "
            "tc rgb '#606060'\n",
            x, x, name, x);
}

static void write_marks(FILE *file, const struct sim_sweep *sweep, const struct sim_figure *figure)
{
    const struct fa_problem *problem = &figure->sample->result.problem;
    double bytes = (double)fa_dtype_bytes(problem->dtype), d = (double)problem->d;
    double sram = (double)sweep->base.machine.sram_bytes / 1024, taken[3];
    char name[96];
    int n = 0;

    if (figure->x != SIM_SWEEP_SRAM)
        return;
    snprintf(name, sizeof name, "%s: %.4g KiB", sweep->base.machine.name, sram);
    if (!strpbrk(name, "'\n"))
        write_mark(file, figure, sram, name, taken, &n);
    write_mark(file, figure, bytes * d * d / 1024, "M = d²", taken, &n);
    write_mark(file, figure, bytes * d * (double)problem->nk / 1024, "M = Nd", taken, &n);
}

static void write_axes(FILE *file, const struct sim_figure *figure)
{
    fprintf(file, "set lmargin at screen %.3f\nset rmargin at screen %.3f\n", LEFT, RIGHT);
    fprintf(file, "set bmargin at screen %.3f\nset tmargin at screen %.3f\n", BOTTOM, TOP);
    fprintf(file,
            "unset key\nset logscale xy\nset xrange [%.10g:%.10g]\nset yrange [%.10g:%.10g]\n",
            figure->x_min, figure->x_max, figure->y_min, figure->y_max);
    fputs("set border 3 lw 1.5 lc rgb '#404040'\nset tics nomirror out scale 0.6\n"
          "set grid xtics ytics back lw 1 lc rgb '#E4E4E4' dt 1\n",
          file);
    write_x_ticks(file, figure);
    write_y_ticks(file, figure);
    fprintf(file, "set label '%s' at screen %.4f,0.105 center noenhanced\n", x_words(figure->x),
            (LEFT + RIGHT) / 2);
    fprintf(file,
            "set label '%s%selements read and written, HBM to SRAM and back' at screen "
            "0.02,%.3f left noenhanced\n",
            figure->y_unit_name, *figure->y_unit_name ? " " : "", TOP + 0.055);
}

static void write_curves(FILE *file, const struct sim_figure *figure)
{
    fprintf(file,
            "# x, then in %s elements: Theta where d^2 <= M <= N d, and outside it, floor,\n"
            "# standard, compulsory\n$bounds << END\n",
            *figure->y_unit_name ? figure->y_unit_name : "single");
    for (int i = 0; i < SIM_CURVE_POINTS; i++) {
        const struct sim_curve_point *point = &figure->curve[i];
        double y[SIM_CURVES];
        for (int c = 0; c < SIM_CURVES; c++)
            y[c] = point->y[c] / figure->y_unit;
        fprintf(file, "%.10g", point->x);
        fprintf(file, point->tight ? ",%.10g,NaN" : ",NaN,%.10g", y[SIM_CURVE_THETA]);
        for (int c = SIM_CURVE_FLOOR; c < SIM_CURVES; c++)
            fprintf(file, isfinite(y[c]) ? ",%.10g" : ",NaN", y[c]);
        fputc('\n', file);
    }
    fputs("END\n", file);
}

static void write_plot(FILE *file, const struct sim_figure *figure)
{
    fputs("moved(name) = strcol('algorithm') eq name && strcol('hbm.read.elements') ne '' \\\n"
          "    ? column('hbm.read.elements') + column('hbm.write.elements') : NaN\n"
          "plot \\\n",
          file);
    fprintf(file, "    $bounds using 1:6 with lines lc rgb '%s' %s, \\\n",
            curves[SIM_CURVE_COMPULSORY].colour, curves[SIM_CURVE_COMPULSORY].line);
    fprintf(file, "    $bounds using 1:5 with lines lc rgb '%s' %s, \\\n",
            curves[SIM_CURVE_STANDARD].colour, curves[SIM_CURVE_STANDARD].line);
    fprintf(file, "    $bounds using 1:4 with lines lc rgb '%s' %s, \\\n",
            curves[SIM_CURVE_FLOOR].colour, curves[SIM_CURVE_FLOOR].line);
    fprintf(file, "    $bounds using 1:3 with lines lc rgb '%s' dt (12,6) lw 1.2, \\\n",
            curves[SIM_CURVE_THETA].colour);
    fprintf(file, "    $bounds using 1:2 with lines lc rgb '%s' %s", curves[SIM_CURVE_THETA].colour,
            curves[SIM_CURVE_THETA].line);
    for (int a = 0; a < FA_ALGORITHMS; a++) {
        int s = style_of(a);
        if (figure->counted[a] == 0)
            continue;
        fprintf(file,
                ", \\\n    points using (column('%s')/%g):(moved('%s')/%g) \\\n"
                "        with linespoints lw 2 pt %d ps marker lc rgb '%s'",
                x_column(figure->x), figure->x_unit, styles[s].name, figure->y_unit,
                styles[s].marker, styles[s].colour);
    }
    fputs("\nset output\n", file);
}

enum fa_status sim_plot_write_script(const struct sim_sweep *sweep,
                                     const struct sim_provenance *provenance, const char *stem,
                                     FILE *file, struct fa_error *error)
{
    struct sim_figure figure;
    enum sim_sweep_key x;
    enum fa_status status = sim_plot_check(sweep, &x, error);

    if (status)
        return status;
    if (sweep->n_refused == sweep->n_points)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "no point of the sweep could be counted, so there is nothing to draw: %s",
                       sweep->n_points ? sweep->points[0].message : "it has none");
    sim_figure_make(sweep, x, &figure);
    write_head(file, provenance, stem);
    write_axes(file, &figure);
    write_titles(file, &figure);
    write_labels(file, &figure);
    write_marks(file, sweep, &figure);
    write_curves(file, &figure);
    write_plot(file, &figure);
    return FA_OK;
}
