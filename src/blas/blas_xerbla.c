/* SPDX-License-Identifier: Apache-2.0 */
/* blas_xerbla.c - reports an invalid argument to the error handler that the program would have without this library:
 * its own xerbla, or the xerbla of the next library, which often ends the program. Without a handler, a line is printed
 * to standard error and C is not changed.
 *
 * Netlib's CBLAS checks only layout, TransA and TransB itself and calls cblas_xerbla for them. All other arguments are
 * checked by Fortran's sgemm_, which has one argument less and, for row-major matrices, exchanged operands. Netlib's
 * handlers correct the argument number by two variables. */
#include "blas/blas.h"

#include <stdio.h>
#include <string.h>

typedef void handler_function_t(const char *routine, const int32_t *number, size_t length);
typedef void wide_handler_function_t(const char *routine, const int64_t *number, size_t length);
typedef void cblas_handler_function_t(int32_t number, const char *name, const char *format, ...);
typedef void wide_cblas_handler_function_t(int64_t number, const char *name, const char *format, ...);

/* Netlib's variables, if a library of the process defines them. */
static void set_netlib_variables(int from_c, int by_rows)
{
    int *call_from_c = rungi_blas_find_symbol("CBLAS_CallFromC"), *row_major = rungi_blas_find_symbol("RowMajorStrg");
    if (call_from_c)
        *call_from_c = from_c;
    if (row_major)
        *row_major = by_rows;
}

/* next_library.c explains the copied function address. */
static rungi_blas_function *find_function(const char *name)
{
    rungi_blas_function *function = NULL;
    void *address = rungi_blas_find_symbol(name);
    memcpy(&function, &address, sizeof function);
    return function;
}

/* Returns false if the process has no xerbla. */
static bool call_xerbla(const rungi_blas_symbol *name, int number)
{
    rungi_blas_function *xerbla = find_function(name->xerbla);
    int32_t narrow = number;
    int64_t wide = number;
    if (xerbla && name->is_ilp64)
        ((wide_handler_function_t *)xerbla)(name->routine, &wide, strlen(name->routine));
    else if (xerbla)
        ((handler_function_t *)xerbla)(name->routine, &narrow, strlen(name->routine));
    return xerbla != NULL;
}

static void print_error(const rungi_blas_symbol *name, int number)
{
    fprintf(stderr, "rung: on entry to %s parameter number %d had an illegal value\n", name->name, number);
}

/* Converts the Fortran number of a size or a stride to the CBLAS number. */
static int cblas_number(int number, bool is_by_rows)
{
    enum { M = 4, N, LDA = 9, LDB = 11 };
    switch (is_by_rows ? number + 1 : 0) {
    case M: return N;
    case N: return M;
    case LDA: return LDB;
    case LDB: return LDA;
    }
    return number + 1;
}

void rungi_blas_report_argument(const rungi_blas_symbol *name, int number, bool is_by_rows)
{
    bool is_cblas = name->cblas_xerbla != NULL;
    if (is_cblas)
        set_netlib_variables(1, is_by_rows);
    if (!call_xerbla(name, number))
        print_error(name, is_cblas ? cblas_number(number, is_by_rows) : number);
    if (is_cblas)
        set_netlib_variables(0, 0);
}

void rungi_blas_report_setting(const rungi_blas_symbol *name, int number, const char *format, int value,
                               bool is_by_rows)
{
    rungi_blas_function *xerbla = find_function(name->cblas_xerbla);
    const char *routine = name->routine[0] == 'S' ? "cblas_sgemm" : "cblas_dgemm";
    set_netlib_variables(1, is_by_rows);
    if (xerbla && name->is_ilp64)
        ((wide_cblas_handler_function_t *)xerbla)(number, routine, format, value);
    else if (xerbla)
        ((cblas_handler_function_t *)xerbla)(number, routine, format, value);
    else if (!call_xerbla(name, number - 1)) /* as OpenBLAS counts, which has no other handler */
        print_error(name, number);
    set_netlib_variables(0, 0);
}
