/*
 * The values of a trace's header that are more than one number or text, as JSON.
 */
#ifndef SIM_TRACE_HEADER_VALUES_H
#define SIM_TRACE_HEADER_VALUES_H

#include "simulator/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct json_t; /* of <jansson.h> */

/* A number up to 2^64 - 1. JSON's integers end at 2^63 - 1: what is greater is a text of digits. */
struct json_t *sim_unsigned_write(uint64_t value); /* NULL: no memory, as of all that write */
bool sim_unsigned_read(const struct json_t *value, uint64_t *number);

/* null, or [left, right], -1 for no bound. */
struct json_t *sim_window_write(const struct fa_problem *problem);
bool sim_window_read(const struct json_t *value, struct fa_problem *problem);

/* null, or {"p", "seed", "mask"}: the probability, the seed, and whether a keep mask was given in
 * place of the seed's bits. Reading sets the problem's dropout and has_keep; false: neither. */
struct json_t *sim_dropout_write(const struct sim_trace_header *header);
bool sim_dropout_read(const struct json_t *value, struct sim_trace_header *header);

enum { SIM_EXPECTED = 192 };

/*
 * null, or {"br", "bc", "visit"}: a text of a 0 or 1 for each block, for each row of blocks.
 * Reading makes the problem's block mask, which sim_blocks_free frees. Needs the problem's nq and
 * nk.
 * Errors: FA_BAD_FILE, expected[] says what should stand there; FA_NO_MEMORY.
 */
struct json_t *sim_blocks_write(const struct fa_problem *problem);
enum fa_status sim_blocks_read(const struct json_t *value, struct fa_problem *problem,
                               char expected[SIM_EXPECTED]);
void sim_blocks_free(struct fa_problem *problem);

#ifdef __cplusplus
}
#endif
#endif
