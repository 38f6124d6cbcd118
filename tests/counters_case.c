#include "tests/counters_case.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <string.h>

void counters_expect_same(const struct sim_counters *got, const struct sim_counters *want,
                          const char *what, const char *algorithm, uint64_t n)
{
    if (memcmp(got, want, sizeof *got) == 0)
        return;
    for (int id = 0; id < FA_HBM_TENSORS; id++)
        if (got->read[id] != want->read[id] || got->write[id] != want->write[id])
            print_error("  %s: read %" PRIu64 " for %" PRIu64 ", write %" PRIu64 " for %" PRIu64
                        "\n",
                        fa_tensor_name((enum fa_tensor_id)id), got->read[id], want->read[id],
                        got->write[id], want->write[id]);
    print_error("  matmul %" PRIu64 " for %" PRIu64 ", exp %" PRIu64 " for %" PRIu64
                ", other %" PRIu64 " for %" PRIu64 "\n",
                got->flops.matmul, want->flops.matmul, got->flops.exp, want->flops.exp,
                got->flops.other, want->flops.other);
    print_error("  visited %" PRIu64 " for %" PRIu64 ", masked %" PRIu64 " for %" PRIu64
                ", skipped %" PRIu64 " for %" PRIu64 ", peak %" PRIu64 " for %" PRIu64 "\n",
                got->tiles_visited, want->tiles_visited, got->tiles_masked, want->tiles_masked,
                got->tiles_skipped, want->tiles_skipped, got->sram_peak_bytes,
                want->sram_peak_bytes);
    fail_msg("%s: %s, shape %" PRIu64, what, algorithm, n);
}
