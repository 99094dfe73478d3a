/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - finding somebody else's library where it is: on the loader's path, in a folder
 * that a variable names, or where pip and conda put it. */
#ifndef RUNGI_LIBRARY_H
#define RUNGI_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* A folder; what it begins with is a variable's text, NULL for none. A star stands for any
 * version of Python and any of pip's packages. Without a folder: where the loader looks. */
typedef struct rungi_place {
    const char *variable, *folder;
} rungi_place;

/* Opens that file, and keeps it open; NULL and dlerror() if it cannot. `apart`: what it calls
 * by names that others have too is its own. Of two BLAS libraries in one process, one would
 * else compute with the other. */
void *rungi_library_open_file(const char *file, bool apart);

/* Opens the library of that name, "libnvrtc.so.12", in the first place that has one which
 * suits; NULL if there is none. Without `suits`, any does, and with it one is opened apart. */
void *rungi_library_open(const rungi_place *places, size_t count, const char *name, bool (*suits)(void *library));

/* The file that a function's library is, "" if that cannot be told. */
void rungi_library_where(const void *function_slot, char *path, size_t capacity);

/* The function of that name into the slot; false if it is not there. */
bool rungi_library_find(void *library, const char *name, void *slot, size_t size);

#endif /* RUNGI_LIBRARY_H */
