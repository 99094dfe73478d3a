/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc_program.h - compiles CUDA source to PTX with NVRTC, which is loaded at run time. */
#pragma once

#include <stddef.h>

/* Loads the library once. Returns NULL, or why it cannot be used. */
const char *nvrtc_load(const char *path);

/* Compiles a text. Returns the PTX, which the caller frees, or NULL after printing the compiler's log. */
char *nvrtc_compile(const char *name, const char *source, int option_count, const char *const *options, size_t *bytes);
