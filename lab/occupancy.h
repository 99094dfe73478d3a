/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy.h - how many blocks of a kernel a multiprocessor holds at once, what keeps it from
 * holding more, and how full the launches of a grid are. By NVIDIA's rules, with no GPU. */
#ifndef LAB_OCCUPANCY_H
#define LAB_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

/* A multiprocessor; see limits.def. */
typedef struct lab_limits {
    const char *architecture; /* "sm_86" */
    int64_t warps, blocks, threads_block;
    int64_t registers, registers_block, registers_thread;
    int64_t register_step; /* a warp gets a multiple of these, */
    int64_t parts;         /* in the one of so many parts that it lives in */
    int64_t shared, shared_block, shared_step;
    int64_t shared_system; /* of a block's, besides its own */
} lab_limits;

/* NULL if it is not known. */
const lab_limits *lab_limits_of(const char *architecture);

/* What may bound the number of blocks. */
/* clang-format off */
#define LAB_BOUND_LIST(X)                                                       \
    X(REGISTERS, "registers")                                                   \
    X(SHARED,    "shared memory")                                               \
    X(BLOCKS,    "blocks")                                                      \
    X(WARPS,     "warps")
/* clang-format on */

typedef enum lab_bound {
#define X(name, words) LAB_BY_##name,
    LAB_BOUND_LIST(X)
#undef X
        LAB_BOUND_COUNT
} lab_bound;

typedef struct lab_occupancy {
    int64_t blocks, warps; /* that a multiprocessor holds; 0 where not even one block fits */
    int64_t warps_max;
    double fraction;                 /* warps of warps_max */
    int64_t allows[LAB_BOUND_COUNT]; /* blocks, if there were no other bound */
    bool binds[LAB_BOUND_COUNT];     /* those that allow no more than there are */
    char bound_by[64];               /* them in words: "registers, shared memory" */
    int64_t registers_to_spare;      /* more a thread, and as many blocks; 0 if none fits */
    int64_t shared_to_spare;         /* more bytes a block, likewise */
} lab_occupancy;

/* Of blocks of so many threads, registers a thread, and bytes of shared memory, static and
 * dynamic. */
lab_occupancy lab_occupancy_of(const lab_limits *limits, int64_t threads, int64_t registers, int64_t shared_bytes);

/* A grid on so many multiprocessors: how often all of them are filled, and the rest. */
typedef struct lab_waves {
    int64_t blocks; /* of a full wave */
    int64_t full;
    double tail;       /* of a full wave, what the last, not full one has; 0 if there is none */
    double efficiency; /* of all waves, were they full, what is used */
} lab_waves;

lab_waves lab_waves_of(const lab_occupancy *occupancy, int64_t units, int64_t blocks_total);

#endif /* LAB_OCCUPANCY_H */
