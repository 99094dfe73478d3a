/* SPDX-License-Identifier: Apache-2.0 */
/* features.c - orders the instruction sets that were detected. AMX tiles also need a permission (base/amx_permission.h). */
#include "cpu/features.h"

#include <stdio.h>
#include <string.h>

#include "base/aarch64_features.h"
#include "base/x86_features.h"

static const char *const names[] = {
#define X(name, word) word,
    RUNGI_ISA_LIST(X)
#undef X
};

const char *rungi_isa_name(rungi_isa isa)
{
    return isa < RUNGI_ISA_COUNT ? names[isa] : "?";
}

#if defined(__aarch64__)
/* SVE with vectors of 16 bytes gains nothing over NEON. Not every compiler builds the micro-kernels. */
static bool has_sve_microkernels(int vector_bytes)
{
#if defined(RUNGI_HAS_SVE)
    return vector_bytes == 32 || vector_bytes == 64;
#else
    (void)vector_bytes;
    return false;
#endif
}

static void detect_instruction_sets(rungi_cpu_features *found)
{
    rungi_aarch64_features arm = rungi_aarch64_features_detect();
    found->has_i8mm = arm.has_i8mm;
    found->has_bf16 = arm.has_bf16;
    found->sve_bytes = has_sve_microkernels(arm.sve_bytes) ? arm.sve_bytes : 0;
    found->isa = arm.has_i8mm || arm.has_bf16 ? RUNGI_ISA_MMLA : found->sve_bytes ? RUNGI_ISA_SVE : RUNGI_ISA_PORTABLE;
}

/* Removes what the instruction set that was requested does not include. */
static void remove_later_sets(rungi_cpu_features *features)
{
    if (features->isa < RUNGI_ISA_MMLA)
        features->has_i8mm = features->has_bf16 = false;
    if (features->isa < RUNGI_ISA_SVE)
        features->sve_bytes = 0;
}
#else
/* Each instruction set of rungi_isa includes those before it. */
static void detect_instruction_sets(rungi_cpu_features *found)
{
    rungi_x86_features x86 = rungi_x86_features_detect();
    found->has_f16c = x86.has_f16c;
    if (!x86.has_avx2_fma)
        return;
    found->isa = RUNGI_ISA_AVX2;
    if (!x86.has_avx512 || !x86.has_f16c)
        return;
    found->isa = RUNGI_ISA_AVX512;
    found->has_vnni = x86.has_avx512_vnni;
    found->has_bf16 = x86.has_avx512_bf16;
    if (found->has_vnni)
        found->isa = x86.has_amx && found->has_bf16 ? RUNGI_ISA_AMX : RUNGI_ISA_DOT;
}

/* Removes what the instruction set that was requested does not include. */
static void remove_later_sets(rungi_cpu_features *features)
{
    if (features->isa < RUNGI_ISA_DOT)
        features->has_vnni = features->has_bf16 = false;
    if (features->isa < RUNGI_ISA_AVX2)
        features->has_f16c = false;
}
#endif

/* Returns RUNGI_ISA_COUNT for an unknown word. */
static rungi_isa isa_from_name(const char *word)
{
    int isa = 0;
    while (isa < RUNGI_ISA_COUNT && strcmp(word, names[isa]) != 0)
        isa++;
    return (rungi_isa)isa;
}

static bool is_isa_name(const char *value)
{
    return isa_from_name(value) != RUNGI_ISA_COUNT;
}

const rungi_environment_variable rungi_isa_variable = {"RUNG_CPU_ISA",
                                                       "one of"
#define X(name, word) " " word
                                                       RUNGI_ISA_LIST(X)
#undef X
                                                           ,
                                                       is_isa_name, false};

void rungi_cpu_features_detect(rungi_cpu_features *features)
{
    const char *requested = rungi_environment_variable_value(&rungi_isa_variable);
    rungi_caches caches = rungi_caches_effective();
    *features = (rungi_cpu_features){.blocks = rungi_cpu_block_sizes_derive(&caches)};
    detect_instruction_sets(features);
    if (requested && isa_from_name(requested) < features->isa)
        features->isa = isa_from_name(requested);
    remove_later_sets(features);
}

void rungi_instruction_sets_describe(char *text, size_t bytes)
{
#if defined(__aarch64__)
    rungi_cpu_features features;
    rungi_cpu_features_detect(&features);
    char sve[16] = "";
    if (features.sve_bytes > 0)
        snprintf(sve, sizeof sve, ", SVE %d", 8 * features.sve_bytes);
    snprintf(text, bytes, ", NEON%s%s%s", sve, features.has_i8mm ? ", i8mm" : "", features.has_bf16 ? ", bf16" : "");
#else
    snprintf(text, bytes, "%s", "");
#endif
}
