/* SPDX-License-Identifier: Apache-2.0 */
/* simt_launch.h - runs a plan as a sequence of launches. Callbacks of the device (OpenCL or CUDA) submit them. */
#pragma once

#include "simt/simt.h"

/* One launch: a grid of blocks x items x slices blocks, and the value of each argument. */
typedef struct rungi_simt_launch {
    bool is_reduction; /* launches reduce.cu */
    int64_t blocks, items, slices, threads;
    int count;
    struct {
        const void *value;
        size_t size;
    } arguments[RUNGI_SIMT_ARGUMENTS_MAX];
} rungi_simt_launch;

/* A run of a plan. The caller sets the first members: the plan and the callbacks of the device. */
typedef struct rungi_simt_run {
    const rungi_simt_plan *simt;
    void *device_state; /* passed to launch() and upload() */
    /* Returns what a kernel gets as pointer to a buffer: a cl_mem or an address. */
    uintptr_t (*handle)(const rung_buffer *buffer);
    rung_status (*launch)(void *device_state, const rungi_simt_launch *launch);
    /* Copies bytes of host memory to the workspace. */
    rung_status (*upload)(void *device_state, rung_buffer *workspace, int64_t offset, int64_t bytes, const void *from);
    /* Encodes a tensor map. NULL on devices that have none: they reject the kernels that need them. */
    rung_status (*encode)(void *device_state, const rungi_simt_tensor *tensor, rungi_simt_tensor_map *map);

    rung_problem problem; /* row-major */
    rungi_gemm_sizes sizes;
    rung_buffer *workspace; /* NULL if none is needed */
} rungi_simt_run;

/* Uploads the batch offsets and submits every launch for `problem`, which has the form of the plan's problem, limited to
 * `sizes`. */
rung_status rungi_simt_launch_all(rungi_simt_run *run, const rung_plan *plan, const rung_problem *problem,
                                  rungi_gemm_sizes sizes, const rung_run_options *options);

/* Fills the table of a group in host memory, uploads it to the workspace, and submits the launches of all problems of
 * plan->group: one, unless the grid would have too many blocks. `table` has plan->info.workspace_bytes bytes and must not
 * change before the queue was finished. */
rung_status rungi_simt_launch_group(rungi_simt_run *run, const rung_plan *plan, void *table,
                                    const rung_run_options *options);

/* Describes where the elements, scales and zero points of B are, from column `first_col` of B, or where those of A are, from this
 * row of A, and from an item on. A buffer may
 * begin in the middle of a block, so offsets of buffers are in bytes. */
rungi_simt_quantization_args rungi_simt_quantization_args_of(const rung_matrix *b,
                                                             const rung_quantization *quantization, int64_t first_col,
                                                             int64_t item);

/* Returns the offset of a view in its buffer's handle, in elements. A wrapped buffer may start anywhere in the caller's
 * memory, but not inside an element. */
static inline int64_t rungi_simt_view_offset(const rung_matrix *view)
{
    int64_t size = rung_type_size(view->type); /* 0: elements in blocks, for which quantized.h takes bytes */
    return view->offset + (view->buffer && size > 0 ? view->buffer->kernel_offset / size : 0);
}

/* Describes a view as BLAS libraries do: by rows or by columns, with a leading dimension. Returns false if the view has
 * neither layout. */
static inline bool rungi_simt_blas_layout(const rung_matrix *view, bool *by_rows, int64_t *ld)
{
    *by_rows = view->col_stride == 1 && view->row_stride >= view->cols;
    *ld = *by_rows ? view->row_stride : view->col_stride;
    return *by_rows || (view->row_stride == 1 && view->col_stride >= view->rows);
}
