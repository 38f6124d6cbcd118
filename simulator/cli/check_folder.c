/* What lies in the folder of `flashlab check --theirs` beside what is judged: masks and a bias,
 * which are taken, and case.json, which must agree with the options. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "simulator/cli/check_theirs.h"

const char *const cli_taken_files[CLI_TAKEN] = {"mask", "bias", "dropout_keep", "block_mask"};
const char *const cli_taken_options[CLI_TAKEN] = {"mask", "bias", "dropout-mask", "block-mask"};

enum { SAYS_BYTES = 96 };

/* *root is NULL where the folder has no case.json. */
static enum fa_status load_case(const struct cli_check *check, json_t **root,
                                struct fa_error *error)
{
    char path[CLI_CHECK_PATH];
    json_error_t problem;
    *root = NULL;
    if ((size_t)snprintf(path, sizeof path, "%s/case.json", check->problem.in) >= sizeof path ||
        access(path, F_OK) != 0)
        return FA_OK;
    *root = json_load_file(path, 0, &problem);
    if (json_is_object(*root))
        return FA_OK;
    json_decref(*root);
    *root = NULL;
    return fa_fail(error, FA_BAD_FILE,
                   "%s: expected a JSON object that describes the case, as flashlab generate "
                   "writes it, or no such file",
                   path);
}

static enum fa_status refuse(const struct cli_check *check, const char *says, const char *expected,
                             struct fa_error *error)
{
    return fa_fail(error, FA_BAD_ARGUMENT,
                   "%s/case.json says %s: expected %s (or a folder without case.json)",
                   check->problem.in, says, expected);
}

static enum fa_status check_layout(const struct cli_check *check, const json_t *root,
                                   struct fa_error *error)
{
    const char *text = json_string_value(json_object_get(root, "layout"));
    bool bshd = text && strncmp(text, "[batch,seq,", 11) == 0;
    bool bhsd = text && strncmp(text, "[batch,heads,", 13) == 0;
    if ((!bshd && !bhsd) || bshd == (check->problem.layout == CLI_BSHD))
        return FA_OK;
    return bshd ? refuse(check, "[batch, seq, heads, d]", "--layout bshd", error)
                : refuse(check, "[batch, heads, seq, d]", "--layout bhsd", error);
}

static enum fa_status check_causal(const struct cli_check *check, const json_t *root,
                                   struct fa_error *error)
{
    const struct fa_problem *p = &check->inputs.problem;
    const char *mask = json_string_value(json_object_get(root, "mask"));
    const char *align = json_string_value(json_object_get(root, "causal_align"));
    bool causal = mask && strcmp(mask, "causal") == 0;
    bool top_left = align && strcmp(align, "top_left") == 0;
    enum fa_causal said = top_left ? FA_CAUSAL_TOP_LEFT : FA_CAUSAL_BOTTOM_RIGHT;
    if (!causal && mask && strcmp(mask, "none") == 0 && p->causal != FA_CAUSAL_NONE)
        return refuse(check, "no causal mask", "no --causal", error);
    /* In a square both alignments are one. */
    if (!causal || said == p->causal || (p->causal != FA_CAUSAL_NONE && p->nq == p->nk))
        return FA_OK;
    return top_left ? refuse(check, "causal, top-left", "--causal=top-left", error)
                    : refuse(check, "causal, bottom-right", "--causal", error);
}

static bool read_pair(const json_t *pair, int64_t values[2])
{
    for (size_t i = 0; i < 2; i++)
        if (json_is_integer(json_array_get(pair, i)))
            values[i] = json_integer_value(json_array_get(pair, i));
    return pair != NULL;
}

static enum fa_status check_window(const struct cli_check *check, const json_t *root,
                                   struct fa_error *error)
{
    const struct fa_problem *p = &check->inputs.problem;
    int64_t window[2] = {-1, -1};
    char says[SAYS_BYTES], expected[SAYS_BYTES];
    if (!read_pair(json_object_get(root, "window"), window) ||
        (window[0] == p->window_left && window[1] == p->window_right))
        return FA_OK;
    if (window[0] < 0 && window[1] < 0)
        return refuse(check, "no window", "no --window", error);
    snprintf(says, sizeof says, "a window of %" PRId64 ",%" PRId64, window[0], window[1]);
    snprintf(expected, sizeof expected, "--window %" PRId64 ",%" PRId64, window[0], window[1]);
    return refuse(check, says, expected, error);
}

static enum fa_status check_blocks(const struct cli_check *check, const json_t *root,
                                   struct fa_error *error)
{
    const struct cli_problem *problem = &check->problem;
    bool given = problem->block_mask_path || problem->pattern_given;
    int64_t tile[2] = {0, 0};
    char says[SAYS_BYTES], expected[SAYS_BYTES];
    if (!read_pair(json_object_get(root, "block_mask_tile"), tile))
        return FA_OK;
    if (tile[0] == 0)
        return given ? refuse(check, "no block mask", "no --block-mask or --block-pattern", error)
                     : FA_OK;
    if (given && tile[0] == check->br && tile[1] == check->bc)
        return FA_OK;
    snprintf(says, sizeof says, "a block mask of tiles of %" PRId64 "x%" PRId64, tile[0], tile[1]);
    snprintf(expected, sizeof expected, "%s--tiles %" PRId64 "x%" PRId64,
             given ? "" : "--block-mask F.npy and ", tile[0], tile[1]);
    return refuse(check, says, expected, error);
}

/* The scale and the dropout: numbers, which a person may have rounded. */
static enum fa_status check_numbers(const struct cli_check *check, const json_t *root,
                                    struct fa_error *error)
{
    const struct fa_problem *p = &check->inputs.problem;
    const struct {
        const char *key, *what, *option;
        double given;
    } numbers[] = {{"scale", "a scale of", "scale", p->scale},
                   {"dropout_p", "a dropout of", "dropout", p->dropout_p}};
    char says[SAYS_BYTES], expected[SAYS_BYTES];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const json_t *value = json_object_get(root, numbers[i].key);
        double said = json_number_value(value);
        if (!json_is_number(value) || fabs(said - numbers[i].given) <= 1e-6 * fabs(said))
            continue;
        snprintf(says, sizeof says, "%s %.10g", numbers[i].what, said);
        snprintf(expected, sizeof expected, "--%s %.10g, not %.10g", numbers[i].option, said,
                 numbers[i].given);
        return refuse(check, says, expected, error);
    }
    return FA_OK;
}

/* Whoever names a dtype means it: the case's is that of its inputs. */
static enum fa_status check_dtype(const struct cli_check *check, const json_t *root,
                                  struct fa_error *error)
{
    const char *text = json_string_value(json_object_get(root, "dtype"));
    enum fa_dtype dtype;
    char says[SAYS_BYTES], expected[SAYS_BYTES];
    if (cli_given(&check->problem.base, "dtype") || !text || !fa_dtype_parse(text, &dtype) ||
        dtype == check->problem.dtype)
        return FA_OK;
    snprintf(says, sizeof says, "dtype %s", text);
    snprintf(expected, sizeof expected, "--dtype %s, or --dtype %s where the kernel's is that",
             text, fa_dtype_name(check->problem.dtype));
    return refuse(check, says, expected, error);
}

static enum fa_status check_sizes(const struct cli_check *check, const json_t *root,
                                  struct fa_error *error)
{
    const struct fa_problem *p = &check->inputs.problem;
    const struct {
        const char *key;
        int64_t size;
    } sizes[] = {{"batch", p->batch}, {"heads_q", p->heads}, {"heads_kv", p->kv_heads},
                 {"n_q", p->nq},      {"n_k", p->nk},        {"d", p->d},
                 {"dv", p->dv}};
    char says[SAYS_BYTES], expected[SAYS_BYTES];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const json_t *value = json_object_get(root, sizes[i].key);
        if (!json_is_integer(value) || json_integer_value(value) == sizes[i].size)
            continue;
        snprintf(says, sizeof says, "%s %" PRId64, sizes[i].key,
                 (int64_t)json_integer_value(value));
        snprintf(expected, sizeof expected, "%" PRId64 ", as the arrays have it", sizes[i].size);
        return refuse(check, says, expected, error);
    }
    return FA_OK;
}

enum fa_status cli_check_case(const struct cli_check *check, struct fa_error *error)
{
    enum fa_status (*const checks[])(const struct cli_check *, const json_t *,
                                     struct fa_error *) = {
        check_sizes, check_causal, check_window, check_numbers, check_blocks, check_dtype};
    json_t *root;
    enum fa_status status = load_case(check, &root, error);
    for (size_t i = 0; i < sizeof checks / sizeof *checks && root && status == FA_OK; i++)
        status = checks[i](check, root, error);
    json_decref(root);
    return status;
}

/* What a file can't be taken without. */
static enum fa_status check_known(const struct cli_check *check, int which, struct fa_error *error)
{
    const struct cli_problem *problem = &check->problem;
    const char *file = cli_taken_files[which];
    if (which == CLI_TAKEN_KEEP && !(problem->dropout_p > 0))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%s/%s.npy: expected --dropout P with it, the share that is dropped (or "
                       "--dropout 0)",
                       problem->in, file);
    if (which == CLI_TAKEN_BLOCKS && problem->tiles.policy != SIM_TILES_GIVEN)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%s/%s.npy: expected --tiles BRxBC with it, the tiles that it is about",
                       problem->in, file);
    return FA_OK;
}

enum fa_status cli_check_take(struct cli_check *check, struct fa_error *error)
{
    struct cli_problem *problem = &check->problem;
    const char **const paths[CLI_TAKEN] = {&problem->mask_path, &problem->bias_path,
                                           &problem->dropout_mask_path, &problem->block_mask_path};
    const bool otherwise[CLI_TAKEN] = {
        [CLI_TAKEN_KEEP] = cli_given(&problem->base, "dropout-seed") ||
                           (cli_given(&problem->base, "dropout") && !(problem->dropout_p > 0)),
        [CLI_TAKEN_BLOCKS] = problem->pattern_given,
    };
    json_t *root;
    enum fa_status status = load_case(check, &root, error);
    if (status == FA_OK && root)
        status = check_layout(check, root, error);
    json_decref(root);
    for (int i = 0; i < CLI_TAKEN && status == FA_OK; i++) {
        char *path = check->taken[i];
        if (*paths[i] || otherwise[i] || !cli_check_has(check, cli_taken_files[i]))
            continue;
        status = check_known(check, i, error);
        snprintf(path, sizeof check->taken[i], "%s/%s.npy", problem->in, cli_taken_files[i]);
        *paths[i] = path;
    }
    return status;
}
