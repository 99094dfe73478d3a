/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_library_paths.h - finds NVIDIA's libraries. */
#ifndef RUNGI_CUDA_LIBRARIES_H
#define RUNGI_CUDA_LIBRARIES_H

#include "base/dynamic_library.h"

/* Opens a library such as "libnvrtc.so.12", which stays open. Returns NULL if it is not found. */
void *rungi_cuda_library_open(const char *name);

#endif /* RUNGI_CUDA_LIBRARIES_H */
