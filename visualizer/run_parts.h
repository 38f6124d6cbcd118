/*
 * What the files of a run share: run.c, history.c, units.c, track.c, survey.c, snapshot.c,
 * values.c, checks.c, errors.c, error_stages.c, rows.c and turns.c, and no others.
 */
#ifndef VIEW_RUN_PARTS_H
#define VIEW_RUN_PARTS_H

#include "visualizer/run.h"

#ifdef __cplusplus
extern "C" {
#endif

struct view_history; /* events by tile: history.c */
struct view_units;   /* outer iterations: units.c */
struct view_sums;    /* bytes along the trace: track.c */
struct view_survey;  /* what the run itself showed as it went by: survey.c */
struct view_replays; /* the run again, up to a position: values.c */
struct view_audit;   /* what it should have shown: checks.c */
struct view_errors;  /* of its results: errors.c */
struct view_rows;    /* rows.c */
struct view_dealt;   /* bits in turn: turns.c */
struct view_stage_errors; /* error_stages.c */

/* The state that was asked for last, from which the next one is often a few events away. */
struct view_state_cache {
    bool filled;
    uint64_t landed;
    struct sim_state state;
};

struct view_run {
    struct sim_trace *trace;
    struct view_source source;
    struct sim_result result; /* where finished */
    bool has_source, finished, refused, backward;
    char refusal[1024];
    char no_values[1088]; /* "": there are */
    struct fa_run shape;  /* problem and tiles alone: what visibility.h asks for */
    int64_t tr, tc, heads;
    uint32_t in_hbm, written; /* FA_BITs: tensors in HBM, and those that the pass stores */
    struct view_state_cache *state;
    struct view_clock_index *clock;
    struct view_history *history;
    struct view_units *units;
    struct view_sums *sums;
    struct view_survey *survey; /* NULL without values */
    struct view_replays *replays; /* made at the first look; NULL before, and without values */
    struct view_errors *errors;
    struct view_rows *rows; /* made at the first look */
    struct view_dealt *dealt; /* made at the first look */
    struct view_stage_errors *stage_errors; /* made at the first look */
};

static inline int64_t view_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The first of n ascending numbers that is not below `value`. */
static inline size_t view_lower_bound(const uint32_t *numbers, size_t n, uint64_t value)
{
    size_t first = 0;
    while (n > 0) {
        size_t half = n / 2;
        if (numbers[first + half] < value) {
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return first;
}

/* FA_BITs of the tensors in HBM that a pass stores to. */
uint32_t view_run_written_set(const struct sim_trace_header *header);

/* The query head whose name the tensor's tiles go by: of K, V, dK and dV the first of the group. */
int64_t view_run_tile_head(const struct view_run *run, enum fa_tensor_id id, int64_t head);

/* ---- history.c --------------------------------------------------------------------------- */

enum fa_status view_history_make(const struct view_run *run, struct view_history **history,
                                 struct fa_error *error);
void view_history_free(struct view_history *history);

/* Whether one of the first `landed` events stored that element. */
bool view_history_stored(const struct view_run *run, enum fa_tensor_id id, int64_t head,
                         int64_t row, int64_t column, uint64_t landed);

/* ---- units.c ----------------------------------------------------------------------------- */

enum fa_status view_units_make(const struct view_run *run, struct view_units **units,
                               struct fa_error *error);
void view_units_free(struct view_units *units);

/* ---- track.c ----------------------------------------------------------------------------- */

enum fa_status view_sums_make(const struct view_run *run, struct view_sums **sums,
                              struct fa_error *error);
void view_sums_free(struct view_sums *sums);

/* ---- snapshot.c: all that a run holds at a position -------------------------------------- */

/* A tensor's elements, row-major; what all heads share once. */
struct view_copy {
    enum fa_dtype dtype;
    int64_t batches, heads, rows, columns; /* as they are stored */
    bool shared; /* all heads had it, one after the other */
    void *data; /* NULL: not in the snapshot */
};

struct view_snapshot {
    uint64_t position;
    struct fa_tile tile[FA_TENSORS]; /* cells in the snapshot's memory */
    int8_t owner[FA_TENSORS];        /* of a second name the tile whose cells it shows; else -1 */
    struct view_copy hbm[FA_HBM_TENSORS];
    void *memory;
    size_t bytes;
};

/* Copies the live tiles and the tensors of the set (FA_BITs), into the snapshot's memory if that
 * is large enough: it is zeroed, or was taken before. False: no memory, and no snapshot. */
bool view_snapshot_take(struct view_snapshot *snapshot, const struct sim_memory *memory,
                        uint32_t set);
size_t view_snapshot_bytes(const struct sim_memory *memory, uint32_t set);
/* Brings a memory that did the same events without data to the same contents. */
void view_snapshot_give(const struct view_snapshot *snapshot, struct sim_memory *memory);
void view_snapshot_free(struct view_snapshot *snapshot);

/* ---- survey.c ---------------------------------------------------------------------------- */

struct view_survey *view_survey_make(void); /* NULL: no memory */
void view_survey_free(struct view_survey *survey);

/* An `after` of a traced run: looks at what each event has done. */
void view_survey_step(void *survey, struct sim_memory *memory);

/* Events at which the maximum of a row rose, ascending; the first tile's do not count. */
const uint32_t *view_survey_rescales(const struct view_survey *survey, size_t *n);
const struct view_audit *view_survey_audit(const struct view_survey *survey); /* NULL: none */

/* The last snapshot at or before the position; NULL: none. */
const struct view_snapshot *view_survey_before(const struct view_survey *survey,
                                               uint64_t position);

/* ---- values.c ---------------------------------------------------------------------------- */

/* Runs all events again with `after` called after each. False: no values. */
bool view_replays_watch(struct view_run *run,
                        void (*after)(void *context, struct sim_memory *memory), void *context);
void view_replays_free(struct view_replays *replays);

/* ---- checks.c, errors.c ------------------------------------------------------------------ */

/* Of a pass on the run, which outlives the steps. NULL: no memory. */
struct view_audit *view_audit_make(const struct fa_algorithm *algorithm, const struct fa_run *run);
void view_audit_free(struct view_audit *audit);
/* Judges what event `index` has left on chip. */
void view_audit_step(struct view_audit *audit, const struct sim_memory *memory,
                     const struct sim_event *event, uint64_t index);
/* The event found a row's maximum lower than it was. */
void view_audit_fall(struct view_audit *audit, const struct sim_event *event, uint64_t index,
                     int64_t row, double before, double after);
/* |O - softmax so far| by tile of head 0, NaN where nothing was; NULL: none. */
const double *view_audit_tiles(const struct view_audit *audit);

void view_errors_free(struct view_errors *errors);

/* ---- rows.c ------------------------------------------------------------------------------ */

void view_rows_free(struct view_rows *rows);

/* ---- error_stages.c ---------------------------------------------------------------------- */

void view_stage_errors_free(struct view_stage_errors *errors);

/* ---- turns.c ----------------------------------------------------------------------------- */

void view_dealt_free(struct view_dealt *dealt);

#ifdef __cplusplus
}
#endif
#endif
