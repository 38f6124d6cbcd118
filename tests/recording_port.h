/*
 * A port that moves nothing and computes nothing: it writes down, in words, what an algorithm does.
 *
 * The log has one line a verb, led by the loop position ("(0,1)" is query tile 0 and key tile 1,
 * "(0,)" has no key tile), with neighbouring reserves and frees on one line. Parts of matrices are
 * [first row : end row, first column : end column].
 *
 *     (0,)  reserve q 2x1, k 2x1
 *     (0,)  load q[0:2, 0:1]
 *     (0,1) score: s is 2x1
 */
#ifndef TESTS_RECORDING_PORT_H
#define TESTS_RECORDING_PORT_H

#include "reference/algorithm.h"

enum recorded_verb {
    RECORDED_ALLOC,
    RECORDED_FREE,
    RECORDED_LOAD,
    RECORDED_STORE,
    RECORDED_COMPUTE,
    RECORDED_SKIP,
    RECORDED_REVEAL,
};

/* One verb as the algorithm said it, once its effect on the tiles' sizes is done. */
struct recorded {
    enum recorded_verb verb;
    enum fa_tensor_id id;       /* of alloc, free, load, store */
    enum fa_op op;              /* of compute */
    int64_t row, column;        /* of load and store; alloc: its rows and columns */
    int64_t i, i_end, j, j_end; /* of skip */
};

struct recording_port {
    struct fa_port port; /* first: the verbs find the rest from it */
    char *log;           /* ends with a newline; "" before the first verb */
    size_t used, size;
    const char *open; /* the verb of the line that more names may be added to */
    int64_t verbs;    /* so far */
    int64_t fail_at;  /* the verb, counted from 1, at which the port fails; 0: none */
    /* Sees each verb; may be NULL. */
    void (*observe)(void *context, const struct fa_port *port, const struct recorded *recorded);
    void *context;
};

void recording_port_open(struct recording_port *recording, const struct fa_run *run);
void recording_port_close(struct recording_port *recording);

#endif
