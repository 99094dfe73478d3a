/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_run.h - runs a plain kernel for one problem on the emulator, and checks the result. */
#pragma once

#include "plain_gemm/gemm_check.h"

/* What a kernel computes, as far as its parameters leave it open. */
typedef struct lab_gemm_meaning {
    lab_role sizes[3];                     /* what the slots with the roles M, N and K mean; usually M, N, K */
    lab_role unknown[3];                   /* what the first integer slots without a role mean */
    bool is_a_transposed, is_b_transposed; /* stored by columns */
    bool is_c_transposed;
    bool swaps_inputs; /* the slot with the role A is the right factor */
    bool adds_to_c;    /* C += A B, where the kernel has no beta */
    rung_activation activation;
    bool is_bias_per_row; /* one element per row of C instead of one per column */
} lab_gemm_meaning;

/* Outputs of earlier runs. The output depends on the values of the parameters and on the data, not on how the matrices are
 * interpreted, so one run serves many interpretations. Free with lab_gemm_outputs_free(). */
typedef struct lab_gemm_outputs {
    struct lab_gemm_output *items;
    int count;
} lab_gemm_outputs;

typedef struct lab_gemm_problem {
    int64_t m, n, k;
    double alpha, beta; /* used if the kernel has them */
    bool is_exact;      /* small integers, so that every sum is exact; otherwise uniform in [-1, 1) */
    uint64_t seed;
    uint32_t checks;           /* RUNG_EMULATOR_CHECK_ values */
    bool counts;               /* memory accesses */
    lab_gemm_outputs *outputs; /* where earlier runs of the same size and seed are; NULL: always run */
    void (*inspect)(void *user, const lab_gemm_product *product); /* called before the result is checked; may be NULL */
    void *user;
} lab_gemm_problem;

/* Runs one problem. */
lab_gemm_result lab_gemm_run(lab_gemm_kernel *kernel, const lab_gemm_meaning *meaning, const lab_gemm_problem *problem);

void lab_gemm_outputs_free(lab_gemm_outputs *outputs);

/* Evaluates the launch of a problem without running it. */
bool lab_gemm_launch_of(lab_gemm_kernel *kernel, const lab_gemm_meaning *meaning, int64_t m, int64_t n, int64_t k,
                        lab_gemm_launch *launch, char *why, size_t capacity);

/* Returns the items that a batched kernel multiplies per launch; 1 for other kernels. */
int64_t lab_gemm_batch(const lab_gemm_kernel *kernel);

/* Returns the meaning that names alone suggest. */
lab_gemm_meaning lab_gemm_meaning_default(void);
