/* SPDX-License-Identifier: Apache-2.0 */
/* random_shapes.h - two hundred problems on clusters of any size, drawn once and for all: what grids are judged by. */
#ifndef TEST_RANDOM_SHAPES_H
#define TEST_RANDOM_SHAPES_H

#include <math.h>

#include "rung/cluster.h"

enum { SHAPES = 200 };

/* Of draw number `index`, from 0 up to 1 (SplitMix64). */
static inline double shape_draw(uint64_t index)
{
    uint64_t x = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}

/* Sides of 512 to 262,144, all orders of size alike, on 4 to 1,024 ranks, all numbers alike, of which 6 % may idle. Another
 * set for each `seed`. */
static inline rung_cluster_problem shape_at(int seed, int index)
{
    uint64_t draw = ((uint64_t)seed * SHAPES + (uint64_t)index) * 4;
    return rung_cluster_problem_of(4 + (int64_t)(1021.0 * shape_draw(draw)),
                                   (int64_t)exp2(9.0 + 9.0 * shape_draw(draw + 1)),
                                   (int64_t)exp2(9.0 + 9.0 * shape_draw(draw + 2)),
                                   (int64_t)exp2(9.0 + 9.0 * shape_draw(draw + 3)), RUNG_F64, RUNG_F64, RUNG_F64);
}

#endif /* TEST_RANDOM_SHAPES_H */
