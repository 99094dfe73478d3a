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
    cl_int error = cl->GetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    if (error == CL_SUCCESS)
        error = cl->GetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (error == CL_SUCCESS)
        error = cl->GetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clGetCommandQueueInfo");
    if (context != own->context || id != own->id)
        return rungi_fail(RUNG_STATUS_INVALID, "the wrapped queue belongs to another cl_context or cl_device_id than "
                                               "the device");
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
        return rungi_cl_fail(error, native ? "clRetainCommandQueue" : "clCreateCommandQueue");
    }
    rungi_cl_track(own->cl, RUNGI_CL_QUEUE);
    *queue = &made->base;
    return RUNG_OK;
}

rung_status rungi_opencl_queue_finish(rung_queue *queue)
{
    cl_int error = cl_of(queue->device)->Finish(((rungi_opencl_queue *)queue)->queue);
    return error == CL_SUCCESS ? RUNG_OK : rungi_cl_fail_waiting(error, "clFinish");
}

void rungi_opencl_queue_destroy(rung_queue *queue)
{
    rungi_cl_release_queue(cl_of(queue->device), ((rungi_opencl_queue *)queue)->queue);
    rungi_release(queue->device->context, queue);
}

void *rungi_opencl_queue_native(const rung_queue *queue)
{
    return ((const rungi_opencl_queue *)queue)->queue;
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
        cl_int error = cl->GetEventInfo(native, CL_EVENT_CONTEXT, sizeof context, &context, NULL);
        if (error != CL_SUCCESS)
            return rungi_cl_fail(error, "clGetEventInfo");
        if (context != rungi_opencl_device_of(device)->context)
            return rungi_fail(RUNG_STATUS_INVALID, "the wrapped event belongs to another cl_context than the device");
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
    return error == CL_SUCCESS ? RUNG_OK : rungi_cl_fail_waiting(error, "clWaitForEvents");
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
    cl_int error = cl->GetEventProfilingInfo(own->first, CL_PROFILING_COMMAND_START, sizeof *start, start, NULL);
    if (error == CL_SUCCESS)
        error = cl->GetEventProfilingInfo(own->last, CL_PROFILING_COMMAND_END, sizeof *end, end, NULL);
    return error == CL_SUCCESS ? RUNG_OK : rungi_cl_fail(error, "clGetEventProfilingInfo");
}

rung_status rungi_opencl_event_time(rung_event *event, int64_t *nanoseconds)
{
    cl_ulong start, end;
    rung_status status = read_times(event, &start, &end);
    if (status == RUNG_OK)
        *nanoseconds = end > start ? (int64_t)(end - start) : 0;
    return status;
}

rung_status rungi_opencl_event_span(rung_event *event, const rung_event *origin, int64_t *start, int64_t *end)
{
    cl_ulong zero_start, origin_end, event_start, event_end;
    rung_status status = read_times(origin, &zero_start, &origin_end);
    if (status == RUNG_OK)
        status = read_times(event, &event_start, &event_end);
    if (status != RUNG_OK)
        return status;
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
}

const cl_event *rungi_opencl_wait_list(const rungi_opencl_waits *waits)
{
    return waits->count > 0 ? waits->events : NULL;
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
    cl_int error = own->cl->GetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof context, &context, NULL);
    if (error == CL_SUCCESS)
        error = own->cl->GetMemObjectInfo(memory, CL_MEM_SIZE, sizeof size, &size, NULL);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clGetMemObjectInfo");
    if (context != own->context)
        return rungi_fail(RUNG_STATUS_INVALID, "the wrapped cl_mem belongs to another cl_context than the device");
    if ((uint64_t)end > size)
        return rungi_fail(RUNG_STATUS_INVALID, "the wrapped cl_mem has %zu bytes; the buffer would end at %lld", size,
                          (long long)end);
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
        return rungi_cl_fail(error, native ? "clRetainMemObject" : "clCreateBuffer");
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
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clCreateCommandQueue");
    rungi_cl_track(cl, RUNGI_CL_QUEUE);
    pinned->memory = cl->CreateBuffer(own->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, (size_t)bytes, NULL,
                                      &error);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clCreateBuffer");
    rungi_cl_track(cl, RUNGI_CL_BUFFER);
    *mapped = cl->EnqueueMapBuffer(pinned->queue, pinned->memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, (size_t)bytes,
                                   0, NULL, NULL, &error);
    return error == CL_SUCCESS ? RUNG_OK : rungi_cl_fail(error, "clEnqueueMapBuffer");
}

rung_status rungi_opencl_host_allocate(rung_device *device, int64_t bytes, void **memory, void **handle)
{
    pinned_buffer_t *made = rungi_allocate_zeroed(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = make_pinned(rungi_opencl_device_of(device), bytes, made, memory);
    if (status != RUNG_OK) {
        release_pinned(device, made);
        return status;
    }
    *handle = made;
    return RUNG_OK;
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

rung_status rungi_opencl_submit_command(rung_queue *queue, const rung_run_options *options, cl_int error,
                                        cl_event event, const char *function)
{
    rungi_cl *cl = cl_of(queue->device);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, function);
    rungi_cl_track(cl, RUNGI_CL_EVENT);
    rungi_opencl_signal(cl, options, event_retain(cl, event), event);
    error = cl->Flush(((rungi_opencl_queue *)queue)->queue);
    return error == CL_SUCCESS ? RUNG_OK : rungi_cl_fail(error, "clFlush");
}

rung_status rungi_opencl_submit_marker(rung_queue *queue, const rung_run_options *options)
{
    rungi_opencl_waits waits;
    cl_event event = NULL;
    rungi_opencl_waits_collect(options, &waits);
    cl_int error = cl_of(queue->device)
                       ->EnqueueMarkerWithWaitList(((rungi_opencl_queue *)queue)->queue, waits.count,
                                                   rungi_opencl_wait_list(&waits), &event);
    return rungi_opencl_submit_command(queue, options, error, event, "clEnqueueMarkerWithWaitList");
}

rung_status rungi_opencl_buffer_write(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes,
                                      const void *from, const rung_run_options *options)
{
    rungi_opencl_waits waits;
    cl_event event = NULL;
    if (bytes == 0)
        return rungi_opencl_submit_marker(queue, options);
    rungi_opencl_waits_collect(options, &waits);
    cl_int error = cl_of(queue->device)
                       ->EnqueueWriteBuffer(((rungi_opencl_queue *)queue)->queue,
                                            ((rungi_opencl_buffer *)buffer)->memory, CL_FALSE,
                                            (size_t)(buffer->offset + offset), (size_t)bytes, from, waits.count,
                                            rungi_opencl_wait_list(&waits), &event);
    return rungi_opencl_submit_command(queue, options, error, event, "clEnqueueWriteBuffer");
}

rung_status rungi_opencl_buffer_read(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, void *to,
                                     const rung_run_options *options)
{
    rungi_opencl_waits waits;
    cl_event event = NULL;
    if (bytes == 0)
        return rungi_opencl_submit_marker(queue, options);
    rungi_opencl_waits_collect(options, &waits);
    cl_int error = cl_of(queue->device)
                       ->EnqueueReadBuffer(((rungi_opencl_queue *)queue)->queue,
                                           ((rungi_opencl_buffer *)buffer)->memory, CL_FALSE,
                                           (size_t)(buffer->offset + offset), (size_t)bytes, to, waits.count,
                                           rungi_opencl_wait_list(&waits), &event);
    return rungi_opencl_submit_command(queue, options, error, event, "clEnqueueReadBuffer");
}
