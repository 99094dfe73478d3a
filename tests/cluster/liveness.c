/* SPDX-License-Identifier: Apache-2.0 */
/* liveness.c - how ranks wait for one another, against an MPI that does what a test says: a hundred ranks, some of which are
 * dead, some slow to answer, and a communicator whose duplicate is never done.
 *
 * The functions of MPI that src/cluster/mpi/liveness.c calls are those below, and nothing is launched. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "cluster/mpi/liveness.h"

enum { RANKS = 100, TAG_PROBE = 1, TAG_PROBE_REPLY, TAG_FAILURE, NOBODY = -1 };

static const double silence = 0.16;

/* ---- An MPI ------------------------------------------------------------------------------------- */

static struct {
    /* What it does. */
    int dead;                                                /* answers nothing; NOBODY */
    int answers_after;                                       /* so many probes behind the question */
    enum { NEVER, AT_ONCE, WHEN_ASKED, WHEN_ANSWERED } done; /* when what is awaited comes */
    int answers_wanted;                                      /* for the last of these */
    enum { STAYS, AWAY_FIRST, AWAY_ASKING } absence;         /* when this rank itself is away */
    double away;                                             /* for so many seconds */
    bool has_news;                                           /* about to come */
    bool is_barrier_done, is_duplicate_done;
    int without_memory; /* a rank that votes for itself when a state is created; NOBODY */
    bool has_no_key, cannot_attach;
    /* What was done with it. */
    int questions[RANKS], asked, news[RANKS], answers, probes, asked_at;
    int duplicates, barriers, freed;
    int answers_at_barrier;
    MPI_Comm *copies[2];
    void *attribute;
} mpi;

static void begin(void)
{
    memset(&mpi, 0, sizeof mpi);
    mpi.dead = mpi.without_memory = NOBODY;
    mpi.is_barrier_done = mpi.is_duplicate_done = true;
}

static void pause_for(double seconds)
{
    nanosleep(&(struct timespec){(time_t)seconds, (long)(fmod(seconds, 1.0) * 1e9)}, NULL);
}

static MPI_Request some_request(void)
{
    MPI_Request request;
    memset(&request, 1, sizeof request);
    return request;
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    (void)bytes;
    (void)count;
    (void)type;
    (void)comm;
    *request = some_request();
    if (tag == TAG_PROBE) {
        mpi.questions[to]++;
        mpi.asked++;
        mpi.asked_at = mpi.probes;
    } else if (tag == TAG_FAILURE) {
        mpi.news[to]++;
    }
    return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

/* One answer to each question, in the order of ranks. */
static int next_answer(void)
{
    int rank = 0;
    while (rank < RANKS && (mpi.questions[rank] == 0 || rank == mpi.dead))
        rank++;
    return rank;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *is_there, MPI_Status *status)
{
    int answering = next_answer();
    (void)source;
    (void)tag;
    (void)comm;
    mpi.probes++;
    *is_there = mpi.has_news || (answering < RANKS && mpi.probes - mpi.asked_at > mpi.answers_after);
    status->MPI_SOURCE = mpi.has_news ? 1 : answering;
    status->MPI_TAG = mpi.has_news ? TAG_FAILURE : TAG_PROBE_REPLY;
    return MPI_SUCCESS;
}

int MPI_Recv(void *bytes, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    (void)type;
    (void)comm;
    (void)status;
    if (tag == TAG_FAILURE) {
        rungi_cluster_rank_status notice = {
            .status = RUNG_STATUS_DEVICE_LOST, .rank = source, .text = "the roof is gone"};
        assert_true(count >= (int)sizeof notice);
        memcpy(bytes, &notice, sizeof notice);
        mpi.has_news = false;
    } else {
        mpi.questions[source]--;
        mpi.answers++;
    }
    return MPI_SUCCESS;
}

static bool is_complete(void)
{
    if (mpi.barriers > 0)
        return mpi.is_barrier_done;
    if (mpi.duplicates > 0)
        return mpi.is_duplicate_done;
    return mpi.done == AT_ONCE || (mpi.done == WHEN_ASKED && mpi.asked >= RANKS - 1) ||
           (mpi.done == WHEN_ANSWERED && mpi.answers >= mpi.answers_wanted);
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    (void)status;
    if (mpi.absence == AWAY_FIRST || (mpi.absence == AWAY_ASKING && mpi.asked >= RANKS - 1)) {
        mpi.absence = STAYS;
        pause_for(mpi.away);
    }
    *done = is_complete();
    if (*done)
        *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int MPI_Initialized(int *is_ready)
{
    *is_ready = 1;
    return MPI_SUCCESS;
}

static MPI_Comm_delete_attr_function *delete_function;

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *forget, int *key,
                           void *extra)
{
    (void)copy;
    (void)extra;
    if (mpi.has_no_key)
        return MPI_ERR_OTHER;
    *key = 7;
    delete_function = forget;
    return MPI_SUCCESS;
}

int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *found)
{
    (void)comm;
    (void)key;
    *found = mpi.attribute != NULL;
    if (*found)
        *(void **)value = mpi.attribute;
    return MPI_SUCCESS;
}

int MPI_Comm_set_attr(MPI_Comm comm, int key, void *value)
{
    (void)comm;
    (void)key;
    mpi.attribute = value;
    return mpi.cannot_attach ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = 0;
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *ranks)
{
    (void)comm;
    *ranks = RANKS;
    return MPI_SUCCESS;
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request)
{
    mpi.copies[mpi.duplicates++ % 2] = copy;
    *copy = comm;
    *request = some_request();
    return MPI_SUCCESS;
}

int MPI_Iallreduce(const void *own, void *all, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm,
                   MPI_Request *request)
{
    (void)type;
    (void)operation;
    (void)comm;
    assert_int_equal(count, 1);
    int vote = *(const int *)own;
    *(int *)all = mpi.without_memory != NOBODY && mpi.without_memory < vote ? mpi.without_memory : vote;
    *request = some_request();
    return MPI_SUCCESS;
}

int MPI_Error_string(int code, char *text, int *length)
{
    (void)code;
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "the network is down");
    return MPI_SUCCESS;
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    (void)comm;
    (void)handler;
    return MPI_SUCCESS;
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    (void)comm;
    mpi.barriers++;
    mpi.answers_at_barrier = mpi.answers;
    *request = some_request();
    return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    *comm = MPI_COMM_NULL;
    mpi.freed++;
    return MPI_SUCCESS;
}

static bool is_memory_used_up;

void *__real_calloc(size_t count, size_t bytes);
/* Visible, because the linker renames calloc in a sanitizer's library, too. */
__attribute__((visibility("default"))) void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
    return is_memory_used_up ? NULL : __real_calloc(count, bytes);
}

/* ---- Waiting -------------------------------------------------------------------------------------- */

static rungi_cluster_comm *create_comm(void)
{
    rungi_cluster_comm *team = NULL;
    begin();
    if (rungi_cluster_comm_get(MPI_COMM_WORLD, silence, &team) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    mpi.duplicates = 0;
    return team;
}

static rungi_cluster_comm *broken[16];
static int broken_count;

/* As MPI does when the communicator is freed. What is broken stays. */
static void free_comm(rungi_cluster_comm *team)
{
    assert_int_equal(delete_function(MPI_COMM_WORLD, 7, team, NULL), MPI_SUCCESS);
    if (mpi.freed == 0)
        broken[broken_count++] = team;
}

/* Where no MPI is left to write there. */
static int free_broken_comms(void **state)
{
    (void)state;
    for (int i = 0; i < broken_count; i++)
        free(broken[i]);
    return 0;
}

/* For a message from each of the others. */
static rung_status wait_for_all(rungi_cluster_comm *team)
{
    MPI_Request requests[RANKS];
    int ranks[RANKS];
    for (int i = 0; i < RANKS - 1; i++) {
        requests[i] = some_request();
        ranks[i] = i + 1;
    }
    return rungi_cluster_comm_wait(team, RANKS - 1, requests, ranks);
}

static void dead_rank_is_identified(void **state)
{
    static const int dead[] = {1, 63, 64, 65, 99};
    (void)state;
    for (size_t i = 0; i < sizeof dead / sizeof *dead; i++) {
        char name[32];
        rungi_cluster_comm *team = create_comm();
        mpi.dead = dead[i];
        snprintf(name, sizeof name, "rank %d has sent nothing", dead[i]);
        assert_int_equal(wait_for_all(team), RUNG_STATUS_DEVICE_LOST);
        if (strncmp(rung_error_text(), name, strlen(name)) != 0)
            fail_msg("rank %d is lost, and the sentence is: %s", dead[i], rung_error_text());
        assert_true(mpi.answers >= RANKS - 2); /* the others were asked, and are not called lost */
        for (int rank = 1; rank < RANKS; rank++)
            assert_int_equal(mpi.news[rank], 1);
        free_comm(team);
        assert_int_equal(mpi.freed, 0); /* what is broken stays */
    }
}

static void responding_rank_is_not_lost(void **state)
{
    rungi_cluster_comm *team = create_comm();
    (void)state;
    mpi.done = WHEN_ANSWERED;
    mpi.answers_wanted = 3 * (RANKS - 1);
    if (wait_for_all(team) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    free_comm(team);
}

/* Before it has asked and behind it, for longer than the silence; answers take a few looks. The silence is so long that a
 * machine which stalls now and then is not taken for one whose looks are all late. */
static void own_pause_is_not_counted(void **state)
{
    (void)state;
    for (int when = AWAY_FIRST; when <= AWAY_ASKING; when++) {
        rungi_cluster_comm *team = create_comm();
        team->timeout_seconds = 4 * silence;
        mpi.absence = when;
        mpi.away = 3 * team->timeout_seconds;
        mpi.answers_after = 8;
        mpi.done = WHEN_ANSWERED;
        mpi.answers_wanted = RANKS - 1;
        if (wait_for_all(team) != RUNG_OK)
            fail_msg("away %s it asked: %s", when == AWAY_FIRST ? "before" : "when", rung_error_text());
        free_comm(team);
    }
}

/* Whatever else has come. */
static void failure_notice_breaks_communicator(void **state)
{
    (void)state;
    for (int when = 0; when < 2; when++) {
        rungi_cluster_comm *team = create_comm();
        mpi.has_news = true;
        mpi.done = when == 0 ? NEVER : AT_ONCE;
        if (when == 1)
            rungi_cluster_comm_poll(team);
        assert_int_equal(wait_for_all(team), RUNG_STATUS_DEVICE_LOST);
        assert_non_null(strstr(rung_error_text(), "rank 1 found: the roof is gone"));
        assert_int_equal(rungi_cluster_comm_wait(team, 0, NULL, NULL), RUNG_STATUS_DEVICE_LOST);
        assert_int_equal(rungi_cluster_comm_status(team), RUNG_STATUS_DEVICE_LOST);
        rungi_cluster_comm *again = NULL;
        assert_int_equal(rungi_cluster_comm_get(MPI_COMM_WORLD, silence, &again), RUNG_STATUS_DEVICE_LOST);
        free_comm(team);
    }
}

/* ---- The first call and the end ------------------------------------------------------------------- */

static void first_call_without_others_breaks_communicator(void **state)
{
    rungi_cluster_comm *team = NULL;
    (void)state;
    begin();
    mpi.is_duplicate_done = false;
    assert_int_equal(rungi_cluster_comm_get(MPI_COMM_WORLD, silence, &team), RUNG_STATUS_DEVICE_LOST);
    assert_int_equal(mpi.duplicates, 1);
    *mpi.copies[0] = MPI_COMM_SELF; /* MPI may write there when the others come at last */
    double start = rungi_cluster_now_seconds();
    assert_int_equal(rungi_cluster_comm_get(MPI_COMM_WORLD, 1000.0, &team), RUNG_STATUS_DEVICE_LOST);
    assert_true(rungi_cluster_now_seconds() - start < 100.0);
    assert_int_equal(mpi.duplicates, 1);
    assert_non_null(strstr(rung_error_text(), "has not called rung_cluster_gemm"));
    assert_true(*mpi.copies[0] == MPI_COMM_SELF);
    free_comm(mpi.attribute);
    assert_int_equal(mpi.freed, 0);
}

/* No rank has a state, and the next call creates it. */
static void expect_no_memory(const char *sentence)
{
    rungi_cluster_comm *team = NULL;
    assert_int_equal(rungi_cluster_comm_get(MPI_COMM_WORLD, silence, &team), RUNG_STATUS_NO_MEMORY);
    assert_string_equal(rung_error_text(), sentence);
    assert_int_equal(mpi.duplicates, 2);
    assert_int_equal(mpi.freed, 2);
    assert_null(mpi.attribute);
    is_memory_used_up = false;
    free_comm(create_comm());
    assert_int_equal(mpi.freed, 2);
}

/* First of all: a key is created once. */
static void missing_key_is_created_again(void **state)
{
    (void)state;
    begin();
    mpi.has_no_key = true;
    expect_no_memory("rank 0: no memory for a communicator");
}

static void missing_memory_fails_on_all_ranks(void **state)
{
    (void)state;
    begin();
    is_memory_used_up = true;
    expect_no_memory("rank 0: no memory for a communicator");
    begin();
    mpi.without_memory = 63;
    expect_no_memory("rank 63: no memory for a communicator");
}

static void state_that_is_not_attached_is_reported(void **state)
{
    rungi_cluster_comm *team = NULL;
    (void)state;
    begin();
    mpi.cannot_attach = true;
    assert_int_equal(rungi_cluster_comm_get(MPI_COMM_WORLD, silence, &team), RUNG_STATUS_DEVICE_LOST);
    assert_non_null(strstr(rung_error_text(), "the network is down"));
    for (int rank = 1; rank < RANKS; rank++)
        assert_int_equal(mpi.news[rank], 1);
    broken[broken_count++] = mpi.attribute;
}

/* Last of all: from then on, MPI may write to what a rank without memory uses. */
static void lost_rank_is_reported_without_memory(void **state)
{
    rungi_cluster_comm *team = NULL;
    (void)state;
    begin();
    is_memory_used_up = true;
    mpi.is_duplicate_done = false;
    assert_int_equal(rungi_cluster_comm_get(MPI_COMM_WORLD, silence, &team), RUNG_STATUS_DEVICE_LOST);
    assert_null(mpi.attribute);
    assert_int_equal(rungi_cluster_comm_get(MPI_COMM_WORLD, 1000.0, &team), RUNG_STATUS_NO_MEMORY);
    assert_int_equal(mpi.duplicates, 1);
    is_memory_used_up = false;
}

static void replies_are_drained_before_free(void **state)
{
    rungi_cluster_comm *team = create_comm();
    (void)state;
    mpi.answers_after = 1 << 30; /* not while it waits */
    mpi.done = WHEN_ASKED;
    assert_int_equal(wait_for_all(team), RUNG_OK);
    assert_true(mpi.questions[1] > 0 && mpi.answers == 0);
    mpi.asked_at = mpi.probes;
    mpi.answers_after = 10;
    free_comm(team);
    assert_int_equal(mpi.barriers, 1);
    assert_int_equal(mpi.answers_at_barrier, RANKS - 1);
    assert_int_equal(mpi.freed, 2);
    /* And where a rank does not come to the end, that is bounded, and soon over if it says why. */
    for (int has_news = 0; has_news < 2; has_news++) {
        double start = rungi_cluster_now_seconds();
        team = create_comm();
        mpi.is_barrier_done = false;
        mpi.has_news = has_news != 0;
        team->timeout_seconds = has_news ? 1000 : silence;
        free_comm(team);
        assert_int_equal(mpi.freed, 0);
        assert_true(rungi_cluster_now_seconds() - start < 100);
    }
}

/* ---- Memory --------------------------------------------------------------------------------------- */

static int64_t cached_bytes(const rungi_cluster_comm *team)
{
    int64_t bytes = 0;
    for (int i = 0; i < RUNGI_CLUSTER_MAX_CACHED_BUFFERS; i++)
        bytes += team->cached_buffers[i].memory ? team->cached_buffers[i].bytes : 0;
    return bytes;
}

/* Calls of growing, falling and equal sizes, nine blocks each: what is held is never more than two calls' like the last. */
static void cached_memory_is_bounded(void **state)
{
    static const int64_t sizes[] = {1000, 3000, 9000, 27000, 27000, 20000, 9000, 3000, 1000, 300, 1000};
    rungi_cluster_comm *team = create_comm();
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *blocks[9];
        for (int j = 0; j < 9; j++) {
            blocks[j] = rungi_cluster_comm_allocate(team, sizes[i] + j);
            assert_non_null(blocks[j]);
            memset(blocks[j], j, (size_t)(sizes[i] + j));
        }
        assert_true(cached_bytes(team) <= 2 * 9 * (sizes[i] + 8));
        for (int j = 0; j < 9; j++) {
            assert_int_equal(*((char *)blocks[j] + sizes[i] + j - 1), j);
            rungi_cluster_comm_release(team, blocks[j]);
        }
        void *same = rungi_cluster_comm_allocate(team, sizes[i]);
        assert_ptr_equal(same, blocks[0]); /* the next call works in the same */
        rungi_cluster_comm_release(team, same);
    }
    free_comm(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_key_is_created_again),
        cmocka_unit_test(missing_memory_fails_on_all_ranks),
        cmocka_unit_test(state_that_is_not_attached_is_reported),
        cmocka_unit_test(dead_rank_is_identified),
        cmocka_unit_test(responding_rank_is_not_lost),
        cmocka_unit_test(own_pause_is_not_counted),
        cmocka_unit_test(failure_notice_breaks_communicator),
        cmocka_unit_test(first_call_without_others_breaks_communicator),
        cmocka_unit_test(replies_are_drained_before_free),
        cmocka_unit_test(cached_memory_is_bounded),
        cmocka_unit_test(lost_rank_is_reported_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, free_broken_comms);
}
