/* SPDX-License-Identifier: Apache-2.0 */
/* checker.h - the state of the checks of one block and of one launch, shared by the files of this folder.
 *
 * Accesses carry a time. The clock of a block advances whenever a warp synchronizes: at barriers, fences and
 * bar.warp.sync. Each warp knows up to which time the accesses of each other warp happened before its own (a vector
 * clock). Everything before `floor`, the last barrier of the whole block, happened before everything after it. */
#pragma once

#include "emulator/checks/checks.h"
#include "emulator/machine/emulator.h"

enum {
    PTX_SHADOW_UNINITIALIZED = 1, /* nobody has written the byte */
    PTX_SHADOW_IN_FLIGHT = 2,     /* an asynchronous copy will write the byte */
    PTX_SHADOW_WRITTEN = 4        /* a block of this launch has written the byte */
};

/* One access in 64 bits, the time first, so that one comparison with the floor's stamp tells old accesses. 0: none. */
typedef uint64_t ptx_stamp_t;
enum {
    PTX_STAMP_TIME_SHIFT = 36, /* 28 bits */
    PTX_STAMP_BYTES_SHIFT = 32,
    PTX_STAMP_THREAD_SHIFT = 22, /* warp and lane: 10 bits */
    PTX_STAMP_STRONG_SHIFT = 21,
    PTX_STAMP_PC_MASK = (1 << 21) - 1,
    PTX_TIME_MAX = (1 << 28) - 2
};

static inline uint32_t rungi_ptx_stamp_time(ptx_stamp_t stamp)
{
    return (uint32_t)(stamp >> PTX_STAMP_TIME_SHIFT);
}

static inline int rungi_ptx_stamp_thread(ptx_stamp_t stamp)
{
    return (int)(stamp >> PTX_STAMP_THREAD_SHIFT & 1023);
}

/* What is known about 4 bytes of memory. */
typedef struct ptx_cell {
    ptx_stamp_t writer;          /* the last one */
    ptx_stamp_t reader, reader2; /* the last one, and one of another thread */
} ptx_cell_t;

/* A read by all lanes of a warp that is not yet recorded in the cells. */
typedef struct ptx_logged_read {
    ptx_stamp_t stamp; /* of lane 0 */
    int32_t count;     /* cells of one lane */
    uint32_t cell[PTX_WARP_LANES];
} ptx_logged_read_t;
enum { PTX_LOGGED_READS_MAX = 512 };

/* Cells of one memory, and its reads since the last barrier of the whole block. Most of them are forgotten at the next. */
typedef struct ptx_race_memory {
    ptx_cell_t *cells;
    uint64_t base; /* address of the first cell */
    ptx_logged_read_t *reads;
    int read_count;
    uint32_t written; /* time of the last write */
} ptx_race_memory_t;

/* A location that threads synchronize through: the clock that its writers have released. */
typedef struct ptx_sync_variable {
    uint64_t address; /* bit 63: in shared memory. 0: unused */
    int32_t clock;    /* index of the vector in `sync_clocks` */
} ptx_sync_variable_t;

struct ptx_checker {
    ptx_block_t *block;
    unsigned char *shared_shadow;     /* one byte per byte */
    int64_t shadow_count;             /* bytes of it that are not 0 */
    ptx_race_memory_t shared, global; /* cells of global memory are reserved addresses, or NULL */
    size_t global_cell_bytes;
    int32_t *allocation_of; /* per instruction: the allocation that it accessed last */
    uint32_t time, floor;
    uint32_t start;                      /* time when the block began */
    uint32_t *warp_time;                 /* per warp: time of its accesses */
    uint32_t *warp_synced;               /* per warp: accesses of its lanes before this time are ordered */
    uint32_t **lane_synced;              /* per warp: 32 x 32 times, of bar.warp.sync with some lanes; NULL before */
    uint32_t *clocks;                    /* per warp: a vector clock */
    uint32_t *fenced;                    /* per warp: its vector clock at its last fence */
    bool *has_fenced;                    /* per warp */
    uint32_t *barrier_clocks;            /* per barrier: vector clock of what arrived */
    ptx_sync_variable_t *sync_variables; /* hash table */
    uint32_t *sync_clocks;
    int32_t sync_count, sync_capacity;
    bool block_has_fenced;  /* with a fence that reaches beyond the block */
    int64_t acquired_block; /* accesses of released blocks up to this one happened before; -1: none */
};

/* Accesses of all blocks to 4 bytes, or to 1 byte, of global memory: the lowest and the highest block. Each is the maximum
 * of keys, so that the order of blocks does not matter. 0: none. */
typedef struct ptx_block_cell {
    uint64_t read_low, read_high, write_low, write_high;
} ptx_block_cell_t;

struct ptx_launch_checker {
    ptx_block_cell_t *words, *bytes; /* reserved addresses; `bytes` holds accesses of less than 4 bytes */
    size_t word_bytes, byte_bytes;
    unsigned char *written_pages, *byte_pages; /* 1 for each 4096 bytes that were written, or accessed by bytes */
    size_t page_count;
    unsigned char *released; /* per block: it has published its accesses with a fence and a strong write */
    bool is_sequential;      /* blocks run in order on one thread */
    bool is_ordered;         /* whatever the number of threads, because the kernel may synchronize its blocks */
};

static inline bool rungi_ptx_is_strong(const ptx_checked_access_t *access)
{
    return access->kind == PTX_ATOMIC ||
           (access->instruction->flags & (PTX_FLAG_VOLATILE | PTX_FLAG_RELAXED | PTX_FLAG_ACQUIRE | PTX_FLAG_RELEASE));
}

const char *rungi_ptx_action_name(ptx_access_t kind); /* "read", "write" */

/* Forgets all accesses and begins with time 0, before the time has no room left. */
void rungi_ptx_checker_restart(ptx_checker_t *checker);

/* Returns one side of a finding in this block. */
ptx_party_t rungi_ptx_party(const ptx_checker_t *checker, int32_t pc, int thread);

/* Global memory: allocations, initialization, constants. Returns the lanes that may access. */
uint32_t rungi_ptx_check_global(const ptx_checked_access_t *access, uint32_t mask);

/* Shadow bytes of shared and local memory. The first returns the lanes that access no copy in flight. */
uint32_t rungi_ptx_check_shared_bytes(const ptx_checked_access_t *access, uint32_t mask);
void rungi_ptx_check_local_bytes(const ptx_checked_access_t *access, uint32_t mask);

/* Races between the threads of a block. */
void rungi_ptx_check_races(const ptx_checked_access_t *access, uint32_t mask, ptx_race_memory_t *memory);

/* Returns the stamp of an access of a lane. */
ptx_stamp_t rungi_ptx_stamp(const ptx_checker_t *checker, int warp, int lane, int32_t pc, bool is_strong);

/* Returns whether an earlier access happened before those of a thread. */
bool rungi_ptx_happened_before(const ptx_checker_t *checker, ptx_stamp_t stamp, int warp, int lane);

/* A strong access synchronizes with earlier strong accesses of the same address. */
void rungi_ptx_check_strong_access(const ptx_checked_access_t *access, uint32_t mask, bool is_shared);

/* Races between blocks. */
void rungi_ptx_check_block_races(const ptx_checked_access_t *access, uint32_t mask);
