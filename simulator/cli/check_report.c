/* What `flashlab check` says, in words and in JSON. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "simulator/cli/check_theirs.h"

static void print_problem(const struct cli_check *check)
{
    const struct fa_problem *p = &check->inputs.problem;
    printf("Problem    batch %" PRId64 ", heads %" PRId64, p->batch, p->heads);
    if (p->kv_heads != p->heads)
        printf(", K/V heads %" PRId64, p->kv_heads);
    if (p->nq == p->nk)
        printf(", N %" PRId64, p->nq);
    else
        printf(", Nq %" PRId64 ", Nk %" PRId64, p->nq, p->nk);
    printf(", d %" PRId64, p->d);
    if (p->dv != p->d)
        printf(", dv %" PRId64, p->dv);
    printf(", %s, scale %.6g", fa_dtype_name(p->dtype), p->scale);
    if (p->causal != FA_CAUSAL_NONE)
        printf(", causal %s", fa_causal_name(p->causal));
    if (p->window_left >= 0 || p->window_right >= 0)
        printf(", window %" PRId64 ",%" PRId64, p->window_left, p->window_right);
    printf("%s%s%s", p->mask ? ", element mask" : "", p->bias ? ", bias" : "",
           p->blocks ? ", block mask" : "");
    if (p->dropout_p > 0)
        printf(", dropout %.6g", p->dropout_p);
    putchar('\n');
}

static void print_taken(const struct cli_check *check)
{
    const char *before = "Taken      ";
    for (int i = 0; i < CLI_TAKEN; i++) {
        if (!check->taken[i][0])
            continue;
        printf("%s%s.npy of the folder, as --%s", before, cli_taken_files[i], cli_taken_options[i]);
        before = "; ";
    }
    if (before[0] == ';')
        putchar('\n');
}

/* What was taken for granted, where it could be otherwise. */
static void print_assumptions(const struct cli_check *check)
{
    const struct fa_problem *p = &check->inputs.problem;
    const char *dtype = fa_dtype_name(p->dtype), *before = "Stored     ";
    bool narrower = false;
    for (int i = 0; i < SIM_OUTPUTS; i++) {
        if (!check->output[i].data)
            continue;
        printf("%s%s.npy %s", before, cli_output_files[i], check->stored[i]);
        before = ", ";
        narrower = narrower || (strcmp(check->stored[i], "f16") == 0 && i != SIM_OUT_LSE &&
                                (p->dtype == FA_F32 || p->dtype == FA_F64));
        narrower = narrower || (strcmp(check->stored[i], "f32") == 0 && p->dtype == FA_F64);
    }
    printf("; judged as results in %s\n", dtype);
    if (check->inputs_stored[0] && strcmp(check->inputs_stored, dtype) != 0)
        printf("           q, k, v are %s, and are rounded to %s first, as the kernel gets them\n",
               check->inputs_stored, dtype);
    if (narrower)
        printf("           A file is narrower than that: is --dtype right?\n");
    if (check->lse_by_heads)
        puts("           lse.npy is taken as [batch, heads, seq]");
    if (check->verdict.sampled)
        puts(
            "Rows       a sample of each head (--rows full compares all); of the others it is seen "
            "that\n           no element is NaN, infinite or larger than the inputs allow");
}

/* Where the inputs hold NaN or infinities, which may be right in the outputs then. */
static void print_nonfinite(const struct cli_check *check)
{
    struct cli_nonfinite found[CLI_INPUTS];
    int n = check->verdict.nonfinite_inputs > 0 ? cli_check_nonfinite(check, found) : 0;
    for (int i = 0; i < n; i++)
        printf("%s%s: %" PRId64 " of %" PRId64
               " elements are NaN or infinite, the first at [%" PRId64 ", %" PRId64 ", %" PRId64
               ", %" PRId64 "]\n",
               i ? "           " : "Inputs     ", found[i].name, found[i].n, found[i].of,
               found[i].first[0], found[i].first[1], found[i].first[2], found[i].first[3]);
}

static void print_parts(enum sim_output which, const struct sim_judged *judged)
{
    const struct sim_check_part *part = &judged->part;
    const char *rows = which == SIM_OUT_DK || which == SIM_OUT_DV ? "keys" : "rows";
    if (sim_judged_fails_in_parts(judged))
        printf("  %s: within its budget as a whole, but not in %" PRId64
               " of its parts (%d %s of a "
               "head each)\n     worst of them: head %" PRId64 ", %s %" PRId64 " to %" PRId64
               ", off by %.3e, where %.3e is their budget\n",
               sim_output_name(which), part->wrong, SIM_CHECK_PART_ROWS, rows, part->head, rows,
               part->first, part->last, part->error, part->budget);
}

static void print_table(const struct sim_verdict *verdict)
{
    printf("\n  %-6s%12s%12s%12s  %-28s%14s%14s\n", "output", "budget", "largest", "RMS",
           "worst [batch, head, row, col]", "theirs", "right");
    for (int i = 0; i < SIM_OUTPUTS; i++) {
        const struct sim_judged *judged = &verdict->output[i];
        char place[96] = "-";
        if (!judged->given)
            continue;
        printf("  %-6s%12.3e%12.3e%12.3e  ", sim_output_name((enum sim_output)i), judged->budget,
               judged->compared.max_abs_error, fa_comparison_rms(&judged->compared));
        if (judged->worst[2] >= 0)
            snprintf(place, sizeof place, "[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]",
                     judged->worst[0], judged->worst[1], judged->worst[2], judged->worst[3]);
        printf("%-28s ", place);
        if (judged->worst[2] >= 0)
            printf("%14.7g%14.7g", judged->theirs, judged->right);
        else
            printf("%14s%14s", "-", "-");
        printf("  %s\n", judged->pass ? "right" : "WRONG");
    }
    for (int i = 0; i < SIM_OUTPUTS; i++)
        if (verdict->output[i].given)
            print_parts((enum sim_output)i, &verdict->output[i]);
    for (int i = 0; i < SIM_OUTPUTS && verdict->nonfinite_inputs > 0; i++)
        if (verdict->output[i].compared.nonfinite_expected > 0)
            printf("  %s: %" PRId64 " of %" PRId64
                   " right values are NaN or infinite: the inputs hold such%s\n",
                   sim_output_name((enum sim_output)i),
                   verdict->output[i].compared.nonfinite_expected, verdict->output[i].compared.n,
                   verdict->output[i].compared.nonfinite_expected == verdict->output[i].compared.n
                       ? ", and no\n     number was checked: finite inputs are needed for that"
                       : "");
    if (verdict->underflowed > 0)
        printf("  %" PRId64
               " NaN not compared: an infinite V under a weight that underflows to 0\n",
               verdict->underflowed);
}

static void print_map(const struct cli_check *check)
{
    const struct sim_verdict *verdict = &check->verdict;
    const struct sim_fault_map *map = &verdict->map;
    const struct cli_map shown = cli_map_make(map);
    bool keys = verdict->culprit == SIM_OUT_DK || verdict->culprit == SIM_OUT_DV;
    printf("\nMap of %s: a line a head%s, a sign %" PRId64 " %s (tiles of %" PRId64 ")\n",
           sim_output_name(verdict->culprit),
           shown.rows < map->heads ? " (the others are left out)" : "", map->side * shown.tiles,
           keys ? "keys" : "rows", map->side);
    for (int64_t row = 0; row < shown.rows; row++) {
        printf("  %6" PRId64 "  ", shown.head[row]);
        for (int64_t column = 0; column < shown.columns; column++)
            putchar(cli_map_sign(cli_map_error(map, &shown, row, column)));
        putchar('\n');
    }
    puts("  . within the budget, 1 up to 10 times it, 2 up to 100 times, and so on; N NaN or "
         "infinity;\n  blank: not looked at");
}

static void print_rest(const struct sim_verdict *verdict)
{
    const struct sim_fault_rest *rest = &verdict->rest;
    bool keys = verdict->culprit == SIM_OUT_DK || verdict->culprit == SIM_OUT_DV;
    if (rest->parts > 0)
        printf("Beside     %" PRId64 " more elements are off, less or otherwise, in %" PRId64
               " part%s (%d %s of a head each),\n           first at [%" PRId64 ", %" PRId64
               ", %" PRId64 ", %" PRId64
               "]: the same fault or another one, so check again once it is mended\n",
               rest->elements, rest->parts, rest->parts == 1 ? "" : "s", SIM_CHECK_PART_ROWS,
               keys ? "keys" : "rows", rest->first[0], rest->first[1], rest->first[2],
               rest->first[3]);
}

void cli_check_print(const struct cli_check *check)
{
    const struct sim_verdict *verdict = &check->verdict;
    printf("Check      %s, against the oracle in double\n", verdict->pass ? "right" : "WRONG");
    print_problem(check);
    print_taken(check);
    print_assumptions(check);
    print_nonfinite(check);
    print_table(verdict);
    if (verdict->pass)
        return;
    printf("\nLooks like %s, in %s: %s\nWhere      %s\n", sim_fault_name(verdict->fault),
           sim_output_name(verdict->culprit), verdict->look, verdict->where);
    print_rest(verdict);
    for (int i = 0; i < check->n_hints; i++)
        printf("%s%s\n", i ? "           " : "Hint       ", check->hint[i]);
    print_map(check);
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
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

/* By the input's name; empty where all are finite. */
static json_t *nonfinite_json(const struct cli_check *check)
{
    struct cli_nonfinite found[CLI_INPUTS];
    int n = check->verdict.nonfinite_inputs > 0 ? cli_check_nonfinite(check, found) : 0;
    json_t *object = json_object();
    for (int i = 0; i < n; i++) {
        json_t *one = json_pack("{s:I,s:I,s:[I,I,I,I]}", "nonfinite", (json_int_t)found[i].n, "of",
                                (json_int_t)found[i].of, "first", (json_int_t)found[i].first[0],
                                (json_int_t)found[i].first[1], (json_int_t)found[i].first[2],
                                (json_int_t)found[i].first[3]);
        if (json_object_set_new(object, found[i].name, one) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

/* null if nothing else is off. */
static json_t *rest_json(const struct sim_fault_rest *rest)
{
    if (rest->parts == 0)
        return json_null();
    return json_pack("{s:I,s:I,s:{s:I,s:I,s:I,s:I}}", "elements", (json_int_t)rest->elements,
                     "parts", (json_int_t)rest->parts, "first", "batch", (json_int_t)rest->first[0],
                     "head", (json_int_t)rest->first[1], "row", (json_int_t)rest->first[2],
                     "column", (json_int_t)rest->first[3]);
}

static json_t *output_json(const struct cli_check *check, int which)
{
    const struct sim_judged *judged = &check->verdict.output[which];
    json_t *worst = json_null();
    if (!judged->given)
        return json_null();
    if (judged->worst[2] >= 0)
        worst = json_pack("{s:I,s:I,s:I,s:I,s:o,s:o}", "batch", (json_int_t)judged->worst[0],
                          "head", (json_int_t)judged->worst[1], "row", (json_int_t)judged->worst[2],
                          "column", (json_int_t)judged->worst[3], "theirs", real(judged->theirs),
                          "right", real(judged->right));
    return json_pack("{s:s,s:I,s:o,s:o,s:o,s:o,s:I,s:I,s:I,s:o,s:b}", "stored",
                     check->stored[which], "compared", (json_int_t)judged->compared.n, "budget",
                     real(judged->budget), "part", part_json(&judged->part), "max_abs_error",
                     real(judged->compared.max_abs_error), "rms_error",
                     real(fa_comparison_rms(&judged->compared)), "nonfinite",
                     (json_int_t)judged->compared.mismatches, "beyond", (json_int_t)judged->beyond,
                     "right_nonfinite", (json_int_t)judged->compared.nonfinite_expected, "worst",
                     worst, "pass", (int)judged->pass);
}

static json_t *problem_json(const struct fa_problem *p)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:s,s:s}", "batch", (json_int_t)p->batch,
                     "heads", (json_int_t)p->heads, "kv_heads", (json_int_t)p->kv_heads, "nq",
                     (json_int_t)p->nq, "nk", (json_int_t)p->nk, "d", (json_int_t)p->d, "dv",
                     (json_int_t)p->dv, "scale", p->scale, "causal", fa_causal_name(p->causal),
                     "dtype", fa_dtype_name(p->dtype));
}

static json_t *taken_json(const struct cli_check *check)
{
    json_t *array = json_array();
    for (int i = 0; i < CLI_TAKEN; i++) {
        char file[32];
        snprintf(file, sizeof file, "%s.npy", cli_taken_files[i]);
        if (check->taken[i][0] && json_array_append_new(array, json_string(file)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *hints_json(const struct cli_check *check)
{
    json_t *array = json_array();
    for (int i = 0; i < check->n_hints; i++)
        if (json_array_append_new(array, json_string(check->hint[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

enum fa_status cli_check_print_json(const struct cli_check *check, struct fa_error *error)
{
    const struct sim_verdict *verdict = &check->verdict;
    json_t *object = json_object(), *outputs = json_object();
    bool whole = true, wrong = !verdict->pass;
    for (int i = 0; i < SIM_OUTPUTS; i++)
        whole = put(outputs, cli_output_files[i], output_json(check, i)) && whole;
    whole =
        put(object, "schema", json_string("flashlab.check/1")) &&
        put(object, "problem", problem_json(&check->inputs.problem)) &&
        put(object, "taken", taken_json(check)) &&
        put(object, "tiles",
            json_pack("{s:I,s:I}", "br", (json_int_t)check->br, "bc", (json_int_t)check->bc)) &&
        put(object, "nonfinite_inputs", json_integer(verdict->nonfinite_inputs)) &&
        put(object, "nonfinite_in", nonfinite_json(check)) &&
        put(object, "sampled", json_boolean(verdict->sampled)) && put(object, "outputs", outputs) &&
        put(object, "pass", json_boolean(verdict->pass)) &&
        put(object, "fault", json_string(sim_fault_name(verdict->fault))) &&
        put(object, "in", wrong ? json_string(cli_output_files[verdict->culprit]) : json_null()) &&
        put(object, "where", wrong ? json_string(verdict->where) : json_null()) &&
        put(object, "looks_like", wrong ? json_string(verdict->look) : json_null()) &&
        put(object, "beside", rest_json(&verdict->rest)) &&
        put(object, "hints", hints_json(check)) &&
        put(object, "provenance",
            json_pack("{s:s,s:s}", "version", FLASHLAB_VERSION, "command", cli_command_line())) &&
        whole;
    if (whole) {
        json_dumpf(object, stdout, JSON_INDENT(2));
        putchar('\n');
    }
    json_decref(object);
    return whole ? FA_OK : fa_fail(error, FA_NO_MEMORY, "no memory for the report");
}
