/* Runs that an expression asks about: each is counted once an evaluation. */
#include <stdlib.h>
#include <string.h>

#include "lessons/expression.h"

enum fa_status lesson_count(const struct sim_experiment *experiment, struct sim_result *result,
                            bool *refused, struct fa_error *error)
{
    struct sim_experiment counted = *experiment;
    struct sim_result made;
    memset(&made, 0, sizeof made);
    counted.mode = SIM_COUNT_ONLY;
    enum fa_status status = sim_experiment_run(&counted, &made, error);
    bool no = status == FA_DOES_NOT_FIT;
    if (no) {
        memset(&made, 0, sizeof made);
        made.algorithm = counted.algorithm;
        made.pass = counted.pass;
        made.problem = counted.problem;
        made.policy = counted.tiles.policy;
        made.machine = counted.machine;
        status = sim_experiment_tiles(&counted, &made.tiles, error);
        if (status == FA_DOES_NOT_FIT) { /* not even the least tile */
            made.tiles = (struct fa_tiles){1, 1, 1, 1};
            status = FA_OK;
        }
    }
    if (status != FA_OK)
        return status;
    *result = made;
    *refused = no;
    return FA_OK;
}

/* What the result's pass needs on chip. */
static uint64_t needed_bytes(const struct sim_result *result)
{
    const struct fa_algorithm *forward = result->algorithm, *backward = forward->backward;
    uint64_t a = 0, b = 0;
    if (result->pass != SIM_BACKWARD)
        a = sim_live_bytes(forward, &result->problem, &result->tiles);
    if (result->pass != SIM_FORWARD && backward)
        b = sim_live_bytes(backward, &result->problem, &result->tiles);
    return a > b ? a : b;
}

static int64_t largest_square(const struct sim_result *result)
{
    const struct sim_tile_choice square = {SIM_TILES_SQUARE, 0, 0};
    const struct sim_experiment experiment = {.algorithm = result->algorithm,
                                              .pass = result->pass,
                                              .problem = result->problem,
                                              .machine = result->machine,
                                              .tiles = square};
    struct fa_tiles tiles;
    return sim_experiment_tiles(&experiment, &tiles, NULL) == FA_OK ? tiles.br : 0;
}

enum fa_status lesson_counts_get(struct lesson_evaluation *evaluation, const char *words,
                                 const struct lesson_counts **counts)
{
    for (int i = 0; i < evaluation->n_counts; i++) {
        *counts = evaluation->counts[i];
        if (strcmp((*counts)->words, words) == 0)
            return FA_OK;
    }
    if (strlen(words) >= LESSON_WORDS)
        return fa_fail(evaluation->error, FA_TOO_LARGE, "options of %zu bytes: expected at most %d",
                       strlen(words), LESSON_WORDS - 1);
    struct lesson_counts *made = calloc(1, sizeof *made);
    if (!made)
        return fa_fail(evaluation->error, FA_NO_MEMORY, "no memory for a run's counts");
    enum fa_status status = evaluation->runner->count(
        evaluation->runner->context, words, &made->result, &made->refused, evaluation->error);
    if (status != FA_OK) {
        free(made);
        return status;
    }
    struct fa_problem *problem = &made->result.problem;
    memcpy(made->words, words, strlen(words) + 1);
    made->needs = needed_bytes(&made->result);
    made->largest_square = largest_square(&made->result);
    made->masked = problem->mask || problem->bias || problem->dropout_keep || problem->blocks;
    problem->mask = problem->bias = problem->dropout_keep = NULL;
    problem->blocks = NULL;
    if (evaluation->n_counts < LESSON_COUNTS) {
        evaluation->counts[evaluation->n_counts++] = made;
    } else {
        free(evaluation->counts[evaluation->next]);
        evaluation->counts[evaluation->next] = made;
        evaluation->next = (evaluation->next + 1) % LESSON_COUNTS;
    }
    *counts = made;
    return FA_OK;
}
