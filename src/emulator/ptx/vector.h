/* SPDX-License-Identifier: Apache-2.0 */
/* vector.h - a growing array, for the parser's tables and the lists of an emulator. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Makes room for `needed` elements of `size` bytes in an array of `*capacity` elements. Returns the array, which may have
 * moved, or NULL if memory is short; the array is then unchanged. */
void *rungi_ptx_grow(void *array, int64_t needed, int64_t *capacity, size_t size);

typedef struct ptx_vector {
    void *data;
    int32_t count;
    int64_t capacity;
} ptx_vector_t;

/* Appends `count` zeroed elements of `size` bytes. Returns the first, or NULL after failing with RUNG_STATUS_NO_MEMORY. */
void *rungi_ptx_vector_append(ptx_vector_t *vector, size_t size, int32_t count);
