/* SPDX-License-Identifier: Apache-2.0 */
/* finding_fix.c - every kind of finding has a sentence on how to fix it, which depends on the memory and on the cause
 * where it must. */
#include "findings/finding_fix.h"

#include <string.h>

#include "support/unit.h"

enum { MEMORIES = RUNG_EMULATOR_MEMORY_OTHER + 1, CAUSES = RUNG_EMULATOR_CAUSE_GRID_SYNC + 1 };

static void every_kind(void **state)
{
    (void)state;
    for (int kind = 0; kind <= RUNG_EMULATOR_LIMIT; kind++)
        for (int i = 0; i < MEMORIES * CAUSES; i++) {
            int memory = i % MEMORIES, cause = i / MEMORIES;
            const char *name = rung_emulator_finding_name((rung_emulator_finding_kind)kind);
            const char *fix = lab_finding_fix(name, (rung_emulator_memory)memory, (rung_emulator_cause)cause);
            if (!*fix || fix[strlen(fix) - 1] != '.')
                fail_msg("%s has no sentence on how to fix it: \"%s\"", name, fix);
        }
    assert_string_not_equal(lab_finding_fix("launch-failed", RUNG_EMULATOR_MEMORY_NONE, RUNG_EMULATOR_CAUSE_NONE), "");
    assert_string_equal(lab_finding_fix("no-such-kind", RUNG_EMULATOR_MEMORY_NONE, RUNG_EMULATOR_CAUSE_NONE), "");
}

static void by_memory(void **state)
{
    (void)state;
    assert_non_null(
        strstr(lab_finding_fix("race", RUNG_EMULATOR_MEMORY_SHARED, RUNG_EMULATOR_CAUSE_NONE), "__syncthreads()"));
    assert_null(
        strstr(lab_finding_fix("race", RUNG_EMULATOR_MEMORY_GLOBAL, RUNG_EMULATOR_CAUSE_NONE), "__syncthreads()"));
    assert_non_null(
        strstr(lab_finding_fix("uninitialized", RUNG_EMULATOR_MEMORY_GLOBAL, RUNG_EMULATOR_CAUSE_NONE), "cudaMemset"));
    assert_non_null(
        strstr(lab_finding_fix("uninitialized", RUNG_EMULATOR_MEMORY_NONE, RUNG_EMULATOR_CAUSE_NONE), "initial value"));
}

static const char *fix_of(const char *kind, rung_emulator_cause cause)
{
    return lab_finding_fix(kind, RUNG_EMULATOR_MEMORY_GLOBAL, cause);
}

static void by_cause(void **state)
{
    (void)state;
    assert_non_null(strstr(fix_of("race", RUNG_EMULATOR_CAUSE_UPDATE), "atomicAdd()"));
    assert_non_null(strstr(fix_of("race", RUNG_EMULATOR_CAUSE_WARP), "__syncwarp()"));
    assert_non_null(strstr(fix_of("race", RUNG_EMULATOR_CAUSE_FENCE), "__threadfence()"));
    assert_non_null(strstr(fix_of("out-of-bounds", RUNG_EMULATOR_CAUSE_FOREIGN), "memory of the host"));
    assert_non_null(strstr(fix_of("out-of-bounds", RUNG_EMULATOR_CAUSE_NULL), "result of cudaMalloc()"));
    assert_non_null(strstr(fix_of("trap", RUNG_EMULATOR_CAUSE_HEAP), "cudaMalloc()"));
    assert_non_null(strstr(fix_of("trap", RUNG_EMULATOR_CAUSE_GRID_SYNC), "cooperative"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind), cmocka_unit_test(by_memory),
                                       cmocka_unit_test(by_cause)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
