/* SPDX-License-Identifier: Apache-2.0 */
/* local.c - see local.h. */
#include "cluster/mpi/local.h"

#include <string.h>

#include "cluster/mpi/finish.h"

static rung_status multiply(void *user, int64_t rows, int64_t cols, int64_t depth, const void *a, const void *b,
                            void *c)
{
    rungi_machine *machine = user;
    const rung_cluster_options *options = machine->options;
    rung_matrix left = rung_matrix_of(machine->in, rows, depth, a), right = rung_matrix_of(machine->in, depth, cols, b);
    rung_matrix sums = rung_matrix_of(machine->sum, rows, cols, c);
    rungi_team_look(machine->team); /* which also lets MPI go on with what is under way */
    double start = rungi_seconds();
    rung_status status = options->multiply ? options->multiply(options->multiply_user, left, right, sums)
                                           : rung_gemm(options->context, 1.0, left, right, 0.0, sums);
    machine->multiplied += rungi_seconds() - start;
    return status;
}

static void add(void *user, int64_t elements, const void *source, void *target)
{
    rungi_add_sums(((rungi_machine *)user)->sum, elements, source, target);
}

static void copy(void *user, int64_t bytes, const void *source, void *target)
{
    (void)user;
    if (bytes > 0)
        memcpy(target, source, (size_t)bytes);
}

static void *allocate(void *user, int64_t bytes)
{
    return rungi_team_allocate(((rungi_machine *)user)->team, bytes);
}

static void release(void *user, void *memory)
{
    rungi_team_release(((rungi_machine *)user)->team, memory);
}

static char *at(void *user, void *memory, int64_t offset)
{
    (void)user;
    return memory ? (char *)memory + offset : NULL;
}

static rung_status wait(void *user, int64_t count, MPI_Request *requests, const int *ranks)
{
    return rungi_team_wait(((rungi_machine *)user)->team, count, requests, ranks);
}

rungi_local rungi_local_of(rungi_machine *machine, int64_t message_bytes)
{
    return (rungi_local){.user = machine,
                         .multiply = multiply,
                         .add = add,
                         .copy = copy,
                         .allocate = allocate,
                         .release = release,
                         .at = at,
                         .wait = wait,
                         .message_bytes = message_bytes};
}
