/* SPDX-License-Identifier: Apache-2.0 */
/* caches.h - how large this machine's caches and its memory are, as the system tells. */
#ifndef LAB_CACHES_H
#define LAB_CACHES_H

#include <stdint.h>

#include "rung/rung.h"

enum { LAB_CACHE_LEVELS = 4 };

/* Bytes of a processor's caches for data, [0] the first level's, and of memory; 0 where nothing is
 * told. A level that processors share is told whole. */
typedef struct lab_caches {
    int64_t level[LAB_CACHE_LEVELS], memory;
} lab_caches;

lab_caches lab_caches_read(void);

/* The last level that is told. */
int64_t lab_caches_last(const lab_caches *caches);

/* The last cache of a device: the system's word for the CPU, the device's own for others, and where
 * there is none more than any device of today has. */
int64_t lab_last_cache(const rung_device_info *device);

#endif /* LAB_CACHES_H */
