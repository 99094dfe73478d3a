/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_library_paths.c - see cuda_library_paths.h. */
#include "cuda/cuda_library_paths.h"

static const rungi_library_location search_paths[] = {
    {NULL, NULL},
    {"CUDA_HOME", "/lib64"},
    {"CUDA_PATH", "/lib64"},
    {"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/*/lib"},
    {"CONDA_PREFIX", "/lib"},
    {"CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/*/lib"},
    {NULL, "/usr/local/cuda/lib64"},
    {"HOME", "/.local/lib/python3*/site-packages/nvidia/*/lib"},
    {NULL, "/usr/local/lib/python3*/dist-packages/nvidia/*/lib"},
    {NULL, "/usr/local/lib/python3*/site-packages/nvidia/*/lib"},
    {NULL, "/usr/lib/python3/dist-packages/nvidia/*/lib"},
};

void *rungi_cuda_library_open(const char *name)
{
    return rungi_library_open(search_paths, sizeof search_paths / sizeof *search_paths, name, NULL);
}
