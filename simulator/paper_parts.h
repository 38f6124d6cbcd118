/*
 * What the topics of paper.c share: adding rows, counted runs, and where the work stands. Errors
 * are sticky: after the first one nothing is run or added.
 */
#ifndef SIM_PAPER_PARTS_H
#define SIM_PAPER_PARTS_H

#include "simulator/paper.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sim_paper_work {
    struct sim_paper *paper;
    enum sim_paper_topic topic; /* of the rows that are added */
    int threads;
    struct sim_machine a100;
    const struct fa_watch *watch;
    double from, to; /* the topic's share of all the work */
    enum fa_status status;
    struct fa_error error;
};

/* Adds the row, judged. topic is filled in; x is NAN where it is 0. */
void sim_paper_add(struct sim_paper_work *work, const struct sim_paper_row *row);

/* Says that a share 0..1 of the topic is done; false where the work should stop. */
bool sim_paper_tick(struct sim_paper_work *work, double share);

/* `batch` x `heads` heads of N = nk = nq on an A100, counted alone; tiles by the default rule. */
struct sim_experiment sim_paper_experiment(const struct sim_paper_work *work,
                                           const struct fa_algorithm *algorithm,
                                           enum sim_pass pass, int64_t n, int64_t d);

/* Runs it; *result is zero after an error. */
void sim_paper_count(struct sim_paper_work *work, const struct sim_experiment *experiment,
                     struct sim_result *result);

/* Elements and bytes of both directions. */
struct sim_volume sim_paper_moved(const struct sim_result *result);

/* What was run, in words, with `more` after it ("" for nothing). */
void sim_paper_describe(const struct sim_result *result, const char *more, char *text, size_t size);

/*
 * Block tiles of which each row visits `part` of `of`, evenly: s is part/of where `of` divides the
 * columns. For the tiles; *blocks->visit is to be freed by the caller, and is NULL after an error.
 */
void sim_paper_blocks(struct sim_paper_work *work, const struct sim_experiment *experiment,
                      int part, int of, struct fa_block_mask *blocks,
                      struct sim_tile_choice *tiles);

/*
 * The time model's estimate for the result, in ms, with overlap; how it was made goes to text. The
 * problem's tensors and block mask must still be there.
 */
double sim_paper_time(struct sim_paper_work *work, const struct sim_result *result, char *text,
                      size_t size);

/* The slope of a least-squares line through (ln x, ln y), n of them. */
double sim_paper_slope(const double *x, const double *y, int n);

/* The exact rows' workloads of Figure 2. */
void sim_paper_figure2_standard(struct sim_paper_work *work, enum sim_pass pass,
                                struct sim_result *result);
void sim_paper_figure2_flash(struct sim_paper_work *work, enum sim_pass pass,
                             struct sim_result *result);

/* The topics. */
void sim_paper_figure2(struct sim_paper_work *work);
void sim_paper_figure2_blocks(struct sim_paper_work *work);
void sim_paper_table20(struct sim_paper_work *work);
void sim_paper_table21(struct sim_paper_work *work);
void sim_paper_theorems(struct sim_paper_work *work);
void sim_paper_error(struct sim_paper_work *work);
void sim_paper_headlines(struct sim_paper_work *work);

/* A value in words: whole from 1,000 on, below that with four significant digits; NAN is a dash. */
enum { SIM_PAPER_VALUE_TEXT = 40 };
const char *sim_paper_value_text(double value, char text[SIM_PAPER_VALUE_TEXT]);

/* Writes the script of the topic's figure; file NULL: writes nothing. False where there is none. */
bool sim_paper_figure_script(FILE *file, const struct sim_paper *paper, enum sim_paper_topic topic);

#ifdef __cplusplus
}
#endif
#endif
