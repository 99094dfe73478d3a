/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic_library.c - see dynamic_library.h. */
#define _GNU_SOURCE /* RTLD_DEEPBIND */
#include "base/dynamic_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "base/python_package.h"

/* A sanitizer's symbols must have priority. */
#ifdef RUNGI_SANITIZED
enum { ISOLATION_FLAG = 0 };
#else
enum { ISOLATION_FLAG = RTLD_DEEPBIND };
#endif

void *rungi_library_open_file(const char *file, bool is_isolated)
{
    return dlopen(file, RTLD_NOW | RTLD_LOCAL | (is_isolated ? ISOLATION_FLAG : 0));
}

/* A library that is not usable stays open, too. */
static void *open_if_usable(const char *file, bool (*is_usable)(void *library))
{
    void *library = rungi_library_open_file(file, is_usable != NULL);
    return library && (!is_usable || is_usable(library)) ? library : NULL;
}

void *rungi_library_open_in_folder(const char *folder, const char *name, bool (*is_usable)(void *library))
{
    char pattern[4096];
    void *library = NULL;
    glob_t found;
    if (snprintf(pattern, sizeof pattern, "%s/%s", folder, name) >= (int)sizeof pattern ||
        glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; !library && i < found.gl_pathc; i++)
        library = open_if_usable(found.gl_pathv[i], is_usable);
    globfree(&found);
    return library;
}

void *rungi_library_open(const rungi_library_location *locations, size_t count, const char *name,
                         bool (*is_usable)(void *library))
{
    void *library = NULL;
    for (size_t i = 0; !library && i < count; i++) {
        char folder[4000], own[4000];
        const char *start = rungi_search_root(locations[i].variable, own, sizeof own);
        if (!locations[i].folder)
            library = open_if_usable(name, is_usable);
        else if (start && snprintf(folder, sizeof folder, "%s%s", start, locations[i].folder) < (int)sizeof folder)
            library = rungi_library_open_in_folder(folder, name, is_usable);
    }
    return library;
}

void *rungi_library_open_any(const rungi_library_location *locations, size_t count, const char *const *names,
                             bool (*is_usable)(void *library))
{
    void *library = NULL;
    for (; !library && *names; names++)
        library = rungi_library_open(locations, count, *names, is_usable);
    return library;
}

void rungi_library_path(const void *function_slot, char *path, size_t capacity)
{
    Dl_info info = {0};
    void *address;
    memcpy(&address, function_slot, sizeof address);
    bool is_known = address && dladdr(address, &info) != 0 && info.dli_fname;
    snprintf(path, capacity, "%s", is_known ? info.dli_fname : "");
}

bool rungi_library_symbol(void *library, const char *name, void *slot, size_t size)
{
    /* POSIX lets a data pointer hold a function's address; C does not, so the address is copied. */
    void *address = dlsym(library, name);
    memcpy(slot, &address, size);
    return address != NULL;
}
