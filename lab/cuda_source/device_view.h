/* SPDX-License-Identifier: Apache-2.0 */
/* device_view.h - the text of a CUDA C++ file in which functions of the host are blanked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns the text, with a terminating 0, in which definitions of functions that are neither __global__ nor __device__ nor
 * constexpr are replaced by blanks. Line numbers and preprocessor lines are unchanged. With `keeps_helpers`, functions that
 * look like pure arithmetic (a rounded-up quotient, for example) remain. The caller frees the text; NULL if memory is
 * exhausted. */
char *lab_device_view(const char *text, size_t bytes, bool keeps_helpers);
