/* SPDX-License-Identifier: Apache-2.0 */
/* vendor.c - CLBlast, loaded when it is asked for and there.
 *
 * The two things that are needed of its interface are written down here, so that
 * its header is not. */
#include "opencl/vendor.h"

#include <dlfcn.h>
#include <string.h>

enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112 };

typedef int sgemm_function(int layout, int a_transpose, int b_transpose, size_t m, size_t n, size_t k,
                           float alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b,
                           size_t b_offset, size_t b_ld, float beta, cl_mem c, size_t c_offset,
                           size_t c_ld, cl_command_queue *queue, cl_event *event);

/* Opened once and never closed, like a driver: it keeps compiled programs of its own.
 * dlopen counts, so asking again costs nothing. */
static sgemm_function *find_sgemm(void)
{
    void *library = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL);
    void *address = library ? dlsym(library, "CLBlastSgemm") : NULL;
    sgemm_function *function = NULL;
    memcpy(&function, &address, sizeof function);
    return function;
}

/* A view as BLAS has it: stored by rows, perhaps transposed, and a leading dimension
 * at least as long as a row. */
static bool as_blas(const rung_matrix *view, int *transpose, size_t *ld)
{
    bool plain = view->col_stride == 1 && view->row_stride >= view->cols;
    bool turned = view->row_stride == 1 && view->col_stride >= view->rows;
    *transpose = plain ? NOT_TRANSPOSED : TRANSPOSED;
    *ld = (size_t)(plain ? view->row_stride : view->col_stride);
    return plain || turned;
}

rung_status rungi_opencl_vendor_create(rung_plan *plan, rungi_opencl_vendor *vendor)
{
    rung_problem turned = rungi_simt_turned(&plan->problem);
    int c_transpose;
    if (!find_sgemm())
        return rungi_fail(RUNG_UNSUPPORTED, "00_vendor: libclblast.so.1 was not found; install CLBlast "
                          "(libclblast1)");
    if (turned.c.type != RUNG_F32)
        return rungi_fail(RUNG_UNSUPPORTED, "00_vendor: CLBlast multiplies no %s",
                          rung_type_name(turned.c.type));
    vendor->layout = ROW_MAJOR;
    if (turned.a.cols == 0 || !as_blas(&turned.a, &vendor->a_transpose, &vendor->a_ld) ||
        !as_blas(&turned.b, &vendor->b_transpose, &vendor->b_ld) ||
        !as_blas(&turned.c, &c_transpose, &vendor->c_ld) || c_transpose != NOT_TRANSPOSED)
        return rungi_fail(RUNG_UNSUPPORTED, "00_vendor: CLBlast takes matrices with one stride of one and "
                          "k above zero");
    return RUNG_OK;
}

/* Bytes into the wrapped buffer and elements into the view, in elements. */
static size_t offset_of(const rung_matrix *view)
{
    return (size_t)(view->buffer->offset / rung_type_size(view->type) + view->offset);
}

static cl_mem memory_of(const rung_matrix *view)
{
    return ((rungi_opencl_buffer *)view->buffer)->memory;
}

rung_status rungi_opencl_vendor_run(rung_plan *plan, const rungi_opencl_vendor *vendor,
                                    rung_queue *queue, const rung_problem *problem,
                                    const rung_run_options *options)
{
    rungi_cl *cl = rungi_opencl_device_of(plan->device)->cl;
    rung_problem turned = rungi_simt_turned(problem);
    cl_command_queue native = ((rungi_opencl_queue *)queue)->queue;
    rungi_opencl_waits waits;
    cl_event marker = NULL, event = NULL;
    rungi_opencl_gather(options, &waits);
    /* A marker stands for the wait list, which CLBlast does not take, and for the
     * start: its event is that of the last of several commands. */
    cl_int error = cl->EnqueueMarkerWithWaitList(native, waits.count, rungi_opencl_wait_list(&waits),
                                                 &marker);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clEnqueueMarkerWithWaitList");
    rungi_cl_count(cl, RUNGI_CL_EVENT);
    int status = find_sgemm()(
        vendor->layout, vendor->a_transpose, vendor->b_transpose, (size_t)turned.c.rows,
        (size_t)turned.c.cols, (size_t)turned.a.cols, (float)turned.alpha, memory_of(&turned.a),
        offset_of(&turned.a), vendor->a_ld, memory_of(&turned.b), offset_of(&turned.b), vendor->b_ld,
        (float)turned.beta, memory_of(&turned.c), offset_of(&turned.c), vendor->c_ld, &native, &event);
    if (status != 0) {
        rungi_cl_release_event(cl, marker);
        return rungi_fail(RUNG_UNSUPPORTED, "00_vendor: CLBlast's error %d", status);
    }
    rungi_cl_count(cl, RUNGI_CL_EVENT);
    rungi_opencl_signal(cl, options, marker, event);
    return RUNG_OK;
}
