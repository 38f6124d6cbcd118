/*
 * The right answers of a generated case, from the double oracle on all cores.
 */
#ifndef CLI_SOLVE_CASE_H
#define CLI_SOLVE_CASE_H

#include "simulator/cli/inputs.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Fills inputs->o and lse, and, where dq has data, dq, dk and dv (all f64, any layout) from the
 * other tensors, with a progress bar. Errors: FA_NO_MEMORY, FA_CANCELLED.
 */
enum fa_status cli_case_solve(const struct cli_inputs *inputs, int threads, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
