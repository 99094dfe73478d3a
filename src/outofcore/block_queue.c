/* SPDX-License-Identifier: Apache-2.0 */
/* block_queue.c - see block_queue.h. */
#include "outofcore/block_queue.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"

enum { BLOCK_FREE, BLOCK_TAKEN, BLOCK_DONE };

/* At most this many blocks are simulated one by one. More blocks are estimated from the total speed of the devices. */
enum { MAX_SIMULATED_BLOCKS = 1024 };

rung_status rungi_block_queue_init(rungi_block_queue *queue, int64_t count, int devices)
{
    *queue = (rungi_block_queue){.count = count, .free_count = count, .device_count = devices};
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->changed, NULL);
    queue->states = calloc((size_t)count + 1, 1);
    queue->devices = calloc((size_t)devices + 1, sizeof *queue->devices);
    queue->ready_ns = calloc((size_t)devices + 1, sizeof *queue->ready_ns);
    if (queue->states && queue->devices && queue->ready_ns)
        return RUNG_OK;
    rungi_block_queue_free(queue);
    return rungi_fail(RUNG_STATUS_NO_MEMORY,
                      "no memory for a list of %lld blocks and %d devices; give the devices more memory, so that "
                      "blocks are larger",
                      (long long)count, devices);
}

void rungi_block_queue_free(rungi_block_queue *queue)
{
    if (queue->device_count == 0)
        return;
    pthread_mutex_destroy(&queue->mutex);
    pthread_cond_destroy(&queue->changed);
    free(queue->states);
    free(queue->devices);
    free(queue->ready_ns);
    *queue = (rungi_block_queue){.device_count = 0};
}

void rungi_block_queue_skip(rungi_block_queue *queue, int64_t block)
{
    if (queue->states[block] != BLOCK_FREE)
        return;
    queue->states[block] = BLOCK_DONE;
    queue->done_count++;
    queue->free_count--;
}

/* ---- Prediction ----------------------------------------------------------------------------------------- */

/* Returns blocks per nanosecond; 0 if unknown. */
static double speed_of(const rungi_block_queue_device *device)
{
    return device->has_failed || !(device->done_ns > 0) ? 0 : device->done_work / device->done_ns;
}

/* Returns the time until the other devices complete `blocks` more blocks, each taken by the device that completes it first.
 * Infinite if no other device has a known speed. */
static double time_of_others(const rungi_block_queue *queue, int device, int64_t blocks)
{
    double *ready_ns = queue->ready_ns, last = INFINITY, total_speed = 0;
    for (int i = 0; i < queue->device_count; i++) {
        double speed = i == device ? 0 : speed_of(&queue->devices[i]);
        ready_ns[i] = speed > 0 ? queue->devices[i].remaining / speed : INFINITY;
        total_speed += speed;
    }
    double estimated_ns = blocks > MAX_SIMULATED_BLOCKS && total_speed > 0
                              ? (double)(blocks - MAX_SIMULATED_BLOCKS) / total_speed
                              : 0;
    for (int64_t done = 0; done < blocks && done < MAX_SIMULATED_BLOCKS; done++) {
        int earliest = -1;
        last = INFINITY;
        for (int i = 0; i < queue->device_count; i++) {
            double speed = i == device ? 0 : speed_of(&queue->devices[i]);
            double end = speed > 0 ? ready_ns[i] + 1 / speed : INFINITY;
            if (end < last) {
                last = end;
                earliest = i;
            }
        }
        if (earliest < 0)
            return INFINITY;
        ready_ns[earliest] = last;
    }
    return last + estimated_ns;
}

bool rungi_block_queue_is_worth_taking(const rungi_block_queue *queue, int device)
{
    const rungi_block_queue_device *self = &queue->devices[device];
    double speed = speed_of(self);
    return !(speed > 0) || (self->remaining + 1) / speed <= time_of_others(queue, device, queue->free_count);
}

/* ---- Taking and returning --------------------------------------------------------------------------------- */

static void unlock_and_notify(rungi_block_queue *queue)
{
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

static int64_t find_free(rungi_block_queue *queue)
{
    RUNGI_ASSERT(queue->free_count > 0);
    while (queue->states[queue->first_free] != BLOCK_FREE) {
        queue->first_free++;
        RUNGI_ASSERT(queue->first_free < queue->count);
    }
    return queue->first_free;
}

int64_t rungi_block_queue_take(rungi_block_queue *queue, int device)
{
    int64_t block = -1;
    pthread_mutex_lock(&queue->mutex);
    rungi_block_queue_device *self = &queue->devices[device];
    while (!queue->is_stopped && !self->has_failed && queue->done_count < queue->count && block < 0) {
        if (queue->free_count > 0 && rungi_block_queue_is_worth_taking(queue, device)) {
            block = find_free(queue);
            queue->states[block] = BLOCK_TAKEN;
            queue->free_count--;
            self->remaining += 1;
        } else {
            pthread_cond_wait(&queue->changed, &queue->mutex);
        }
    }
    pthread_mutex_unlock(&queue->mutex);
    return block;
}

bool rungi_block_queue_add_progress(rungi_block_queue *queue, int device, double work, double ns, double remaining)
{
    pthread_mutex_lock(&queue->mutex);
    rungi_block_queue_device *self = &queue->devices[device];
    self->done_work += work;
    self->done_ns += ns;
    self->remaining = fmax(0, self->remaining - work);
    double speed = speed_of(self);
    bool can_continue = !(speed > 0) || remaining <= 0 ||
                        remaining / speed <= time_of_others(queue, device, queue->free_count + 1);
    unlock_and_notify(queue);
    return can_continue;
}

void rungi_block_queue_complete(rungi_block_queue *queue, int device, int64_t block)
{
    RUNGI_ASSERT(block >= 0 && block < queue->count && device >= 0 && device < queue->device_count);
    pthread_mutex_lock(&queue->mutex);
    RUNGI_ASSERT(queue->states[block] == BLOCK_TAKEN);
    queue->states[block] = BLOCK_DONE;
    queue->done_count++;
    queue->devices[device].blocks++;
    unlock_and_notify(queue);
}

void rungi_block_queue_return(rungi_block_queue *queue, int device, int64_t block, double remaining)
{
    pthread_mutex_lock(&queue->mutex);
    rungi_block_queue_device *self = &queue->devices[device];
    self->remaining = fmax(0, self->remaining - remaining);
    if (queue->states[block] == BLOCK_TAKEN) {
        queue->states[block] = BLOCK_FREE;
        queue->free_count++;
        if (block < queue->first_free)
            queue->first_free = block;
    }
    unlock_and_notify(queue);
}

void rungi_block_queue_remove_device(rungi_block_queue *queue, int device)
{
    pthread_mutex_lock(&queue->mutex);
    queue->devices[device].has_failed = true;
    unlock_and_notify(queue);
}

void rungi_block_queue_stop(rungi_block_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->is_stopped = true;
    unlock_and_notify(queue);
}

bool rungi_block_queue_is_complete(rungi_block_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    bool is_complete = queue->done_count == queue->count;
    pthread_mutex_unlock(&queue->mutex);
    return is_complete;
}
