/*
 * The command `flashlab check --theirs`, in parts: the outputs that it reads, and what it says of
 * them.
 */
#ifndef CLI_CHECK_THEIRS_H
#define CLI_CHECK_THEIRS_H

#include "simulator/cli/inputs.h"
#include "simulator/faults.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Files of the folder that stand for the options of their names where those are not given. */
enum { CLI_TAKEN_MASK, CLI_TAKEN_BIAS, CLI_TAKEN_KEEP, CLI_TAKEN_BLOCKS, CLI_TAKEN };
enum { CLI_CHECK_PATH = 4096, CLI_HINTS = 4, CLI_HINT_TEXT = 192 };

struct cli_check {
    struct cli_problem problem; /* problem.in is the folder, problem.tiles their tiles */
    const char *heat_map;       /* NULL: no picture */
    bool backward;              /* the gradients are judged too */
    int64_t br, bc;
    struct cli_inputs inputs;
    struct fa_tensor output[SIM_OUTPUTS]; /* f64, as the files hold them; data NULL: no such file */
    char stored[SIM_OUTPUTS][8];          /* "f32", ... */
    char inputs_stored[8];                /* of q.npy */
    bool lse_by_heads; /* layout bshd, but lse.npy is [batch, heads, seq], as it often is */
    char taken[CLI_TAKEN][CLI_CHECK_PATH]; /* paths; "": not taken */
    char hint[CLI_HINTS][CLI_HINT_TEXT];   /* of wrong outputs: an option that may be missing */
    int n_hints;
    struct sim_verdict verdict;
};

/* The outputs' names in files and in JSON: "o", "lse", "dq", "dk", "dv". */
extern const char *const cli_output_files[SIM_OUTPUTS];

/* Whether DIR/NAME.npy is there. */
bool cli_check_has(const struct cli_check *check, const char *name);

/* The files' names without .npy, and the options' without the dashes. */
extern const char *const cli_taken_files[CLI_TAKEN], *const cli_taken_options[CLI_TAKEN];

/*
 * Takes the masks and the bias that lie in the folder; before the inputs are opened.
 * Errors: FA_BAD_ARGUMENT where an option is missing that the file needs (--dropout, --tiles), and
 * where case.json names another layout; FA_BAD_FILE for a case.json that is no JSON object.
 */
enum fa_status cli_check_take(struct cli_check *check, struct fa_error *error);

/*
 * Compares what case.json says with the options; inputs must be open. Keys that it lacks are
 * right. Errors: FA_BAD_ARGUMENT, which names what differs and the option that says it;
 * FA_BAD_FILE.
 */
enum fa_status cli_check_case(const struct cli_check *check, struct fa_error *error);

/*
 * Reads o.npy, and what there is of lse.npy and, where gradients are judged, dq.npy, dk.npy and
 * dv.npy: in the rank of q.npy, any float format; 16-bit integers are the bits of f16 or bf16 where
 * that is the dtype, in the inputs too, which are read again then. inputs must be open.
 * Errors: those of fa_npy_read; FA_BAD_FILE for another shape, FA_BAD_ARGUMENT for a backward pass
 * without any gradient.
 */
enum fa_status cli_check_read(struct cli_check *check, struct fa_error *error);
void cli_check_free(struct cli_check *check);

/* NaN and infinities of one input, as the kernel gets it. */
struct cli_nonfinite {
    const char *name; /* "q", "k", "v", "do", "bias" */
    int64_t n, nan, of;
    int64_t first[4];
};

/* Of the inputs that there are, those that hold any. Returns how many. */
enum { CLI_INPUTS = 5 };
int cli_check_nonfinite(const struct cli_check *check, struct cli_nonfinite found[CLI_INPUTS]);

/*
 * Of a wrong verdict. NaN that reach an output are right there, so outputs may be right with any
 * inputs; but where a whole input is NaN and the outputs are not, the file is not what the kernel
 * got. Errors: FA_BAD_FILE, which names the file.
 */
enum fa_status cli_check_refuse_nan(const struct cli_check *check, struct fa_error *error);

/* Of a wrong verdict: judges O and LSE once in the other layout, which is the fault where they are
 * right so, and fills the hints. Errors: FA_NO_MEMORY, FA_CANCELLED. */
enum fa_status cli_check_hint(struct cli_check *check, struct fa_error *error);

void cli_check_print(const struct cli_check *check);
enum fa_status cli_check_print_json(const struct cli_check *check, struct fa_error *error);

/* One cell for several tiles, or several heads left out, where the map is larger than that. */
enum { CLI_MAP_COLUMNS = 64, CLI_MAP_ROWS = 32 };

struct cli_map {
    int64_t columns, rows, tiles; /* tiles that one column stands for */
    int64_t head[CLI_MAP_ROWS];   /* wrong ones first where not all fit; ascending */
};

struct cli_map cli_map_make(const struct sim_fault_map *map);

/* A cell's largest error in units of the budget; NaN where nothing was looked at. */
double cli_map_error(const struct sim_fault_map *map, const struct cli_map *shown, int64_t row,
                     int64_t column);

/* '.' right, '1' to '9' up to so many powers of ten above the budget, 'N' NaN or infinity, ' ' not
 * looked at. */
char cli_map_sign(double error);

/* The map as a PNG in the light theme: with words where SDL2 is here, else the cells alone. With
 * right outputs, a map in which all is right. */
enum fa_status cli_check_picture(const struct cli_check *check, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
