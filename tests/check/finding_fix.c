/* SPDX-License-Identifier: Apache-2.0 */
/* finding_fix.c - every kind of finding has a sentence on how to fix it, which depends on the memory where it must. */
#include "findings/finding_fix.h"

#include <string.h>

#include "support/unit.h"

static void every_kind(void **state)
{
    (void)state;
    for (int kind = 0; kind <= RUNG_EMULATOR_LIMIT; kind++)
        for (int memory = RUNG_EMULATOR_MEMORY_NONE; memory <= RUNG_EMULATOR_MEMORY_OTHER; memory++) {
            const char *name = rung_emulator_finding_name((rung_emulator_finding_kind)kind);
            const char *fix = lab_finding_fix(name, (rung_emulator_memory)memory);
            if (!*fix || fix[strlen(fix) - 1] != '.')
                fail_msg("%s has no sentence on how to fix it: \"%s\"", name, fix);
        }
    assert_string_not_equal(lab_finding_fix("launch-failed", RUNG_EMULATOR_MEMORY_NONE), "");
    assert_string_equal(lab_finding_fix("no-such-kind", RUNG_EMULATOR_MEMORY_NONE), "");
}

static void by_memory(void **state)
{
    (void)state;
    assert_non_null(strstr(lab_finding_fix("race", RUNG_EMULATOR_MEMORY_SHARED), "__syncthreads()"));
    assert_null(strstr(lab_finding_fix("race", RUNG_EMULATOR_MEMORY_GLOBAL), "__syncthreads()"));
    assert_non_null(strstr(lab_finding_fix("uninitialized", RUNG_EMULATOR_MEMORY_GLOBAL), "cudaMemset"));
    assert_non_null(strstr(lab_finding_fix("uninitialized", RUNG_EMULATOR_MEMORY_NONE), "initial value"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind), cmocka_unit_test(by_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
