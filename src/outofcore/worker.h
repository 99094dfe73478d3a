/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - one device at work: three threads around a block of C.
 *
 *     feed.c      fetches strips of A's panels into one of two places while the other is computed with, and meanwhile,
 *                 piece by piece, the next panel of B
 *     compute.c   multiplies a strip by a panel into the block
 *     exchange.c  brings a finished block out, and C0 in where that is read, strip by strip: behind it the
 *                 next block is begun
 *
 * Each has a queue of its own and waits for its own work, so that what a driver does not overlap is slow
 * and never wrong. They meet under the worker's lock, which nothing else is taken under. */
#ifndef RUNGI_OUTOFCORE_WORKER_H
#define RUNGI_OUTOFCORE_WORKER_H

#include <pthread.h>
#include <stdbool.h>

#include "outofcore/blocking.h"
#include "outofcore/output.h"
#include "outofcore/progress.h"
#include "outofcore/share.h"

/* What all workers have in common. */
typedef struct rungi_job {
    const rungi_task *problem;
    const rung_outofcore_options *options;
    rungi_whole whole;
    rung_outofcore_blocking blocking;
    rungi_share share;
    const rungi_stored *c; /* where the result goes ... */
    rungi_output *output;  /* ... and whose journal tells of it; or NULL */
    rungi_reporter reporter;

    pthread_mutex_t mutex; /* of all below */
    int64_t read, written, up, down;
    int64_t before;     /* blocks that an earlier call has done */
    double computed;    /* blocks, parts of one too */
    rung_status status; /* what ends it for all, and its sentence */
    char error[RUNGI_SENTENCE];
    int first_failed; /* of the devices, in time; -1: none has */
} rungi_job;

/* Ends it for all; the sentence is this thread's. */
void rungi_job_fail(rungi_job *job, rung_status status);

/* Bytes moved, from and to the operands or a device. */
typedef enum rungi_way { RUNGI_READ, RUNGI_WRITTEN, RUNGI_UP, RUNGI_DOWN } rungi_way;
void rungi_job_count(rungi_job *job, rungi_way way, int64_t bytes);

/* Counts a part of a block as computed and reports progress. Returns false if the call is to end. */
bool rungi_job_step(rungi_job *job, double blocks);

/* A strip of a panel of A, or room for one, and whose panel of B it is multiplied by. */
typedef struct rungi_strip {
    rung_buffer *a;
    bool is_ready;
    int64_t block, panel, index, serial; /* index: of the strip; serial: of which taking of a block */
    int b;                               /* in which place */
} rungi_strip;

/* A panel of B, or room for one. */
typedef struct rungi_across {
    rung_buffer *memory;
    int64_t users;  /* strips that were fetched for it and are not done */
    bool is_packed; /* it stands in the worker's packed memory too, and its room is free */
} rungi_across;

enum { RUNGI_PLANS = 32, RUNGI_HELD = 8, RUNGI_SLICE = 4 << 20 };

/* A plan, and the shape it is for. */
typedef struct rungi_shape {
    int64_t rows, cols, depth;
    rung_plan *plan;
} rungi_shape;

typedef struct rungi_worker {
    rungi_job *job;
    int who; /* in the share */
    rung_device *device;
    bool is_here; /* its memory is this process's */
    rung_queue *feed_queue, *queue, *exchange_queue;
    rung_buffer *block;                /* of C, in the sums' type */
    char *feed_slice, *exchange_slice; /* on the way to other memory, order or type */
    char *exchange_converted;
    rung_buffer *packed; /* a panel of B as kernels want it: brought there once for all strips; NULL: it is not */
    rung_kernel *kernel; /* that packs: all strips need the same, with the same parameters */
    char parameters[RUNG_PARAMETERS_BYTES];
    rungi_shape shapes[RUNGI_PLANS];
    int shape_count;
    double planned; /* nanoseconds that making plans took, compiling too, which says nothing of its speed */
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    rungi_strip strips[2];
    rungi_across across[2];      /* the second is not there where panels are packed */
    bool is_fed;                 /* there will be no more */
    bool is_over;                /* nothing more is computed */
    bool is_closing;             /* nothing more is to be exchanged */
    int64_t serial, dropped;     /* the last taken, and the last that is not gone on with */
    int64_t held[RUNGI_HELD];    /* blocks that were taken and are not done; -1: none */
    int64_t out_block, in_block; /* to be exchanged; -1: none */
    int64_t out_end, in_end;     /* elements of the block's memory that are free, and filled */
    rung_status status;
    char error[RUNGI_SENTENCE];
    double waited; /* nanoseconds */
} rungi_worker;

/* Starts the device's threads, and waits for them. A device that fails leaves the share. */
rung_status rungi_worker_start(rungi_worker *worker, rungi_job *job, int who, rung_device *device);
void rungi_worker_join(rungi_worker *worker);

/* The bodies of the other two threads. */
void *rungi_feed(void *worker);
void *rungi_exchange(void *worker);

/* Hands a block over to be brought out, or asks for C0; and waits until elements up to `end` may be computed
 * into. False if it is over. */
void rungi_exchange_out(rungi_worker *worker, int64_t block);
void rungi_exchange_in(rungi_worker *worker, int64_t block);
bool rungi_exchange_wait(rungi_worker *worker, int64_t end);

/* This thread has failed: keeps the sentence, and ends the other two. */
void rungi_worker_fail(rungi_worker *worker, rung_status status);

/* Adds a block to those that a failed device gives back, or removes it. Holding more than RUNGI_HELD blocks fails; releasing
 * a block that is not held does nothing. */
rung_status rungi_worker_hold(rungi_worker *worker, int64_t block);
void rungi_worker_release(rungi_worker *worker, int64_t block);

/* Strips of a block of so many rows, and one of them. */
int64_t rungi_strip_count(int64_t rows);
int64_t rungi_strip_size(int64_t rows, int64_t index);

/* How many places there are for panels of B. */
int rungi_places(const rungi_worker *worker);

double rungi_now(void); /* nanoseconds */

#endif /* RUNGI_OUTOFCORE_WORKER_H */
