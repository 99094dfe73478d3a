/* SPDX-License-Identifier: Apache-2.0 */
/* no_error_handler.c - wrong arguments in a program that has no handler for them, and no BLAS but what is
 * preloaded: the calls return, and C is as it was. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void fortran_t(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
                       const int *, const float *, const int *, const float *, float *, const int *, size_t, size_t);
typedef void cblas_t(int, int, int, int64_t, int64_t, int64_t, double, const double *, int64_t, const double *, int64_t,
                     double, double *, int64_t);

int main(void)
{
    float one = 1, a[4] = {1, 1, 1, 1}, c[4] = {7, 7, 7, 7};
    double wide[4] = {1, 1, 1, 1}, wide_c[4] = {7, 7, 7, 7};
    int two = 2, less = 1, negative = -1;
    void *sgemm = dlsym(RTLD_DEFAULT, "sgemm_"), *dgemm = dlsym(RTLD_DEFAULT, "cblas_dgemm64_");
    fortran_t *by_fortran;
    cblas_t *by_cblas;
    if (!sgemm || !dgemm)
        return 1;
    memcpy(&by_fortran, &sgemm, sizeof by_fortran);
    memcpy(&by_cblas, &dgemm, sizeof by_cblas);
    by_fortran("N", "?", &two, &two, &two, &one, a, &two, a, &two, &one, c, &two, 1, 1);
    by_fortran("N", "N", &negative, &two, &two, &one, a, &less, a, &two, &one, c, &two, 1, 1);
    by_cblas(99, 111, 111, 2, 2, 2, 1, wide, 2, wide, 2, 1, wide_c, 2);
    by_cblas(101, 111, 111, 2, 2, 2, 1, wide, 1, wide, 2, 1, wide_c, 2);
    by_cblas(102, 111, 111, 2, 2, 2, 1, wide, 1, wide, 2, 1, wide_c, 2);
    by_cblas(101, 111, 111, 2, -1, 2, 1, wide, 2, wide, 2, 1, wide_c, 2);
    by_cblas(101, 111, 111, 2, 2, 2, 1, wide, 2, wide, 2, 1, wide_c, 1);
    printf("still here, C is %g %g %g %g\n", c[0], c[3], wide_c[0], wide_c[3]);
    return 0;
}
