/* SPDX-License-Identifier: Apache-2.0 */
/* sched.h - macOS does not bind threads to processors: every process may use all of them (system.c). */
#pragma once

#include_next <sched.h>

#include <stddef.h>
#include <stdlib.h>

#define CPU_SETSIZE 1024

typedef struct {
    int count; /* of processors */
} cpu_set_t;

#define CPU_ALLOC(count) ((cpu_set_t *)malloc((count) / 8))
#define CPU_ALLOC_SIZE(count) ((count) / 8)
#define CPU_FREE(set) free(set)
#define CPU_COUNT_S(bytes, set) ((void)(bytes), (set)->count)
#define CPU_ZERO(set) ((void)((set)->count = 0))
#define CPU_SET(index, set) ((void)(index), (void)(set))

int sched_getaffinity(int process, size_t bytes, cpu_set_t *set);
int sched_setaffinity(int process, size_t bytes, const cpu_set_t *set);
int sched_getcpu(void);
