/* SPDX-License-Identifier: Apache-2.0 */
/* tile_cost.h - how well the tiles of a kernel fit a problem and a device, counted without measuring. */
#ifndef RUNGI_TILE_COST_H
#define RUNGI_TILE_COST_H

#include "core/plan_types.h"

/* Returns the number of elements in all tiles, including elements outside C. 0 if the parameters are invalid or do not
 * define the tile size. */
double rungi_tile_cost_area(const rung_plan *plan, const rung_kernel *kernel, const char *parameters);

/* Returns whether only the tile area can be counted, because compute units do not correspond to tiles. On NVIDIA and
 * AMD GPUs a compute unit is a multiprocessor, which computes a tile alone. Other OpenCL drivers count execution units
 * or threads. */
bool rungi_tile_cost_is_area_only(const rung_device *device);

/* Returns the tile area in whole waves: a compute unit without a tile counts as if it computed one. 0 as above. */
double rungi_tile_cost_of_waves(const rung_plan *plan, const rung_kernel *kernel, const char *parameters);

/* Returns whether one tile spans a side of C, so that larger tiles compute more elements outside C. */
bool rungi_tile_cost_has_spanning_tile(const rung_plan *plan, const rung_kernel *kernel, const char *parameters);

/* Returns the number of split-K slices that gives every compute unit a tile, for `blocks` tiles of all items and K
 * blocks of `bk`. At most `bytes` are available for partial sums. */
int64_t rungi_split_k_slice_count(const rung_device *device, const rung_problem *problem, int64_t blocks, int64_t bk,
                                  int64_t bytes);

/* Computes the bytes of the partial sums of all slices. Returns false on overflow. */
bool rungi_split_k_workspace_bytes(const rung_problem *problem, int64_t slices, int64_t *bytes);

#endif /* RUNGI_TILE_COST_H */
