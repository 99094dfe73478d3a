/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c - see cgroup.h. */
#define _GNU_SOURCE /* PATH_MAX */
#include "base/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rungi_cgroup_read_numbers(const char *folder, const char *name, const char *key, int64_t *numbers, int count)
{
    char path[PATH_MAX], line[256];
    int found = 0;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    bool is_found = false;
    while (!is_found && fgets(line, sizeof line, file))
        is_found = strncmp(line, key, strlen(key)) == 0;
    for (char *next = line + strlen(key); is_found && found < count; found++) {
        char *end;
        numbers[found] = strtoll(next, &end, 10);
        if (end == next)
            break;
        next = end;
    }
    (void)fclose(file);
    return found;
}

/* Returns whether a list such as "cpu,cpuacct" has this controller. */
static bool has_controller(const char *list, const char *controller)
{
    for (;; list++) {
        size_t length = strcspn(list, ",");
        if (length == strlen(controller) && memcmp(list, controller, length) == 0)
            return true;
        list += length;
        if (!*list)
            return false;
    }
}

typedef struct group_walk {
    const char *root;
    rungi_cgroup_visitor *visit;
    void *user;
} group_walk_t;

/* Visits a group and the groups above it, up to the mount point. In a container the group's path may be the host's and
 * not exist; then the mount point is the container's own group. A path with ".." belongs to another name space. */
static void visit_ancestors(const group_walk_t *walk, const char *mount, const char *group, bool is_v2)
{
    char folder[PATH_MAX];
    int top = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s", walk->root, mount);
    if (top >= (int)sizeof folder)
        return;
    if (!strstr(group, "/..") && strlen(group) < sizeof folder - (size_t)top)
        strcpy(folder + top, group);
    for (;;) {
        walk->visit(folder, is_v2, walk->user);
        char *slash = strrchr(folder, '/');
        if (slash < folder + top)
            return;
        *slash = '\0';
    }
}

/* Visits the group of one line of /proc/self/cgroup: "0::/group" (version 2) or "4:cpu,cpuacct:/group" (version 1). */
static void visit_line(const group_walk_t *walk, const char *controller, char *line)
{
    char mount[PATH_MAX];
    char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;
    if (!group)
        return;
    *list++ = *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (!*list) {
        visit_ancestors(walk, "", group, true);
        visit_ancestors(walk, "/unified", group, true); /* the mount point where both versions are used */
    } else if (has_controller(list, controller)) {
        snprintf(mount, sizeof mount, "/%s", list);
        visit_ancestors(walk, mount, group, false);
        snprintf(mount, sizeof mount, "/%s", controller); /* often a link to the same folder */
        visit_ancestors(walk, mount, group, false);
    }
}

void rungi_cgroup_visit(const char *root, const char *controller, rungi_cgroup_visitor *visit, void *user)
{
    char path[PATH_MAX], line[PATH_MAX + 128];
    const group_walk_t walk = {root, visit, user};
    if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path)
        return;
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    while (fgets(line, sizeof line, file))
        visit_line(&walk, controller, line);
    (void)fclose(file);
}
