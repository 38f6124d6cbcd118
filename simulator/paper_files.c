/* The handout's files: Markdown, CSV, and a script and a picture for each topic with a figure. */
#include <stdlib.h>
#include <string.h>

#include "simulator/gnuplot.h"
#include "simulator/paper_parts.h"
#include "simulator/plot.h"

/* What a handout is made of. */
struct handout {
    const struct sim_paper *paper;
    const struct sim_provenance *provenance;
    enum sim_paper_topic topic; /* of a figure */
};

static enum fa_status print_markdown(FILE *file, const void *context, struct fa_error *error)
{
    const struct handout *handout = context;
    (void)error;
    sim_paper_markdown(file, handout->paper, handout->provenance);
    return FA_OK;
}

static enum fa_status print_csv(FILE *file, const void *context, struct fa_error *error)
{
    const struct handout *handout = context;
    (void)error;
    sim_paper_csv(file, handout->paper);
    return FA_OK;
}

static enum fa_status print_script(FILE *file, const void *context, struct fa_error *error)
{
    const struct handout *handout = context;
    (void)error;
    sim_paper_figure_script(file, handout->paper, handout->topic);
    return FA_OK;
}

static enum fa_status write_figures(struct handout *handout, const char *folder,
                                    struct sim_new_file files[2], struct fa_error *error)
{
    enum fa_status missing = sim_plot_find_gnuplot(error), status = FA_OK;
    char stem[64];

    for (int t = 0; t < SIM_PAPER_TOPICS && !status; t++) {
        handout->topic = (enum sim_paper_topic)t;
        if (!sim_paper_figure_script(NULL, handout->paper, handout->topic))
            continue;
        snprintf(stem, sizeof stem, "paper-%s", sim_paper_topic_name(handout->topic));
        status = sim_new_file_name(&files[0], folder, stem, ".gp", error);
        if (!status)
            status = sim_new_file_name(&files[1], folder, stem, ".svg", error);
        if (!status)
            status = sim_new_file_write(&files[0], print_script, handout, error);
        if (!status && !missing)
            status = sim_gnuplot_draw(&files[1], files[0].path, NULL, 0, error);
    }
    return status ? status : missing;
}

enum fa_status sim_paper_write(const struct sim_paper *paper,
                               const struct sim_provenance *provenance, const char *folder,
                               struct fa_error *error)
{
    struct handout handout = {paper, provenance, SIM_PAPER_FIGURE2};
    struct sim_new_file *files = calloc(2, sizeof *files);

    if (!files)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the files in %s", folder);
    enum fa_status status = sim_new_file_name(&files[0], folder, "paper", ".md", error);
    if (!status)
        status = sim_new_file_write(&files[0], print_markdown, &handout, error);
    if (!status)
        status = sim_new_file_name(&files[0], folder, "paper", ".csv", error);
    if (!status)
        status = sim_new_file_write(&files[0], print_csv, &handout, error);
    if (!status)
        status = write_figures(&handout, folder, files, error);
    free(files);
    return status;
}
