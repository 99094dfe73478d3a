/* SPDX-License-Identifier: Apache-2.0 */
/* processors.c - how many processors this process may use.
 *
 * More threads than that make a multiply slower, and the two things that limit a process, its
 * affinity and the quota of its control groups (which is how a container is given "2 CPUs" of
 * 64), are told in different places. A group is limited by each group above it too. */
#define _GNU_SOURCE /* sched_getaffinity, CPU_ALLOC */
#include "cpu/processors.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Affinity ----------------------------------------------------------------------------------- */

static int own_affinity(size_t bytes, void *set)
{
    return sched_getaffinity(0, bytes, set);
}

int64_t rungi_processors_allowed(rungi_affinity_function *affinity)
{
    enum { FIRST = 1024, LAST = 1 << 20 }; /* processors; a cpu_set_t has 1024 */
    for (size_t size = FIRST; size <= LAST; size *= 2) {
        cpu_set_t *set = CPU_ALLOC(size);
        size_t bytes = CPU_ALLOC_SIZE(size);
        bool is_told = set && affinity(bytes, set) == 0;
        bool is_larger = set && !is_told && errno == EINVAL;
        int64_t count = is_told ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (!is_larger)
            return count;
    }
    return 0;
}

/* ---- Control groups ------------------------------------------------------------------------------ */

enum { PATH = 4096 };

static int64_t tighter(int64_t limit, int64_t other)
{
    return limit == 0 || (other > 0 && other < limit) ? other : limit;
}

/* The first line of a file, cut if it is longer. */
static bool read_line(const char *folder, const char *name, char *line, size_t capacity)
{
    char path[PATH + 64];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    bool is_read = file && fgets(line, (int)capacity, file);
    if (file)
        (void)fclose(file);
    return is_read;
}

/* Processors' worth of time, rounded up; 0 for none of it or no limit. */
static int64_t rounded_up(const char *quota, const char *period)
{
    char *end;
    long long time = strtoll(quota, &end, 10), of = strtoll(period, NULL, 10);
    bool is_limit = end != quota && time > 0 && of > 0;
    return is_limit ? time / of + (time % of != 0) : 0;
}

/* "150000 100000", or "max 100000". */
static int64_t limit_v2(const char *folder)
{
    char line[64];
    if (!read_line(folder, "cpu.max", line, sizeof line))
        return 0;
    char *period = strchr(line, ' ');
    return period ? rounded_up(line, period) : 0;
}

/* -1 is no limit. */
static int64_t limit_v1(const char *folder)
{
    char quota[64], period[64];
    if (!read_line(folder, "cpu.cfs_quota_us", quota, sizeof quota) ||
        !read_line(folder, "cpu.cfs_period_us", period, sizeof period))
        return 0;
    return rounded_up(quota, period);
}

/* The least of a group's limit and of those above it. In a container the path may be that of
 * the machine outside and lead nowhere here; what is mounted is the container's own group then,
 * and is found on the way up. */
static int64_t limit_upwards(const char *mount, const char *group, int64_t (*limit_of)(const char *folder))
{
    char folder[PATH];
    int64_t limit = 0;
    size_t top = strlen(mount);
    if (strstr(group, "/..") || snprintf(folder, sizeof folder, "%s%s", mount, group) >= (int)sizeof folder)
        snprintf(folder, sizeof folder, "%s", mount); /* of a name space that this is not in */
    for (;;) {
        limit = tighter(limit, limit_of(folder));
        char *last = strrchr(folder, '/');
        if (strlen(folder) <= top || !last || last < folder + top)
            return limit;
        *last = '\0';
    }
}

/* Whether "cpu" is in a list such as "cpu,cpuacct". */
static bool has_cpu(const char *controllers)
{
    while (controllers) {
        if (strncmp(controllers, "cpu", 3) == 0 && (controllers[3] == ',' || controllers[3] == '\0'))
            return true;
        controllers = strchr(controllers, ',');
        controllers = controllers ? controllers + 1 : NULL;
    }
    return false;
}

/* A line of /proc/self/cgroup: "0::/the/group" (version 2), "4:cpu,cpuacct:/the/group" (version 1). */
static int64_t limit_of_line(const char *root, char *line)
{
    char mount[PATH];
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return 0;
    *controllers++ = *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (!*controllers) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        int64_t limit = limit_upwards(mount, group, limit_v2);
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/unified", root); /* where both versions are used */
        return tighter(limit, limit_upwards(mount, group, limit_v2));
    }
    if (!has_cpu(controllers))
        return 0;
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%s", root, controllers);
    int64_t limit = limit_upwards(mount, group, limit_v1);
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root); /* often a link to the same */
    return tighter(limit, limit_upwards(mount, group, limit_v1));
}

int64_t rungi_processors_quota(const char *root)
{
    char path[PATH], line[PATH + 128];
    int64_t limit = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        limit = tighter(limit, limit_of_line(root, line));
    if (file)
        (void)fclose(file);
    return limit;
}

/* ---- Both ----------------------------------------------------------------------------------------- */

int64_t rungi_processors_count(void)
{
    int64_t count = rungi_processors_allowed(own_affinity);
    if (count == 0)
        count = sysconf(_SC_NPROCESSORS_ONLN);
    count = tighter(rungi_processors_quota(""), count);
    return count > 0 ? count : 1;
}
