/* SPDX-License-Identifier: Apache-2.0 */
/* copy.cu - a device's bandwidth, for rung peak: no product of matrices.
 *
 * C gets A, element by element; B is not read. Neighbours read neighbours, and a thread has EACH
 * elements on their way before it writes the first.
 */
#include "dialect.h"

#ifndef EACH
#define EACH 8 // 4 8 16
#endif
#ifndef THREADS
#define THREADS 256 // 64 128 256
#endif

#if EACH < 1 || EACH > 64
#error "EACH is a number from 1 to 64"
#endif
#if THREADS < 1 || THREADS > 1024
#error "THREADS must fit a block of 1024"
#endif

#define BM 1
#define BN (THREADS * EACH)

KERNEL(THREADS)
rung_peak_copy(index_t m, index_t n, index_t k,
               sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
               GLOBAL const in_t *__restrict__ b, view_t b_view,
               sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    const index_t first = (index_t)blockIdx.x * BN + threadIdx.x;
    sum_t held[EACH];
    for (uint i = 0; i < EACH; i++)
        if (first + i * THREADS < n)
            held[i] = widen(a[at(a_view, 0, first + i * THREADS)]);
    for (uint i = 0; i < EACH; i++)
        if (first + i * THREADS < n)
            store(&c[at(c_view, 0, first + i * THREADS)], alpha, held[i], beta);
}
