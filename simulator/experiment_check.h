/* What an experiment must hold before it is planned, and before it is run. */
#ifndef SIM_EXPERIMENT_CHECK_H
#define SIM_EXPERIMENT_CHECK_H

#include "simulator/experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Algorithm, pass and tiles. Errors: FA_BAD_ARGUMENT. */
enum fa_status sim_experiment_check_plan(const struct sim_experiment *experiment,
                                         struct fa_error *error);

/* Mode and threads, and the tensors that the mode and the pass need. Errors: FA_BAD_ARGUMENT. */
enum fa_status sim_experiment_check_run(const struct sim_experiment *experiment,
                                        struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
