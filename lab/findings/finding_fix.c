/* SPDX-License-Identifier: Apache-2.0 */
/* finding_fix.c - searches finding_fixes.def. */
#include "findings/finding_fix.h"

#include <string.h>

enum { ANY = -1, GLOBAL = RUNG_EMULATOR_MEMORY_GLOBAL, SHARED = RUNG_EMULATOR_MEMORY_SHARED };

const char *lab_finding_fix(const char *kind, rung_emulator_memory memory)
{
    static const struct {
        const char *kind;
        int memory;
        const char *sentence;
    } fixes[] = {
#define FINDING_FIX(name, memory, sentence) {name, memory, sentence},
#include "findings/finding_fixes.def"
#undef FINDING_FIX
    };
    for (size_t i = 0; i < sizeof fixes / sizeof *fixes; i++)
        if (strcmp(fixes[i].kind, kind) == 0 && (fixes[i].memory == ANY || fixes[i].memory == (int)memory))
            return fixes[i].sentence;
    return "";
}
