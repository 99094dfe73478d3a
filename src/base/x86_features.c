/* SPDX-License-Identifier: Apache-2.0 */
/* x86_features.c - detects instruction sets: CPUID reports what the processor has, XCR0 which registers the system saves. */
#include "base/x86_features.h"

#include <pthread.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <cpuid.h>

/* Bits of CPUID, by leaf and register, and of XCR0. */
#define BIT(n) (UINT32_C(1) << (n))
static const uint32_t fma_1c = BIT(12), osxsave_1c = BIT(27), avx_1c = BIT(28), f16c_1c = BIT(29);
static const uint32_t avx2_7b = BIT(5), avx512f_7b = BIT(16), avx512_7b = BIT(16) | BIT(17) | BIT(30) | BIT(31);
static const uint32_t vnni_7c = BIT(11), amx_7d = BIT(22) | BIT(24) | BIT(25), bf16_71a = BIT(5);
static const uint64_t ymm_state = 0x6, zmm_state = 0xe6, tile_state = 0x60000;

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

static void detect_avx512(rungi_x86_features *found, uint64_t saved)
{
    uint32_t a, b, c, d, a1, b1, c1, d1;
    if (!has_all_bits(saved, zmm_state) || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return;
    found->has_avx512f = has_all_bits(b, avx512f_7b);
    found->has_avx512 = has_all_bits(b, avx512_7b);
    found->has_avx512_vnni = found->has_avx512 && has_all_bits(c, vnni_7c);
    found->has_avx512_bf16 = found->has_avx512 && a >= 1 && __get_cpuid_count(7, 1, &a1, &b1, &c1, &d1) &&
                             has_all_bits(a1, bf16_71a);
    found->has_amx = has_all_bits(saved, tile_state) && has_all_bits(d, amx_7d);
}

static rungi_x86_features features;

static void detect(void)
{
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has_all_bits(c, osxsave_1c | avx_1c | fma_1c))
        return;
    uint64_t saved = read_xcr0();
    features.has_f16c = has_all_bits(c, f16c_1c);
    if (!has_all_bits(saved, ymm_state) || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has_all_bits(b, avx2_7b))
        return;
    features.has_avx2_fma = true;
    detect_avx512(&features, saved);
}

rungi_x86_features rungi_x86_features_detect(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, detect);
    return features;
}

#else

rungi_x86_features rungi_x86_features_detect(void)
{
    return (rungi_x86_features){.has_f16c = false};
}

#endif
