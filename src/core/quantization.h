/* SPDX-License-Identifier: Apache-2.0 */
/* quantization.h - narrow elements, and the scales and zero points that a rung_quantization gives them: for rung_quantize
 * (quantize.c), for the checks of a problem (problem.c) and for devices that multiply by a quantized B. */
#pragma once

#include "core/matrix.h"

/* Returns element number `index` of host memory, counted from the view's `data`, as F32. The type is wide, narrow or E8M0. */
float rungi_element_read(const rung_matrix *matrix, int64_t index);

/* Returns the number of element (i, j). */
static inline int64_t rungi_element_index(const rung_matrix *matrix, int64_t i, int64_t j)
{
    return matrix->offset + i * matrix->row_stride + j * matrix->col_stride;
}

/* Copies a caller's struct; NULL gives no scales and no zero points. */
rung_status rungi_quantization_read(const rung_quantization *given, rung_quantization *quantization);

/* Replaces block sizes of 0 by those of the matrix. */
void rungi_quantization_set_block_size(const rung_matrix *matrix, rung_quantization *quantization);

/* Checks types and numbers of scales and zero points, but neither strides nor memory. */
rung_status rungi_quantization_check_blocks(const rung_matrix *matrix, const rung_quantization *quantization);

/* Fails if scales or zero points of the operand `name` are in a buffer. `given` may be NULL. */
rung_status rungi_quantization_check_in_memory(const char *name, const rung_quantization *given);

/* Returns whether two structs, which may be NULL, differ at most in the memory of their views. The batch strides count only if
 * there are several items. */
bool rungi_quantization_has_same_form(const rung_quantization *x, const rung_quantization *y, int64_t batch);
