/* SPDX-License-Identifier: Apache-2.0 */
/* x86_features.h - the instruction sets of an x86 processor. __builtin_cpu_supports() is not used: it needs a variable of
 * the compiler's own library, which not every compiler provides. */
#pragma once

#include <stdbool.h>

/* Instruction sets that the processor has and whose registers the system saves. AVX-512 without a suffix is F, DQ, BW and
 * VL. */
typedef struct rungi_x86_features {
    bool has_f16c, has_avx2_fma;
    bool has_avx512f, has_avx512, has_avx512_vnni, has_avx512_bf16;
    bool has_amx; /* tiles of BF16 and INT8; using them also needs a permission of the system */
} rungi_x86_features;

/* Returns what CPUID reports. It is asked once per process, because virtual machines answer slowly. All members are false
 * on other processors. Safe to call from several threads. */
rungi_x86_features rungi_x86_features_detect(void);
