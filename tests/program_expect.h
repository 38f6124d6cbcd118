/*
 * What tests of the command line ask of a run of the program; each fails the test where it is not
 * so. A line is split at blanks, and a word "@name" in it stands for that path in the test's folder.
 */
#ifndef PROGRAM_EXPECT_H
#define PROGRAM_EXPECT_H

#include <jansson.h>

#include "tests/program_run.h"

struct program_run program_run_line(const char *line);

/* Exit status 0, and nothing on standard error. */
void program_run_fine(const char *line);

/* The one JSON value on standard output of a line with --format json; json_decref it. */
json_t *program_run_json(const char *line, int status);

/* Refused with exit status 2, in text and with --format json; "@" in text is the test's folder. */
struct program_refusal {
    const char *line, *code, *text;
};

void program_expect_refusal(const struct program_refusal *refusal);

/* The words are in the text, which may be NULL and fails then. */
void text_expect(const char *text, const char *words);
int text_count_lines(const char *text);

/* The value at a path such as "hbm.read.elements". */
const json_t *json_at(const json_t *value, const char *path);
void json_expect_integer(const json_t *value, const char *path, json_int_t expected);

/* The objects of flashlab.result/1: the whole (without check), and check. json_decref them. */
json_t *json_result_schema(void);
json_t *json_check_schema(void);

/* The value has the schema's keys, in its order, with values of its types. */
void json_expect_schema(const json_t *value, const json_t *types);

#endif
