/* How fast the visualizer is: a frame, a long trace, the cells of a position, an idle window. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "simulator/cli/bench.h"
#include "simulator/cli/view_runs.h"
#include "visualizer/state.h"

#ifdef FLASHLAB_HAVE_CANVAS
#include "visualizer/canvas.h"

enum { POSITIONS = 24, IDLE_MILLISECONDS = 3000 };

static enum fa_status stopped(struct fa_error *error)
{
    return fa_fail(error, FA_CANCELLED, "stopped before the measurement was done");
}

/* A run of the words, as `flashlab view` makes it. */
static enum fa_status open_words(const char *words, struct view_run **run, struct fa_error *error)
{
    struct cli_view_runs *runs = calloc(1, sizeof *runs);
    struct view_option options[VIEW_MOST_OPTIONS];
    int n;
    if (!runs)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the run");
    enum fa_status status = cli_words_merge(words, &runs->words, error);
    if (status == FA_OK)
        status = cli_view_open(runs, 0, NULL, NULL, run, options, &n, error);
    free(runs);
    return status;
}

/* A state that shows the run and owns it. */
static enum fa_status show(struct view_run *run, const struct view_face *face,
                           struct view_state **state, struct fa_error *error)
{
    static const struct view_host nobody = {0};
    enum fa_status status = view_state_open(&nobody, face, 1280, 720, state, error);
    if (status == FA_OK)
        view_state_show(*state, run, NULL, 0, NULL, NULL, 0);
    else
        view_run_close(run);
    return status;
}

/* The n-th of some places all over a run, in no order. */
static struct view_position place(const struct view_run *run, uint64_t n)
{
    return (struct view_position){(n * UINT64_C(2654435761)) % (view_run_length(run) + 1), 0};
}

/* ---- a frame of 4,096 tiles ------------------------------------------------------------------ */

/* Milliseconds a frame while it plays: the list is made and drawn. */
static enum fa_status time_frames(struct view_state *state, struct view_canvas *canvas,
                                  uint64_t round, double *milliseconds, struct fa_error *error)
{
    enum { FRAMES = 20 };
    const struct view_run *run = view_state_frame(state)->run[0];
    view_state_seek(state, place(run, round + 1));
    view_state_draw(state); /* the values of a new place are another row's */
    view_state_do(state, VIEW_PLAY, 0);
    double begin = bench_clock();
    for (int i = 0; i < FRAMES; i++) {
        view_state_tick(state, 16);
        enum fa_status status = view_canvas_draw(canvas, view_state_draw(state), error);
        if (status != FA_OK)
            return status;
    }
    *milliseconds = 1e3 * (bench_clock() - begin) / FRAMES;
    view_state_do(state, VIEW_PLAY, 0);
    return FA_OK;
}

static enum fa_status bench_frames(struct bench *bench, struct fa_error *error)
{
    double values[BENCH_ROUNDS];
    struct view_run *run = NULL;
    struct view_state *state = NULL;
    struct view_canvas *canvas = NULL;
    enum fa_status status =
        open_words("--n 4096 --d 64 --tiles 64x64 --dtype f16 --machine h100", &run, error);
    if (status == FA_OK)
        status = view_canvas_open(1280, 720, 1, VIEW_FONT_SYSTEM, &canvas, error);
    if (status == FA_OK)
        status = show(run, view_canvas_face(canvas), &state, error);
    for (int round = 0; round < bench->rounds && status == FA_OK; round++) {
        status = time_frames(state, canvas, (uint64_t)round, &values[round], error);
        if (status == FA_OK && !bench_tick(bench))
            status = stopped(error);
    }
    if (status == FA_OK)
        bench_add(bench, "view", "frame while it plays", "1280 x 720, 4096 tiles, software", "ms",
                  values, NULL, NULL);
    view_state_close(state);
    view_canvas_close(canvas);
    return status;
}

/* ---- a trace of a million events ------------------------------------------------------------- */

static enum fa_status make_long_trace(char path[], double *millions, struct fa_error *error)
{
    struct sim_trace *trace = NULL;
    int file = mkstemp(path);
    if (file < 0)
        return fa_fail(error, FA_IO, "%s: no file could be made here: %s", path, strerror(errno));
    close(file);
    enum fa_status status = bench_make_trace(&trace, error);
    if (status == FA_OK)
        status = sim_trace_save(trace, path, error);
    if (status == FA_OK)
        *millions = (double)sim_trace_length(trace) / 1e6;
    sim_trace_free(trace);
    return status;
}

/* From the file to the first frame; then the slowest of some jumps, each with its frame's list. */
static enum fa_status time_long_trace(const char *path, double *open_s, double *seek_ms,
                                      struct fa_error *error)
{
    struct sim_trace *trace;
    struct view_run *run = NULL;
    struct view_state *state = NULL;
    double begin = bench_clock();
    enum fa_status status = sim_trace_load(path, &trace, error);
    if (status == FA_OK)
        status = view_run_adopt(trace, NULL, "It was counted only.", &run, error);
    if (status == FA_OK)
        status = show(run, &view_builtin_face, &state, error);
    if (status != FA_OK)
        return status;
    view_state_draw(state);
    *open_s = bench_clock() - begin;
    *seek_ms = 0;
    for (uint64_t n = 0; n < POSITIONS; n++) {
        begin = bench_clock();
        view_state_seek(state, place(view_state_frame(state)->run[0], n));
        view_state_draw(state);
        double ms = 1e3 * (bench_clock() - begin);
        *seek_ms = ms > *seek_ms ? ms : *seek_ms;
    }
    view_state_close(state);
    return FA_OK;
}

static enum fa_status bench_long_trace(struct bench *bench, struct fa_error *error)
{
    char path[] = "flashlab-bench-XXXXXX", setting[64];
    double opened[BENCH_ROUNDS], sought[BENCH_ROUNDS], millions = 0;
    enum fa_status status = make_long_trace(path, &millions, error);
    for (int round = 0; round < bench->rounds && status == FA_OK; round++) {
        status = time_long_trace(path, &opened[round], &sought[round], error);
        if (status == FA_OK && !bench_tick(bench))
            status = stopped(error);
    }
    unlink(path);
    snprintf(setting, sizeof setting, "%.2f million events", millions);
    if (status == FA_OK) {
        bench_add(bench, "view", "open a trace", setting, "s", opened, NULL, NULL);
        bench_add(bench, "view", "slowest of 24 seeks", setting, "ms", sought, NULL, NULL);
    }
    return status;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static enum fa_status bench_cells(struct bench *bench, const char *words, const char *setting,
                                  struct fa_error *error)
{
    double values[BENCH_ROUNDS];
    struct view_run *run = NULL;
    enum fa_status status = open_words(words, &run, error);
    for (int round = 0; round < bench->rounds && status == FA_OK; round++) {
        values[round] = 0;
        for (uint64_t n = 0; n < POSITIONS; n++) {
            double begin = bench_clock();
            if (!view_run_values(run, place(run, n * 31 + (uint64_t)round).landed))
                status = fa_fail(error, FA_NO_MEMORY, "no memory for the cells");
            double ms = 1e3 * (bench_clock() - begin);
            values[round] = ms > values[round] ? ms : values[round];
        }
        if (status == FA_OK && !bench_tick(bench))
            status = stopped(error);
    }
    if (status == FA_OK)
        bench_add(bench, "view", "slowest cells of 24", setting, "ms", values, NULL, NULL);
    view_run_close(run);
    return status;
}

/* ---- an idle window -------------------------------------------------------------------------- */

static enum fa_status start_idle(void *context, const struct view_face *face, float width,
                                 float height, struct view_state **state, struct fa_error *error)
{
    static const struct view_host nobody = {0};
    struct view_run *run = NULL;
    (void)context;
    enum fa_status status =
        open_words("--n 16 --d 4 --tiles 4x4 --sram 512 --profile tidy", &run, error);
    if (status == FA_OK)
        status = view_state_open(&nobody, face, width, height, state, error);
    if (status == FA_OK)
        view_state_show(*state, run, NULL, 0, NULL, NULL, 0);
    return status;
}

static double cpu_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static enum fa_status window_cpu(long milliseconds, double *seconds, struct fa_error *error)
{
    const struct view_window_options options = {
        .title = "FlashLab", .font_scale = 1, .start = start_idle,
        .most_milliseconds = milliseconds,
    };
    double begin = cpu_seconds();
    enum fa_status status = view_window_run(&options, error);
    *seconds = cpu_seconds() - begin;
    return status;
}

/* What the second part of a window's life costs: opening it is not idling. */
static enum fa_status bench_idle(struct bench *bench, struct fa_error *error)
{
    double values[BENCH_ROUNDS], once, longer;
    const char *why = "";
    if (!view_window_possible(&why)) {
        fprintf(stderr, "flashlab bench: the idle window is left out: %s\n", why);
        bench->done += bench->rounds;
        return FA_OK;
    }
    for (int round = 0; round < bench->rounds; round++) {
        enum fa_status status = window_cpu(500, &once, error);
        if (status == FA_OK)
            status = window_cpu(500 + IDLE_MILLISECONDS, &longer, error);
        if (status == FA_OK && !bench_tick(bench))
            status = stopped(error);
        if (status != FA_OK)
            return status;
        values[round] = 100 * (longer - once) / (1e-3 * IDLE_MILLISECONDS);
    }
    bench_add(bench, "view", "idle window", "3 s of it", "% of a core", values, NULL, NULL);
    return FA_OK;
}

enum fa_status bench_view(struct bench *bench, struct fa_error *error)
{
    enum fa_status status = bench_frames(bench, error);
    if (status == FA_OK)
        status = bench_long_trace(bench, error);
    if (status == FA_OK)
        status = bench_cells(bench, "--n 1024 --d 64 --tiles 64x64 --profile gauss",
                             "N 1024, d 64, forward", error);
    if (status == FA_OK)
        status = bench_cells(bench, "--n 1024 --d 64 --tiles 64x64 --profile gauss --pass backward",
                             "N 1024, d 64, backward", error);
    if (status == FA_OK)
        status = bench_cells(
            bench, "--n 1024 --d 64 --tiles 64x64 --profile gauss --algorithm standard",
            "N 1024, d 64, standard", error);
    if (status == FA_OK)
        status = bench_idle(bench, error);
    return status;
}

#else

enum fa_status bench_view(struct bench *bench, struct fa_error *error)
{
    (void)error;
    fprintf(stderr, "flashlab bench: this build has no SDL2, so nothing is drawn and nothing "
                    "measured of the visualizer\n");
    bench->done += bench_view_runs(bench);
    return FA_OK;
}

#endif

double bench_view_runs(const struct bench *bench)
{
    return 6.0 * bench->rounds;
}
