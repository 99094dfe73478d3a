/* SPDX-License-Identifier: Apache-2.0 */
/* block_queue.h - assigns the blocks of C to devices.
 *
 * Each device takes the next free block when it is ready. A device returns a block if it fails or is too slow, and another
 * device takes the block. Decisions use the speeds that were measured in this call.
 *
 * The caller measures times, so that tests can use any. All functions may be called by several threads. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "rung/outofcore.h"

/* State of one device. Work is counted in blocks; smaller blocks at the edges count as whole blocks. */
typedef struct rungi_block_queue_device {
    bool has_failed;
    double done_work, done_ns; /* computed blocks, with fractions, and their time */
    double remaining;          /* blocks that were taken and are not computed */
    int64_t blocks;            /* completed */
} rungi_block_queue_device;

typedef struct rungi_block_queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned char *states; /* one per block */
    int64_t count, done_count, first_free, free_count;
    bool is_stopped;
    int device_count;
    rungi_block_queue_device *devices;
    double *ready_ns; /* scratch, one per device */
} rungi_block_queue;

/* Creates a queue for at least one device. Freeing a queue that is zeroed or already freed does nothing. */
rung_status rungi_block_queue_init(rungi_block_queue *queue, int64_t count, int devices);
void rungi_block_queue_free(rungi_block_queue *queue);

/* Marks a block as complete before any block is taken. */
void rungi_block_queue_skip(rungi_block_queue *queue, int64_t block);

/* Returns the next block for a device, or -1 when no block remains. Waits while another device may still return a block. */
int64_t rungi_block_queue_take(rungi_block_queue *queue, int device);

/* Returns whether a device should take another block: the other devices would complete all free blocks later than this
 * device completes one. The caller holds the mutex or is the only thread. */
bool rungi_block_queue_is_worth_taking(const rungi_block_queue *queue, int device);

/* Adds computed work of a block. Returns whether the device should compute the remaining fraction of the block: the other
 * devices would not complete the whole block sooner. */
bool rungi_block_queue_add_progress(rungi_block_queue *queue, int device, double work, double ns, double remaining);

/* Marks a taken block as complete, or makes it free again; `remaining` is the fraction that was not computed. */
void rungi_block_queue_complete(rungi_block_queue *queue, int device, int64_t block);
void rungi_block_queue_return(rungi_block_queue *queue, int device, int64_t block, double remaining);

/* Stops giving blocks to a device that failed, or to all devices. */
void rungi_block_queue_remove_device(rungi_block_queue *queue, int device);
void rungi_block_queue_stop(rungi_block_queue *queue);

/* Returns whether every block is complete. */
bool rungi_block_queue_is_complete(rungi_block_queue *queue);
