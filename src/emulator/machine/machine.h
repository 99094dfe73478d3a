/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - the state of a running kernel: launch, blocks, warps and their memory.
 *
 * A warp is a set of splits: lanes that share a program counter and a call frame. A divergent branch makes two splits
 * that wait for each other at the branch's immediate post-dominator. Blocks of one launch run on several threads; a
 * block and its warps belong to one thread at a time. */
#pragma once

#include <stdatomic.h>

#include "emulator/machine/address_windows.h"
#include "emulator/ptx/module.h"

enum { PTX_BARRIERS = 16, PTX_SPLITS_MAX = 33, PTX_NO_RECORD = -1 };

typedef struct ptx_block ptx_block_t;
typedef struct ptx_cluster ptx_cluster_t;   /* machine/cluster.h */
typedef struct ptx_mbarrier ptx_mbarrier_t; /* machine/mbarrier.h */
typedef struct ptx_launch ptx_launch_t;
typedef struct ptx_checker ptx_checker_t; /* checks/ */
typedef struct ptx_launch_checker ptx_launch_checker_t;
typedef struct ptx_counter ptx_counter_t; /* counts/ */
typedef struct ptx_counts ptx_counts_t;

/* A call frame with its own registers, so that recursion and divergence need no saving. */
typedef struct ptx_frame {
    unsigned char *registers; /* aligned */
    struct ptx_frame *parent; /* caller, or the next free frame */
    const ptx_instruction_t *call;
    int32_t function, return_pc;
    int32_t references; /* splits and callees */
    int64_t local_base; /* first byte of the function's local variables */
    int depth;
} ptx_frame_t;

/* Where the lanes of a divergent branch meet again. */
typedef struct ptx_record {
    int32_t pc; /* -1: the return of `frame` */
    int32_t parent;
    ptx_frame_t *frame;
    uint32_t expected, arrived;
    bool is_used;
} ptx_record_t;

typedef enum ptx_split_state { PTX_RUNNABLE, PTX_AT_BARRIER, PTX_AT_WARP_SYNC, PTX_WAITING } ptx_split_state_t;

typedef struct ptx_split {
    int32_t pc;
    uint32_t mask;
    ptx_frame_t *frame;
    int32_t record; /* index of the innermost record, or PTX_NO_RECORD */
    ptx_split_state_t state;
    int barrier;     /* that it waits for */
    bool has_waited; /* a test that failed has let other warps run */
} ptx_split_t;

/* A copy to shared memory that has not been waited for. The data lands when the wait ends. */
typedef struct ptx_async_copy {
    uint8_t lane, bytes;
    uint32_t to;      /* offset in shared memory */
    uint32_t group;   /* number of the lane's commit group */
    uint32_t arrival; /* number of the lane's next cp.async.mbarrier.arrive */
    int32_t pc;
    uint8_t from_bytes; /* of the source; the rest is filled with zeros. 0: the checks are off */
    uint64_t from;      /* address in global memory */
    unsigned char data[16];
} ptx_async_copy_t;

/* The copies of one instruction, while no check needs to know of them one by one. */
typedef struct ptx_copy_batch {
    uint32_t mask;           /* lanes */
    uint32_t group, arrival; /* of all of these lanes; see ptx_async_copy_t */
    int32_t pc, bytes;
    uint32_t to[PTX_WARP_LANES];
    unsigned char data[PTX_WARP_LANES][16];
} ptx_copy_batch_t;

/* Shared memory that a bulk store or wgmma reads until it is waited for. */
typedef struct ptx_async_read {
    uint8_t lane;
    bool is_matrix; /* of wgmma */
    uint32_t from, bytes;
    uint32_t group; /* number of the lane's bulk group, or of the warp's wgmma group */
    int32_t pc;
} ptx_async_read_t;

enum { PTX_CACHED_REGISTERS = 4 };

/* The A of the last mma of 16-bit elements: its registers, and its columns in single precision. */
typedef struct ptx_matrix_cache {
    uint32_t words[PTX_CACHED_REGISTERS][PTX_WARP_LANES];
    float a[4 * PTX_CACHED_REGISTERS][16];
    int64_t shape; /* of the instruction; 0: none */
} ptx_matrix_cache_t;

struct ptx_warp {
    unsigned char *base[PTX_BASE_COUNT + 1]; /* of operands: frame, constants, special registers */
    ptx_block_t *block;
    ptx_frame_t *frame; /* of the running split */
    int32_t pc;         /* of the running instruction */
    int32_t index;      /* in the block */
    uint32_t launched, live;
    int32_t exit_pc;             /* of the last lanes that exited */
    uint32_t active;             /* lanes of the running split; for activemask */
    uint32_t carry;              /* condition code, one bit per lane */
    bool is_checked;             /* any check is on */
    bool is_counted;             /* accesses are counted */
    bool is_observed;            /* accesses are checked or counted */
    bool must_wait;              /* set by an instruction whose condition does not hold yet: it is executed again */
    bool is_retried;             /* the instruction has waited before */
    bool is_stopped;             /* after a trap or a fault */
    unsigned char *local;        /* 32 lanes of block->local_bytes */
    unsigned char *local_shadow; /* of the checks, or NULL */
    ptx_split_t splits[PTX_SPLITS_MAX];
    int split_count, next_split;
    uint32_t preferred; /* lanes whose split runs first for a while; 0: none */
    ptx_record_t *records;
    int record_count;
    int64_t record_capacity;
    ptx_async_copy_t *copies;
    int copy_count;
    int64_t copy_capacity;
    ptx_copy_batch_t *batches; /* more copies, none if there are single ones */
    int batch_count;
    int64_t batch_capacity;
    uint32_t copy_group[PTX_WARP_LANES];    /* number of the open group */
    uint32_t copy_arrivals[PTX_WARP_LANES]; /* cp.async.mbarrier.arrive so far */
    uint32_t bulk_group[PTX_WARP_LANES];    /* number of the open bulk group */
    uint32_t matrix_group;                  /* number of the open wgmma group */
    uint32_t cluster_phase[PTX_WARP_LANES]; /* of the cluster's barrier when the lane arrived */
    ptx_async_read_t *reads;                /* only if the launch is checked */
    int read_count;
    int64_t read_capacity;
    int64_t instructions, first_instruction; /* in all blocks; before this block */
    int64_t thread_instructions, divergent_branches, barriers;
    unsigned char *special;           /* lane arrays of special registers */
    ptx_matrix_cache_t *matrix_cache; /* in the memory of `special` */
    ptx_frame_t **free_frames;        /* per function */
};

typedef struct ptx_barrier {
    uint32_t arrived;  /* threads */
    uint32_t expected; /* 0: all threads of the block that have not exited */
    uint32_t reduced;  /* of bar.red */
    uint32_t result;
    bool has_result;
} ptx_barrier_t;

struct ptx_block {
    ptx_launch_t *launch;
    uint32_t id[3];
    int64_t linear_id;
    ptx_warp_t *warps;
    int warp_count, thread_count;
    uint32_t exited; /* threads */
    ptx_barrier_t barriers[PTX_BARRIERS];
    unsigned char *shared;
    int64_t shared_bytes;
    int64_t local_bytes; /* of one thread, callees included */
    ptx_cluster_t *cluster;
    uint32_t cluster_rank;
    ptx_mbarrier_t *mbarriers;
    int mbarrier_count;
    int64_t mbarrier_capacity;
    ptx_checker_t *checker;
    ptx_counter_t *counter;
    int worker; /* number of the thread that runs it */
};

struct ptx_launch {
    rung_emulator *emulator;
    const ptx_module_t *module;
    const ptx_function_t *kernel;
    int32_t kernel_index;
    uint32_t grid[3], size[3], cluster[3]; /* size: of a block */
    bool has_explicit_cluster;
    bool is_cooperative; /* the blocks of the grid run as one cluster, which the kernel does not see */
    uint64_t workspace;  /* of the barrier of all blocks; 0 if the launch is not cooperative */
    int64_t dynamic_shared_bytes;
    unsigned char *parameters;
    int64_t parameter_bytes;
    unsigned char *global; /* host address of PTX_GLOBAL_BASE */
    uint64_t global_bytes;
    uint32_t checks;
    ptx_launch_checker_t *checker; /* of checks between blocks, or NULL */
    bool counts;
    int64_t max_instructions;
    atomic_int_least64_t next_block;
    atomic_bool has_failed;      /* other blocks stop */
    atomic_bool is_cancelled;    /* by the caller's should_stop(); has_failed is set, too */
    rung_emulator_totals totals; /* filled when the launch ends */
};

/* Returns the lane array of an operand. */
static inline void *rungi_ptx_lanes(const ptx_warp_t *warp, ptx_operand_t operand)
{
    return warp->base[operand & PTX_BASE_MASK] + (operand & ~(ptx_operand_t)PTX_BASE_MASK);
}

/* Returns the mask of a predicate. */
static inline uint32_t rungi_ptx_predicate(const ptx_warp_t *warp, ptx_operand_t operand)
{
    return *(const uint32_t *)rungi_ptx_lanes(warp, operand);
}

static inline void rungi_ptx_set_predicate(ptx_warp_t *warp, ptx_operand_t operand, uint32_t value, uint32_t mask)
{
    uint32_t *predicate = rungi_ptx_lanes(warp, operand);
    *predicate = (*predicate & ~mask) | (value & mask);
}

/* ---- Memory accesses (machine/access.c) ---------------------------------------------------------------------------- */

typedef enum ptx_access { PTX_READ, PTX_WRITE, PTX_ATOMIC } ptx_access_t;

/* Resolves the addresses of one access to host pointers, and checks and counts it if the launch asks for that. `space` is
 * generic or specific; addresses of specific spaces are offsets. Returns the lanes whose access is valid; the others were
 * reported and must be skipped. */
uint32_t rungi_ptx_access(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask,
                          const uint64_t address[PTX_WARP_LANES], int bytes, ptx_space_t space, ptx_access_t kind,
                          unsigned char *pointer[PTX_WARP_LANES]);

/* Returns the space of an address: a generic one is moved into its window's space; const is global. */
ptx_space_t rungi_ptx_resolve_space(ptx_space_t space, uint64_t *address);

/* Returns the host address of `bytes` at an address, or NULL if they are not inside of the space. */
unsigned char *rungi_ptx_host_address(ptx_warp_t *warp, int lane, ptx_space_t space, uint64_t address, int bytes);

/* Adds `count` copies, up to 256, which the caller fills. Returns NULL if memory is short. */
ptx_async_copy_t *rungi_ptx_async_copy_reserve(ptx_warp_t *warp, int count);

/* Adds a batch of copies of `bytes` bytes for the lanes of the mask, which the caller fills. Returns NULL if the copies must
 * be issued one by one: the warp is checked, the lanes are in different groups, or memory is short. */
ptx_copy_batch_t *rungi_ptx_copy_batch_reserve(ptx_warp_t *warp, uint32_t mask, int bytes);

/* Issues a copy of `bytes` bytes to shared memory for one lane: `from_bytes` bytes at `from` and zeros, which are `data`. */
void rungi_ptx_async_copy_issue(ptx_warp_t *warp, int lane, uint32_t to, const unsigned char *data, int bytes,
                                uint64_t from, int from_bytes);

/* Completes the lanes' copies, except those of the `pending` newest committed groups. */
void rungi_ptx_async_copy_wait(ptx_warp_t *warp, uint32_t mask, int64_t pending);

/* Completes everything, committed or not. */
void rungi_ptx_async_copy_wait_all(ptx_warp_t *warp, uint32_t mask);

/* Completes the copies of a lane up to its cp.async.mbarrier.arrive of this number. `waiter` waits for the mbarrier. */
void rungi_ptx_async_copy_land(ptx_warp_t *warp, int lane, uint32_t arrival, ptx_warp_t *waiter, int waiter_lane);

/* Remembers a read that lasts until it is waited for, if the launch is checked. */
void rungi_ptx_async_read_add(ptx_warp_t *warp, const ptx_async_read_t *read);

/* The lanes have waited for their reads of the groups before `limit`. */
void rungi_ptx_async_reads_end(ptx_warp_t *warp, uint32_t mask, bool is_matrix, const int64_t limit[PTX_WARP_LANES]);

/* ---- Checks (checks/) ---------------------------------------------------------------------------------------------- */

/* Creates and frees what the checks keep about a block. */
rung_status rungi_ptx_check_block_create(ptx_block_t *block);
void rungi_ptx_check_block_free(ptx_block_t *block);

/* Lanes of a warp arrive at a barrier. */
void rungi_ptx_check_barrier_arrive(ptx_warp_t *warp, int barrier);

/* All expected threads have arrived; the splits that wait at the barrier synchronize. */
void rungi_ptx_check_barrier(ptx_block_t *block, int barrier);

/* Lanes execute bar.warp.sync, or a fence; `is_global` says that the fence reaches beyond the block. */
void rungi_ptx_check_warp_sync(ptx_warp_t *warp, uint32_t mask);
void rungi_ptx_check_fence(ptx_warp_t *warp, bool is_global);

/* A warp releases its accesses to a vector clock of the cluster, and acquires what others have released. */
void rungi_ptx_check_release(ptx_warp_t *warp, uint32_t *clock);
void rungi_ptx_check_acquire(ptx_warp_t *warp, uint32_t mask, const uint32_t *clock);

/* Releases only what the warp's last fence has ordered. Unless the clock is acquired by the warp's own block alone, the fence
 * must reach beyond the block. */
void rungi_ptx_check_relaxed_release(ptx_warp_t *warp, uint32_t *clock, bool is_own_block);

/* A warp arrives at the cluster's barrier, a phase of the barrier completes, and a warp has waited for it. The clocks are
 * those of the whole cluster. */
void rungi_ptx_check_cluster_arrive(ptx_warp_t *warp, uint32_t *clock, bool is_relaxed);
void rungi_ptx_check_cluster_phase(const ptx_block_t *block);
void rungi_ptx_check_cluster_wait(ptx_warp_t *warp, uint32_t mask, const uint32_t *clock);

/* Called after the last instruction of a cluster: reports copies in flight. */
void rungi_ptx_check_cluster_end(ptx_cluster_t *cluster);

/* Called before the first and after the last instruction of a block. */
void rungi_ptx_check_block_start(ptx_block_t *block);
void rungi_ptx_check_block_end(ptx_block_t *block);

/* Reports the warps of a block that wait for each other for ever. */
void rungi_ptx_check_deadlock(ptx_block_t *block);

/* ---- Findings (checks/findings.c) ---------------------------------------------------------------------------------- */

/* One side of a finding. */
typedef struct ptx_party {
    int32_t pc;
    int32_t thread;                /* linear number in the block */
    int64_t block;                 /* linear number in the grid */
    const ptx_instruction_t *call; /* whose line is shown, if `pc` is in a function without lines; or NULL */
} ptx_party_t;

/* Reports something that the running instruction did wrong. */
void rungi_ptx_report(ptx_warp_t *warp, rung_emulator_finding_kind kind, int lane, uint64_t address, int bytes,
                      const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Reports a conflict of two parties. */
void rungi_ptx_report_pair(const ptx_launch_t *launch, rung_emulator_finding_kind kind, const ptx_party_t *here,
                           const ptx_party_t *other, uint64_t address, int bytes, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

/* Stops the launch after an error that the kernel cannot survive. */
void rungi_ptx_fault(ptx_warp_t *warp, rung_emulator_finding_kind kind, int lane, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void rungi_ptx_fault_pair(ptx_warp_t *warp, rung_emulator_finding_kind kind, const ptx_party_t *here,
                          const ptx_party_t *other, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Returns the line of the source that an instruction belongs to. */
int32_t rungi_ptx_line(const ptx_module_t *module, int32_t pc);

/* Returns whether a kernel synchronizes the grid, although its launch is not cooperative. */
bool rungi_ptx_lacks_cooperative_launch(const ptx_launch_t *launch);

/* ---- Scheduling (machine/warp.c, machine/block.c) ------------------------------------------------------------------ */

typedef enum ptx_progress { PTX_FINISHED, PTX_BLOCKED, PTX_PAUSED } ptx_progress_t;

/* Runs a warp until it ends, waits for other warps, or has executed `budget` instructions. */
ptx_progress_t rungi_ptx_warp_run(ptx_warp_t *warp, int64_t budget);

/* Creates the warps of a block, and frees them. */
rung_status rungi_ptx_block_create(ptx_block_t *block, ptx_launch_t *launch, int worker, ptx_cluster_t *cluster,
                                   int rank);
void rungi_ptx_block_free(ptx_block_t *block);

/* Starts a block. Returns false if memory is short. */
bool rungi_ptx_block_start(ptx_block_t *block, const uint32_t id[3]);

/* Runs each warp of a block once and releases its barriers. Returns whether there was progress, and in `finished` whether
 * all warps have ended. */
bool rungi_ptx_block_step(ptx_block_t *block, bool *finished);

/* Prepares a warp for its block's start. Returns false if memory is short. */
bool rungi_ptx_warp_start(ptx_warp_t *warp);

/* Frees what a warp has allocated. */
void rungi_ptx_warp_free(ptx_warp_t *warp);

/* Executes a call to a function that the emulator provides, such as vprintf. Returns false if there is none. */
bool rungi_ptx_is_heap_function(const char *name); /* malloc and free, which are not emulated */
bool rungi_ptx_call_builtin(ptx_warp_t *warp, const ptx_function_t *callee, const ptx_instruction_t *call,
                            uint32_t mask);
