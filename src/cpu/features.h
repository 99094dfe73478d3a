/* SPDX-License-Identifier: Apache-2.0 */
/* features.h - which instructions this processor has and this process may use, and the block sizes for
 * its caches. */
#ifndef RUNGI_CPU_FEATURES_H
#define RUNGI_CPU_FEATURES_H

#include <stdbool.h>

#include "core/environment.h"
#include "cpu/blocks.h"

/* From least to most; each has all before it. The words are those of RUNG_CPU_ISA, which takes
 * a processor for less than it is. */
/* clang-format off */
#define RUNGI_ISA_LIST(X)                                                                        \
    X(PORTABLE, "portable") /* plain C */                                                        \
    X(AVX2,     "avx2")     /* AVX2 and FMA */                                                   \
    X(AVX512,   "avx512")   /* AVX-512 F, BW, DQ, VL */                                          \
    X(DOT,      "dot")      /* and its dot products: VNNI of bytes, BF16 where that is there */   \
    X(AMX,      "amx")      /* AMX tiles of BF16 and of bytes */
/* clang-format on */

typedef enum rungi_isa {
#define X(name, word) RUNGI_ISA_##name,
    RUNGI_ISA_LIST(X)
#undef X
        RUNGI_ISA_COUNT
} rungi_isa;

typedef struct rungi_cpu_features {
    rungi_isa isa;
    bool has_vnni, has_bf16; /* of DOT and above */
    bool has_f16c;
    rungi_blocks blocks;
} rungi_cpu_features;

/* RUNG_CPU_ISA, whose values are the words above. */
extern const rungi_variable rungi_isa_variable;

/* Detects the instruction sets, limited by a valid RUNG_CPU_ISA. The block sizes are for the caches that
 * RUNG_CPU_CACHES describes, or else for those that were detected. */
void rungi_cpu_features_find(rungi_cpu_features *features);

const char *rungi_isa_name(rungi_isa isa);

/* Asks the system for the tiles of AMX, which it gives a process that asks. False if it does
 * not. */
bool rungi_cpu_ask_for_tiles(void);

#endif /* RUNGI_CPU_FEATURES_H */
