/* SPDX-License-Identifier: Apache-2.0 */
/* libraries.h - where NVIDIA's libraries are looked for. */
#ifndef RUNGI_CUDA_LIBRARIES_H
#define RUNGI_CUDA_LIBRARIES_H

#include "core/library.h"

/* Opens the library of that name, "libnvrtc.so.12"; NULL if it is nowhere. It stays open. */
void *rungi_cuda_open_library(const char *name);

#endif /* RUNGI_CUDA_LIBRARIES_H */
