/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_queue.c - queues, events, buffers, pinned memory and copies of the OpenCL device, created or wrapped. */
#include "opencl/opencl_device.h"

#include "base/assert.h"
#include "base/try.h"

static rungi_cl *cl_of(rung_device *device)
{
    return rungi_opencl_device_of(device)->cl;
}

/* ---- Queues ------------------------------------------------------------------------------------ */

static rung_status check_queue(rungi_opencl_device *own, cl_command_queue queue)
{
    rungi_cl *cl = own->cl;
    cl_command_queue_properties properties = 0;
    cl_context context = NULL;
    cl_device_id id = NULL;
    TRY(RUNGI_CL_CALL(cl, GetCommandQueueInfo, queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    TRY(RUNGI_CL_CALL(cl, GetCommandQueueInfo, queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL));
    TRY(RUNGI_CL_CALL(cl, GetCommandQueueInfo, queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL));
    if (context != own->context || id != own->id)
        return rungi_invalid("the wrapped queue belongs to another cl_context or cl_device_id than the device");
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "the wrapped queue is out-of-order; create it without "
                                                   "CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE");
    return RUNG_OK;
}

rung_status rungi_opencl_queue_create(rung_device *device, void *native, rung_queue **queue)
{
    rungi_opencl_device *own = rungi_opencl_device_of(device);
    cl_int error = CL_SUCCESS;
    TRY(native ? check_queue(own, native) : RUNG_OK);
    rungi_opencl_queue *made = rungi_allocate_zeroed(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    made->queue = native;
    if (native)
        error = own->cl->RetainCommandQueue(native);
    else
        made->queue = own->cl->CreateCommandQueue(own->context, own->id, CL_QUEUE_PROFILING_ENABLE, &error);
    if (error != CL_SUCCESS) {
        rungi_release(device->context, made);
        return rungi_cl_check(error, native ? "clRetainCommandQueue" : "clCreateCommandQueue");
    }
    rungi_cl_track(own->cl, RUNGI_CL_QUEUE);
    *queue = &made->base;
    return RUNG_OK;
}

rung_status rungi_opencl_queue_finish(rung_queue *queue)
{
    return rungi_cl_check_waiting(cl_of(queue->device)->Finish(rungi_opencl_native_queue(queue)), "clFinish");
}

void rungi_opencl_queue_destroy(rung_queue *queue)
{
    rungi_cl_release_queue(cl_of(queue->device), rungi_opencl_native_queue(queue));
    rungi_release(queue->device->context, queue);
}

void *rungi_opencl_queue_native(const rung_queue *queue)
{
    return rungi_opencl_native_queue(queue);
}

/* ---- Events ------------------------------------------------------------------------------------- */

/* Returns the event with one more reference, or NULL on failure. */
static cl_event event_retain(rungi_cl *cl, cl_event event)
{
    if (!event || cl->RetainEvent(event) != CL_SUCCESS)
        return NULL;
    rungi_cl_track(cl, RUNGI_CL_EVENT);
    return event;
}

rung_status rungi_opencl_event_create(rung_device *device, void *native, rung_event **event)
{
    rungi_cl *cl = cl_of(device);
    cl_context context = NULL;
    if (native) {
        TRY(RUNGI_CL_CALL(cl, GetEventInfo, native, CL_EVENT_CONTEXT, sizeof context, &context, NULL));
        if (context != rungi_opencl_device_of(device)->context)
            return rungi_invalid("the wrapped event belongs to another cl_context than the device");
    }
    rungi_opencl_event *made = rungi_allocate_zeroed(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    made->first = event_retain(cl, native);
    made->last = event_retain(cl, native);
    *event = &made->base;
    return RUNG_OK;
}

rung_status rungi_opencl_event_wait(rung_event *event)
{
    cl_event last = ((rungi_opencl_event *)event)->last;
    cl_int error = last ? cl_of(event->device)->WaitForEvents(1, &last) : CL_SUCCESS;
    return rungi_cl_check_waiting(error, "clWaitForEvents");
}

bool rungi_opencl_event_is_done(rung_event *event)
{
    cl_event last = ((rungi_opencl_event *)event)->last;
    cl_int state = CL_COMPLETE;
    if (last)
        cl_of(event->device)->GetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    return state <= CL_COMPLETE; /* errors are negative */
}

/* Times of the device's clock, both 0 for an event without work. */
static rung_status read_times(const rung_event *event, cl_ulong *start, cl_ulong *end)
{
    const rungi_opencl_event *own = (const rungi_opencl_event *)event;
    rungi_cl *cl = cl_of(event->device);
    *start = *end = 0;
    if (!own->last || !own->first)
        return RUNG_OK;
    TRY(RUNGI_CL_CALL(cl, GetEventProfilingInfo, own->first, CL_PROFILING_COMMAND_START, sizeof *start, start, NULL));
    return RUNGI_CL_CALL(cl, GetEventProfilingInfo, own->last, CL_PROFILING_COMMAND_END, sizeof *end, end, NULL);
}

rung_status rungi_opencl_event_time(rung_event *event, int64_t *nanoseconds)
{
    cl_ulong start, end;
    TRY(read_times(event, &start, &end));
    *nanoseconds = end > start ? (int64_t)(end - start) : 0;
    return RUNG_OK;
}

rung_status rungi_opencl_event_span(rung_event *event, const rung_event *origin, int64_t *start, int64_t *end)
{
    cl_ulong origin_start, origin_end, event_start, event_end;
    TRY(read_times(origin, &origin_start, &origin_end));
    TRY(read_times(event, &event_start, &event_end));
    *start = (int64_t)(event_start - origin_end);
    *end = (int64_t)(event_end - origin_end);
    return RUNG_OK;
}

static void set_event(rungi_cl *cl, rungi_opencl_event *event, cl_event first, cl_event last)
{
    rungi_cl_release_event(cl, event->first);
    rungi_cl_release_event(cl, event->last);
    event->first = first;
    event->last = last;
}

rung_status rungi_opencl_event_copy(const rung_event *from, rung_event *to)
{
    const rungi_opencl_event *source = (const rungi_opencl_event *)from;
    rungi_cl *cl = cl_of(to->device);
    cl_event last = event_retain(cl, source->last);
    if (source->last && !last)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "clRetainEvent failed: the event was not signalled");
    set_event(cl, (rungi_opencl_event *)to, event_retain(cl, source->first), last);
    return RUNG_OK;
}

void rungi_opencl_event_destroy(rung_event *event)
{
    set_event(cl_of(event->device), (rungi_opencl_event *)event, NULL, NULL);
    rungi_release(event->device->context, event);
}

void *rungi_opencl_event_native(const rung_event *event)
{
    return ((const rungi_opencl_event *)event)->last;
}

void rungi_opencl_signal(rungi_cl *cl, const rung_run_options *options, cl_event first, cl_event last)
{
    if (options->signal) {
        set_event(cl, (rungi_opencl_event *)options->signal, first, last);
        return;
    }
    rungi_cl_release_event(cl, first);
    rungi_cl_release_event(cl, last);
}

void rungi_opencl_waits_collect(const rung_run_options *options, rungi_opencl_waits *waits)
{
    waits->count = 0;
    RUNGI_ASSERT(options->wait_count <= RUNGI_WAIT_EVENTS_MAX); /* rungi_run_options_check() */
    for (int64_t i = 0; i < options->wait_count; i++) {
        cl_event event = ((rungi_opencl_event *)options->wait[i])->last;
        if (event)
            waits->events[waits->count++] = event;
    }
    waits->list = waits->count > 0 ? waits->events : NULL;
}

/* ---- Buffers -------------------------------------------------------------------------------------- */

/* Returns an identity for overlap checks: sub-buffers share the identity of their parent. */
static void set_address_range(rungi_cl *cl, rungi_opencl_buffer *buffer, int64_t offset)
{
    cl_mem parent = NULL;
    size_t origin = 0;
    buffer->base.address_space = buffer->memory ? (void *)buffer->memory : (void *)buffer;
    buffer->base.address = (uintptr_t)offset;
    buffer->base.kernel_offset = offset;
    if (buffer->memory &&
        cl->GetMemObjectInfo(buffer->memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL) == CL_SUCCESS &&
        parent && cl->GetMemObjectInfo(buffer->memory, CL_MEM_OFFSET, sizeof origin, &origin, NULL) == CL_SUCCESS) {
        buffer->base.address_space = parent;
        buffer->base.address += origin;
    }
}

/* Checks that the wrapped buffer belongs to the context and is large enough. */
static rung_status check_wrapped(rungi_opencl_device *own, cl_mem memory, int64_t end)
{
    cl_context context = NULL;
    size_t size = 0;
    TRY(RUNGI_CL_CALL(own->cl, GetMemObjectInfo, memory, CL_MEM_CONTEXT, sizeof context, &context, NULL));
    TRY(RUNGI_CL_CALL(own->cl, GetMemObjectInfo, memory, CL_MEM_SIZE, sizeof size, &size, NULL));
    if (context != own->context)
        return rungi_invalid("the wrapped cl_mem belongs to another cl_context than the device");
    if ((uint64_t)end > size)
        return rungi_invalid("the wrapped cl_mem has %zu bytes; the buffer would end at %lld", size, (long long)end);
    return RUNG_OK;
}

rung_status rungi_opencl_buffer_create(rung_device *device, void *native, int64_t offset, int64_t bytes,
                                       rung_buffer **buffer)
{
    rungi_opencl_device *own = rungi_opencl_device_of(device);
    cl_int error = CL_SUCCESS;
    TRY(native ? check_wrapped(own, native, offset + bytes) : RUNG_OK);
    rungi_opencl_buffer *made = rungi_allocate_zeroed(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    made->memory = native;
    if (native)
        error = own->cl->RetainMemObject(native);
    else if (bytes > 0)
        made->memory = own->cl->CreateBuffer(own->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &error);
    if (error != CL_SUCCESS) {
        rungi_release(device->context, made);
        return rungi_cl_check(error, native ? "clRetainMemObject" : "clCreateBuffer");
    }
    if (made->memory)
        rungi_cl_track(own->cl, RUNGI_CL_BUFFER);
    set_address_range(own->cl, made, offset);
    *buffer = &made->base;
    return RUNG_OK;
}

void rungi_opencl_buffer_destroy(rung_buffer *buffer)
{
    rungi_cl_release_buffer(cl_of(buffer->device), ((rungi_opencl_buffer *)buffer)->memory);
    rungi_release(buffer->device->context, buffer);
}

void *rungi_opencl_buffer_native(const rung_buffer *buffer)
{
    return ((const rungi_opencl_buffer *)buffer)->memory;
}

/* ---- Memory of this process -------------------------------------------------------------------------- */

/* Pinned host memory: a buffer that is mapped during its whole lifetime, and the queue that maps and unmaps it. */
typedef struct pinned {
    cl_mem memory;
    cl_command_queue queue;
} pinned_buffer_t;

static void release_pinned(rung_device *device, pinned_buffer_t *pinned)
{
    rungi_cl_release_buffer(cl_of(device), pinned->memory);
    rungi_cl_release_queue(cl_of(device), pinned->queue);
    rungi_release(device->context, pinned);
}

static rung_status make_pinned(rungi_opencl_device *own, int64_t bytes, pinned_buffer_t *pinned, void **mapped)
{
    rungi_cl *cl = own->cl;
    cl_int error;
    pinned->queue = cl->CreateCommandQueue(own->context, own->id, 0, &error);
    TRY(rungi_cl_check(error, "clCreateCommandQueue"));
    rungi_cl_track(cl, RUNGI_CL_QUEUE);
    pinned->memory = cl->CreateBuffer(own->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, (size_t)bytes, NULL,
                                      &error);
    TRY(rungi_cl_check(error, "clCreateBuffer"));
    rungi_cl_track(cl, RUNGI_CL_BUFFER);
    *mapped = cl->EnqueueMapBuffer(pinned->queue, pinned->memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, (size_t)bytes,
                                   0, NULL, NULL, &error);
    return rungi_cl_check(error, "clEnqueueMapBuffer");
}

rung_status rungi_opencl_host_allocate(rung_device *device, int64_t bytes, void **memory, void **handle)
{
    pinned_buffer_t *made = rungi_allocate_zeroed(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = make_pinned(rungi_opencl_device_of(device), bytes, made, memory);
    if (status == RUNG_OK)
        *handle = made;
    else
        release_pinned(device, made);
    return status;
}

void rungi_opencl_host_release(rung_device *device, void *memory, void *handle)
{
    rungi_cl *cl = cl_of(device);
    pinned_buffer_t *made = handle;
    if (cl->EnqueueUnmapMemObject(made->queue, made->memory, memory, 0, NULL, NULL) == CL_SUCCESS)
        cl->Finish(made->queue);
    release_pinned(device, made);
}

/* ---- Work ---------------------------------------------------------------------------------------------- */

/* Completes the submission of a single command: returns its error, or takes over its event and flushes the queue. */
static rung_status submit_command(rung_queue *queue, const rung_run_options *options, cl_int error, cl_event event,
                                  const char *function)
{
    rungi_cl *cl = cl_of(queue->device);
    TRY(rungi_cl_check(error, function));
    rungi_cl_track(cl, RUNGI_CL_EVENT);
    rungi_opencl_signal(cl, options, event_retain(cl, event), event);
    return rungi_cl_status_submitted(RUNGI_CL_CALL(cl, Flush, rungi_opencl_native_queue(queue)));
}

rung_status rungi_opencl_submit_marker(rung_queue *queue, const rung_run_options *options)
{
    rungi_opencl_waits waits;
    cl_event event = NULL;
    rungi_opencl_waits_collect(options, &waits);
    cl_int error = cl_of(queue->device)
                       ->EnqueueMarkerWithWaitList(rungi_opencl_native_queue(queue), waits.count, waits.list, &event);
    return submit_command(queue, options, error, event, "clEnqueueMarkerWithWaitList");
}

rung_status rungi_opencl_buffer_copy(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes,
                                     const void *from, void *to, const rung_run_options *options)
{
    rungi_cl *cl = cl_of(queue->device);
    cl_command_queue native = rungi_opencl_native_queue(queue);
    cl_mem memory = ((const rungi_opencl_buffer *)buffer)->memory;
    size_t start = (size_t)(buffer->offset + offset), size = (size_t)bytes;
    rungi_opencl_waits waits;
    cl_event event = NULL;
    if (bytes == 0)
        return rungi_opencl_submit_marker(queue, options);
    rungi_opencl_waits_collect(options, &waits);
    cl_int error = from ? cl->EnqueueWriteBuffer(native, memory, CL_FALSE, start, size, from, waits.count, waits.list,
                                                 &event)
                        : cl->EnqueueReadBuffer(native, memory, CL_FALSE, start, size, to, waits.count, waits.list,
                                                &event);
    return submit_command(queue, options, error, event, from ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer");
}
