/* SPDX-License-Identifier: Apache-2.0 */
/* aarch64_features.c - detects instruction sets by the auxiliary vector of Linux. See aarch64_features.h. */
#define _DEFAULT_SOURCE /* prctl */
#include "base/aarch64_features.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>

/* Bits of AT_HWCAP and AT_HWCAP2, and a call of prctl(), which older headers lack. */
static const unsigned long sve_hwcap = 1ul << 22, i8mm_hwcap2 = 1ul << 13, bf16_hwcap2 = 1ul << 14;
enum { GET_SVE_LENGTH = 51, SVE_LENGTH_MASK = 0xffff };

rungi_aarch64_features rungi_aarch64_features_detect(void)
{
    unsigned long hwcap = getauxval(AT_HWCAP), hwcap2 = getauxval(AT_HWCAP2);
    int length = hwcap & sve_hwcap ? prctl(GET_SVE_LENGTH) : 0;
    return (rungi_aarch64_features){.has_i8mm = (hwcap2 & i8mm_hwcap2) != 0,
                                    .has_bf16 = (hwcap2 & bf16_hwcap2) != 0,
                                    .sve_bytes = length > 0 ? length & SVE_LENGTH_MASK : 0};
}

#else

rungi_aarch64_features rungi_aarch64_features_detect(void)
{
    return (rungi_aarch64_features){.sve_bytes = 0};
}

#endif
