/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_device.h - the CUDA device: its backend table and its structs. */
#ifndef RUNGI_CUDA_DEVICE_H
#define RUNGI_CUDA_DEVICE_H

#include <sys/types.h>

#include "core/plan_types.h"
#include "core/run_options.h"
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

/* Enclose every call of the driver, and restore the caller's current context. Pushing fails if the device is lost, and
 * says why. */
rung_status rungi_cuda_context_push(rungi_cuda_device *device);
void rungi_cuda_context_pop(rungi_cuda_device *device);

/* The same for releasing objects: succeeds for a lost device, but not in a forked child. */
bool rungi_cuda_context_push_for_release(rungi_cuda_device *device);

/* Returns RUNG_OK, or sets the error text. Records that the device is lost. */
rung_status rungi_cuda_check(rungi_cuda_device *device, rungi_cu_result error, const char *function);

/* Returns whether this process may use the driver: false in a forked child. */
rung_status rungi_cuda_check_process(const rungi_cuda_state *state);

/* The functions of the device's table. (cuda_queue.c, cuda_buffer.c, cuda_plan.c) */
rung_status rungi_cuda_queue_create(rung_device *device, void *native, rung_queue **queue);
rung_status rungi_cuda_queue_finish(rung_queue *queue);
void rungi_cuda_queue_destroy(rung_queue *queue);
void *rungi_cuda_queue_native(const rung_queue *queue);
bool rungi_cuda_queue_is_captured(const rung_queue *queue);

rung_status rungi_cuda_event_create(rung_device *device, void *native, rung_event **event);
rung_status rungi_cuda_event_wait(rung_event *event);
bool rungi_cuda_event_is_done(rung_event *event);
rung_status rungi_cuda_event_time(rung_event *event, int64_t *nanoseconds);
rung_status rungi_cuda_event_span(rung_event *event, const rung_event *origin, int64_t *start, int64_t *end);
rung_status rungi_cuda_event_copy(const rung_event *from, rung_event *to);
void rungi_cuda_event_destroy(rung_event *event);
void *rungi_cuda_event_native(const rung_event *event);

rung_status rungi_cuda_buffer_create(rung_device *device, void *native, int64_t offset, int64_t bytes,
                                     rung_buffer **buffer);
rung_status rungi_cuda_buffer_create_on_queue(rung_queue *queue, int64_t bytes, rung_buffer **buffer);
void rungi_cuda_buffer_destroy(rung_buffer *buffer);
void *rungi_cuda_buffer_native(const rung_buffer *buffer);
rung_status rungi_cuda_buffer_write(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes,
                                    const void *from, const rung_run_options *options);
rung_status rungi_cuda_buffer_read(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, void *to,
                                   const rung_run_options *options);

rung_status rungi_cuda_host_allocate(rung_device *device, int64_t bytes, void **memory, void **handle);
void rungi_cuda_host_release(rung_device *device, void *memory, void *handle);

rung_status rungi_cuda_plan_create(rung_plan *plan);
rung_status rungi_cuda_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem, rungi_gemm_sizes sizes,
                                const rung_run_options *options);
void rungi_cuda_plan_destroy(rung_plan *plan);

/* Plans for an architecture without querying a device. Returns in `dynamic_bytes` the dynamic shared memory per block:
 * 0 if the kernel's declared arrays suffice. (cuda_plan.c) */
rung_status rungi_cuda_simt_plan_init(rung_plan *plan, int architecture, int64_t blocks_max, rungi_simt_plan *work,
                                      int64_t *dynamic_bytes);

/* Destroys the device's cuBLAS handle, if it has one. (cublas.c) */
void rungi_cublas_close(rungi_cuda_device *device);

/* Compiles the code of such a plan without a device. (cuda_compile_offline.c) */
rung_status rungi_cuda_compile_offline(rung_plan *plan, rungi_code *code);

/* Around a piece of work, the context entered: waits for what it waits for, and marks its
 * two ends for the event to signal. */
rung_status rungi_cuda_submit_begin(rung_queue *queue, const rung_run_options *options);
rung_status rungi_cuda_submit_end(rung_queue *queue, const rung_run_options *options);

/* A kernel's function: its path compiled with these values, or, where there is neither such
 * an image nor a compiler, the general path that learns the rest at run time: what is
 * launched has the same arguments either way. The context is entered. (cuda_module.c) */
typedef struct rungi_cuda_function_spec {
    const rung_kernel *kernel;
    const rungi_parameter_values *values;
    rungi_simt_path path;
    int64_t shared_bytes; /* of a launch, beyond what is declared */
    int64_t carveout;     /* per cent, 0 for the driver's choice */
} rungi_cuda_function_spec;

rung_status rungi_cuda_function_of(rungi_cuda_device *device, const rungi_cuda_function_spec *spec,
                                   rungi_cu_function *function);
void rungi_cuda_modules_release(rungi_cuda_device *device);

/* For tests: how many objects of a kind this context holds in the driver. */
long rungi_cuda_live_objects(rung_context *context, rungi_cu_kind kind);

#endif /* RUNGI_CUDA_DEVICE_H */
