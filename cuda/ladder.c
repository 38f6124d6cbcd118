/*
 * Times every rung on this machine's GPU: the ladder's measured table.
 *
 *     gpu-ladder [--dtype f16] [--d 128] [--causal] [--backward] [--n 1024,4096] [--tokens 16384]
 *                [--heads 16] [--rungs mma,async] [--repeats 30]
 *
 * Each entry is a rung at one N, with tokens / N sequences. First each runs once unmeasured. Then
 * come the repeats, each in a new random order among the entries: about 2 ms of launches between
 * two events, on normal random inputs. Out comes the median, the quartiles and TFLOP/s by the
 * papers' convention: 4 batch heads N^2 d, half of it if causal; backward 2.5 times that.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/gpu_device.h"

enum { ENTRIES_MOST = 64, REPEATS_MOST = 1000 };

struct entry {
    const struct gpu_rung *rung;
    struct fa_problem problem;
    struct gpu_forward tensors;
    struct gpu_backward gradients; /* asked for where dq has data */
    void *workspace;
    int launches;
    double ms[REPEATS_MOST];
};

struct settings {
    enum fa_dtype dtype;
    int64_t d, tokens, heads, n[16];
    int lengths, repeats;
    bool causal, backward;
    const char *rungs;
};

static void die(const struct fa_error *error)
{
    fprintf(stderr, "gpu-ladder: %s\n", error->text);
    exit(3);
}

static uint64_t state = 1;

static double uniform(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* One array of normal numbers for q, k and v, at three offsets. */
static void *random_memory(enum fa_dtype dtype, int64_t n)
{
    struct fa_error error;
    size_t bytes = (size_t)n * fa_dtype_bytes(dtype);
    void *host = malloc(bytes), *memory = NULL;
    if (!host)
        exit(3);
    for (int64_t i = 0; i < n; i++)
        fa_dtype_set(dtype, host, i,
                     sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform()));
    if (gpu_memory_take(bytes, &memory, &error) != FA_OK ||
        gpu_memory_upload(memory, host, bytes, &error) != FA_OK)
        die(&error);
    free(host);
    return memory;
}

static struct gpu_tensor tensor_of(void *data, const struct fa_problem *p, int64_t columns)
{
    return (struct gpu_tensor){data, {p->heads * p->nq * columns, p->nq * columns, columns, 1}};
}

static enum fa_status run(const struct entry *e, struct fa_error *error)
{
    struct gpu_options options = {.workspace = e->workspace};
    if (e->gradients.dq.data)
        return e->rung->backward(&e->problem, &e->gradients, &options, error);
    return e->rung->forward(&e->problem, &e->tensors, &options, error);
}

/* The forward pass has run: from here on the entry is its backward pass, with V in dO's place. */
static void prepare_backward(struct entry *e, size_t bytes)
{
    struct gpu_forward *t = &e->tensors;
    struct fa_error error = {FA_OK, ""};
    struct gpu_tensor d[3] = {t->q, t->k, t->v};
    for (int i = 0; i < 3; i++)
        if (gpu_memory_take(bytes, &d[i].data, &error) != FA_OK)
            die(&error);
    e->gradients = (struct gpu_backward){t->q, t->k, t->v, t->o, t->lse, t->v, d[0], d[1], d[2]};
}

/* Takes the rung up into the list where it takes the problem, and warms it up. */
static bool prepare(struct entry *e, const struct gpu_rung *rung, const struct settings *s,
                    int64_t n, char *inputs, void *o, void *lse)
{
    struct fa_problem p = fa_problem_make(n, n, s->d);
    struct fa_error error = {FA_OK, ""};
    struct gpu_timer timer;
    int64_t bytes = 0;
    p.dtype = s->dtype;
    p.batch = s->tokens / n > 0 ? s->tokens / n : 1;
    p.heads = p.kv_heads = s->heads;
    p.causal = s->causal ? FA_CAUSAL_BOTTOM_RIGHT : FA_CAUSAL_NONE;
    size_t part = (size_t)(p.batch * p.heads * n * s->d) * fa_dtype_bytes(s->dtype);
    *e = (struct entry){.rung = rung, .problem = p};
    e->tensors = (struct gpu_forward){
        tensor_of(inputs, &p, s->d), tensor_of(inputs + part, &p, s->d),
        tensor_of(inputs + 2 * part, &p, s->d), tensor_of(o, &p, s->d), tensor_of(lse, &p, 1)};
    if (s->backward && !rung->backward) {
        printf("# %s has no backward pass\n", rung->name);
        return false;
    }
    if (rung->workspace_bytes(&p, s->backward, &bytes, &error) != FA_OK ||
        bytes > (int64_t)30 << 30 ||
        gpu_memory_take((size_t)bytes, &e->workspace, &error) != FA_OK || run(e, &error) != FA_OK) {
        printf("# %s, N = %" PRId64 ": %s\n", rung->name, n,
               error.status == FA_OK ? "its workspace is past 30 GiB" : error.text);
        return false;
    }
    if (s->backward)
        prepare_backward(e, part);
    double ms = 0;
    if (gpu_wait(&error) != FA_OK || gpu_timer_make(&timer, &error) != FA_OK ||
        gpu_timer_start(&timer, &error) != FA_OK || run(e, &error) != FA_OK ||
        gpu_timer_stop(&timer, &ms, &error) != FA_OK)
        die(&error);
    gpu_timer_free(&timer);
    e->launches = ms > 2 ? 1 : 1 + (int)(2 / (ms + 0.001));
    return true;
}

static void measure(struct entry *e, int repeat)
{
    struct fa_error error = {FA_OK, ""};
    struct gpu_timer timer;
    double ms = 0;
    if (gpu_timer_make(&timer, &error) != FA_OK || gpu_timer_start(&timer, &error) != FA_OK)
        die(&error);
    for (int i = 0; i < e->launches; i++)
        if (run(e, &error) != FA_OK)
            die(&error);
    if (gpu_timer_stop(&timer, &ms, &error) != FA_OK)
        die(&error);
    gpu_timer_free(&timer);
    e->ms[repeat] = ms / e->launches;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(struct entry *e, const struct settings *s)
{
    const struct fa_problem *p = &e->problem;
    double flops = 4.0 * (double)(p->batch * p->heads) * (double)p->nq * (double)p->nk *
                   (double)p->d * (s->causal ? 0.5 : 1) * (s->backward ? 2.5 : 1);
    qsort(e->ms, (size_t)s->repeats, sizeof *e->ms, by_value);
    double median = e->ms[s->repeats / 2];
    printf("%-9s %-5s d=%-4" PRId64 "%-7s N=%-6" PRId64
           " %10.4f ms  %9.4f .. %9.4f  %8.2f TFLOP/s\n",
           e->rung->name, fa_dtype_name(p->dtype), p->d, s->causal ? "causal" : "full", p->nq,
           median, e->ms[s->repeats / 4], e->ms[s->repeats * 3 / 4], flops / median * 1e-9);
}

static void usage(void)
{
    fprintf(stderr, "usage: gpu-ladder [--dtype F] [--d D] [--causal] [--backward] [--n N,N] "
                    "[--tokens T] [--heads H] [--rungs A,B] [--repeats R]\n");
    exit(2);
}

static struct settings read_settings(int argc, char **argv)
{
    static const struct option options[] = {
        {"dtype", 1, NULL, 't'},    {"d", 1, NULL, 'd'},     {"causal", 0, NULL, 'c'},
        {"backward", 0, NULL, 'b'}, {"n", 1, NULL, 'n'},     {"tokens", 1, NULL, 'k'},
        {"heads", 1, NULL, 'h'},    {"rungs", 1, NULL, 'r'}, {"repeats", 1, NULL, 'p'},
        {NULL, 0, NULL, 0},
    };
    struct settings s = {.dtype = FA_F16, .d = 128, .tokens = 16384, .heads = 16, .repeats = 30};
    char *lengths = NULL;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 't' && !fa_dtype_parse(optarg, &s.dtype))
            usage();
        else if (c == 'd')
            s.d = strtol(optarg, NULL, 10);
        else if (c == 'c')
            s.causal = true;
        else if (c == 'b')
            s.backward = true;
        else if (c == 'n')
            lengths = optarg;
        else if (c == 'k')
            s.tokens = strtol(optarg, NULL, 10);
        else if (c == 'h')
            s.heads = strtol(optarg, NULL, 10);
        else if (c == 'r')
            s.rungs = optarg;
        else if (c == 'p')
            s.repeats = (int)strtol(optarg, NULL, 10);
        else if (c == '?')
            usage();
    }
    do
        s.n[s.lengths++] = lengths ? strtol(lengths, &lengths, 10) : 4096;
    while (lengths && *lengths++ == ',' && s.lengths < 16);
    if (s.repeats < 1 || s.repeats > REPEATS_MOST || s.d < 1 || s.heads < 1 || s.tokens < 1)
        usage();
    return s;
}

static bool is_named(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, ','), at += at != NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    return list == NULL;
}

int main(int argc, char **argv)
{
    static struct entry entries[ENTRIES_MOST];
    struct settings s = read_settings(argc, argv);
    struct gpu_device device;
    struct fa_error error = {FA_OK, ""};
    void *o = NULL, *lse = NULL;
    int n = 0, order[ENTRIES_MOST];
    if (gpu_device_find(&device, &error) != FA_OK)
        die(&error);
    int64_t longest = s.tokens;
    for (int i = 0; i < s.lengths; i++)
        longest = s.n[i] > longest ? s.n[i] : longest;
    int64_t elements = longest * s.heads * s.d;
    void *inputs = random_memory(s.dtype, 3 * elements);
    if (gpu_memory_take((size_t)elements * fa_dtype_bytes(s.dtype), &o, &error) != FA_OK ||
        gpu_memory_take((size_t)(longest * s.heads) * 4, &lse, &error) != FA_OK)
        die(&error);
    printf("# %s, %d SMs, driver %d, built for %s; %" PRId64 " tokens, %" PRId64 " heads%s\n",
           device.name, device.multiprocessors, device.driver_version, gpu_built_architectures(),
           s.tokens, s.heads, s.backward ? ", backward" : "");
    for (int r = 0; r < gpu_rung_count; r++)
        for (int i = 0; i < s.lengths && n < ENTRIES_MOST; i++)
            if (is_named(s.rungs, gpu_rungs[r]->name))
                n += prepare(&entries[n], gpu_rungs[r], &s, s.n[i], inputs, o, lse);
    for (int repeat = 0; repeat < s.repeats; repeat++) {
        for (int i = 0; i < n; i++) {
            int j = (int)(uniform() * (i + 1));
            order[i] = order[j];
            order[j] = i;
        }
        for (int i = 0; i < n; i++)
            measure(&entries[order[i]], repeat);
    }
    for (int i = 0; i < n; i++)
        print(&entries[i], &s);
    return 0;
}
