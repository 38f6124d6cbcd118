/*
 * What `count` and `run` share: the experiments that the options ask for, one an algorithm, and
 * their report on standard output.
 */
#ifndef CLI_EXPERIMENTS_H
#define CLI_EXPERIMENTS_H

#include "simulator/cli/problem_options.h"
#include "simulator/experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs, writes what --out and --trace ask for, checks (not in SIM_COUNT_ONLY), prints. Returns the
 * exit status. */
int cli_experiments_run(const struct cli_problem *options, enum sim_mode mode);

#ifdef __cplusplus
}
#endif
#endif
