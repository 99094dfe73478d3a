/* SPDX-License-Identifier: Apache-2.0 */
/* share.c - see share.h. */
#include "outofcore/share.h"

#include <math.h>
#include <stdlib.h>

#include "core/assert.h"

enum { FREE, TAKEN, DONE };

/* Past so many blocks the last one is far away, and an even flow tells as much as counting them out. */
enum { COUNTED = 1024 };

static void free_lists(rungi_share *share)
{
    free(share->states);
    free(share->sharers);
    free(share->ready);
    share->states = NULL;
    share->sharers = NULL;
    share->ready = NULL;
}

rung_status rungi_share_init(rungi_share *share, int64_t count, int sharers)
{
    *share = (rungi_share){.count = count, .free = count, .sharer_count = sharers};
    share->states = calloc((size_t)count + 1, 1);
    share->sharers = calloc((size_t)sharers + 1, sizeof *share->sharers);
    share->ready = calloc((size_t)sharers + 1, sizeof *share->ready);
    if (!share->states || !share->sharers || !share->ready) {
        free_lists(share);
        return rung_error_set(RUNG_STATUS_NO_MEMORY,
                              "no memory for a list of %lld blocks and %d devices; give the devices more "
                              "memory, so that blocks are larger",
                              (long long)count, sharers);
    }
    pthread_mutex_init(&share->mutex, NULL);
    pthread_cond_init(&share->changed, NULL);
    return RUNG_OK;
}

void rungi_share_free(rungi_share *share)
{
    if (!share->states)
        return;
    pthread_mutex_destroy(&share->mutex);
    pthread_cond_destroy(&share->changed);
    free_lists(share);
}

void rungi_share_skip(rungi_share *share, int64_t block)
{
    if (share->states[block] != FREE)
        return;
    share->states[block] = DONE;
    share->done++;
    share->free--;
}

/* ---- Who should take what ------------------------------------------------------------------------------- */

static double speed_of(const rungi_sharer *sharer)
{
    return sharer->is_out || !(sharer->ns > 0) ? 0 : sharer->work / sharer->ns;
}

/* When the others would have so many more blocks done, if they began them as they become free. Infinite where no
 * other's speed is known. */
static double others_need(const rungi_share *share, int who, int64_t blocks)
{
    double *ready = share->ready, last = INFINITY, flow = 0;
    for (int i = 0; i < share->sharer_count; i++) {
        double speed = i == who ? 0 : speed_of(&share->sharers[i]);
        ready[i] = speed > 0 ? share->sharers[i].left / speed : INFINITY;
        flow += speed;
    }
    double ahead = blocks > COUNTED && flow > 0 ? (double)(blocks - COUNTED) / flow : 0;
    for (int64_t done = 0; done < blocks && done < COUNTED; done++) {
        int soonest = -1;
        last = INFINITY;
        for (int i = 0; i < share->sharer_count; i++) {
            double speed = i == who ? 0 : speed_of(&share->sharers[i]);
            double end = speed > 0 ? ready[i] + 1 / speed : INFINITY;
            if (end < last) {
                last = end;
                soonest = i;
            }
        }
        if (soonest < 0)
            return INFINITY;
        ready[soonest] = last;
    }
    return last + ahead;
}

bool rungi_share_is_worth(const rungi_share *share, int who)
{
    const rungi_sharer *sharer = &share->sharers[who];
    double speed = speed_of(sharer);
    return !(speed > 0) || (sharer->left + 1) / speed <= others_need(share, who, share->free);
}

/* ---- Taking and giving ------------------------------------------------------------------------------------ */

static int64_t find_free(rungi_share *share)
{
    RUNGI_ASSERT(share->free > 0);
    while (share->states[share->next_free] != FREE) {
        share->next_free++;
        RUNGI_ASSERT(share->next_free < share->count);
    }
    return share->next_free;
}

int64_t rungi_share_take(rungi_share *share, int who)
{
    int64_t block = -1;
    pthread_mutex_lock(&share->mutex);
    rungi_sharer *sharer = &share->sharers[who];
    while (!share->is_stopped && !sharer->is_out && share->done < share->count && block < 0) {
        if (share->free > 0 && rungi_share_is_worth(share, who)) {
            block = find_free(share);
            share->states[block] = TAKEN;
            share->free--;
            sharer->left += 1;
        } else {
            pthread_cond_wait(&share->changed, &share->mutex);
        }
    }
    pthread_mutex_unlock(&share->mutex);
    return block;
}

bool rungi_share_step(rungi_share *share, int who, double work, double ns, double rest)
{
    pthread_mutex_lock(&share->mutex);
    rungi_sharer *sharer = &share->sharers[who];
    sharer->work += work;
    sharer->ns += ns;
    sharer->left = fmax(0, sharer->left - work);
    double speed = speed_of(sharer);
    bool goes_on = !(speed > 0) || rest <= 0 || rest / speed <= others_need(share, who, share->free + 1);
    pthread_cond_broadcast(&share->changed);
    pthread_mutex_unlock(&share->mutex);
    return goes_on;
}

void rungi_share_done(rungi_share *share, int who, int64_t block)
{
    RUNGI_ASSERT(block >= 0 && block < share->count && who >= 0 && who < share->sharer_count);
    pthread_mutex_lock(&share->mutex);
    RUNGI_ASSERT(share->states[block] == TAKEN);
    share->states[block] = DONE;
    share->done++;
    share->sharers[who].blocks++;
    pthread_cond_broadcast(&share->changed);
    pthread_mutex_unlock(&share->mutex);
}

void rungi_share_give_back(rungi_share *share, int who, int64_t block, double left)
{
    pthread_mutex_lock(&share->mutex);
    rungi_sharer *sharer = &share->sharers[who];
    sharer->left = fmax(0, sharer->left - left);
    if (share->states[block] == TAKEN) {
        share->states[block] = FREE;
        share->free++;
        if (block < share->next_free)
            share->next_free = block;
    }
    pthread_cond_broadcast(&share->changed);
    pthread_mutex_unlock(&share->mutex);
}

void rungi_share_leave(rungi_share *share, int who)
{
    pthread_mutex_lock(&share->mutex);
    share->sharers[who].is_out = true;
    pthread_cond_broadcast(&share->changed);
    pthread_mutex_unlock(&share->mutex);
}

void rungi_share_stop(rungi_share *share)
{
    pthread_mutex_lock(&share->mutex);
    share->is_stopped = true;
    pthread_cond_broadcast(&share->changed);
    pthread_mutex_unlock(&share->mutex);
}

bool rungi_share_is_complete(rungi_share *share)
{
    pthread_mutex_lock(&share->mutex);
    bool complete = share->done == share->count;
    pthread_mutex_unlock(&share->mutex);
    return complete;
}
