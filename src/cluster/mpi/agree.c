/* SPDX-License-Identifier: Apache-2.0 */
/* agree.c - all ranks tell the first how they fare, and hear from it how all do.
 *
 * A star, and no tree: the first rank then knows of each whether it has reported, and can name the one that has not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/mpi/team.h"
#include "cluster/mpi/failed.h"

enum { TAG_REPORT = 11, TAG_VERDICT };

/* At the first rank: the notice of the lowest rank that failed or makes another call, or one of success. */
static rungi_notice judge(const rungi_notice *reports, int ranks)
{
    for (int i = 0; i < ranks; i++)
        if (reports[i].status != RUNG_OK)
            return reports[i];
    for (int i = 1; i < ranks; i++)
        if (reports[i].signature != reports[0].signature) {
            rungi_notice notice = {.status = RUNG_STATUS_INVALID, .rank = i};
            snprintf(notice.text, sizeof notice.text,
                     "its matrices, scalars or options are not those of rank 0; all ranks "
                     "describe the same multiply");
            return notice;
        }
    return reports[0];
}

/* Sends one notice to all others, or takes one from each. */
static rung_status exchange(rungi_team *team, bool is_in, rungi_notice *notices, MPI_Request *requests, int *ranks)
{
    int code = MPI_SUCCESS;
    for (int i = 1; i < team->ranks && code == MPI_SUCCESS; i++) {
        ranks[i - 1] = i;
        code = is_in ? MPI_Irecv(&notices[i], sizeof *notices, MPI_BYTE, i, TAG_REPORT, team->comm, &requests[i - 1])
                     : MPI_Isend(notices, sizeof *notices, MPI_BYTE, i, TAG_VERDICT, team->comm, &requests[i - 1]);
    }
    return code == MPI_SUCCESS ? rungi_team_wait(team, team->ranks - 1, requests, ranks)
                               : rungi_team_break(team, rungi_mpi_failed(code));
}

static rung_status lead(rungi_team *team, rungi_notice *notice)
{
    size_t ranks = (size_t)team->ranks;
    rungi_notice *reports = calloc(ranks, sizeof *reports);
    MPI_Request *requests = calloc(ranks, sizeof *requests);
    int *others = calloc(ranks, sizeof *others);
    rung_status status = reports && requests && others
                             ? RUNG_OK
                             : rungi_team_break(
                                   team, rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory to hear from all ranks"));
    if (status == RUNG_OK) {
        reports[0] = *notice;
        status = exchange(team, true, reports, requests, others);
    }
    if (status == RUNG_OK) {
        *notice = reports[0] = judge(reports, team->ranks);
        status = exchange(team, false, reports, requests, others);
    }
    if (!team->is_broken) { /* else MPI may yet write there */
        free(reports);
        free(requests);
        free(others);
    }
    return status;
}

static rung_status follow(rungi_team *team, rungi_notice *notice)
{
    /* Two notices that outlive a failure, if there is one. */
    rungi_notice *notices = malloc(2 * sizeof *notices);
    MPI_Request requests[2];
    if (!notices)
        return rungi_team_break(team, rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory to report to rank 0"));
    notices[0] = *notice;
    int code = MPI_Irecv(&notices[1], sizeof *notices, MPI_BYTE, 0, TAG_VERDICT, team->comm, &requests[0]);
    if (code == MPI_SUCCESS)
        code = MPI_Isend(&notices[0], sizeof *notices, MPI_BYTE, 0, TAG_REPORT, team->comm, &requests[1]);
    rung_status status = code == MPI_SUCCESS ? rungi_team_wait(team, 2, requests, (const int[]){0, 0})
                                             : rungi_team_break(team, rungi_mpi_failed(code));
    if (status == RUNG_OK)
        *notice = notices[1];
    if (!team->is_broken)
        free(notices);
    return status;
}

rung_status rungi_team_agree(rungi_team *team, rung_status status, uint64_t signature)
{
    rungi_notice notice = {.status = status, .rank = team->rank, .signature = signature};
    if (status != RUNG_OK)
        snprintf(notice.text, sizeof notice.text, "%s", rung_error_text());
    rung_status heard = team->rank == 0 ? lead(team, &notice) : follow(team, &notice);
    if (heard != RUNG_OK)
        return heard;
    if (notice.status == RUNG_OK)
        return RUNG_OK;
    return rung_error_set((rung_status)notice.status, "rank %lld: %s", (long long)notice.rank, notice.text);
}
