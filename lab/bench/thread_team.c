/* SPDX-License-Identifier: Apache-2.0 */
/* thread_team.c - see thread_team.h. */
#include "bench/thread_team.h"

#include <pthread.h>

typedef struct team_member {
    void (*work)(void *item);
    void *item;
    pthread_mutex_t *gate; /* locked until all threads exist */
} team_member_t;

static void *run_member(void *user)
{
    team_member_t *member = user;
    pthread_mutex_lock(member->gate);
    pthread_mutex_unlock(member->gate);
    member->work(member->item);
    return NULL;
}

int lab_thread_team_run(void (*work)(void *item), void *items, size_t item_bytes, int count)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    team_member_t members[LAB_THREADS_MAX];
    pthread_t threads[LAB_THREADS_MAX];
    int created = 1;
    pthread_mutex_lock(&gate);
    for (; created < count && created < LAB_THREADS_MAX; created++) {
        members[created] = (team_member_t){work, (char *)items + (size_t)created * item_bytes, &gate};
        if (pthread_create(&threads[created], NULL, run_member, &members[created]) != 0)
            break;
    }
    pthread_mutex_unlock(&gate);
    work(items);
    for (int i = 1; i < created; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&gate);
    return created;
}
