/* SPDX-License-Identifier: Apache-2.0 */
/* checked_arithmetic.h - int64_t arithmetic that detects overflow, for sizes and strides from the caller. Each checked
 * function returns true if the exact result fits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"

static inline bool rungi_checked_add(int64_t x, int64_t y, int64_t *sum)
{
    return !__builtin_add_overflow(x, y, sum);
}

static inline bool rungi_checked_subtract(int64_t x, int64_t y, int64_t *difference)
{
    return !__builtin_sub_overflow(x, y, difference);
}

static inline bool rungi_checked_multiply(int64_t x, int64_t y, int64_t *product)
{
    return !__builtin_mul_overflow(x, y, product);
}

/* sum += x * y */
static inline bool rungi_checked_multiply_add(int64_t x, int64_t y, int64_t *sum)
{
    int64_t product;
    return rungi_checked_multiply(x, y, &product) && rungi_checked_add(*sum, product, sum);
}

/* Returns x / y rounded up, for x >= 0 and y > 0. */
static inline int64_t rungi_ceil_divide(int64_t x, int64_t y)
{
    RUNGI_ASSERT(x >= 0 && y > 0);
    return x / y + (x % y != 0);
}

/* Rounds up to a multiple of `step`, for 0 <= value <= INT64_MAX - step. */
static inline int64_t rungi_round_up(int64_t value, int64_t step)
{
    RUNGI_ASSERT(step > 0 && value >= 0 && value <= INT64_MAX - step);
    return (value + step - 1) / step * step;
}

/* Returns whether the value is an integer that fits int32_t. */
static inline bool rungi_is_int32(double value)
{
    return value >= INT32_MIN && value <= INT32_MAX && value == (double)(int32_t)value;
}

static inline int64_t rungi_min(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static inline int64_t rungi_max(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* Return the start and the size of part `index` when `extent` is divided into `parts` nearly equal parts. Part `parts`
 * starts at the end. */
static inline int64_t rungi_part_start(int64_t extent, int64_t parts, int64_t index)
{
    return extent / parts * index + extent % parts * index / parts;
}

static inline int64_t rungi_part_size(int64_t extent, int64_t parts, int64_t index)
{
    return rungi_part_start(extent, parts, index + 1) - rungi_part_start(extent, parts, index);
}
