/* SPDX-License-Identifier: Apache-2.0 */
/* scalapack.h - the one to hold rung_cluster_gemm against: ScaLAPACK's pdgemm and psgemm, opened at run time. */
#ifndef LAB_CLUSTER_SCALAPACK_H
#define LAB_CLUSTER_SCALAPACK_H

#include <stdbool.h>

#include "cluster/matrices.h"

/* The BLAS that ScaLAPACK calls: its path, found in a process of its own, since a BLAS looks at the environment when it is
 * loaded. False with a sentence if there is no ScaLAPACK for this MPI. */
bool scalapack_find_blas(char *path, size_t capacity, char *why, size_t why_capacity);

typedef struct scalapack {
    void *library;
    int context; /* BLACS's, of process_rows x process_cols */
    void (*get)(int, int, int *);
    void (*grid_init)(int *, const char *, int, int);
    void (*grid_exit)(int);
    void (*pdgemm)(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                   const int *, const int *, const int *, const double *, const int *, const int *, const int *,
                   const double *, double *, const int *, const int *, const int *);
    void (*psgemm)(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
                   const int *, const int *, const int *, const float *, const int *, const int *, const int *,
                   const float *, float *, const int *, const int *, const int *);
} scalapack_t;

/* After MPI_Init. Each rank loads it by itself; that it begins is for all ranks together. */
bool scalapack_load(scalapack_t *scalapack);
void scalapack_begin(const cluster_problem_t *problem, scalapack_t *scalapack);
void scalapack_close(scalapack_t *scalapack);

/* C = A B of block-cyclic matrices, F64 or F32. */
void scalapack_multiply(const scalapack_t *scalapack, const cluster_matrix_t *a, const cluster_matrix_t *b,
                        const cluster_matrix_t *c);

#endif /* LAB_CLUSTER_SCALAPACK_H */
