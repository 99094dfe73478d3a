/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - the CUDA device: its backend table and its structs. */
#ifndef RUNGI_CUDA_DEVICE_H
#define RUNGI_CUDA_DEVICE_H

#include <sys/types.h>

#include "core/plan.h"
#include "core/run.h"
#include "cuda/blas.h"
#include "cuda/driver.h"
#include "cuda/nvrtc.h"
#include "simt/launch.h"

extern const rungi_backend rungi_cuda_backend;

/* What a context keeps of CUDA. */
typedef struct rungi_cuda_state {
    rungi_cu cu;
    pid_t pid;            /* that started the driver; it does not outlive a fork */
    pthread_mutex_t lock; /* of cuBLAS, which is looked for when first needed */
    bool looked_for_blas;
    rungi_blas blas;
} rungi_cuda_state;

/* Compiled code on a device, kept until the device is closed. */
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
    bool is_primary;            /* ours to release */
    bool has_pools;             /* memory in a stream's order */
    int architecture;           /* 86 */
    char architecture_name[16]; /* "sm_86" */
    atomic_uint lost;           /* the error that cost us the device, 0 for none */
    pthread_mutex_t lock;       /* of all below */
    rungi_cuda_module *modules;
    bool looked_for_nvrtc;
    rungi_nvrtc nvrtc; /* which version depends on the architecture */
    rungi_blas_handle *blas;
} rungi_cuda_device;

typedef struct rungi_cuda_queue {
    rung_queue base;
    rungi_cu_stream stream;
    bool is_ours;
} rungi_cuda_queue;

/* Two moments of a stream. Events that stand for the same work share one, but for the
 * caller's own, which are recorded themselves and share the first moment alone. */
typedef struct rungi_cuda_stamp {
    atomic_int references;
    rungi_cu_event first, last;
    bool last_is_ours;
    bool recorded;                  /* by us */
    rungi_cu_stream stream;         /* in this one */
    struct rungi_cuda_stamp *begun; /* whose first moment counts, NULL for its own */
} rungi_cuda_stamp;

typedef struct rungi_cuda_event {
    rung_event base;
    rungi_cuda_stamp *stamp;
} rungi_cuda_event;

typedef struct rungi_cuda_buffer {
    rung_buffer base;
    rungi_cu_pointer pointer; /* to its first byte; 0 for 0 bytes */
    bool is_ours;
    rungi_cuda_queue *ordered_on; /* whose order it is freed in, or NULL */
} rungi_cuda_buffer;

static inline rungi_cuda_device *rungi_cuda_device_of(rung_device *device)
{
    return (rungi_cuda_device *)device;
}

/* Every call into the driver stands between these two, which leave the caller's current
 * context as it was. Entering says why the device can no longer be used. */
rung_status rungi_cuda_enter(rungi_cuda_device *device);
void rungi_cuda_leave(rungi_cuda_device *device);

/* The same for releasing: goes on with a device that is lost, not in a forked child. */
bool rungi_cuda_enter_to_release(rungi_cuda_device *device);

/* RUNG_OK, or the error's sentence; remembers that the device is lost. */
rung_status rungi_cuda_check(rungi_cuda_device *device, rungi_cu_result error, const char *function);

/* Whether this process may use the driver that the state has started. */
rung_status rungi_cuda_check_process(const rungi_cuda_state *state);

/* The functions of the device's table. (queue.c, buffer.c, plan.c) */
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
rung_status rungi_cuda_buffer_create_on(rung_queue *queue, int64_t bytes, rung_buffer **buffer);
void rungi_cuda_buffer_destroy(rung_buffer *buffer);
void *rungi_cuda_buffer_native(const rung_buffer *buffer);
rung_status rungi_cuda_buffer_write(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes,
                                    const void *from, const rung_run_options *options);
rung_status rungi_cuda_buffer_read(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, void *to,
                                   const rung_run_options *options);

rung_status rungi_cuda_host_allocate(rung_device *device, int64_t bytes, void **memory, void **handle);
void rungi_cuda_host_release(rung_device *device, void *memory, void *handle);

rung_status rungi_cuda_plan_create(rung_plan *plan);
rung_status rungi_cuda_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem, rungi_sizes sizes,
                                const rung_run_options *options);
void rungi_cuda_plan_destroy(rung_plan *plan);

/* What a plan comes to on a device of this architecture, which is not asked, and how many
 * bytes of a block's shared memory its launches ask for: none where the kernel's own arrays
 * do. (plan.c) */
rung_status rungi_cuda_work_of(rung_plan *plan, int architecture, int64_t blocks_max, rungi_simt_work *work,
                               int64_t *dynamic_bytes);

/* The backend's: such a plan's code, with no device. (compile.c) */
rung_status rungi_cuda_compile(rung_plan *plan, rungi_code *code);

/* Around a piece of work, the context entered: waits for what it waits for, and marks its
 * two ends for the event to signal. */
rung_status rungi_cuda_begin(rung_queue *queue, const rung_run_options *options);
rung_status rungi_cuda_end(rung_queue *queue, const rung_run_options *options);

/* A kernel's function: its path compiled with these values, or, where there is neither such
 * an image nor a compiler, the general path that learns the rest at run time: what is
 * launched has the same arguments either way. The context is entered. (code.c) */
typedef struct rungi_cuda_wish {
    const rung_kernel *kernel;
    const rungi_values *values;
    rungi_simt_path path;
    int64_t shared_bytes; /* of a launch, beyond what is declared */
    int64_t carveout;     /* per cent, 0 for the driver's choice */
} rungi_cuda_wish;

rung_status rungi_cuda_function_of(rungi_cuda_device *device, const rungi_cuda_wish *wish, rungi_cu_function *function);
void rungi_cuda_forget_modules(rungi_cuda_device *device);

/* For tests: how many objects of a kind this context holds in the driver. */
long rungi_cuda_live(rung_context *context, rungi_cu_kind kind);

#endif /* RUNGI_CUDA_DEVICE_H */
