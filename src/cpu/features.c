/* SPDX-License-Identifier: Apache-2.0 */
/* features.c - detects instruction sets: CPUID reports what the processor has, XCR0 which registers the system saves. AMX
 * tiles also need a permission, which is the only state of the process that the library changes. */
#define _GNU_SOURCE /* syscall */
#include "cpu/features.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

static const char *const names[] = {
#define X(name, word) word,
    RUNGI_ISA_LIST(X)
#undef X
};

const char *rungi_isa_name(rungi_isa isa)
{
    return isa < RUNGI_ISA_COUNT ? names[isa] : "?";
}

#if defined(__x86_64__)
static uint64_t read_xcr0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool has_all_bits(uint64_t bits, uint64_t mask)
{
    return (bits & mask) == mask;
}

static void detect_instruction_sets(rungi_cpu_features *found)
{
    enum { FMA = 1 << 12, OSXSAVE = 1 << 27, AVX = 1 << 28, F16C = 1 << 29 };             /* 1, ecx */
    enum { AVX2 = 1 << 5, F = 1 << 16, DQ = 1 << 17, BW = 1 << 30, VNNI = 1 << 11 };      /* 7, ebx; ecx */
    const uint32_t vl = 1u << 31, tiles = 1u << 24 | 1u << 25 | 1u << 22, bf16 = 1u << 5; /* ebx; edx; 7.1 eax */
    enum { YMM = 0x6, ZMM = 0xe6, TILES = 0x60000 };                                      /* XCR0 */
    uint32_t a, b, c, d, a1, b1, c1, d1;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has_all_bits(c, OSXSAVE | AVX | FMA))
        return;
    uint64_t saved = read_xcr0();
    found->has_f16c = has_all_bits(c, F16C);
    if (!has_all_bits(saved, YMM) || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has_all_bits(b, AVX2))
        return;
    found->isa = RUNGI_ISA_AVX2;
    if (!has_all_bits(saved, ZMM) || !has_all_bits(b, F | DQ | BW) || !has_all_bits(b, vl) || !found->has_f16c)
        return;
    found->isa = RUNGI_ISA_AVX512;
    found->has_vnni = has_all_bits(c, VNNI);
    found->has_bf16 = a >= 1 && __get_cpuid_count(7, 1, &a1, &b1, &c1, &d1) && has_all_bits(a1, bf16);
    if (!found->has_vnni)
        return;
    found->isa = RUNGI_ISA_DOT;
    if (has_all_bits(saved, TILES) && has_all_bits(d, tiles) && found->has_bf16)
        found->isa = RUNGI_ISA_AMX;
}

#endif

bool rungi_cpu_amx_request(void)
{
#if defined(__x86_64__)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
    return false;
#endif
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
#if defined(__x86_64__)
    detect_instruction_sets(features);
#endif
    if (requested && isa_from_name(requested) < features->isa)
        features->isa = isa_from_name(requested);
    if (features->isa < RUNGI_ISA_DOT)
        features->has_vnni = features->has_bf16 = false;
    if (features->isa < RUNGI_ISA_AVX2)
        features->has_f16c = false;
}
