/* SPDX-License-Identifier: Apache-2.0 */
/* clblast.c - runs 00_vendor with CLBlast, which is loaded when it is first requested.
 *
 * The declarations that are needed are here and in clblast.h, so that building needs no header of CLBlast. */
#include "opencl/clblast.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/dynamic_library.h"

enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112 };

/* Opened once and never closed, like a driver, because CLBlast caches compiled programs. Calling dlopen again is cheap. */
bool rungi_clblast_find(const char *name, void *function)
{
    void *library = rungi_library_open_file("libclblast.so.1", false);
    return library && rungi_library_symbol(library, name, function, sizeof(void *));
}

void rungi_clblast_where(char *text, size_t capacity)
{
    rungi_clblast_sgemm *sgemm;
    snprintf(text, capacity, "%s", rungi_clblast_find("CLBlastSgemm", &sgemm) ? "libclblast.so.1" : "");
}

static bool blas_layout(const rung_matrix *view, int *transpose, size_t *ld)
{
    bool by_rows;
    int64_t stride;
    bool can = rungi_simt_blas_layout(view, &by_rows, &stride);
    *transpose = by_rows ? NOT_TRANSPOSED : TRANSPOSED;
    *ld = (size_t)stride;
    return can;
}

rung_status rungi_clblast_plan_create(rung_plan *plan, rungi_clblast_plan *clblast)
{
    rung_problem row_major = rungi_simt_row_major(&plan->problem);
    const char *tuning_file;
    int c_transpose;
    *clblast = (rungi_clblast_plan){0};
    bool found = row_major.c.type == RUNG_F64 ? rungi_clblast_find("CLBlastDgemm", &clblast->dgemm)
                                              : rungi_clblast_find("CLBlastSgemm", &clblast->sgemm);
    if (!found)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: libclblast.so.1 was not found; install CLBlast "
                                                   "(libclblast1)");
    if (row_major.batch != 1)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: batches are not supported with CLBlast");
    plan->info.library = "CLBlast"; /* CLBlast does not report its version */
    clblast->layout = ROW_MAJOR;
    if (row_major.a.cols == 0 || !blas_layout(&row_major.a, &clblast->a_transpose, &clblast->a_ld) ||
        !blas_layout(&row_major.b, &clblast->b_transpose, &clblast->b_ld) ||
        !blas_layout(&row_major.c, &c_transpose, &clblast->c_ld) || c_transpose != NOT_TRANSPOSED)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: CLBlast needs matrices with one stride of 1 and "
                                                   "k of at least 1");
    rung_status status = rungi_clblast_load_tuning(rungi_opencl_device_of(plan->device), &tuning_file);
    if (status == RUNG_OK && tuning_file && clblast->sgemm) {
        plan->info.origin = RUNG_ORIGIN_TUNING;
        snprintf(plan->origin_text, sizeof plan->origin_text, "%s", tuning_file);
    }
    return status;
}

/* Calls CLBlast and returns its status. */
static int multiply(const rungi_clblast_plan *clblast, const rung_problem *row_major, cl_command_queue *queue,
                    cl_event *event)
{
    const rung_matrix *a = &row_major->a, *b = &row_major->b, *c = &row_major->c;
    size_t m = (size_t)c->rows, n = (size_t)c->cols, k = (size_t)a->cols;
    size_t a_offset = (size_t)rungi_simt_view_offset(a), b_offset = (size_t)rungi_simt_view_offset(b);
    size_t c_offset = (size_t)rungi_simt_view_offset(c);
    if (clblast->dgemm)
        return clblast->dgemm(clblast->layout, clblast->a_transpose, clblast->b_transpose, m, n, k, row_major->alpha,
                              rungi_opencl_memory_of(a), a_offset, clblast->a_ld, rungi_opencl_memory_of(b), b_offset,
                              clblast->b_ld, row_major->beta, rungi_opencl_memory_of(c), c_offset, clblast->c_ld, queue,
                              event);
    return clblast->sgemm(clblast->layout, clblast->a_transpose, clblast->b_transpose, m, n, k, (float)row_major->alpha,
                          rungi_opencl_memory_of(a), a_offset, clblast->a_ld, rungi_opencl_memory_of(b), b_offset,
                          clblast->b_ld, (float)row_major->beta, rungi_opencl_memory_of(c), c_offset, clblast->c_ld,
                          queue, event);
}

rung_status rungi_clblast_plan_run(rung_plan *plan, const rungi_clblast_plan *clblast, rung_queue *queue,
                                   const rung_problem *problem, const rung_run_options *options)
{
    rungi_cl *cl = rungi_opencl_device_of(plan->device)->cl;
    rung_problem row_major = rungi_simt_row_major(problem);
    cl_command_queue native = ((rungi_opencl_queue *)queue)->queue;
    rungi_opencl_waits waits;
    cl_event marker = NULL, event = NULL;
    RUNGI_ASSERT(row_major.alpha !=
                 0.0); /* CLBlast would read A and B; the core handles alpha = 0 (see rung_plan.zero_alpha_plan) */
    rungi_opencl_waits_collect(options, &waits);
    /* CLBlast accepts no wait list and returns the event of its last command only. The marker waits for the list,
     * and its event is the start. */
    cl_int error = cl->EnqueueMarkerWithWaitList(native, waits.count, rungi_opencl_wait_list(&waits), &marker);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clEnqueueMarkerWithWaitList");
    rungi_cl_track(cl, RUNGI_CL_EVENT);
    int status = multiply(clblast, &row_major, &native, &event);
    if (status != 0) {
        rungi_cl_release_event(cl, marker);
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: CLBlast failed with error %d", status);
    }
    rungi_cl_track(cl, RUNGI_CL_EVENT);
    rungi_opencl_signal(cl, options, marker, event);
    return RUNG_OK;
}
