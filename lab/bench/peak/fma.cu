/* SPDX-License-Identifier: Apache-2.0 */
/* fma.cu - a device's peak of multiply-adds, for rung peak: no product of matrices.
 *
 * Each thread keeps SUMS sums in registers, more than the instructions' latency needs, and runs k
 * steps: 2 SUMS k operations a thread. The factor and what is added come from A and B, one element
 * each, so that no compiler knows them; with ones, sum i ends as i + k, and C gets all of them
 * together: SUMS k + SUMS (SUMS - 1) / 2. A loop that was shortened shows there.
 *
 * k is a multiple of STEPS. With MEET the threads of a block meet before each STEPS of them, which costs a GPU
 * a little, and lets a compiler for processors make vectors of neighbouring threads.
 */
#include "dialect.h"

#ifndef SUMS
#define SUMS 16 // 8 16 32 64 128
#endif
#ifndef MEET
#define MEET 0 // 0 1
#endif
#ifndef THREADS
#define THREADS 256 // 64 128 256
#endif

#if SUMS < 1 || SUMS > 128
#error "SUMS is a number from 1 to 128"
#endif
#if THREADS < 1 || THREADS > 1024
#error "THREADS must fit a block of 1024"
#endif

#define STEPS 16
#define BM 1
#define BN THREADS

KERNEL(THREADS)
rung_peak_fma(index_t m, index_t n, index_t k,
              sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
              GLOBAL const in_t *__restrict__ b, view_t b_view,
              sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    const index_t col = (index_t)blockIdx.x * BN + threadIdx.x;
    const sum_t factor = widen(a[at(a_view, 0, 0)]), step = widen(b[at(b_view, 0, 0)]);
    sum_t sums[SUMS];
    for (uint i = 0; i < SUMS; i++)
        sums[i] = (sum_t)i;
    for (index_t l = 0; l < k; l += STEPS) {
#if MEET
        __syncthreads();
#endif
        for (uint j = 0; j < STEPS; j++)
            for (uint i = 0; i < SUMS; i++)
                sums[i] = sums[i] * factor + step;
    }

    sum_t total = 0;
    for (uint i = 0; i < SUMS; i++)
        total += sums[i];
    if (col < n)
        store(&c[at(c_view, 0, col)], alpha, total, beta);
}
