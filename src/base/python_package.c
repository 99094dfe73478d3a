/* SPDX-License-Identifier: Apache-2.0 */
/* python_package.c - see python_package.h. */
#define _GNU_SOURCE /* dladdr; secure_getenv: the caller of a set-uid program must not choose its libraries */
#include "base/python_package.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char rungi_own_packages[] = "the folder of Python packages";

/* Writes the real path of the library or program that contains this code. */
static bool find_own_file(char path[PATH_MAX])
{
    Dl_info info = {0};
    bool is_known = dladdr(rungi_own_packages, &info) != 0 && info.dli_fname && strchr(info.dli_fname, '/');
    /* For a program, the name is what it was started with. */
    return realpath(is_known ? info.dli_fname : "/proc/self/exe", path) != NULL;
}

/* Removes the last component of a path. Returns false if there is none. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

bool rungi_python_packages(char *folder, size_t capacity)
{
    char path[PATH_MAX], marker[PATH_MAX + 16];
    if (capacity > 0)
        *folder = '\0';
    /* The file is rung/lib/librung.so.0 or rung/bin/rung. */
    if (!find_own_file(path) || !go_up(path) || !go_up(path))
        return false;
    snprintf(marker, sizeof marker, "%s/__init__.py", path);
    const char *name = strrchr(path, '/');
    if (!name || strcmp(name, "/rung") != 0 || access(marker, F_OK) != 0 || !go_up(path))
        return false;
    return snprintf(folder, capacity, "%s", path) < (int)capacity;
}

const char *rungi_search_root(const char *variable, char *buffer, size_t capacity)
{
    if (!variable)
        return "";
    if (variable == rungi_own_packages)
        return rungi_python_packages(buffer, capacity) ? buffer : NULL;
    const char *value = secure_getenv(variable);
    return value && *value == '/' ? value : NULL;
}

const char *rungi_lab_install_hint(const char *elsewhere)
{
    char folder[PATH_MAX];
    return rungi_python_packages(folder, sizeof folder) ? "pip install \"rung[lab]\"" : elsewhere;
}
