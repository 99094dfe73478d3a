/* SPDX-License-Identifier: Apache-2.0 */
/* blas_call.c - serves a gemm call: checks the arguments in Netlib's order and runs the multiply with rung. If rung
 * fails, the call is forwarded to the next BLAS library or, without one, computed by three loops. A BLAS function
 * cannot report a failure, so it must not fail. */
#include "blas/blas.h"

#include "base/cancellation.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

/* ---- What the environment asks for -------------------------------------------------------------- */

static struct {
    bool is_off;     /* RUNG_BLAS=off: forward all calls */
    bool is_verbose; /* log forwarded calls */
    bool is_cpu;     /* the device is a CPU, which writes only correct results to C */
} environment;

static void read_environment(void)
{
    const char *blas = getenv("RUNG_BLAS"), *verbose = getenv("RUNG_VERBOSE"), *device = getenv("RUNG_DEVICE");
    environment.is_off = blas && strcmp(blas, "off") == 0;
    environment.is_verbose = verbose && *verbose && *verbose != '0';
    environment.is_cpu = !device || !*device || strcmp(device, "cpu") == 0;
}

static bool is_off(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return environment.is_off;
}

/* ---- As a problem -------------------------------------------------------------------------------- */

/* Fills in the row-major view op(X)^T, rows x cols, of a column-major matrix. */
static void fill_transposed_view(rung_matrix *view, rung_type type, int64_t rows, int64_t cols, const void *data,
                                 int64_t ld, bool transposes)
{
    view->type = type;
    view->rows = rows;
    view->cols = cols;
    view->row_stride = transposes ? 1 : ld;
    view->col_stride = transposes ? ld : 1;
    view->data = (void *)(uintptr_t)data;
}

/* Fills in C^T = op(B)^T op(A)^T: a column-major matrix is the transpose of a row-major one, and kernels and tuning
 * records prefer a row-major C. If A and B are not read, they become empty views, since their pointers may be invalid. */
static void fill_problem(rung_problem *problem, const rungi_blas_call *call)
{
    bool reads_ab = call->alpha != 0 && call->k > 0;
    int64_t k = reads_ab ? call->k : 0;
    RUNGI_ASSERT(call->m > 0 && call->n > 0 && call->ldc >= call->m);
    fill_transposed_view(&problem->a, call->type, call->n, k, call->b, call->ldb, call->transposes_b);
    fill_transposed_view(&problem->b, call->type, k, call->m, call->a, call->lda, call->transposes_a);
    fill_transposed_view(&problem->c, call->type, call->n, call->m, call->c, call->ldc, false);
    problem->alpha = reads_ab ? call->alpha : 0;
    problem->beta = call->beta;
}

static bool is_no_op(const rungi_blas_call *call)
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

/* Returns NULL, or the reason of the failure. */
static const char *multiply(const rung_problem *problem)
{
    return rung_multiply(NULL, problem, NULL) == RUNG_OK ? NULL : rung_error_text();
}

/* A device that fails may have overwritten parts of C. If C is also an input, a backup is held until the work is done. */
static const char *multiply_with_backup(const rung_problem *problem)
{
    const rung_matrix *c = &problem->c;
    int64_t dense = row_bytes(c);
    int64_t step = c->rows > 1 ? c->row_stride * rung_type_size(c->type)
                               : 0; /* the stride of a single row may have any value */
    char *backup = dense <= INT64_MAX / c->rows ? malloc((size_t)(dense * c->rows)) : NULL;
    if (!backup)
        return "there is no memory to keep C in while a device works on it";
    copy_rows(backup, dense, c->data, step, c);
    const char *failure = multiply(problem);
    if (failure)
        copy_rows(c->data, step, backup, dense, c);
    free(backup);
    return failure;
}

/* ---- By somebody else --------------------------------------------------------------------------------- */

static void log_fallback(const rungi_blas_symbol *name, const rung_problem *problem, rungi_blas_function *next,
                         const char *failure)
{
    fprintf(stderr, "rung: %s %lldx%lldx%lld was forwarded to %s: %s\n", name->name, (long long)problem->c.rows,
            (long long)problem->c.cols, (long long)problem->a.cols, next ? rungi_blas_file_of(next) : "a plain loop",
            failure);
}

static rungi_blas_function *run_or_forward(rungi_blas_symbol *name, const rungi_blas_call *call)
{
    if (is_no_op(call))
        return NULL;
    rung_problem problem = {.size = sizeof problem, .batch = 1};
    fill_problem(&problem, call);
    const char *failure = "RUNG_BLAS is off";
    if (!environment.is_off)
        failure = environment.is_cpu || problem.beta == 0 ? multiply(&problem) : multiply_with_backup(&problem);
    if (!failure)
        return NULL;
    RUNGI_DISABLE_CANCELLATION; /* not for the next library, which is called later */
    rungi_blas_function *next = rungi_blas_next_function(name);
    if (environment.is_verbose)
        log_fallback(name, &problem, next, failure);
    if (!next)
        rungi_blas_fallback_gemm(&problem);
    return next;
}

/* ---- Arguments ------------------------------------------------------------------------------------- */

static int64_t at_least_one(int64_t value)
{
    return value > 1 ? value : 1;
}

/* Returns the number of the first invalid argument in Fortran's order, starting with the sizes, or 0. */
static int first_invalid_argument(const rungi_blas_call *call)
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

/* Returns whether the letter is N, T or C. T and C are the same for real numbers. */
static bool parse_trans_letter(char letter, bool *transposes)
{
    *transposes = letter == 'T' || letter == 't' || letter == 'C' || letter == 'c';
    return *transposes || letter == 'N' || letter == 'n';
}

rungi_blas_function *rungi_blas_call_fortran(rungi_blas_symbol *name, const char *trans_a, const char *trans_b,
                                             rungi_blas_call *call)
{
    rungi_blas_function *next = is_off() ? rungi_blas_next_function(name) : NULL;
    if (next)
        return next;
    int invalid = !parse_trans_letter(*trans_a, &call->transposes_a)   ? 1
                  : !parse_trans_letter(*trans_b, &call->transposes_b) ? 2
                                                                       : first_invalid_argument(call);
    if (invalid == 0)
        return run_or_forward(name, call);
    rungi_blas_report_argument(name, invalid, false);
    return NULL;
}

enum { ROW_MAJOR = 101, COL_MAJOR, NO_TRANS = 111, TRANS, CONJ_TRANS }; /* the values of cblas.h */

static bool parse_trans_setting(int setting, bool *transposes)
{
    *transposes = setting == TRANS || setting == CONJ_TRANS;
    return *transposes || setting == NO_TRANS;
}

/* Converts a row-major call to a column-major one: C^T = B^T A^T. */
static rungi_blas_call swap_operands(const rungi_blas_call *call)
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

rungi_blas_function *rungi_blas_call_cblas(rungi_blas_symbol *name, int layout, int trans_a, int trans_b,
                                           rungi_blas_call *call)
{
    bool is_by_rows = layout == ROW_MAJOR;
    rungi_blas_function *next = is_off() ? rungi_blas_next_function(name) : NULL;
    if (next)
        return next;
    if (!is_by_rows && layout != COL_MAJOR) {
        rungi_blas_report_setting(name, 1, "Illegal layout setting, %d\n", layout, is_by_rows);
    } else if (!parse_trans_setting(trans_a, &call->transposes_a)) {
        rungi_blas_report_setting(name, 2, "Illegal TransA setting, %d\n", trans_a, is_by_rows);
    } else if (!parse_trans_setting(trans_b, &call->transposes_b)) {
        rungi_blas_report_setting(name, 3, "Illegal TransB setting, %d\n", trans_b, is_by_rows);
    } else {
        rungi_blas_call by_columns = is_by_rows ? swap_operands(call) : *call;
        int invalid = first_invalid_argument(&by_columns);
        if (invalid == 0)
            return run_or_forward(name, &by_columns);
        rungi_blas_report_argument(name, invalid, is_by_rows);
    }
    return NULL;
}
