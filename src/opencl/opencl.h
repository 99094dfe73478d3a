/* SPDX-License-Identifier: Apache-2.0 */
/* opencl.h - the OpenCL device: its backend table and its structs. */
#ifndef RUNGI_OPENCL_H
#define RUNGI_OPENCL_H

#include "core/plan.h"
#include "core/run.h"
#include "opencl/api.h"
#include "simt/launch.h"

extern const rungi_backend rungi_opencl_backend;

/* A program compiled once a device, kept until the device is closed. */
typedef struct rungi_opencl_program {
    struct rungi_opencl_program *next;
    uint64_t key;           /* of source and options */
    char *source, *options; /* against keys that collide */
    cl_program program;
} rungi_opencl_program;

typedef struct rungi_opencl_device {
    rung_device base;
    rungi_cl *cl;
    cl_context context;
    cl_device_id id;
    pthread_mutex_t lock; /* of the programs, and of handing CLBlast its parameters */
    rungi_opencl_program *programs;
    int64_t blocks_max; /* of a launch */
    bool has_f64;
    bool is_vendor_tuned;
} rungi_opencl_device;

typedef struct rungi_opencl_queue {
    rung_queue base;
    cl_command_queue queue;
} rungi_opencl_queue;

/* Work may be several commands; its time is from the first's start. */
typedef struct rungi_opencl_event {
    rung_event base;
    cl_event first, last; /* NULL: nothing to wait for */
} rungi_opencl_event;

typedef struct rungi_opencl_buffer {
    rung_buffer base;
    cl_mem memory; /* NULL for 0 bytes */
} rungi_opencl_buffer;

static inline rungi_opencl_device *rungi_opencl_device_of(rung_device *device)
{
    return (rungi_opencl_device *)device;
}

/* What a view stands in, NULL if in nothing. */
static inline cl_mem rungi_opencl_memory(const rung_matrix *view)
{
    return view->buffer ? ((const rungi_opencl_buffer *)view->buffer)->memory : NULL;
}

/* The functions of the device's table, by file. */
rung_status rungi_opencl_queue_create(rung_device *device, void *native, rung_queue **queue);
rung_status rungi_opencl_queue_finish(rung_queue *queue);
void rungi_opencl_queue_destroy(rung_queue *queue);
void *rungi_opencl_queue_native(const rung_queue *queue);

rung_status rungi_opencl_event_create(rung_device *device, void *native, rung_event **event);
rung_status rungi_opencl_event_wait(rung_event *event);
bool rungi_opencl_event_is_done(rung_event *event);
rung_status rungi_opencl_event_time(rung_event *event, int64_t *nanoseconds);
rung_status rungi_opencl_event_span(rung_event *event, const rung_event *origin, int64_t *start, int64_t *end);
rung_status rungi_opencl_event_copy(const rung_event *from, rung_event *to);
void rungi_opencl_event_destroy(rung_event *event);
void *rungi_opencl_event_native(const rung_event *event);

rung_status rungi_opencl_buffer_create(rung_device *device, void *native, int64_t offset, int64_t bytes,
                                       rung_buffer **buffer);
void rungi_opencl_buffer_destroy(rung_buffer *buffer);
void *rungi_opencl_buffer_native(const rung_buffer *buffer);
rung_status rungi_opencl_buffer_write(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes,
                                      const void *from, const rung_run_options *options);
rung_status rungi_opencl_buffer_read(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, void *to,
                                     const rung_run_options *options);

rung_status rungi_opencl_host_allocate(rung_device *device, int64_t bytes, void **memory, void **handle);
void rungi_opencl_host_release(rung_device *device, void *memory, void *handle);

rung_status rungi_opencl_plan_create(rung_plan *plan);
rung_status rungi_opencl_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem, rungi_sizes sizes,
                                  const rung_run_options *options);
void rungi_opencl_plan_destroy(rung_plan *plan);

/* What work waits for, as OpenCL takes it. */
typedef struct rungi_opencl_waits {
    cl_uint count;
    cl_event events[RUNGI_WAITS_MAX];
} rungi_opencl_waits;

void rungi_opencl_gather(const rung_run_options *options, rungi_opencl_waits *waits);
const cl_event *rungi_opencl_wait_list(const rungi_opencl_waits *waits);

/* Makes the event stand for work from `first` to `last`, whose references become
 * its own; without an event to signal they are released. */
void rungi_opencl_signal(rungi_cl *cl, const rung_run_options *options, cl_event first, cl_event last);

/* The end of a piece of work that is one command: its error or its event, taken
 * over, and the device told to start. */
rung_status rungi_opencl_submitted(rung_queue *queue, const rung_run_options *options, cl_int error, cl_event event,
                                   const char *function);

/* Work of no size: waits and signals. */
rung_status rungi_opencl_submit_nothing(rung_queue *queue, const rung_run_options *options);

/* Frees what program_of made. (program.c) */
void rungi_opencl_forget_programs(rungi_opencl_device *device);

/* The compiled program of a kernel's path with these values, from memory or made
 * now. */
rung_status rungi_opencl_program_of(rungi_opencl_device *device, const rung_kernel *kernel, const rungi_values *values,
                                    const rungi_simt_path *path, cl_program *program);

/* For tests: how many objects of a kind this context holds in the driver. */
long rungi_opencl_live(rung_context *context, rungi_cl_kind kind);

#endif /* RUNGI_OPENCL_H */
