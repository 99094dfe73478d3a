/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - one device of an out-of-core multiply: three threads that compute one block of C at a time.
 *
 *     panel_reader.c   reads the slices of A through two buffers and, between slices, parts of the next panel of B
 *     worker.c         multiplies each slice by the panel and adds the product to the block
 *     block_writer.c   writes a completed block and, if C0 is read, loads the C0 of the next block row by row
 *
 * Each thread has its own device queue and waits for its own commands, so a driver that does not overlap queues makes the
 * multiply slower but not wrong. The threads synchronize with the worker's mutex. No other lock is taken while the mutex
 * is held. */
#ifndef RUNGI_OUTOFCORE_WORKER_H
#define RUNGI_OUTOFCORE_WORKER_H

#include <pthread.h>
#include <stdbool.h>

#include "outofcore/block_queue.h"
#include "outofcore/blocking.h"
#include "outofcore/output.h"
#include "outofcore/progress_reporter.h"

/* State of a call, shared by all workers. */
typedef struct rungi_job {
    const rungi_outofcore_problem *problem;
    const rung_outofcore_options *options;
    rungi_outofcore_sizes sizes;
    rung_outofcore_blocking blocking;
    rungi_block_queue block_queue;
    const rung_outofcore_matrix *c; /* receives the result */
    rungi_output *output;           /* result file with its journal; NULL: the result is not a new file */
    rungi_reporter reporter;

    pthread_mutex_t mutex; /* protects the members below */
    int64_t read_bytes, written_bytes, upload_bytes, download_bytes;
    int64_t resumed_blocks; /* completed by an earlier call */
    double computed_blocks; /* includes fractions */
    rung_status status;     /* the failure that ended the call, with its message */
    char error[RUNGI_OUTOFCORE_ERROR_BYTES];
    int first_failed; /* index of the device that failed first; -1: none */
} rungi_job;

/* Ends the call for all workers. The message is the calling thread's rung_error_text(). */
void rungi_job_fail(rungi_job *job, rung_status status);

typedef enum rungi_outofcore_transfer {
    RUNGI_OUTOFCORE_TRANSFER_READ, /* from and to files or memory of the caller */
    RUNGI_OUTOFCORE_TRANSFER_WRITE,
    RUNGI_OUTOFCORE_TRANSFER_UPLOAD, /* to and from the memory of a device */
    RUNGI_OUTOFCORE_TRANSFER_DOWNLOAD
} rungi_outofcore_transfer;

/* Adds transferred bytes to the report. */
void rungi_job_count_bytes(rungi_job *job, rungi_outofcore_transfer transfer, int64_t bytes);

/* Adds computed blocks (a fraction for one slice) and reports progress. Returns false if the call must end. */
bool rungi_job_add_progress(rungi_job *job, double blocks);

/* Buffer for one slice of a panel of A. */
typedef struct rungi_outofcore_slice {
    rung_buffer *a;
    bool is_ready; /* read and not yet multiplied */
    int64_t block, panel, index;
    int64_t serial; /* which take of a block: a device may take the same block twice */
    int b_panel;    /* index of the buffer with the panel of B */
} rungi_outofcore_slice;

/* Buffer for one panel of B. */
typedef struct rungi_outofcore_b_panel {
    rung_buffer *memory;
    int64_t pending_slices; /* slices that were read for this panel and are not yet multiplied */
    bool is_packed;         /* the worker's packed_b has a copy, so the buffer is free */
} rungi_outofcore_b_panel;

enum {
    RUNGI_OUTOFCORE_MAX_CACHED_PLANS = 32,
    RUNGI_OUTOFCORE_MAX_HELD_BLOCKS = 8,
    RUNGI_OUTOFCORE_STAGING_BYTES = 4 << 20
};

/* A plan and its shape. */
typedef struct rungi_outofcore_cached_plan {
    int64_t rows, cols, depth;
    rung_plan *plan;
} rungi_outofcore_cached_plan;

typedef struct rungi_worker {
    rungi_job *job;
    int index; /* of the device in the block queue */
    rung_device *device;
    bool is_host_memory; /* the device computes in memory of this process */
    rung_queue *reader_queue, *queue, *writer_queue;
    rung_buffer *block;                    /* of C, in the accumulator type */
    char *reader_staging, *writer_staging; /* NULL with host memory */
    char *writer_converted;                /* rows in C's type; NULL if that is the accumulator type */
    rung_buffer *packed_b;                 /* current panel of B, packed once for all slices; NULL: not packed */
    rung_kernel *packing_kernel;           /* all slices need this kernel with these parameters */
    char parameters[RUNG_PARAMETERS_BYTES];
    rungi_outofcore_cached_plan cached_plans[RUNGI_OUTOFCORE_MAX_CACHED_PLANS];
    int cached_plan_count;
    int64_t plan_ns; /* time to create plans and to compile; excluded from the measured speed */
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t mutex; /* protects the members below */
    pthread_cond_t changed;
    rungi_outofcore_slice slices[2];
    rungi_outofcore_b_panel b_panels[2]; /* with packed_b, only the first is used */
    bool is_read;                        /* the reader has ended */
    bool is_stopped;                     /* nothing more is computed */
    bool is_closing;                     /* the writer ends after the current block */
    int64_t dropped_serial;              /* slices up to this serial are skipped: their block was returned */
    int64_t held_blocks[RUNGI_OUTOFCORE_MAX_HELD_BLOCKS]; /* taken and not yet completed; -1: free entry */
    int64_t output_block, input_block;                    /* block to write, block whose C0 to load; -1: none */
    int64_t written_end, loaded_end; /* elements at the start of `block` that are written, and that have C0 */
    rung_status status;
    char error[RUNGI_OUTOFCORE_ERROR_BYTES];
    int64_t wait_ns;
} rungi_worker;

static inline void rungi_worker_lock(rungi_worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
}

/* Unlocks the worker after a change that other threads may be waiting for. */
static inline void rungi_worker_unlock_and_notify(rungi_worker *worker)
{
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
}

/* Starts the threads of a device. A device that fails is removed from the block queue. rungi_worker_join() waits for the
 * threads and must follow also after a failed start. */
rung_status rungi_worker_start(rungi_worker *worker, rungi_job *job, int index, rung_device *device);
void rungi_worker_join(rungi_worker *worker);

/* Bodies of the reader and writer threads. */
void *rungi_panel_reader_run(void *worker);
void *rungi_block_writer_run(void *worker);

/* For the computing thread: hands over a completed block, or requests the C0 of a block. */
void rungi_block_writer_post_output(rungi_worker *worker, int64_t block);
void rungi_block_writer_post_input(rungi_worker *worker, int64_t block);

/* Waits until the first `end` elements of the block buffer may be computed. Returns false if the device has failed. */
bool rungi_block_writer_wait(rungi_worker *worker, int64_t end);

/* Records the failure of the calling thread and stops the other two threads of the device. */
void rungi_worker_fail(rungi_worker *worker, rung_status status);

/* Adds a block to those that a failed device returns, or removes it. Holding more than RUNGI_OUTOFCORE_MAX_HELD_BLOCKS
 * blocks fails; releasing a block that is not held does nothing. */
rung_status rungi_worker_hold_block(rungi_worker *worker, int64_t block);
void rungi_worker_release_block(rungi_worker *worker, int64_t block);

/* Returns the number of slices of a block, and the rows of slice `index`. */
int64_t rungi_outofcore_slice_count(int64_t rows);
int64_t rungi_outofcore_slice_size(int64_t rows, int64_t index);

/* Returns the number of buffers for panels of B: 1 with packed_b, else 2. */
int rungi_outofcore_b_panel_buffers(const rungi_worker *worker);

#endif /* RUNGI_OUTOFCORE_WORKER_H */
