/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - one device of an out-of-core multiply: three threads that compute one block of C at a time.
 *
 *     panel_reader.c   reads the slices of A through two buffers and, between slices, parts of the next panel of B
 *     worker_run.c     multiplies each slice by the panel and adds the product to the block
 *     block_writer.c   writes a completed block and, if C0 is read, loads the C0 of the next block row by row
 *
 * Each thread has its own device queue and waits for its own commands, so a driver that does not overlap queues makes the
 * multiply slower but not wrong. The threads synchronize with the worker's mutex. No other lock is taken while the mutex
 * is held. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/checked_arithmetic.h"
#include "outofcore/block_queue.h"
#include "outofcore/blocking.h"
#include "outofcore/output.h"

/* ---- Progress (progress_reporter.c) ---- */

/* Calls the caller's progress function from its own thread, so that a function that blocks, for example on a stopped
 * terminal, does not stall a device. */
typedef struct rungi_reporter {
    rung_outofcore_progress_function function; /* NULL: nothing is called, and there is no thread */
    void *user;
    pthread_t thread;
    pthread_mutex_t mutex; /* protects the members below; not held during a call */
    pthread_cond_t changed;
    rung_outofcore_progress latest;
    int64_t posted_count, reported_count; /* snapshots */
    bool has_timed_out;                   /* one call took too long: workers no longer wait */
    bool is_closing;
    bool is_cancelled; /* the function returned a value other than 0: it is not called again */
} rungi_reporter;

/* Starts the thread, if there is a function. After a failure, rungi_reporter_close() does nothing. */
rung_status rungi_reporter_start(rungi_reporter *reporter, rung_outofcore_progress_function function, void *user);

/* Reports a snapshot. Waits for the call to return, so that the function can stop the multiply at once, but at most for one
 * second; after the first timeout, never again. Snapshots that are posted during a call are combined: the one with the most
 * progress is reported. Returns false if the function wants the multiply to stop. Any thread may call this function. */
bool rungi_reporter_post(rungi_reporter *reporter, const rung_outofcore_progress *progress);

/* Reports the last snapshot, waits for the last call to return and ends the thread. Returns false if the function wants the
 * multiply to stop. */
bool rungi_reporter_close(rungi_reporter *reporter);

/* ---- Jobs (outofcore_multiply.c) ---- */

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
    rung_outofcore_report
        counts; /* transferred bytes, resumed blocks and corrections; copied to the caller's report at the end */
    double computed_blocks;          /* includes fractions */
    rungi_outofcore_failure failure; /* that ended the call */
    int first_failed;                /* index of the device that failed first; -1: none */
} rungi_job;

/* Ends the call for all workers. The message is the calling thread's rung_error_text(). */
void rungi_job_fail(rungi_job *job, rung_status status);

/* Adds a number to a member of job->counts: corrected elements, or transferred bytes; read_bytes and written_bytes from and to files or memory of the
 * caller, upload_bytes and download_bytes to and from the memory of a device. */
void rungi_job_count(rungi_job *job, int64_t *counter, int64_t number);

/* Adds computed blocks (a fraction for one slice) and reports progress. Returns false if the call must end. */
bool rungi_job_add_progress(rungi_job *job, double blocks);

/* ---- Workers (worker_run.c, panel_reader.c, block_writer.c) ---- */

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
    rung_device *memory_device; /* has the buffers: `device`, or the CPU if products are checked */
    bool is_host_memory;        /* the buffers are in memory of this process */
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
    rungi_outofcore_failure failure;
    int64_t wait_ns;
} rungi_worker;

/* Unlocks the worker after a change that other threads may be waiting for. */
static inline void rungi_worker_unlock_and_notify(rungi_worker *worker)
{
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
}

/* Sets a member that the mutex protects. */
static inline void rungi_worker_set_flag(rungi_worker *worker, bool *flag)
{
    pthread_mutex_lock(&worker->mutex);
    *flag = true;
    rungi_worker_unlock_and_notify(worker);
}

static inline void rungi_worker_set_number(rungi_worker *worker, int64_t *member, int64_t value)
{
    pthread_mutex_lock(&worker->mutex);
    *member = value;
    rungi_worker_unlock_and_notify(worker);
}

/* Starts the threads of a device. A device that fails is removed from the block queue. rungi_worker_join() waits for the
 * threads and must follow also after a failed start. */
rung_status rungi_worker_start(rungi_worker *worker, rungi_job *job, int index, rung_device *device);
void rungi_worker_join(rungi_worker *worker);

/* Bodies of the reader and writer threads. */
void *rungi_panel_reader_run(void *worker);
void *rungi_block_writer_run(void *worker);

/* For the computing thread: sets `request`, the worker's output_block or input_block, to a block once the previous request
 * is complete. The writer then writes the block or loads its C0, and advances *end, written_end or loaded_end, from 0. */
void rungi_block_writer_post(rungi_worker *worker, int64_t *request, int64_t *end, int64_t block);

/* Waits until the first `end` elements of the block buffer may be computed. Returns false if the device has failed. */
bool rungi_block_writer_wait(rungi_worker *worker, int64_t end);

/* Records the failure of the calling thread and stops the other two threads of the device. */
void rungi_worker_fail(rungi_worker *worker, rung_status status);

/* Adds a block to those that a failed device returns, or removes it. Holding more than RUNGI_OUTOFCORE_MAX_HELD_BLOCKS
 * blocks fails; releasing a block that is not held does nothing. */
rung_status rungi_worker_hold_block(rungi_worker *worker, int64_t block);
void rungi_worker_release_block(rungi_worker *worker, int64_t block);

/* Copies host memory to a buffer of the device, and waits for the copy. */
rung_status rungi_worker_upload(rungi_worker *worker, rung_queue *queue, rung_buffer *buffer, int64_t offset,
                                int64_t bytes, const void *from);

/* Return the number of slices of a block, and the rows of slice `index`. */
static inline int64_t rungi_outofcore_slice_count(int64_t rows)
{
    return rungi_ceil_divide(rows, rungi_outofcore_slice_rows(rows));
}

static inline int64_t rungi_outofcore_slice_size(int64_t rows, int64_t index)
{
    return rungi_min(rungi_outofcore_slice_rows(rows), rows - index * rungi_outofcore_slice_rows(rows));
}

/* Returns the number of buffers for panels of B. */
static inline int rungi_outofcore_b_panel_buffers(const rungi_worker *worker)
{
    return worker->packed_b ? 1 : 2;
}
