/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - a call of gemm from its arguments to its result: checked in Netlib's order, given to
 * rung, and where that cannot, on to the next library or, if there is none, to three loops. A
 * BLAS has no way to say that it failed, so it must not. */
#include "blas/blas.h"

#include "core/cancel.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"

/* ---- What the environment asks for -------------------------------------------------------------- */

static struct {
    bool is_off;     /* RUNG_BLAS=off: the next library does everything */
    bool is_verbose; /* calls that go on to it are told of */
    bool is_cpu;     /* rung's device writes to C only what is right */
} asked;

static void read_environment(void)
{
    const char *blas = getenv("RUNG_BLAS"), *verbose = getenv("RUNG_VERBOSE"), *device = getenv("RUNG_DEVICE");
    asked.is_off = blas && strcmp(blas, "off") == 0;
    asked.is_verbose = verbose && *verbose && *verbose != '0';
    asked.is_cpu = !device || !*device || strcmp(device, "cpu") == 0;
}

static bool is_off(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return asked.is_off;
}

/* ---- As a problem -------------------------------------------------------------------------------- */

/* op(X)^T, rows x cols, of a matrix that stands by columns. */
static void turn(rung_matrix *view, rung_type type, int64_t rows, int64_t cols, const void *data, int64_t ld,
                 bool transposes)
{
    view->type = type;
    view->rows = rows;
    view->cols = cols;
    view->row_stride = transposes ? 1 : ld;
    view->col_stride = transposes ? ld : 1;
    view->data = (void *)(uintptr_t)data;
}

/* C^T = op(B)^T op(A)^T: what stands by columns is its transpose by rows, which is how tuning
 * records and kernels like C best. Where nothing of A and B is read they are views of nothing,
 * whose pointers may be anything. */
static void fill_problem(rung_problem *problem, const rungi_blas_call *call)
{
    bool reads = call->alpha != 0 && call->k > 0;
    int64_t k = reads ? call->k : 0;
    RUNGI_ASSERT(call->m > 0 && call->n > 0 && call->ldc >= call->m);
    turn(&problem->a, call->type, call->n, k, call->b, call->ldb, call->transposes_b);
    turn(&problem->b, call->type, k, call->m, call->a, call->lda, call->transposes_a);
    turn(&problem->c, call->type, call->n, call->m, call->c, call->ldc, false);
    problem->alpha = reads ? call->alpha : 0;
    problem->beta = call->beta;
}

static bool is_done(const rungi_blas_call *call)
{
    return call->m == 0 || call->n == 0 || ((call->alpha == 0 || call->k == 0) && call->beta == 1);
}

/* ---- By rung --------------------------------------------------------------------------------------- */

static int64_t row_bytes(const rung_matrix *c)
{
    return c->cols * rung_type_size(c->type);
}

static void copy_rows(char *to, int64_t to_step, const char *from, int64_t from_step, const rung_matrix *c)
{
    for (int64_t i = 0; i < c->rows; i++)
        memcpy(to + i * to_step, from + i * from_step, (size_t)row_bytes(c));
}

/* NULL, or why it did not. */
static const char *multiply(const rung_problem *problem)
{
    return rung_multiply(NULL, problem, NULL) == RUNG_OK ? NULL : rung_error_text();
}

/* A device that fails may have written parts of C already. Where C is read too, what it was is
 * kept until the work is done. */
static const char *multiply_carefully(const rung_problem *problem)
{
    const rung_matrix *c = &problem->c;
    int64_t dense = row_bytes(c);
    int64_t step = c->rows > 1 ? c->row_stride * rung_type_size(c->type) : 0; /* one row's may be anything */
    char *kept = dense <= INT64_MAX / c->rows ? malloc((size_t)(dense * c->rows)) : NULL;
    if (!kept)
        return "there is no memory to keep C in while a device works on it";
    copy_rows(kept, dense, c->data, step, c);
    const char *failure = multiply(problem);
    if (failure)
        copy_rows(c->data, step, kept, dense, c);
    free(kept);
    return failure;
}

/* ---- By somebody else --------------------------------------------------------------------------------- */

static void tell(const rungi_blas_name *name, const rung_problem *problem, rungi_blas_function *next,
                 const char *failure)
{
    fprintf(stderr, "rung: %s %lldx%lldx%lld was left to %s: %s\n", name->name, (long long)problem->c.rows,
            (long long)problem->c.cols, (long long)problem->a.cols, next ? rungi_blas_file_of(next) : "a plain loop",
            failure);
}

static rungi_blas_function *serve(rungi_blas_name *name, const rungi_blas_call *call)
{
    if (is_done(call))
        return NULL;
    rung_problem problem = {.size = sizeof problem, .batch = 1};
    fill_problem(&problem, call);
    const char *failure = "RUNG_BLAS is off";
    if (!asked.is_off)
        failure = asked.is_cpu || problem.beta == 0 ? multiply(&problem) : multiply_carefully(&problem);
    if (!failure)
        return NULL;
    RUNGI_DISABLE_CANCELLATION; /* rung_multiply has its own; the next library is called after this */
    rungi_blas_function *next = rungi_blas_next(name);
    if (asked.is_verbose)
        tell(name, &problem, next, failure);
    if (!next)
        rungi_blas_multiply_plainly(&problem);
    return next;
}

/* ---- Arguments ------------------------------------------------------------------------------------- */

static int64_t at_least_one(int64_t value)
{
    return value > 1 ? value : 1;
}

/* The number of the first argument that is wrong as Fortran counts them, from the sizes on;
 * 0 if none is. */
static int wrong_size(const rungi_blas_call *call)
{
    if (call->m < 0)
        return 3;
    if (call->n < 0)
        return 4;
    if (call->k < 0)
        return 5;
    if (call->lda < at_least_one(call->transposes_a ? call->k : call->m))
        return 8;
    if (call->ldb < at_least_one(call->transposes_b ? call->n : call->k))
        return 10;
    return call->ldc < at_least_one(call->m) ? 13 : 0;
}

/* Whether it is one of N, T and C; for real numbers T and C are the same. */
static bool read_letter(char letter, bool *transposes)
{
    *transposes = letter == 'T' || letter == 't' || letter == 'C' || letter == 'c';
    return *transposes || letter == 'N' || letter == 'n';
}

rungi_blas_function *rungi_blas_fortran(rungi_blas_name *name, const char *trans_a, const char *trans_b,
                                        rungi_blas_call *call)
{
    rungi_blas_function *next = is_off() ? rungi_blas_next(name) : NULL;
    if (next)
        return next;
    int wrong = !read_letter(*trans_a, &call->transposes_a)   ? 1
                : !read_letter(*trans_b, &call->transposes_b) ? 2
                                                              : wrong_size(call);
    if (wrong == 0)
        return serve(name, call);
    rungi_blas_refuse(name, wrong, false);
    return NULL;
}

enum { ROW_MAJOR = 101, COL_MAJOR, NO_TRANS = 111, TRANS, CONJ_TRANS }; /* as cblas.h has them */

static bool read_setting(int setting, bool *transposes)
{
    *transposes = setting == TRANS || setting == CONJ_TRANS;
    return *transposes || setting == NO_TRANS;
}

/* What is by rows is, by columns, the transpose: C^T = B^T A^T. */
static rungi_blas_call exchanged(const rungi_blas_call *call)
{
    rungi_blas_call other = *call;
    other.transposes_a = call->transposes_b;
    other.transposes_b = call->transposes_a;
    other.m = call->n;
    other.n = call->m;
    other.a = call->b;
    other.b = call->a;
    other.lda = call->ldb;
    other.ldb = call->lda;
    return other;
}

rungi_blas_function *rungi_blas_cblas(rungi_blas_name *name, int layout, int trans_a, int trans_b,
                                      rungi_blas_call *call)
{
    bool is_by_rows = layout == ROW_MAJOR;
    rungi_blas_function *next = is_off() ? rungi_blas_next(name) : NULL;
    if (next)
        return next;
    if (!is_by_rows && layout != COL_MAJOR) {
        rungi_blas_refuse_setting(name, 1, "Illegal layout setting, %d\n", layout, is_by_rows);
    } else if (!read_setting(trans_a, &call->transposes_a)) {
        rungi_blas_refuse_setting(name, 2, "Illegal TransA setting, %d\n", trans_a, is_by_rows);
    } else if (!read_setting(trans_b, &call->transposes_b)) {
        rungi_blas_refuse_setting(name, 3, "Illegal TransB setting, %d\n", trans_b, is_by_rows);
    } else {
        rungi_blas_call by_columns = is_by_rows ? exchanged(call) : *call;
        int wrong = wrong_size(&by_columns);
        if (wrong == 0)
            return serve(name, &by_columns);
        rungi_blas_refuse(name, wrong, is_by_rows);
    }
    return NULL;
}
