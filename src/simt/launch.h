/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - a plan on a device of blocks and threads, up to the point where the device
 * itself must be spoken to: what to compile, and one launch after the other. */
#ifndef RUNGI_SIMT_LAUNCH_H
#define RUNGI_SIMT_LAUNCH_H

#include "simt/simt.h"

/* What a plan comes to. */
typedef struct rungi_simt_work {
    rungi_simt_path path;
    rungi_simt_shape shape, reduce_shape; /* the second where k is cut */
    rungi_simt_split split;
    int arguments;        /* of the kernel */
    int64_t shared_bytes; /* as the file says; 0 if it does not */
} rungi_simt_work;

/* Finds it and fills plan->info, or says why the device cannot take the plan. */
rung_status rungi_simt_work_of(rung_plan *plan, int64_t blocks_max, rungi_simt_work *work);

/* Where no kernel has the plan's epilogue compiled in: its sums go to the workspace, one
 * share of k, and reduce.cu finishes them. */
rung_status rungi_simt_finish_apart(rung_plan *plan, rungi_simt_work *work);

/* The kernel that adds up shares of k, the caller's to destroy, and what to compile it
 * with; fills work->reduce_shape. */
rung_status rungi_simt_reduce_of(const rung_plan *plan, int64_t blocks_max, rungi_simt_work *work, rung_kernel **kernel,
                                 rungi_values *values, rungi_simt_path *path);

/* One launch: blocks x items x shares blocks, and the value of each argument. */
typedef struct rungi_simt_launch {
    bool reduces; /* it is the second kernel's */
    int64_t blocks, items, shares, threads;
    int count;
    struct {
        const void *value;
        size_t size;
    } arguments[RUNGI_SIMT_ALL_ARGUMENTS];
} rungi_simt_launch;

/* A run of a plan, and how its device is told. A buffer's handle is what a kernel gets as
 * pointer: a cl_mem, or an address. */
typedef struct rungi_simt_run {
    const rungi_simt_work *work;
    rung_problem problem; /* turned */
    rungi_sizes sizes;
    rung_buffer *workspace; /* NULL if none is needed */
    void *user;
    uintptr_t (*handle)(const rung_buffer *buffer);
    rung_status (*launch)(void *user, const rungi_simt_launch *launch);
    /* Brings bytes from memory to the workspace. */
    rung_status (*send)(void *user, rung_buffer *workspace, int64_t offset, int64_t bytes, const void *from);
} rungi_simt_run;

/* A problem of the plan's form, some of it to be computed. */
rungi_simt_run rungi_simt_run_of(const rung_plan *plan, const rungi_simt_work *work, const rung_problem *problem,
                                 rungi_sizes sizes, const rung_run_options *options);

/* Places of scattered items, then every launch. */
rung_status rungi_simt_launch_all(rungi_simt_run *run);

/* Where a view begins in its buffer's handle, in elements. A wrapped buffer may begin
 * anywhere in the caller's memory, but not inside an element. */
static inline int64_t rungi_simt_offset(const rung_matrix *view)
{
    int64_t start = view->buffer ? view->buffer->start / rung_type_size(view->type) : 0;
    return start + view->offset;
}

/* A view as the vendors' libraries take it: by rows or by columns, with a leading dimension
 * at least as long as one. False if it is neither. */
static inline bool rungi_simt_as_blas(const rung_matrix *view, bool *by_rows, int64_t *ld)
{
    *by_rows = view->col_stride == 1 && view->row_stride >= view->cols;
    *ld = *by_rows ? view->row_stride : view->col_stride;
    return *by_rows || (view->row_stride == 1 && view->col_stride >= view->rows);
}

#endif /* RUNGI_SIMT_LAUNCH_H */
