/* SPDX-License-Identifier: Apache-2.0 */
/* task_folders.c - see task_folders.h. */
#define _GNU_SOURCE /* scandir, strdup */
#include "grade/task_folders.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/nearest_word.h"
#include "common/failure.h"
#include "common/text.h"
#include "process/oclgrind_process.h"

enum { PATH_BYTES = LAB_TASK_PATH_BYTES, NAMES_MAX = 256 };

static bool has_description(const char *folder)
{
    char path[PATH_BYTES + 16];
    struct stat info;
    return snprintf(path, sizeof path, "%s/task.toml", folder) < (int)sizeof path && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode);
}

bool lab_task_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Finds the folder of the tasks that come with rung: next to the command in a build tree, else the installed one. */
static bool find_own(char *folder, size_t capacity)
{
    static const char *const folders[] = {"tasks", LAB_TASKS_FOLDER};
    char self[PATH_BYTES - 512];
    int length = (int)lab_find_executable(self, sizeof self);
    for (int i = 0; i < 2 && length > 0; i++)
        if (snprintf(folder, capacity, "%.*s%s", length, self, folders[i]) < (int)capacity &&
            lab_task_is_folder(folder))
            return true;
    return false;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Writes that the name is no task, and which task it may mean. */
static void describe_unknown(const char *name, const char *own, char *why, size_t capacity)
{
    char folder[2 * PATH_BYTES];
    const char *names[NAMES_MAX];
    int name_count = 0;
    struct dirent **entries = NULL;
    int count = own ? scandir(own, &entries, is_visible, alphasort) : 0;
    for (int i = 0; i < count; i++)
        if (snprintf(folder, sizeof folder, "%s/%s", own, entries[i]->d_name) < (int)sizeof folder &&
            has_description(folder) && name_count < NAMES_MAX)
            names[name_count++] = entries[i]->d_name;
    const char *nearest = lab_nearest_word(name, names, name_count);
    if (nearest)
        lab_set_reason(why, capacity, "there is no task %s (did you mean %s?); rung tasks lists the tasks", name,
                       nearest);
    else
        lab_set_reason(why, capacity, "there is no task %s, nor a folder %s with a file task.toml; %s", name, name,
                       name_count > 0 ? "rung tasks lists the tasks" : "no tasks are installed");
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

bool lab_task_find_folder(const char *name, char *folder, size_t capacity, char *why, size_t why_capacity)
{
    char own[PATH_BYTES];
    if (has_description(name) && snprintf(folder, capacity, "%s", name) < (int)capacity)
        return true;
    bool has_own = find_own(own, sizeof own);
    if (has_own && !strchr(name, '/') && snprintf(folder, capacity, "%s/%s", own, name) < (int)capacity &&
        has_description(folder))
        return true;
    describe_unknown(name, has_own ? own : NULL, why, why_capacity);
    return false;
}

/* ---- Lists ---- */

static int compare_order(const void *x, const void *y)
{
    const lab_task_entry *one = x, *other = y;
    if (one->task.order != other->task.order)
        return one->task.order < other->task.order ? -1 : 1;
    return strcmp(one->task.name, other->task.name);
}

static bool add_task(lab_task_list *list, const char *folder)
{
    char why[2048];
    lab_task_entry *entry = &list->items[list->count];
    *entry = (lab_task_entry){.problem = NULL};
    if (!has_description(folder))
        return true;
    if (!lab_task_read(folder, &entry->task, why, sizeof why)) {
        entry->problem = strdup(why);
        entry->task.order = INT64_MAX;
        snprintf(entry->task.name, sizeof entry->task.name, "%.127s", lab_base_name(folder));
        if (!entry->problem)
            return false;
    }
    list->count++;
    return true;
}

bool lab_task_list_read(const char *folder, lab_task_list *list, char *why, size_t capacity)
{
    char own[PATH_BYTES], path[2 * PATH_BYTES];
    struct dirent **entries = NULL;
    *list = (lab_task_list){.items = NULL};
    if (!folder && !find_own(own, sizeof own))
        return lab_set_reason(why, capacity, "no tasks are installed beside this command; name a folder of tasks");
    folder = folder ? folder : own;
    int count = scandir(folder, &entries, is_visible, alphasort);
    if (count < 0)
        return lab_set_reason(why, capacity, "%s: %s", folder, strerror(errno));
    list->items = calloc((size_t)count + 1, sizeof *list->items);
    bool good = list->items != NULL;
    for (int i = 0; i < count; i++) {
        if (good && snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name) < (int)sizeof path)
            good = add_task(list, path);
        free(entries[i]);
    }
    free(entries);
    if (!good)
        return lab_set_reason(why, capacity, "out of memory");
    qsort(list->items, (size_t)list->count, sizeof *list->items, compare_order);
    return true;
}

void lab_task_list_free(lab_task_list *list)
{
    for (int i = 0; i < list->count; i++) {
        if (!list->items[i].problem)
            lab_task_free(&list->items[i].task);
        free(list->items[i].problem);
    }
    free(list->items);
    *list = (lab_task_list){.items = NULL};
}
