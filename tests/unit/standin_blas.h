/* SPDX-License-Identifier: Apache-2.0 */
/* standin_blas.h - what a stand-in for somebody's BLAS remembers of its last call. */
#ifndef STANDIN_BLAS_H
#define STANDIN_BLAS_H

#include <stdint.h>

typedef struct standin_record {
    int64_t calls, threads; /* threads: those it was told before the last call */
    const void *a;
    int64_t lda;
    int32_t added; /* to the first column, of whole numbers */
} standin_record_t;

#endif /* STANDIN_BLAS_H */
