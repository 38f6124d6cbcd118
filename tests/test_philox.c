/* Philox4x32-10 against the known answers that its authors publish with Random123. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "reference/philox.h"

static void test_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4];
        uint64_t key;
        uint32_t words[4];
    } answers[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         0xffffffffffffffff,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         0x299f31d0a4093822,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        uint32_t words[4];
        fa_philox4x32(answers[i].key, answers[i].counter, words);
        assert_memory_equal(words, answers[i].words, sizeof words);
    }
}

/* The caller may want its words where its counter was. */
static void test_in_place(void **state)
{
    (void)state;
    static const uint32_t expected[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    uint32_t words[4] = {0, 0, 0, 0};
    fa_philox4x32(0, words, words);
    assert_memory_equal(words, expected, sizeof words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_in_place),
    };
    return cmocka_run_group_tests_name("philox", tests, NULL, NULL);
}
