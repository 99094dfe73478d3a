/* SPDX-License-Identifier: Apache-2.0 */
/* team.h - the ranks of a communicator as this library talks to them: how it waits, finds out who no longer answers,
 * agrees on what failed, and keeps memory for the next call.
 *
 * MPI itself tells nobody that a rank has died, and its collectives wait for ever. So everything here is messages
 * from rank to rank, and waiting has an end: whoever waits too long asks ("are you there?"), a rank that waits or is about
 * to multiply answers, and one that does not answer is lost. Whoever finds that out tells all others, who stop waiting. */
#ifndef RUNGI_TEAM_H
#define RUNGI_TEAM_H

#include <stdbool.h>

#include <mpi.h>

#include "rung/cluster.h"

enum { RUNGI_KEPT_MAX = 32 };

/* Memory that is kept for the next call. */
typedef struct rungi_kept {
    void *memory;
    int64_t bytes;
    bool is_used;
} rungi_kept;

/* What a rank says of itself or of another. */
typedef struct rungi_notice {
    int64_t status;
    int64_t rank;
    uint64_t signature; /* of the call that it is about to make */
    char text[488];
} rungi_notice;

typedef struct rungi_team {
    MPI_Comm comm, control; /* for data, and for questions, answers and bad news */
    int rank, ranks;
    double silence;     /* seconds, of the call under way */
    double waited;      /* seconds, in that call */
    bool is_broken;     /* messages may be under way that nobody waits for: nothing goes any more */
    rungi_notice news;  /* why */
    int64_t unanswered; /* questions whose answers have not come */
    char *heard;        /* of each rank: what became of the question that it was asked */
    rungi_kept kept[RUNGI_KEPT_MAX];
} rungi_team;

/* The one of this communicator, made at its first call by all its ranks together. If that fails it stays, broken: MPI
 * may yet write into it. */
rung_status rungi_team_of(MPI_Comm comm, double silence, rungi_team **team);

/* Until all requests are done (then MPI_REQUEST_NULL), or one fails, or a rank is lost; ranks[i] is who request i is from or to.
 * A failure breaks the team. */
rung_status rungi_team_wait(rungi_team *team, int64_t count, MPI_Request *requests, const int *ranks);

/* Answers whoever asked, and hears news: for those who are about to be away for a while. */
void rungi_team_look(rungi_team *team);

/* What ended it for all, as this rank heard of it; RUNG_OK if nothing has. */
rung_status rungi_team_failed(const rungi_team *team);

/* Breaks the team, and tells all others why. */
rung_status rungi_team_break(rungi_team *team, rung_status status);

/* All ranks say how they fare; if one has failed, or is about to make another call, all fail, and every sentence names
 * the rank. Nothing else is under way. (agree.c) */
rung_status rungi_team_agree(rungi_team *team, rung_status status, uint64_t signature);

/* Kept or new, aligned to 64 bytes; NULL if there is none. */
void *rungi_team_allocate(rungi_team *team, int64_t bytes);
void rungi_team_release(rungi_team *team, void *memory);

/* Seconds of a clock that never goes back. */
double rungi_seconds(void);

#endif /* RUNGI_TEAM_H */
