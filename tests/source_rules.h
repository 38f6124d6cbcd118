/*
 * The rules that the source keeps whatever it computes: who may include whom, how a header looks,
 * which calls are not made.
 */
#ifndef TESTS_SOURCE_RULES_H
#define TESTS_SOURCE_RULES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Checks one file of C by its text. path is relative to the project's root ("reference/port.h").
 * False: `why` holds one sentence on the first rule that is broken.
 *   - A room includes the C library and what its place in the house allows (see source_rules.c), by
 *     paths from the root.
 *   - A header begins with a comment that is its contract, and has an include guard of its name.
 *   - Nothing calls what cannot be called safely, or lets NaN pass; no pragma and no attribute asks
 *     for arithmetic that assumes finite values; no comment leaves work to do.
 */
bool source_rules_check(const char *path, const char *text, char *why, size_t size);

/* The same of a build file: no flag may allow arithmetic that assumes finite values. */
bool source_rules_check_build(const char *path, const char *text, char *why, size_t size);

/* True if the text includes a header of SDL. */
bool source_rules_includes_sdl(const char *text);

#endif
