/* SPDX-License-Identifier: Apache-2.0 */
/* blas.h - declarations shared by the drop-in BLAS library: a gemm call and the names of the entry points. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "rung/rung.h"

/* A function of any type. Cast it to its type before the call. */
typedef void rungi_blas_function(void);

/* One line of blas_symbols.def. */
typedef struct rungi_blas_symbol {
    const char *name;                    /* "cblas_sgemm" */
    const char *routine;                 /* "SGEMM ", as Fortran writes it */
    const char *xerbla;                  /* "xerbla_" */
    const char *cblas_xerbla;            /* "cblas_xerbla"; NULL for Fortran */
    bool is_ilp64;                       /* integers have 64 bits */
    _Atomic(rungi_blas_function *) next; /* the same function of the next library, once found */
} rungi_blas_symbol;

/* A call in Fortran's form with column-major matrices. A row-major CBLAS call has A and B exchanged, as in Netlib's
 * CBLAS. */
typedef struct rungi_blas_call {
    rung_type type;
    bool transposes_a, transposes_b;
    int64_t m, n, k;
    double alpha, beta;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
} rungi_blas_call;

/* Serves a call or reports its invalid argument, and returns NULL; or returns the function of the next library that must
 * be called with the same arguments. (blas_call.c) */
rungi_blas_function *rungi_blas_call_fortran(rungi_blas_symbol *name, const char *trans_a, const char *trans_b,
                                             rungi_blas_call *call);
rungi_blas_function *rungi_blas_call_cblas(rungi_blas_symbol *name, int layout, int trans_a, int trans_b,
                                           rungi_blas_call *call);

/* Report that argument `number` is invalid: an argument of Fortran with Fortran's number, or one that only CBLAS has, with
 * its value. (blas_xerbla.c) */
void rungi_blas_report_argument(const rungi_blas_symbol *name, int number, bool is_by_rows);
void rungi_blas_report_setting(const rungi_blas_symbol *name, int number, const char *format, int value,
                               bool is_by_rows);

/* Identifies copies of this library. (next_library.c) */
extern RUNG_API const char rung_blas_library;

/* Returns the function of that name in the next library, or NULL. (next_library.c) */
rungi_blas_function *rungi_blas_next_function(rungi_blas_symbol *name);

/* Returns the symbol of that name in the program or another library, or NULL. (next_library.c) */
void *rungi_blas_find_symbol(const char *name);

/* Returns the file that contains a function, or "?". (next_library.c) */
const char *rungi_blas_file_of(rungi_blas_function *function);

/* Multiplies with three loops, for memory of any alignment. (blas_fallback_gemm.c) */
void rungi_blas_fallback_gemm(const rung_problem *problem);
