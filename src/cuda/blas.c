/* SPDX-License-Identifier: Apache-2.0 */
/* blas.c - cuBLAS, loaded when it is asked for and there.
 *
 * Its matrices stand by columns. A matrix by rows is, read by columns, its own transpose,
 * and C^T = B^T A^T: so it gets our B as its first operand and our A as its second, and what
 * it writes by columns is our C by rows.
 *
 * What is needed of its interface is written down here and in blas.h, so that its header
 * is not needed. */
#include "cuda/blas.h"

#include <stdio.h>
#include <string.h>

#include "core/assert.h"
#include "cuda/device.h"
#include "cuda/libraries.h"

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

void rungi_blas_load(rungi_blas *blas, int driver_version)
{
    static const struct {
        int major;
        const char *name;
    } libraries[] = {{13, "libcublas.so.13"}, {12, "libcublas.so.12"}};
    for (size_t i = 0; !blas->library && i < sizeof libraries / sizeof *libraries; i++) {
        /* One of a later major version than the driver's cannot run on it. */
        void *library = libraries[i].major <= driver_version / 1000 ? rungi_cuda_open_library(libraries[i].name) : NULL;
        bool all = library != NULL;
#define X(name, symbol, arguments) all = all && rungi_library_find(library, symbol, &blas->name, sizeof blas->name);
        RUNGI_BLAS_FUNCTION_LIST(X)
#undef X
        blas->library = all ? library : NULL;
    }
}

/* Looked for once. */
static const rungi_blas *blas_of(rungi_cuda_device *device)
{
    rungi_cuda_state *state = device->state;
    pthread_mutex_lock(&state->lock);
    if (!state->looked_for_blas)
        rungi_blas_load(&state->blas, state->cu.version);
    state->looked_for_blas = true;
    pthread_mutex_unlock(&state->lock);
    return state->blas.library ? &state->blas : NULL;
}

static rung_status fail(rungi_cuda_device *device, int error, const char *function)
{
    enum { LAUNCH_FAILED = 719 }; /* the driver's word for it */
    if (error == 3)               /* CUBLAS_STATUS_ALLOC_FAILED */
        return rungi_fail(RUNG_STATUS_NO_MEMORY,
                          "00_vendor: %s: out of memory; use smaller matrices, or free other "
                          "buffers of the device",
                          function);
    if (error == 13) { /* CUBLAS_STATUS_EXECUTION_FAILED */
        atomic_store(&device->lost, LAUNCH_FAILED);
        return rungi_fail(RUNG_STATUS_DEVICE_LOST,
                          "00_vendor: %s: the work failed on the device; close the device "
                          "and open it again",
                          function);
    }
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: %s gives error %d%s", function, error,
                      error == NOT_SUPPORTED ? ": it does not take this problem" : "");
}

/* One a device, made when first needed: it takes memory of the device. Under its lock. */
static rung_status handle_of(rungi_cuda_device *device, const rungi_blas *blas)
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

void rungi_cuda_blas_close(rungi_cuda_device *device)
{
    if (!device->blas || !rungi_cuda_enter_to_release(device))
        return;
    device->state->blas.destroy(device->blas);
    rungi_cuda_leave(device);
}

/* ---- Plans ----------------------------------------------------------------------------------------- */

static int type_of(rung_type type)
{
    switch (type) {
    case RUNG_F64: return R_64F;
    case RUNG_F16: return R_16F;
    case RUNG_BF16: return R_16BF;
    case RUNG_I8: return R_8I;
    case RUNG_I32: return R_32I;
    case RUNG_F32:
    default: break;
    }
    return R_32F;
}

/* The one that computes as the problem asks, or more precisely: a comparison across compute
 * types says nothing. Where the GPU has no such thing cuBLAS would silently compute in FP32. */
static int compute_of(const rung_problem *problem, int version, int architecture)
{
    bool has_matrix = architecture >= 80, emulates = architecture / 10 == 10 && version >= EMULATED_SINCE;

    if (problem->a.type == RUNG_F64)
        return COMPUTE_64F;
    if (problem->a.type == RUNG_I8)
        return COMPUTE_32I;
    if (problem->a.type != RUNG_F32)
        return COMPUTE_32F;
    switch (problem->compute) {
    case RUNG_COMPUTE_BF16X3: return emulates ? COMPUTE_32F_EMULATED_16BFX9 : COMPUTE_32F;
    case RUNG_COMPUTE_TF32: return has_matrix ? COMPUTE_32F_FAST_TF32 : COMPUTE_32F;
    case RUNG_COMPUTE_BF16X1: return has_matrix ? COMPUTE_32F_FAST_16BF : COMPUTE_32F;
    case RUNG_COMPUTE_STRICT:
    default: break;
    }
    return COMPUTE_32F;
}

/* The same in our words, for whoever compares. */
static rung_compute compute_name(int compute)
{
    switch (compute) {
    case COMPUTE_32F_EMULATED_16BFX9: return RUNG_COMPUTE_BF16X3;
    case COMPUTE_32F_FAST_TF32: return RUNG_COMPUTE_TF32;
    case COMPUTE_32F_FAST_16BF: return RUNG_COMPUTE_BF16X1;
    }
    return RUNG_COMPUTE_STRICT;
}

/* A view as cuBLAS has it: by columns, which a view by rows is when it is transposed. */
static bool as_blas(const rung_matrix *view, int *op, int *ld)
{
    bool by_rows;
    int64_t stride;
    bool can = rungi_simt_as_blas(view, &by_rows, &stride);
    *op = by_rows ? OP_N : OP_T;
    *ld = (int)stride;
    return can && stride <= INT32_MAX && stride > 0;
}

/* cuBLAS reads I8 in words of four bytes: leading dimensions, and the first element of every item, must be
 * multiples of four. A plan's problem has no memory: plan->aligned records whether its views were aligned, and
 * needs_aligned makes every run check its own views. */
static rung_status require_words(rung_plan *plan, const rungi_blas_plan *made)
{
    plan->needs_aligned = 0;
    if (plan->problem.a.type != RUNG_I8)
        return RUNG_OK;
    if (made->lda % 4 != 0 || made->ldb % 4 != 0 || !(plan->aligned & RUNGI_INPUTS_AT_FOURS))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "00_vendor: cuBLAS requires leading dimensions and first elements of i8 to be "
                          "multiples of four, in A, in B and in every item of a batch");
    plan->needs_aligned = RUNGI_INPUTS_AT_FOURS;
    return RUNG_OK;
}

static bool fits_int(const rung_problem *turned)
{
    return turned->c.rows <= INT32_MAX && turned->c.cols <= INT32_MAX && turned->a.cols <= INT32_MAX &&
           turned->batch <= INT32_MAX;
}

rung_status rungi_blas_plan_create(rung_plan *plan, rungi_blas_plan *out)
{
    rungi_cuda_device *device = rungi_cuda_device_of(plan->device);
    rung_problem turned = rungi_simt_turned(&plan->problem);
    int c_op, version = 0;
    *out = (rungi_blas_plan){.blas = blas_of(device)};
    if (!out->blas)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: neither libcublas.so.12 nor libcublas.so.13 was found; "
                                                   "install cuBLAS (pip install nvidia-cublas-cu12)");
    if (turned.a.cols == 0 || !fits_int(&turned) || !as_blas(&turned.b, &out->a_op, &out->lda) ||
        !as_blas(&turned.a, &out->b_op, &out->ldb) || !as_blas(&turned.c, &c_op, &out->ldc) || c_op != OP_N)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: cuBLAS takes matrices with one stride of one, k above "
                                                   "zero, and sizes below 2^31");
    rung_status status = require_words(plan, out);
    if (status != RUNG_OK)
        return status;
    pthread_mutex_lock(&device->lock);
    status = handle_of(device, out->blas);
    if (status == RUNG_OK && out->blas->get_version(device->blas, &version) != 0)
        version = 0;
    pthread_mutex_unlock(&device->lock);
    snprintf(out->library, sizeof out->library, "cuBLAS %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    plan->info.library = out->library;
    out->in_type = type_of(turned.a.type);
    out->out_type = type_of(turned.c.type);
    out->compute = compute_of(&turned, version, device->architecture);
    plan->info.compute = compute_name(out->compute);
    return status;
}

static void *first_of(const rung_matrix *view)
{
    uintptr_t start = view->buffer ? (uintptr_t)((rungi_cuda_buffer *)view->buffer)->pointer : 0;
    return (void *)(start + (uintptr_t)(rungi_simt_offset(view) * rung_type_size(view->type)));
}

/* The call itself: cuBLAS's own status. */
static int multiply(rungi_blas_handle *handle, const rungi_blas_plan *own, const rung_problem *turned)
{
    rung_type sum = rung_accumulator_type(turned->a.type, turned->b.type, turned->c.type);
    rungi_simt_scalar alpha = rungi_simt_scalar_of(turned->alpha, sum);
    rungi_simt_scalar beta = rungi_simt_scalar_of(turned->beta, sum);
    int m = (int)turned->c.cols, n = (int)turned->c.rows, k = (int)turned->a.cols;
    RUNGI_ASSERT(fits_int(turned) && handle);
    const void *a = first_of(&turned->b), *b = first_of(&turned->a);
    void *c = first_of(&turned->c);
    if (turned->batch == 1)
        return own->blas->gemm_one(handle, own->a_op, own->b_op, m, n, k, &alpha, a, own->in_type, own->lda, b,
                                   own->in_type, own->ldb, &beta, c, own->out_type, own->ldc, own->compute,
                                   ALGORITHM_DEFAULT);
    return own->blas->gemm(handle, own->a_op, own->b_op, m, n, k, &alpha, a, own->in_type, own->lda,
                           turned->b.batch_stride, b, own->in_type, own->ldb, turned->a.batch_stride, &beta, c,
                           own->out_type, own->ldc, turned->c.batch_stride, (int)turned->batch, own->compute,
                           ALGORITHM_DEFAULT);
}

rung_status rungi_blas_plan_run(rung_plan *plan, const rungi_blas_plan *own, rung_queue *queue,
                                const rung_problem *problem)
{
    rungi_cuda_device *device = rungi_cuda_device_of(plan->device);
    rung_problem turned = rungi_simt_turned(problem);
    RUNGI_ASSERT(turned.alpha != 0.0); /* the core's: see rung_plan.unread */
    pthread_mutex_lock(&device->lock);
    int error = own->blas->set_stream(device->blas, ((rungi_cuda_queue *)queue)->stream);
    const char *function = "cublasSetStream";
    if (error == 0) {
        error = multiply(device->blas, own, &turned);
        function = "cublasGemmEx";
    }
    pthread_mutex_unlock(&device->lock);
    return error == 0 ? RUNG_OK : fail(device, error, function);
}
