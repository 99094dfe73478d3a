/* SPDX-License-Identifier: Apache-2.0 */
/* emulator.h - executes CUDA kernels on the CPU, from their PTX. No GPU and no CUDA driver is needed.
 *
 * This header is the manual of librung-emulator. Link rung-emulator (pkg-config) or rung::emulator
 * (CMake). The rules of rung.h on compatibility, errors, threads and output apply here too. This
 * program runs a kernel and prints what its checks found:
 *
 *     rung_emulator *emulator;
 *     rung_emulator_module *module;
 *     rung_emulator_kernel *kernel;
 *     uint64_t x;
 *     int n = 1000;
 *     rung_emulator_options options = rung_emulator_options_default();
 *     options.checks = RUNG_EMULATOR_CHECK_ALL;
 *     rung_emulator_create(&options, &emulator);
 *     rung_emulator_module_load(emulator, "scale.ptx", text, bytes, &module);
 *     rung_emulator_kernel_find(module, "scale", &kernel);
 *     rung_emulator_allocate(emulator, n * sizeof(float), "x", &x);
 *     rung_emulator_write(emulator, x, values, n * sizeof(float));
 *     void *arguments[] = {&x, &n};
 *     rung_emulator_launch launch = rung_emulator_launch_of(4, 256, arguments);
 *     if (rung_emulator_launch_kernel(kernel, &launch) != RUNG_OK)
 *         fprintf(stderr, "%s\n", rung_error_text());
 *     for (int64_t i = 0; i < rung_emulator_finding_count(emulator); i++)
 *         puts(rung_emulator_finding_at(emulator, i)->text);
 *     rung_emulator_destroy(emulator);
 *
 * Contents
 *     Emulators     Modules and kernels     Memory     Launches     Findings     Counts
 *     Traces     Instructions
 */
#ifndef RUNG_EMULATOR_H
#define RUNG_EMULATOR_H

#include <stdbool.h>
#include <stdio.h>

#include "rung/rung.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Emulators --------------------------------------------------------------------- */

/* An emulated GPU with its memory. One thread at a time may use an emulator and its modules;
 * different emulators are independent. */
typedef struct rung_emulator rung_emulator;

/* What a launch checks. Each check costs time; without any, a launch only stops at accesses
 * outside the emulator's memory. */
enum {
    RUNG_EMULATOR_CHECK_MEMORY        = 1 << 0, /* bounds, alignment, use after free */
    RUNG_EMULATOR_CHECK_UNINITIALIZED = 1 << 1, /* reads of memory or accumulators that nobody set */
    RUNG_EMULATOR_CHECK_RACES         = 1 << 2, /* conflicting accesses without synchronization */
    RUNG_EMULATOR_CHECK_BARRIERS      = 1 << 3, /* barriers in divergent code, missing waits for copies */
    RUNG_EMULATOR_CHECK_ARITHMETIC    = 1 << 4, /* integer division by zero */
    RUNG_EMULATOR_CHECK_ALL           = (1 << 5) - 1
};

typedef struct rung_emulator_options {
    size_t   size;                  /* set by rung_emulator_options_default() */
    int64_t  memory_bytes;          /* address space for global memory; 0 selects 64 GiB. Pages take memory when used */
    int64_t  threads;               /* that run blocks; 0 selects the number of available CPUs */
    int32_t  compute_capability;    /* 86 for an sm_86 GPU; 0 selects the target of the first module */
    uint32_t checks;                /* RUNG_EMULATOR_CHECK_ values, combined with | */
    bool     count_accesses;        /* fill the counts of memory accesses; see Counts */
    int64_t  max_instructions;      /* of one warp, before a launch fails as an infinite loop; 0 selects 2^40 */
    FILE    *output;                /* where printf() of kernels writes; NULL selects stdout */
    int (*should_stop)(void *user); /* may be NULL; the threads of a launch call it often. A return value other
                                       than 0 stops the launch with RUNG_STATUS_CANCELLED */
    void *user;
} rung_emulator_options;

/* Returns the options that are 0 or NULL above: no checks, no counts. */
static inline rung_emulator_options rung_emulator_options_default(void)
{
    rung_emulator_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/* Creates an emulator. `options` may be NULL. */
RUNG_API rung_status rung_emulator_create(const rung_emulator_options *options, rung_emulator **emulator);

/* Destroys an emulator, its modules and its memory. NULL is ignored. */
RUNG_API void rung_emulator_destroy(rung_emulator *emulator);

/* Changes the checks and counts of later launches. */
RUNG_API rung_status rung_emulator_set_checks(rung_emulator *emulator, uint32_t checks, bool count_accesses);

/* ---- Modules and kernels ----------------------------------------------------------- */

typedef struct rung_emulator_module rung_emulator_module;

/* A kernel of a module, valid as long as the module. */
typedef struct rung_emulator_kernel rung_emulator_kernel;

/* Loads PTX text, which need not end with 0. `name` appears in messages. Fails with
 * RUNG_STATUS_UNSUPPORTED if the module contains an instruction or a modifier that the emulator
 * does not implement; the error text names the instruction and its line. */
RUNG_API rung_status rung_emulator_module_load(rung_emulator *emulator, const char *name, const char *text,
                                               size_t bytes, rung_emulator_module **module);

/* Unloads a module. NULL is ignored. Counts and findings of its launches remain. */
RUNG_API void rung_emulator_module_unload(rung_emulator_module *module);

/* Finds a variable in global or constant memory. */
RUNG_API rung_status rung_emulator_module_variable(const rung_emulator_module *module, const char *name,
                                                   uint64_t *address, int64_t *bytes);

/* Finds a kernel by the name in the PTX text, which is the mangled name of a C++ function. */
RUNG_API rung_status rung_emulator_kernel_find(rung_emulator_module *module, const char *name,
                                               rung_emulator_kernel **kernel);

/* Returns the number of kernels, and the kernel at an index, for listing a module. */
RUNG_API int64_t               rung_emulator_kernel_count(const rung_emulator_module *module);
RUNG_API rung_emulator_kernel *rung_emulator_kernel_at(rung_emulator_module *module, int64_t index);

/* Facts of a kernel, filled by the library. */
typedef struct rung_emulator_kernel_info {
    const char    *name;
    int64_t        parameter_count;
    const int64_t *parameter_offsets; /* bytes from the start of the parameter buffer */
    const int64_t *parameter_bytes;
    int64_t        static_shared_bytes;
    int64_t        local_bytes;       /* per thread */
    uint32_t       required_block[3]; /* of .reqntid; 0 if there is none */
    uint32_t       max_block[3];      /* of .maxntid; 0 if there is none */
} rung_emulator_kernel_info;

/* Returns the facts, owned by the kernel. */
RUNG_API const rung_emulator_kernel_info *rung_emulator_kernel_get_info(const rung_emulator_kernel *kernel);

/* ---- Memory ------------------------------------------------------------------------ */

/* Allocates global memory, aligned to 256 bytes, with undefined contents. `name` appears in
 * findings and counts; NULL is allowed. */
RUNG_API rung_status rung_emulator_allocate(rung_emulator *emulator, int64_t bytes, const char *name,
                                            uint64_t *address);

/* Frees memory at its first address. Address 0 is ignored. */
RUNG_API rung_status rung_emulator_free(rung_emulator *emulator, uint64_t address);

/* Copies to and from global memory. */
RUNG_API rung_status rung_emulator_write(rung_emulator *emulator, uint64_t address, const void *from, int64_t bytes);
RUNG_API rung_status rung_emulator_read(rung_emulator *emulator, uint64_t address, void *to, int64_t bytes);

/* Copies within global memory; the ranges may overlap. */
RUNG_API rung_status rung_emulator_copy(rung_emulator *emulator, uint64_t to, uint64_t from, int64_t bytes);

/* Sets each of `count` elements of 1, 2 or 4 bytes to `value`. */
RUNG_API rung_status rung_emulator_fill(rung_emulator *emulator, uint64_t address, uint32_t value,
                                        int64_t element_bytes, int64_t count);

/* Finds the allocation that contains an address. Returns false if there is none. */
RUNG_API bool rung_emulator_find_allocation(const rung_emulator *emulator, uint64_t address, uint64_t *start,
                                            int64_t *bytes);

/* ---- Launches ---------------------------------------------------------------------- */

typedef struct rung_emulator_launch {
    size_t       size; /* set by rung_emulator_launch_of() */
    uint32_t     grid[3], block[3];
    uint32_t     cluster[3]; /* blocks per cluster; 0 selects the kernel's own, or 1 */
    int64_t      dynamic_shared_bytes;
    void *const *arguments;        /* one pointer to each argument; or use the next two */
    const void  *parameter_buffer; /* the parameters as one block of memory */
    int64_t      parameter_bytes;
    bool         is_cooperative; /* all blocks run at the same time and may wait for each other; at most 4095 blocks */
} rung_emulator_launch;

/* Returns a launch of grid_x blocks of block_x threads. Set other fields afterwards. */
static inline rung_emulator_launch rung_emulator_launch_of(uint32_t grid_x, uint32_t block_x, void *const *arguments)
{
    rung_emulator_launch launch;
    memset(&launch, 0, sizeof launch);
    launch.size     = sizeof launch;
    launch.grid[0]  = grid_x;
    launch.block[0] = block_x;
    launch.grid[1] = launch.grid[2] = launch.block[1] = launch.block[2] = 1;
    launch.arguments                                                    = arguments;
    return launch;
}

/* Runs a kernel and returns when all blocks have finished. Fails with RUNG_STATUS_INVALID if the
 * launch is invalid on the emulated GPU, and with RUNG_STATUS_DEVICE_LOST if the kernel traps, fails
 * an assertion, never ends or accesses memory outside the address space. Findings do not make a
 * launch fail: a wrong access is reported and skipped. */
RUNG_API rung_status rung_emulator_launch_kernel(rung_emulator_kernel *kernel, const rung_emulator_launch *launch);

/* ---- Findings ---------------------------------------------------------------------- */

typedef enum rung_emulator_finding_kind {
    RUNG_EMULATOR_OUT_OF_BOUNDS  = 0,
    RUNG_EMULATOR_MISALIGNED     = 1,
    RUNG_EMULATOR_USE_AFTER_FREE = 2,
    RUNG_EMULATOR_UNINITIALIZED  = 3,
    RUNG_EMULATOR_RACE           = 4,
    RUNG_EMULATOR_BARRIER        = 5, /* a barrier that not all threads reach, or a deadlock */
    RUNG_EMULATOR_ASYNC_COPY     = 6, /* access to the destination or source of a copy that is in flight */
    RUNG_EMULATOR_WARP_SYNC      = 7, /* member masks: a lane never arrives, is no member, or is read while inactive */
    RUNG_EMULATOR_DIVISION_BY_ZERO = 8,
    RUNG_EMULATOR_TRAP             = 9,
    RUNG_EMULATOR_INFINITE_LOOP    = 10,
    RUNG_EMULATOR_READ_ONLY        = 11, /* a write to constant memory or to parameters */
    RUNG_EMULATOR_LIMIT            = 12  /* a resource limit of the architecture */
} rung_emulator_finding_kind;

/* What a thread did to the memory of a finding. */
typedef enum rung_emulator_access {
    RUNG_EMULATOR_ACCESS_NONE   = 0,
    RUNG_EMULATOR_ACCESS_READ   = 1,
    RUNG_EMULATOR_ACCESS_WRITE  = 2,
    RUNG_EMULATOR_ACCESS_ATOMIC = 3
} rung_emulator_access;

/* The memory that a finding is about. */
typedef enum rung_emulator_memory {
    RUNG_EMULATOR_MEMORY_NONE   = 0,
    RUNG_EMULATOR_MEMORY_GLOBAL = 1, /* includes constant variables */
    RUNG_EMULATOR_MEMORY_SHARED = 2,
    RUNG_EMULATOR_MEMORY_OTHER  = 3 /* local memory or parameters */
} rung_emulator_memory;

/* A circumstance that decides how to fix a finding. */
typedef enum rung_emulator_cause {
    RUNG_EMULATOR_CAUSE_NONE      = 0,
    RUNG_EMULATOR_CAUSE_UPDATE    = 1, /* race: threads read, change and write the same element without atomics */
    RUNG_EMULATOR_CAUSE_WARP      = 2, /* race: only between lanes of the same warp */
    RUNG_EMULATOR_CAUSE_FENCE     = 3, /* race: one block's access is atomic, and no fence orders the other one */
    RUNG_EMULATOR_CAUSE_NULL      = 4, /* out of bounds: a null pointer */
    RUNG_EMULATOR_CAUSE_FOREIGN   = 5, /* out of bounds: the address is far from all memory of the GPU */
    RUNG_EMULATOR_CAUSE_HEAP      = 6, /* trap: the kernel calls malloc() or free() */
    RUNG_EMULATOR_CAUSE_GRID_SYNC = 7  /* trap: the kernel synchronizes the grid, and the launch is not cooperative */
} rung_emulator_cause;

/* A place in the source and the thread that was there. Inlined code is shown at the line of the kernel's own file that called
 * it. If the PTX does not say which one of several calls was inlined, the most likely line is shown. */
typedef struct rung_emulator_place {
    const char          *file; /* NULL if the PTX has no line information */
    int32_t              line; /* of `file`, or of the PTX text if `file` is NULL; 0 if there is no place */
    uint32_t             block[3], thread[3];
    rung_emulator_access access;
} rung_emulator_place;

/* One finding: everything of one kind at one pair of lines. */
typedef struct rung_emulator_finding {
    rung_emulator_finding_kind kind;
    const char                *kernel;
    const char                *text;  /* one sentence, with the places and values of the first occurrence */
    int64_t                    count; /* how often, per thread */
    rung_emulator_place        place;
    rung_emulator_place        other;   /* the other side of a conflict; line 0 if there is none */
    uint64_t                   address; /* of the first occurrence */
    int32_t                    bytes;
    rung_emulator_memory       memory;
    rung_emulator_cause        cause;
} rung_emulator_finding;

/* Returns the number of findings since the last clear, and one of them. Findings are sorted by
 * kernel, line and kind, so that the same launches give the same list with any number of threads. */
RUNG_API int64_t                      rung_emulator_finding_count(rung_emulator *emulator);
RUNG_API const rung_emulator_finding *rung_emulator_finding_at(rung_emulator *emulator, int64_t index);
RUNG_API void                         rung_emulator_findings_clear(rung_emulator *emulator);

/* Returns the name of a kind, for example "out-of-bounds". */
RUNG_API const char *rung_emulator_finding_name(rung_emulator_finding_kind kind);

/* ---- Counts ------------------------------------------------------------------------ */

/* Classes of instructions, for the instruction mix. */
typedef enum rung_emulator_class {
    RUNG_EMULATOR_FLOAT           = 0, /* add, mul, fma and others of .f16, .bf16, .f32 and .f64 */
    RUNG_EMULATOR_INTEGER         = 1, /* arithmetic, logic and shifts */
    RUNG_EMULATOR_SPECIAL         = 2, /* rcp, sqrt, ex2, sin and others of the special function unit */
    RUNG_EMULATOR_MATRIX          = 3, /* mma, wmma.mma, wgmma */
    RUNG_EMULATOR_COMPARE         = 4, /* setp, selp and others */
    RUNG_EMULATOR_MOVE            = 5, /* mov, cvt, cvta */
    RUNG_EMULATOR_PARAMETER       = 6, /* loads of parameters and constants */
    RUNG_EMULATOR_GLOBAL          = 7, /* accesses of global memory; generic ones and asynchronous copies, too */
    RUNG_EMULATOR_SHARED          = 8,
    RUNG_EMULATOR_LOCAL           = 9,
    RUNG_EMULATOR_ATOMIC          = 10,
    RUNG_EMULATOR_WARP            = 11, /* shfl, vote, match, redux */
    RUNG_EMULATOR_CONTROL         = 12, /* branches, calls, returns */
    RUNG_EMULATOR_SYNCHRONIZATION = 13, /* barriers, fences, waits for copies */
    RUNG_EMULATOR_OTHER           = 14
} rung_emulator_class;

/* Returns the name of a class, for example "float". */
RUNG_API const char *rung_emulator_class_name(rung_emulator_class instruction_class);

/* Counts of one kernel's launches since the last clear, filled by the library. The bytes, the mix, multiply-adds and
 * waits need rung_emulator_options.count_accesses; the others are always counted. */
typedef struct rung_emulator_totals {
    int64_t        launches;
    int64_t        warp_instructions;   /* issued, also where no lane's guard holds */
    int64_t        thread_instructions; /* lanes that executed them */
    int64_t        divergent_branches;
    int64_t        barriers;              /* per warp */
    int64_t        global_bytes_read;     /* sectors of 32 bytes times 32 */
    int64_t        global_bytes_written;  /* atomics included */
    int64_t        multiply_adds;         /* of all lanes of the warps: fma, dp4a and matrix products */
    int64_t        integer_multiply_adds; /* mad of up to 32 bits; some compute addresses */
    int64_t        mix_count;             /* classes of instructions that this library counts */
    const int64_t *mix;                   /* warp instructions by rung_emulator_class; merged accesses count once */
    int64_t waits; /* of blocks for global memory, where loads or copies were not started before other multiply-adds; at
                    * most one per block and barrier. The first warp stands for its block */
} rung_emulator_totals;

/* What a row of the counts is about. */
typedef enum rung_emulator_line_kind {
    RUNG_EMULATOR_GLOBAL_LOAD   = 0,
    RUNG_EMULATOR_GLOBAL_STORE  = 1,
    RUNG_EMULATOR_GLOBAL_ATOMIC = 2,
    RUNG_EMULATOR_SHARED_LOAD   = 3,
    RUNG_EMULATOR_SHARED_STORE  = 4,
    RUNG_EMULATOR_SHARED_ATOMIC = 5,
    RUNG_EMULATOR_LOCAL_LOAD    = 6,
    RUNG_EMULATOR_LOCAL_STORE   = 7,
    RUNG_EMULATOR_CONSTANT_LOAD = 8, /* requests and bytes only */
    RUNG_EMULATOR_BRANCH        = 9, /* requests are branches that a warp executed */
    RUNG_EMULATOR_BARRIER_WAIT  = 10 /* requests are barriers that a warp executed */
} rung_emulator_line_kind;

/* Memory accesses of one source line to one array with one instruction and width, or its branches or barriers. */
typedef struct rung_emulator_line {
    const char             *file; /* "" if the PTX has no line information */
    const char             *kernel;
    int32_t                 line; /* of `file`, or of the PTX text */
    rung_emulator_line_kind kind;
    const char             *instruction;   /* for example "ld.global.v4.f32" */
    const char             *array;         /* the allocation's or variable's name; "" if several or unknown */
    int32_t                 width;         /* bytes per lane, after merging */
    int64_t                 requests;      /* warp-level accesses, after merging adjacent scalar ones */
    int64_t                 lanes;         /* that took part in the requests */
    int64_t                 partial;       /* requests of fewer than 32 lanes */
    int64_t                 sectors;       /* of 32 bytes, for global and local memory */
    int64_t                 lines;         /* of 128 bytes */
    int64_t                 ideal_sectors; /* the fewest for the bytes accessed */
    int64_t                 wavefronts;    /* for shared memory */
    int64_t                 ideal_wavefronts;
    int64_t                 bytes;             /* requested by all lanes */
    int64_t                 distinct_bytes;    /* each byte once per request; in shared memory, each word */
    int64_t                 atomic_conflicts;  /* lanes of an atomic whose address a lower lane of the warp has, too */
    int64_t                 divergent;         /* branches whose lanes went both ways */
    int64_t                 first_warp;        /* index in the grid of the first warp that made a request */
    int64_t                 first_offsets[32]; /* bytes from the start of the array that the lanes of this warp accessed
                                                  in one of its first requests; -1: the lane took no part */
} rung_emulator_line;

/* Different sectors of 32 bytes of one array in global memory that a kernel accessed. Where the lines of an array count
 * more sectors than this, the others were reused. */
typedef struct rung_emulator_array {
    const char *kernel;
    const char *array;                 /* the allocation's or variable's name */
    int64_t     block_sectors_read;    /* each once per block */
    int64_t     block_lines_read;      /* of 128 bytes, each once per block */
    int64_t     block_sectors_written; /* each once per block; atomics included */
    int64_t     sectors_read;          /* each once per launch */
    int64_t     sectors_written;
} rung_emulator_array;

/* Returns the totals of a kernel; of all kernels if `kernel` is NULL. They are valid until the next launch or clear. Returns
 * NULL and sets the error text if the kernel was not launched since the last clear. */
RUNG_API const rung_emulator_totals *rung_emulator_get_totals(rung_emulator *emulator, const char *kernel);

/* Returns the number of rows since the last clear, and one of them. Rows are sorted by kernel, file, line, kind, array,
 * instruction and width, so that the same launches give the same rows with any number of threads. A row is valid until the
 * next launch or clear. */
RUNG_API int64_t                   rung_emulator_line_count(rung_emulator *emulator);
RUNG_API const rung_emulator_line *rung_emulator_line_at(rung_emulator *emulator, int64_t index);

/* Returns the number of arrays that kernels accessed since the last clear, and one of them, sorted by kernel and name. */
RUNG_API int64_t                    rung_emulator_array_count(rung_emulator *emulator);
RUNG_API const rung_emulator_array *rung_emulator_array_at(rung_emulator *emulator, int64_t index);

/* Forgets the counts and the traces of all launches. */
RUNG_API void rung_emulator_counts_clear(rung_emulator *emulator);

/* ---- Traces ------------------------------------------------------------------------ */

/* Records single requests in later launches that count accesses: the first `requests` that each of the first `warps` warps
 * of the grid makes with each instruction that accesses global or shared memory. Counts do not change. A request takes about
 * 400 bytes. 0 and 0 switch the trace off, and it then costs nothing. Fails with RUNG_STATUS_INVALID beyond 256 warps or
 * 4096 requests. */
RUNG_API rung_status rung_emulator_set_trace(rung_emulator *emulator, int64_t warps, int64_t requests);

/* One request of a warp. It belongs to the rung_emulator_line with the same file, kernel, line, kind, instruction, array and
 * width, which has the sums of all requests. */
typedef struct rung_emulator_request {
    const char             *file, *kernel;
    int32_t                 line;
    rung_emulator_line_kind kind;
    const char             *instruction, *array;
    int32_t                 width;
    int64_t                 warp;          /* index in the grid */
    int64_t                 order;         /* number of earlier requests of the warp, those not recorded included */
    uint32_t                mask;          /* one bit per lane that took part */
    uint64_t                array_start;   /* address of the array; 0 if `array` is "" */
    uint64_t                addresses[32]; /* of the first byte; in shared memory, from the start of the block's */
    int32_t                 sectors, lines, ideal_sectors, wavefronts, ideal_wavefronts;
} rung_emulator_request;

/* Returns the number of recorded requests since the last clear, and one of them. Requests are sorted like the rows of the
 * counts, then by warp and order. */
RUNG_API int64_t                      rung_emulator_request_count(rung_emulator *emulator);
RUNG_API const rung_emulator_request *rung_emulator_request_at(rung_emulator *emulator, int64_t index);

/* ---- Instructions ------------------------------------------------------------------ */

typedef enum rung_emulator_support {
    RUNG_EMULATOR_IMPLEMENTED = 0,
    RUNG_EMULATOR_APPROXIMATE = 1, /* implemented; bits may differ from the hardware's */
    RUNG_EMULATOR_REFUSED     = 2  /* a module that contains it does not load */
} rung_emulator_support;

/* One row of the instruction table. */
typedef struct rung_emulator_instruction {
    const char           *opcode;    /* "add" */
    const char           *modifiers; /* pattern of the modifiers; see docs/reference/ptx.md */
    rung_emulator_support support;
    const char           *note; /* "" if there is none */
} rung_emulator_instruction;

/* Returns the rows of the table of all PTX instructions. */
RUNG_API int64_t                          rung_emulator_instruction_count(void);
RUNG_API const rung_emulator_instruction *rung_emulator_instruction_at(int64_t index);

#ifdef __cplusplus
}
#endif

#endif /* RUNG_EMULATOR_H */
