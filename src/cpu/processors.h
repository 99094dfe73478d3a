/* SPDX-License-Identifier: Apache-2.0 */
/* processors.h - how many processors this process may use. */
#ifndef RUNGI_CPU_PROCESSORS_H
#define RUNGI_CPU_PROCESSORS_H

#include <stddef.h>
#include <stdint.h>

/* Those that the calling thread may run on, or what its control groups give it the time of,
 * rounded up, where that is less. At least 1. */
int64_t rungi_processors_count(void);

/* Fills a set of so many bytes, one bit a processor; 0, or -1 with errno EINVAL where the
 * machine has more than fit. */
typedef int rungi_affinity_function(size_t bytes, void *set);

/* The two that the count is made of; 0 where nothing is told. `root` stands before /proc and
 * /sys. */
int64_t rungi_processors_allowed(rungi_affinity_function *affinity);
int64_t rungi_processors_quota(const char *root);

#endif /* RUNGI_CPU_PROCESSORS_H */
