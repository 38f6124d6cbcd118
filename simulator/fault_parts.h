/*
 * What the parts of faults.c share: the rows of one wrong output beside the oracle's, and the
 * hypotheses that are tried on them.
 */
#ifndef SIM_FAULT_PARTS_H
#define SIM_FAULT_PARTS_H

#include "simulator/faults.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One output, of which rows[n_rows] of every head are looked at: all, or a sample. */
struct sim_fault_evidence {
    const struct sim_theirs *theirs;
    enum sim_output which;
    const struct fa_tensor *got;
    double budget; /* the tensor's; where only parts fail, the smallest of those that do */
    const double *part_budgets; /* [heads, sim_check_parts_of(n_rows)]; the caller's */
    int threads;
    int64_t heads, n_rows, columns; /* heads batch-major: query heads, K/V heads for dK and dV */
    int64_t *rows;                  /* ascending */
    /* [heads, n_rows, columns]: the oracle's; but theirs in elements that the check excuses, or,
     * where only parts fail, that are above `budget` in a row that is within its own part's. */
    double *right;
    int64_t *wrong;                 /* [heads, n_rows]: wrong elements of the row */
    /* Of all of them. */
    int64_t n_wrong, n_wrong_rows, n_wrong_heads;
    double most_right; /* largest finite |right| */
};

/* Fills *evidence; `worst` is the worst element's place (sim_judged), whose row is among the rows.
 * Errors: FA_NO_MEMORY, FA_CANCELLED. */
enum fa_status sim_fault_evidence_make(const struct sim_theirs *theirs, enum sim_output which,
                                       const struct sim_judged *judged,
                                       const double *part_budgets, bool full, int threads,
                                       const struct fa_watch *watch,
                                       struct sim_fault_evidence *evidence, struct fa_error *error);
void sim_fault_evidence_free(struct sim_fault_evidence *evidence);

/* dK and dV, whose rows are keys. */
bool sim_fault_is_of_keys(enum sim_output which);

/* The heads of an output, and the rows (keys for dK and dV) of each. */
int64_t sim_fault_output_heads(const struct sim_theirs *theirs, enum sim_output which);
int64_t sim_fault_output_rows(const struct sim_theirs *theirs, enum sim_output which);

/* Rows of a head that are compared, and looked at. */
int64_t sim_fault_compared_rows(const struct sim_theirs *theirs, enum sim_output which, bool full);

/* What is off that the fault is not about. */
struct sim_fault_rest sim_fault_rest_find(const struct sim_fault_evidence *evidence,
                                          enum sim_fault fault);

/* Whether `got` is not `right` within the budget; see compare.h on NaN and infinities. */
bool sim_fault_is_wrong(double got, double right, double budget);

/* Element (i, c) of a head, i counting the evidence's rows: theirs, and the oracle's. */
double sim_fault_got(const struct sim_fault_evidence *evidence, const struct fa_tensor *view,
                     int64_t head, int64_t i, int64_t c);
double sim_fault_right(const struct sim_fault_evidence *evidence, int64_t head, int64_t i,
                       int64_t c);

/* Theirs at an index of `right`; and the budget of the part that a row belongs to, which counts
 * those of all heads. */
double sim_fault_theirs_at(const struct sim_fault_evidence *evidence, int64_t at);
double sim_fault_own_budget(const struct sim_fault_evidence *evidence, int64_t row);

/* Whether `factor` times the view, an output of the evidence's shape, is right in all rows. */
bool sim_fault_view_is_right(const struct sim_fault_evidence *evidence,
                             const struct fa_tensor *view, double factor);

/* The same contiguous elements in the other layout; in [batch, heads, columns, rows]. False where
 * that is the same, or the tensor is not contiguous. */
bool sim_fault_view_layout(const struct fa_tensor *tensor, struct fa_tensor *view);
bool sim_fault_view_transposed(const struct fa_tensor *tensor, struct fa_tensor *view);

/* A tile's largest error in units of the budget. Errors: FA_NO_MEMORY. */
enum fa_status sim_fault_map_make(const struct sim_fault_evidence *evidence,
                                  struct sim_fault_map *map, struct fa_error *error);

/* Where the wrong rows are in the ragged last tile alone, and there are others. */
bool sim_fault_is_in_last_tile(const struct sim_fault_evidence *evidence);

/* What the output looks like, and what to look at first. */
struct sim_fault_finding {
    enum sim_fault fault; /* SIM_FAULT_NONE: not found */
    char look[SIM_FAULT_TEXT];
};

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void
sim_fault_found(struct sim_fault_finding *finding, enum sim_fault fault, const char *format, ...);

/* A mistake that the oracle can make too. */
struct sim_fault_alternative {
    enum sim_fault fault;
    const char *look;
    bool top_left; /* the diagonal's alignment */
    /* Keys before and past the diagonal that are shown, as causal and window say; -1: not even the
     * diagonal's own. */
    int64_t left, right;
    bool by_tiles;     /* the mask is applied to whole tiles */
    int64_t more_keys; /* keys counted past the last; negative: left out before it */
    bool repeat_last;  /* those are the last key again, not zeros */
    bool all_see_them; /* by all rows, whatever the mask says */
    double scale;
    bool heads_modulo;            /* query head h reads K/V head h mod kv_heads */
    bool first_head, first_batch; /* K and V are those of the first for all */
    bool other_layout;            /* all tensors are read in the other layout */
    bool k_transposed, v_transposed;
    bool no_dropout; /* all weights are kept */
    /* Of a backward pass. */
    int64_t fewer_rows; /* the last queries are left out */
    bool no_delta;      /* dS = P dP */
    bool own_softmax;   /* LSE and delta are computed again, with the same mistake */
    bool one_head;      /* dK and dV are those of the last query head of each group */
};

/* A mask's edge that is not there. */
#define SIM_NO_BOUND INT64_MAX

enum { SIM_MOST_ALTERNATIVES = 64 };

/* The problem as it is. */
struct sim_fault_alternative sim_fault_alternative_none(const struct sim_theirs *theirs);

/* Those that differ from the problem, in the order in which they are tried. Returns how many. */
int sim_fault_alternatives_list(const struct sim_theirs *theirs,
                                struct sim_fault_alternative list[SIM_MOST_ALTERNATIVES]);

/* Whether the key is shown to the row under the alternative's masks (a padded key too). */
bool sim_fault_shows(const struct sim_fault_alternative *alternative,
                     const struct sim_theirs *theirs, int64_t batch, int64_t head, int64_t row,
                     int64_t key);

/* 8 to 12 of faults.h, on O and LSE; and on dQ, dK and dV with the right LSE and delta, or those of
 * the mistake itself. The finding stays as it is where none holds. Errors: FA_NO_MEMORY,
 * FA_CANCELLED. */
enum fa_status sim_fault_try_forward(const struct sim_fault_evidence *evidence,
                                     const struct fa_watch *watch,
                                     struct sim_fault_finding *finding, struct fa_error *error);
enum fa_status sim_fault_try_backward(const struct sim_fault_evidence *evidence,
                                      const struct fa_watch *watch,
                                      struct sim_fault_finding *finding, struct fa_error *error);

/* All of faults.h, in its order. The same errors. */
enum fa_status sim_fault_classify(const struct sim_fault_evidence *evidence,
                                  const struct fa_watch *watch, struct sim_fault_finding *finding,
                                  struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
