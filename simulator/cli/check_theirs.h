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
    struct sim_verdict verdict;
};

/* The outputs' names in files and in JSON: "o", "lse", "dq", "dk", "dv". */
extern const char *const cli_output_files[SIM_OUTPUTS];

/* Whether DIR/NAME.npy is there. */
bool cli_check_has(const struct cli_check *check, const char *name);

/*
 * Reads o.npy, and what there is of lse.npy and, where gradients are judged, dq.npy, dk.npy and
 * dv.npy: in the rank of q.npy, any float format; 16-bit integers are the bits of f16 or bf16 where
 * that is the dtype, in the inputs too, which are read again then. inputs must be open.
 * Errors: those of fa_npy_read; FA_BAD_FILE for another shape, FA_BAD_ARGUMENT for a backward pass
 * without any gradient.
 */
enum fa_status cli_check_read(struct cli_check *check, struct fa_error *error);
void cli_check_free(struct cli_check *check);

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
