/* SPDX-License-Identifier: Apache-2.0 */
/* blas.h - what the files of the drop-in share: a call, and the name it came by. */
#ifndef RUNGI_BLAS_H
#define RUNGI_BLAS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "rung/rung.h"

/* Any function; cast to what it is before it is called. */
typedef void rungi_blas_function(void);

/* One line of names.def. */
typedef struct rungi_blas_name {
    const char *name;                    /* "cblas_sgemm" */
    const char *routine;                 /* "SGEMM ", as Fortran writes it */
    const char *handler;                 /* "xerbla_" */
    const char *cblas_handler;           /* "cblas_xerbla"; NULL in Fortran's */
    bool is_wide;                        /* integers have 64 bits */
    _Atomic(rungi_blas_function *) next; /* the same function of the next library, once found */
} rungi_blas_name;

/* A call as Fortran makes it, all matrices by columns. CBLAS's by rows is one with A and B
 * exchanged, as in Netlib's. */
typedef struct rungi_blas_call {
    rung_type type;
    bool transposes_a, transposes_b;
    int64_t m, n, k;
    double alpha, beta;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
} rungi_blas_call;

/* Serves a call, or refuses it. NULL if that is all; else the function of the next library
 * that is to be called with the same arguments. (call.c) */
rungi_blas_function *rungi_blas_fortran(rungi_blas_name *name, const char *trans_a, const char *trans_b,
                                        rungi_blas_call *call);
rungi_blas_function *rungi_blas_cblas(rungi_blas_name *name, int layout, int trans_a, int trans_b,
                                      rungi_blas_call *call);

/* Tells that argument `number` is wrong to whoever handles that: Fortran's, numbered as it
 * counts them, or one that only CBLAS has, with its value. (error.c) */
void rungi_blas_refuse(const rungi_blas_name *name, int number, bool is_by_rows);
void rungi_blas_refuse_setting(const rungi_blas_name *name, int number, const char *format, int value, bool is_by_rows);

/* What a copy of this library is known by. (next.c) */
extern RUNG_API const char rung_blas_library;

/* The function of that name in the next library, NULL if there is none. (next.c) */
rungi_blas_function *rungi_blas_next(rungi_blas_name *name);

/* What the program or any library other than this one calls so, NULL if nothing. (next.c) */
void *rungi_blas_find(const char *name);

/* The file that holds a function, or "?". (next.c) */
const char *rungi_blas_file_of(rungi_blas_function *function);

/* Multiplies with three loops, for memory of any alignment. (plain.c) */
void rungi_blas_multiply_plainly(const rung_problem *problem);

#endif /* RUNGI_BLAS_H */
