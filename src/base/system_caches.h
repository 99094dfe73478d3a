/* SPDX-License-Identifier: Apache-2.0 */
/* system_caches.h - the sizes of the data caches, as a call of the system reports them. Linux has files instead, which
 * cpu/cpu_caches.c reads, and on x86 the processor reports its caches itself. */
#pragma once

#include <stdint.h>

/* Bytes; 0: unknown. `cores` share the last cache. */
typedef struct rungi_system_caches {
    int64_t l1, l2, l3, cores;
} rungi_system_caches;

rungi_system_caches rungi_system_caches_read(void);
