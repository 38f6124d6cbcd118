/*
 * What every library call of FlashLab returns, and the sentence that goes with a refusal.
 *
 * The libraries never print and never exit: a call that fails returns a status other than FA_OK,
 * fills the caller's struct fa_error when one was given, and leaves its outputs untouched.
 */
#ifndef FA_STATUS_H
#define FA_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum fa_status {
    FA_OK = 0,
    FA_BAD_ARGUMENT, /* a value outside its domain, or two that contradict each other */
    FA_BAD_FILE,     /* a file that was read, and whose content is not what was expected */
    FA_IO,           /* a file that could not be opened, read, written or renamed */
    FA_NO_MEMORY,    /* the host refused memory */
    FA_DOES_NOT_FIT, /* a tile that the on-chip memory cannot hold */
    FA_TOO_LARGE,    /* a size or a count past what its integer can hold */
    FA_UNSUPPORTED,  /* a combination that is not implemented: refused, never computed wrong */
    FA_MISSING_PART, /* an optional part (CUDA, SDL2, gnuplot, OpenBLAS) is not here */
    FA_CANCELLED,    /* the user stopped the work */
    FA_STATUS_COUNT
};

/* One line without a final newline: what, where, what was expected, what to do. */
struct fa_error {
    enum fa_status status;
    char text[1024];
};

/* The status's name as JSON and scripts see it ("bad_argument", ...); "unknown" past the last. */
const char *fa_status_name(enum fa_status status);

/*
 * Fills *error (may be NULL) with status and the formatted text, cut to its size, and returns
 * status, so that a refusal is one statement: return fa_fail(error, FA_IO, "%s: ...", path).
 */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
enum fa_status
fa_fail(struct fa_error *error, enum fa_status status, const char *format, ...);

#ifdef __cplusplus
}
#endif
#endif
