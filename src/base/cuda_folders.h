/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_folders.h - the folders in which toolkits, pip and conda install NVIDIA's libraries, programs and headers. This is
 * the only list of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum rungi_cuda_part { RUNGI_CUDA_LIBRARIES, RUNGI_CUDA_PROGRAMS, RUNGI_CUDA_HEADERS } rungi_cuda_part;

/* Writes the pattern of the folder with number `index` (from 0), in the order of the search. The pattern may contain
 * wildcards of glob(), and the folder need not exist. `pattern` is "" if the place does not apply: its environment variable
 * is not set, or it has no such part. Returns false after the last place. */
bool rungi_cuda_folder_pattern(size_t index, rungi_cuda_part part, char *pattern, size_t capacity);

/* Opens a library of NVIDIA, such as "libnvrtc.so.12": first with the loader's own search, then in these folders. It
 * stays open. Returns NULL if it is not found. */
void *rungi_cuda_library_open(const char *name);

/* The major versions of NVRTC and cuBLAS that are searched, newest first. */
enum { RUNGI_CUDA_MAJOR_MAX = 13, RUNGI_CUDA_MAJOR_MIN = 12 };

/* Opens a major version: "libnvrtc.so" and 12 open libnvrtc.so.12. Returns NULL also if the driver is older than the
 * library: a driver of this CUDA version supports neither cubins nor cuBLAS of a later major version. */
void *rungi_cuda_library_open_major(const char *name, int major, int driver_version);
