/* SPDX-License-Identifier: Apache-2.0 */
/* scalapack.h - ScaLAPACK's pdgemm and psgemm, loaded at run time, for comparison with rung_cluster_gemm. */
#pragma once

#include <stdbool.h>

#include "cluster/mpi/distributed_matrices.h"

/* Finds the path of the BLAS that ScaLAPACK uses. A child process loads it, because a BLAS reads the environment when it is
 * loaded. Returns false and writes `reason` if there is no ScaLAPACK for this MPI. */
bool lab_scalapack_find_blas(char *path, size_t capacity, char *reason, size_t reason_capacity);

typedef struct lab_scalapack {
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
} lab_scalapack;

/* Call both after MPI_Init. Each rank loads the library; all ranks together call lab_scalapack_begin(). */
bool lab_scalapack_load(lab_scalapack *scalapack);
void lab_scalapack_begin(const lab_cluster_problem *problem, lab_scalapack *scalapack);
void lab_scalapack_close(lab_scalapack *scalapack);

/* Computes C = A * B of block-cyclic F64 or F32 matrices. */
void lab_scalapack_multiply(const lab_scalapack *scalapack, const lab_cluster_matrix *a, const lab_cluster_matrix *b,
                            const lab_cluster_matrix *c);
