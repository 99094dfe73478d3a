/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - a wrong argument is told to the handler that the program would have had without us:
 * its own, if it has one, else that of the next library, which often ends the program. Where
 * there is none, standard error gets a line and C stays as it is.
 *
 * Netlib's CBLAS knows only its settings, layout, TransA and TransB, and tells cblas_xerbla of
 * them; all else it leaves to Fortran's sgemm_, which counts one argument less and, where the
 * matrices are by rows, has A and B exchanged. Its handlers put that right by two variables. */
#include "blas/blas.h"

#include <stdio.h>
#include <string.h>

typedef void handler_function_t(const char *routine, const int32_t *number, size_t length);
typedef void wide_handler_function_t(const char *routine, const int64_t *number, size_t length);
typedef void cblas_handler_function_t(int32_t number, const char *name, const char *format, ...);
typedef void wide_cblas_handler_function_t(int64_t number, const char *name, const char *format, ...);

/* Netlib's variables, where somebody in the process has them. */
static void set_variables(int from_c, int by_rows)
{
    int *call_from_c = rungi_blas_find("CBLAS_CallFromC"), *row_major = rungi_blas_find("RowMajorStrg");
    if (call_from_c)
        *call_from_c = from_c;
    if (row_major)
        *row_major = by_rows;
}

/* See next.c on addresses of functions. */
static rungi_blas_function *find_function(const char *name)
{
    rungi_blas_function *function = NULL;
    void *address = rungi_blas_find(name);
    memcpy(&function, &address, sizeof function);
    return function;
}

/* False if there is nobody. */
static bool tell_fortran(const rungi_blas_name *name, int number)
{
    rungi_blas_function *handler = find_function(name->handler);
    int32_t narrow = number;
    int64_t wide = number;
    if (handler && name->is_wide)
        ((wide_handler_function_t *)handler)(name->routine, &wide, strlen(name->routine));
    else if (handler)
        ((handler_function_t *)handler)(name->routine, &narrow, strlen(name->routine));
    return handler != NULL;
}

static void print(const rungi_blas_name *name, int number)
{
    fprintf(stderr, "rung: on entry to %s parameter number %d had an illegal value\n", name->name, number);
}

/* Fortran's number of a size or a stride as CBLAS counts. */
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

void rungi_blas_refuse(const rungi_blas_name *name, int number, bool is_by_rows)
{
    bool is_cblas = name->cblas_handler != NULL;
    if (is_cblas)
        set_variables(1, is_by_rows);
    if (!tell_fortran(name, number))
        print(name, is_cblas ? cblas_number(number, is_by_rows) : number);
    if (is_cblas)
        set_variables(0, 0);
}

void rungi_blas_refuse_setting(const rungi_blas_name *name, int number, const char *format, int value, bool is_by_rows)
{
    rungi_blas_function *handler = find_function(name->cblas_handler);
    const char *routine = name->routine[0] == 'S' ? "cblas_sgemm" : "cblas_dgemm";
    set_variables(1, is_by_rows);
    if (handler && name->is_wide)
        ((wide_cblas_handler_function_t *)handler)(number, routine, format, value);
    else if (handler)
        ((cblas_handler_function_t *)handler)(number, routine, format, value);
    else if (!tell_fortran(name, number - 1)) /* as OpenBLAS counts, which has no other handler */
        print(name, number);
    set_variables(0, 0);
}
