/*
 * From an option's text to the field that it sets. Part of options.c.
 */
#ifndef CLI_OPTION_VALUES_H
#define CLI_OPTION_VALUES_H

#include "simulator/cli/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the option's field of the command's struct, of which `options` is the first member; text is
 * NULL for a flag, or where an optional value was left out. The error begins with the option. */
enum fa_status cli_option_set(const struct cli_option *option, struct cli_options *options,
                              const char *text, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
