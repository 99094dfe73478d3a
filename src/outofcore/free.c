/* SPDX-License-Identifier: Apache-2.0 */
/* free.c - see free.h. Linux says it in /proc/meminfo for the machine, and for a container, whose limit the machine's figure
 * leaves out, in the files of its control group and of all groups above that. */
#define _GNU_SOURCE /* PATH_MAX */
#include "outofcore/free.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"

/* The number behind a word that begins a line, or, with no word, at the file's beginning; -1 where there is none. */
static int64_t read_number(const char *path, const char *word)
{
    char line[256];
    long long number = -1;
    size_t length = strlen(word);
    FILE *file = fopen(path, "re");
    while (file && number < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, word, length) == 0) {
            char *end;
            number = strtoll(line + length, &end, 10);
            number = end == line + length ? -1 : number;
        }
    if (file)
        (void)fclose(file);
    return number;
}

/* The two versions of control groups. A machine may have both, and the limit in either. */
typedef struct version {
    const char *mark, *mount, *limit, *used, *of_files,
        *shared; /* mark: before the group's path in /proc/self/cgroup */
} version_t;

static const version_t versions[] = {
    {"0::", "/sys/fs/cgroup", "memory.max", "memory.current", "file ", "shmem "},
    {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache ",
     "total_shmem "},
};

static int64_t number_in(const char *folder, const char *name, const char *word)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length < (int)sizeof path ? read_number(path, word) : -1;
}

/* What one group may still take. What it has in memory of files is given up where room is needed, but for those that are nowhere else. */
static int64_t left_in_group(const version_t *version, const char *folder)
{
    int64_t limit = number_in(folder, version->limit, "");
    if (limit < 0)
        return INT64_MAX; /* "max", or no such file */
    int64_t of_files = rungi_larger(number_in(folder, "memory.stat", version->of_files), 0);
    int64_t shared = rungi_larger(number_in(folder, "memory.stat", version->shared), 0);
    int64_t used = number_in(folder, version->used, "") - rungi_larger(of_files - shared, 0);
    return rungi_larger(limit - rungi_larger(used, 0), 0);
}

/* The folder of this process's group. */
static bool find_group(const version_t *version, const char *root, char folder[PATH_MAX])
{
    char line[2048], path[PATH_MAX];
    const char *mark = NULL;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file && !mark && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        mark = strstr(line, version->mark);
    }
    if (file)
        (void)fclose(file);
    if (!mark)
        return false;
    int length = snprintf(folder, PATH_MAX, "%s%s%s", root, version->mount, mark + strlen(version->mark));
    return length < PATH_MAX;
}

/* The least that a group and those above it leave. In a container a group's path may be one that only its host has: then those
 * above it that are there count. */
static int64_t left_in_groups(const version_t *version, const char *root)
{
    char folder[PATH_MAX];
    int64_t left = INT64_MAX;
    size_t top = strlen(root) + strlen(version->mount);
    for (bool goes_on = find_group(version, root, folder); goes_on && strlen(folder) >= top;) {
        left = rungi_smaller(left, left_in_group(version, folder));
        *strrchr(folder, '/') = '\0';
    }
    return left;
}

int64_t rungi_free_memory(const char *root)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    int64_t kib = read_number(path, "MemAvailable:");
    int64_t left = kib < 0 || kib > INT64_MAX / 1024 ? 1 << 29 : kib * 1024;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        left = rungi_smaller(left, left_in_groups(&versions[i], root));
    return left;
}
