/* SPDX-License-Identifier: Apache-2.0 */
/* large_messages.c - more than 2^31 bytes from one rank to another, which no int counts: rank 1 has all of A, rank 0 multiplies.
 *
 *     mpirun -n 2 large        takes some 10 GB of memory */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "rung/cluster.h"

static const int64_t size = 48000; /* squared, 2.3e9 elements of one byte */

static int8_t value_of(int64_t row, int64_t col)
{
    return (int8_t)((row * 7 + col * 3 + (row * col) % 11) % 5 - 2);
}

static int check(const int32_t *c)
{
    for (int64_t row = 0; row < size; row += row < 64 || row > size - 64 ? 1 : 97) {
        int32_t sum = 0;
        for (int64_t col = 0; col < size; col++)
            sum += value_of(row, col) * (int32_t)(col % 3);
        if (c[row] != sum) {
            printf("C(%lld) is %d, and %d is right\n", (long long)row, c[row], sum);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    int rank, ranks, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int8_t *a = rank == 1 ? malloc((size_t)(size * size)) : NULL, *b = malloc((size_t)size);
    int32_t *c = calloc((size_t)size, sizeof *c);
    if (ranks != 2 || !b || !c || (rank == 1 && !a)) {
        printf("it takes two ranks and 10 GB of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 77);
    }
    for (int64_t i = 0; a && i < size * size; i++)
        a[i] = value_of(i / size, i % size);
    for (int64_t i = 0; i < size; i++)
        b[i] = (int8_t)(i % 3);
    const int64_t whole[] = {0, size}, one[] = {0, 1};
    rung_matrix of_a = rung_matrix_of(RUNG_I8, size, size, a), of_b = rung_matrix_of(RUNG_I8, size, 1, b);
    rung_matrix of_c = rung_matrix_of(RUNG_I32, size, 1, c);
    rung_cluster_matrix matrices[3] = {
        rung_cluster_matrix_of_blocks(RUNG_I8, size, size,
                                      &(rung_cluster_blocks){1, 1, whole, whole, (const int[]){1}, &of_a, rank == 1}),
        rung_cluster_matrix_of_blocks(RUNG_I8, size, 1,
                                      &(rung_cluster_blocks){1, 1, whole, one, (const int[]){0}, &of_b, rank == 0}),
        rung_cluster_matrix_of_blocks(RUNG_I32, size, 1,
                                      &(rung_cluster_blocks){1, 1, whole, one, (const int[]){1}, &of_c, rank == 1})};
    rung_cluster_grid grid = rung_cluster_grid_of(1, 1, 1);
    rung_cluster_report *report;
    rung_cluster_options options = rung_cluster_options_default();
    options.grid = &grid;
    if (rung_cluster_gemm(MPI_COMM_WORLD, 1.0, &matrices[0], &matrices[1], 0.0, &matrices[2], &options, &report) !=
        RUNG_OK) {
        printf("rank %d: %s\n", rank, rung_error_text());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0 && report->redistributed_bytes != size * size)
        wrong = printf("%lld bytes came\n", (long long)report->redistributed_bytes) > 0;
    rung_cluster_report_destroy(report);
    if (rank == 1)
        wrong = check(c);
    if (rank == 1 && !wrong)
        printf("%lld bytes in one go: all right\n", (long long)(size * size));
    MPI_Finalize();
    return wrong;
}
