/* SPDX-License-Identifier: Apache-2.0 */
/* liveness.c - see liveness.h. */
#include "cluster/mpi/liveness.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked_arithmetic.h"
#include "base/clock.h"
#include "base/try.h"
#include "cluster/mpi/mpi_error.h"

enum { TAG_PROBE = 1, TAG_PROBE_REPLY, TAG_FAILURE };

/* A wait without events spins, then yields, then sleeps. There may be more ranks than processors, and a waiting rank must not
 * slow down the working ones. */
enum { SPIN_LOOPS = 20, YIELD_LOOPS = 200, SLEEP_NS = 50 * 1000 };

enum { POLL_MISSES = 4, MAX_RANKS_IN_MESSAGE = 4 };

double rungi_cluster_now_seconds(void)
{
    return (double)rungi_clock_ns() * 1e-9;
}

/* ---- Creating ------------------------------------------------------------------------------- */

static int comm_keyval = MPI_KEYVAL_INVALID;

/* Frees the buffers that no call uses. */
static void free_cached_buffers(rungi_cluster_comm *comm)
{
    for (int i = 0; i < RUNGI_CLUSTER_MAX_CACHED_BUFFERS; i++)
        if (!comm->cached_buffers[i].is_used) {
            free(comm->cached_buffers[i].memory);
            comm->cached_buffers[i].memory = NULL;
        }
}

/* Completes probes and replies in flight: each rank receives its replies, then replies to others until all ranks are done.
 * Returns false if a rank does not take part or has failed. */
static bool drain(rungi_cluster_comm *comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 0, code = MPI_SUCCESS;
    bool is_in = false;
    double end = rungi_cluster_now_seconds() + comm->timeout_seconds;
    while (code == MPI_SUCCESS && !done && !comm->is_broken && rungi_cluster_now_seconds() < end) {
        rungi_cluster_comm_poll(comm);
        if (!is_in && comm->pending_probes == 0) {
            code = MPI_Ibarrier(comm->data_comm, &request);
            is_in = true;
        }
        if (is_in && code == MPI_SUCCESS)
            code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done)
            sched_yield();
    }
    return done && !comm->is_broken;
}

static int free_duplicates(rungi_cluster_comm *comm)
{
    int code = MPI_Comm_free(&comm->data_comm);
    return code == MPI_SUCCESS ? MPI_Comm_free(&comm->control_comm) : code;
}

/* MPI calls this function when the communicator is freed. A broken state is leaked: messages may still arrive. */
static int delete_attribute(MPI_Comm mpi_comm, int key, void *value, void *user)
{
    rungi_cluster_comm *comm = value;
    (void)mpi_comm;
    (void)key;
    (void)user;
    if (comm->is_broken || !drain(comm))
        return MPI_SUCCESS;
    int code = free_duplicates(comm);
    free_cached_buffers(comm);
    free(comm);
    return code;
}

/* Completes a collective of the creation. No rank can be probed yet, so only the time limits the wait. */
static rung_status complete(int code, MPI_Request *request, double timeout_seconds)
{
    double start = rungi_cluster_now_seconds();
    int done = 0;
    while (code == MPI_SUCCESS && !done) {
        code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (!done && rungi_cluster_now_seconds() - start > timeout_seconds)
            return rungi_fail(RUNG_STATUS_DEVICE_LOST,
                              "a rank of the communicator has not called rung_cluster_gemm for %g s; all ranks "
                              "call it, or one has died: end the job",
                              timeout_seconds);
        if (!done)
            sched_yield();
    }
    return code == MPI_SUCCESS ? RUNG_OK : rungi_mpi_error_set(code);
}

/* Duplicates a communicator, together with all ranks. */
static rung_status duplicate(MPI_Comm mpi_comm, double timeout_seconds, MPI_Comm *copy)
{
    MPI_Request request;
    int code = MPI_Comm_idup(mpi_comm, copy, &request);
    TRY(complete(code, &request, timeout_seconds));
    code = MPI_Comm_set_errhandler(*copy, MPI_ERRORS_RETURN);
    return code == MPI_SUCCESS ? RUNG_OK : rungi_mpi_error_set(code);
}

/* Marks the communicator as broken by the last error of this rank. */
static void set_failure(rungi_cluster_comm *comm, rung_status status)
{
    comm->is_broken = true;
    comm->failure = (rungi_cluster_rank_status){.status = status, .rank = comm->rank};
    snprintf(comm->failure.text, sizeof comm->failure.text, "%s", rung_error_text());
}

/* Allocates an empty state. Returns NULL without memory. */
static rungi_cluster_comm *allocate_comm(int rank, int ranks)
{
    size_t statuses = rank == 0 && ranks > 2 ? (size_t)ranks : 2;
    size_t per_status = sizeof(rungi_cluster_rank_status) + sizeof(MPI_Request) + sizeof(int);
    rungi_cluster_comm *comm = calloc(1, sizeof *comm + statuses * per_status + (size_t)ranks);
    if (!comm)
        return NULL;
    comm->requests = (MPI_Request *)(comm->statuses + statuses);
    comm->peers = (int *)(comm->requests + statuses);
    comm->probe_states = (char *)(comm->peers + statuses);
    return comm;
}

/* Duplicates the communicator, and finds the lowest rank that votes for itself, or `ranks` if no rank does. */
static rung_status connect(MPI_Comm mpi_comm, double timeout_seconds, rungi_cluster_comm *comm)
{
    MPI_Request request;
    TRY(duplicate(mpi_comm, timeout_seconds, &comm->data_comm));
    TRY(duplicate(mpi_comm, timeout_seconds, &comm->control_comm));
    int code = MPI_Iallreduce(&comm->own_vote, &comm->lowest_vote, 1, MPI_INT, MPI_MIN, comm->data_comm, &request);
    return complete(code, &request, timeout_seconds);
}

/* Attaches the state to the communicator, so that the next call finds it. */
static rung_status attach_comm(MPI_Comm mpi_comm, rungi_cluster_comm *comm)
{
    int code = MPI_Comm_set_attr(mpi_comm, comm_keyval, comm);
    return code == MPI_SUCCESS ? RUNG_OK : rungi_cluster_comm_break(comm, rungi_mpi_error_set(code));
}

/* Creates a state, together with all ranks. A rank without memory takes part with a static state, so that the other ranks do
 * not wait for it. */
static rung_status create_comm(MPI_Comm mpi_comm, double timeout_seconds, rungi_cluster_comm **comm)
{
    static rungi_cluster_comm without_memory;
    int rank, ranks, code = MPI_Comm_rank(mpi_comm, &rank);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(mpi_comm, &ranks);
    if (code != MPI_SUCCESS)
        return rungi_mpi_error_set(code);
    rungi_cluster_comm *made = comm_keyval == MPI_KEYVAL_INVALID ? NULL : allocate_comm(rank, ranks);
    rungi_cluster_comm *used = made ? made : &without_memory;
    if (used->is_broken) /* MPI may still write to the static state */
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a communicator");
    used->rank = rank;
    used->ranks = ranks;
    used->own_vote = made ? ranks : rank;
    rung_status status = connect(mpi_comm, timeout_seconds, used);
    /* The other ranks cannot be notified, and MPI may still write to this memory: broken, and leaked. */
    if (status != RUNG_OK) {
        set_failure(used, status);
        if (made)
            MPI_Comm_set_attr(mpi_comm, comm_keyval, made);
        return status;
    }
    if (used->lowest_vote == ranks) {
        *comm = made;
        return attach_comm(mpi_comm, made);
    }
    int lowest = used->lowest_vote;
    free_duplicates(used);
    free(made);
    return rungi_fail(RUNG_STATUS_NO_MEMORY, "rank %d: no memory for a communicator", lowest);
}

/* Creates the key of the states, if it does not exist yet. */
static void create_keyval(void)
{
    if (comm_keyval == MPI_KEYVAL_INVALID &&
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &comm_keyval, NULL) != MPI_SUCCESS)
        comm_keyval = MPI_KEYVAL_INVALID;
}

rung_status rungi_cluster_comm_get(MPI_Comm mpi_comm, double timeout_seconds, rungi_cluster_comm **comm)
{
    int found = 0, is_ready = 0, code = MPI_SUCCESS;
    *comm = NULL;
    if (MPI_Initialized(&is_ready) != MPI_SUCCESS || !is_ready)
        return rungi_invalid("MPI is not initialised; call MPI_Init first");
    create_keyval();
    if (comm_keyval != MPI_KEYVAL_INVALID)
        code = MPI_Comm_get_attr(mpi_comm, comm_keyval, comm, &found);
    if (code != MPI_SUCCESS)
        return rungi_mpi_error_set(code);
    if (!found)
        TRY(create_comm(mpi_comm, timeout_seconds, comm));
    else if ((*comm)->is_broken)
        return rungi_fail(RUNG_STATUS_DEVICE_LOST,
                          "an earlier call on this communicator failed with data in flight, so it cannot be used "
                          "again; end the job. The failure was: %s",
                          (*comm)->failure.text);
    (*comm)->timeout_seconds = timeout_seconds;
    (*comm)->wait_seconds = 0.0;
    return RUNG_OK;
}

/* ---- Probes, replies and failures ----------------------------------------------------------------- */

/* Sends a message that is small enough to be sent eagerly; nobody waits for it. */
static void send_control(rungi_cluster_comm *comm, int to, int tag, const void *bytes, int count)
{
    MPI_Request request;
    if (MPI_Isend(bytes, count, MPI_BYTE, to, tag, comm->control_comm, &request) == MPI_SUCCESS)
        MPI_Request_free(&request);
}

/* Probe states. */
enum { PROBE_NOT_SENT, PROBE_SENT, PROBE_REPLIED };

/* Receives one control message. Returns false if there is none. */
static bool receive_control(rungi_cluster_comm *comm)
{
    int is_there = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm->control_comm, &is_there, &status) != MPI_SUCCESS || !is_there)
        return false;
    rungi_cluster_rank_status rank_status;
    if (MPI_Recv(&rank_status, sizeof rank_status, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm->control_comm,
                 MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return false;
    if (status.MPI_TAG == TAG_PROBE) {
        send_control(comm, status.MPI_SOURCE, TAG_PROBE_REPLY, NULL, 0);
    } else if (status.MPI_TAG == TAG_PROBE_REPLY) {
        comm->probe_states[status.MPI_SOURCE] = PROBE_REPLIED;
        comm->pending_probes--;
    } else if (!comm->is_broken) {
        comm->failure = rank_status;
        comm->is_broken = true;
    }
    return true;
}

/* MPI_Iprobe may find only messages that an earlier MPI_Iprobe has received. */
void rungi_cluster_comm_poll(rungi_cluster_comm *comm)
{
    for (int misses = 0; misses < POLL_MISSES; misses++)
        while (receive_control(comm))
            misses = 0;
}

rung_status rungi_cluster_comm_break(rungi_cluster_comm *comm, rung_status status)
{
    if (comm->is_broken)
        return status;
    set_failure(comm, status);
    for (int i = 1; i < comm->ranks; i++)
        send_control(comm, (comm->rank + i) % comm->ranks, TAG_FAILURE, &comm->failure, sizeof comm->failure);
    return status;
}

rung_status rungi_cluster_comm_status(const rungi_cluster_comm *comm)
{
    if (!comm->is_broken)
        return RUNG_OK;
    return rungi_fail((rung_status)comm->failure.status, "rank %lld found: %s", (long long)comm->failure.rank,
                      comm->failure.text);
}

/* ---- Waiting ---------------------------------------------------------------------------------- */

typedef struct comm_wait {
    rungi_cluster_comm *comm;
    int64_t count;
    MPI_Request *requests;
    const int *ranks;
    int64_t remaining;
    int idle_loops;      /* loops without an event */
    double last_poll;    /* time of the last poll */
    double idle_seconds; /* without an event */
    bool has_probed;
} comm_wait_t;

static void reset_idle_time(comm_wait_t *wait)
{
    wait->idle_loops = 0;
    wait->last_poll = rungi_cluster_now_seconds();
    wait->idle_seconds = 0.0;
    wait->has_probed = false;
}

static bool is_awaited(const comm_wait_t *wait, int64_t i)
{
    return wait->requests[i] != MPI_REQUEST_NULL;
}

/* Sends one probe to each rank with an incomplete request. */
static void probe_awaited_ranks(comm_wait_t *wait)
{
    rungi_cluster_comm *comm = wait->comm;
    memset(comm->probe_states, PROBE_NOT_SENT, (size_t)comm->ranks);
    for (int64_t i = 0; i < wait->count; i++) {
        int rank = wait->ranks[i];
        if (!is_awaited(wait, i) || comm->probe_states[rank] != PROBE_NOT_SENT)
            continue;
        comm->probe_states[rank] = PROBE_SENT;
        comm->pending_probes++;
        send_control(comm, rank, TAG_PROBE, NULL, 0);
    }
    wait->has_probed = true;
}

/* Lists ranks that were probed, have an incomplete request and did not reply, each once; at most `capacity`. */
static int list_unresponsive_ranks(const comm_wait_t *wait, int *list, int capacity)
{
    int count = 0;
    for (int64_t i = 0; i < wait->count && count < capacity; i++) {
        bool is_new = is_awaited(wait, i) && wait->comm->probe_states[wait->ranks[i]] == PROBE_SENT;
        for (int j = 0; is_new && j < count; j++)
            is_new = list[j] != wait->ranks[i];
        if (is_new)
            list[count++] = wait->ranks[i];
    }
    return count;
}

/* Fails if a rank did not reply. If all ranks replied, the timeout starts again. */
static rung_status report_unresponsive_ranks(comm_wait_t *wait)
{
    int list[MAX_RANKS_IN_MESSAGE + 1], count = list_unresponsive_ranks(wait, list, MAX_RANKS_IN_MESSAGE + 1);
    char names[128] = "";
    if (count == 0) {
        reset_idle_time(wait);
        return RUNG_OK;
    }
    for (int i = 0; i < count && i < MAX_RANKS_IN_MESSAGE; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%d", i == 0 ? "" : ", ", list[i]);
    return rungi_fail(
        RUNG_STATUS_DEVICE_LOST,
        "rank%s %s%s%s sent nothing for %g s and do%s not answer: dead, stopped or not in this call; end the job",
        count > 1 ? "s" : "", names, count > MAX_RANKS_IN_MESSAGE ? " and more" : "", count > 1 ? " have" : " has",
        wait->comm->timeout_seconds, count > 1 ? "" : "es");
}

/* Tests all requests. Sets *any if one is complete. */
static rung_status test_requests(comm_wait_t *wait, bool *any)
{
    *any = false;
    for (int64_t i = 0; i < wait->count; i++) {
        int done = 0;
        if (!is_awaited(wait, i))
            continue;
        int code = MPI_Test(&wait->requests[i], &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS)
            return rungi_mpi_error_set(code);
        wait->remaining -= done;
        *any = *any || done;
    }
    return RUNG_OK;
}

/* Sends probes after half of the timeout. At its end, ranks without a reply are lost. Time in which this rank itself was
 * stopped does not count as idle. */
static rung_status check_timeout(comm_wait_t *wait)
{
    double now = rungi_cluster_now_seconds(), max = wait->comm->timeout_seconds / 8.0;
    wait->idle_seconds += now - wait->last_poll < max ? now - wait->last_poll : max;
    wait->last_poll = now;
    while (receive_control(wait->comm))
        continue;
    if (wait->comm->is_broken)
        return rungi_cluster_comm_status(wait->comm);
    if (wait->has_probed && wait->idle_seconds > wait->comm->timeout_seconds)
        return report_unresponsive_ranks(wait);
    if (!wait->has_probed && wait->idle_seconds > wait->comm->timeout_seconds / 2.0)
        probe_awaited_ranks(wait);
    return RUNG_OK;
}

static void back_off(comm_wait_t *wait)
{
    wait->idle_loops++;
    if (wait->idle_loops > YIELD_LOOPS)
        nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
    else if (wait->idle_loops > SPIN_LOOPS)
        sched_yield();
}

rung_status rungi_cluster_comm_wait(rungi_cluster_comm *comm, int64_t count, MPI_Request *requests, const int *ranks)
{
    double start = rungi_cluster_now_seconds();
    comm_wait_t wait = {.comm = comm, .count = count, .requests = requests, .ranks = ranks};
    rung_status status = rungi_cluster_comm_status(comm); /* a failure may have arrived before this wait */
    for (int64_t i = 0; i < count; i++)
        wait.remaining += is_awaited(&wait, i);
    reset_idle_time(&wait);
    while (status == RUNG_OK && wait.remaining > 0) {
        bool any;
        status = test_requests(&wait, &any);
        if (any) {
            reset_idle_time(&wait);
        } else if (status == RUNG_OK) {
            status = check_timeout(&wait);
            back_off(&wait);
        }
    }
    comm->wait_seconds += rungi_cluster_now_seconds() - start;
    return status == RUNG_OK ? RUNG_OK : rungi_cluster_comm_break(comm, status);
}

/* ---- Memory ----------------------------------------------------------------------------------- */

enum { ALIGNMENT = 64 };

/* Finds the smallest free buffer that is large enough and at least half used. */
static rungi_cluster_cached_buffer *find_cached_buffer(rungi_cluster_comm *comm, int64_t bytes)
{
    rungi_cluster_cached_buffer *best = NULL;
    for (int i = 0; i < RUNGI_CLUSTER_MAX_CACHED_BUFFERS; i++) {
        rungi_cluster_cached_buffer *buffer = &comm->cached_buffers[i];
        if (buffer->memory && !buffer->is_used && buffer->bytes >= bytes && buffer->bytes / 2 <= bytes &&
            (!best || buffer->bytes < best->bytes))
            best = buffer;
    }
    return best;
}

/* Returns the buffer with this memory; for NULL, an empty one. Returns NULL if no buffer has this memory. */
static rungi_cluster_cached_buffer *buffer_with_memory(rungi_cluster_comm *comm, const void *memory)
{
    for (int i = 0; i < RUNGI_CLUSTER_MAX_CACHED_BUFFERS; i++)
        if (comm->cached_buffers[i].memory == memory)
            return &comm->cached_buffers[i];
    return NULL;
}

void *rungi_cluster_comm_allocate(rungi_cluster_comm *comm, int64_t bytes)
{
    if (bytes <= 0 || bytes > INT64_MAX - ALIGNMENT)
        return NULL;
    rungi_cluster_cached_buffer *buffer = find_cached_buffer(comm, bytes);
    if (buffer) {
        buffer->is_used = true;
        return buffer->memory;
    }
    free_cached_buffers(comm); /* so that the cache never exceeds the memory of one call */
    void *memory = aligned_alloc(ALIGNMENT, (size_t)rungi_round_up(bytes, ALIGNMENT));
    buffer = memory ? buffer_with_memory(comm, NULL) : NULL;
    if (buffer)
        *buffer = (rungi_cluster_cached_buffer){.memory = memory, .bytes = bytes, .is_used = true};
    return memory;
}

void rungi_cluster_comm_release(rungi_cluster_comm *comm, void *memory)
{
    if (!memory || comm->is_broken)
        return;
    rungi_cluster_cached_buffer *buffer = buffer_with_memory(comm, memory);
    if (buffer)
        buffer->is_used = false;
    else
        free(memory);
}
