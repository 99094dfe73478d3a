/* SPDX-License-Identifier: Apache-2.0 */
/* features.c - orders the instruction sets that were detected. AMX tiles also need a permission (base/amx_permission.h). */
#include "cpu/features.h"

#include <string.h>

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
    if (features->isa < RUNGI_ISA_DOT)
        features->has_vnni = features->has_bf16 = false;
    if (features->isa < RUNGI_ISA_AVX2)
        features->has_f16c = false;
}
