/*
 * What a fuzz target offers: libFuzzer's entry, and a few valid inputs to start from.
 *
 * A target is linked with libFuzzer (clang -fsanitize=fuzzer), or with fuzz_main.c, which needs no
 * special compiler.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Runs one input: returns 0, and aborts if the code under test breaks its contract. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* How a target says that the contract is broken. */
static inline void fuzz_expect(int condition)
{
    if (!condition)
        abort();
}

/* Writes valid input number `index` to data[capacity] and returns its bytes; 0 past the last one.
 * Optional: fuzz_main.c has a weak one without inputs. libFuzzer takes its own corpus instead. */
size_t fuzz_seed(int index, uint8_t *data, size_t capacity);

#endif
