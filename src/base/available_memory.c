/* SPDX-License-Identifier: Apache-2.0 */
/* available_memory.c - see available_memory.h. /proc/meminfo has the machine's available memory. The limit of a container
 * is not part of that number: the files of its control groups have it. */
#define _GNU_SOURCE /* PATH_MAX */
#include "base/available_memory.h"

#include <limits.h>
#include <stdio.h>

#include "base/cgroup.h"
#include "base/checked_arithmetic.h"

typedef struct cgroup_files {
    const char *limit, *used;               /* files */
    const char *page_cache, *shared_memory; /* keys of memory.stat */
} cgroup_files_t;

static const cgroup_files_t cgroup_v1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache ",
                                         "total_shmem "};
static const cgroup_files_t cgroup_v2 = {"memory.max", "memory.current", "file ", "shmem "};

/* Returns the number behind `key`, or `otherwise` if it is missing. */
static int64_t read_number(const char *folder, const char *name, const char *key, int64_t otherwise)
{
    int64_t number;
    return rungi_cgroup_read_numbers(folder, name, key, &number, 1) == 1 ? number : otherwise;
}

/* Lowers the available bytes to what one group leaves. The page cache counts as available, except for shared memory,
 * which exists nowhere else. */
static void apply_group_limit(const char *folder, bool is_v2, void *user)
{
    const cgroup_files_t *files = is_v2 ? &cgroup_v2 : &cgroup_v1;
    int64_t *available = user;
    int64_t limit = read_number(folder, files->limit, "", -1);
    if (limit < 0)
        return; /* "max", or no such file */
    int64_t page_cache = rungi_max(read_number(folder, "memory.stat", files->page_cache, 0), 0);
    int64_t shared_memory = rungi_max(read_number(folder, "memory.stat", files->shared_memory, 0), 0);
    int64_t used = read_number(folder, files->used, "", -1) - rungi_max(page_cache - shared_memory, 0);
    *available = rungi_min(*available, rungi_max(limit - rungi_max(used, 0), 0));
}

int64_t rungi_available_memory(const char *root)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/proc", root);
    int64_t kib = read_number(folder, "meminfo", "MemAvailable:", -1);
    int64_t available = kib < 0 || kib > INT64_MAX / 1024 ? 1 << 29 : kib * 1024;
    rungi_cgroup_visit(root, "memory", apply_group_limit, &available);
    return available;
}
