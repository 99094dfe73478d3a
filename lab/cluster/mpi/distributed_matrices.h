/* SPDX-License-Identifier: Apache-2.0 */
/* distributed_matrices.h - creates, fills and checks A, B and C on many ranks; no rank holds a whole matrix.
 *
 * Elements are small integers that depend on their position, so every rank can compute every element, and sums are exact. C
 * is checked with Freivalds' test (see freivalds.h): A (B x) is compared with C x. Some elements are computed in full. */
#pragma once

#include <stdbool.h>

#include <mpi.h>

#include "common/type_pair.h"
#include "rung/cluster.h"

typedef struct lab_cluster_problem {
    rung_cluster_problem cluster;
    lab_type_pair product; /* its types */
    rung_cluster_grid grid;
    int rank;
    int64_t process_rows, process_cols; /* of the block-cyclic layout, ... */
    int64_t block;                      /* ... and its square blocks */
} lab_cluster_problem;

/* This rank's part of an operand. The caller frees matrix.data. */
typedef struct lab_cluster_matrix {
    rung_cluster_matrix matrix;
    rung_cluster_operand operand;
    int64_t elements; /* on this rank */
} lab_cluster_matrix;

rung_status lab_cluster_matrix_create(const lab_cluster_problem *problem, rung_cluster_operand operand, bool is_cyclic,
                                      lab_cluster_matrix *created);

/* Fills A or B with integers from -4 to 4, C with a value that no multiply produces. */
void lab_cluster_matrix_fill(const lab_cluster_problem *problem, const lab_cluster_matrix *matrix);

/* Returns whether C = A * B; the same result on all ranks. */
bool lab_cluster_matrix_check(const lab_cluster_problem *problem, const lab_cluster_matrix *c);
