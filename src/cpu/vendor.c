/* SPDX-License-Identifier: Apache-2.0 */
/* vendor.c - see vendor.h. */
#include "core/cancel.h"
#include "cpu/vendor.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/assert.h"
#include "core/checked.h"
#include "core/plan.h"
#include "cpu/onednn.h"

typedef struct vendor_plan {
    rungi_peer peer;
    rungi_onednn onednn;  /* if it is that */
    rungi_peer_work form; /* of the turned problem, without its memory */
    char library[512];    /* "MKL 2026.2, /usr/lib/libmkl_rt.so.3" */
    int32_t *sums;        /* of whole numbers: A B, where more is done with it, */
    char *scratch;        /* and what the library's way needs besides */
} vendor_plan_t;

/* How many threads they take is a matter of the whole process in most of these libraries, and
 * is told before each call: so there is one call at a time. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* ---- Making ----------------------------------------------------------------------------------------- */

/* C^T = B^T A^T, where C stands by columns. */
static rung_problem turned(const rung_problem *problem)
{
    rung_problem turned = *problem;
    if (problem->c.row_stride >= problem->c.col_stride)
        return turned;
    turned.a = rung_matrix_transpose(problem->b);
    turned.b = rung_matrix_transpose(problem->a);
    turned.c = rung_matrix_transpose(problem->c);
    return turned;
}

/* By rows or by columns, with a leading dimension at least as long as one. */
static bool as_blas(const rung_matrix *view, bool *by_rows, int64_t *ld)
{
    *by_rows = view->col_stride == 1 && view->row_stride >= view->cols;
    *ld = *by_rows ? view->row_stride : view->col_stride;
    return *by_rows || (view->row_stride == 1 && view->col_stride >= view->rows);
}

static rung_status check_form(const rung_plan *plan, vendor_plan_t *made)
{
    rung_problem problem = turned(&plan->problem);
    rungi_peer_work *form = &made->form;
    const char *name = plan->kernel->info.name, *title = made->peer.title;
    bool c_by_rows;
    *form = (rungi_peer_work){.in = problem.a.type, .m = problem.c.rows, .n = problem.c.cols, .k = problem.a.cols};
    if (problem.batch != 1)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s: batches are not passed to %s", name, title);
    if (form->k == 0 || !as_blas(&problem.a, &form->a_by_rows, &form->lda) ||
        !as_blas(&problem.b, &form->b_by_rows, &form->ldb) || !as_blas(&problem.c, &c_by_rows, &form->ldc) ||
        !c_by_rows)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s: %s supports only matrices with one stride of 1, and k > 0",
                          name, title);
    bool is_wide = made->peer.is_wide || made->peer.kind == RUNGI_PEER_ONEDNN;
    if (!is_wide && (form->m > INT32_MAX || form->n > INT32_MAX || form->k > INT32_MAX || form->lda > INT32_MAX ||
                     form->ldb > INT32_MAX || form->ldc > INT32_MAX))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s: %s supports only sizes below 2^31", name, title);
    return RUNG_OK;
}

/* What this very library multiplies; older or other builds of it may have less. */
static rung_status check_type(const rung_plan *plan, const vendor_plan_t *made)
{
    const rungi_peer *peer = &made->peer;
    const rungi_cpu_features *features = &((const rungi_cpu_device *)plan->device)->features;
    const char *name = plan->kernel->info.name;
    rung_type in = plan->problem.a.type;
    bool is_onednn = peer->kind == RUNGI_PEER_ONEDNN;
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

/* Where alpha and beta are others than 1 and 0, A B goes here first: the libraries would
 * multiply whole numbers by them in floating point. */
static rung_status make_scratch(rung_context *context, vendor_plan_t *made)
{
    const rungi_peer_work *form = &made->form;
    int64_t sums = 0, scratch = 0;
    if (form->in != RUNG_I8)
        return RUNG_OK;
    if (!rungi_multiply(form->m, form->ldc, &sums) || !rungi_multiply(sums, sizeof *made->sums, &sums) ||
        (made->peer.i8 && !rungi_cblas_i8_scratch(form, &scratch)))
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "00_vendor: %lld x %lld x %lld needs more memory than can be addressed", (long long)form->m,
                          (long long)form->n, (long long)form->k);
    made->sums = rungi_allocate(context, sums, 64);
    made->scratch = rungi_allocate(context, scratch, 64);
    return made->sums && made->scratch ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
}

static rung_status fill(rung_plan *plan, vendor_plan_t *made)
{
    rungi_cpu_device *device = (rungi_cpu_device *)plan->device;
    const rungi_peer_kind *kind = plan->kernel->step->function;
    rung_status status = rungi_peer_find(*kind, &device->features, &made->peer);
    if (status == RUNG_OK)
        status = check_type(plan, made);
    if (status == RUNG_OK)
        status = check_form(plan, made);
    if (status == RUNG_OK)
        status = make_scratch(device->base.context, made);
    bool is_empty = made->form.m == 0 || made->form.n == 0;
    if (status == RUNG_OK && made->peer.kind == RUNGI_PEER_ONEDNN && !is_empty)
        status = rungi_onednn_create(&made->peer, &made->form, &made->onednn);
    if (status != RUNG_OK)
        return status;
    snprintf(made->library, sizeof made->library, "%s%s%s, %s", made->peer.title, *made->peer.version ? " " : "",
             made->peer.version, made->peer.path);
    plan->info.compute = RUNG_COMPUTE_STRICT;
    plan->info.threads = plan->threads_asked > 0 ? plan->threads_asked : rungi_pool_threads(device->pool);
    plan->info.library = made->library;
    plan->info.warning = made->peer.doubt;
    return RUNG_OK;
}

static void destroy(rung_context *context, vendor_plan_t *made)
{
    rungi_onednn_destroy(&made->onednn);
    rungi_release(context, made->sums);
    rungi_release(context, made->scratch);
    rungi_release(context, made);
}

rung_status rungi_cpu_vendor_create(rung_plan *plan)
{
    rung_context *context = plan->device->context;
    vendor_plan_t *made = rungi_new(context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = fill(plan, made);
    if (status == RUNG_OK)
        plan->state = made;
    else
        destroy(context, made);
    return status;
}

void rungi_cpu_vendor_destroy(rung_plan *plan)
{
    destroy(plan->device->context, plan->state);
}

/* ---- Running ---------------------------------------------------------------------------------------- */

static rung_status multiply(vendor_plan_t *made, const rungi_peer_work *work)
{
    if (made->peer.kind == RUNGI_PEER_ONEDNN)
        return rungi_onednn_run(&made->onednn, work);
    if (work->in == RUNG_I8)
        rungi_cblas_run_i8(&made->peer, work, made->scratch);
    else
        rungi_cblas_run(&made->peer, work);
    return RUNG_OK;
}

/* C = alpha * sums + beta * C, modulo 2^32; both stand alike. */
static void finish_whole(const rungi_peer_work *work, const int32_t *sums)
{
    uint32_t alpha = (uint32_t)(int64_t)work->alpha, beta = (uint32_t)(int64_t)work->beta;
    for (int64_t i = 0; i < work->m; i++) {
        uint32_t *c = (uint32_t *)work->c + i * work->ldc;
        const int32_t *sum = sums + i * work->ldc;
        for (int64_t j = 0; j < work->n; j++)
            c[j] = alpha * (uint32_t)sum[j] + (beta == 0 ? 0 : beta * c[j]);
    }
}

static rung_status multiply_whole(vendor_plan_t *made, const rungi_peer_work *work)
{
    rungi_peer_work plain = *work;
    if (work->alpha == 1 && work->beta == 0)
        return multiply(made, work);
    plain.c = made->sums;
    rung_status status = multiply(made, &plain);
    if (status == RUNG_OK)
        finish_whole(work, made->sums);
    return status;
}

rung_status rungi_cpu_vendor_run(rung_plan *plan, const rung_problem *problem, rungi_sizes sizes,
                                 const rung_run_options *options)
{
    RUNGI_DISABLE_CANCELLATION;
    vendor_plan_t *made = plan->state;
    rung_problem by_rows = turned(problem);
    rungi_peer_work work = made->form;
    int64_t started = rungi_cpu_now();
    rung_status status = RUNG_OK;
    RUNGI_ASSERT(sizes.m == 0 || sizes.n == 0 || sizes.k > 0); /* alpha = 0 is the core's: see rung_plan.unread */
    work.alpha = by_rows.alpha;
    work.beta = by_rows.beta;
    work.a = rungi_cpu_item(&by_rows.a, 0);
    work.b = rungi_cpu_item(&by_rows.b, 0);
    work.c = rungi_cpu_item(&by_rows.c, 0);
    if (sizes.m > 0 && sizes.n > 0) {
        pthread_mutex_lock(&one_at_a_time);
        int64_t before = rungi_peer_set_threads(&made->peer, rungi_plan_threads(plan, options));
        status = work.in == RUNG_I8 ? multiply_whole(made, &work) : multiply(made, &work);
        rungi_peer_set_threads(&made->peer, before);
        pthread_mutex_unlock(&one_at_a_time);
    }
    if (status == RUNG_OK)
        rungi_cpu_signal(options, started);
    return status;
}

/* A fork does not wait for the lock, which is held for as long as a multiply takes. What the
 * library itself makes of a fork is its own matter. */
void rungi_cpu_vendor_forked(void)
{
    pthread_mutex_init(&one_at_a_time, NULL);
}
