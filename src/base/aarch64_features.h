/* SPDX-License-Identifier: Apache-2.0 */
/* aarch64_features.h - the instruction sets of an AArch64 processor beyond NEON, which all of them have. */
#pragma once

#include <stdbool.h>

typedef struct rungi_aarch64_features {
    bool has_i8mm, has_bf16; /* matrix instructions of INT8 (SMMLA) and of BF16 (BFMMLA) */
    int sve_bytes;           /* bytes per SVE vector of the calling thread; 0 without SVE */
} rungi_aarch64_features;

/* Returns what the system reports. All members are 0 on other processors, and on systems other than Linux. */
rungi_aarch64_features rungi_aarch64_features_detect(void);
