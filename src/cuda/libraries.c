/* SPDX-License-Identifier: Apache-2.0 */
/* libraries.c - see libraries.h. */
#define _GNU_SOURCE /* secure_getenv: a set-uid program loads nothing that its user names */
#include "cuda/libraries.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Folders, tried in this order; the variable is what they begin with, NULL for none. A
 * star stands for any version of Python and any of pip's packages. */
static const struct {
    const char *variable, *folder;
} places[] = {
    {"CUDA_HOME", "/lib64"},
    {"CUDA_PATH", "/lib64"},
    {"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/*/lib"},
    {"CONDA_PREFIX", "/lib"},
    {"CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/*/lib"},
    {NULL, "/usr/local/cuda/lib64"},
    {"HOME", "/.local/lib/python3*/site-packages/nvidia/*/lib"},
    {NULL, "/usr/local/lib/python3*/dist-packages/nvidia/*/lib"},
    {NULL, "/usr/local/lib/python3*/site-packages/nvidia/*/lib"},
    {NULL, "/usr/lib/python3/dist-packages/nvidia/*/lib"},
};

static void *open_in(const char *folder, const char *name)
{
    char pattern[4096];
    void *library = NULL;
    glob_t found;
    if (snprintf(pattern, sizeof pattern, "%s/%s", folder, name) >= (int)sizeof pattern ||
        glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; !library && i < found.gl_pathc; i++)
        library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
    return library;
}

void *rungi_cuda_open_library(const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; !library && i < sizeof places / sizeof *places; i++) {
        char folder[4000];
        const char *start = places[i].variable ? secure_getenv(places[i].variable) : "";
        if (!start || (places[i].variable && *start != '/'))
            continue;
        if (snprintf(folder, sizeof folder, "%s%s", start, places[i].folder) < (int)sizeof folder)
            library = open_in(folder, name);
    }
    return library;
}

void rungi_cuda_where(const void *function_slot, char *path, size_t capacity)
{
    Dl_info info = {0};
    void *address;
    memcpy(&address, function_slot, sizeof address);
    bool known = address && dladdr(address, &info) != 0 && info.dli_fname;
    snprintf(path, capacity, "%s", known ? info.dli_fname : "");
}

int rungi_cuda_find_function(void *library, const char *name, void *slot, size_t size)
{
    /* POSIX lets a data pointer hold a function's address; C does not, so it is copied. */
    void *address = dlsym(library, name);
    memcpy(slot, &address, size);
    return address != NULL;
}
