/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic_library.h - opens the libraries of vendors and drivers: on the loader's path, in a folder that an environment
 * variable names, or where pip and conda install them. Opened libraries are never closed: drivers have threads and exit
 * handlers that need their code. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A folder to search: what rungi_search_root() returns for `variable` (NULL: nothing) followed by `folder`, which may contain wildcards, for
 * example for the version of Python. A folder of NULL is the loader's own search. */
typedef struct rungi_library_location {
    const char *variable, *folder;
} rungi_library_location;

/* Opens a library by path, or by name on the loader's path. Returns NULL on failure; dlerror() has the reason. An isolated
 * library prefers its own symbols to those of the process: otherwise one of two BLAS libraries would call the other. */
void *rungi_library_open_file(const char *file, bool is_isolated);

/* Opens a library by name ("libnvrtc.so.12") in the first location with a usable library; NULL if there is none. Without
 * `is_usable` every library is usable; with it, libraries are opened isolated. */
void *rungi_library_open(const rungi_library_location *locations, size_t count, const char *name,
                         bool (*is_usable)(void *library));

/* Opens the first usable library of this name in the folders that match a pattern of glob(); NULL if no folder has one. */
void *rungi_library_open_in_folder(const char *pattern, const char *name, bool (*is_usable)(void *library));

/* Opens the first library of a list of names that ends in NULL, each as rungi_library_open() does. */
void *rungi_library_open_any(const rungi_library_location *locations, size_t count, const char *const *names,
                             bool (*is_usable)(void *library));

/* Writes the path of the library that has the function in `function_slot`; "" if it is unknown. */
void rungi_library_path(const void *function_slot, char *path, size_t capacity);

/* Stores the address of a function in the slot, a function pointer of `size` bytes. Returns false if the library does not
 * have the function. */
bool rungi_library_symbol(void *library, const char *name, void *slot, size_t size);
