/* SPDX-License-Identifier: Apache-2.0 */
/* features.h - the instruction sets that this process may use, and block sizes for the caches. */
#ifndef RUNGI_CPU_FEATURES_H
#define RUNGI_CPU_FEATURES_H

#include <stdbool.h>

#include "core/environment.h"
#include "cpu/block_sizes.h"

/* Instruction sets in increasing order; each includes all before it. The words are the values of RUNG_CPU_ISA, which lowers
 * the instruction set that is used. */
/* clang-format off */
#define RUNGI_ISA_LIST(X)                                                                        \
    X(PORTABLE, "portable") /* plain C */                                                        \
    X(AVX2,     "avx2")     /* AVX2 and FMA */                                                   \
    X(AVX512,   "avx512")   /* AVX-512 F, BW, DQ, VL */                                          \
    X(DOT,      "dot")      /* and dot products: VNNI, and BF16 if present */   \
    X(AMX,      "amx")      /* AMX tiles of BF16 and INT8 */
/* clang-format on */

typedef enum rungi_isa {
#define X(name, word) RUNGI_ISA_##name,
    RUNGI_ISA_LIST(X)
#undef X
        RUNGI_ISA_COUNT
} rungi_isa;

typedef struct rungi_cpu_features {
    rungi_isa isa;
    bool has_vnni, has_bf16; /* false below RUNGI_ISA_DOT */
    bool has_f16c;
    rungi_cpu_block_sizes blocks;
} rungi_cpu_features;

/* RUNG_CPU_ISA, whose values are the words above. */
extern const rungi_environment_variable rungi_isa_variable;

/* Detects the instruction sets, limited by a valid RUNG_CPU_ISA. The block sizes are for the caches that
 * RUNG_CPU_CACHES describes, or else for those that were detected. */
void rungi_cpu_features_detect(rungi_cpu_features *features);

const char *rungi_isa_name(rungi_isa isa);

/* Requests permission to use AMX tiles from the system. Returns false if the system denies it. */
bool rungi_cpu_amx_request(void);

#endif /* RUNGI_CPU_FEATURES_H */
