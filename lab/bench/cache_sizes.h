/* SPDX-License-Identifier: Apache-2.0 */
/* cache_sizes.h - reads the sizes of this machine's caches and memory from the system. */
#ifndef LAB_CACHE_SIZES_H
#define LAB_CACHE_SIZES_H

#include <stdint.h>

#include "rung/rung.h"

enum { LAB_CACHE_LEVELS = 4 };

/* Bytes of the data caches of a processor, level[0] being L1, and of the memory; 0 if unknown. A level that processors share
 * counts as a whole. */
typedef struct lab_cache_sizes {
    int64_t level[LAB_CACHE_LEVELS], memory;
} lab_cache_sizes;

lab_cache_sizes lab_cache_sizes_read(void);

/* Returns the bytes of the last level whose size is known. */
int64_t lab_cache_sizes_last_level(const lab_cache_sizes *caches);

/* Returns the last-level cache of a device in bytes: from the system for the CPU, from the driver for others, and 256 MiB,
 * more than any device has, if neither knows it. */
int64_t lab_device_last_level_cache(const rung_device_info *device);

#endif /* LAB_CACHE_SIZES_H */
