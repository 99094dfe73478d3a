/* SPDX-License-Identifier: Apache-2.0 */
/* emulated_driver.h - an emulated CUDA driver that runs rung's kernels on OpenCL.
 *
 * This is a mock. It answers the driver's calls as the manual and real drivers do, keeps
 * the driver's rules (contexts, streams, limits, sticky errors, capture) and, where a real
 * one would run the machine code of an image, runs the source that the image says it was
 * compiled from. So it shows that rung calls the driver rightly, passes the right
 * arguments to the right image, and copes with every failure, with no GPU. It cannot show
 * that the machine code or the PTX computes what the source says, nor how fast anything
 * is, nor what only a GPU's memory model or a compiler's bug would bring out. The
 * implicit order between the legacy default stream and others is not kept either.
 *
 * The environment says what it poses as:
 *
 *   RUNG_EMULATED_ARCH     60 ... 120 of gpu_models.def, or a newer one (86)
 *   RUNG_EMULATED_DRIVER_VERSION   the CUDA version it claims (12090)
 *   RUNG_EMULATED_DEVICES  how many such devices (1)
 *   RUNG_EMULATED_POOLS    0 for a device without memory pools, as on a shared card
 *   RUNG_EMULATED_FAULT, RUNG_EMULATED_FAULT_ASYNC   errors to come: see fault_injection.h
 */
#ifndef EMULATED_DRIVER_H
#define EMULATED_DRIVER_H

/* Of a versioned function cuda.h shows the newest as a macro; with this every version
 * under its own name. What it declares is what we export. */
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>

/* For tests: how many objects of a kind live ("contexts", "streams", "events", "memory",
 * "host_memory", "modules", "graphs"), and how often a symbol was called; "forked" are all calls
 * in a child of fork, where a real driver may hang. */
long rung_emulated_live_objects(const char *kind);
long rung_emulated_call_count(const char *symbol);
#pragma GCC visibility pop

#include <pthread.h>
#include <stdbool.h>

#include "image.h"
#include "opencl_table.h"

/* ---- Objects -------------------------------------------------------------------------------- */

typedef enum object_kind { STREAM, EVENT, MEMORY, HOST_MEMORY, MODULE, FUNCTION, GRAPH, GRAPH_EXEC } object_kind_t;

/* What every object begins with. A handle is good if it is in the list of all objects:
 * nothing of a caller's is believed. */
typedef struct driver_object {
    object_kind_t kind;
    CUcontext context; /* NULL of a graph */
    struct driver_object *next;
} driver_object_t;

/* What was recorded while a stream captured, shared by a graph and what is made of it. */
typedef struct driver_recording driver_recording_t;

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
    cl_command_queue queue;
    driver_capture_t *capture; /* NULL unless it captures */
};

struct CUevent_st {
    driver_object_t base;
    unsigned flags;
    cl_event marker;           /* NULL until it is recorded */
    driver_capture_t *capture; /* last recorded in this one */
};

typedef struct driver_memory {
    driver_object_t base;
    CUdeviceptr address;
    size_t bytes;
} driver_memory_t;

struct CUmod_st {
    driver_object_t base;
    cl_program program;
    image_t image;
};

struct CUfunc_st {
    driver_object_t base;
    CUmodule module;
    const image_function_t *image;
    cl_kernel kernel;
    bool emulates; /* a matrix engine: see engine.h */
    int max_dynamic, carveout;
};

struct CUgraph_st {
    driver_object_t base;
    driver_recording_t *recording;
};

struct CUgraphExec_st {
    driver_object_t base;
    driver_recording_t *recording;
};

/* Contexts are never given back, so that an old handle is known for one. */
struct CUctx_st {
    bool alive, is_primary;
    int device, references;
    struct CUstream_st main; /* all default streams */
    CUresult pending;        /* to show at the next synchronising call */
    CUresult sticky_error;   /* returned by every call from now on */
    CUcontext next;
};

/* A new zeroed object in the list, or NULL. */
void *object_new(object_kind_t kind, CUcontext context, size_t bytes);
bool object_is(object_kind_t kind, const void *handle);
/* Releases what it holds in OpenCL and takes it off the list. */
void object_destroy(driver_object_t *object);
/* The next of this kind and context (NULL: of any), for walks that begin with NULL. */
driver_object_t *object_next(const driver_object_t *after, CUcontext context, object_kind_t kind);
void object_destroy_all(CUcontext context);

/* ---- Calls ---------------------------------------------------------------------------------- */

/* What a call needs: nothing but a process that is not a fork's child, cuInit, a current
 * context, and one that is not sick. */
typedef enum call_need { NEEDS_NOTHING, NEEDS_INIT, NEEDS_CONTEXT, NEEDS_NO_STICKY_ERROR } call_need_t;

typedef struct driver_call {
    const char *symbol;
    bool locked;
    CUcontext context; /* the current one, or NULL */
} driver_call_t;

/* Every entry point is between these two, which hold the one lock. */
CUresult call_begin(driver_call_t *here, const char *symbol, call_need_t need);
CUresult call_end(driver_call_t *here, CUresult result);

/* While PoCL works the lock is not held. */
void call_unlock(void);
void call_lock(void);

/* cuInit's part of it. */
CUresult call_init(void);

/* ---- Contexts (context.c) ------------------------------------------------------------------- */

CUcontext context_current(void);
bool context_is(CUcontext context);
long context_count(void);
bool error_is_sticky(CUresult error);
/* Makes a context sick if the error is one that does. */
void context_record_error(CUcontext context, CUresult error);
/* After a wait that gave `error`: what has gone wrong since the last one. */
CUresult context_collect_error(CUcontext context, cl_int error);
/* Waits for all streams of a context, without the lock. */
CUresult context_finish(CUcontext context);
/* For all of them: where a context is lost no work goes on, whose memory a caller may free. */
void context_finish_all(void);

/* ---- Streams (stream.c) --------------------------------------------------------------------- */

cl_command_queue queue_new(void);
/* The stream of a handle if it may be used now: 0, 1 and 2 are the default ones. */
CUresult stream_of(CUcontext context, CUstream handle, CUstream *stream);
CUresult stream_finish(driver_call_t *here, CUstream stream);

/* ---- Memory (memory.c) ---------------------------------------------------------------------- */

/* The allocation that an address lies in, or just behind. */
driver_memory_t *memory_containing(CUcontext context, CUdeviceptr address);
/* Stops the program, loudly, if something was written behind it. */
void memory_check(const driver_memory_t *memory);

/* ---- Devices (device.c) --------------------------------------------------------------------- */

typedef struct emulated_gpu {
    int architecture;
    const char *name;
    int memory_mib, units, clock_khz, memory_clock_khz, bus_bits, l2_kib;
    int shared_optin, shared_unit, threads_unit;
} emulated_gpu_t;

const emulated_gpu_t *emulated_gpu_current(void);
int emulated_driver_version(void);
int emulated_device_count(void);
bool emulated_device_has_pools(void);

/* ---- Work (launch.c) and captures (capture.c) -------------------------------------------------- */

/* A launch, a function of the host's or a copy, with its own copy of the arguments. */
typedef struct driver_work {
    CUfunction function; /* of a launch, or NULL */
    CUhostFn host;       /* of the host's, or NULL */
    void *user;
    unsigned grid[3], block[3];
    unsigned char *arguments; /* one behind the other */
    void *to;
    const void *from;
    size_t bytes;
    struct driver_work *next;
} driver_work_t;

/* Runs it, or records it if the stream captures. Takes `work`, made by malloc, over. */
CUresult work_submit(CUstream stream, driver_work_t *work);
CUresult work_run(CUstream stream, const driver_work_t *work);
void work_free(driver_work_t *work);

void recording_add(driver_recording_t *recording, driver_work_t *work);
void recording_release(driver_recording_t *recording);

/* Ends a capture badly and returns what the call that did it returns. */
CUresult capture_invalidate(driver_capture_t *capture);
/* The same for calls that no capture of this kind lets pass. */
CUresult capture_forbid(void);
/* Ends what a stream that goes away was part of. */
void capture_remove_stream(CUstream stream);
/* Whether any stream of a context captures. */
driver_capture_t *capture_in(CUcontext context);

/* ---- Source (image_source.c) ----------------------------------------------------------------------- */

/* The text and options of what an image was compiled from, the caller's to free; false with
 * a reason if they cannot be had. */
bool source_of(const char *image_text, char **source, char **options, char *reason, size_t capacity);

#endif /* EMULATED_DRIVER_H */
