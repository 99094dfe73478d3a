/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.c - a multiply on thousands of ranks that are not here: the library's own schedule, compiled for SimGrid's
 * MPI, whose messages take the time that a network of the platform file would take. Multiplying and adding are
 * replaced by what they would cost; there is one memory for all ranks, and nobody looks into it.
 *
 *     simulate M N K PRODUCT FLOPS NETWORK MEMORY [PM PN PK SM SN]
 *
 * FLOPS, NETWORK and MEMORY are a rank's FLOP/s and bytes a second, as the platform has the first two. Without a
 * grid, the one that the library chooses: of the least time, or, for speeds of 0, of the fewest bytes. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/mpi/schedule.h"

/* All ranks are threads of one process and share these. */
static const int64_t shared_bytes = (int64_t)1 << 30;
static void *shared_memory;

typedef struct simulated_rank {
    double flops, network, memory;
    double sum; /* bytes */
} simulated_rank_t;

static void simulate_seconds(const simulated_rank_t *rank_speed, double seconds)
{
    smpi_execute_flops(seconds * rank_speed->flops);
}

static rung_status multiply(void *user, int64_t rows, int64_t cols, int64_t depth, const void *a, const void *b,
                            void *c)
{
    (void)user, (void)a, (void)b, (void)c;
    smpi_execute_flops(2.0 * (double)rows * (double)cols * (double)depth);
    return RUNG_OK;
}

/* Two are read and one is written. */
static void add(void *user, int64_t elements, const void *source, void *target)
{
    const simulated_rank_t *rank_speed = user;
    (void)source, (void)target;
    simulate_seconds(rank_speed, 3.0 * rank_speed->sum * (double)elements / rank_speed->memory);
}

static void copy(void *user, int64_t bytes, const void *source, void *target)
{
    const simulated_rank_t *rank_speed = user;
    (void)source, (void)target;
    simulate_seconds(rank_speed, 2.0 * (double)bytes / rank_speed->memory);
}

static void *allocate(void *user, int64_t bytes)
{
    (void)user, (void)bytes;
    return shared_memory;
}

static void release(void *user, void *memory)
{
    (void)user, (void)memory;
}

static char *address(void *user, void *memory, int64_t offset)
{
    (void)user, (void)offset;
    return memory;
}

static rung_status wait_all(void *user, int64_t count, MPI_Request *requests, const int *ranks)
{
    (void)user, (void)ranks;
    return MPI_Waitall((int)count, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS ? RUNG_OK : RUNG_STATUS_DEVICE_LOST;
}

static rung_type type_named(const char *name)
{
    int type = RUNG_TYPE_NONE;
    while (strcmp(rung_type_name((rung_type)type), "?") != 0 && strcmp(rung_type_name((rung_type)type), name) != 0)
        type++;
    return (rung_type)type;
}

/* Reads "f32", or "f16:f32" for F32 from F16; C of I8 is I32. */
static void read_types(const char *name, rung_type *in, rung_type *out)
{
    char first[16];
    const char *colon = strchr(name, ':');
    snprintf(first, sizeof first, "%.*s", colon ? (int)(colon - name) : 15, name);
    *in = type_named(first);
    *out = colon ? type_named(colon + 1) : *in == RUNG_I8 ? RUNG_I32 : *in;
}

static void print(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, const rung_cluster_cost *cost,
                  const simulated_rank_t *rank_speed, const char *types, const int64_t max[2], double seconds)
{
    double work = 2.0 * (double)cluster->m * (double)cluster->n * (double)cluster->k;
    printf("{\"ranks\": %lld, \"m\": %lld, \"n\": %lld, \"k\": %lld, \"product\": \"%s\", "
           "\"grid\": [%lld, %lld, %lld], \"steps\": [%lld, %lld], ",
           (long long)cluster->ranks, (long long)cluster->m, (long long)cluster->n, (long long)cluster->k, types,
           (long long)grid->pm, (long long)grid->pn, (long long)grid->pk, (long long)grid->a_chunks,
           (long long)grid->b_chunks);
    printf("\"received\": %lld, \"predicted\": %lld, \"bound\": %.0f, \"messages\": %lld, \"memory\": %lld, "
           "\"seconds\": %.6f, \"of_peak\": %.4f}\n",
           (long long)max[0], (long long)cost->received_bytes, cost->bound_bytes, (long long)max[1],
           (long long)cost->memory_bytes, seconds, work / (double)cluster->ranks / rank_speed->flops / seconds);
}

/* Between two barriers, as every rank's clock is the simulation's. */
static double timed_run(rungi_schedule *schedule)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    if (rungi_schedule_prepare(schedule) != RUNG_OK || rungi_schedule_run(schedule) != RUNG_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    rungi_schedule_free(schedule);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - start;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 8 && argc != 13) {
        fprintf(stderr, "simulate M N K PRODUCT FLOPS NETWORK MEMORY [PM PN PK SM SN]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (!shared_memory)
        shared_memory = SMPI_SHARED_MALLOC((size_t)shared_bytes);
    rung_type in, out;
    read_types(argv[4], &in, &out);
    rung_cluster_problem cluster = rung_cluster_problem_of(ranks, atoll(argv[1]), atoll(argv[2]), atoll(argv[3]), in,
                                                           in, out);
    simulated_rank_t rank_speed = {.flops = atof(argv[5]), .network = atof(argv[6]), .memory = atof(argv[7])};
    rank_speed.sum = (double)rungi_cluster_sum_element_bytes(&cluster);
    cluster.flops_per_second = rank_speed.network > 0.0 ? rank_speed.flops : 0.0;
    cluster.bytes_per_second = rank_speed.network;
    rung_cluster_grid grid = rung_cluster_grid_of(1, 1, 1);
    rung_cluster_cost cost = rung_cluster_cost_default();
    if (argc == 13) {
        grid = rung_cluster_grid_of(atoll(argv[8]), atoll(argv[9]), atoll(argv[10]));
        grid.a_chunks = atoll(argv[11]);
        grid.b_chunks = atoll(argv[12]);
    } else if (rung_cluster_grid_choose(&cluster, &grid) != RUNG_OK) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0 && rung_cluster_grid_cost(&cluster, &grid, &cost) != RUNG_OK)
        MPI_Abort(MPI_COMM_WORLD, 2);
    rungi_rank_operations operations = {.user = &rank_speed,
                                        .multiply = multiply,
                                        .add = add,
                                        .copy = copy,
                                        .allocate = allocate,
                                        .release = release,
                                        .address = address,
                                        .wait = wait_all,
                                        .message_bytes = shared_bytes};
    rungi_schedule schedule = {.comm = MPI_COMM_WORLD,
                               .rank = rank,
                               .cluster = &cluster,
                               .grid = &grid,
                               .operations = &operations,
                               .a = shared_memory,
                               .b = shared_memory,
                               .c = shared_memory};
    double seconds = timed_run(&schedule);
    int64_t mine[2] = {schedule.traffic.bytes, schedule.traffic.messages}, max[2];
    MPI_Reduce(mine, max, 2, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        print(&cluster, &grid, &cost, &rank_speed, argv[4], max, seconds);
    MPI_Finalize();
    return 0;
}
