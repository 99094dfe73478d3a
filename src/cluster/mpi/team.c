/* SPDX-License-Identifier: Apache-2.0 */
/* team.c - see team.h. */
#include "cluster/mpi/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/checked.h"
#include "cluster/mpi/failed.h"

enum { TAG_ASK = 1, TAG_ANSWER, TAG_NEWS };

/* Loops in which nothing came: so many are run through, so many more give the processor away, then it sleeps. Ranks
 * may be more than processors, and then whoever waits is in the way of those who work. */
enum { EAGER = 20, YIELDING = 200, SLEEP_NS = 50 * 1000 };

enum { LOOKS = 4, NAMED_MAX = 4 };

double rungi_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- Making one ------------------------------------------------------------------------------- */

static int team_key = MPI_KEYVAL_INVALID;
static pthread_once_t key_made = PTHREAD_ONCE_INIT;

static void free_team(rungi_team *team)
{
    for (int i = 0; i < RUNGI_KEPT_MAX; i++)
        if (!team->kept[i].is_used)
            free(team->kept[i].memory);
    free(team->heard);
    free(team);
}

/* Questions and answers may be under way that nobody waited for: each rank takes its answers and then goes on answering
 * until all have. False if a rank does not come, or has failed. */
static bool drain(rungi_team *team)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 0, code = MPI_SUCCESS;
    bool is_in = false;
    double end = rungi_seconds() + team->silence;
    while (code == MPI_SUCCESS && !done && !team->is_broken && rungi_seconds() < end) {
        rungi_team_look(team);
        if (!is_in && team->unanswered == 0) {
            code = MPI_Ibarrier(team->comm, &request);
            is_in = true;
        }
        if (is_in && code == MPI_SUCCESS)
            code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done)
            sched_yield();
    }
    return done && !team->is_broken;
}

/* MPI calls it when the communicator is freed. One that is broken stays: messages may still come. */
static int forget(MPI_Comm comm, int key, void *value, void *user)
{
    rungi_team *team = value;
    (void)comm;
    (void)key;
    (void)user;
    if (team->is_broken || !drain(team))
        return MPI_SUCCESS;
    int code = MPI_Comm_free(&team->comm);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_free(&team->control);
    free_team(team);
    return code;
}

static void make_key(void)
{
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &team_key, NULL) != MPI_SUCCESS)
        team_key = MPI_KEYVAL_INVALID;
}

/* Duplicating is for all ranks together; in the meantime there is nobody to ask, so the time alone counts. */
static rung_status duplicate(MPI_Comm comm, double silence, MPI_Comm *copy)
{
    MPI_Request request;
    int code = MPI_Comm_idup(comm, copy, &request), done = 0;
    double start = rungi_seconds();
    while (code == MPI_SUCCESS && !done) {
        code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done && rungi_seconds() - start > silence)
            return rung_error_set(RUNG_STATUS_DEVICE_LOST,
                                  "a rank of the communicator has not called rung_cluster_gemm for %g s; all ranks "
                                  "call it, or one has died: end the job",
                                  silence);
        if (!done)
            sched_yield();
    }
    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_errhandler(*copy, MPI_ERRORS_RETURN);
    return code == MPI_SUCCESS ? RUNG_OK : rungi_mpi_failed(code);
}

static rung_status make_team(MPI_Comm comm, double silence, rungi_team *team)
{
    rung_status status = duplicate(comm, silence, &team->comm);
    if (status == RUNG_OK)
        status = duplicate(comm, silence, &team->control);
    if (status == RUNG_OK)
        return RUNG_OK;
    /* There is nobody to tell, and a duplicate may be under way that MPI writes here: broken, and kept. */
    team->is_broken = true;
    team->news = (rungi_notice){.status = status, .rank = team->rank};
    snprintf(team->news.text, sizeof team->news.text, "%s", rung_error_text());
    return status;
}

/* An empty one that the communicator remembers. */
static rung_status attach_team(MPI_Comm comm, rungi_team **team)
{
    int rank, ranks, code = MPI_Comm_rank(comm, &rank);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(comm, &ranks);
    if (code != MPI_SUCCESS)
        return rungi_mpi_failed(code);
    rungi_team *made = calloc(1, sizeof *made);
    char *heard = calloc((size_t)ranks, 1);
    if (!made || !heard) {
        free(made);
        free(heard);
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for a communicator");
    }
    *made = (rungi_team){.rank = rank, .ranks = ranks, .heard = heard};
    code = MPI_Comm_set_attr(comm, team_key, made);
    if (code != MPI_SUCCESS) {
        free_team(made);
        return rungi_mpi_failed(code);
    }
    *team = made;
    return RUNG_OK;
}

/* The sentence of an old failure. */
static rung_status still_broken(const rungi_team *team)
{
    return rung_error_set(RUNG_STATUS_DEVICE_LOST,
                          "a call on this communicator failed with data under way, and nothing goes on it any "
                          "more; end the job. It was: %s",
                          team->news.text);
}

rung_status rungi_team_of(MPI_Comm comm, double silence, rungi_team **team)
{
    int found = 0, is_ready = 0;
    *team = NULL;
    if (MPI_Initialized(&is_ready) != MPI_SUCCESS || !is_ready)
        return rung_error_set(RUNG_STATUS_INVALID, "MPI is not initialised; call MPI_Init first");
    pthread_once(&key_made, make_key);
    if (team_key == MPI_KEYVAL_INVALID)
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "MPI gives no key for a communicator's attributes");
    int code = MPI_Comm_get_attr(comm, team_key, team, &found);
    if (code != MPI_SUCCESS)
        return rungi_mpi_failed(code);
    rung_status status = RUNG_OK;
    if (!found) {
        status = attach_team(comm, team);
        if (status == RUNG_OK)
            status = make_team(comm, silence, *team);
    } else if ((*team)->is_broken) {
        status = still_broken(*team);
    }
    if (status == RUNG_OK) {
        (*team)->silence = silence;
        (*team)->waited = 0.0;
    }
    return status;
}

/* ---- Questions, answers, news ----------------------------------------------------------------- */

/* Small enough to be gone at once, and nobody waits for it. */
static void send_control(rungi_team *team, int to, int tag, const void *bytes, int count)
{
    MPI_Request request;
    if (MPI_Isend(bytes, count, MPI_BYTE, to, tag, team->control, &request) == MPI_SUCCESS)
        MPI_Request_free(&request);
}

/* What became of a question. */
enum { NOT_ASKED, ASKED, ANSWERED };

static void ask(rungi_team *team, int rank)
{
    team->heard[rank] = ASKED;
    team->unanswered++;
    send_control(team, rank, TAG_ASK, NULL, 0);
}

/* One message, if one is there. */
static bool hear(rungi_team *team)
{
    int is_there = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, team->control, &is_there, &status) != MPI_SUCCESS || !is_there)
        return false;
    rungi_notice notice;
    if (MPI_Recv(&notice, sizeof notice, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, team->control,
                 MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return false;
    if (status.MPI_TAG == TAG_ASK) {
        send_control(team, status.MPI_SOURCE, TAG_ANSWER, NULL, 0);
    } else if (status.MPI_TAG == TAG_ANSWER) {
        team->heard[status.MPI_SOURCE] = ANSWERED;
        team->unanswered--;
    } else if (!team->is_broken) {
        team->news = notice;
        team->is_broken = true;
    }
    return true;
}

/* A probe may find only what an earlier one has brought in. */
void rungi_team_look(rungi_team *team)
{
    for (int misses = 0; misses < LOOKS; misses++)
        while (hear(team))
            misses = 0;
}

rung_status rungi_team_break(rungi_team *team, rung_status status)
{
    if (team->is_broken)
        return status;
    team->is_broken = true;
    team->news = (rungi_notice){.status = status, .rank = team->rank};
    snprintf(team->news.text, sizeof team->news.text, "%s", rung_error_text());
    for (int i = 1; i < team->ranks; i++)
        send_control(team, (team->rank + i) % team->ranks, TAG_NEWS, &team->news, sizeof team->news);
    return status;
}

rung_status rungi_team_failed(const rungi_team *team)
{
    if (!team->is_broken)
        return RUNG_OK;
    return rung_error_set((rung_status)team->news.status, "rank %lld found: %s", (long long)team->news.rank,
                          team->news.text);
}

/* ---- Waiting ---------------------------------------------------------------------------------- */

typedef struct vigil {
    rungi_team *team;
    int64_t count;
    MPI_Request *requests;
    const int *ranks;
    int64_t left;
    int idle;      /* loops without an event */
    double looked; /* when this rank last looked */
    double silent; /* seconds without an event */
    bool has_asked;
} vigil_t;

static void begin_silence(vigil_t *vigil)
{
    vigil->idle = 0;
    vigil->looked = rungi_seconds();
    vigil->silent = 0.0;
    vigil->has_asked = false;
}

/* Time in which this rank itself was stopped, or had no processor, is not the silence of others. */
static void add_silence(vigil_t *vigil)
{
    double now = rungi_seconds(), most = vigil->team->silence / 8.0;
    vigil->silent += now - vigil->looked < most ? now - vigil->looked : most;
    vigil->looked = now;
}

static bool is_awaited(const vigil_t *vigil, int64_t i)
{
    return vigil->requests[i] != MPI_REQUEST_NULL;
}

/* Each that something is awaited of, once. */
static void ask_awaited(vigil_t *vigil)
{
    rungi_team *team = vigil->team;
    memset(team->heard, NOT_ASKED, (size_t)team->ranks);
    for (int64_t i = 0; i < vigil->count; i++)
        if (is_awaited(vigil, i) && team->heard[vigil->ranks[i]] == NOT_ASKED)
            ask(team, vigil->ranks[i]);
    vigil->has_asked = true;
}

/* Ranks that were asked, are awaited and have not answered, each once; at most so many. */
static int list_lost(const vigil_t *vigil, int *list, int capacity)
{
    int count = 0;
    for (int64_t i = 0; i < vigil->count && count < capacity; i++) {
        bool is_new = is_awaited(vigil, i) && vigil->team->heard[vigil->ranks[i]] == ASKED;
        for (int j = 0; is_new && j < count; j++)
            is_new = list[j] != vigil->ranks[i];
        if (is_new)
            list[count++] = vigil->ranks[i];
    }
    return count;
}

/* If all have answered, the silence begins anew. */
static rung_status lose_silent(vigil_t *vigil)
{
    int list[NAMED_MAX + 1], count = list_lost(vigil, list, NAMED_MAX + 1);
    char names[128] = "";
    if (count == 0) {
        begin_silence(vigil);
        return RUNG_OK;
    }
    for (int i = 0; i < count && i < NAMED_MAX; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%d", i == 0 ? "" : ", ", list[i]);
    return rung_error_set(RUNG_STATUS_DEVICE_LOST,
                          "rank%s %s%s%s sent nothing for %g s and do%s not answer: dead, stopped or not in this "
                          "call; end the job",
                          count > 1 ? "s" : "", names, count > NAMED_MAX ? " and more" : "",
                          count > 1 ? " have" : " has", vigil->team->silence, count > 1 ? "" : "es");
}

/* Takes what is done. */
static rung_status take_done(vigil_t *vigil, bool *any)
{
    *any = false;
    for (int64_t i = 0; i < vigil->count; i++) {
        int done = 0;
        if (!is_awaited(vigil, i))
            continue;
        int code = MPI_Test(&vigil->requests[i], &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS)
            return rungi_mpi_failed(code);
        vigil->left -= done;
        *any = *any || done;
    }
    return RUNG_OK;
}

/* Half the time gone by, the silent ranks are asked; at its end, those that have not answered are lost. */
static rung_status watch_time(vigil_t *vigil)
{
    add_silence(vigil);
    while (hear(vigil->team))
        continue;
    if (vigil->team->is_broken)
        return rungi_team_failed(vigil->team);
    if (vigil->has_asked && vigil->silent > vigil->team->silence)
        return lose_silent(vigil);
    if (!vigil->has_asked && vigil->silent > vigil->team->silence / 2.0)
        ask_awaited(vigil);
    return RUNG_OK;
}

static void rest(vigil_t *vigil)
{
    vigil->idle++;
    if (vigil->idle > YIELDING)
        nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
    else if (vigil->idle > EAGER)
        sched_yield();
}

rung_status rungi_team_wait(rungi_team *team, int64_t count, MPI_Request *requests, const int *ranks)
{
    double start = rungi_seconds();
    vigil_t vigil = {.team = team, .count = count, .requests = requests, .ranks = ranks};
    rung_status status = rungi_team_failed(team); /* news may have come while nobody waited */
    for (int64_t i = 0; i < count; i++)
        vigil.left += is_awaited(&vigil, i);
    begin_silence(&vigil);
    while (status == RUNG_OK && vigil.left > 0) {
        bool any;
        status = take_done(&vigil, &any);
        if (any) {
            begin_silence(&vigil);
        } else if (status == RUNG_OK) {
            status = watch_time(&vigil);
            rest(&vigil);
        }
    }
    team->waited += rungi_seconds() - start;
    return status == RUNG_OK ? RUNG_OK : rungi_team_break(team, status);
}

/* ---- Memory ----------------------------------------------------------------------------------- */

enum { ALIGNMENT = 64 };

/* The smallest that is free and large enough, unless half of it would be left unused. */
static rungi_kept *find_kept(rungi_team *team, int64_t bytes)
{
    rungi_kept *best = NULL;
    for (int i = 0; i < RUNGI_KEPT_MAX; i++) {
        rungi_kept *kept = &team->kept[i];
        if (kept->memory && !kept->is_used && kept->bytes >= bytes && kept->bytes / 2 <= bytes &&
            (!best || kept->bytes < best->bytes))
            best = kept;
    }
    return best;
}

static rungi_kept *find_place(rungi_team *team)
{
    for (int i = 0; i < RUNGI_KEPT_MAX; i++)
        if (!team->kept[i].memory)
            return &team->kept[i];
    return NULL;
}

/* What is kept and does not fit goes before anything new is taken: so never more is held than one call works in. */
static void drop_kept(rungi_team *team)
{
    for (int i = 0; i < RUNGI_KEPT_MAX; i++)
        if (team->kept[i].memory && !team->kept[i].is_used) {
            free(team->kept[i].memory);
            team->kept[i].memory = NULL;
        }
}

void *rungi_team_allocate(rungi_team *team, int64_t bytes)
{
    if (bytes <= 0 || bytes > INT64_MAX - ALIGNMENT)
        return NULL;
    rungi_kept *kept = find_kept(team, bytes);
    if (kept) {
        kept->is_used = true;
        return kept->memory;
    }
    drop_kept(team);
    void *memory = aligned_alloc(ALIGNMENT, (size_t)rungi_round_up(bytes, ALIGNMENT));
    kept = memory ? find_place(team) : NULL;
    if (kept)
        *kept = (rungi_kept){.memory = memory, .bytes = bytes, .is_used = true};
    return memory;
}

void rungi_team_release(rungi_team *team, void *memory)
{
    if (!memory || team->is_broken)
        return;
    for (int i = 0; i < RUNGI_KEPT_MAX; i++)
        if (team->kept[i].memory == memory) {
            team->kept[i].is_used = false;
            return;
        }
    free(memory);
}
