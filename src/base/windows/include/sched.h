/* SPDX-License-Identifier: Apache-2.0 */
/* sched.h - the processors of a process (system.c): those of its group, of which there are at most 64. */
#pragma once

#include_next <sched.h>

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CPU_SETSIZE 64

typedef struct {
    uint64_t bits[CPU_SETSIZE / 64];
} cpu_set_t;

#define CPU_ALLOC(count) ((cpu_set_t *)malloc((count) / 8))
#define CPU_ALLOC_SIZE(count) ((count) / 8)
#define CPU_FREE(set) free(set)
#define CPU_COUNT_S(bytes, set) __builtin_popcountll((set)->bits[0])
#define CPU_ZERO(set) memset((set), 0, sizeof *(set))
#define CPU_SET(index, set) ((void)((set)->bits[0] |= (uint64_t)1 << (index)))

int sched_getaffinity(int process, size_t bytes, cpu_set_t *set);
int sched_setaffinity(int process, size_t bytes, const cpu_set_t *set);
int sched_getcpu(void);
