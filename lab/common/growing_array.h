/* SPDX-License-Identifier: Apache-2.0 */
/* growing_array.h - arrays that grow by one element at a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Returns the array, possibly moved, with room for one element after the first `count`; NULL if memory is exhausted, and
 * the array is then unchanged. The room is the next power of two, so the array needs no separate capacity. */
static inline void *lab_array_grow(void *array, int64_t count, size_t size)
{
    bool is_full = (count & (count - 1)) == 0; /* 0 and powers of two */
    return is_full ? realloc(array, (size_t)(count > 0 ? 2 * count : 1) * size) : array;
}
