/* SPDX-License-Identifier: Apache-2.0 */
/* vendor.c - CLBlast, loaded when it is asked for and there.
 *
 * What is needed of its interface is written down here and in vendor.h, so that its
 * header is not needed. */
#include "opencl/vendor.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "core/assert.h"

enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112 };

/* Opened once and never closed, like a driver: it keeps compiled programs of its own.
 * dlopen counts, so asking again costs nothing. */
bool rungi_opencl_vendor_find(const char *name, void *function)
{
    void *library = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL);
    void *address = library ? dlsym(library, name) : NULL;
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

void rungi_opencl_vendor_where(char *text, size_t capacity)
{
    rungi_clblast_sgemm *sgemm;
    snprintf(text, capacity, "%s", rungi_opencl_vendor_find("CLBlastSgemm", &sgemm) ? "libclblast.so.1" : "");
}

static bool as_blas(const rung_matrix *view, int *transpose, size_t *ld)
{
    bool by_rows;
    int64_t stride;
    bool can = rungi_simt_as_blas(view, &by_rows, &stride);
    *transpose = by_rows ? NOT_TRANSPOSED : TRANSPOSED;
    *ld = (size_t)stride;
    return can;
}

rung_status rungi_opencl_vendor_create(rung_plan *plan, rungi_opencl_vendor *vendor)
{
    rung_problem turned = rungi_simt_turned(&plan->problem);
    const char *tuned_by;
    int c_transpose;
    *vendor = (rungi_opencl_vendor){0};
    bool found = turned.c.type == RUNG_F64 ? rungi_opencl_vendor_find("CLBlastDgemm", &vendor->dgemm)
                                           : rungi_opencl_vendor_find("CLBlastSgemm", &vendor->sgemm);
    if (!found)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: libclblast.so.1 was not found; install CLBlast "
                                                   "(libclblast1)");
    if (turned.batch != 1)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: a batch is not handed to CLBlast");
    plan->info.library = "CLBlast"; /* which does not tell its version */
    vendor->layout = ROW_MAJOR;
    if (turned.a.cols == 0 || !as_blas(&turned.a, &vendor->a_transpose, &vendor->a_ld) ||
        !as_blas(&turned.b, &vendor->b_transpose, &vendor->b_ld) || !as_blas(&turned.c, &c_transpose, &vendor->c_ld) ||
        c_transpose != NOT_TRANSPOSED)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: CLBlast takes matrices with one stride of one and "
                                                   "k above zero");
    rung_status status = rungi_opencl_vendor_tune(rungi_opencl_device_of(plan->device), &tuned_by);
    if (status == RUNG_OK && tuned_by && vendor->sgemm) {
        plan->info.origin = RUNG_ORIGIN_TUNING;
        snprintf(plan->origin_text, sizeof plan->origin_text, "%s", tuned_by);
    }
    return status;
}

/* The call itself: CLBlast's own status. */
static int multiply(const rungi_opencl_vendor *vendor, const rung_problem *turned, cl_command_queue *queue,
                    cl_event *event)
{
    const rung_matrix *a = &turned->a, *b = &turned->b, *c = &turned->c;
    size_t m = (size_t)c->rows, n = (size_t)c->cols, k = (size_t)a->cols;
    size_t a_offset = (size_t)rungi_simt_offset(a), b_offset = (size_t)rungi_simt_offset(b);
    size_t c_offset = (size_t)rungi_simt_offset(c);
    if (vendor->dgemm)
        return vendor->dgemm(vendor->layout, vendor->a_transpose, vendor->b_transpose, m, n, k, turned->alpha,
                             rungi_opencl_memory(a), a_offset, vendor->a_ld, rungi_opencl_memory(b), b_offset,
                             vendor->b_ld, turned->beta, rungi_opencl_memory(c), c_offset, vendor->c_ld, queue, event);
    return vendor->sgemm(vendor->layout, vendor->a_transpose, vendor->b_transpose, m, n, k, (float)turned->alpha,
                         rungi_opencl_memory(a), a_offset, vendor->a_ld, rungi_opencl_memory(b), b_offset, vendor->b_ld,
                         (float)turned->beta, rungi_opencl_memory(c), c_offset, vendor->c_ld, queue, event);
}

rung_status rungi_opencl_vendor_run(rung_plan *plan, const rungi_opencl_vendor *vendor, rung_queue *queue,
                                    const rung_problem *problem, const rung_run_options *options)
{
    rungi_cl *cl = rungi_opencl_device_of(plan->device)->cl;
    rung_problem turned = rungi_simt_turned(problem);
    cl_command_queue native = ((rungi_opencl_queue *)queue)->queue;
    rungi_opencl_waits waits;
    cl_event marker = NULL, event = NULL;
    RUNGI_ASSERT(turned.alpha != 0.0); /* CLBlast reads A and B even then: see rung_plan.unread */
    rungi_opencl_gather(options, &waits);
    /* A marker stands for the wait list, which CLBlast does not take, and for the
     * start: its event is that of the last of several commands. */
    cl_int error = cl->EnqueueMarkerWithWaitList(native, waits.count, rungi_opencl_wait_list(&waits), &marker);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clEnqueueMarkerWithWaitList");
    rungi_cl_count(cl, RUNGI_CL_EVENT);
    int status = multiply(vendor, &turned, &native, &event);
    if (status != 0) {
        rungi_cl_release_event(cl, marker);
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: CLBlast's error %d", status);
    }
    rungi_cl_count(cl, RUNGI_CL_EVENT);
    rungi_opencl_signal(cl, options, marker, event);
    return RUNG_OK;
}
