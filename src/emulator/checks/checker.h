/* SPDX-License-Identifier: Apache-2.0 */
/* checker.h - the state of the checks of one block and of one launch, shared by the files of this folder.
 *
 * Accesses carry a time. The clock of a block advances whenever a warp synchronizes: at barriers, fences and
 * bar.warp.sync. Each warp knows up to which time the accesses of each other warp happened before its own (a vector
 * clock). Everything before `floor`, the last barrier of the whole block, happened before everything after it. */
#pragma once

#include "emulator/checks/checks.h"
#include "emulator/machine/emulator.h"
#include "emulator/ptx/atomic_operations.h"

enum {
    PTX_SHADOW_UNINITIALIZED = 1, /* nobody has written the byte */
    PTX_SHADOW_IN_FLIGHT = 2,     /* an asynchronous copy will write the byte */
    PTX_SHADOW_WRITTEN = 4,       /* a block of this launch has written the byte */
    PTX_SHADOW_BEING_READ = 8     /* a bulk store or wgmma may still read the byte */
};

enum { PTX_PAGE_SHIFT = 12 }; /* of the pages of global memory that ptx_launch_checker marks */

/* One access in 64 bits, the time first, so that one comparison with the floor's stamp tells old accesses. 0: none. */
typedef uint64_t ptx_stamp_t;
enum {
    PTX_STAMP_TIME_SHIFT = 36,   /* 28 bits */
    PTX_STAMP_RANK_SHIFT = 32,   /* in cells of a cluster, the rank of the block: 4 bits */
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

/* What is known about accesses of 4 bytes of memory. Accesses of 1 and of 2 bytes have cells of their own. */
typedef struct ptx_cell {
    ptx_stamp_t writer;          /* the last one */
    ptx_stamp_t reader, reader2; /* the last one, and one of another thread */
} ptx_cell_t;

/* A read by all lanes of a warp that is not yet recorded in the cells. The first cells of its lanes are in a list, or those
 * of each half of the warp are equal (step 0) or follow each other (step 1). */
typedef struct ptx_logged_read {
    ptx_stamp_t stamp; /* of lane 0 */
    int16_t size;      /* of a cell */
    int16_t count;     /* cells of one lane */
    int32_t list;      /* index in `lists`, or -1 */
    uint32_t first[2], step[2];
} ptx_logged_read_t;
enum { PTX_LOGGED_READS_MAX = 4096, PTX_LOGGED_LISTS_MAX = 1024 };
typedef uint32_t ptx_cell_list_t[PTX_WARP_LANES];

/* A set of regions of a memory, one bit each. */
typedef uint64_t ptx_regions_t;

/* Sizes of cells; a cell of size s has 2^s bytes. */
enum { PTX_CELL_BYTE, PTX_CELL_HALF, PTX_CELL_PARTS, PTX_CELL_WORD = PTX_CELL_PARTS };

/* Cells of one memory, and its reads since the last barrier of the whole block. Most of them are forgotten at the next. */
typedef struct ptx_race_memory {
    ptx_cell_t *cells;                 /* of words */
    ptx_cell_t *parts[PTX_CELL_PARTS]; /* of bytes and of halves of words; NULL before the first access of that size */
    uint64_t base;                     /* address of the first cell */
    uint64_t bytes;                    /* of the memory */
    ptx_logged_read_t *reads;
    ptx_cell_list_t *lists;
    int read_count, list_count;
    int region_shift;                           /* a region has 2^region_shift cells */
    ptx_regions_t read_regions;                 /* of the logged reads */
    ptx_regions_t written_regions;              /* of the writes since the last barrier of the whole block */
    ptx_regions_t part_regions[PTX_CELL_PARTS]; /* of the accesses since then by size */
    bool has_words;                             /* words were accessed since then */
} ptx_race_memory_t;

/* Divides a memory into up to 64 regions of at least 512 bytes. */
static inline void rungi_ptx_divide(ptx_race_memory_t *memory, uint64_t bytes)
{
    memory->bytes = bytes;
    memory->region_shift = 7;
    while (bytes >> 2 >> memory->region_shift >= 64)
        memory->region_shift++;
}

static inline ptx_regions_t rungi_ptx_region(const ptx_race_memory_t *memory, uint64_t cell)
{
    return (ptx_regions_t)1 << (cell >> memory->region_shift & 63);
}

/* A location that threads synchronize through: the clock that its writers have released. */
typedef struct ptx_sync_variable {
    uint64_t address; /* bit 63: in shared memory. 0: unused */
    int32_t clock;    /* index of the vector in `clocks` */
} ptx_sync_variable_t;
typedef struct ptx_sync_table {
    ptx_sync_variable_t *variables; /* hash table */
    uint32_t *clocks;
    int32_t count, capacity;
} ptx_sync_table_t;

/* Accesses of other blocks of the cluster to 4 bytes of shared memory. */
typedef struct ptx_remote_access {
    uint32_t time; /* 0: none */
    int32_t pc;
    uint16_t thread;
    uint8_t rank;
    bool is_strong;
} ptx_remote_access_t;
typedef struct ptx_remote_cell {
    ptx_remote_access_t writer, reader;
} ptx_remote_cell_t;

struct ptx_checker {
    ptx_block_t *block;
    int clock_count;                  /* entries of a vector clock: the warps of all blocks of the cluster */
    int first_warp;                   /* entry of the block's first warp */
    ptx_remote_cell_t *remote;        /* of shared memory; NULL until another block accesses it */
    uint32_t *proxy_fenced;           /* per warp: writes up to this time are visible to the asynchronous proxy */
    unsigned char *shared_shadow;     /* one byte per byte */
    int64_t shadow_count;             /* bytes of it that are not 0 */
    ptx_race_memory_t shared, global; /* cells of global memory are reserved addresses, or NULL */
    size_t global_cell_bytes;
    int32_t *allocation_of; /* per instruction: the allocation that it accessed last */
    uint32_t time, floor;
    int64_t cluster;                   /* linear number of the block's cluster in the grid */
    uint32_t start;                    /* time when the block began */
    uint32_t *warp_time;               /* per warp: time of its accesses */
    uint32_t *warp_synced;             /* per warp: accesses of its lanes before this time are ordered */
    uint32_t **lane_synced;            /* per warp: 32 x 32 times, of bar.warp.sync with some lanes; NULL before */
    uint32_t *clocks;                  /* per warp: a vector clock */
    uint32_t *fenced;                  /* per warp: its vector clock at its last fence */
    bool *has_fenced;                  /* per warp */
    uint32_t *published;               /* the same of fences that reach beyond the block; NULL without a cluster */
    bool *has_published;               /* per warp */
    uint32_t *barrier_clocks;          /* per barrier: vector clock of what arrived */
    uint32_t *fenced_arrivals;         /* of relaxed arrivals at the cluster's barrier: what this block may acquire */
    ptx_sync_table_t sync;             /* between the threads of the block */
    ptx_sync_table_t cluster_sync;     /* between the blocks of the cluster, in global memory; of rank 0 only */
    int64_t copies_in_flight;          /* asynchronous copies with a source */
    uint64_t source_start, source_end; /* range that contains their sources */
    bool block_has_fenced;             /* with a fence that reaches beyond the block */
    int64_t acquired_cluster;          /* accesses of released blocks up to this cluster happened before; -1: none */
};

/* Accesses of the blocks of one cluster to 4 bytes or 1 byte of global memory. Stamps before the start of a block belong to
 * an earlier cluster. */
typedef struct ptx_cluster_cell {
    ptx_stamp_t writers[2]; /* the last weak and the last strong write */
    ptx_stamp_t readers[2]; /* of two blocks */
} ptx_cluster_cell_t;

/* Blocks that read, or that wrote, 4 bytes or 1 byte of global memory: the lowest and the highest block. Each is the maximum
 * of keys, so that the order of blocks does not matter. 0: none. */
typedef struct ptx_block_range {
    uint64_t low, high;
} ptx_block_range_t;

/* Reads and writes of the blocks that one thread runs: reserved addresses, of which most are read or written and few are
 * both. */
typedef struct ptx_block_accesses {
    ptx_block_range_t *word_reads, *word_writes;
    ptx_block_range_t *byte_reads, *byte_writes;       /* accesses of less than 4 bytes */
    ptx_cluster_cell_t *cluster_words, *cluster_bytes; /* of the running cluster; NULL without clusters */
} ptx_block_accesses_t;

struct ptx_launch_checker {
    ptx_block_accesses_t *accesses; /* per thread, so that threads do not wait for each other; merged in the end */
    int thread_count;
    size_t word_bytes, byte_bytes, cluster_word_bytes, cluster_byte_bytes;
    int cluster_size, rank_bits;               /* of a key, for the ranks of a cluster */
    unsigned char *written_pages, *byte_pages; /* 1 for each 4096 bytes that were written, or accessed by bytes */
    size_t page_count;
    unsigned char *
        released; /* per block, in the order of clusters: it has published its accesses with a fence and a strong write */
    bool is_sequential; /* blocks run in order on one thread */
    bool is_ordered;    /* whatever the number of threads, because the kernel may synchronize its blocks */
};

/* A range was written by something else than a checked access: later reads of it are compared with the cells. */
static inline void rungi_ptx_mark_written(ptx_race_memory_t *memory, uint64_t address, uint64_t bytes)
{
    uint64_t step = UINT64_C(4) << memory->region_shift, first = (address - memory->base) & ~(step - 1);
    for (uint64_t at = first; at < address - memory->base + bytes; at += step)
        memory->written_regions |= rungi_ptx_region(memory, at >> 2);
    memory->has_words = true;
}

/* Begins an interval between barriers of the whole block: what was accessed before happened before what follows. */
static inline void rungi_ptx_begin_interval(ptx_race_memory_t *memory)
{
    memory->read_count = memory->list_count = 0;
    memory->read_regions = memory->written_regions = 0;
    memory->part_regions[PTX_CELL_BYTE] = memory->part_regions[PTX_CELL_HALF] = 0;
    memory->has_words = false;
}

/* Returns the cells of a size, or NULL. */
static inline ptx_cell_t *rungi_ptx_cells(const ptx_race_memory_t *memory, int size)
{
    return size == PTX_CELL_WORD ? memory->cells : memory->parts[size];
}

/* Reserves the cells of bytes or halves. Returns false if memory is short; races of such accesses are then not found. */
bool rungi_ptx_reserve_parts(ptx_race_memory_t *memory, int size);

/* Returns the stamp of the last write to a byte by the threads of the block. */
ptx_stamp_t rungi_ptx_last_writer(const ptx_race_memory_t *memory, uint64_t offset);

static inline bool rungi_ptx_is_strong(const ptx_checked_access_t *access)
{
    return access->kind == PTX_ATOMIC ||
           (access->instruction->flags & (PTX_FLAG_VOLATILE | PTX_FLAG_RELAXED | PTX_FLAG_ACQUIRE | PTX_FLAG_RELEASE));
}

/* Returns whether the thread uses what is in the memory. An exchange without a result only stores. */
static inline bool rungi_ptx_uses_value(const ptx_checked_access_t *access)
{
    bool is_store = access->kind == PTX_ATOMIC && access->instruction->operation == PTX_ATOMIC_EXCHANGE &&
                    !access->instruction->operand[0];
    return access->kind != PTX_WRITE && !is_store;
}

const char *rungi_ptx_action_name(ptx_access_t kind); /* "read", "write" */

/* Forgets all accesses and begins with time 0, before the time has no room left. */
void rungi_ptx_checker_restart(ptx_checker_t *checker);

/* Returns one side of a finding in this block. */
ptx_party_t rungi_ptx_party(const ptx_checker_t *checker, int32_t pc, int thread);

/* Global memory: allocations, initialization, constants. Returns the lanes that may access. */
uint32_t rungi_ptx_check_global(const ptx_checked_access_t *access, uint32_t mask);

/* Bounds of arrays in shared memory. Returns the lanes inside of the array. */
uint32_t rungi_ptx_check_shared_bounds(const ptx_checked_access_t *access, uint32_t mask);

/* Shadow bytes of shared and local memory. The first returns the lanes that access no copy in flight. */
uint32_t rungi_ptx_check_shared_bytes(const ptx_checked_access_t *access, uint32_t mask);
void rungi_ptx_check_local_bytes(const ptx_checked_access_t *access, uint32_t mask);

/* Sources of asynchronous copies: begin and end of a copy, and writes to the sources of copies in flight. */
void rungi_ptx_copy_source_issued(ptx_checker_t *checker, const ptx_async_copy_t *copy);
void rungi_ptx_copy_source_completed(ptx_checker_t *checker, const ptx_async_copy_t *copy);
void rungi_ptx_check_copy_sources(const ptx_checked_access_t *access, uint32_t mask);

/* Races between the threads of a block. */
void rungi_ptx_check_races(const ptx_checked_access_t *access, uint32_t mask, ptx_race_memory_t *memory);

/* Returns the stamp of an access of a lane. */
ptx_stamp_t rungi_ptx_stamp(const ptx_checker_t *checker, int warp, int lane, int32_t pc, bool is_strong);

/* Returns whether an earlier access happened before those of a thread. */
bool rungi_ptx_happened_before(const ptx_checker_t *checker, ptx_stamp_t stamp, int warp, int lane);

/* A strong access synchronizes with earlier strong accesses of the same address. */
void rungi_ptx_check_strong_access(const ptx_checked_access_t *access, uint32_t mask, bool is_shared);

/* Reports an access to the destination of a bulk copy in flight, or a write to bytes that the asynchronous proxy reads.
 * Returns false if there is no such copy or read. */
bool rungi_ptx_report_bulk_in_flight(const ptx_checked_access_t *access, const ptx_block_t *block, int lane,
                                     uint64_t address);
bool rungi_ptx_report_being_read(const ptx_checked_access_t *access, int lane);

/* Shared memory of other blocks of the cluster. */
void rungi_ptx_check_remote(const ptx_checked_access_t *access, uint32_t mask);

/* Compares an access of the block with those of other blocks to its shared memory. */
void rungi_ptx_check_remote_conflicts(const ptx_checked_access_t *access, uint32_t mask);

/* Records reads that were only logged, before the cells are compared with a write. */
void rungi_ptx_record_reads(ptx_race_memory_t *memory, uint32_t floor);

/* Sets shadow bytes of shared memory. */
void rungi_ptx_set_shared_shadow(ptx_checker_t *checker, uint64_t address, int64_t bytes, unsigned char value);

/* Returns the bits that are set in any of `bytes` shadow bytes. */
unsigned rungi_ptx_shadow_bits(const unsigned char *shadow, int bytes);

/* Returns the time up to which a warp knows the accesses of a warp of the cluster. */
uint32_t rungi_ptx_known_time(const ptx_checker_t *checker, int warp, int cluster_warp);

/* Accesses of global memory by blocks of one cluster. */
void rungi_ptx_check_cluster_races(const ptx_checked_access_t *access, uint32_t mask);

/* Reports a conflict of two blocks at an address of global memory. */
void rungi_ptx_report_blocks(const ptx_launch_t *launch, const ptx_party_t *writer, const ptx_party_t *other,
                             bool other_writes, uint64_t address, int bytes);

/* Races between blocks. */
void rungi_ptx_check_block_races(const ptx_checked_access_t *access, uint32_t mask);
