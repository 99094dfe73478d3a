/* SPDX-License-Identifier: Apache-2.0 */
/* libraries.c - see libraries.h. */
#include "cuda/libraries.h"

static const rungi_place places[] = {
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

void *rungi_cuda_open_library(const char *name)
{
    return rungi_library_open(places, sizeof places / sizeof *places, name, NULL);
}
