/* SPDX-License-Identifier: Apache-2.0 */
/* embedded_images.h - the compiled kernels in the library, which embedded_images.def lists. */
#pragma once

#include "simt/simt.h"

/* A cubin runs on its architecture and on later ones of the same generation. PTX, which the driver compiles, runs on
 * every later architecture. */
typedef struct rungi_cuda_image {
    const char *name; /* "10_pipeline.cu -DBM=128 ...": file and all defines */
    int architecture;
    bool is_ptx;
    size_t offset, compressed_bytes; /* in the data, see lz4.h */
    size_t bytes;
} rungi_cuda_image;

extern const rungi_cuda_image rungi_cuda_images[]; /* ends with a name of NULL */
extern const unsigned char rungi_cuda_image_data[];

enum { RUNGI_CUDA_IMAGE_NAME_BYTES = 1280 };

/* Writes the name of an image, in the table and in the image itself. (cuda_module.c) */
void rungi_cuda_image_name(const rung_kernel *kernel, const rungi_parameter_values *values, const rungi_simt_path *path,
                           char name[RUNGI_CUDA_IMAGE_NAME_BYTES]);

/* Returns the complete source of a path, including the name, by which tools identify an image. The caller releases it. */
rung_status rungi_cuda_image_source(const rung_kernel *kernel, const rungi_simt_path *path, const char *name,
                                    char **source);

/* Returns whether the image runs on an architecture. */
static inline bool rungi_cuda_image_can_run_on(const rungi_cuda_image *image, int architecture)
{
    bool same_generation = image->architecture / 10 == architecture / 10;
    return image->architecture <= architecture && (image->is_ptx || same_generation);
}

/* Returns the newest cubin (or PTX) of this name that runs on the architecture, or NULL. (cuda_module.c) */
const rungi_cuda_image *rungi_cuda_find_image(const char *name, int architecture, bool is_ptx);
