/* The axes of the figure as lines of a gnuplot script: ticks, titles and vertical marks. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "simulator/plot_figure.h"

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

static void write_number(FILE *file, int64_t value)
{
    char text[SIM_NUMBER_TEXT];
    fputs(sim_number_text((uint64_t)value, text), file);
}

/* 10⁻³ in UTF-8, or 5·10⁻³. */
static void write_power(FILE *file, double mantissa, int exponent)
{
    static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char digits[16];
    if (mantissa != 1)
        fprintf(file, "%g·", mantissa);
    snprintf(digits, sizeof digits, "%d", exponent);
    fputs("10", file);
    for (const char *at = digits; *at; at++)
        fputs(*at == '-' ? "⁻" : raised[*at - '0'], file);
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
            if (figure->scientific)
                write_power(file, mantissa[k], e);
            else if (value >= 1000)
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

void sim_plot_write_marks(FILE *file, const struct sim_sweep *sweep,
                          const struct sim_figure *figure)
{
    double sram = (double)sweep->base.machine.sram_bytes / 1024, taken[3];
    char name[96];
    int n = 0;

    write_mark(file, figure, figure->corner[SIM_CORNER_DD], "M = d²", taken, &n);
    if (figure->x == SIM_SWEEP_SRAM) {
        snprintf(name, sizeof name, "%s: %.4g KiB", sweep->base.machine.name, sram);
        if (!strpbrk(name, "'\n"))
            write_mark(file, figure, sram, name, taken, &n);
    }
    write_mark(file, figure, figure->corner[SIM_CORNER_ND], "M = Nd", taken, &n);
}

void sim_plot_write_axes(FILE *file, const struct sim_figure *figure)
{
    fprintf(file, "set lmargin at screen %.3f\nset rmargin at screen %.3f\n", SIM_PLOT_LEFT,
            SIM_PLOT_RIGHT);
    fprintf(file, "set bmargin at screen %.3f\nset tmargin at screen %.3f\n", SIM_PLOT_BOTTOM,
            SIM_PLOT_TOP);
    fprintf(file,
            "unset key\nset logscale xy\nset xrange [%.10g:%.10g]\nset yrange [%.10g:%.10g]\n",
            figure->x_min, figure->x_max, figure->y_min, figure->y_max);
    fputs("set border 3 lw 1.5 lc rgb '#404040'\nset tics nomirror out scale 0.6\n"
          "set grid xtics ytics back lw 1 lc rgb '#E4E4E4' dt 1\n",
          file);
    write_x_ticks(file, figure);
    write_y_ticks(file, figure);
    fprintf(file, "set label '%s' at screen %.4f,0.13 center noenhanced\n", x_words(figure->x),
            (SIM_PLOT_LEFT + SIM_PLOT_RIGHT) / 2);
    fprintf(file,
            "set label '%s%selements read and written, HBM to SRAM and back' at screen "
            "0.02,%.3f left noenhanced\n",
            figure->y_unit_name, *figure->y_unit_name ? " " : "", SIM_PLOT_TOP + 0.055);
}
