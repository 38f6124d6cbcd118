/*
 * Machines: what the two memories of a GPU hold and move. A preset says where each number is from.
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "reference/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct json_t;

enum { SIM_MACHINE_TEXT = 160 };

/* Figures that a machine file leaves out, or gives as null, are 0: not known. */
struct sim_machine {
    char name[48];
    char title[SIM_MACHINE_TEXT];
    uint64_t sram_bytes; /* on-chip memory of one SM that a block's tiles may fill */
    uint64_t sms;
    uint64_t l2_bytes;
    uint64_t hbm_bytes;
    double hbm_bytes_per_second;
    double sram_bytes_per_second; /* of all SMs together */
    double f32_flops_per_second;  /* CUDA cores */
    double f16_flops_per_second;  /* tensor cores, dense, f32 accumulation */
    double exp_per_second;        /* special function units of all SMs together */
    /* Where each of them is from, and for sram_bytes what it is; "" where the figure is 0 (and
     * where a machine file does not say). source_hbm is that of its size and its rate. */
    char source_sram[SIM_MACHINE_TEXT], source_sms[SIM_MACHINE_TEXT];
    char source_l2[SIM_MACHINE_TEXT], source_hbm[SIM_MACHINE_TEXT];
    char source_sram_rate[SIM_MACHINE_TEXT], source_flops[SIM_MACHINE_TEXT];
    char source_exp[SIM_MACHINE_TEXT];
};

/* The presets, in the order in which `flashlab machines` lists them; *n is their number. */
const struct sim_machine *sim_machine_presets(int *n);

/*
 * A preset by its name, else a JSON file by its path: one machine, as sim_machine_to_json makes it.
 * A file needs `name` and `sram_bytes`; unknown keys, keys given twice, other types and figures out
 * of range (integers 1 .. 2^63 - 1, rates finite and above 0) are refused, never passed over.
 * Errors: FA_BAD_ARGUMENT (neither: the presets are named), FA_IO, FA_BAD_FILE.
 */
enum fa_status sim_machine_find(const char *name_or_path, struct sim_machine *machine,
                                struct fa_error *error);

/* The same from the bytes of a file called `name`, for sim_machine_find, tests and fuzzing. */
enum fa_status sim_machine_parse(const char *name, const char *bytes, size_t n_bytes,
                                 struct sim_machine *machine, struct fa_error *error);

/* The machine as the JSON object that a machine file holds; figures that are not known are null.
 * A new reference of jansson's (json_t), NULL without memory. */
struct json_t *sim_machine_to_json(const struct sim_machine *machine);

/* "192K", "1.5M", "4096", "2G": bytes, K M G being powers of 1024, upper or lower case. The result
 * is a whole number, 1 .. 2^63 - 1. FA_BAD_ARGUMENT. */
enum fa_status sim_parse_bytes(const char *text, uint64_t *bytes, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
