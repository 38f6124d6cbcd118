/*
 * A seeded smoke driver for any fuzz target: PROGRAM SEED RUNS [FILE...]
 *
 * Runs the target's own inputs and the files as they are, and then RUNS inputs made from them by a
 * few random edits, three in four of them near the beginning, where headers stand. The same
 * arguments make the same inputs. Each input lies in a block of just its size, so that a sanitizer
 * sees a read past its end. FUZZ_SAVE=PATH in the environment keeps the last input in a file: the
 * one that made the program stop. For long runs link with libFuzzer instead.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz.h"

enum { CAPACITY = 1 << 16, INPUTS_MAX = 256, HEAD = 128, EDITS_MAX = 6 };

struct input {
    uint8_t *data;
    size_t n_bytes;
};

static struct input inputs[INPUTS_MAX];
static int n_inputs;
static uint64_t random_state;

#if defined(__GNUC__)
__attribute__((weak))
#endif
size_t
fuzz_seed(int index, uint8_t *data, size_t capacity)
{
    (void)index;
    (void)data;
    (void)capacity;
    return 0;
}

/* SplitMix64: one addition and a mixing of its bits; any seed is as good as another. */
static uint64_t random_next(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 .. bound - 1; 0 for a bound of 0. */
static size_t random_below(size_t bound)
{
    return bound ? (size_t)(random_next() % bound) : 0;
}

static size_t random_place(size_t n_bytes)
{
    bool near = n_bytes > HEAD && random_below(4) != 0;
    return random_below(near ? HEAD : n_bytes);
}

static bool keep_input(const uint8_t *data, size_t n_bytes)
{
    if (n_inputs == INPUTS_MAX)
        return false;
    uint8_t *copy = malloc(n_bytes ? n_bytes : 1);
    if (!copy)
        return false;
    memcpy(copy, data, n_bytes);
    inputs[n_inputs++] = (struct input){copy, n_bytes};
    return true;
}

static void save_input(const uint8_t *data, size_t n_bytes)
{
    const char *path = getenv("FUZZ_SAVE");
    FILE *file = path && *path ? fopen(path, "wb") : NULL;
    if (file) {
        fwrite(data, 1, n_bytes, file);
        fclose(file);
    }
}

static void run_input(const uint8_t *data, size_t n_bytes)
{
    uint8_t *exact = malloc(n_bytes ? n_bytes : 1);
    if (!exact)
        abort();
    memcpy(exact, data, n_bytes);
    save_input(data, n_bytes);
    LLVMFuzzerTestOneInput(exact, n_bytes);
    free(exact);
}

/* Opens a gap of n bytes at `at`, or less where the capacity ends; returns what was opened. */
static size_t open_gap(uint8_t *data, size_t *n_bytes, size_t at, size_t n)
{
    if (n > CAPACITY - *n_bytes)
        n = CAPACITY - *n_bytes;
    memmove(data + at + n, data + at, *n_bytes - at);
    *n_bytes += n;
    return n;
}

static void edit(uint8_t *data, size_t *n_bytes)
{
    static const char marks[] = "0123456789-(){}[]<>|=,:;'\"\\ \n\tLTF\xff\x80\x7f";
    size_t n = *n_bytes, at = random_place(n), length;
    switch (random_below(8)) {
    case 0: /* one bit turned */
        if (n > 0)
            data[at] ^= (uint8_t)(1u << random_below(8));
        break;
    case 1: /* any byte */
        if (n > 0)
            data[at] = (uint8_t)random_next();
        break;
    case 2: /* a byte that parsers care about; the 0 that ends the string is one of them */
        if (n > 0)
            data[at] = (uint8_t)marks[random_below(sizeof marks)];
        break;
    case 3: /* such a byte put in */
        if (open_gap(data, n_bytes, at, 1) == 1)
            data[at] = (uint8_t)marks[random_below(sizeof marks)];
        break;
    case 4: /* some bytes taken out */
        length = random_below(n - at < 16 ? n - at : 16);
        memmove(data + at, data + at + length, n - at - length);
        *n_bytes -= length;
        break;
    case 5: /* some bytes doubled */
        length = open_gap(data, n_bytes, at, random_below(n - at < 16 ? n - at : 16));
        memmove(data + at, data + at + length, length);
        break;
    case 6: /* cut off, anywhere */
        *n_bytes = random_below(n + 1);
        break;
    default: /* a piece of another input laid over it */
        if (n_inputs > 0) {
            const struct input *other = &inputs[random_below((size_t)n_inputs)];
            size_t from = random_place(other->n_bytes);
            length = random_below(other->n_bytes - from);
            length = length < n - at ? length : n - at;
            memcpy(data + at, other->data + from, length);
        }
    }
}

static bool load_file(const char *path)
{
    static uint8_t data[CAPACITY];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return false;
    }
    size_t n_bytes = fread(data, 1, sizeof data, file);
    fclose(file);
    return keep_input(data, n_bytes);
}

static bool parse_number(const char *text, uint64_t *out)
{
    char *end;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

int main(int argc, char **argv)
{
    static uint8_t data[CAPACITY];
    uint64_t runs;
    size_t n_bytes;
    if (argc < 3 || !parse_number(argv[1], &random_state) || !parse_number(argv[2], &runs)) {
        fprintf(stderr, "usage: %s SEED RUNS [FILE...]\n", argv[0]);
        return 2;
    }
    for (int i = 0; (n_bytes = fuzz_seed(i, data, sizeof data)) > 0; i++)
        if (!keep_input(data, n_bytes))
            break;
    for (int i = 3; i < argc; i++)
        if (!load_file(argv[i]))
            return 2;
    run_input(data, 0);
    for (int i = 0; i < n_inputs; i++)
        run_input(inputs[i].data, inputs[i].n_bytes);
    for (uint64_t run = 0; run < runs; run++) {
        n_bytes = 0;
        if (n_inputs > 0) {
            const struct input *input = &inputs[random_below((size_t)n_inputs)];
            memcpy(data, input->data, input->n_bytes);
            n_bytes = input->n_bytes;
        }
        for (size_t edits = 1 + random_below(EDITS_MAX); edits > 0; edits--)
            edit(data, &n_bytes);
        run_input(data, n_bytes);
    }
    printf("%d inputs and %" PRIu64 " edited ones ran\n", n_inputs, runs);
    while (n_inputs > 0)
        free(inputs[--n_inputs].data);
    return 0;
}
