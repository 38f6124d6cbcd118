/*
 * The numbers that the FlashAttention papers print, beside ours: one row each, as data.
 *
 * Every `ours` comes from a counted run, from a closed form that the row names, from the time model
 * (an estimate) or from the emulated precisions. A row that must be met is exact; of any other the
 * ratio speaks.
 *
 * Sources: FlashAttention (arXiv 2205.14135) Figures 1 and 2, Tables 20 and 21, Theorems 2 and 5,
 * Proposition 4; FlashAttention-3 (arXiv 2407.08608), section 4.3.
 */
#ifndef SIM_PAPER_H
#define SIM_PAPER_H

#include <stdio.h>

#include "simulator/report.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sim_paper_topic {
    SIM_PAPER_FIGURE2,   /* left: traffic, FLOPs and time at N = 1024; unit values of one head */
    SIM_PAPER_BLOCKS,    /* middle: forward traffic by block size */
    SIM_PAPER_TABLE20,   /* time by N */
    SIM_PAPER_TABLE21,   /* memory by N */
    SIM_PAPER_THEOREMS,  /* exponents of M, N, d and s */
    SIM_PAPER_ERROR,     /* numerical error by precision */
    SIM_PAPER_HEADLINES, /* what the abstracts say */
    SIM_PAPER_TOPICS
};

/* "figure2", "figure2-blocks", "table20", ...; its heading. */
const char *sim_paper_topic_name(enum sim_paper_topic topic);
const char *sim_paper_topic_title(enum sim_paper_topic topic);

enum sim_paper_how {
    SIM_PAPER_COUNTED,     /* the algorithm's own loops, executed and counted */
    SIM_PAPER_CLOSED_FORM, /* a formula at this size; the row says whose */
    SIM_PAPER_TIME_MODEL,  /* an estimate from counted bytes and FLOPs */
    SIM_PAPER_EMULATED     /* arithmetic in emulated number formats */
};

/* "counted run", "closed form at this size", "time model", "emulated precision". */
const char *sim_paper_how_name(enum sim_paper_how how);

/* How an exact row is met. */
enum sim_paper_rule {
    SIM_PAPER_WITHIN,   /* |ours - published| is at most tolerance x |published| */
    SIM_PAPER_TRUNCATED /* ours without its fraction is published */
};

struct sim_paper_row {
    enum sim_paper_topic topic;
    char id[64];    /* "figure2.flash.hbm": unique */
    char title[64]; /* ASCII */
    double ours;
    double published; /* NAN: nothing of the kind was printed */
    char unit[16];    /* "GB" (10^9 bytes), "MiB", "elements", "ms", ... */
    enum sim_paper_how how;
    char variant[512]; /* which variant was counted, at what sizes, and what it leaves open */
    double x;          /* along a figure: N, or a block's side; NAN where there is none */
    bool exact, pass;  /* pass is for exact rows alone */
    enum sim_paper_rule rule;
    double tolerance;
};

/* ours / published; NAN without both. */
double sim_paper_ratio(const struct sim_paper_row *row);

struct sim_paper {
    struct sim_paper_row *rows; /* owned */
    int n_rows, capacity;
};

/*
 * Makes the rows of the topics (1 << enum sim_paper_topic) in the order of the enum, on `threads`
 * cores. Errors: FA_NO_MEMORY, FA_CANCELLED; *paper is untouched then.
 */
enum fa_status sim_paper_run(uint32_t topics, int threads, const struct fa_watch *watch,
                             struct sim_paper *paper, struct fa_error *error);
void sim_paper_free(struct sim_paper *paper);

/* Puts another figure in the place of the printed one, and judges the row again. FA_BAD_ARGUMENT if
 * no row has the id, or the value is not finite. */
enum fa_status sim_paper_publish(struct sim_paper *paper, const char *id, double published,
                                 struct fa_error *error);

/* Exact rows that are not met. */
int sim_paper_missed(const struct sim_paper *paper);

/* A list of {id, ours, published, how, exact, pass, topic, title, unit, ratio, variant}; pass is
 * null where the row is not exact, and so is a number that does not exist. NULL without memory. */
struct json_t *sim_paper_json(const struct sim_paper *paper);

/* To read: a table a topic, four significant digits or whole numbers, and notes under it. */
void sim_paper_text(FILE *file, const struct sim_paper *paper);

/* The same for a handout: Markdown, and CSV (RFC 4180, but lines end in \n). */
void sim_paper_markdown(FILE *file, const struct sim_paper *paper,
                        const struct sim_provenance *provenance);
void sim_paper_csv(FILE *file, const struct sim_paper *paper);

/*
 * Writes paper.md, paper.csv and, for the topics that have one, paper-TOPIC.gp and paper-TOPIC.svg
 * in the folder, which exists. Each file appears whole or not at all; without gnuplot the pictures
 * alone are missing. Errors: FA_IO, FA_NO_MEMORY, FA_MISSING_PART (all but the pictures is there).
 */
enum fa_status sim_paper_write(const struct sim_paper *paper,
                               const struct sim_provenance *provenance, const char *folder,
                               struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
