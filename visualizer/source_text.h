/*
 * The C text of the algorithms as it was compiled: embedded at build time, so that the Code panel
 * shows the lines that ran, wherever the program is started from.
 */
#ifndef VIEW_SOURCE_TEXT_H
#define VIEW_SOURCE_TEXT_H

#ifdef __cplusplus
extern "C" {
#endif

struct view_source_text {
    const char *file; /* "reference/flash2.c" */
    int n_lines;
    const char *const *lines; /* without ends of lines; line n is lines[n - 1] */
};

/* NULL if that file was not embedded. */
const struct view_source_text *view_source_find(const char *file);

#ifdef __cplusplus
}
#endif
#endif
