/* SPDX-License-Identifier: Apache-2.0 */
/* processors.h - how many processors this process may use. */
#ifndef RUNGI_CPU_PROCESSORS_H
#define RUNGI_CPU_PROCESSORS_H

#include <stddef.h>
#include <stdint.h>

/* Returns the number of processors that the calling thread may run on, limited by the CPU quota of its control groups
 * (rounded up). At least 1. */
int64_t rungi_processors_count(void);

/* Fills a bit set of `bytes` bytes, one bit per processor. Returns 0, or -1 with errno EINVAL if the set is too small. */
typedef int rungi_affinity_function(size_t bytes, void *set);

/* Return the two limits of the count; 0 if a limit is unknown. `root` is a prefix of /proc and /sys, for tests. */
int64_t rungi_processors_in_affinity(rungi_affinity_function *affinity);
int64_t rungi_processors_in_cgroup_quota(const char *root);

#endif /* RUNGI_CPU_PROCESSORS_H */
