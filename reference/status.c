#include "reference/status.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const status_names[FA_STATUS_COUNT] = {
    [FA_OK] = "ok",
    [FA_BAD_ARGUMENT] = "bad_argument",
    [FA_BAD_FILE] = "bad_file",
    [FA_IO] = "io",
    [FA_NO_MEMORY] = "no_memory",
    [FA_DOES_NOT_FIT] = "does_not_fit",
    [FA_TOO_LARGE] = "too_large",
    [FA_UNSUPPORTED] = "unsupported",
    [FA_MISSING_PART] = "missing_part",
    [FA_CANCELLED] = "cancelled",
};

const char *fa_status_name(enum fa_status status)
{
    if ((unsigned)status >= FA_STATUS_COUNT)
        return "unknown";
    return status_names[status];
}

enum fa_status fa_fail(struct fa_error *error, enum fa_status status, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        error->status = status;
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}
