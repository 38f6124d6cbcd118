/* What reports in words and in JSON share. */
#include "simulator/report.h"

bool sim_report_passed(const struct sim_report *report)
{
    bool backward = report->result.pass != SIM_FORWARD;
    return !report->checked || (report->check.pass && (!backward || report->gradients.pass));
}

const enum fa_tensor_id *sim_report_tensors(const struct sim_result *result, int *n)
{
    /* The forward pass has the first of them; dropout stands after whatever the pass has. */
    static const enum fa_tensor_id forward[] = {
        FA_Q, FA_K, FA_V, FA_O, FA_LSE, FA_L, FA_M, FA_S, FA_P, FA_MASK, FA_BIAS, FA_DROPOUT,
    };
    static const enum fa_tensor_id backward[] = {
        FA_Q,    FA_K,  FA_V,  FA_O,  FA_LSE, FA_L,  FA_M,  FA_S,     FA_P,       FA_MASK,
        FA_BIAS, FA_DO, FA_DQ, FA_DK, FA_DV,  FA_DP, FA_DS, FA_DELTA, FA_DROPOUT,
    };
    bool forward_only = result->pass == SIM_FORWARD;
    int all = forward_only ? (int)(sizeof forward / sizeof *forward)
                           : (int)(sizeof backward / sizeof *backward);
    *n = result->problem.dropout_p > 0 ? all : all - 1;
    return forward_only ? forward : backward;
}
