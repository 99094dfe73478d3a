/* SPDX-License-Identifier: Apache-2.0 */
/* checked.h - int64_t arithmetic that tells when it overflows.
 *
 * Sizes and strides come from the caller, so no product of two of them is taken
 * unchecked. Each function returns true if the exact result fits. */
#ifndef RUNGI_CHECKED_H
#define RUNGI_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/assert.h"

static inline bool rungi_add(int64_t x, int64_t y, int64_t *sum)
{
    return !__builtin_add_overflow(x, y, sum);
}

static inline bool rungi_subtract(int64_t x, int64_t y, int64_t *difference)
{
    return !__builtin_sub_overflow(x, y, difference);
}

static inline bool rungi_multiply(int64_t x, int64_t y, int64_t *product)
{
    return !__builtin_mul_overflow(x, y, product);
}

/* sum += x * y */
static inline bool rungi_multiply_add(int64_t x, int64_t y, int64_t *sum)
{
    int64_t product;
    return rungi_multiply(x, y, &product) && rungi_add(*sum, product, sum);
}

/* x / y rounded up, for x >= 0 and y > 0. */
static inline int64_t rungi_divide_up(int64_t x, int64_t y)
{
    RUNGI_ASSERT(x >= 0 && y > 0);
    return x / y + (x % y != 0);
}

/* Up to a multiple of `step`, for 0 <= value <= INT64_MAX - step. */
static inline int64_t rungi_round_up(int64_t value, int64_t step)
{
    RUNGI_ASSERT(step > 0 && value >= 0 && value <= INT64_MAX - step);
    return (value + step - 1) / step * step;
}

/* Whether it is a whole number of 32 bits. */
static inline bool rungi_is_int32(double value)
{
    return value >= INT32_MIN && value <= INT32_MAX && value == (double)(int32_t)value;
}

static inline int64_t rungi_smaller(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static inline int64_t rungi_larger(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* Returns where part `index` of `parts` nearly equal parts of `extent` begins. Part `parts` begins at the end. */
static inline int64_t rungi_part_start(int64_t extent, int64_t parts, int64_t index)
{
    return extent / parts * index + extent % parts * index / parts;
}

static inline int64_t rungi_part_size(int64_t extent, int64_t parts, int64_t index)
{
    return rungi_part_start(extent, parts, index + 1) - rungi_part_start(extent, parts, index);
}

#endif /* RUNGI_CHECKED_H */
