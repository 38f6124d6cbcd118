/*
 * The results of flashlab precision, in words and in JSON.
 */
#ifndef CLI_PRECISION_REPORT_H
#define CLI_PRECISION_REPORT_H

#include <stdio.h>

#include "simulator/precision_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Methods with their errors; of one that was not published `published` is 0. */
struct cli_precision_report {
    const struct fa_precision_case *setting;
    int64_t seeds; /* from setting->seed on */
    const struct sim_precision_method *methods;
    const struct sim_precision_error (*errors)[FA_REFERENCE_COUNT];
    int n;
    bool wanted[FA_REFERENCE_COUNT]; /* of which there are errors */
    enum fa_reference reference;     /* whose error stands beside the published one; wanted */
};

extern const char *const cli_precision_references[]; /* "unrounded", "rounded", NULL */
extern const char *const cli_precision_orders[];     /* "standard", "flash", NULL */

/* The table beside the published one. */
void cli_precision_print_table(FILE *file, const struct cli_precision_report *report);

/* The first method alone: its formats, and its errors. */
void cli_precision_print_one(FILE *file, const struct cli_precision_report *report);

struct json_t; /* of <jansson.h> */

/*
 * The object of schema "flashlab.precision/1":
 *   schema, setting {n d heads rows profile seed seeds}, reference, source,
 *   methods [{id title recipe {inputs [q k v] scores weights accumulate [s o] output order scale
 *   scale_rows hadamard weight_scale tile} published ours ratio unrounded rounded}], provenance
 *   {version command threads}
 * unrounded and rounded are {rmse standard_error least most max_abs_error}, or null where not asked
 * for; least and most are the rmse of one seed alone; ours is the rmse on `reference` and ratio is
 * that by published. What does not apply (scale_rows, tile, a published value) or is not finite is null.
 * A new reference; NULL without memory.
 */
struct json_t *cli_precision_json(const struct cli_precision_report *report);

#ifdef __cplusplus
}
#endif
#endif
