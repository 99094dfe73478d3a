/* SPDX-License-Identifier: Apache-2.0 */
/* driver_queue.c - queues execute the work of a stream in order, each in its own thread, and markers are signals between queues
 * and to the host. */
#include <stdlib.h>
#include <time.h>

#include "emulator/driver/driver.h"

typedef struct entry {
    driver_work_t *work;
    struct entry *next;
} entry_t;

struct driver_queue {
    CUcontext context;
    int references; /* without the thread */
    bool is_closed; /* there are no references */
    entry_t *first, **end;
    bool is_running; /* the thread executes work */
    struct driver_queue *next;
};

struct driver_marker {
    int references;
    int64_t time;
};

/* One lock and one condition for all queues and markers: there are few of both. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static driver_queue_t *queues; /* with a thread */

/* ---- Markers ---------------------------------------------------------------------------------- */

driver_marker_t *marker_new(void)
{
    driver_marker_t *marker = calloc(1, sizeof *marker);
    if (marker)
        marker->references = 1;
    return marker;
}

driver_marker_t *marker_retain(driver_marker_t *marker)
{
    pthread_mutex_lock(&lock);
    marker->references++;
    pthread_mutex_unlock(&lock);
    return marker;
}

void marker_release(driver_marker_t *marker)
{
    if (!marker)
        return;
    pthread_mutex_lock(&lock);
    bool is_last = --marker->references == 0;
    pthread_mutex_unlock(&lock);
    if (is_last)
        free(marker);
}

/* The queue that signals is idle at the same time if there is no other work: who waits for the marker may ask then. */
static void marker_signal(driver_marker_t *marker, driver_queue_t *queue)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&lock);
    marker->time = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    queue->is_running = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void marker_wait(driver_marker_t *marker)
{
    pthread_mutex_lock(&lock);
    while (marker->time == 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

int64_t marker_time(driver_marker_t *marker)
{
    pthread_mutex_lock(&lock);
    int64_t time = marker->time;
    pthread_mutex_unlock(&lock);
    return time;
}

/* ---- Queues ----------------------------------------------------------------------------------- */

/* Removes the next work; NULL if the queue ends. The caller holds the lock. */
static driver_work_t *take_work(driver_queue_t *queue)
{
    while (!queue->first && !queue->is_closed)
        pthread_cond_wait(&changed, &lock);
    entry_t *entry = queue->first;
    if (!entry)
        return NULL;
    driver_work_t *work = entry->work;
    queue->first = entry->next;
    if (!queue->first)
        queue->end = &queue->first;
    queue->is_running = true;
    free(entry);
    return work;
}

static bool has_failed(CUcontext context)
{
    return atomic_load(&context->sticky_error) || error_is_sticky((CUresult)atomic_load(&context->pending));
}

/* After a sticky error, only signals and waits take place. */
static void run(driver_queue_t *queue, driver_work_t *work)
{
    bool is_order = work->kind == WAIT || work->kind == FREE_MEMORY;
    CUresult result = CUDA_SUCCESS;
    if (work->kind == SIGNAL)
        marker_signal(work->marker, queue);
    else if (is_order || !has_failed(queue->context))
        result = work_execute(work);
    if (result != CUDA_SUCCESS)
        context_record_async_error(queue->context, result);
    work_release(work);
}

/* The caller holds the lock. */
static void remove_queue(driver_queue_t *queue)
{
    driver_queue_t **at = &queues;
    while (*at != queue)
        at = &(*at)->next;
    *at = queue->next;
}

static void *run_queue(void *user)
{
    driver_queue_t *queue = user;
    pthread_mutex_lock(&lock);
    for (driver_work_t *work = take_work(queue); work; work = take_work(queue)) {
        pthread_mutex_unlock(&lock);
        run(queue, work);
        pthread_mutex_lock(&lock);
        queue->is_running = false;
        pthread_cond_broadcast(&changed);
    }
    remove_queue(queue);
    pthread_mutex_unlock(&lock);
    free(queue);
    return NULL;
}

driver_queue_t *queue_new(CUcontext context)
{
    pthread_t thread;
    driver_queue_t *queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    queue->context = context;
    queue->references = 1;
    queue->end = &queue->first;
    pthread_mutex_lock(&lock);
    bool has_started = pthread_create(&thread, NULL, run_queue, queue) == 0;
    if (has_started) {
        queue->next = queues;
        queues = queue;
    }
    pthread_mutex_unlock(&lock);
    if (!has_started) {
        free(queue);
        return NULL;
    }
    pthread_detach(thread);
    return queue;
}

driver_queue_t *queue_retain(driver_queue_t *queue)
{
    pthread_mutex_lock(&lock);
    queue->references++;
    pthread_mutex_unlock(&lock);
    return queue;
}

void queue_release(driver_queue_t *queue)
{
    pthread_mutex_lock(&lock);
    queue->is_closed = --queue->references == 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

CUresult queue_add(driver_queue_t *queue, driver_work_t *work)
{
    entry_t *entry = malloc(sizeof *entry);
    if (!entry) {
        work_release(work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *entry = (entry_t){.work = work};
    pthread_mutex_lock(&lock);
    *queue->end = entry;
    queue->end = &entry->next;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

void queue_finish(driver_queue_t *queue)
{
    pthread_mutex_lock(&lock);
    while (queue->first || queue->is_running)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

bool queue_is_idle(driver_queue_t *queue)
{
    pthread_mutex_lock(&lock);
    bool is_idle = !queue->first && !queue->is_running;
    pthread_mutex_unlock(&lock);
    return is_idle;
}

static bool has_work(CUcontext context)
{
    for (const driver_queue_t *at = queues; at; at = at->next)
        if (at->context == context && (at->first || at->is_running))
            return true;
    return false;
}

void queue_finish_all(CUcontext context)
{
    pthread_mutex_lock(&lock);
    while (has_work(context))
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}
