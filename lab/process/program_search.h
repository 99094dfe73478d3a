/* SPDX-License-Identifier: Apache-2.0 */
/* program_search.h - finds programs that the lab starts: on PATH, or in the folders of CUDA packages. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Finds an executable file in the folders of PATH. */
bool lab_program_on_path(const char *name, char *path, size_t capacity);

/* Finds a program of CUDA, such as "nvcc": the path in the environment variable `variable` if it is set, otherwise on PATH
 * or in the folders of CUDA packages. Returns false with an empty path if the program was not found. */
bool lab_cuda_program_find(const char *name, const char *variable, char *path, size_t capacity);
