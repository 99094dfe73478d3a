/* SPDX-License-Identifier: Apache-2.0 */
/* matrices.h - A, B and C on many ranks, filled and judged without anybody having all of them.
 *
 * Elements are small whole numbers by their place, so that any rank knows any of them, and sums are exact. C is judged by
 * Freivalds' test, as in exact.h: A (B x) against C x, each rank doing a part, and some elements in full besides. */
#ifndef LAB_CLUSTER_MATRICES_H
#define LAB_CLUSTER_MATRICES_H

#include <stdbool.h>

#include <mpi.h>

#include "product.h"
#include "rung/cluster.h"

typedef struct cluster_problem {
    rung_cluster_problem cluster;
    lab_product product; /* its types */
    rung_cluster_grid grid;
    int rank;
    int64_t process_rows, process_cols; /* of the block-cyclic layout, ... */
    int64_t block;                      /* ... and its square blocks */
} cluster_problem_t;

/* One operand on this rank, in one of the layouts; for free(). */
typedef struct cluster_matrix {
    rung_cluster_matrix matrix;
    rung_cluster_operand operand;
    int64_t elements; /* on this rank */
} cluster_matrix_t;

rung_status cluster_matrix_make(const cluster_problem_t *problem, rung_cluster_operand operand, bool is_cyclic,
                                cluster_matrix_t *made);

/* Whole numbers from -4 to 4; of C what no multiply leaves. */
void cluster_matrix_fill(const cluster_problem_t *problem, const cluster_matrix_t *matrix);

/* Whether C = A B, told to all ranks alike. */
bool cluster_matrix_judge(const cluster_problem_t *problem, const cluster_matrix_t *c);

/* The descriptor of a block-cyclic one, with that BLACS context. */
void cluster_matrix_describe(const cluster_matrix_t *matrix, int context, int descriptor[9]);

#endif /* LAB_CLUSTER_MATRICES_H */
