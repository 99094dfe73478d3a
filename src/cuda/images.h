/* SPDX-License-Identifier: Apache-2.0 */
/* images.h - compiled code that the library carries: images.def says of which kernels. */
#ifndef RUNGI_CUDA_IMAGES_H
#define RUNGI_CUDA_IMAGES_H

#include "simt/simt.h"

/* A cubin runs on its own architecture and later ones of the same generation; PTX, which
 * the driver compiles, on every later one. */
typedef struct rungi_cuda_image {
    const char *name; /* "10_pipeline.cu -DBM=128 ...": file and all defines */
    int architecture;
    bool is_ptx;
    size_t offset, packed_bytes; /* in the data, see pack.h */
    size_t bytes;
} rungi_cuda_image;

extern const rungi_cuda_image rungi_cuda_images[]; /* ends with a name of NULL */
extern const unsigned char rungi_cuda_image_data[];

enum { RUNGI_CUDA_IMAGE_NAME = 1024 };

/* What an image is called, in the table and in itself. (code.c) */
void rungi_cuda_image_name(const rung_kernel *kernel, const rungi_values *values, const rungi_simt_path *path,
                           char name[RUNGI_CUDA_IMAGE_NAME]);

/* The whole text to compile, with that name in it by which tools know an image again; the
 * caller's to release. */
rung_status rungi_cuda_image_source(const rung_kernel *kernel, const char *name, char **source);

/* Whether it runs on that architecture. */
static inline bool rungi_cuda_image_runs_on(const rungi_cuda_image *image, int architecture)
{
    bool same_generation = image->architecture / 10 == architecture / 10;
    return image->architecture <= architecture && (image->is_ptx || same_generation);
}

#endif /* RUNGI_CUDA_IMAGES_H */
