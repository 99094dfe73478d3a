/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_folders.c - see cuda_folders.h. */
#include "base/cuda_folders.h"

#include <stdio.h>

#include "base/dynamic_library.h"
#include "base/python_package.h"

enum { PART_COUNT = RUNGI_CUDA_HEADERS + 1 };

/* The value of an environment variable (see rungi_search_root()), followed by a folder, and below it one folder per part;
 * NULL: none. */
typedef struct cuda_place {
    const char *variable, *folder, *parts[PART_COUNT];
} cuda_place_t;

#define TOOLKIT                      \
    {                                \
        "/lib64", "/bin", "/include" \
    }
#define CONDA                                           \
    {                                                   \
        "/lib", "/bin", "/targets/x86_64-linux/include" \
    }
#define WHEELS                                                \
    {                                                         \
        "/nvidia/*/lib", "/nvidia/*/bin", "/nvidia/*/include" \
    }
#define DISTRIBUTION           \
    {                          \
        NULL, NULL, "/include" \
    } /* the loader and PATH find the rest */

static const cuda_place_t places[] = {
    {"CUDA_HOME", "", TOOLKIT},
    {"CUDA_PATH", "", TOOLKIT},
    {rungi_own_packages, "", WHEELS},
    {"VIRTUAL_ENV", "/lib/python3*/site-packages", WHEELS},
    {"CONDA_PREFIX", "", CONDA},
    {"CONDA_PREFIX", "/lib/python3*/site-packages", WHEELS},
    {NULL, "/usr/local/cuda", TOOLKIT},
    {"HOME", "/.local/lib/python3*/site-packages", WHEELS},
    {NULL, "/usr/local/lib/python3*/dist-packages", WHEELS},
    {NULL, "/usr/local/lib/python3*/site-packages", WHEELS},
    {NULL, "/usr/lib/python3/dist-packages", WHEELS},
    {NULL, "/usr", DISTRIBUTION},
};

bool rungi_cuda_folder_pattern(size_t index, rungi_cuda_part part, char *pattern, size_t capacity)
{
    if (index >= sizeof places / sizeof *places)
        return false;
    const cuda_place_t *place = &places[index];
    char own[4000];
    const char *start = rungi_search_root(place->variable, own, sizeof own);
    bool applies = start && place->parts[part] &&
                   snprintf(pattern, capacity, "%s%s%s", start, place->folder, place->parts[part]) < (int)capacity;
    if (!applies && capacity > 0)
        *pattern = '\0';
    return true;
}

void *rungi_cuda_library_open(const char *name)
{
    char pattern[4000];
    void *library = rungi_library_open_file(name, false);
    for (size_t i = 0; !library && rungi_cuda_folder_pattern(i, RUNGI_CUDA_LIBRARIES, pattern, sizeof pattern); i++)
        if (*pattern)
            library = rungi_library_open_in_folder(pattern, name, NULL);
    return library;
}

void *rungi_cuda_library_open_major(const char *name, int major, int driver_version)
{
    char versioned[64];
    snprintf(versioned, sizeof versioned, "%s.%d", name, major);
    return major <= driver_version / 1000 ? rungi_cuda_library_open(versioned) : NULL;
}
