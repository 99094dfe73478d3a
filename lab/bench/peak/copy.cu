/* SPDX-License-Identifier: Apache-2.0 */
/* copy.cu - a device's bandwidth, for rung peak: no product of matrices.
 *
 * C gets A, element by element; B is not read. Neighbours read neighbours, and a thread has EACH
 * elements on their way before it writes the first. Both are one dense row, and all blocks but the last
 * ask nothing of its end, so that compilers for processors make vectors of it.
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
    const index_t start = (index_t)blockIdx.x * BN;
    const index_t first = start + threadIdx.x;
    GLOBAL const in_t *from = a + a_view.offset;
    GLOBAL out_t *to = c + c_view.offset;
    if (start + BN <= n) {
        in_t held[EACH];
        for (uint i = 0; i < EACH; i++)
            held[i] = from[first + i * THREADS];
        for (uint i = 0; i < EACH; i++)
            to[first + i * THREADS] = narrow(widen(held[i]));
    } else {
        for (index_t col = first; col < n; col += THREADS)
            to[col] = narrow(widen(from[col]));
    }
}
