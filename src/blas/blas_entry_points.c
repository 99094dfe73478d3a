/* SPDX-License-Identifier: Apache-2.0 */
/* blas_entry_points.c - the exported BLAS functions, generated from blas_symbols.def.
 *
 * Each function converts its arguments to one form. If rung does not serve the call, the function of the same name in
 * the next library gets the original arguments. */
#include "blas/blas.h"

#define TYPE_OF(element) (sizeof(element) == sizeof(float) ? RUNG_F32 : RUNG_F64)

#define FORTRAN_ARGUMENTS(element, integer)                                                               \
    const char *trans_a, const char *trans_b, const integer *m, const integer *n, const integer *k,       \
        const element *alpha, const element *a, const integer *lda, const element *b, const integer *ldb, \
        const element *beta, element *c, const integer *ldc

#define CBLAS_ARGUMENTS(element, integer)                                                                   \
    int layout, int trans_a, int trans_b, integer m, integer n, integer k, element alpha, const element *a, \
        integer lda, const element *b, integer ldb, element beta, element *c, integer ldc

#define NAME_OF(symbol, routine_name, integer, handler_name, cblas_handler_name)                                \
    {                                                                                                           \
        .name = #symbol, .routine = routine_name, .xerbla = handler_name, .cblas_xerbla = (cblas_handler_name), \
        .is_ilp64 = sizeof(integer) == 8                                                                        \
    }

#define CALL_OF(element, rows, cols, depth, factor, a_data, a_ld, b_data, b_ld, c_factor, c_data, c_ld)          \
    {                                                                                                            \
        .type = TYPE_OF(element), .m = (rows), .n = (cols), .k = (depth), .alpha = (factor), .beta = (c_factor), \
        .a = (a_data), .b = (b_data), .c = (c_data), .lda = (a_ld), .ldb = (b_ld), .ldc = (c_ld)                 \
    }

/* The lengths of the two strings, 1 each, are passed on although they are not read: code compiled by a Fortran compiler
 * may reuse their stack slots. */
#define FORTRAN(element, symbol, routine, integer, handler)                                            \
    RUNG_API void symbol(FORTRAN_ARGUMENTS(element, integer));                                         \
    void symbol(FORTRAN_ARGUMENTS(element, integer))                                                   \
    {                                                                                                  \
        typedef void same(FORTRAN_ARGUMENTS(element, integer), size_t, size_t);                        \
        static rungi_blas_symbol name = NAME_OF(symbol, routine, integer, handler, NULL);              \
        rungi_blas_call call = CALL_OF(element, *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc); \
        rungi_blas_function *next = rungi_blas_call_fortran(&name, trans_a, trans_b, &call);           \
        if (next)                                                                                      \
            ((same *)next)(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);      \
    }

#define CBLAS(element, symbol, routine, integer, handler, cblas_handler)                            \
    RUNG_API void symbol(CBLAS_ARGUMENTS(element, integer));                                        \
    void symbol(CBLAS_ARGUMENTS(element, integer))                                                  \
    {                                                                                               \
        typedef void same(CBLAS_ARGUMENTS(element, integer));                                       \
        static rungi_blas_symbol name = NAME_OF(symbol, routine, integer, handler, cblas_handler);  \
        rungi_blas_call call = CALL_OF(element, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);      \
        rungi_blas_function *next = rungi_blas_call_cblas(&name, layout, trans_a, trans_b, &call);  \
        if (next)                                                                                   \
            ((same *)next)(layout, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); \
    }

#include "blas/blas_symbols.def"
