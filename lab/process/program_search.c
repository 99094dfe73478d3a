/* SPDX-License-Identifier: Apache-2.0 */
/* program_search.c - see program_search.h. */
#include "process/program_search.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cuda_folders.h"
#include "base/file_io.h"

static bool is_executable(const char *path)
{
    return access(path, X_OK) == 0;
}

bool lab_program_on_path(const char *name, char *path, size_t capacity)
{
    return rungi_find_on_path(name, path, capacity);
}

/* Finds the first executable file that matches a pattern. */
static bool find_glob_match(const char *pattern, char *path, size_t capacity)
{
    bool found = false;
    glob_t all;
    if (glob(pattern, 0, NULL, &all) != 0)
        return false;
    for (size_t i = 0; i < all.gl_pathc && !found; i++)
        found = is_executable(all.gl_pathv[i]) && snprintf(path, capacity, "%s", all.gl_pathv[i]) < (int)capacity;
    globfree(&all);
    return found;
}

static bool find_in_packages(const char *name, char *path, size_t capacity)
{
    char folder[4000], pattern[4096];
    for (size_t i = 0; rungi_cuda_folder_pattern(i, RUNGI_CUDA_PROGRAMS, folder, sizeof folder); i++)
        if (*folder && snprintf(pattern, sizeof pattern, "%s/%s", folder, name) < (int)sizeof pattern &&
            find_glob_match(pattern, path, capacity))
            return true;
    return false;
}

bool lab_cuda_program_find(const char *name, const char *variable, char *path, size_t capacity)
{
    const char *named = getenv(variable);
    bool found = named && *named ? snprintf(path, capacity, "%s", named) < (int)capacity && is_executable(path)
                                 : lab_program_on_path(name, path, capacity) || find_in_packages(name, path, capacity);
    if (!found && capacity > 0)
        *path = '\0';
    return found;
}
