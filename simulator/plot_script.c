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
    [SIM_CURVE_ROOT] = {"N²d/√M (Saha and Ye)", "#000000", "dt (12,6) lw 3"},
    [SIM_CURVE_FLOOR] = {"floor (our derivation)", "#000000", "dt (2,5) lw 3"},
    [SIM_CURVE_STANDARD] = {"Nd + N² (standard)", "#8A8A8A", "dt (8,4,2,4) lw 3"},
    [SIM_CURVE_COMPULSORY] = {"compulsory: Q, K, V, O once", "#8A8A8A", "lw 3"},
};

static int style_of(int algorithm)
{
    for (int s = 0; s < (int)(sizeof styles / sizeof *styles); s++) {
        if (strcmp(styles[s].name, fa_algorithms[algorithm]->name) == 0)
            return s;
    }
    return 0;
}

static void write_head(FILE *file, const struct sim_provenance *provenance, const char *stem)
{
    fprintf(file, "# Counted IO against the bound, by flashlab %s. Made by:\n#   ",
            provenance->version);
    sim_gnuplot_write_comment(file, provenance->command);
    fputs("# To draw it again, in this folder:  gnuplot THIS_FILE  (or, for the other format,\n"
          "#   gnuplot -e \"format='png'\" THIS_FILE)\n",
          file);
    sim_plot_write_settings(file, stem);
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
            "constant 1 and M in numbers of %s.' at screen 0.02,0.087 left noenhanced font small "
            "tc rgb '#404040'\n",
            fa_dtype_name(problem->dtype));
    fputs("set label 'Bold dashes, the order of the optimum up to M = Nd: N²d²/M from M = d² on "
          "(FlashAttention, Theorem 2), N²d/√M below' at screen 0.02,0.055 left noenhanced font "
          "small tc rgb '#404040'\n",
          file);
    fprintf(file,
            "set label '(Saha and Ye 2024, Theorem 3.1). The floor holds for M ≥ 2d².%s%s' "
            "at screen 0.02,0.023 left noenhanced font small tc rgb '#404040'\n",
            square ? " Square tiles are not it past M = 16d²." : "",
            masked ? " All times the share of tiles visited." : "");
    for (int a = 0, line = 0; a < FA_ALGORITHMS; a++) {
        if (figure->refused[a] == 0)
            continue;
        fprintf(file,
                "set label '%s: %d of %d did not fit' at screen %.3f,%.3f left noenhanced "
                "font small tc rgb '%s'\n",
                fa_algorithms[a]->name, figure->refused[a], figure->refused[a] + figure->counted[a],
                SIM_PLOT_RIGHT + 0.028, 0.185 - 0.032 * line++, styles[style_of(a)].colour);
    }
}

/* The root's name inside the plot, on a white ground: other lines may pass there. */
static void write_root_name(FILE *file, const struct sim_figure *figure)
{
    if (isnan(figure->root_x))
        return;
    fprintf(file,
            "set style textbox opaque noborder margins 0.5,0.2\n"
            "set label 'N²d/√M' at graph %.4f,%.4f left noenhanced front boxed font small\n",
            figure->root_x, figure->root_y);
}

/* A label at the end of each line, tied to it by a stroke: by a thin one from where a bound ends
 * short of the right. */
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
        if (label->end < 0.999)
            fprintf(file,
                    "set arrow from graph %.4f,%.4f to graph 1.006,%.4f nohead back lw 1 "
                    "lc rgb '#A0A0A0'\n",
                    label->end + 0.006, label->line, label->line);
        fprintf(file,
                "set arrow from graph 1.006,%.4f to graph 1.026,%.4f nohead lw 1.5 lc rgb '%s'\n",
                label->line, label->text, colour);
        fputs("set label ", file);
        sim_gnuplot_write_quoted(file, words);
        fprintf(file, " at graph 1.032,%.4f left noenhanced tc rgb '%s'\n", label->text, colour);
    }
}

static void write_cell(FILE *file, bool shown, double value)
{
    if (shown && isfinite(value))
        fprintf(file, ",%.10g", value);
    else
        fputs(",NaN", file);
}

static void write_curves(FILE *file, const struct sim_figure *figure)
{
    fprintf(file,
            "# x, then in %s elements: N^2 d^2 / M where d^2 <= M <= N d, and below d^2;\n"
            "# N^2 d / sqrt(M) up to d^2, floor, standard, compulsory\n$bounds << END\n",
            *figure->y_unit_name ? figure->y_unit_name : "single");
    for (int i = 0; i < SIM_CURVE_POINTS; i++) {
        const struct sim_curve_point *point = &figure->curve[i];
        double y[SIM_CURVES];
        for (int c = 0; c < SIM_CURVES; c++)
            y[c] = point->y[c] / figure->y_unit;
        fprintf(file, "%.10g", point->x);
        write_cell(file, point->tight, y[SIM_CURVE_THETA]);
        /* Both hold at M = d², where the dashes change. */
        write_cell(file, !point->tight || isfinite(y[SIM_CURVE_ROOT]), y[SIM_CURVE_THETA]);
        for (int c = SIM_CURVE_ROOT; c < SIM_CURVES; c++)
            write_cell(file, true, y[c]);
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
    /* Columns: x, Theta twice, then the other curves; the first drawn lies below. */
    for (int c = SIM_CURVES - 1; c >= SIM_CURVE_ROOT; c--)
        fprintf(file, "    $bounds using 1:%d with lines lc rgb '%s' %s, \\\n", c + 3,
                curves[c].colour, curves[c].line);
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
    sim_plot_write_axes(file, &figure);
    write_titles(file, &figure);
    write_labels(file, &figure);
    write_root_name(file, &figure);
    sim_plot_write_marks(file, sweep, &figure);
    write_curves(file, &figure);
    write_plot(file, &figure);
    return FA_OK;
}
