/* What the names of an expression stand for: facts of a run, and what it counted. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lessons/expression.h"
#include "lessons/reader.h"
#include "simulator/kernels.h"
#include "simulator/l2.h"

/* ---- names ---- */

enum fact {
    N,
    NQ,
    NK,
    D,
    DV,
    BR,
    BC,
    TR,
    TC,
    HEADS,
    KV_HEADS,
    BATCH,
    SRAM,
    M_ELEMS,
    SIZE,
    SCALE,
    SMS,
    F,
    FACTS
};

static const char *const fact_names[FACTS] = {
    "n",     "nq",       "nk",    "d",    "dv",      "br",   "bc",    "tr",  "tc",
    "heads", "kv_heads", "batch", "sram", "m_elems", "size", "scale", "sms", "f"};

static double value_of(enum fact fact, const struct sim_result *result)
{
    const struct fa_problem *p = &result->problem;
    double size = (double)fa_dtype_bytes(p->dtype), sram = (double)result->machine.sram_bytes;
    double br = (double)(result->tiles.br < p->nq ? result->tiles.br : p->nq);
    double bc = (double)(result->tiles.bc < p->nk ? result->tiles.bc : p->nk);
    const double values[FACTS] = {
        [N] = (double)p->nk,
        [NQ] = (double)p->nq,
        [NK] = (double)p->nk,
        [D] = (double)p->d,
        [DV] = (double)p->dv,
        [BR] = br,
        [BC] = bc,
        [TR] = br > 0 ? ceil((double)p->nq / br) : 0,
        [TC] = bc > 0 ? ceil((double)p->nk / bc) : 0,
        [HEADS] = (double)p->heads,
        [KV_HEADS] = (double)p->kv_heads,
        [BATCH] = (double)p->batch,
        [SRAM] = sram,
        [M_ELEMS] = sram / size,
        [SIZE] = size,
        [SCALE] = p->scale,
        [SMS] = (double)result->machine.sms,
        [F] = result->tiles.column_chunk >= p->nk ? 1 : 2,
    };
    return values[fact];
}

/* The run that the parser stands at; without a runner NULL. */
enum fa_status lesson_counts_current(struct lesson_parser *parser,
                                     const struct lesson_counts **counts)
{
    *counts = NULL;
    return parser->evaluation->runner ? lesson_counts_get(parser->evaluation, parser->words, counts)
                                      : FA_OK;
}

enum fa_status lesson_quantity_name(struct lesson_parser *parser, const char *name, double *value)
{
    const struct lesson_counts *counts;
    int fact = 0;
    while (fact < FACTS && strcmp(fact_names[fact], name) != 0)
        fact++;
    if (fact == FACTS && lesson_quantity_known(name))
        return lesson_expression_refuse(parser, "%s is a call: expected %s(...)", name, name);
    if (fact == FACTS)
        return lesson_name_refuse(parser, "quantity", name, fact_names, FACTS);
    enum fa_status status = lesson_counts_current(parser, &counts);
    if (status == FA_OK)
        *value = counts ? value_of((enum fact)fact, &counts->result) : 1;
    return status;
}

/* ---- what was counted ---- */

/* Counts need a run that the machine did not refuse. */
static enum fa_status counted(struct lesson_parser *parser, const struct lesson_counts **counts)
{
    enum fa_status status = lesson_counts_current(parser, counts);
    if (status == FA_OK && *counts && (*counts)->refused)
        return fa_fail(
            parser->evaluation->error, FA_DOES_NOT_FIT,
            "%.200s: the machine refuses this run, so it has no counts: expected one that "
            "fits (it needs %" PRIu64 " bytes of %" PRIu64 ")",
            parser->words, (*counts)->needs, (*counts)->result.machine.sram_bytes);
    return status;
}

static double a_head(const struct sim_result *result, uint64_t all)
{
    double heads = (double)result->problem.batch * (double)result->problem.heads;
    return heads > 0 ? (double)all / heads : 0;
}

enum fa_status lesson_parser_tensor(struct lesson_parser *parser, enum fa_tensor_id *id)
{
    char name[32] = "";
    const char *before = parser->at;
    if (lesson_parser_name(parser, name, sizeof name))
        for (int t = 0; t < FA_HBM_TENSORS; t++)
            if (t != FA_PD && strcasecmp(name, fa_tensor_name((enum fa_tensor_id)t)) == 0) {
                *id = (enum fa_tensor_id)t;
                return FA_OK;
            }
    parser->at = before;
    const char *names[FA_HBM_TENSORS];
    int n = 0;
    for (int t = 0; t < FA_HBM_TENSORS; t++)
        if (t != FA_PD)
            names[n++] = fa_tensor_name((enum fa_tensor_id)t);
    for (char *c = name; *c; c++) /* as fa_tensor_name has them */
        *c = (char)tolower((unsigned char)*c);
    const char *near = lesson_nearest(name, names, n);
    return lesson_expression_refuse(
        parser,
        "expected a tensor, Q K V O S P LSE l m dO dQ dK dV dP dS delta mask bias or dropout%s%s%s",
        near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

enum fa_status lesson_parser_whole(struct lesson_parser *parser, int64_t *number)
{
    double value = 0;
    enum fa_status status = lesson_parser_value(parser, &value);
    *number = 1;
    if (status != FA_OK || !parser->evaluation->runner)
        return status;
    if (!(value >= 0 && value <= 1e12 && value == floor(value)))
        return lesson_expression_refuse(parser, "expected a whole number from 0 before it");
    *number = (int64_t)value;
    return FA_OK;
}

/* Volume of a tensor (FA_TENSORS: of all) that read, write or moved counted. */
static struct sim_volume volume(const struct sim_result *result, const char *name,
                                enum fa_tensor_id id)
{
    struct sim_volume sum = {0, 0}, part;
    const struct sim_counters *counters = &result->counters;
    if (name[0] != 'w') {
        part = id == FA_TENSORS ? sim_counters_read_all(counters, &result->problem)
                                : sim_counters_read(counters, &result->problem, id);
        sum = part;
    }
    if (name[0] != 'r') {
        part = id == FA_TENSORS ? sim_counters_write_all(counters, &result->problem)
                                : sim_counters_write(counters, &result->problem, id);
        sum.elements += part.elements;
        sum.bytes += part.bytes;
    }
    return sum;
}

static enum fa_status moved(struct lesson_parser *parser, const char *name, bool bytes,
                            double *value)
{
    const struct lesson_counts *counts;
    enum fa_tensor_id id = FA_TENSORS;
    enum fa_status status = FA_OK;
    if (*parser->at != ')')
        status = lesson_parser_tensor(parser, &id);
    if (status == FA_OK)
        status = lesson_parser_expect(parser, ')');
    if (status == FA_OK)
        status = counted(parser, &counts);
    if (status != FA_OK)
        return status;
    *value = 1;
    if (counts) {
        struct sim_volume all = volume(&counts->result, name, id);
        *value = a_head(&counts->result, bytes ? all.bytes : all.elements);
    }
    return FA_OK;
}

enum fa_status lesson_call_moved(struct lesson_parser *parser, const char *name, double *value)
{
    return moved(parser, name, false, value);
}

enum fa_status lesson_call_bytes(struct lesson_parser *parser, const char *name, double *value)
{
    char inner[32];
    const char *before = parser->at;
    (void)name;
    if (!lesson_parser_name(parser, inner, sizeof inner) ||
        (strcmp(inner, "read") != 0 && strcmp(inner, "write") != 0 &&
         strcmp(inner, "moved") != 0)) {
        parser->at = before;
        return lesson_expression_refuse(parser, "expected read(...), write(...) or moved(...)");
    }
    enum fa_status status = lesson_parser_expect(parser, '(');
    if (status == FA_OK)
        status = moved(parser, inner, true, value);
    return status == FA_OK ? lesson_parser_expect(parser, ')') : status;
}

/* One of the words, or nothing before the ): then *which is n. Takes the ). */
static enum fa_status read_kind(struct lesson_parser *parser, const char *const *words, int n,
                                int *which)
{
    char name[32];
    const char *before = parser->at;
    *which = n;
    if (lesson_parser_name(parser, name, sizeof name))
        for (*which = 0; *which < n && strcmp(words[*which], name) != 0;)
            ++*which;
    if (*which < n || before == parser->at)
        return lesson_parser_expect(parser, ')');
    parser->at = before;
    return lesson_expression_refuse(parser, "expected %s, %s%s%s or nothing", words[0], words[1],
                                    n > 2 ? ", " : "", n > 2 ? words[2] : "");
}

enum fa_status lesson_call_flops(struct lesson_parser *parser, const char *name, double *value)
{
    static const char *const kinds[] = {"matmul", "exp", "other"};
    const struct lesson_counts *counts = NULL;
    int kind;
    (void)name;
    enum fa_status status = read_kind(parser, kinds, 3, &kind);
    if (status == FA_OK)
        status = counted(parser, &counts);
    *value = 1;
    if (status == FA_OK && counts) {
        const struct fa_flops *flops = &counts->result.counters.flops;
        const uint64_t values[] = {flops->matmul, flops->exp, flops->other,
                                   flops->matmul + flops->exp + flops->other};
        *value = a_head(&counts->result, values[kind]);
    }
    return status;
}

enum fa_status lesson_call_tiles(struct lesson_parser *parser, const char *name, double *value)
{
    const struct lesson_counts *counts = NULL;
    enum fa_status status = lesson_parser_expect(parser, ')');
    if (status == FA_OK)
        status = counted(parser, &counts);
    *value = 1;
    if (status == FA_OK && counts) {
        const struct sim_counters *c = &counts->result.counters;
        *value = a_head(&counts->result, name[0] == 't'   ? c->tiles_visited
                                         : name[0] == 's' ? c->tiles_skipped
                                                          : c->tiles_masked);
    }
    return status;
}

/* peak() and kept() are counted; needs(), fits() and largest_square() are known of a refused run
 * too. */
enum fa_status lesson_call_chip(struct lesson_parser *parser, const char *name, double *value)
{
    const struct lesson_counts *counts = NULL;
    bool of_counts = strcmp(name, "peak") == 0 || strcmp(name, "kept") == 0;
    enum fa_status status = lesson_parser_expect(parser, ')');
    if (status == FA_OK)
        status = of_counts ? counted(parser, &counts) : lesson_counts_current(parser, &counts);
    *value = 1;
    if (status != FA_OK || !counts)
        return status;
    switch (name[0]) {
    case 'p':
        *value = (double)counts->result.counters.sram_peak_bytes;
        break;
    case 'k':
        *value = (double)counts->result.footprint.kept_bytes;
        break;
    case 'n':
        *value = (double)counts->needs;
        break;
    case 'f':
        *value = !counts->refused;
        break;
    default:
        *value = (double)counts->largest_square;
    }
    return FA_OK;
}

/* ---- what a GPU would make of it ---- */

/* A model runs the problem again, so it must be whole. */
static enum fa_status modelled(struct lesson_parser *parser, const struct lesson_counts **counts)
{
    enum fa_status status = counted(parser, counts);
    if (status == FA_OK && *counts && (*counts)->masked)
        return fa_fail(parser->evaluation->error, FA_UNSUPPORTED,
                       "%.200s: expected a run without a mask, bias or block mask of its own",
                       parser->words);
    return status;
}

enum fa_status lesson_call_blocks(struct lesson_parser *parser, const char *name, double *value)
{
    const struct lesson_counts *counts = NULL;
    struct sim_kernels kernels;
    int64_t phase = -1;
    enum fa_status status = FA_OK;
    if (*parser->at != ')')
        status = lesson_parser_whole(parser, &phase);
    if (status == FA_OK)
        status = lesson_parser_expect(parser, ')');
    if (status == FA_OK)
        status = modelled(parser, &counts);
    *value = 1;
    if (status != FA_OK || !counts)
        return status;
    status = sim_kernels_open(&kernels, &counts->result, false, parser->evaluation->error);
    if (status != FA_OK)
        return status;
    *value = 0;
    for (int k = 0; k < kernels.n; k++) {
        const struct sim_kernel *kernel = &kernels.kernel[k];
        double slots = name[0] == 'w' ? (double)kernel->slots : 1;
        if (phase < 0 || phase == kernel->phase)
            *value += (double)kernel->blocks / slots;
    }
    sim_kernels_close(&kernels);
    return FA_OK;
}

enum fa_status lesson_call_dram(struct lesson_parser *parser, const char *name, double *value)
{
    static const char *const kinds[] = {"read", "write"};
    const struct lesson_counts *counts = NULL;
    struct sim_l2 l2;
    int kind;
    (void)name;
    enum fa_status status = read_kind(parser, kinds, 2, &kind);
    if (status == FA_OK)
        status = modelled(parser, &counts);
    *value = 1;
    if (status != FA_OK || !counts)
        return status;
    status = sim_l2_predict(&counts->result, NULL, &l2, parser->evaluation->error);
    if (status == FA_OK)
        *value = (kind != 1 ? (double)l2.total.dram_read_bytes : 0) +
                 (kind != 0 ? (double)l2.total.dram_write_bytes : 0);
    return status;
}
