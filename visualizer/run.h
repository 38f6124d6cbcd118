/*
 * One executed run as the visualizer reads it: its trace, its tensors, and for any position what
 * had happened by then. Nothing here is drawn by hand or computed from a formula: counts come from
 * the trace, values from running again up to the position.
 *
 * Positions. `landed` events have happened, and the next, of index `landed`, is `flight` of its way
 * (0 to below 1). People count events from 0: "event 46" has landed at landed = 47, and --at 46.5
 * is landed = 47, flight = 0.5.
 */
#ifndef VIEW_RUN_H
#define VIEW_RUN_H

#include "simulator/check.h"
#include "simulator/experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a run is made of. The experiment's tensors and its problem's pointers stay the owner's, who
 * lets go of them when the run is closed. */
struct view_source {
    struct sim_experiment experiment; /* mode SIM_COUNTED, threads 1, one pass, all tensors given */
    void *owner;
    void (*release)(void *owner); /* NULL: nothing to release */
};

struct view_run;

enum { VIEW_MOST_EVENTS = 20000000 }; /* of a run that is watched: 640 MB of trace */

/*
 * Executes the source's experiment with a trace, and looks at it as it goes by: largest values,
 * rising maxima, the checks, snapshots to replay from. A run that the machine refused is one too:
 * it ends with its refuse event. The run owns the source from the call on, also when it fails.
 * Errors: those of sim_experiment_run, FA_DOES_NOT_FIT only where there are no tiles to run with;
 * FA_TOO_LARGE past VIEW_MOST_EVENTS, or with more tiles in all tensors than 2^27.
 */
enum fa_status view_run_open(const struct view_source *source, const struct fa_watch *watch,
                             struct view_run **run, struct fa_error *error);

/*
 * A loaded trace, which the run owns from the call on. With a source (experiment.algorithm not
 * NULL), whose experiment is executed and repeats it event for event, cells have values; else
 * `no_values` (may be NULL) says why they have none.
 */
enum fa_status view_run_adopt(struct sim_trace *trace, const struct view_source *source,
                              const char *no_values, struct view_run **run, struct fa_error *error);
void view_run_close(struct view_run *run);

const struct sim_trace *view_run_trace(const struct view_run *run);
const struct sim_trace_header *view_run_header(const struct view_run *run);
/* What repeats the run, with its machine and inputs; NULL of an adopted trace without a source. */
const struct sim_experiment *view_run_experiment(const struct view_run *run);
uint64_t view_run_length(const struct view_run *run);            /* events */
const struct sim_event *view_run_event(const struct view_run *run, uint64_t index);
bool view_run_refused(const struct view_run *run); /* it ends with SIM_REFUSE */
const char *view_run_refusal(const struct view_run *run); /* the machine's words; NULL: it wasn't */
/* A fused forward pass in one phase whose outer loop is over the queries: flash2's loops. */
bool view_run_queries_outside(const struct fa_algorithm *algorithm);
/* O stays undivided on chip until the last key: flash2's way, and of what shares its loops. */
bool view_run_divides_late(const struct fa_algorithm *algorithm);
bool view_run_backward(const struct view_run *run);
struct fa_tiles view_run_tiles(const struct view_run *run);
int64_t view_run_tr(const struct view_run *run); /* query tiles */
int64_t view_run_tc(const struct view_run *run); /* key tiles */
int64_t view_run_heads(const struct view_run *run); /* heads that its events name, at least 1 */

/* Counters and what lies on chip after `landed` events. */
void view_run_state(const struct view_run *run, uint64_t landed, struct sim_state *state);

/* Sums of time and work along the trace, for clock.c: made by view_clock_index_make
 * (clock_index.h) when the run is opened, and freed with it. */
struct view_clock_index;
const struct view_clock_index *view_run_clock_index(const struct view_run *run);

/* ---- what happened to a tile (history.c) ------------------------------------------------- */

/* A tensor's shape in HBM for one head, rows x columns; 0 x 0 if it has no place there in this
 * run. */
void view_run_shape(const struct view_run *run, enum fa_tensor_id id, int64_t *rows,
                    int64_t *columns);

/* How the tensor is cut into tiles: by br or bc rows, and by bc (S, P, dP, dS, masks, bias) or
 * all its columns. What exists on chip alone (S of flash) is cut too: it is the ghost. */
void view_run_tiling(const struct view_run *run, enum fa_tensor_id id, int64_t *tile_rows,
                     int64_t *tile_columns);

struct view_tile_past {
    uint32_t loads, stores;             /* of the tile so far */
    uint32_t loads_in_all, stores_in_all; /* by the end of the run */
    int64_t rows_stored;  /* rows of it that the latest round of stores, by rows, has written */
    uint64_t last;        /* index of its latest load or store before `landed`; UINT64_MAX: none */
};

/* Tile (row, column) of the head's tensor after `landed` events, in O(log n). Of K, V, dK and dV
 * the tile is its K/V head's: what all query heads of the group did counts. Of O and others that
 * go by parts of their columns (square-tiling) each part counts. */
struct view_tile_past view_run_past(const struct view_run *run, enum fa_tensor_id id, int64_t head,
                                    int64_t row, int64_t column, uint64_t landed);

enum view_score { VIEW_SCORE_AHEAD, VIEW_SCORE_NOW, VIEW_SCORE_DONE, VIEW_SCORE_SKIPPED };

/* Score tile (i, j): ahead, computed and still on chip, used and dropped (or stored), or
 * skipped. `cut` (may be NULL) says whether the mask hides a part of it, and not all, known
 * ahead too. `times` (may be NULL): how often it was computed so far. In `standard` backward,
 * which forms no S, it is the tile of dP. */
enum view_score view_run_score(const struct view_run *run, int64_t head, int64_t i, int64_t j,
                               uint64_t landed, bool *cut, int *times);

/* Whether the structural mask hides all of score tile (i, j): it is bare, also before it is
 * skipped. */
bool view_run_hidden(const struct view_run *run, int64_t i, int64_t j);

/* Outer iterations in order: the unit that event `index` belongs to, 0 .. units. A unit is a
 * maximal run of events with the same head, phase, and outer tile; `title` is short: "set up",
 * "i = 2", "j = 0", "rows 8 to 15". */
struct view_unit {
    uint64_t first, end; /* events */
    int phase;           /* of the algorithm's */
    int64_t head, index; /* the outer tile */
    char title[32];
};

uint64_t view_run_units(const struct view_run *run);
struct view_unit view_run_unit(const struct view_run *run, uint64_t unit);
uint64_t view_run_unit_of(const struct view_run *run, uint64_t index);

/* The position after which tile (I, J) of head 0 was accumulated (--at I,J): landed events.
 * FA_BAD_ARGUMENT if it never is, with what there is. */
enum fa_status view_run_find_tile(const struct view_run *run, int64_t i, int64_t j,
                                  uint64_t *landed, struct fa_error *error);

/* Sums over the events [0, landed), by line of the source and by step: what Code shows. */
uint64_t view_run_line_bytes(const struct view_run *run, int line, uint64_t landed);
uint64_t view_run_step_bytes(const struct view_run *run, int step, uint64_t landed);

/* ---- the track (track.c) ----------------------------------------------------------------- */

/* What the events [first, end) of one column of the track moved and met. */
struct view_track_bin {
    uint64_t read[FA_HBM_TENSORS], write[FA_HBM_TENSORS]; /* bytes */
    bool rescales; /* a row's maximum rose; false without values */
    bool skips, refuses;
};

/* Fills n bins that part the events [first, end) evenly. */
void view_run_track(const struct view_run *run, uint64_t first, uint64_t end,
                    struct view_track_bin *bins, int n);

/* ---- values (values.c) ------------------------------------------------------------------- */

/* NULL if cells have values; else why not, in a sentence. */
const char *view_run_no_values(const struct view_run *run);

/*
 * The cells as they were after `landed` events, by running again up to there; the last few
 * positions are kept. NULL without values or memory. Valid until the next call with other
 * arguments.
 */
struct view_values;
const struct view_values *view_run_values(struct view_run *run, uint64_t landed);

enum view_cell_state {
    VIEW_CELL_NONE,      /* there is no such cell: outside, not on chip, or the run has no values */
    VIEW_CELL_UNWRITTEN, /* reserved, or in HBM, and never written: what it holds is poison */
    VIEW_CELL_VALUE      /* may be NaN or an infinity: that was written */
};

/* Of the tile on chip under that name. A tile that has taken a second name (S that is P by now)
 * answers to that, and to the name that it was reserved under, with the cells that it holds now:
 * sim_resident.holds. */
enum view_cell_state view_values_chip(const struct view_values *values, enum fa_tensor_id id,
                                      int64_t row, int64_t column, double *value);

/* Of the tensor in HBM; of the ghost S: none. What all heads share one after the other (S and P
 * of `standard`) has values for the head that the run is at, and none of heads before it.
 * Whether an element was written is known from the stores, not from its value. */
enum view_cell_state view_values_hbm(const struct view_values *values, enum fa_tensor_id id,
                                     int64_t head, int64_t row, int64_t column, double *value);

/* The largest finite magnitude that the tensor ever shows in this run, on chip after any event
 * or as an input: what shades are scaled by. 0 if it has none. It does not depend on the
 * position, and was found when the run was opened. */
double view_run_most(const struct view_run *run, enum fa_tensor_id id);

/* What the absorb (or update) that is event `index` did to each row of its tile; the factor is
 * exp(old_max - new_max). NULL if the event is no such, or without values. Valid until the next
 * call. */
struct view_rescale {
    int64_t rows, rose;         /* of the tile; those whose maximum rose, but for a first tile */
    int64_t first_row;          /* the lowest of those, in the matrix; -1: none */
    double old_max, new_max, factor; /* of that row */
    double least_factor;        /* of all */
    const double *factors;      /* by row of the tile; 1: unchanged */
};
const struct view_rescale *view_run_rescale(struct view_run *run, uint64_t index);

/* ---- one row (rows.c) -------------------------------------------------------------------- */

/* A query row absorbed the keys [first, end) at event `event`: m and l after that, as they stood
 * on chip. */
struct view_row_step {
    uint64_t event;
    int64_t first, end;
    double max, sum;
};

struct view_row {
    int64_t keys;
    const double *scores;   /* [keys], bias and masks done: -inf: hidden, NaN: never computed */
    const uint64_t *scored; /* by key tile: the event after which they stood; UINT64_MAX: never */
    const struct view_row_step *steps; /* in order */
    int64_t n_steps;
};

enum { VIEW_MOST_ROW_SCORES = 1 << 22 }; /* of a head, of a run whose rows are kept */

/*
 * What the run did to query row `row` of a forward pass, from its first event to its last, by
 * running it again once a head. False without values, of a backward pass, and past
 * VIEW_MOST_ROW_SCORES. Valid until the next call.
 */
bool view_run_row(struct view_run *run, int64_t head, int64_t row, struct view_row *out);

/* ---- keep bits in turn (turns.c) --------------------------------------------------------- */

/* Of a head: which tile's bits were formed when, and what they would be then. */
struct view_turns {
    const uint64_t *event; /* tr x tc: that first forms the tile's bits; UINT64_MAX: none does */
    const int64_t *turn;   /* tr x tc: the how many-th tile of the head that is, from 0; -1 */
    const uint8_t *keep;   /* nq x nk; 0 in tiles that none forms */
};

/*
 * Dropout's keep bits as they would be of a generator that deals them out one after another: the
 * words of Philox that follow on those of row 0, drawn by the run's seed as its events come to
 * form bits, row by row of each tile. So they follow from the order of the tiles, and another
 * order gives others. (The run itself takes the bits of dropout.h, which follow from the place.)
 * False without dropout, where a mask was given, past VIEW_MOST_ROW_SCORES, and without memory.
 * Valid until the next call.
 */
bool view_run_turns(struct view_run *run, int64_t head, struct view_turns *turns);

/* ---- checks (checks.c) ------------------------------------------------------------------- */

enum view_verdict { VIEW_NO_VERDICT, VIEW_GOOD, VIEW_BAD };

struct view_check {
    const char *name;     /* "weights sum to 1", "m never falls", "O = softmax so far" */
    enum view_verdict verdict; /* so far; none where it does not apply, or has not begun */
    char text[96];        /* bad: "first at tile (0,1), row 0: 1.5" */
    uint64_t first_bad;   /* landed events where it first failed; UINT64_MAX: never so far */
};

enum { VIEW_CHECKS = 3 };

/*
 * The invariants of the online softmax up to `landed` events, each judged after every event that it
 * is about by what was on chip then, and by a softmax in double of its own over the keys seen so
 * far:
 *   weights sum to 1     sum of exp(s - m) / l over the keys, with the machine's m and l
 *   m never falls        from one tile to the next
 *   O = softmax so far   flash1 and flash2 alone, whose O is that (flash2: over l) after a tile,
 *                        and at the end
 * within what rounding in the compute type (and of stored S and O in the dtype) may do. A backward
 * pass has none of them, nor have matrices past 2^24 numbers a head. Past 2^27 products over all
 * heads each tile is judged by every n-th of its rows, the first at least.
 */
void view_run_checks(struct view_run *run, uint64_t landed, struct view_check checks[VIEW_CHECKS]);

/* The finished run's outputs against the double oracle: max, RMS, budget, worst index, of O and
 * LSE or of dQ, dK and dV. None for a refusal, without values, and past 3e9 products (backward a
 * third of that, and 2,048 rows or keys): what takes some seconds. Computed once. head, row and
 * column are -1, and ours and truth NaN, where nothing differs; the head of dK and dV is a K/V
 * head. */
struct view_error_row {
    const char *name; /* "O", "LSE", "dQ" ... */
    enum fa_tensor_id id;
    double max_abs, rms, budget;
    int64_t head, row, column; /* of the worst element */
    double ours, truth;        /* there */
    bool passed;
};
int view_run_errors(struct view_run *run, struct view_error_row rows[4]); /* how many; 0: none */

/*
 * What a stage of the finished forward run was off, over head 0 of the first sequence, against
 * truth.h's softmax in double of the same inputs: S as the softmax took it (of algorithms that
 * store it from HBM, else on chip), P where HBM holds it, LSE and O as they were stored. Keys
 * that are hidden do not count. (error_stages.c)
 */
struct view_stage_error {
    enum fa_tensor_id id; /* FA_S, FA_P, FA_LSE, FA_O */
    bool formed;          /* false: this run never has it as a whole, as P of flash */
    bool in_hbm;          /* else it was on chip alone */
    enum fa_dtype format; /* in which it lay there */
    double max_abs, rms;
};

enum { VIEW_ERROR_STAGES = 4, VIEW_MOST_STAGE_SCORES = 1 << 20 };

/* How many, in that order; 0 of a backward pass, of a run that was refused or has no values, and
 * past VIEW_MOST_STAGE_SCORES. Computed once. */
int view_run_stage_errors(struct view_run *run, struct view_stage_error stages[VIEW_ERROR_STAGES]);

/* |O - softmax so far| at its largest in query tile i after key tile j was accumulated: what
 * Error by tile paints. Of algorithms that normalise P first it is O's difference from the
 * weights times V so far; of a backward pass the larger of the final errors of dQ in i's rows
 * and dK, dV in j's keys. NaN where nothing was computed. Computed once; NULL without values, of
 * square-tiling, or where there are more than 4,096 tiles. tr x tc, row-major, head 0. */
const double *view_run_tile_errors(struct view_run *run);

#ifdef __cplusplus
}
#endif
#endif
