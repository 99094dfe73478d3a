/* SPDX-License-Identifier: Apache-2.0 */
/* fake_blas.h - what a fake BLAS library records of its last call. */
#ifndef FAKE_BLAS_H
#define FAKE_BLAS_H

#include <stdint.h>

typedef struct fake_blas_record {
    int64_t calls, threads; /* threads: those it was told before the last call */
    const void *a;
    int64_t lda;
    int32_t added; /* to the first column, of whole numbers */
} fake_blas_record_t;

#endif /* FAKE_BLAS_H */
