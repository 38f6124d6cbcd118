/*
 * Results in words and in JSON. The numbers are those of sim_result and sim_check; nothing is
 * worked out here but sums, shares and ratios.
 */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include <stdio.h>

#include "simulator/check_gradients.h"
#include "simulator/experiment.h"
#include "simulator/time_model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct json_t; /* of <jansson.h> */

struct sim_provenance {
    const char *version;
    const char *command; /* the command line that makes the result again */
    bool has_seed;       /* false: the inputs came from files, or there were none */
    uint64_t seed;       /* up to 2^63 - 1 */
    int threads;
};

struct sim_report {
    struct sim_result result;
    bool executed; /* on data: the report has a check, which may not apply */
    bool checked;
    struct sim_check check;
    struct sim_check_gradients gradients; /* with a backward pass; checked tells */
    bool estimated; /* the two models were asked; what they refused (has_...) is null */
    bool has_l2, has_time;
    struct sim_l2 l2;
    struct sim_time time;
    const char *blocks; /* where the block mask comes from, such as "window:1,1"; NULL: none */
    struct sim_provenance provenance;
};

/*
 * The object of schema "flashlab.result/1". Units: as the keys say. Totals are over all heads.
 *
 *   schema, problem {batch heads kv_heads nq nk d dv scale causal window dtype
 *   dropout {p seed mask} blocks {pattern visited_share}}, algorithm, pass,
 *   tiles {br bc policy}, machine {name sram_bytes},
 *   hbm {read {elements bytes} write {elements bytes} by_tensor {NAME {read write}}},
 *   sram {peak_bytes}, footprint {input_bytes output_bytes extra_bytes}, flop {matmul exp other},
 *   tiles_visited, tiles_masked, tiles_total,
 *   bounds {compulsory_elements theta_elements floor_elements standard_elements},
 *   l2 {dram_read_bytes dram_write_bytes l2_to_sm_bytes ...}, time {estimate_us bound_by ...},
 *   check {rows o_max_abs_error o_rms_error lse_max_abs_error budget lse_budget gradient_rows gradient_keys
 *   dq_max_abs_error dk_max_abs_error dv_max_abs_error dq_budget dk_budget dv_budget
 *   parts {o lse dq dk dv} pass}, where each of parts is {wrong head first last max_abs_error
 *   budget} of the part nearest its own budget (check.h), null where nothing differs,
 *   provenance {version command seed threads}
 *
 * Counts are integers, exact; theta and floor are real. What does not apply or is not finite is
 * null: dropout without any (its seed is null where the mask was given, and a text of digits past
 * 2^63 - 1), blocks without a block mask, the gradients of a forward check. by_tensor has every tensor
 * of the pass, in the same order for each algorithm. check is there for an executed run alone, null
 * without a check. l2 and time are there where the models were asked, null where one does not apply:
 * a machine without the figures, f64, a run too long to repeat. visited_share is of the block mask's own blocks, whatever else hides some of them.
 * NULL without memory, or where a text of the report is not UTF-8.
 */
struct json_t *sim_report_json(const struct sim_report *report);

/* One result in full, to read. */
void sim_report_text(FILE *file, const struct sim_report *report);

/* n results of one problem and pass side by side, with ratios to the first; with a backward pass, also
 * what recomputing S and P costs and saves. */
void sim_report_table(FILE *file, const struct sim_report *reports, int n);

/* The line `Problem` of a report as far as the dtype, without its end. */
void sim_report_sizes(FILE *file, const struct fa_problem *problem);

/* Whether all that was checked is within its budget; true where nothing was. */
bool sim_report_passed(const struct sim_report *report);

/* The tensors that the pass may touch in HBM, in the order of reports; *n is how many. */
const enum fa_tensor_id *sim_report_tensors(const struct sim_result *result, int *n);

/* value with a comma at each thousand: "1,114,112". */
enum { SIM_NUMBER_TEXT = 32 };
const char *sim_number_text(uint64_t value, char text[SIM_NUMBER_TEXT]);

#ifdef __cplusplus
}
#endif
#endif
