/* SPDX-License-Identifier: Apache-2.0 */
/* failures.c - what goes wrong on one rank ends the call on all of them, with a sentence that names it.
 *
 *     mpirun -n 4 failures refuse          wrong arguments, on each rank in turn, and a right call behind each
 *     mpirun -n 4 failures multiply        a rank that cannot multiply
 *     mpirun -n 4 failures send            a message that cannot be sent, each in turn
 *     mpirun -n 4 failures first           a rank that does not make the first call; ends the job
 *     mpirun -n 4 failures slow            ranks that take longer than the silence, but answer: nothing goes wrong
 *     mpirun -n 4 failures absent RANK     a rank that does not call; ends the job
 *     mpirun -n 4 failures stop RANK       a rank that stops in the middle (SIGSTOP); ends the job */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include "mpi_faults.h"
#include "rung/cluster.h"

enum { SIZE = 24 };

static int rank, ranks;

static void check(int is_good, const char *what)
{
    if (is_good)
        return;
    printf("rank %d: %s; the last sentence was: %s\n", rank, what, rung_error_text());
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- A call that is right, and ways to spoil it --------------------------------------------------- */

typedef struct gemm_call {
    rung_cluster_matrix a, b, c;
    double alpha;
    rung_cluster_grid grid;
    rung_cluster_options options;
} gemm_call_t;

static double a_memory[SIZE * SIZE], b_memory[SIZE * SIZE], c_memory[SIZE * SIZE];

static gemm_call_t valid_call(void)
{
    int descriptor[9] = {1, 0, SIZE, SIZE, 5, 5, 0, 0, SIZE};
    gemm_call_t call = {.a = rung_cluster_matrix_of_scalapack(RUNG_F64, descriptor, 1, ranks, 0, a_memory),
                        .b = rung_cluster_matrix_of_scalapack(RUNG_F64, descriptor, ranks, 1, 0, b_memory),
                        .c = rung_cluster_matrix_of_scalapack(RUNG_F64, descriptor, ranks, 1, 1, c_memory),
                        .alpha = 1.0,
                        .grid = rung_cluster_grid_of(1, ranks, 1),
                        .options = rung_cluster_options_default()};
    call.grid.a_chunks = 2;
    for (int i = 0; i < SIZE * SIZE; i++) {
        a_memory[i] = b_memory[i] = 1.0;
        c_memory[i] = NAN;
    }
    call.options.timeout_seconds = 20;
    return call;
}

static rung_status run_call_on(MPI_Comm comm, gemm_call_t *call)
{
    call->options.grid = &call->grid;
    rung_cluster_report *report = NULL;
    rung_status status = rung_cluster_gemm(comm, call->alpha, &call->a, &call->b, 0.0, &call->c, &call->options,
                                           &report);
    check(report != NULL && report->grid != NULL, "there is no report");
    rung_cluster_report_destroy(report);
    return status;
}

static rung_status run_call(gemm_call_t *call)
{
    return run_call_on(MPI_COMM_WORLD, call);
}

static void expect_valid_call(const char *behind)
{
    gemm_call_t call = valid_call();
    check(run_call(&call) == RUNG_OK, behind);
    for (int i = 0; i < SIZE * SIZE && rank == 0; i++)
        check(isnan(c_memory[i]) || c_memory[i] == SIZE, "a right call gave a wrong result");
}

/* clang-format off */
static void spoil_memory(gemm_call_t *call)   { call->a.data = NULL; }
static void spoil_rows(gemm_call_t *call)     { call->a.rows++; }
static void spoil_type(gemm_call_t *call)     { call->b.type = RUNG_F32; }
static void spoil_lines(gemm_call_t *call)    { call->c.cyclic.ld = 1; }
static void spoil_source(gemm_call_t *call)   { call->b.cyclic.row_source = ranks; }
static void spoil_kind(gemm_call_t *call)     { call->c.layout = (rung_cluster_layout)7; }
static void spoil_message(gemm_call_t *call)  { call->options.max_message_bytes = -1; }
static void spoil_grid(gemm_call_t *call)     { call->grid.pk = 100; }
static void spoil_limit(gemm_call_t *call)    { call->options.memory_bytes = 1000; } /* of which the grid needs more */
static void spoil_same(gemm_call_t *call)     { call->alpha = 2.0; } /* right by itself, and not what the others say */
static void spoil_block(gemm_call_t *call)    { call->a.cyclic.col_block = 4; }
static void spoil_size(gemm_call_t *call)     { call->b.size = 0; } /* as if it were initialised by {0} */
static void spoil_options(gemm_call_t *call)  { call->options.size = 0; }
static void spoil_shape(gemm_call_t *call)    { call->grid.size = 0; }
static void spoil_timeout(gemm_call_t *call)  { call->options.timeout_seconds = 0; }
static void spoil_steps(gemm_call_t *call)    { call->grid.a_chunks = 3; }
/* clang-format on */

static const struct {
    const char *what;
    void (*spoil)(gemm_call_t *call);
    rung_status status;
} ways[] = {
    {"no memory", spoil_memory, RUNG_STATUS_INVALID},
    {"other sizes", spoil_rows, RUNG_STATUS_INVALID},
    {"other types", spoil_type, RUNG_STATUS_UNSUPPORTED},
    {"a leading dimension", spoil_lines, RUNG_STATUS_INVALID},
    {"a source", spoil_source, RUNG_STATUS_INVALID},
    {"a kind", spoil_kind, RUNG_STATUS_INVALID},
    {"a message's length", spoil_message, RUNG_STATUS_INVALID},
    {"a grid", spoil_grid, RUNG_STATUS_INVALID},
    {"another alpha", spoil_same, RUNG_STATUS_INVALID},
    {"other blocks", spoil_block, RUNG_STATUS_INVALID},
    {"other steps", spoil_steps, RUNG_STATUS_INVALID},
    {"a grid's memory", spoil_limit, RUNG_STATUS_NO_MEMORY},
    {"the size of B", spoil_size, RUNG_STATUS_INVALID},
    {"the size of options", spoil_options, RUNG_STATUS_INVALID},
    {"the size of a grid", spoil_shape, RUNG_STATUS_INVALID},
    {"no timeout", spoil_timeout, RUNG_STATUS_INVALID},
};

/* Where a difference to rank 0 is all that is wrong, rank 0's own is found on the first of the others. */
static int error_names_rank(int failing_rank)
{
    char expected[32];
    snprintf(expected, sizeof expected, "rank %d: ", failing_rank);
    return strncmp(rung_error_text(), expected, strlen(expected)) == 0;
}

static void run_invalid_arguments(void)
{
    expect_valid_call("the first call fails");
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (int failing_rank = 0; failing_rank < ranks; failing_rank++) {
            gemm_call_t call = valid_call();
            if (rank == failing_rank)
                ways[way].spoil(&call);
            check(run_call(&call) == ways[way].status, ways[way].what);
            check(error_names_rank(failing_rank) || (failing_rank == 0 && error_names_rank(1)),
                  "the sentence names another rank");
            check(!strstr(ways[way].what, "size of") || strstr(rung_error_text(), ".size is"),
                  "the sentence names no size");
            expect_valid_call("a right call behind a refused one fails");
        }
}

/* ---- Multiplies that fail, sleep or stop ---------------------------------------------------------- */

static int failing_rank, count;

static rung_status fail_second(void *user, rung_matrix a, rung_matrix b, rung_matrix c)
{
    (void)user;
    if (rank == failing_rank && ++count == 2)
        return rung_error_set(RUNG_STATUS_UNSUPPORTED, "this device is out of order");
    return rung_gemm(NULL, 1.0, a, b, 0.0, c);
}

static rung_status stop_second(void *user, rung_matrix a, rung_matrix b, rung_matrix c)
{
    (void)user;
    if (rank == failing_rank && ++count == 2)
        raise(SIGSTOP);
    return rung_gemm(NULL, 1.0, a, b, 0.0, c);
}

static rung_status sleep_first(void *user, rung_matrix a, rung_matrix b, rung_matrix c)
{
    (void)user;
    nanosleep(&(struct timespec){.tv_nsec = 600 * 1000 * 1000}, NULL);
    return rung_gemm(NULL, 1.0, a, b, 0.0, c);
}

static void fail_multiply(void)
{
    for (failing_rank = 0; failing_rank < ranks; failing_rank++) {
        gemm_call_t call = valid_call();
        call.options.multiply = fail_second;
        count = 0;
        check(run_call(&call) == RUNG_STATUS_UNSUPPORTED, "a multiply failed, and the call did not");
        check(error_names_rank(failing_rank) && strstr(rung_error_text(), "out of order"), "the sentence is another");
        expect_valid_call("a right call behind a failed multiply fails");
    }
}

/* ---- Messages that cannot be sent ----------------------------------------------------------------- */

/* On a communicator of its own, that message of the culprit's fails: no rank takes its result for right. */
static void fail_send(int number)
{
    MPI_Comm comm;
    gemm_call_t call = valid_call();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    fault_sends = 0;
    fault_at = rank == failing_rank ? number : 0;
    rung_status status = run_call_on(comm, &call);
    check(status == RUNG_STATUS_DEVICE_LOST, "a message could not be sent, and the call did not fail");
    check(strstr(rung_error_text(), "MPI failed") != NULL, "the sentence is another");
    check(rank != failing_rank || fault_sends >= number, "it was not sent at all");
    fault_at = 0;
    check(run_call_on(comm, &call) == RUNG_STATUS_DEVICE_LOST, "the communicator is broken, and a call goes through");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All that a right call sends, but for the first rank's last words: who has heard them that all is well may go. */
static void fail_sends(void)
{
    MPI_Comm comm;
    gemm_call_t call = valid_call();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    fault_sends = 0;
    check(run_call_on(comm, &call) == RUNG_OK, "the first call fails");
    int sent = fault_sends, messages;
    for (failing_rank = 0; failing_rank < ranks; failing_rank++) {
        messages = sent - (rank == 0 ? ranks - 2 : 0);
        MPI_Bcast(&messages, 1, MPI_INT, failing_rank, MPI_COMM_WORLD);
        check(messages >= 3, "a rank agrees three times, and sent less");
        for (int number = 1; number <= messages; number++)
            fail_send(number);
    }
    check(run_call_on(comm, &call) == RUNG_OK, "a communicator on which all went well is broken");
}

/* Only the first rank multiplies, for longer than the silence; the others wait for their parts of C. They have asked by then,
 * and the communicator is freed with questions under way. */
static void run_with_slow_rank(void)
{
    MPI_Comm comm;
    gemm_call_t call = valid_call();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    call.grid = rung_cluster_grid_of(1, 1, 1);
    call.grid.a_chunks = 4;
    call.options.multiply = sleep_first;
    call.options.timeout_seconds = 1.5;
    check(run_call_on(comm, &call) == RUNG_OK, "a rank that was slow counts as lost");
    call.options.multiply = NULL;
    call.options.timeout_seconds = 60;
    check(run_call_on(comm, &call) == RUNG_OK, "a call behind a slow one fails");
    time_t start = time(NULL);
    MPI_Comm_free(&comm);
    check(time(NULL) - start < 30, "a communicator is freed as if a rank were gone");
    expect_valid_call("a call behind a communicator that was freed fails");
}

/* What the others see of a rank that is gone, and how long that takes. */
static void expect_lost_rank(gemm_call_t *call)
{
    struct timespec start, end;
    char expected[32];
    clock_gettime(CLOCK_MONOTONIC, &start);
    check(run_call(call) == RUNG_STATUS_DEVICE_LOST, "a rank is gone, and the call did not fail");
    clock_gettime(CLOCK_MONOTONIC, &end);
    snprintf(expected, sizeof expected, "rank %d ", failing_rank);
    check(strstr(rung_error_text(), expected) != NULL, "the sentence does not name the rank that is gone");
    check((double)(end.tv_sec - start.tv_sec) < 5 * call->options.timeout_seconds, "it took too long");
    printf("rank %d: %s\n", rank, rung_error_text());
    fflush(stdout);
    check(run_call(call) == RUNG_STATUS_DEVICE_LOST, "the communicator is broken, and a call goes through");
    sleep(1); /* for the others to say so too */
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* The first call of all, which nobody can be asked in; the second fails at once. */
static void run_with_missing_first_call(void)
{
    gemm_call_t call = valid_call();
    call.options.timeout_seconds = 2;
    if (rank == failing_rank)
        sleep(60);
    check(run_call(&call) == RUNG_STATUS_DEVICE_LOST, "a rank never called, and the call did not fail");
    call.options.timeout_seconds = 60;
    time_t start = time(NULL);
    check(run_call(&call) == RUNG_STATUS_DEVICE_LOST, "the communicator is broken, and a call goes through");
    check(time(NULL) - start < 2, "a second call on a broken communicator waited again");
    printf("rank %d: %s\n", rank, rung_error_text());
    fflush(stdout);
    sleep(1);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void run_with_lost_rank(int stops)
{
    expect_valid_call("the first call fails");
    gemm_call_t call = valid_call();
    call.options.timeout_seconds = 2;
    if (stops)
        call.options.multiply = stop_second;
    else if (rank == failing_rank)
        sleep(60);
    expect_lost_rank(&call);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    failing_rank = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(what, "refuse") == 0)
        run_invalid_arguments();
    else if (strcmp(what, "multiply") == 0)
        fail_multiply();
    else if (strcmp(what, "send") == 0)
        fail_sends();
    else if (strcmp(what, "slow") == 0)
        run_with_slow_rank();
    else if (strcmp(what, "first") == 0)
        run_with_missing_first_call();
    else
        run_with_lost_rank(strcmp(what, "stop") == 0);
    if (rank == 0)
        printf("%s: all right\n", what);
    MPI_Finalize();
    return 0;
}
