/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - a libcuda.so.1 that executes PTX on the CPU with librung-emulator.
 *
 * The driver exports the functions of cuda_functions.def. It follows the rules of the manual: contexts, streams in order,
 * limits of launches, sticky errors and captures. Modules are PTX, or fat binaries with PTX. A cubin is rejected with
 * CUDA_ERROR_NO_BINARY_FOR_GPU, as on a GPU of another architecture, so that callers use the PTX that they carry. The
 * default streams and all streams that wait for them share one queue.
 *
 * Environment variables select the emulated GPU. cuInit fails with CUDA_ERROR_INVALID_VALUE, and prints why, if a number is
 * outside of its range:
 *
 *   RUNG_EMULATED_ARCH            60 to 120 of gpu_models.def, or another architecture from 20 to 999 (default 86)
 *   RUNG_EMULATED_NAME            name of the GPU (default: by its architecture)
 *   RUNG_EMULATED_MULTIPROCESSORS number of multiprocessors, up to 1024 (default 0: by the architecture)
 *   RUNG_EMULATED_DRIVER_VERSION  CUDA version of the driver, 11000 to 99990 (default 12090)
 *   RUNG_EMULATED_DEVICES         number of devices, 0 to 64 (default 1)
 *   RUNG_EMULATED_POOLS           0 for devices without memory pools (default 1)
 *   RUNG_EMULATED_CHECKS          what launches check: memory, uninitialized, races, barriers, arithmetic, all, none,
 *                                 separated by commas (default memory). Findings are printed to stderr and fail the
 *                                 launch.
 *   RUNG_EMULATED_PADDING         allocations end at a multiple of this number of bytes, up to 65536 (default 1). A GPU has
 *                                 512: kernels that read a few bytes behind an array do not fail there
 *   RUNG_EMULATED_FINDINGS        file to which findings are appended instead, one JSON object per line. Only findings
 *                                 that stop a GPU, such as accesses out of bounds, fail the launch then.
 *   RUNG_EMULATED_COVERAGE        file to which launches append the inline PTX that they executed: file and line of the
 *                                 statement, if the PTX has line information, and the instruction, separated by tabs
 *   RUNG_EMULATED_THREADS         threads that run blocks, up to 256 (default 0: number of CPUs)
 */
#pragma once

#include "emulator/driver/cuda_api.h"

#pragma GCC visibility push(default)

/* For tests: the number of live objects of a kind ("contexts", "streams", "events", "memory", "host_memory", "modules",
 * "graphs"), and the number of calls of a symbol. "forked" counts all calls in children of fork. */
long rung_emulated_live_objects(const char *kind);
long rung_emulated_call_count(const char *symbol);

/* For libraries that compute on the host: the host address of `bytes` of device memory, or NULL. */
void *rung_emulated_host_address(CUdeviceptr address, size_t bytes);
#pragma GCC visibility pop

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rung/emulator.h"

/* ---- Objects -------------------------------------------------------------------------------- */

typedef enum object_kind {
    STREAM,
    EVENT,
    MEMORY,
    HOST_MEMORY,
    MODULE,
    FUNCTION,
    GRAPH,
    GRAPH_EXEC,
    GRAPH_NODE,
    MEMORY_POOL,
    LIBRARY,
    LINK
} object_kind_t;

/* The first member of every object. A handle is valid if it is in the list of all objects; handles of callers are never
 * dereferenced before that. */
typedef struct driver_object {
    object_kind_t kind;
    CUcontext context; /* NULL for graphs */
    struct driver_object *next;
} driver_object_t;

typedef struct driver_queue driver_queue_t;         /* queue.c */
typedef struct driver_marker driver_marker_t;       /* queue.c */
typedef struct driver_recording driver_recording_t; /* capture.c: work of a capture, shared by graphs */

typedef struct driver_capture {
    CUstream origin;
    CUstreamCaptureMode mode;
    pthread_t thread;
    bool invalid;
    driver_recording_t *recording;
    struct driver_capture *next;
} driver_capture_t;

struct CUstream_st {
    driver_object_t base;
    driver_queue_t *queue;
    driver_capture_t *capture; /* NULL unless the stream captures */
    unsigned flags;
    int priority;
};

struct CUevent_st {
    driver_object_t base;
    unsigned flags;
    driver_marker_t *marker;   /* of the last record; NULL before the first */
    driver_capture_t *capture; /* that the last record belongs to, or NULL */
};

typedef struct driver_memory {
    driver_object_t base;
    CUdeviceptr address; /* 0 if a stream frees the memory */
    size_t bytes;
    bool is_managed;     /* the host may access it, too */
    bool is_registered;  /* memory of the caller */
    bool is_in_emulator; /* host memory that kernels can access */
    unsigned flags;      /* of host memory */
    CUmemoryPool pool;   /* that it was allocated from, or NULL */
} driver_memory_t;

struct CUmemPoolHandle_st {
    driver_object_t base;
    CUdevice device;
    uint64_t threshold, used, used_high;
    int reuse[3];
};

/* A loaded PTX module. Modules and work in flight share it. */
typedef struct driver_code {
    rung_emulator_module *module;
    unsigned generation; /* of the emulator that has the module */
    atomic_int references;
} driver_code_t;

struct CUmod_st {
    driver_object_t base;
    driver_code_t *code;
    int architecture; /* of the PTX */
};

struct CUfunc_st {
    driver_object_t base;
    CUmodule module;
    rung_emulator_kernel *kernel;
    int max_dynamic, carveout;
};

/* A graph owns its nodes; they are in the list of objects, with graph set. */
struct CUgraph_st {
    driver_object_t base;
    long node_count; /* ever added */
};

typedef struct driver_work driver_work_t;

struct CUgraphNode_st {
    driver_object_t base;
    CUgraph graph;
    CUgraphNodeType type;
    long number;         /* order of creation */
    driver_work_t *work; /* NULL for an empty node */
    CUgraphNode *dependencies;
    size_t dependency_count;
};

/* The work of a graph in an order that satisfies the dependencies. */
typedef struct exec_item {
    CUgraphNode node; /* only compared */
    driver_work_t *work;
} exec_item_t;

struct CUgraphExec_st {
    driver_object_t base;
    exec_item_t *items;
    size_t count;
};

/* A library is a module that is loaded once per context at its first use. Its kernels are functions. */
struct CUlib_st {
    driver_object_t base;
    CUmodule module;
};

/* Contexts are never freed, so that handles of destroyed contexts are recognized. */
struct CUctx_st {
    bool alive, is_primary;
    int device, references;
    struct CUstream_st main; /* all default streams */
    unsigned flags;
    uint64_t peers;              /* devices whose memory is enabled */
    size_t limits[CU_LIMIT_MAX]; /* 0: the default */
    atomic_uint pending;         /* error of work, returned by the next call that synchronizes */
    atomic_uint sticky_error;    /* returned by every later call */
    CUcontext next;
};

/* Returns a new zeroed object in the list, or NULL. */
void *object_new(object_kind_t kind, CUcontext context, size_t bytes);
bool object_is(object_kind_t kind, const void *handle);
/* Releases what the object owns and removes it from the list. */
void object_destroy(driver_object_t *object);
/* Returns the next object of this kind and context (NULL: any context) after `after` (NULL: from the start). */
driver_object_t *object_next(const driver_object_t *after, CUcontext context, object_kind_t kind);
void object_destroy_all(CUcontext context);

/* ---- Calls (entry_point.c) ------------------------------------------------------------------- */

/* What a call requires: nothing, cuInit, a current context, or a current context without a sticky error. */
typedef enum call_need { NEEDS_NOTHING, NEEDS_INIT, NEEDS_CONTEXT, NEEDS_NO_STICKY_ERROR } call_need_t;

typedef struct driver_call {
    const char *symbol;
    bool locked;
    CUcontext context; /* the current one, or NULL */
} driver_call_t;

/* Every exported function begins and ends with these. They hold the lock of all objects. */
CUresult call_begin(driver_call_t *here, const char *symbol, call_need_t need);
/* The same for a call on an object: returns CUDA_ERROR_INVALID_HANDLE if the handle is no object of this kind. */
CUresult call_begin_on(driver_call_t *here, const char *symbol, call_need_t need, object_kind_t kind,
                       const void *handle);
CUresult call_end(driver_call_t *here, CUresult result);

/* The lock is not held while a call waits for work. */
void call_unlock(void);
void call_lock(void);

/* Marks the driver as initialized in this process. */
CUresult call_init(void);

/* Returns the error that a test planted for this call, or 0: at its start, or (is_late) for its asynchronous work.
 * Defined in no_faults.c, and by tests in their own file. */
int rungi_driver_fault(const char *symbol, bool is_late);

/* ---- Contexts (context.c) ------------------------------------------------------------------- */

CUcontext context_current(void);
bool context_is(CUcontext context);
long context_count(void);
bool error_is_sticky(CUresult error);
/* Makes an error sticky if errors of its kind are. */
void context_record_error(CUcontext context, CUresult error);
/* Records an error of asynchronous work. Needs no lock. */
void context_record_async_error(CUcontext context, CUresult error);
/* Returns and clears the error of the work since the last call. */
CUresult context_collect_error(CUcontext context);
/* Waits for all streams of a context, without the lock. */
CUresult context_finish(CUcontext context);
/* Waits for all contexts: after a sticky error, callers may free memory that work still uses. */
void context_finish_all(void);

/* ---- Streams (stream.c) --------------------------------------------------------------------- */

/* Finds the stream of a handle of this context. Handles 0, 1 and 2 are the default streams. */
CUresult stream_of(CUcontext context, CUstream handle, CUstream *stream);
CUresult stream_finish(driver_call_t *here, CUstream stream);

/* ---- Functions (function.c) ------------------------------------------------------------------- */

CUresult function_find(CUmodule module, const char *name, CUfunction *out);
/* Returns the function for a kernel of the module. */
CUresult function_of_kernel(CUmodule module, rung_emulator_kernel *kernel, CUfunction *out);

/* ---- Modules (module.c, fatbin.c) --------------------------------------------------------------- */

/* Loads PTX or a fat binary. Returns the lock and takes it again. `reason` receives the text of a failure. */
CUresult module_load(driver_call_t *here, const void *image, CUmodule *out, char *reason, size_t capacity);
void module_unload(CUmodule module);
/* Frees the text of a linker. */
void link_release(CUlinkState state);
/* Writes a reason into the error log of the caller. */
void module_write_log(const char *reason, unsigned count, const CUjit_option *options, void **values);
/* Reads a file into memory that ends with a zero byte and that the caller frees, also after a failure. */
CUresult module_read_file(const char *path, char **bytes, size_t *read);
/* Copies bytes of the process; false where there is no memory. */
bool module_read_bytes(const void *from, void *to, size_t bytes);

/* Finds the newest PTX that runs on `architecture` in a fat binary, and decompresses it. The caller frees the text. Fails
 * with CUDA_ERROR_NO_BINARY_FOR_GPU if the image has no PTX that the GPU runs. */
CUresult fatbin_find_ptx(const void *image, int architecture, char **text, size_t *bytes, char *reason,
                         size_t capacity);
bool fatbin_is(const void *image);

/* ---- Memory (memory.c) ---------------------------------------------------------------------- */

/* Returns the allocation that contains an address, or that ends there. */
driver_memory_t *memory_containing(CUcontext context, CUdeviceptr address);
/* Does the same for host memory. */
driver_memory_t *memory_of_host(CUdeviceptr address);
/* Allocates device memory of a context. */
CUresult memory_allocate(CUcontext context, size_t bytes, bool is_managed, CUdeviceptr *out);
/* The pools of devices: their default pool, or the pool that was set. */
CUmemoryPool pool_current(CUdevice device);

/* ---- Devices (device.c) --------------------------------------------------------------------- */

typedef struct emulated_gpu {
    int architecture;
    const char *name;
    int memory_mib, multiprocessors, clock_khz, memory_clock_khz, bus_bits, l2_kib;
    int shared_per_block, shared_per_multiprocessor, threads_per_multiprocessor;
} emulated_gpu_t;

const emulated_gpu_t *emulated_gpu_current(void);
int emulated_driver_version(void);
int emulated_device_count(void);
bool emulated_device_has_pools(void);

/* Numbers of the environment; see above. */
typedef enum emulated_setting {
    SETTING_ARCHITECTURE,
    SETTING_DRIVER_VERSION,
    SETTING_DEVICES,
    SETTING_POOLS,
    SETTING_THREADS,
    SETTING_MULTIPROCESSORS,
    SETTING_PADDING
} emulated_setting_t;

/* Reads a setting. An invalid one, which cuInit reports, has its default value. */
int emulated_setting(emulated_setting_t setting);

/* ---- Work (work.c, launch.c) ------------------------------------------------------------------ */

typedef enum work_kind { LAUNCH, HOST_FUNCTION, STREAM_CALLBACK, COPY, FILL, FREE_MEMORY, SIGNAL, WAIT } work_kind_t;

/* One side of a copy. */
typedef struct copy_side {
    CUdeviceptr address; /* of the first byte */
    size_t pitch, slice; /* bytes between rows and between slices */
    bool is_device;
} copy_side_t;

typedef struct driver_copy {
    copy_side_t to, from;
    size_t width, height, depth; /* bytes, rows, slices */
} driver_copy_t;

typedef struct driver_fill {
    CUdeviceptr address;
    size_t pitch, width, height; /* elements and rows */
    uint32_t value, element;     /* bytes of an element: 1, 2 or 4 */
} driver_fill_t;

/* One item of a stream or a graph, with its own copy of the arguments. */
struct driver_work {
    work_kind_t kind;
    atomic_int references;
    CUfunction function; /* of a launch */
    driver_code_t *code;
    rung_emulator_kernel *kernel;
    unsigned grid[3], block[3], cluster[3], shared; /* cluster: 0 selects the kernel's own */
    bool is_cooperative;
    unsigned char *arguments; /* parameter buffer */
    size_t argument_bytes;
    CUhostFn host;
    void *user;
    CUstreamCallback callback;
    CUstream stream;    /* handle for the callback */
    CUdeviceptr device; /* to be freed */
    driver_copy_t copy;
    driver_fill_t fill;
    driver_marker_t *marker;  /* to signal or to wait for */
    struct driver_work *next; /* of a recording */
};

/* Returns zeroed work with one reference, or NULL. */
driver_work_t *work_new(work_kind_t kind);
void work_release(driver_work_t *work);
/* Enqueues work, or records it if the stream captures. Takes over the caller's reference. */
CUresult work_submit(CUstream stream, driver_work_t *work);
/* Enqueues work of a graph. */
CUresult work_enqueue(CUstream stream, driver_work_t *work);
/* Creates the work of a launch, a copy or a fill after checking its arguments. */
CUresult launch_work(CUfunction function, const unsigned grid[3], const unsigned block[3], const unsigned cluster[3],
                     unsigned shared, void **arguments, void **extra, driver_work_t **out);
CUresult copy_work(const driver_copy_t *copy, driver_work_t **out);
CUresult copy_work_3d(const CUDA_MEMCPY3D *copy, driver_work_t **out);
CUresult fill_work(const driver_fill_t *fill, driver_work_t **out);
/* Executes work in a queue's thread. */
CUresult work_execute(const driver_work_t *work);

/* ---- Queues (queue.c) ------------------------------------------------------------------------- */

/* Creates a queue with its thread. Errors of work go to the context. Returns NULL if there is no memory or thread. */
driver_queue_t *queue_new(CUcontext context);
driver_queue_t *queue_retain(driver_queue_t *queue);
/* Releases a reference. The queue ends after its work. */
void queue_release(driver_queue_t *queue);
/* Adds work. Takes over the caller's reference. */
CUresult queue_add(driver_queue_t *queue, driver_work_t *work);
/* Waits until all work is done. The caller does not hold the lock. */
void queue_finish(driver_queue_t *queue);
bool queue_is_idle(driver_queue_t *queue);
/* Waits for all queues of a context, those of destroyed streams included. */
void queue_finish_all(CUcontext context);

driver_marker_t *marker_new(void);
driver_marker_t *marker_retain(driver_marker_t *marker);
void marker_release(driver_marker_t *marker);
void marker_wait(driver_marker_t *marker);
/* Returns the time of the signal in nanoseconds, or 0 before it. */
int64_t marker_time(driver_marker_t *marker);

/* ---- Coverage of inline PTX (driver_coverage.c) -------------------------------------------------- */

struct ptx_module; /* emulator/ptx/module.h */

bool coverage_is_wanted(void);
/* Prepares a module, and writes what its launches have executed since the last call. They do nothing if no coverage is
 * wanted. */
void coverage_begin(struct ptx_module *module);
void coverage_write(struct ptx_module *module);

/* ---- The emulator of all devices (gpu.c) -------------------------------------------------------- */

/* One emulator serves all devices, so that addresses are unique. Each function holds its lock: calls wait for the kernel
 * that runs. */
CUresult gpu_open(void);
/* Frees the emulator if no context is alive. */
void gpu_close(void);
CUresult gpu_allocate(size_t bytes, CUdeviceptr *address);
void gpu_free(CUdeviceptr address);
/* Allocates memory that the host can access at the same address. Fails with CUDA_ERROR_NOT_SUPPORTED where the addresses
 * of the emulator are taken, as in programs with sanitizers. */
CUresult gpu_allocate_shared(size_t bytes, CUdeviceptr *address);
/* Returns whether an address is in the range of device memory. */
bool gpu_is_address(CUdeviceptr address);
CUresult gpu_copy(const driver_copy_t *copy);
CUresult gpu_fill(const driver_fill_t *fill);
CUresult gpu_variable(driver_code_t *code, const char *name, CUdeviceptr *address, size_t *bytes);
/* Loads PTX text. `reason` receives the error text of a failure. */
CUresult gpu_load(const char *text, size_t bytes, driver_code_t **code, char *reason, size_t capacity);
driver_code_t *gpu_code_retain(driver_code_t *code);
void gpu_code_release(driver_code_t *code);
CUresult gpu_launch(const driver_work_t *work);

/* Returns whether more is checked than what a GPU notices. */
bool gpu_checks_all(void);

/* ---- Findings (findings.c) ---------------------------------------------------------------------- */

/* Reports a finding. Returns the error of the launch, or CUDA_SUCCESS if the launch goes on. */
CUresult findings_report(const rung_emulator_finding *finding, int64_t launch);
/* Reports that a launch failed without a finding. */
void findings_report_failure(const char *kind, const char *kernel, const char *text);

/* ---- Captures (capture.c) ----------------------------------------------------------------------- */

void recording_add(driver_recording_t *recording, driver_work_t *work);
void recording_release(driver_recording_t *recording);
/* Returns the work in order, and removes it from the recording. */
driver_work_t *recording_take(driver_recording_t *recording);

/* ---- Graphs (graph.c) --------------------------------------------------------------------------- */

/* Returns a graph of a capture's work, each node after the one before it, or NULL. */
CUgraph graph_of_recording(driver_recording_t *recording);
void graph_release(CUgraph graph);
void graph_node_release(CUgraphNode node);
void graph_exec_release(CUgraphExec exec);

/* Invalidates a capture and returns the error of the call that did it. */
CUresult capture_invalidate(driver_capture_t *capture);
/* Does the same for all captures that forbid unsafe calls in this thread. */
CUresult capture_forbid(void);
/* Removes a stream that is destroyed from its capture. */
void capture_remove_stream(CUstream stream);
/* Returns a capture of a context, or NULL. */
driver_capture_t *capture_in(CUcontext context);
