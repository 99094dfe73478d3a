/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - see library.h. */
#define _GNU_SOURCE /* RTLD_DEEPBIND; secure_getenv: a set-uid program loads nothing that its user names */
#include "core/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sanitizer's own names must come first. */
#ifdef RUNGI_SANITIZED
enum { APART = 0 };
#else
enum { APART = RTLD_DEEPBIND };
#endif

void *rungi_library_open_file(const char *file, bool apart)
{
    return dlopen(file, RTLD_NOW | RTLD_LOCAL | (apart ? APART : 0));
}

/* One that does not suit stays open as well: some have threads that do not survive closing. */
static void *open_file(const char *file, bool (*suits)(void *library))
{
    void *library = rungi_library_open_file(file, suits != NULL);
    return library && (!suits || suits(library)) ? library : NULL;
}

static void *open_in(const char *folder, const char *name, bool (*suits)(void *library))
{
    char pattern[4096];
    void *library = NULL;
    glob_t found;
    if (snprintf(pattern, sizeof pattern, "%s/%s", folder, name) >= (int)sizeof pattern ||
        glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; !library && i < found.gl_pathc; i++)
        library = open_file(found.gl_pathv[i], suits);
    globfree(&found);
    return library;
}

void *rungi_library_open(const rungi_place *places, size_t count, const char *name, bool (*suits)(void *library))
{
    void *library = NULL;
    for (size_t i = 0; !library && i < count; i++) {
        char folder[4000];
        const char *start = places[i].variable ? secure_getenv(places[i].variable) : "";
        if (!places[i].folder)
            library = open_file(name, suits);
        else if (start && (!places[i].variable || *start == '/') &&
                 snprintf(folder, sizeof folder, "%s%s", start, places[i].folder) < (int)sizeof folder)
            library = open_in(folder, name, suits);
    }
    return library;
}

void rungi_library_where(const void *function_slot, char *path, size_t capacity)
{
    Dl_info info = {0};
    void *address;
    memcpy(&address, function_slot, sizeof address);
    bool known = address && dladdr(address, &info) != 0 && info.dli_fname;
    snprintf(path, capacity, "%s", known ? info.dli_fname : "");
}

bool rungi_library_find(void *library, const char *name, void *slot, size_t size)
{
    /* POSIX lets a data pointer hold a function's address; C does not, so it is copied. */
    void *address = dlsym(library, name);
    memcpy(slot, &address, size);
    return address != NULL;
}
