/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_device.h - the CUDA device: its backend table and its structs. */
#pragma once

#include <sys/types.h>

#include "core/plan_types.h"
#include "cuda/cublas_library.h"
#include "cuda/cuda_driver.h"
#include "cuda/nvrtc.h"
#include "simt/simt_launch.h"

extern const rungi_backend rungi_cuda_backend;

/* The CUDA state of a rung context. */
typedef struct rungi_cuda_state {
    rungi_cu cu;
    pid_t pid;            /* process that initialized the driver, which does not work after a fork */
    pthread_mutex_t lock; /* protects cuBLAS, which is loaded when first needed */
    bool has_searched_cublas;
    rungi_cublas blas;
} rungi_cuda_state;

/* A loaded module. Unloaded when the device is closed. */
typedef struct rungi_cuda_module {
    struct rungi_cuda_module *next;
    char *key;
    rungi_cu_module module;
} rungi_cuda_module;

typedef struct rungi_cuda_device {
    rung_device base;
    rungi_cuda_state *state;
    rungi_cu *cu;
    rungi_cu_device id;
    rungi_cu_context context;
    bool is_primary;            /* the primary context, which the library releases */
    bool has_pools;             /* supports stream-ordered allocation */
    int architecture;           /* 86 */
    char architecture_name[16]; /* "sm_86" */
    atomic_uint lost_error;     /* error after which the device is unusable, or 0 */
    pthread_mutex_t lock;       /* protects the members below */
    rungi_cuda_module *modules;
    bool has_searched_nvrtc;
    rungi_nvrtc nvrtc; /* which version depends on the architecture */
    rungi_cublas_handle *blas;
} rungi_cuda_device;

typedef struct rungi_cuda_queue {
    rung_queue base;
    rungi_cu_stream stream;
    bool is_owned;
} rungi_cuda_queue;

/* Two CUDA events: start and end of some work. The rung events of the same work share one pair. A wrapped event is
 * recorded itself and shares only the start. */
typedef struct rungi_cuda_event_pair {
    atomic_int references;
    rungi_cu_event first, last;
    bool owns_last;
    bool is_recorded;                         /* by the library */
    rungi_cu_stream stream;                   /* that recorded it */
    struct rungi_cuda_event_pair *start_from; /* pair whose start counts, or NULL for its own */
} rungi_cuda_event_pair;

typedef struct rungi_cuda_event {
    rung_event base;
    rungi_cuda_event_pair *event_pair;
} rungi_cuda_event;

typedef struct rungi_cuda_buffer {
    rung_buffer base;
    rungi_cu_pointer pointer; /* to its first byte; 0 for 0 bytes */
    bool is_owned;
    rungi_cuda_queue *ordered_on; /* queue in whose order the memory is freed, or NULL */
} rungi_cuda_buffer;

static inline rungi_cuda_device *rungi_cuda_device_of(rung_device *device)
{
    return (rungi_cuda_device *)device;
}

static inline rungi_cu_stream rungi_cuda_stream_of(const rung_queue *queue)
{
    return ((const rungi_cuda_queue *)queue)->stream;
}

/* Enclose every call of the driver, and restore the caller's current context. Pushing fails if the device is lost, and
 * says why. */
rung_status rungi_cuda_context_push(rungi_cuda_device *device);
void rungi_cuda_context_pop(rungi_cuda_device *device);

/* Pops the context and returns `status`, the result of what was called in the context. */
rung_status rungi_cuda_context_leave(rungi_cuda_device *device, rung_status status);

/* Pushes the context for releasing objects: succeeds for a lost device, but not in a forked child. */
bool rungi_cuda_context_push_for_release(rungi_cuda_device *device);

/* Returns RUNG_OK, or sets the error text. Records that the device is lost. */
rung_status rungi_cuda_check(rungi_cuda_device *device, rungi_cu_result error, const char *function);

/* Calls a function of the driver and checks its result: RUNGI_CUDA_CALL(device, EventSynchronize, event). */
#define RUNGI_CUDA_CALL(device, name, ...) rungi_cuda_check(device, (device)->cu->name(__VA_ARGS__), "cu" #name)

/* The functions of the device's table, with the types of device.h. (cuda_queue.c, cuda_buffer.c, cuda_plan.c) */
#define X(name) __typeof__(*((rungi_device_ops *)NULL)->name) rungi_cuda_##name;
RUNGI_SIMT_DEVICE_FUNCTION_LIST(X)
X(queue_is_captured)
X(buffer_create_on_queue)
#undef X

/* Plans for an architecture without querying a device. Returns in `dynamic_bytes` the dynamic shared memory per block:
 * 0 if the kernel's declared arrays suffice. (cuda_plan.c) */
rung_status rungi_cuda_simt_plan_init(rung_plan *plan, int architecture, int64_t blocks_max, rungi_simt_plan *work,
                                      int64_t *dynamic_bytes);

/* Destroys the device's cuBLAS handle, if it has one. (cublas.c) */
void rungi_cublas_close(rungi_cuda_device *device);

/* Compiles the code of a plan without a device. (cuda_compile_offline.c) */
rung_status rungi_cuda_compile_offline(rung_plan *plan, rungi_code *code);

/* Enclose the submission of work. The first function pushes the context, waits for the events of `options` and records
 * the start. The second one records the end, unless `status`, the result of the submission, is a failure; it pops the
 * context and returns the status. (cuda_queue.c) */
rung_status rungi_cuda_submit_begin(rung_queue *queue, const rung_run_options *options);
rung_status rungi_cuda_submit_end(rung_queue *queue, const rung_run_options *options, rung_status status);

/* Returns whether the kernel is compiled with the instructions that only its architecture has: "sm_90a". */
static inline bool rungi_cuda_is_specific(const rung_kernel *kernel, int architecture)
{
    return kernel->info.only_sm > 0 || (rungi_simt_has_narrow_a(kernel) && architecture >= 120);
}

/* Finds the function of a kernel's path, compiled with these parameter values. If neither an embedded image nor a compiler
 * provides the function, finds the general path, which reads flags at run time; both have the same arguments. The context
 * must be current. (cuda_module.c) */
typedef struct rungi_cuda_function_spec {
    const rung_kernel *kernel;
    const rungi_parameter_values *values;
    rungi_simt_path path;
    int64_t shared_bytes; /* dynamic shared memory per launch */
    int64_t carveout;     /* percent of L1 for shared memory; 0: the driver's choice */
} rungi_cuda_function_spec;

rung_status rungi_cuda_function_of(rungi_cuda_device *device, const rungi_cuda_function_spec *spec,
                                   rungi_cu_function *function);
void rungi_cuda_modules_release(rungi_cuda_device *device);

/* For tests: returns how many driver objects of a kind this context holds. */
long rungi_cuda_live_objects(rung_context *context, rungi_cu_kind kind);
