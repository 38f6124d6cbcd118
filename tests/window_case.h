/*
 * A real window, on a display of its own (Xvfb), with a hand of its own (xdotool): what is seen is
 * the window's title, which names what is shown. Each fails the test where it is not so.
 */
#ifndef WINDOW_CASE_H
#define WINDOW_CASE_H

#include <stdbool.h>

#include "visualizer/draw.h"

enum { WINDOW_SKIPPED = 77 };

/* Whether windows can be tested; else why not is printed. */
bool window_possible(void);

/* Of a group of tests: the display; and the test's folder goes at the end. */
int window_server_start(void **unused);
int window_server_stop(void **unused);

/* Opens `flashlab view` with the built-in face and the words (NULL ends them), and waits for the
 * title to contain the text. */
void window_open(const char *const *words, const char *title);

/* A test that failed leaves no window to the next one: its teardown. */
int window_close(void **unused);

/* What xdotool does of the words; a click into the middle of a box of the picture. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void window_act(const char *format, ...);
void window_click(struct view_box box);
const char *window_name(void); /* as xdotool calls it */

/* Waits until the title contains the text. */
void window_expect_title(const char *text);
void window_nap(void);

void window_signal(int which);

/* Waits for the window's program; its exit status, -1 if it does not end, -2 if it was killed. */
int window_wait_for_end(void);

#endif
