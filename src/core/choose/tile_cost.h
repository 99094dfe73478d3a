/* SPDX-License-Identifier: Apache-2.0 */
/* tile_cost.h - how well the tiles of a kernel fit a problem and a device, counted without measuring. */
#pragma once

#include "core/plan_types.h"

typedef struct rungi_tile_cost {
    double area;            /* elements in all tiles, including elements outside C */
    double wave_area;       /* the same in whole waves: a compute unit without a tile counts as if it computed one */
    bool has_spanning_tile; /* one tile spans a side of C, so that larger tiles compute more elements outside C */
} rungi_tile_cost;

/* Returns the cost of a kernel with parameters. All members are 0 if the parameters are invalid or do not define the tile
 * size. */
rungi_tile_cost rungi_tile_cost_of(const rung_plan *plan, const rung_kernel *kernel, const char *parameters);

/* Returns the number of split-K slices that gives every compute unit a tile, for `blocks` tiles of all items and K
 * blocks of `bk`. At most `bytes` are available for partial sums. */
int64_t rungi_split_k_slice_count(const rung_device *device, const rung_problem *problem, int64_t blocks, int64_t bk,
                                  int64_t bytes);

/* Returns the number of slices whose partial sums fit `bytes`. */
int64_t rungi_split_k_affordable(const rung_problem *problem, int64_t bytes);

/* Computes the bytes of the partial sums of all slices. Returns false on overflow. */
bool rungi_split_k_workspace_bytes(const rung_problem *problem, int64_t slices, int64_t *bytes);
