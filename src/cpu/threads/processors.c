/* SPDX-License-Identifier: Apache-2.0 */
/* processors.c - counts the processors that this process may use. More threads would make a multiplication slower.
 *
 * Two limits apply: the CPU affinity of the process, and the CPU quota of its control groups, which is how a container
 * gets 2 of 64 CPUs. The quota of every parent group applies too. */
#define _GNU_SOURCE /* sched_getaffinity, CPU_ALLOC */
#include "cpu/threads/pool.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/checked_arithmetic.h"

/* ---- Affinity ----------------------------------------------------------------------------------- */

static int own_affinity(size_t bytes, void *set)
{
    return sched_getaffinity(0, bytes, set);
}

int64_t rungi_processors_in_affinity(rungi_affinity_function *affinity)
{
    enum { FIRST = 1024, LAST = 1 << 20 }; /* processors; a cpu_set_t has 1024 */
    for (size_t size = FIRST; size <= LAST; size *= 2) {
        cpu_set_t *set = CPU_ALLOC(size);
        size_t bytes = CPU_ALLOC_SIZE(size);
        bool is_known = set && affinity(bytes, set) == 0;
        bool is_larger = set && !is_known && errno == EINVAL;
        int64_t count = is_known ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (!is_larger)
            return count;
    }
    return 0;
}

/* ---- Control groups ------------------------------------------------------------------------------ */

static int64_t tighter(int64_t limit, int64_t other)
{
    return limit == 0 || (other > 0 && other < limit) ? other : limit;
}

/* Lowers the limit to a group's quota of processor time, rounded up to whole processors. Version 2 has
 * "150000 100000" or "max 100000" in one file; in version 1 a quota of -1 is no limit. */
static void apply_group_quota(const char *folder, bool is_v2, void *user)
{
    int64_t *limit = user, quota[2] = {0, 0};
    if (is_v2) {
        rungi_cgroup_read_numbers(folder, "cpu.max", "", quota, 2);
    } else {
        rungi_cgroup_read_numbers(folder, "cpu.cfs_quota_us", "", &quota[0], 1);
        rungi_cgroup_read_numbers(folder, "cpu.cfs_period_us", "", &quota[1], 1);
    }
    if (quota[0] > 0 && quota[1] > 0)
        *limit = tighter(*limit, rungi_ceil_divide(quota[0], quota[1]));
}

int64_t rungi_processors_in_cgroup_quota(const char *root)
{
    int64_t limit = 0;
    rungi_cgroup_visit(root, "cpu", apply_group_quota, &limit);
    return limit;
}

/* ---- Both ----------------------------------------------------------------------------------------- */

int64_t rungi_processors_count(void)
{
    int64_t count = rungi_processors_in_affinity(own_affinity);
    if (count == 0)
        count = sysconf(_SC_NPROCESSORS_ONLN);
    count = tighter(rungi_processors_in_cgroup_quota(""), count);
    return count > 0 ? count : 1;
}
