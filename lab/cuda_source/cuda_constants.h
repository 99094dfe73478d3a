/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_constants.h - finds integer constants of a CUDA file in its tokens: #define NAME VALUE and constexpr int NAME = VALUE;.
 * Expressions of launches may use them, and a variant of a task replaces their values. */
#pragma once

#include "cuda_source/cuda_tokens.h"

typedef struct lab_cuda_constant {
    rungi_string_view name, value; /* parts of the file; the value is any expression */
} lab_cuda_constant;

/* Finds the first constant from the token *index on, and moves *index behind it. Returns false at the end. */
bool lab_cuda_constant_next(const lab_tokens *tokens, int *index, lab_cuda_constant *constant);
