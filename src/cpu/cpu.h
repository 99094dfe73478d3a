/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - the CPU device: its backend table, and what its kernels are given. */
#ifndef RUNGI_CPU_H
#define RUNGI_CPU_H

#include "core/backend.h"

extern const rungi_backend rungi_cpu_backend;

/* An operand: element (i, j) is at first[i * row_stride + j * col_stride]. */
typedef struct rungi_cpu_input {
    const void *first;
    int64_t     row_stride, col_stride;
} rungi_cpu_input;

typedef struct rungi_cpu_output {
    void   *first;
    int64_t row_stride, col_stride;
} rungi_cpu_output;

/* C = alpha * A * B + beta * C with m, n > 0, and what follows it; one item of a batch.
 * A kernel reads neither A nor B where k is 0, and does not read C where beta is 0. */
typedef struct rungi_cpu_job {
    rung_type        in, out;
    int64_t          m, n, k;
    double           alpha, beta;
    rungi_cpu_input  a, b;
    rungi_cpu_output c;
    rungi_cpu_input  bias, residual; /* first is NULL if there is none */
    rung_activation  activation;
} rungi_cpu_job;

typedef void rungi_cpu_kernel(const rungi_cpu_job *job);

#endif /* RUNGI_CPU_H */
