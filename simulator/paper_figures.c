/*
 * The figures of the handout as gnuplot scripts with their data inside. A script draws to the path
 * in the variable `picture`, or without one on standard output.
 */
#include <math.h>
#include <string.h>

#include "simulator/paper_parts.h"

/* One line or bar of points; the rows whose id is the prefix and one more part. */
struct series {
    const char *prefix, *words;
    bool published; /* what was printed, in place of ours */
    const char *style;
};

enum { SERIES = 6 };

static const struct figure {
    enum sim_paper_topic topic;
    const char *title, *x, *y;
    const char *axes;             /* more settings */
    struct series series[SERIES]; /* ended by one without a prefix */
} figures[] = {
    {SIM_PAPER_BLOCKS,
     "Forward HBM traffic of Algorithm 1 by block size (A100 workload of Figure 2)",
     "Bc: keys of a block",
     "GB",
     "set logscale x 2; set yrange [0:*]",
     {{"figure2-blocks.law.", "executed, by our law", false,
       "with points pt 7 ps 1.4 lc rgb '#0072B2'"},
      {"figure2-blocks.text.", "as the paper's text counts", false,
       "with lines lw 3 dt 2 lc rgb '#D55E00'"}}},
    {SIM_PAPER_TABLE20,
     "Forward and backward, A100: printed times (points) and the time model's estimates (lines)",
     "N",
     "ms",
     "set logscale xy; set logscale x 2",
     {{"table20.standard.", "standard, printed", true, "with points pt 5 ps 1.3 lc rgb '#D55E00'"},
      {"table20.standard.", "standard, estimate", false, "with lines lw 3 lc rgb '#D55E00'"},
      {"table20.flash.", "flash, printed", true, "with points pt 7 ps 1.3 lc rgb '#0072B2'"},
      {"table20.flash.", "flash, estimate", false, "with lines lw 3 lc rgb '#0072B2'"},
      {"table20.block-sparse.", "block-sparse, printed", true,
       "with points pt 9 ps 1.3 lc rgb '#009E73'"},
      {"table20.block-sparse.", "block-sparse, estimate", false,
       "with lines lw 3 lc rgb '#009E73'"}}},
    {SIM_PAPER_TABLE21,
     "Memory, forward and backward: printed entries (points) and our runs (lines)",
     "N",
     "MiB",
     "set logscale xy; set logscale x 2",
     {{"table21.standard.", "standard, printed", true, "with points pt 5 ps 1.3 lc rgb '#D55E00'"},
      {"table21.standard-run.", "standard, our run", false, "with lines lw 3 lc rgb '#D55E00'"},
      {"table21.flash.", "flash, printed", true, "with points pt 7 ps 1.3 lc rgb '#0072B2'"},
      {"table21.flash-run.", "flash, our run", false, "with lines lw 3 lc rgb '#0072B2'"}}},
};

static const struct sim_paper_row *find(const struct sim_paper *paper, const char *id)
{
    for (int i = 0; i < paper->n_rows; i++)
        if (strcmp(paper->rows[i].id, id) == 0)
            return &paper->rows[i];
    return NULL;
}

static void print_head(FILE *file, const char *title, const char *y)
{
    fprintf(file,
            "# Drawn by flashlab paper. To draw it again:  gnuplot THIS_FILE > picture.svg\n"
            "set terminal svg size 1000,620 dynamic rounded font 'sans-serif,16' "
            "background '#FFFFFF'\n"
            "if (exists(\"picture\")) set output picture\n"
            "set encoding utf8\nset title \"%s\"\nset ylabel \"%s\"\n"
            "set grid lc rgb '#DDDDDD'\nset border 3\nset tics nomirror\n",
            title, y);
}

static void print_points(FILE *file, const struct sim_paper *paper, const struct series *series,
                         int index)
{
    size_t length = strlen(series->prefix);
    fprintf(file, "$s%d << EOD\n", index);
    for (int i = 0; i < paper->n_rows; i++) {
        const struct sim_paper_row *row = &paper->rows[i];
        double y = series->published ? row->published : row->ours;
        if (strncmp(row->id, series->prefix, length) == 0 && isfinite(y))
            fprintf(file, "%.17g %.17g\n", row->x, y);
    }
    fputs("EOD\n", file);
}

static void print_figure(FILE *file, const struct sim_paper *paper, const struct figure *figure)
{
    int n = 0;
    print_head(file, figure->title, figure->y);
    fprintf(file, "set xlabel \"%s\"\nset key outside bottom center horizontal\n%s\n", figure->x,
            figure->axes);
    for (; n < SERIES && figure->series[n].prefix; n++)
        print_points(file, paper, &figure->series[n], n);
    for (int s = 0; s < n; s++)
        fprintf(file, "%s$s%d title \"%s\" %s", s ? ", \\\n     " : "plot ", s,
                figure->series[s].words, figure->series[s].style);
    fputc('\n', file);
}

/* Figure 2, left: bars of traffic. */
static void print_bars(FILE *file, const struct sim_paper *paper)
{
    const struct sim_paper_row *standard = find(paper, "figure2.standard.hbm");
    const struct sim_paper_row *flash = find(paper, "figure2.flash.hbm");
    print_head(file, "Figure 2, left: HBM traffic, forward and backward", "GB");
    fputs("set style data histograms\nset style histogram clustered gap 1\n"
          "set style fill solid 0.9 border -1\nset boxwidth 0.9\nset yrange [0:*]\n"
          "set key outside bottom center horizontal\n$s << EOD\n",
          file);
    if (standard && flash)
        fprintf(file, "standard %.17g %.17g\nflash %.17g %.17g\n", standard->ours,
                standard->published, flash->ours, flash->published);
    fputs("EOD\nplot $s using 2:xtic(1) title \"executed\" lc rgb '#0072B2', \\\n"
          "     $s using 3 title \"printed\" lc rgb '#BBBBBB'\n",
          file);
}

bool sim_paper_figure_script(FILE *file, const struct sim_paper *paper, enum sim_paper_topic topic)
{
    const struct figure *figure = NULL;
    bool present = false;
    for (int i = 0; i < paper->n_rows && !present; i++)
        present = paper->rows[i].topic == topic;
    for (size_t f = 0; f < sizeof figures / sizeof *figures; f++)
        if (figures[f].topic == topic)
            figure = &figures[f];
    if (!present || (!figure && topic != SIM_PAPER_FIGURE2))
        return false;
    if (file && figure)
        print_figure(file, paper, figure);
    else if (file)
        print_bars(file, paper);
    return true;
}
