/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_device.h - the OpenCL device: backend table and types. */
#pragma once

#include "core/plan_types.h"
#include "opencl/opencl_api.h"
#include "simt/simt_launch.h"

extern const rungi_backend rungi_opencl_backend;

/* A compiled program. Released when the device is closed. */
typedef struct rungi_opencl_program {
    struct rungi_opencl_program *next;
    char *source, *options;
    cl_program program;
} rungi_opencl_program;

typedef struct rungi_opencl_device {
    rung_device base;
    rungi_cl *cl;
    cl_context context;
    cl_device_id id;
    pthread_mutex_t lock; /* protects the programs and CLBlast's parameters */
    rungi_opencl_program *programs;
    int64_t blocks_max; /* per launch */
    bool has_f64;
    bool is_clblast_tuned;
} rungi_opencl_device;

typedef struct rungi_opencl_queue {
    rung_queue base;
    cl_command_queue queue;
} rungi_opencl_queue;

/* Work may consist of several commands. Its time starts with the first one. */
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

static inline cl_command_queue rungi_opencl_native_queue(const rung_queue *queue)
{
    return ((const rungi_opencl_queue *)queue)->queue;
}

/* Returns the buffer of a view, or NULL. */
static inline cl_mem rungi_opencl_memory_of(const rung_matrix *view)
{
    return view->buffer ? ((const rungi_opencl_buffer *)view->buffer)->memory : NULL;
}

/* The functions of the device's table, with the types of device.h. (opencl_queue.c, opencl_plan.c) */
#define X(name) __typeof__(*((rungi_device_ops *)NULL)->name) rungi_opencl_##name;
RUNGI_SIMT_DEVICE_FUNCTION_LIST(X)
#undef X

/* The wait list of a command. */
typedef struct rungi_opencl_waits {
    cl_uint count;
    const cl_event *list; /* `events`, or NULL if there are none */
    cl_event events[RUNGI_WAIT_EVENTS_MAX];
} rungi_opencl_waits;

void rungi_opencl_waits_collect(const rung_run_options *options, rungi_opencl_waits *waits);

/* Sets the event to signal to the work from `first` to `last` and takes over their references. Releases them if no event
 * is to be signalled. */
void rungi_opencl_signal(rungi_cl *cl, const rung_run_options *options, cl_event first, cl_event last);

/* Submits empty work: waits and signals. */
rung_status rungi_opencl_submit_marker(rung_queue *queue, const rung_run_options *options);

/* Releases all programs of the device. (opencl_program.c) */
void rungi_opencl_programs_release(rungi_opencl_device *device);

/* Returns the program of a kernel for a path and parameters. Compiles it unless it was compiled before. */
rung_status rungi_opencl_program_of(rungi_opencl_device *device, const rung_kernel *kernel,
                                    const rungi_parameter_values *values, const rungi_simt_path *path,
                                    cl_program *program);

/* Writes the name of the CLBlast library, or "" if it is not installed. (clblast.c) */
void rungi_clblast_where(char *text, size_t capacity);

/* For tests: returns how many driver objects of a kind this context holds. */
long rungi_opencl_live_objects(rung_context *context, rungi_cl_kind kind);
