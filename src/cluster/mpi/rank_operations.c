/* SPDX-License-Identifier: Apache-2.0 */
/* rank_operations.c - see rank_operations.h. */
#include "cluster/mpi/rank_operations.h"

#include <string.h>

#include "cluster/mpi/cluster_epilogue.h"

static rung_status multiply_by_library(rungi_rank_operations_state *state, rung_matrix a, rung_matrix b, rung_matrix c)
{
    rung_problem problem = rung_problem_of(a, b, c);
    rung_multiply_options options = rung_multiply_options_default();
    int64_t corrected = 0;
    options.checked = state->options->checked;
    options.corrected = &corrected;
    rung_status status = rung_multiply(state->options->context, &problem, &options);
    state->corrected += corrected;
    return status;
}

static rung_status multiply(void *user, int64_t rows, int64_t cols, int64_t depth, const void *a, const void *b,
                            void *c)
{
    rungi_rank_operations_state *state = user;
    const rung_cluster_options *options = state->options;
    rung_matrix left = rung_matrix_of(state->input_type, rows, depth, a),
                right = rung_matrix_of(state->input_type, depth, cols, b);
    rung_matrix sums = rung_matrix_of(state->sum_type, rows, cols, c);
    rungi_cluster_comm_poll(state->comm); /* also lets MPI advance messages in flight */
    double start = rungi_cluster_now_seconds();
    rung_status status = options->multiply ? options->multiply(options->multiply_user, left, right, sums)
                                           : multiply_by_library(state, left, right, sums);
    state->multiply_seconds += rungi_cluster_now_seconds() - start;
    return status;
}

static void add(void *user, int64_t elements, const void *source, void *target)
{
    rungi_cluster_sums_add(((rungi_rank_operations_state *)user)->sum_type, elements, source, target);
}

static void copy(void *user, int64_t bytes, const void *source, void *target)
{
    (void)user;
    if (bytes > 0)
        memcpy(target, source, (size_t)bytes);
}

static void *allocate(void *user, int64_t bytes)
{
    return rungi_cluster_comm_allocate(((rungi_rank_operations_state *)user)->comm, bytes);
}

static void release(void *user, void *memory)
{
    rungi_cluster_comm_release(((rungi_rank_operations_state *)user)->comm, memory);
}

static char *address(void *user, void *memory, int64_t offset)
{
    (void)user;
    return memory ? (char *)memory + offset : NULL;
}

static rung_status wait(void *user, int64_t count, MPI_Request *requests, const int *ranks)
{
    return rungi_cluster_comm_wait(((rungi_rank_operations_state *)user)->comm, count, requests, ranks);
}

rungi_rank_operations rungi_rank_operations_of(rungi_rank_operations_state *state, int64_t message_bytes)
{
    return (rungi_rank_operations){.user = state,
                                   .multiply = multiply,
                                   .add = add,
                                   .copy = copy,
                                   .allocate = allocate,
                                   .release = release,
                                   .address = address,
                                   .wait = wait,
                                   .message_bytes = message_bytes};
}
