/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_caches.h - the sizes of the processor's data caches, from which block_sizes.c derives block sizes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/environment.h"

/* Bytes of the data caches of one core. 0 means unknown or absent. */
typedef struct rungi_caches {
    int64_t l1, l2, l3;
    int64_t l3_cores; /* cores that share the L3; at least 1 */
} rungi_caches;

/* One subleaf of CPUID leaf 4 (Intel) or 0x8000001D (AMD). Both leaves have the same format. */
typedef struct rungi_cpuid {
    uint32_t eax, ebx, ecx, edx;
} rungi_cpuid;

/* Decodes subleaves 0 to count - 1, up to the first that describes no cache. CPUID reports how many
 * thread identifiers share a cache, which may be more than there are threads. */
rungi_caches rungi_caches_decode(const rungi_cpuid *subleaves, int count);

/* Reads a folder such as /sys/devices/system/cpu/cpu0/cache. Everything is 0 where it is missing. */
rungi_caches rungi_caches_read(const char *folder);

/* Combines what CPUID and the system report. Where both know a size, the smaller one counts: the
 * cores of one processor may differ. The system knows better which cores share the L3. */
rungi_caches rungi_caches_merge(rungi_caches from_cpuid, rungi_caches from_system);

/* Parses a value of RUNG_CPU_CACHES such as "32K,256K,8M/4": sizes of L1, L2 and L3 in bytes or with
 * a suffix K, M or G, and after a slash the number of cores that share the L3. The L3 may be
 * omitted. Returns false, and leaves `caches` alone, if the text is anything else. */
bool rungi_caches_parse(const char *text, rungi_caches *caches);

/* Returns the caches that CPUID reports for the core that this thread runs on and the system for
 * processor 0, the smaller of both. Unknown L1 and L2 sizes are assumed
 * to be small. */
rungi_caches rungi_caches_detect(void);

/* Describes RUNG_CPU_CACHES, whose values are those of rungi_caches_parse. */
extern const rungi_environment_variable rungi_caches_variable;

/* Returns the caches that RUNG_CPU_CACHES describes, or those of rungi_caches_detect. */
rungi_caches rungi_caches_effective(void);
