/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.h - how well tiles of a size suit a problem on a device: what can be counted without
 * measuring. */
#ifndef RUNGI_TILES_H
#define RUNGI_TILES_H

#include "core/plan.h"

/* The elements of C in all tiles, whether they are there or not. 0 if the kernel does not take
 * the parameters or does not say what its tiles are. */
double rungi_tiles_area(const rung_plan *plan, const rung_kernel *kernel, const char *parameters);

/* Whether only that can be counted, and units not: on processors. What is called a unit is a
 * multiprocessor on NVIDIA's and AMD's GPUs, which computes a tile by itself, and so idle ones
 * count; other OpenCL drivers count execution units or threads, of which a tile may keep
 * several busy, or one several tiles. */
bool rungi_tiles_by_area(const rung_device *device);

/* The same for as long as the whole device is busy: units that have no tile to compute count
 * as if they had one. */
double rungi_tiles_cost(const rung_plan *plan, const rung_kernel *kernel, const char *parameters);

/* Whether one tile spans a side of C. Larger ones than that only leave more of it unused. */
bool rungi_tiles_span(const rung_plan *plan, const rung_kernel *kernel, const char *parameters);

/* Into how many shares k is best cut, where all items together have so many tiles, which step
 * by bk, and `bytes` are there for partial sums. */
int64_t rungi_tiles_shares(const rung_device *device, const rung_problem *problem, int64_t blocks, int64_t bk,
                           int64_t bytes);

/* The bytes of partial sums; false if they overflow. */
bool rungi_tiles_partials(const rung_problem *problem, int64_t shares, int64_t *bytes);

#endif /* RUNGI_TILES_H */
