/* SPDX-License-Identifier: Apache-2.0 */
/* public_view.h - the text of a CUDA C++ file in which the classes of a kernel's parameters have no private members. */
#pragma once

#include "cuda_source/cuda_outline.h"

/* Returns the text, followed by `appended` and a terminating 0. In the classes that are types of the kernel's parameters, all
 * members are public, so that the appended text can use their fields. Line numbers are unchanged. *bytes is the length. The
 * caller frees the text; NULL if memory is exhausted. */
char *lab_public_view(const lab_cuda_outline *outline, const lab_cuda_function *kernel, rungi_string_view text,
                      const char *appended, size_t *bytes);
