/* SPDX-License-Identifier: Apache-2.0 */
/* libraries.h - finding NVIDIA's libraries where they are: on the loader's path, in a
 * toolkit's folder, or where pip and conda put them. */
#ifndef RUNGI_CUDA_LIBRARIES_H
#define RUNGI_CUDA_LIBRARIES_H

#include <stddef.h>

/* Opens the library of that name, "libnvrtc.so.12"; NULL if it is nowhere. It stays open. */
void *rungi_cuda_open_library(const char *name);

/* The file that a function's library is, "" if that cannot be told. */
void rungi_cuda_where(const void *function_slot, char *path, size_t capacity);

/* The function of that name into the slot; 0 if it is not there. */
int rungi_cuda_find_function(void *library, const char *name, void *slot, size_t size);

#endif /* RUNGI_CUDA_LIBRARIES_H */
