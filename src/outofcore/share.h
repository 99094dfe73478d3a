/* SPDX-License-Identifier: Apache-2.0 */
/* share.h - who computes which block of C. There is one list of blocks, from which devices take the next when
 * they come to it; a block that a device gives back, because it failed or is too slow for it, is taken by
 * another. Speeds are those that were seen in this call.
 *
 * Times come from the caller, so that a test can have any. All functions may be called by many threads. */
#ifndef RUNGI_OUTOFCORE_SHARE_H
#define RUNGI_OUTOFCORE_SHARE_H

#include <pthread.h>
#include <stdbool.h>

#include "rung/outofcore.h"

/* One device's part of it. Work is counted in blocks, of which those at the edges count as whole ones. */
typedef struct rungi_sharer {
    bool is_out;     /* failed, and not asked any more */
    double work, ns; /* what it has computed, and how long that took */
    double left;     /* of what it has taken */
    int64_t blocks;  /* done */
} rungi_sharer;

typedef struct rungi_share {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned char *states; /* of each block */
    int64_t count, done, next_free, free;
    bool is_stopped;
    int sharer_count;
    rungi_sharer *sharers;
    double *ready; /* of each, for rungi_share_is_worth() and rungi_share_step() */
} rungi_share;

rung_status rungi_share_init(rungi_share *share, int64_t count, int sharers);
void rungi_share_free(rungi_share *share);

/* Before anything is taken: a block that is done already. */
void rungi_share_skip(rungi_share *share, int64_t block);

/* The next block for this device, after waiting where another may still give one back; -1 when there will be
 * none. */
int64_t rungi_share_take(rungi_share *share, int who);

/* Whether a device should take a block at all: the others would not be done with all that is free before it were
 * done with that one. Asked under the lock, or by one thread alone. */
bool rungi_share_is_worth(const rungi_share *share, int who);

/* A part of a block is computed; whether the device should go on with the rest of it, `rest`, since the others
 * would not have the whole block done sooner. */
bool rungi_share_step(rungi_share *share, int who, double work, double ns, double rest);

void rungi_share_done(rungi_share *share, int who, int64_t block);
void rungi_share_give_back(rungi_share *share, int who, int64_t block, double left);

/* A device is out; or all of it ends early. */
void rungi_share_leave(rungi_share *share, int who);
void rungi_share_stop(rungi_share *share);

/* Whether every block is done. */
bool rungi_share_is_complete(rungi_share *share);

#endif /* RUNGI_OUTOFCORE_SHARE_H */
