/* SPDX-License-Identifier: Apache-2.0 */
/* cublas.c - runs 00_vendor with cuBLAS, which is loaded when it is first requested.
 *
 * cuBLAS uses column-major matrices. A row-major matrix is the transpose of a column-major one, and C^T = B^T A^T.
 * cuBLAS therefore gets B as its first operand and A as its second; its column-major result is the row-major C.
 *
 * The declarations that are needed are here and in cublas_library.h, so that building needs no header of cuBLAS. */
#include "cuda/cuda_device.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/cuda_folders.h"
#include "base/dynamic_library.h"
#include "base/try.h"

/* The numbers of cublas_api.h and library_types.h that are used. */
/* clang-format off */
enum {
    OP_N = 0, OP_T = 1,
    R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14,
    COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, COMPUTE_32F_FAST_16BF = 75,
    COMPUTE_32F_FAST_TF32 = 77, COMPUTE_32F_EMULATED_16BFX9 = 78,
    EMULATED_SINCE = 120900, /* version of cuBLAS */
    ALGORITHM_DEFAULT = -1,
    DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
    NOT_SUPPORTED = 15
};
/* clang-format on */

/* ---- The library ----------------------------------------------------------------------------------- */

void rungi_cublas_load(rungi_cublas *blas, int driver_version)
{
    for (int major = RUNGI_CUDA_MAJOR_MAX; !blas->library && major >= RUNGI_CUDA_MAJOR_MIN; major--) {
        void *library = rungi_cuda_library_open_major("libcublas.so", major, driver_version);
        bool all = library != NULL;
#define X(name, symbol, arguments) all = all && rungi_library_symbol(library, symbol, &blas->name, sizeof blas->name);
        RUNGI_CUBLAS_FUNCTION_LIST(X)
#undef X
        blas->library = all ? library : NULL;
    }
}

/* Searches for the library once. */
static const rungi_cublas *cublas_of(rungi_cuda_device *device)
{
    rungi_cuda_state *state = device->state;
    pthread_mutex_lock(&state->lock);
    if (!state->has_searched_cublas)
        rungi_cublas_load(&state->blas, state->cu.version);
    state->has_searched_cublas = true;
    pthread_mutex_unlock(&state->lock);
    return state->blas.library ? &state->blas : NULL;
}

static rung_status fail(rungi_cuda_device *device, int error, const char *function)
{
    enum { LAUNCH_FAILED = 719 }; /* CUDA_ERROR_LAUNCH_FAILED */
    if (error == 3)               /* CUBLAS_STATUS_ALLOC_FAILED */
        return rungi_fail(RUNG_STATUS_NO_MEMORY,
                          "00_vendor: %s: out of memory; use smaller matrices, or free other buffers of the device",
                          function);
    if (error == 13) { /* CUBLAS_STATUS_EXECUTION_FAILED */
        atomic_store(&device->lost_error, LAUNCH_FAILED);
        return rungi_fail(RUNG_STATUS_DEVICE_LOST,
                          "00_vendor: %s: the work failed on the device; close the device and open it again", function);
    }
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: %s failed with error %d%s", function, error,
                      error == NOT_SUPPORTED ? ": it does not take this problem" : "");
}

/* Creates the handle of a device when first needed, since it takes device memory. The caller holds the lock. */
static rung_status create_handle(rungi_cuda_device *device, const rungi_cublas *blas)
{
    if (device->blas)
        return RUNG_OK;
    int error = blas->create(&device->blas);
    if (error != 0) {
        device->blas = NULL;
        return fail(device, error, "cublasCreate");
    }
    /* Parts of sums are not to be rounded to a 16-bit C before they are added up. */
    error = blas->set_math_mode(device->blas, DISALLOW_REDUCED_PRECISION_REDUCTION);
    return error == 0 ? RUNG_OK : fail(device, error, "cublasSetMathMode");
}

void rungi_cublas_close(rungi_cuda_device *device)
{
    if (!device->blas || !rungi_cuda_context_push_for_release(device))
        return;
    device->state->blas.destroy(device->blas);
    rungi_cuda_context_pop(device);
}

/* ---- Plans ----------------------------------------------------------------------------------------- */

/* cudaDataType_t of each rung_type. */
static const int types[] = {[RUNG_F32] = R_32F,   [RUNG_F64] = R_64F, [RUNG_F16] = R_16F,
                            [RUNG_BF16] = R_16BF, [RUNG_I8] = R_8I,   [RUNG_I32] = R_32I};

/* Returns the compute mode of the problem, or STRICT if the GPU lacks it, so that comparisons are fair: cuBLAS would
 * silently compute in FP32. */
static rung_compute supported_compute(const rung_problem *problem, int version, int architecture)
{
    bool has_matrix = architecture >= 80, emulates = architecture / 10 == 10 && version >= EMULATED_SINCE;
    /* cuBLAS has no tf32x3; its emulation by BF16 is more precise. */
    rung_compute mode = problem->compute == RUNG_COMPUTE_TF32X3 ? RUNG_COMPUTE_BF16X3 : problem->compute;
    bool is_supported = mode == RUNG_COMPUTE_BF16X3 ? emulates : has_matrix;
    return problem->a.type == RUNG_F32 && is_supported ? mode : RUNG_COMPUTE_STRICT;
}

/* Returns the cublasComputeType_t of a type of A and a compute mode. */
static int compute_type(rung_type type, rung_compute compute)
{
    static const int modes[] = {[RUNG_COMPUTE_STRICT] = COMPUTE_32F,
                                [RUNG_COMPUTE_BF16X3] = COMPUTE_32F_EMULATED_16BFX9,
                                [RUNG_COMPUTE_TF32] = COMPUTE_32F_FAST_TF32,
                                [RUNG_COMPUTE_BF16X1] = COMPUTE_32F_FAST_16BF,
                                [RUNG_COMPUTE_TF32X3] = COMPUTE_32F}; /* never used */
    if (type == RUNG_F64)
        return COMPUTE_64F;
    return type == RUNG_I8 ? COMPUTE_32I : modes[compute];
}

/* Describes a view as cuBLAS does: column-major, with a row-major view as a transpose. */
static bool blas_layout(const rung_matrix *view, int *op, int *ld)
{
    bool by_rows;
    int64_t stride;
    bool can = rungi_simt_blas_layout(view, &by_rows, &stride);
    *op = by_rows ? OP_N : OP_T;
    *ld = (int)stride;
    return can && stride <= INT32_MAX && stride > 0;
}

/* cuBLAS reads I8 in words of four bytes: leading dimensions, and the first element of every item, must be
 * multiples of four. A plan's problem has no memory: plan->alignment records whether its views were aligned, and
 * required_alignment makes every run check its own views. */
static rung_status require_i8_alignment(rung_plan *plan, const rungi_cublas_plan *made)
{
    plan->required_alignment = 0;
    if (plan->problem.a.type != RUNG_I8)
        return RUNG_OK;
    if (made->lda % 4 != 0 || made->ldb % 4 != 0 || !(plan->alignment & RUNGI_INPUTS_ALIGNED_4_ELEMENTS))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "00_vendor: cuBLAS requires leading dimensions and first elements of i8 to be "
                          "multiples of four, in A, in B and in every item of a batch");
    plan->required_alignment = RUNGI_INPUTS_ALIGNED_4_ELEMENTS;
    return RUNG_OK;
}

static bool fits_int(const rung_problem *row_major)
{
    return row_major->c.rows <= INT32_MAX && row_major->c.cols <= INT32_MAX && row_major->a.cols <= INT32_MAX &&
           row_major->batch <= INT32_MAX;
}

rung_status rungi_cublas_plan_create(rung_plan *plan, rungi_cublas_plan *out)
{
    rungi_cuda_device *device = rungi_cuda_device_of(plan->device);
    rung_problem row_major = rungi_simt_row_major(&plan->problem);
    int c_op, version = 0;
    *out = (rungi_cublas_plan){.blas = cublas_of(device)};
    if (!out->blas)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: neither libcublas.so.12 nor libcublas.so.13 was found; "
                                                   "install cuBLAS (pip install nvidia-cublas-cu12)");
    if (row_major.a.cols == 0 || !fits_int(&row_major) || !blas_layout(&row_major.b, &out->a_op, &out->lda) ||
        !blas_layout(&row_major.a, &out->b_op, &out->ldb) || !blas_layout(&row_major.c, &c_op, &out->ldc) ||
        c_op != OP_N)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: cuBLAS needs matrices with one stride of 1, k of at "
                                                   "least 1, and sizes below 2^31");
    TRY(require_i8_alignment(plan, out));
    pthread_mutex_lock(&device->lock);
    rung_status status = create_handle(device, out->blas);
    if (status == RUNG_OK && out->blas->get_version(device->blas, &version) != 0)
        version = 0;
    pthread_mutex_unlock(&device->lock);
    snprintf(out->library, sizeof out->library, "cuBLAS %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    plan->info.library = out->library;
    out->in_type = types[row_major.a.type];
    out->out_type = types[row_major.c.type];
    plan->info.compute = supported_compute(&row_major, version, device->architecture);
    out->compute = compute_type(row_major.a.type, plan->info.compute);
    return status;
}

static void *first_element(const rung_matrix *view)
{
    uintptr_t start = view->buffer ? (uintptr_t)((rungi_cuda_buffer *)view->buffer)->pointer : 0;
    return (void *)(start + (uintptr_t)(rungi_simt_view_offset(view) * rung_type_size(view->type)));
}

/* Calls cuBLAS and returns its status. */
static int multiply(rungi_cublas_handle *handle, const rungi_cublas_plan *own, const rung_problem *row_major)
{
    rung_type sum = rung_accumulator_type(row_major->a.type, row_major->b.type, row_major->c.type);
    rungi_simt_scalar alpha = rungi_simt_scalar_of(row_major->alpha, sum);
    rungi_simt_scalar beta = rungi_simt_scalar_of(row_major->beta, sum);
    int m = (int)row_major->c.cols, n = (int)row_major->c.rows, k = (int)row_major->a.cols;
    RUNGI_ASSERT(fits_int(row_major) && handle);
    const void *a = first_element(&row_major->b), *b = first_element(&row_major->a);
    void *c = first_element(&row_major->c);
    if (row_major->batch == 1)
        return own->blas->gemm_one(handle, own->a_op, own->b_op, m, n, k, &alpha, a, own->in_type, own->lda, b,
                                   own->in_type, own->ldb, &beta, c, own->out_type, own->ldc, own->compute,
                                   ALGORITHM_DEFAULT);
    return own->blas->gemm(handle, own->a_op, own->b_op, m, n, k, &alpha, a, own->in_type, own->lda,
                           row_major->b.batch_stride, b, own->in_type, own->ldb, row_major->a.batch_stride, &beta, c,
                           own->out_type, own->ldc, row_major->c.batch_stride, (int)row_major->batch, own->compute,
                           ALGORITHM_DEFAULT);
}

rung_status rungi_cublas_plan_run(rung_plan *plan, const rungi_cublas_plan *own, rung_queue *queue,
                                  const rung_problem *problem)
{
    rungi_cuda_device *device = rungi_cuda_device_of(plan->device);
    rung_problem row_major = rungi_simt_row_major(problem);
    RUNGI_ASSERT(row_major.alpha != 0.0); /* the core handles alpha = 0 (see rung_plan.unread) */
    pthread_mutex_lock(&device->lock);
    int error = own->blas->set_stream(device->blas, rungi_cuda_stream_of(queue));
    const char *function = "cublasSetStream";
    if (error == 0) {
        error = multiply(device->blas, own, &row_major);
        function = "cublasGemmEx";
    }
    pthread_mutex_unlock(&device->lock);
    return error == 0 ? RUNG_OK : fail(device, error, function);
}
