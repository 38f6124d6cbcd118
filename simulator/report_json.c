#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "simulator/report.h"

/* Counters end at 2^63 - 1 (see closed_form.h), as JSON's integers do here. */
static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* A sum of products of sizes: an integer as long as a double can tell it from its neighbours. */
static json_t *whole(double value)
{
    return fabs(value) <= 0x1p53 ? json_integer((json_int_t)value) : real(value);
}

static json_t *volume_json(struct sim_volume volume)
{
    return json_pack("{s:o,s:o}", "elements", integer(volume.elements), "bytes",
                     integer(volume.bytes));
}

/* A 64-bit seed; what is past jansson's integers is written as a text of digits. */
static json_t *seed_json(uint64_t seed)
{
    char digits[24];
    if (seed <= INT64_MAX)
        return json_integer((json_int_t)seed);
    snprintf(digits, sizeof digits, "%" PRIu64, seed);
    return json_string(digits);
}

static json_t *dropout_json(const struct fa_problem *problem)
{
    if (!(problem->dropout_p > 0))
        return json_null();
    bool given = problem->dropout_keep != NULL;
    return json_pack("{s:o,s:o,s:b}", "p", real(problem->dropout_p), "seed",
                     given ? json_null() : seed_json(problem->dropout_seed), "mask", (int)given);
}

static json_t *blocks_json(const struct sim_report *report)
{
    if (!report->result.has_blocks)
        return json_null();
    return json_pack("{s:s,s:o}", "pattern", report->blocks ? report->blocks : "file",
                     "visited_share", real(report->result.blocks_share));
}

static json_t *problem_json(const struct sim_report *report)
{
    const struct fa_problem *problem = &report->result.problem;
    bool windowed = problem->window_left >= 0 || problem->window_right >= 0;
    json_t *window = windowed ? json_pack("[I,I]", (json_int_t)problem->window_left,
                                          (json_int_t)problem->window_right)
                              : json_null();
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:s,s:o,s:s,s:o,s:o}", "batch",
                     (json_int_t)problem->batch, "heads", (json_int_t)problem->heads, "kv_heads",
                     (json_int_t)problem->kv_heads, "nq", (json_int_t)problem->nq, "nk",
                     (json_int_t)problem->nk, "d", (json_int_t)problem->d, "dv",
                     (json_int_t)problem->dv, "scale", real(problem->scale), "causal",
                     fa_causal_name(problem->causal), "window", window, "dtype",
                     fa_dtype_name(problem->dtype), "dropout", dropout_json(problem), "blocks",
                     blocks_json(report));
}

static json_t *hbm_json(const struct sim_result *result)
{
    const struct sim_counters *counters = &result->counters;
    const struct fa_problem *problem = &result->problem;
    json_t *by_tensor = json_object();
    int n_tensors;
    const enum fa_tensor_id *tensors = sim_report_tensors(result, &n_tensors);
    for (int n = 0; n < n_tensors; n++) {
        enum fa_tensor_id id = tensors[n];
        json_t *pair =
            json_pack("{s:o,s:o}", "read", volume_json(sim_counters_read(counters, problem, id)),
                      "write", volume_json(sim_counters_write(counters, problem, id)));
        json_object_set_new(by_tensor, fa_tensor_name(id), pair);
    }
    return json_pack("{s:o,s:o,s:o}", "read", volume_json(sim_counters_read_all(counters, problem)),
                     "write", volume_json(sim_counters_write_all(counters, problem)), "by_tensor",
                     by_tensor);
}

/* The part nearest its budget, or furthest above it; null if none differs. */
static json_t *part_json(const struct sim_check_part *part)
{
    if (part->worst < 0)
        return json_null();
    return json_pack("{s:I,s:I,s:I,s:I,s:o,s:o}", "wrong", (json_int_t)part->wrong, "head",
                     (json_int_t)part->head, "first", (json_int_t)part->first, "last",
                     (json_int_t)part->last, "max_abs_error", real(part->error), "budget",
                     real(part->budget));
}

static json_t *parts_json(const struct sim_report *report, bool backward)
{
    const struct sim_check_gradients *gradients = &report->gradients;
    return json_pack("{s:o,s:o,s:o,s:o,s:o}", "o", part_json(&report->check.o_part), "lse",
                     part_json(&report->check.lse_part), "dq",
                     backward ? part_json(&gradients->dq_part) : json_null(), "dk",
                     backward ? part_json(&gradients->dk_part) : json_null(), "dv",
                     backward ? part_json(&gradients->dv_part) : json_null());
}

static json_t *check_json(const struct sim_report *report)
{
    const struct sim_check *check = &report->check;
    const struct sim_check_gradients *gradients = &report->gradients;
    bool backward = report->result.pass != SIM_FORWARD;
    if (!report->checked)
        return json_null();
    const double figures[6] = {
        gradients->dq.max_abs_error, gradients->dk.max_abs_error, gradients->dv.max_abs_error,
        gradients->dq_budget,        gradients->dk_budget,        gradients->dv_budget,
    };
    json_t *of[6];
    for (int i = 0; i < 6; i++)
        of[i] = backward ? real(figures[i]) : json_null();
    return json_pack("{s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:b}",
                     "rows", (json_int_t)check->rows, "o_underflowed",
                     (json_int_t)check->underflowed, "o_max_abs_error",
                     real(check->o.max_abs_error),
                     "o_rms_error", real(fa_comparison_rms(&check->o)), "lse_max_abs_error",
                     real(check->lse.max_abs_error), "budget", real(check->o_budget),
                     "lse_budget", real(check->lse_budget),
                     "gradient_underflowed",
                     backward ? json_integer(gradients->underflowed) : json_null(),
                     "gradient_rows", backward ? json_integer(gradients->rows) : json_null(),
                     "gradient_keys", backward ? json_integer(gradients->keys) : json_null(),
                     "dq_max_abs_error", of[0], "dk_max_abs_error", of[1], "dv_max_abs_error",
                     of[2], "dq_budget", of[3], "dk_budget", of[4], "dv_budget", of[5], "parts",
                     parts_json(report, backward), "pass",
                     (int)sim_report_passed(report));
}

/* Theorem 2 is about d <= M <= Nd. */
static bool theta_applies(const struct sim_result *result)
{
    const struct fa_problem *p = &result->problem;
    double m = (double)(result->machine.sram_bytes / fa_dtype_bytes(p->dtype));
    double n = (double)(p->nq > p->nk ? p->nq : p->nk);
    return m >= (double)p->d && m <= n * (double)p->d;
}

static json_t *bounds_json(const struct sim_result *result)
{
    const struct sim_bounds *bounds = &result->bounds;
    return json_pack("{s:o,s:o,s:o,s:o}", "compulsory_elements", whole(bounds->compulsory),
                     "theta_elements", theta_applies(result) ? real(bounds->theta) : json_null(),
                     "floor_elements", real(bounds->floor),
                     "standard_elements", whole(bounds->standard));
}

static json_t *provenance_json(const struct sim_provenance *provenance)
{
    return json_pack("{s:s,s:s,s:o,s:i}", "version", provenance->version, "command",
                     provenance->command, "seed",
                     provenance->has_seed ? integer(provenance->seed) : json_null(), "threads",
                     provenance->threads);
}

/* False: `value` is NULL, or there is no memory. */
static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

json_t *sim_report_json(const struct sim_report *report)
{
    const struct sim_result *result = &report->result;
    const struct sim_counters *counters = &result->counters;
    const struct sim_footprint *footprint = &result->footprint;
    json_t *object = json_object();
    bool whole_object =
        put(object, "schema", json_string("flashlab.result/1")) &&
        put(object, "problem", problem_json(report)) &&
        put(object, "algorithm", json_string(result->algorithm->name)) &&
        put(object, "pass", json_string(sim_pass_name(result->pass))) &&
        put(object, "tiles",
            json_pack("{s:I,s:I,s:s}", "br", (json_int_t)result->tiles.br, "bc",
                      (json_int_t)result->tiles.bc, "policy", sim_policy_name(result->policy))) &&
        put(object, "machine",
            json_pack("{s:s,s:o}", "name", result->machine.name, "sram_bytes",
                      integer(result->machine.sram_bytes))) &&
        put(object, "heads_executed", json_integer(result->heads_executed)) &&
        put(object, "hbm", hbm_json(result)) &&
        put(object, "sram", json_pack("{s:o}", "peak_bytes", integer(counters->sram_peak_bytes))) &&
        put(object, "footprint",
            json_pack("{s:o,s:o,s:o}", "input_bytes", integer(footprint->input_bytes),
                      "output_bytes", integer(footprint->output_bytes), "extra_bytes",
                      integer(footprint->extra_bytes))) &&
        put(object, "flop",
            json_pack("{s:o,s:o,s:o}", "matmul", integer(counters->flops.matmul), "exp",
                      integer(counters->flops.exp), "other", integer(counters->flops.other))) &&
        put(object, "tiles_visited", integer(counters->tiles_visited)) &&
        put(object, "tiles_masked", integer(counters->tiles_masked)) &&
        put(object, "tiles_total", integer(result->tiles_total)) &&
        put(object, "bounds", bounds_json(result)) &&
        (!report->estimated ||
         (put(object, "l2", report->has_l2 ? sim_l2_to_json(&report->l2) : json_null()) &&
          put(object, "time", report->has_time ? sim_time_to_json(&report->time) : json_null()))) &&
        (!report->executed || put(object, "check", check_json(report))) &&
        put(object, "provenance", provenance_json(&report->provenance));
    if (!whole_object) {
        json_decref(object);
        return NULL;
    }
    return object;
}
