/* SPDX-License-Identifier: Apache-2.0 */
/* features.h - the instruction sets that this process may use, and block sizes for the caches. */
#pragma once

#include <stdbool.h>

#include "cpu/cpu_caches.h"

/* Instruction sets in increasing order; each includes all before it. The words are the values of RUNG_CPU_ISA, which lowers
 * the instruction set that is used. An AArch64 processor with a later set may lack an earlier one: has_i8mm and the
 * other members of rungi_cpu_features tell. */
/* clang-format off */
#if defined(__aarch64__)
#define RUNGI_ISA_LIST(X)                                                                        \
    X(PORTABLE, "portable") /* NEON */                                                           \
    X(SVE,      "sve")      /* and SVE, if its vectors have 256 or 512 bits */                   \
    X(MMLA,     "mmla")     /* and matrix instructions: SMMLA (i8mm) and BFMMLA (bf16) */
#else
#define RUNGI_ISA_LIST(X)                                                                        \
    X(PORTABLE, "portable") /* plain C */                                                        \
    X(AVX2,     "avx2")     /* AVX2 and FMA */                                                   \
    X(AVX512,   "avx512")   /* AVX-512 F, BW, DQ, VL */                                          \
    X(DOT,      "dot")      /* and dot products: VNNI, and BF16 if present */   \
    X(AMX,      "amx")      /* AMX tiles of BF16 and INT8 */
#endif
/* clang-format on */

typedef enum rungi_isa {
#define X(name, word) RUNGI_ISA_##name,
    RUNGI_ISA_LIST(X)
#undef X
        RUNGI_ISA_COUNT,
#if defined(__aarch64__) /* for comparisons in code that other processors share: always higher than what was detected */
    RUNGI_ISA_AVX2,
    RUNGI_ISA_AVX512
#endif
} rungi_isa;

/* How many bytes of each operand the kernels handle at a time, derived from the caches (block_sizes.c). */
typedef struct rungi_cpu_block_sizes {
    int64_t packed_b;   /* 10_pipeline: a packed block of B, KC x NC. 09_warptile: a block of A. */
    int64_t cached_a;   /* 10_pipeline: copied rows of A that several blocks of B use */
    int64_t cached_b;   /* 12_matrix: packed slices of B that several blocks of rows use */
    int64_t amx_panel;  /* 12_matrix: KC bytes of each of the 32 rows of a panel */
    int64_t l1_tiles;   /* 10_pipeline: tiles of an unpacked B that panels of A share in L1 */
    int64_t a_panel;    /* 10_pipeline: KC steps of the rows of a tile, which stay in L1 for all columns */
    int64_t l1_ways;    /* 10_pipeline: lines of one set of L1 */
    int64_t l1_b;       /* 10_pipeline: up to this, B is read in place if that fits its columns better */
    int64_t l2_b;       /* 10_pipeline: up to this, an unpacked B stays in L2 */
    int64_t few_rows_b; /* 10_pipeline: larger than this, an unpacked B is read a few rows at a time */
    int64_t
        in_place_b; /* 10_pipeline: larger than this, B is read in place, or one packed tile at a time, for more rows of A */
    int64_t prefetch_c;    /* 10_pipeline: larger than this, C is prefetched */
    int64_t half_l2;       /* 12_matrix: KD x NC bytes of B, and MC x NC sums */
    int64_t small_operand; /* 12_matrix: up to this, A and B each stay in L2 */
    int64_t l3_share;      /* of one core, or its L2 if that is larger */
} rungi_cpu_block_sizes;

rungi_cpu_block_sizes rungi_cpu_block_sizes_derive(const rungi_caches *caches);

typedef struct rungi_cpu_features {
    rungi_isa isa;
    bool has_vnni;           /* false below RUNGI_ISA_DOT */
    bool has_bf16, has_i8mm; /* false below RUNGI_ISA_DOT, and on AArch64 below RUNGI_ISA_MMLA */
    bool has_f16c;
    int sve_bytes; /* per vector: 32 or 64; 0 if SVE is not used */
    rungi_cpu_block_sizes blocks;
} rungi_cpu_features;

/* RUNG_CPU_ISA, whose values are the words above. */
extern const rungi_environment_variable rungi_isa_variable;

/* Detects the instruction sets, limited by a valid RUNG_CPU_ISA. The block sizes are for the caches that
 * RUNG_CPU_CACHES describes, or else for those that were detected. */
void rungi_cpu_features_detect(rungi_cpu_features *features);

const char *rungi_isa_name(rungi_isa isa);

/* Writes the instruction sets that may be used, for the description of the device: ", NEON, SVE 256, i8mm". Writes nothing on x86-64,
 * where the name of the processor implies them. */
void rungi_instruction_sets_describe(char *text, size_t bytes);
