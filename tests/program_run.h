/*
 * Runs the program `flashlab` and keeps what it printed, for tests of the command line.
 */
#ifndef PROGRAM_RUN_H
#define PROGRAM_RUN_H

#include <stddef.h>

struct program_run {
    int status; /* exit status; -1 if it did not exit by itself */
    char *out;  /* standard output and error, each ended by a zero */
    char *err;
};

/* From now on another program is run, as FLASHLAB_SHIM_PROGRAM (the same with the kernels on the
 * CPU; "" where there is none). NULL: FLASHLAB_PROGRAM again. */
void program_use(const char *path);

/* Runs FLASHLAB_PROGRAM with the arguments (NULL ends them), standard input empty. Fails the test
 * if it can't be started. Free with program_run_free. */
struct program_run program_run(const char *argument, ...);

/* The same with an argv whose first element is left to this function, and with standard output
 * sent to the path where one is given (run.out is "" then). */
struct program_run program_run_argv(char *const *argv, const char *stdout_path);

void program_run_free(struct program_run *run);

/* A fresh folder for the test's files, made once; program_folder_remove, which may stand as a
 * teardown, deletes it. */
const char *program_folder(void);
int program_folder_remove(void **state);

/* folder/name, in one of a few buffers that are used in turn. */
const char *program_path(const char *name);

/* The whole file with a zero after it, or NULL; *n_bytes may be NULL. */
char *program_read_file(const char *path, size_t *n_bytes);

#endif
