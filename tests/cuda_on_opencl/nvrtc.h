/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc.h - images for tests, made as the library makes its own: a kernel file with its
 * name in it, compiled by NVIDIA's compiler. */
#ifndef STANDIN_NVRTC_H
#define STANDIN_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

typedef struct nvrtc_image {
    char  *bytes;
    size_t size;
} nvrtc_image;

/* Whether the compiler is here. */
bool nvrtc_open(void);

/* A cubin for "sm_86" or a PTX for "compute_86" of a kernel file with "-DNAME=VALUE ...";
 * fails the test if it does not compile. `bytes` is the caller's to free. */
nvrtc_image nvrtc_compile(const char *file, const char *defines, const char *architecture);

#endif /* STANDIN_NVRTC_H */
