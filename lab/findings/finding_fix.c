/* SPDX-License-Identifier: Apache-2.0 */
/* finding_fix.c - searches finding_fixes.def. */
#include "findings/finding_fix.h"

#include <string.h>

enum { ANY = -1, GLOBAL = RUNG_EMULATOR_MEMORY_GLOBAL, SHARED = RUNG_EMULATOR_MEMORY_SHARED };
enum {
    UPDATE = RUNG_EMULATOR_CAUSE_UPDATE,
    WARP = RUNG_EMULATOR_CAUSE_WARP,
    FENCE = RUNG_EMULATOR_CAUSE_FENCE,
    NULL_POINTER = RUNG_EMULATOR_CAUSE_NULL,
    FOREIGN = RUNG_EMULATOR_CAUSE_FOREIGN,
    HEAP = RUNG_EMULATOR_CAUSE_HEAP,
    GRID_SYNC = RUNG_EMULATOR_CAUSE_GRID_SYNC
};

const char *lab_finding_fix(const char *kind, rung_emulator_memory memory, rung_emulator_cause cause)
{
    static const struct {
        const char *kind;
        int memory, cause;
        const char *sentence;
    } fixes[] = {
#define FINDING_FIX(name, memory, cause, sentence) {name, memory, cause, sentence},
#include "findings/finding_fixes.def"
#undef FINDING_FIX
    };
    for (size_t i = 0; i < sizeof fixes / sizeof *fixes; i++)
        if (strcmp(fixes[i].kind, kind) == 0 && (fixes[i].memory == ANY || fixes[i].memory == (int)memory) &&
            (fixes[i].cause == ANY || fixes[i].cause == (int)cause))
            return fixes[i].sentence;
    return "";
}
