/* SPDX-License-Identifier: Apache-2.0 */
/* peer_plan.c - plans of kernel 00 on the CPU: 00_vendor, and one kernel per library such as 00_vendor:mkl. */
#include "base/cancellation.h"
#include "cpu/peers/ggml.h"
#include "cpu/peers/onednn.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/matrix.h"
#include "cpu/cpu_device.h"
#include "cpu/packed_header.h"

typedef struct peer_plan {
    rungi_peer peer;
    rungi_onednn onednn;        /* used if the peer is oneDNN */
    rungi_ggml ggml;            /* used if the peer is GGML */
    rungi_packed_header header; /* of a B that GGML packs */
    rungi_peer_gemm_args shape; /* the GEMM, transposed if C is column-major, without addresses */
    char library[512];          /* "MKL 2026.2, /usr/lib/libmkl_rt.so.3" */
    int32_t *sums;              /* for I8: A * B before alpha and beta are applied, */
    char *scratch;              /* and scratch of rungi_cblas_run_i8 */
} peer_plan_t;

/* What a packed buffer has besides its header: a serial number. */
enum { GGML_PACKED_BYTES = 64 };

/* Serializes calls: most of these libraries have one number of threads per process, which is set before each call. */
static pthread_mutex_t call_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- Creating ----------------------------------------------------------------------------------------- */

/* Returns C^T = B^T A^T if C is column-major, else the problem itself. */
static rung_problem transpose_column_major(const rung_problem *problem)
{
    rung_problem turned = *problem;
    if (problem->c.row_stride >= problem->c.col_stride)
        return turned;
    turned.a = rung_matrix_transpose(problem->b);
    turned.b = rung_matrix_transpose(problem->a);
    turned.c = rung_matrix_transpose(problem->c);
    return turned;
}

/* Returns whether a view is row-major or column-major with a valid leading dimension, as BLAS requires. */
static bool get_leading_dimension(const rung_matrix *view, bool *by_rows, int64_t *ld)
{
    *by_rows = view->col_stride == 1 && view->row_stride >= view->cols;
    *ld = *by_rows ? view->row_stride : view->col_stride;
    return *by_rows || (view->row_stride == 1 && view->col_stride >= view->rows);
}

static rung_status check_shape(const rung_plan *plan, peer_plan_t *made)
{
    rung_problem problem = transpose_column_major(&plan->problem);
    rungi_peer_gemm_args *shape = &made->shape;
    const char *name = plan->kernel->info.name, *title = made->peer.title;
    bool c_by_rows;
    *shape = (rungi_peer_gemm_args){
        .in = problem.a.type, .m = problem.c.rows, .n = problem.c.cols, .k = problem.a.cols};
    if (problem.batch != 1)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s: %s is not called for batches; use batch 1", name, title);
    if (shape->k == 0 || !get_leading_dimension(&problem.a, &shape->a_is_row_major, &shape->lda) ||
        !get_leading_dimension(&problem.b, &shape->b_is_row_major, &shape->ldb) ||
        !get_leading_dimension(&problem.c, &c_by_rows, &shape->ldc) || !c_by_rows)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s: %s supports only matrices with one stride of 1, and k > 0",
                          name, title);
    bool is_wide = made->peer.is_ilp64 || made->peer.kind == RUNGI_PEER_ONEDNN;
    if (!is_wide && !rungi_peer_fits_int(shape))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s: %s supports only sizes below 2^31", name, title);
    return RUNG_OK;
}

/* GGML multiplies dense matrices: A and C by rows, and B by columns. */
static rung_status check_shape_of_ggml(const rung_plan *plan, peer_plan_t *made)
{
    const rung_problem *problem = &plan->problem;
    const rung_matrix *a = &problem->a, *b = &problem->b, *c = &problem->c;
    bool is_dense = a->col_stride == 1 && (a->rows <= 1 || a->row_stride == a->cols) && b->row_stride == 1 &&
                    !rungi_matrix_has_blocks_in_rows(b) && (b->cols <= 1 || b->col_stride == b->rows) &&
                    (c->cols <= 1 || c->col_stride == 1) && (c->rows <= 1 || c->row_stride == c->cols);
    made->shape = (rungi_peer_gemm_args){.in = a->type, .m = c->rows, .n = c->cols, .k = a->cols};
    if (problem->batch != 1 || !is_dense || a->cols == 0)
        return rungi_fail(
            RUNG_STATUS_UNSUPPORTED,
            "%s: GGML is called only with batch 1, k > 0, and dense matrices: A and C by rows, B by columns",
            plan->kernel->info.name);
    return RUNG_OK;
}

/* Prepares GGML. A packed B is in memory of GGML, and belongs to this plan: the packed buffer has only a header and the serial
 * number of the B. */
static rung_status configure_ggml(rung_plan *plan, peer_plan_t *made)
{
    const rungi_packed_layout layout = {.packed_type = plan->problem.b.type,
                                        .width = 1,
                                        .k_block = rung_type_block_elements(plan->problem.b.type),
                                        .bytes = GGML_PACKED_BYTES};
    rung_status status = RUNG_OK;
    plan->info.compute = RUNG_COMPUTE_Q8;
    TRY(check_shape_of_ggml(plan, made));
    if (made->shape.m == 0 || made->shape.n == 0)
        return RUNG_OK;
    pthread_mutex_lock(&call_lock);
    status = rungi_ggml_create(plan->device->context, &made->peer, &made->shape, plan->problem.b.type, plan->packed_b,
                               plan->info.threads, &made->ggml);
    pthread_mutex_unlock(&call_lock);
    if (plan->packed_b) {
        rungi_packed_header_fill(plan, &layout, &made->header);
        plan->info.packed_b_bytes = (int64_t)sizeof made->header + GGML_PACKED_BYTES;
    }
    return status;
}

/* Checks that this build of the library supports the type. */
static rung_status check_type(const rung_plan *plan, const peer_plan_t *made)
{
    const rungi_peer *peer = &made->peer;
    const rungi_cpu_features *features = &((const rungi_cpu_device *)plan->device)->features;
    const char *name = plan->kernel->info.name;
    rung_type in = plan->problem.a.type;
    bool is_onednn = peer->kind == RUNGI_PEER_ONEDNN;
    if (peer->kind == RUNGI_PEER_GGML) /* RUNG_CPU_VENDOR chooses it for 00_vendor */
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s: GGML is called only with a quantized B, as 00_vendor:ggml",
                          name);
    bool has = in == RUNG_F32    ? is_onednn || peer->f32
               : in == RUNG_F64  ? !is_onednn && peer->f64
               : in == RUNG_BF16 ? is_onednn || peer->bf16
                                 : is_onednn || peer->i8;
    if (!has)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s: %s does not multiply %s", name, peer->title,
                          rung_type_name(in));
    if (in == RUNG_I8 && !features->has_vnni)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s: %s may saturate sums of i8 on a processor without VNNI", name,
                          peer->title);
    return RUNG_OK;
}

/* Allocates memory for I8 problems. With alpha or beta other than 1 and 0, A * B is stored there first: the libraries would
 * apply the factors in floating point. */
static rung_status allocate_scratch(rung_context *context, peer_plan_t *made)
{
    const rungi_peer_gemm_args *shape = &made->shape;
    int64_t sums = 0, scratch = 0;
    if (shape->in != RUNG_I8)
        return RUNG_OK;
    if (!rungi_checked_multiply(shape->m, shape->ldc, &sums) ||
        !rungi_checked_multiply(sums, sizeof *made->sums, &sums) ||
        (made->peer.i8 && !rungi_cblas_i8_scratch(shape, &scratch)))
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "00_vendor: %lld x %lld x %lld needs more than 2^63 bytes of scratch memory",
                          (long long)shape->m, (long long)shape->n, (long long)shape->k);
    made->sums = rungi_allocate(context, sums, 64);
    made->scratch = rungi_allocate(context, scratch, 64);
    return made->sums && made->scratch ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
}

static rung_status configure_blas(rung_plan *plan, peer_plan_t *made)
{
    TRY(check_type(plan, made));
    TRY(check_shape(plan, made));
    TRY(allocate_scratch(plan->device->context, made));
    if (made->peer.kind == RUNGI_PEER_ONEDNN && made->shape.m > 0 && made->shape.n > 0)
        TRY(rungi_onednn_create(&made->peer, &made->shape, &made->onednn));
    return RUNG_OK;
}

size_t rungi_cpu_peer_plan_bytes(void)
{
    return sizeof(peer_plan_t);
}

rung_status rungi_cpu_peer_plan_configure(rung_plan *plan)
{
    peer_plan_t *made = plan->state;
    rungi_cpu_device *device = (rungi_cpu_device *)plan->device;
    const rungi_peer_kind *kind = plan->kernel->step->function;
    TRY(rungi_peer_find(*kind, &device->features, &made->peer));
    plan->info.compute = RUNG_COMPUTE_STRICT;
    plan->info.threads = plan->threads_requested > 0 ? plan->threads_requested : rungi_pool_threads(device->pool);
    if (*kind == RUNGI_PEER_GGML)
        TRY(configure_ggml(plan, made));
    else
        TRY(configure_blas(plan, made));
    snprintf(made->library, sizeof made->library, "%s%s%s, %s%s%s", made->peer.title, *made->peer.version ? " " : "",
             made->peer.version, *kind == RUNGI_PEER_GGML ? rungi_ggml_kind(&made->ggml) : "",
             *kind == RUNGI_PEER_GGML ? " buffer, " : "", made->peer.path);
    plan->info.library = made->library;
    plan->info.warning = made->peer.warning;
    return RUNG_OK;
}

void rungi_cpu_peer_plan_destroy(rung_plan *plan)
{
    peer_plan_t *made = plan->state;
    rungi_onednn_destroy(&made->onednn);
    rungi_ggml_destroy(plan->device->context, &made->ggml);
    rungi_release(plan->device->context, made->sums);
    rungi_release(plan->device->context, made->scratch);
}

/* ---- Running ---------------------------------------------------------------------------------------- */

static rung_status call_library(peer_plan_t *made, const rungi_peer_gemm_args *args)
{
    if (made->peer.kind == RUNGI_PEER_ONEDNN)
        return rungi_onednn_run(&made->onednn, args);
    if (args->in == RUNG_I8)
        rungi_cblas_run_i8(&made->peer, args, made->scratch);
    else
        rungi_cblas_run(&made->peer, args);
    return RUNG_OK;
}

/* Computes C = alpha * sums + beta * C modulo 2^32. Both have the leading dimension of C. */
static void scale_integers(const rungi_peer_gemm_args *args, const int32_t *sums)
{
    uint32_t alpha = (uint32_t)(int64_t)args->alpha, beta = (uint32_t)(int64_t)args->beta;
    for (int64_t i = 0; i < args->m; i++) {
        uint32_t *c = (uint32_t *)args->c + i * args->ldc;
        const int32_t *sum = sums + i * args->ldc;
        for (int64_t j = 0; j < args->n; j++)
            c[j] = alpha * (uint32_t)sum[j] + (beta == 0 ? 0 : beta * c[j]);
    }
}

static rung_status call_library_i8(peer_plan_t *made, const rungi_peer_gemm_args *args)
{
    rungi_peer_gemm_args plain = *args;
    if (args->alpha == 1 && args->beta == 0)
        return call_library(made, args);
    plain.c = made->sums;
    TRY(call_library(made, &plain));
    scale_integers(args, made->sums);
    return RUNG_OK;
}

/* Multiplies by GGML. The caller has the lock. */
static rung_status call_ggml(rung_plan *plan, peer_plan_t *made, const rungi_peer_gemm_args *args,
                             const rung_run_options *options)
{
    if (plan->packed_b) {
        const char *packed = rungi_cpu_buffer_data(options->packed_b);
        uint64_t serial;
        TRY(rungi_packed_header_check(&made->header, packed));
        memcpy(&serial, packed + sizeof made->header, sizeof serial);
        if (!made->ggml.is_packed || serial != made->ggml.serial)
            return rungi_invalid("the packed B of %s belongs to another plan, or was replaced by a later "
                                 "rung_plan_pack_b; call rung_plan_pack_b with this plan again",
                                 plan->kernel->info.name);
    }
    return rungi_ggml_run(&made->ggml, args, rungi_plan_threads(plan, options));
}

rung_status rungi_cpu_peer_plan_pack(rung_plan *plan, const rung_matrix *b, rung_buffer *packed,
                                     const rung_run_options *options)
{
    RUNGI_DISABLE_CANCELLATION;
    peer_plan_t *made = plan->state;
    char *bytes = rungi_cpu_buffer_data(packed);
    int64_t started = rungi_clock_ns();
    uint64_t serial = 0;
    rungi_cpu_buffer_prepare_packed(packed, plan->info.packed_b_bytes);
    if (made->ggml.packed.tensor) {
        pthread_mutex_lock(&call_lock);
        serial = rungi_ggml_pack(&made->ggml, rungi_cpu_item_data(b, 0));
        pthread_mutex_unlock(&call_lock);
    }
    memcpy(bytes, &made->header, sizeof made->header);
    memcpy(bytes + sizeof made->header, &serial, sizeof serial);
    rungi_cpu_signal(options, started);
    return RUNG_OK;
}

rung_status rungi_cpu_peer_packed_check(const rung_plan *plan, const void *header)
{
    const peer_plan_t *made = plan->state;
    return rungi_packed_header_check(&made->header, header);
}

rung_status rungi_cpu_peer_plan_run(rung_plan *plan, const rung_problem *problem, rungi_gemm_sizes sizes,
                                    const rung_run_options *options)
{
    RUNGI_DISABLE_CANCELLATION;
    peer_plan_t *made = plan->state;
    const bool is_ggml = made->peer.kind == RUNGI_PEER_GGML;
    rung_problem by_rows = is_ggml ? *problem : transpose_column_major(problem);
    rungi_peer_gemm_args args = made->shape;
    int64_t started = rungi_clock_ns();
    rung_status status = RUNG_OK;
    RUNGI_ASSERT(sizes.m == 0 || sizes.n == 0 || sizes.k > 0); /* the core handles alpha = 0: see rung_plan.unread */
    args.alpha = by_rows.alpha;
    args.beta = by_rows.beta;
    args.a = rungi_cpu_item_data(&by_rows.a, 0);
    args.b = rungi_cpu_item_data(&by_rows.b, 0);
    args.c = rungi_cpu_item_data(&by_rows.c, 0);
    if (sizes.m > 0 && sizes.n > 0) {
        pthread_mutex_lock(&call_lock);
        int64_t before = rungi_peer_set_threads(&made->peer, rungi_plan_threads(plan, options));
        status = is_ggml              ? call_ggml(plan, made, &args, options)
                 : args.in == RUNG_I8 ? call_library_i8(made, &args)
                                      : call_library(made, &args);
        rungi_peer_set_threads(&made->peer, before);
        pthread_mutex_unlock(&call_lock);
    }
    if (status == RUNG_OK)
        rungi_cpu_signal(options, started);
    return status;
}

/* Resets the lock, which a multiply may have held during the fork. The libraries handle a fork themselves. */
void rungi_cpu_peer_after_fork(void)
{
    pthread_mutex_init(&call_lock, NULL);
}
