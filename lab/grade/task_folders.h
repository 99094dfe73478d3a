/* SPDX-License-Identifier: Apache-2.0 */
/* task_folders.h - finds the folders of tasks: those that come with rung, by name, and those of a user, by path. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "grade/task.h"

/* Finds the folder of a task: a path to a folder with task.toml, or the name of a task that comes with rung. Returns false with
 * a sentence that names the most similar task. */
bool lab_task_find_folder(const char *name, char *folder, size_t capacity, char *why, size_t why_capacity);

/* Returns whether the path is a folder. */
bool lab_task_is_folder(const char *path);

/* A task of a list; one that cannot be read has a problem. */
typedef struct lab_task_entry {
    lab_task task;
    char *problem; /* NULL if the task was read */
} lab_task_entry;

typedef struct lab_task_list {
    lab_task_entry *items;
    int count;
} lab_task_list;

/* Lists the tasks below a folder, or those that come with rung if `folder` is NULL, in their order. Returns false with a sentence. */
bool lab_task_list_read(const char *folder, lab_task_list *list, char *why, size_t capacity);
void lab_task_list_free(lab_task_list *list);
