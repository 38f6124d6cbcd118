/* The measured side of `flashlab counters`: launches by name, and what their counters explain. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "simulator/cli/counters_command.h"

const char *const counters_metric[COUNTERS_ALL] = {
    [COUNTER_READ] = "l1tex__m_xbar2l1tex_read_bytes.sum",
    [COUNTER_WRITE] = "l1tex__m_l1tex2xbar_write_bytes.sum",
    [COUNTER_DRAM_READ] = "dram__bytes_read.sum",
    [COUNTER_DRAM_WRITE] = "dram__bytes_write.sum",
    [COUNTER_LOCAL_LOAD] = "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum",
    [COUNTER_LOCAL_STORE] = "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum",
    [COUNTER_LOAD_SECTORS] = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    [COUNTER_LOAD_HITS] = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    [COUNTER_STORE_SECTORS] = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    [COUNTER_ADD_SECTORS] = "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    [COUNTER_L2_HITS] = "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum",
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether `name`, a kernel's in the CSV with its parameters, has `word` as the function's name, or
 * as the end of it where the word begins with '_'. */
static bool is_called(const char *name, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = strstr(name, word); at; at = strstr(at + 1, word)) {
        bool begins = at == name || *word == '_' || !is_word(at[-1]);
        if (begins && !is_word(at[n]))
            return true;
    }
    return false;
}

/* Which launches stand for a kernel: those of the rung's kernel of that name, or for an algorithm
 * all; of either those with the text that the user gave, if any. */
struct match {
    const char *part;
    char word[96]; /* "flash2_keys_kernel"; "": all */
};

static bool is_match(const struct match *match, const char *name)
{
    return (!match->part || strstr(name, match->part)) &&
           (!match->word[0] || is_called(name, match->word));
}

static bool any_match(const struct ncu_csv *csv, const struct match *match)
{
    for (int l = 0; l < csv->n_launches; l++)
        if (is_match(match, csv->launch[l].kernel))
            return true;
    return false;
}

static struct match match_of(const struct counters *counters, const struct counters_pass *pass,
                             const struct counters_kernel *kernel)
{
    struct match match = {.part = counters->kernel};
    if (!counters->rung)
        return match;
    const char *rung = counters->rung->name, *name = kernel->counted.name;
    if (pass->n == 1)
        snprintf(match.word, sizeof match.word, "%s_kernel", rung);
    else
        snprintf(match.word, sizeof match.word, "%s_%s_kernel", rung, name);
    /* A rung may share its backward kernels with another, whose name they carry. */
    if (pass->n > 1 && !any_match(&counters->csv, &match))
        snprintf(match.word, sizeof match.word, "_%s_kernel", name);
    return match;
}

/* The first launch of the kernel that launch `l` is one of. */
static int first_of(const struct ncu_csv *csv, int l)
{
    int first = 0;
    while (strcmp(csv->launch[first].kernel, csv->launch[l].kernel) != 0)
        first++;
    return first;
}

/* "flash2_kernel<...>(...), g" without repeating one; cut to its size. */
static void list_kernels(const struct ncu_csv *csv, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (int l = 0; l < csv->n_launches && n < size; l++)
        if (first_of(csv, l) == l)
            n += (size_t)snprintf(text + n, size - n, "%s%.120s", n ? ", " : "",
                                  csv->launch[l].kernel);
}

static enum fa_status refuse_missing(const struct counters *counters, const struct match *match,
                                     struct fa_error *error)
{
    const char *part = match->part ? match->part : "";
    char names[640];
    list_kernels(&counters->csv, names, sizeof names);
    return fa_fail(error, FA_BAD_FILE, "%s: no kernel%s%.80s%s%.80s: there are %s",
                   counters->csv.name, match->word[0] ? " is called " : "", match->word,
                   *part ? match->word[0] ? ", with " : " has in its name " : "", part, names);
}

static enum fa_status refuse_several(const struct counters *counters, int n, struct fa_error *error)
{
    char names[640];
    list_kernels(&counters->csv, names, sizeof names);
    return fa_fail(error, FA_BAD_ARGUMENT,
                   "%s: %d kernels fit: expected --kernel with a part of one's name: %s",
                   counters->csv.name, n, names);
}

/* Adds launch `l` to the sums of its kind. */
static enum fa_status add_launch(struct counters_kernel *kind, const struct ncu_csv *csv, int l,
                                 struct fa_error *error)
{
    for (int c = 0; c < COUNTERS_ALL; c++) {
        const struct ncu_metric *metric = ncu_csv_find(csv, l, counters_metric[c]);
        uint64_t bytes = 0;
        if (!metric || !ncu_csv_is_measured(metric)) {
            kind->has[c] = false;
            kind->refused[c] = kind->refused[c] || metric;
            continue;
        }
        enum fa_status status = ncu_csv_bytes(csv, metric, &bytes, error);
        if (status != FA_OK)
            return status;
        if (c == COUNTER_READ) {
            if (kind->launches == 0 || bytes < kind->least_read)
                kind->least_read = bytes;
            if (bytes > kind->most_read)
                kind->most_read = bytes;
        }
        if (__builtin_add_overflow(kind->measured[c], bytes, &kind->measured[c]))
            return fa_fail(error, FA_TOO_LARGE, "%s: line %d: the sum of %s passes 2^64", csv->name,
                           metric->line, metric->name);
    }
    kind->launches++;
    return FA_OK;
}

/* One kind of kernel: the mean of its launches is added to the whole. */
static enum fa_status add_kind(struct counters_kernel *kernel, const struct ncu_csv *csv, int first,
                               struct fa_error *error)
{
    struct counters_kernel kind = {.launches = 0};
    memset(kind.has, true, sizeof kind.has);
    for (int l = first; l < csv->n_launches; l++) {
        enum fa_status status = FA_OK;
        if (strcmp(csv->launch[l].kernel, csv->launch[first].kernel) == 0)
            status = add_launch(&kind, csv, l, error);
        if (status != FA_OK)
            return status;
    }
    for (int c = 0; c < COUNTERS_ALL; c++) {
        uint64_t n = (uint64_t)kind.launches, sum = kind.measured[c];
        kernel->has[c] = kernel->has[c] && kind.has[c];
        kernel->refused[c] = kernel->refused[c] || kind.refused[c];
        kernel->measured[c] += sum / n + (sum % n * 2 >= n);
    }
    kernel->least_read += kind.least_read;
    kernel->most_read += kind.most_read;
    if (kernel->kinds++ == 0)
        kernel->name = csv->launch[first].kernel;
    kernel->launches += kind.launches;
    return FA_OK;
}

static enum fa_status measure(const struct counters *counters, const struct match *match,
                              bool *taken, struct counters_kernel *kernel, struct fa_error *error)
{
    const struct ncu_csv *csv = &counters->csv;
    memset(kernel->has, true, sizeof kernel->has);
    for (int l = 0; l < csv->n_launches; l++) {
        if (!is_match(match, csv->launch[l].kernel))
            continue;
        taken[l] = true;
        enum fa_status status = first_of(csv, l) == l ? add_kind(kernel, csv, l, error) : FA_OK;
        if (status != FA_OK)
            return status;
    }
    if (kernel->kinds == 0)
        return refuse_missing(counters, match, error);
    /* Of an algorithm, the user may name several kernels, whose sum is then meant. */
    if (kernel->kinds > 1 && (counters->rung || !match->part))
        return refuse_several(counters, kernel->kinds, error);
    for (int c = 0; c < COUNTERS_BESIDE; c++)
        if (kernel->has[c])
            return FA_OK;
    for (int c = 0; c < COUNTERS_BESIDE; c++)
        if (kernel->refused[c])
            return fa_fail(error, FA_BAD_FILE,
                           "%s: %.80s has none of the counters: %s is n/a, so ncu could not "
                           "measure it",
                           csv->name, kernel->name, counters_metric[c]);
    return fa_fail(error, FA_BAD_FILE,
                   "%s: %.80s has none of the counters: expected ncu to be run with --metrics %s,"
                   "%s,%s,%s",
                   csv->name, kernel->name, counters_metric[0], counters_metric[1],
                   counters_metric[2], counters_metric[3]);
}

/* `seen` bytes may account for what is left of the gap. */
static void add_reason(struct counters_row *row, const char *name, const char *what, uint64_t seen)
{
    if (seen == 0 || row->unexplained == 0)
        return;
    uint64_t accounts = seen < row->unexplained ? seen : row->unexplained;
    row->reason[row->n_reasons++] = (struct counters_reason){name, what, seen, accounts};
    row->unexplained -= accounts;
}

static uint64_t beyond(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

/* What the other counters show about the distance of one row. */
static void explain(struct counters_kernel *kernel, enum counter which)
{
    struct counters_row *row = &kernel->row[which];
    const uint64_t *m = kernel->measured;
    const bool *has = kernel->has, more = row->measured > row->counted;
    uint64_t local_load = has[COUNTER_LOCAL_LOAD] ? m[COUNTER_LOCAL_LOAD] : 0;
    uint64_t local_store = has[COUNTER_LOCAL_STORE] ? m[COUNTER_LOCAL_STORE] : 0;
    uint64_t hits = has[COUNTER_LOAD_HITS] ? m[COUNTER_LOAD_HITS] : 0;
    uint64_t loaded = has[COUNTER_LOAD_SECTORS] ? beyond(m[COUNTER_LOAD_SECTORS], hits) : 0;
    uint64_t added = has[COUNTER_ADD_SECTORS] ? m[COUNTER_ADD_SECTORS] : 0;
    uint64_t stored = has[COUNTER_STORE_SECTORS] ? m[COUNTER_STORE_SECTORS] : 0;
    if (which == COUNTER_READ && more) {
        add_reason(row, "spills", "were loaded from local memory", local_load);
        add_reason(row, "partial sectors", "are in the sectors of loads beyond the count",
                   beyond(loaded, row->counted));
    } else if (which == COUNTER_READ) {
        add_reason(row, "L1 hits", "of global loads were answered by L1", hits);
    } else if (which == COUNTER_WRITE && more) {
        add_reason(row, "spills", "were stored to local memory", local_store);
        add_reason(row, "partial sectors",
                   "are in the sectors of stores and reductions beyond the count",
                   beyond(stored + added, row->counted));
    } else if (which == COUNTER_DRAM_READ && more) {
        add_reason(row, "reductions", "are in sectors that were added to in L2", added);
    } else if (which == COUNTER_DRAM_WRITE && !more && has[COUNTER_WRITE]) {
        add_reason(row, "kept in L2", "reached L2 and not DRAM",
                   beyond(m[COUNTER_WRITE], row->measured));
    } else if (which == COUNTER_DRAM_WRITE && more) {
        add_reason(row, "spills", "were stored to local memory", local_store);
    }
}

static void lay_beside(struct counters_kernel *kernel)
{
    const struct sim_walked_kernel *counted = &kernel->counted;
    const uint64_t bytes[COUNTERS_BESIDE] = {counted->read_bytes, counted->write_bytes,
                                             counted->read_once_bytes, counted->write_once_bytes};
    const bool *has = kernel->has;
    for (int c = 0; c < COUNTERS_BESIDE; c++) {
        struct counters_row *row = &kernel->row[c];
        *row = (struct counters_row){.measured_too = has[c], .counted = bytes[c]};
        if (!has[c])
            continue;
        row->measured = kernel->measured[c];
        row->unexplained =
            beyond(row->measured, row->counted) + beyond(row->counted, row->measured);
        explain(kernel, (enum counter)c);
    }
    kernel->has_reuse = has[COUNTER_READ] && has[COUNTER_DRAM_READ] && has[COUNTER_L2_HITS] &&
                        kernel->measured[COUNTER_L2_HITS] > 0;
    if (kernel->has_reuse)
        kernel->reuse_bytes =
            beyond(kernel->measured[COUNTER_READ], kernel->measured[COUNTER_DRAM_READ]);
}

static void add_up(struct counters_pass *pass)
{
    for (int c = 0; c < COUNTERS_BESIDE; c++) {
        struct counters_row *total = &pass->total[c];
        *total = (struct counters_row){.measured_too = true};
        for (int k = 0; k < pass->n; k++) {
            const struct counters_row *row = &pass->kernel[k].row[c];
            total->counted += row->counted;
            total->measured += row->measured;
            total->measured_too = total->measured_too && row->measured_too;
        }
    }
}

/* Whether the kernel is the rung's forward one, which a backward pass needs before it. */
static bool is_forward_of(const struct counters *counters, const char *name)
{
    char word[96];
    if (!counters->rung)
        return false;
    snprintf(word, sizeof word, "%s_kernel", counters->rung->name);
    return is_called(name, word);
}

static void list_uncounted(struct counters *counters, const bool *taken)
{
    const struct ncu_csv *csv = &counters->csv;
    for (int l = 0; l < csv->n_launches; l++) {
        const char *name = csv->launch[l].kernel;
        if (taken[l] || is_forward_of(counters, name) || first_of(csv, l) != l)
            continue;
        if (counters->n_uncounted < COUNTERS_LISTED)
            counters->uncounted[counters->n_uncounted] = name;
        counters->n_uncounted++;
    }
}

enum fa_status counters_match(struct counters *counters, struct fa_error *error)
{
    static bool taken[NCU_LAUNCHES];
    enum fa_status status = FA_OK;
    memset(taken, 0, sizeof taken);
    for (int p = 0; p < counters->n_passes && status == FA_OK; p++) {
        struct counters_pass *pass = &counters->pass[p];
        for (int k = 0; k < pass->n && status == FA_OK; k++) {
            const struct match match = match_of(counters, pass, &pass->kernel[k]);
            status = measure(counters, &match, taken, &pass->kernel[k], error);
            if (status == FA_OK)
                lay_beside(&pass->kernel[k]);
        }
        if (status == FA_OK)
            add_up(pass);
    }
    if (status == FA_OK)
        list_uncounted(counters, taken);
    return status;
}
