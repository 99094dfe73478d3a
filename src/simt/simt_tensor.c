/* SPDX-License-Identifier: Apache-2.0 */
/* simt_tensor.c - describes the operands of kernels that copy tiles with tensor maps (see tma.h). */
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/problem.h"
#include "simt/simt.h"

/* Coordinates are 32-bit integers. The driver encodes strides below 2^40 bytes. */
static const int64_t size_max = INT32_MAX, stride_bytes_max = ((int64_t)1 << 40) - 16;

static bool fits_map(const rung_matrix *matrix, int64_t batch)
{
    int64_t stride_max = stride_bytes_max / rung_type_size(matrix->type);
    return matrix->rows <= size_max && matrix->cols <= size_max && matrix->row_stride <= stride_max &&
           matrix->col_stride <= stride_max &&
           (batch < 2 || (matrix->batch_stride >= 0 && matrix->batch_stride <= stride_max));
}

rung_status rungi_simt_tensor_check(const rung_kernel *kernel, const rung_problem *row_major,
                                    const rungi_simt_path *path)
{
    const rung_matrix *a = &row_major->a, *b = &row_major->b;
    if (!path->wide)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s copies A and B with tensor maps: their rows or columns must be contiguous and start at "
                          "multiples of 16 bytes",
                          kernel->info.name);
    if (rung_type_size(a->type) != 2 && (path->a_mn_major || path->b_mn_major))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s multiplies %s only if rows of A and columns of B are contiguous (K-major)",
                          kernel->info.name, rung_type_name(a->type));
    if (!fits_map(a, row_major->batch) || !fits_map(b, row_major->batch))
        return rungi_fail(
            RUNG_STATUS_UNSUPPORTED,
            "%s copies A and B with tensor maps, whose sizes are less than 2^31 and whose strides are not "
            "negative and less than 2^40 bytes",
            kernel->info.name);
    return RUNG_OK;
}

rungi_simt_tensor rungi_simt_tensor_of(uintptr_t handle, rung_type type, const rungi_simt_view *view, int64_t mn,
                                       int64_t k, int64_t items, int64_t tile_mn, bool mn_major)
{
    int64_t bytes = rung_type_size(type), row = RUNGI_SIMT_TENSOR_ROW_BYTES / bytes;
    uint64_t stride = (uint64_t)((mn_major ? view->col_stride : view->row_stride) * bytes);
    bool has_items = items > 1 && view->batch_stride != 0; /* otherwise the kernel reads item 0 only */
    return (rungi_simt_tensor){
        .handle = handle,
        .offset = view->offset * bytes,
        .element_bytes = bytes,
        .sizes = {(uint64_t)(mn_major ? mn : k), (uint64_t)(mn_major ? k : mn), has_items ? (uint64_t)items : 1},
        .strides = {stride, has_items ? (uint64_t)(view->batch_stride * bytes) : stride},
        .box = {(uint32_t)row, (uint32_t)(mn_major ? row : tile_mn), 1},
    };
}
