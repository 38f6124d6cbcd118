/* Of wrong outputs: which option, given otherwise, makes them right, or seems to be missing. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "simulator/cli/check_theirs.h"
#include "simulator/cli/progress.h"

enum { FEWEST_VALUES = 16 };

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
hint(struct cli_check *check, const char *format, ...)
{
    va_list arguments;
    if (check->n_hints == CLI_HINTS)
        return;
    va_start(arguments, format);
    vsnprintf(check->hint[check->n_hints++], CLI_HINT_TEXT, format, arguments);
    va_end(arguments);
}

/* Whether O, and LSE where there is one, are right in the other layout; false where the files can't
 * be read so. */
static enum fa_status try_layout(const struct cli_check *check, bool *right, struct fa_error *error)
{
    struct cli_check other = {.problem = check->problem};
    struct sim_check made = {.pass = false};
    struct cli_progress progress;
    const struct cli_inputs *inputs = &other.inputs;
    other.problem.layout = check->problem.layout == CLI_BSHD ? CLI_BHSD : CLI_BSHD;
    other.problem.pass = SIM_FORWARD;
    *right = false;
    /* Options and masks that fit one layout alone speak for it. */
    if (cli_inputs_open(&other.inputs, &other.problem, CLI_NEED_INPUTS, NULL) != FA_OK)
        return FA_OK;
    enum fa_status status = FA_OK;
    if (cli_inputs_block(&other.inputs, &other.problem, check->br, check->bc, NULL) == FA_OK &&
        cli_check_read(&other, NULL) == FA_OK) {
        cli_progress_start(&progress, "checking the other layout");
        status = sim_check_forward(&inputs->problem, &inputs->q, &inputs->k, &inputs->v,
                                   &other.output[SIM_OUT_O], &other.output[SIM_OUT_LSE],
                                   SIM_CHECK_SAMPLE, 1, cli_thread_count(&check->problem),
                                   &progress.watch, &made, error);
        cli_progress_end(&progress);
        *right = status == FA_OK && made.pass;
    }
    cli_check_free(&other);
    return status;
}

static enum fa_status look_at_layout(struct cli_check *check, struct fa_error *error)
{
    const struct fa_problem *p = &check->inputs.problem;
    struct sim_verdict *verdict = &check->verdict;
    bool bshd = check->problem.layout == CLI_BSHD, right = false;
    if (verdict->output[SIM_OUT_O].pass || check->inputs.rank < 3)
        return FA_OK;
    enum fa_status status = try_layout(check, &right, error);
    if (right) {
        verdict->fault = SIM_FAULT_LAYOUT;
        snprintf(verdict->look, sizeof verdict->look,
                 "right with --layout %s: %s right once all files are read so",
                 bshd ? "bhsd" : "bshd",
                 check->output[SIM_OUT_LSE].data ? "O and LSE are" : "O is");
    } else if (!cli_given(&check->problem.base, "layout") && p->heads > p->nq) {
        hint(check, "%" PRId64 " heads of %" PRId64 " rows: is --layout bshd meant?", p->heads,
             p->nq);
    }
    return status;
}

/* Whether all numbers of a tensor are those of a format, and there are enough to tell. */
static bool holds_only(const struct fa_tensor *tensor, enum fa_dtype dtype)
{
    const double *values = tensor->data;
    int64_t n = tensor->shape[0] * tensor->shape[1] * tensor->shape[2] * tensor->shape[3], told = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = values[i];
        if (!isfinite(x) || x == 0)
            continue;
        if ((dtype == FA_BF16 ? (double)fa_f32_from_bf16(fa_bf16_from_f64(x))
                              : (double)fa_f32_from_f16(fa_f16_from_f64(x))) != x)
            return false;
        told++;
    }
    return told >= FEWEST_VALUES;
}

/* The format of 16 bits that the numbers come from, or F64. Many a bf16 is an f16 too. */
static enum fa_dtype narrow_format(const struct fa_tensor *tensor)
{
    if (holds_only(tensor, FA_BF16))
        return FA_BF16;
    return holds_only(tensor, FA_F16) ? FA_F16 : FA_F64;
}

static void look_at_formats(struct cli_check *check)
{
    const struct sim_judged *judged = check->verdict.output;
    enum fa_dtype dtype = check->inputs.problem.dtype;
    for (int i = 0; i < SIM_OUTPUTS; i++) {
        if (!judged[i].given || judged[i].pass)
            continue;
        enum fa_dtype format = narrow_format(&check->output[i]);
        if (format == FA_F64 || (format == dtype && i != SIM_OUT_LSE))
            continue;
        if (i == SIM_OUT_LSE)
            hint(check,
                 "every value of lse.npy is one of %s: LSE is judged as kept in %s, in any "
                 "dtype; let the kernel write it so",
                 fa_dtype_name(format), dtype == FA_F64 ? "f64" : "f32");
        else
            hint(check, "every value of %s.npy is one of %s: is --dtype %s meant?",
                 cli_output_files[i], fa_dtype_name(format), fa_dtype_name(format));
    }
}

enum fa_status cli_check_hint(struct cli_check *check, struct fa_error *error)
{
    if (check->verdict.pass)
        return FA_OK;
    enum fa_status status = look_at_layout(check, error);
    if (status == FA_OK && check->verdict.fault != SIM_FAULT_LAYOUT)
        look_at_formats(check);
    return status;
}
