/* What a wrong output looks like, by the numbers that it holds and the order that they have. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "simulator/fault_parts.h"

#define LN_2 0.6931471805599453

/* The first to be found stays. */
void sim_fault_found(struct sim_fault_finding *finding, enum sim_fault fault, const char *format,
                     ...)
{
    va_list arguments;
    if (finding->fault != SIM_FAULT_NONE)
        return;
    finding->fault = fault;
    va_start(arguments, format);
    vsnprintf(finding->look, sizeof finding->look, format, arguments);
    va_end(arguments);
}

/* Whether a number is what memory is filled with before it is used: a byte or a word, over and
 * over, in any of the formats. Widening keeps a NaN's first bits. */
static bool is_fill(double value)
{
    static const uint32_t words[] = {0xcdcdcdcd, 0xcccccccc, 0xaaaaaaaa, 0xa5a5a5a5,
                                     0x55555555, 0x5a5a5a5a, 0xdeadbeef, 0xdededede,
                                     0xfefefefe, 0xbebebebe, 0x7f7f7f7f};
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value))
        return bits >> 63 && (bits >> 45 & 0x7f) == 0x7f; /* a GPU's own NaN is positive */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint64_t twice = (uint64_t)words[i] << 32 | words[i];
        float f32;
        double f64;
        memcpy(&f32, &words[i], sizeof f32);
        memcpy(&f64, &twice, sizeof f64);
        if (value == (double)f32 || value == f64 ||
            value == fa_f32_from_bf16((uint16_t)(words[i] >> 16)) ||
            (words[i] >> 16 == (words[i] & 0xffff) && value == fa_f32_from_f16((uint16_t)words[i])))
            return true;
    }
    return false;
}

/* What the wrong elements are made of. */
struct census {
    int64_t fills, nonfinite, lost, zeros; /* lost: NaN or infinity is right, and is not there */
    int64_t nan, empty;                    /* of nonfinite: NaN; in rows whose LSE is -inf */
    double constant;
    int64_t n_constant;
    double least_right, most_right; /* of the finite right values there */
};

static struct census take_census(const struct sim_fault_evidence *e)
{
    struct census census = {.least_right = INFINITY, .most_right = -INFINITY};
    int64_t lead = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t head = 0; head < e->heads; head++) {
            for (int64_t i = 0; i < e->n_rows; i++) {
                for (int64_t c = 0; c < e->columns; c++) {
                    double got = sim_fault_got(e, e->got, head, i, c);
                    double right = sim_fault_right(e, head, i, c);
                    if (!sim_fault_is_wrong(got, right, e->budget))
                        continue;
                    if (pass == 1) {
                        census.n_constant += got == census.constant;
                        continue;
                    }
                    census.fills += is_fill(got);
                    census.nonfinite += !isfinite(got) && isfinite(right);
                    census.nan += isnan(got) && isfinite(right);
                    census.lost += !isfinite(right);
                    census.empty += isnan(got) && right == 0;
                    census.zeros += got == 0;
                    if (isfinite(right)) {
                        census.least_right = fmin(census.least_right, right);
                        census.most_right = fmax(census.most_right, right);
                    }
                    /* The majority's candidate, if there is a majority. */
                    if (lead == 0)
                        census.constant = got;
                    lead += got == census.constant ? 1 : -1;
                }
            }
        }
    }
    return census;
}

/* 1 to 3: what stands in the wrong elements, whatever should. */
static void look_at_contents(const struct sim_fault_evidence *e, const struct census *census,
                             struct sim_fault_finding *finding)
{
    const char *name = sim_output_name(e->which);
    if (2 * census->fills >= e->n_wrong)
        sim_fault_found(
            finding, SIM_FAULT_UNWRITTEN,
            "%s still holds what memory was filled with: these rows are never written (grid "
            "too small, an early return, a launch that failed)",
            name);
    if (census->lost > 0)
        sim_fault_found(
            finding, SIM_FAULT_NAN,
            e->which == SIM_OUT_LSE
                ? "a row without a visible key has LSE = -inf, and a NaN of the input stays "
                  "NaN: neither may become a number"
                : "a NaN or an infinity of the input does not reach %s: a maximum that passes "
                  "over NaN makes the row look empty",
            name);
    if (census->nonfinite > 0 && census->empty == census->nonfinite)
        sim_fault_found(
            finding, SIM_FAULT_NAN,
            "NaN where the right answer is 0, as in a row without a visible key: exp(-inf - "
            "-inf), or a division by l = 0");
    if (census->nan > 0)
        sim_fault_found(
            finding, SIM_FAULT_NAN,
            "NaN in %s: exp(-inf - -inf) where a tile is all masked, 0 times what lies past "
            "the last key (Nk %% Bc), or memory that was never written",
            name);
    if (census->nonfinite > 0)
        sim_fault_found(finding, SIM_FAULT_NAN,
                        "an infinity in %s: an overflow of the format, or a division by l = 0",
                        name);
    if (census->zeros == e->n_wrong)
        sim_fault_found(
            finding, SIM_FAULT_ZEROS,
            "%s is 0 there: not written into a cleared buffer, all keys masked, or a store "
            "whose bound is too small",
            name);
}

/* 4 and 5: right in another order of the elements. */
static void look_at_order(const struct sim_fault_evidence *e, struct sim_fault_finding *finding)
{
    struct fa_tensor view;
    if (sim_fault_view_layout(e->got, &view) && sim_fault_view_is_right(e, &view, 1))
        sim_fault_found(
            finding, SIM_FAULT_LAYOUT,
            "%s is right, with heads and rows in the other order: bshd is taken for bhsd, or "
            "the other way round (--layout)",
            sim_output_name(e->which));
    if (sim_fault_view_transposed(e->got, &view) && sim_fault_view_is_right(e, &view, 1))
        sim_fault_found(finding, SIM_FAULT_TRANSPOSED,
                        "%s is right, but stored by columns: rows and columns are exchanged",
                        sim_output_name(e->which));
}

static bool head_holds(const struct sim_fault_evidence *e, int64_t head, int64_t other)
{
    for (int64_t i = 0; i < e->n_rows; i++)
        for (int64_t c = 0; c < e->columns; c++)
            if (sim_fault_is_wrong(sim_fault_got(e, e->got, head, i, c),
                                   sim_fault_right(e, other, i, c), e->budget))
                return false;
    return true;
}

/* 6: each wrong head holds another one's values. */
static void look_at_heads(const struct sim_fault_evidence *e, struct sim_fault_finding *finding)
{
    int64_t first = -1, of = -1;
    for (int64_t head = 0; head < e->heads; head++) {
        int64_t other = 0;
        if (head_holds(e, head, head))
            continue;
        while (other < e->heads && (other == head || !head_holds(e, head, other)))
            other++;
        if (other == e->heads)
            return;
        if (first < 0) {
            first = head;
            of = other;
        }
    }
    if (first >= 0)
        sim_fault_found(
            finding, SIM_FAULT_HEAD_SWAP,
            "head %" PRId64 " holds what is right for head %" PRId64
            " (counted over batch and heads): an index of batch or head is exchanged or "
            "strided wrongly",
            first, of);
}

/* The factor that brings the right values of heads [h0, h1), rows [i0, i1) nearest to theirs. */
static double factor_of(const struct sim_fault_evidence *e, int64_t h0, int64_t h1, int64_t i0,
                        int64_t i1)
{
    long double product = 0, square = 0;
    for (int64_t head = h0; head < h1; head++)
        for (int64_t i = i0; i < i1; i++)
            for (int64_t c = 0; c < e->columns; c++) {
                double right = sim_fault_right(e, head, i, c);
                if (!isfinite(right))
                    continue;
                product += (long double)right * sim_fault_got(e, e->got, head, i, c);
                square += (long double)right * right;
            }
    return square > 0 ? (double)(product / square) : 1;
}

/* The row's largest distance from a multiple of the right one. */
static double error_beside(const struct sim_fault_evidence *e, int64_t head, int64_t i,
                           double factor)
{
    double most = 0;
    for (int64_t c = 0; c < e->columns; c++)
        most = fmax(most, fabs(sim_fault_got(e, e->got, head, i, c) -
                               factor * sim_fault_right(e, head, i, c)));
    return most;
}

/* Whether the row is that multiple of the right one, and where it is wrong clearly nearer to it:
 * any noise has a factor that brings it a little nearer. */
static bool row_is_multiple(const struct sim_fault_evidence *e, int64_t head, int64_t i,
                            double factor)
{
    bool wrong = e->wrong[head * e->n_rows + i] > 0;
    if (wrong && 2 * error_beside(e, head, i, factor) > error_beside(e, head, i, 1))
        return false;
    for (int64_t c = 0; c < e->columns; c++)
        if (sim_fault_is_wrong(sim_fault_got(e, e->got, head, i, c),
                               factor * sim_fault_right(e, head, i, c),
                               e->budget * fmax(1, fabs(factor))))
            return false;
    return true;
}

/* Whether the row is large enough beside the budget for a factor to be seen in it, and its multiple
 * for not being taken for any small numbers, which are 0 times every row. */
static bool is_row_large(const struct sim_fault_evidence *e, int64_t head, int64_t i, double factor)
{
    double most = 0;
    for (int64_t c = 0; c < e->columns; c++)
        most = fmax(most, fabs(sim_fault_right(e, head, i, c)));
    return most > 8 * e->budget && fabs(factor) * most > 2 * e->budget;
}

/* What a factor on all of an output is most likely of. */
static const char *reason_of(const struct sim_fault_evidence *e, double factor, bool score_gradient)
{
    double scale = e->theirs->problem->scale, size = fabs(factor);
    bool is_scale =
        fabs(size - fabs(scale)) <= 1e-3 * fabs(scale) || fabs(size * fabs(scale) - 1) <= 1e-3;
    if (fabs(factor + 1) <= 1e-3)
        return "the sign is wrong";
    if (!score_gradient)
        return "a factor is forgotten or applied twice, such as 1/(1 - p) of dropout";
    return is_scale ? "the scale is forgotten, or applied twice, behind dS"
                    : "a factor on dS, which is not the scale forgotten or applied twice";
}

static void look_at_one_factor(const struct sim_fault_evidence *e,
                               struct sim_fault_finding *finding)
{
    double factor = factor_of(e, 0, e->heads, 0, e->n_rows);
    bool score_gradient = e->which == SIM_OUT_DQ || e->which == SIM_OUT_DK;
    if (e->which == SIM_OUT_LSE || e->most_right <= 8 * e->budget || e->n_rows * e->heads < 4)
        return;
    for (int64_t head = 0; head < e->heads; head++)
        for (int64_t i = 0; i < e->n_rows; i++)
            if (!row_is_multiple(e, head, i, factor))
                return;
    sim_fault_found(finding, score_gradient ? SIM_FAULT_SCALE : SIM_FAULT_ROW_SCALE,
                    "all of %s is %.6g times the right values: %s", sim_output_name(e->which),
                    factor, reason_of(e, factor, score_gradient));
}

/* What makes rows multiples of the right ones, of O or of a gradient. */
static const char *cause_of_factors(enum sim_output which, double least, double most)
{
    if (which == SIM_OUT_DQ)
        return "the row's P or dS has a factor, as of an LSE that is off, or its sum over the keys "
               "is added up more than once";
    if (which == SIM_OUT_DK || which == SIM_OUT_DV)
        return "the key's sum over the rows is added up more than once, or divided by what belongs "
               "to a row";
    return least >= 1  ? "O is never divided by l, or l forgot the tiles before the last"
           : most <= 1 ? "O is divided by l twice, or l counts what O does not"
                       : "O and l are rescaled differently";
}

/* 14: wrong rows are multiples of the right ones. */
static void look_at_rows(const struct sim_fault_evidence *e, struct sim_fault_finding *finding)
{
    double least = INFINITY, most = -INFINITY;
    int64_t large = 0;
    look_at_one_factor(e, finding);
    if (e->columns < 3)
        return;
    for (int64_t head = 0; head < e->heads; head++) {
        for (int64_t i = 0; i < e->n_rows; i++) {
            if (e->wrong[head * e->n_rows + i] == 0)
                continue;
            double factor = factor_of(e, head, head + 1, i, i + 1);
            if (!row_is_multiple(e, head, i, factor))
                return;
            large += is_row_large(e, head, i, factor);
            least = fmin(least, factor);
            most = fmax(most, factor);
        }
    }
    if (2 * large < e->n_wrong_rows || (least < 0 && most > 0))
        return;
    sim_fault_found(finding, SIM_FAULT_ROW_SCALE,
                    "each wrong row is a multiple of the right one, by %.4g to %.4g: %s", least,
                    most, cause_of_factors(e->which, least, most));
}

/* 13: one number, where the right ones are not one too. */
static void look_at_constant(const struct sim_fault_evidence *e, const struct census *census,
                             struct sim_fault_finding *finding)
{
    bool constant = census->n_constant >= 16 && 10 * census->n_constant >= 9 * e->n_wrong &&
                    census->most_right - census->least_right > e->budget;
    if (constant && census->constant == 0)
        sim_fault_found(finding, SIM_FAULT_ZEROS, "nearly all of the wrong elements are 0");
    if (constant)
        sim_fault_found(
            finding, SIM_FAULT_UNWRITTEN,
            "the wrong elements are all %.9g: a buffer's old contents, or one value stored "
            "for all",
            census->constant);
}

/* 15 and 16: what is left. */
static void look_at_the_rest(const struct sim_fault_evidence *e, struct sim_fault_finding *finding)
{
    bool of_keys = e->which == SIM_OUT_DK || e->which == SIM_OUT_DV;
    if (sim_fault_is_in_last_tile(e))
        sim_fault_found(finding, SIM_FAULT_LAST_TILE,
                        "only rows of the ragged last tile are wrong: %s",
                        of_keys ? "its keys past the end are not guarded (Nk % Bc)"
                                : "its rows past the end are not guarded (Nq % Br)");
    sim_fault_found(
        finding, SIM_FAULT_OTHER,
        "none of the known faults: start with the worst element, on the smallest problem "
        "that still fails (flashlab generate makes some)");
}

/* In the order of the header. */
enum fa_status sim_fault_classify(const struct sim_fault_evidence *e, const struct fa_watch *watch,
                                  struct sim_fault_finding *finding, struct fa_error *error)
{
    struct census census = take_census(e);
    enum fa_status status = FA_OK;
    if (e->n_wrong == 0)
        sim_fault_found(finding, SIM_FAULT_NAN,
                        "NaN where the right answer, and that of a naive run, is an infinity");
    look_at_contents(e, &census, finding);
    if (finding->fault != SIM_FAULT_NONE)
        return FA_OK;
    look_at_order(e, finding);
    look_at_heads(e, finding);
    if (e->which == SIM_OUT_LSE && sim_fault_view_is_right(e, e->got, LN_2))
        sim_fault_found(
            finding, SIM_FAULT_BASE2_LSE,
            "LSE is a logarithm in base 2: multiply it by ln 2 (m and l were kept for 2^x)");
    if (finding->fault == SIM_FAULT_NONE && (e->which == SIM_OUT_O || e->which == SIM_OUT_LSE))
        status = sim_fault_try_forward(e, watch, finding, error);
    else if (finding->fault == SIM_FAULT_NONE)
        status = sim_fault_try_backward(e, watch, finding, error);
    look_at_constant(e, &census, finding);
    if (finding->fault == SIM_FAULT_NONE && status == FA_OK)
        look_at_rows(e, finding);
    look_at_the_rest(e, finding);
    return status;
}
