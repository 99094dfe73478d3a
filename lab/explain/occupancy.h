/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy.h - computes how many blocks of a kernel are resident on a multiprocessor, which resource limits them, and
 * how full the waves of a grid are. Follows NVIDIA's rules and needs no GPU. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Resources of a multiprocessor; see sm_limits.def. */
typedef struct lab_sm_limits {
    const char *architecture; /* "sm_86" */
    int64_t warps, blocks, threads_block;
    int64_t registers, registers_block, registers_thread;
    int64_t register_granularity; /* registers of a warp are a multiple of this number */
    int64_t partitions;           /* SM sub-partitions; a warp uses the registers of its own one */
    int64_t shared, shared_block, shared_granularity;
    int64_t shared_reserved; /* per block, used by the system */
} lab_sm_limits;

/* Returns NULL for an unknown architecture. */
const lab_sm_limits *lab_sm_limits_of(const char *architecture);

/* Resources that may limit the number of blocks. */
/* clang-format off */
#define LAB_OCCUPANCY_LIMITER_LIST(X)                                                       \
    X(REGISTERS, "registers")                                                   \
    X(SHARED,    "shared memory")                                               \
    X(BLOCKS,    "blocks")                                                      \
    X(WARPS,     "warps")
/* clang-format on */

typedef enum lab_occupancy_limiter {
#define X(name, title) LAB_LIMITED_BY_##name,
    LAB_OCCUPANCY_LIMITER_LIST(X)
#undef X
        LAB_OCCUPANCY_LIMITER_COUNT
} lab_occupancy_limiter;

typedef struct lab_occupancy {
    int64_t blocks, warps; /* resident on a multiprocessor; 0 if no block fits */
    int64_t warps_max;
    double fraction;                                     /* warps / warps_max */
    int64_t blocks_allowed[LAB_OCCUPANCY_LIMITER_COUNT]; /* blocks if only this limit existed */
    bool is_limiting[LAB_OCCUPANCY_LIMITER_COUNT];       /* limits that allow no more blocks */
    char bound_by[64];                                   /* names of the limits: "registers, shared memory" */
    int64_t spare_registers;    /* more per thread with the same number of blocks; 0 if no block fits */
    int64_t spare_shared_bytes; /* more bytes per block, likewise */
} lab_occupancy;

/* Returns the occupancy of blocks with `threads` threads, `registers` per thread, and `shared_bytes` of static and
 * dynamic shared memory. */
lab_occupancy lab_occupancy_of(const lab_sm_limits *limits, int64_t threads, int64_t registers, int64_t shared_bytes);

/* A grid as waves: how often it fills all multiprocessors, and the rest. */
typedef struct lab_waves {
    int64_t blocks; /* per full wave */
    int64_t full;
    double tail;       /* fraction of a full wave in the last, partial one; 0 without it */
    double efficiency; /* used fraction of all waves, counting the last one as full */
} lab_waves;

lab_waves lab_waves_of(const lab_occupancy *occupancy, int64_t sm_count, int64_t blocks_total);
