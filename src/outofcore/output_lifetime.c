/* SPDX-License-Identifier: Apache-2.0 */
/* output_lifetime.c - see output.h. The order of the steps makes an output safe. The journal is written before PATH.part is
 * created, so another program wrote a PATH.part without a journal. An old PATH.part is removed before its journal is
 * emptied. A block's elements are on the disk before the journal lists the block. The rename comes last. The journal is
 * also the lock: only the call that holds it writes. */
#include "outofcore/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked_arithmetic.h"
#include "base/file_io.h"
#include "base/try.h"
#include "outofcore/npy.h"

/* ---- The thread that syncs written blocks and adds them to the journal ---------------------------------------- */

static rung_status sync_file(int fd, const char *path)
{
    if (fdatasync(fd) == 0)
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_IO, "%s cannot be synced to the disk: %s", path, strerror(errno));
}

/* The elements must be on the disk before the journal lists their blocks. */
static rung_status commit_blocks(rungi_output *output, const int64_t *blocks, int64_t count)
{
    char line[RUNGI_JOURNAL_LINE_BYTES];
    TRY(sync_file(output->matrix.fd, output->part_path));
    for (int64_t i = 0; i < count; i++) {
        int length = rungi_journal_format_line(line, "block %lld", (long long)blocks[i]);
        if (!rungi_write_all(output->journal, line, (size_t)length))
            return rungi_output_fail_write(output->journal_path);
    }
    return sync_file(output->journal, output->journal_path);
}

/* Commits all pending blocks together, so that a slow disk is synced less often. */
static void *run_commit(void *user)
{
    rungi_output *output = user;
    pthread_mutex_lock(&output->mutex);
    for (;;) {
        while (output->pending_count == 0 && !output->is_closing)
            pthread_cond_wait(&output->changed, &output->mutex);
        if (output->pending_count == 0 || output->failure.status != RUNG_OK)
            break;
        int64_t *blocks = output->pending_blocks, count = output->pending_count;
        output->pending_blocks = NULL;
        output->pending_count = output->pending_capacity = 0;
        output->is_busy = true;
        pthread_mutex_unlock(&output->mutex);
        rung_status status = commit_blocks(output, blocks, count);
        free(blocks);
        pthread_mutex_lock(&output->mutex);
        output->is_busy = false;
        rungi_outofcore_failure_record(&output->failure, status);
        if (status == RUNG_OK)
            output->committed_blocks += count;
        pthread_cond_broadcast(&output->changed);
    }
    pthread_mutex_unlock(&output->mutex);
    return NULL;
}

/* Adds a block to the pending ones. The caller holds the mutex. */
static rung_status add_pending(rungi_output *output, int64_t block)
{
    TRY(rungi_outofcore_failure_return(&output->failure));
    if (output->pending_count == output->pending_capacity) {
        int64_t capacity = 2 * output->pending_capacity + 16;
        int64_t *blocks = realloc(output->pending_blocks, (size_t)capacity * sizeof *blocks);
        if (!blocks)
            return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a list of blocks");
        output->pending_blocks = blocks;
        output->pending_capacity = capacity;
    }
    output->pending_blocks[output->pending_count++] = block;
    pthread_cond_broadcast(&output->changed);
    return RUNG_OK;
}

rung_status rungi_output_queue_block(rungi_output *output, int64_t block)
{
    pthread_mutex_lock(&output->mutex);
    rung_status status = add_pending(output, block);
    pthread_mutex_unlock(&output->mutex);
    return status;
}

/* Waits until all queued blocks are in the journal. */
static rung_status wait_for_commit(rungi_output *output)
{
    pthread_mutex_lock(&output->mutex);
    while (output->failure.status == RUNG_OK && (output->pending_count > 0 || output->is_busy))
        pthread_cond_wait(&output->changed, &output->mutex);
    rung_status status = rungi_outofcore_failure_return(&output->failure);
    pthread_mutex_unlock(&output->mutex);
    return status;
}

/* ---- Opening -------------------------------------------------------------------------------------------------- */

static rung_status init_output(rungi_output *output, const rungi_outofcore_problem *problem)
{
    int64_t first, end;
    TRY(rungi_output_set_paths(output, problem->path));
    output->problem = problem;
    output->sizes = rungi_outofcore_sizes_of(problem);
    output->matrix.view = rung_matrix_of(problem->c.view.type, problem->a.view.rows, problem->b.view.cols, NULL);
    output->matrix.data_offset = problem->is_raw ? 0 : RUNGI_NPY_HEADER_BYTES;
    if (!rungi_outofcore_view_byte_range(&output->matrix.view, &first, &end) ||
        !rungi_checked_add(end, output->matrix.data_offset, &output->file_bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the result has more bytes than a file can have");
    output->can_resume = rungi_output_inputs_are_files(problem);
    return rungi_output_write_head(problem, output->head);
}

static rung_status open_output(rungi_output *output, const rungi_outofcore_problem *problem, bool should_restart,
                               rung_outofcore_blocking *blocking, unsigned char **is_block_done)
{
    TRY(init_output(output, problem));
    TRY(rungi_output_open_files(output, should_restart, blocking, is_block_done));
    output->has_thread = pthread_create(&output->thread, NULL, run_commit, output) == 0;
    return output->has_thread ? RUNG_OK : rungi_fail(RUNG_STATUS_NO_MEMORY, "no thread could be started");
}

rung_status rungi_output_open(const rungi_outofcore_problem *problem, bool should_restart,
                              rung_outofcore_blocking *blocking, unsigned char **is_block_done, rungi_output **created)
{
    rungi_output *output = calloc(1, sizeof *output);
    *is_block_done = NULL;
    *created = NULL;
    if (!output)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the output file %s", problem->path);
    pthread_mutex_init(&output->mutex, NULL);
    pthread_cond_init(&output->changed, NULL);
    output->journal = output->matrix.fd = -1;
    rung_status status = open_output(output, problem, should_restart, blocking, is_block_done);
    if (status == RUNG_OK) {
        *created = output;
        return RUNG_OK;
    }
    rungi_output_close(output);
    free(*is_block_done);
    *is_block_done = NULL;
    return status;
}

/* ---- Finishing and closing ------------------------------------------------------------------------------------ */

/* Removes the files of this call. Files that another program has put at the same paths since then stay. */
static void discard_files(rungi_output *output)
{
    rungi_output_unlink_if_same(output->matrix.fd, output->part_path);
    rungi_output_unlink_if_same(output->journal, output->journal_path);
    output->is_started = false;
}

static rung_status rename_output(rungi_output *output)
{
    if (!rungi_output_is_same_file(output->matrix.fd, output->part_path) ||
        !rungi_output_is_same_file(output->journal, output->journal_path)) {
        output->is_started = false;
        return rungi_fail(RUNG_STATUS_IO,
                          "%s or %s was removed or replaced while it was written; the computed blocks are lost",
                          output->part_path, output->journal_path);
    }
    if (fsync(output->matrix.fd) != 0 || rename(output->part_path, output->path) != 0) {
        output->is_started = false; /* the complete file stays */
        return rungi_fail(RUNG_STATUS_IO, "%s is complete and cannot be renamed to %s: %s", output->part_path,
                          output->path, strerror(errno));
    }
    rungi_sync_folder(output->path);
    rungi_output_unlink_if_same(output->journal, output->journal_path);
    rungi_sync_folder(output->path);
    output->is_renamed = true;
    return RUNG_OK;
}

rung_status rungi_output_finish(rungi_output *output, rung_outofcore_accept_function accept, void *user,
                                const rung_outofcore_report *report)
{
    bool is_changed;
    TRY(wait_for_commit(output));
    rung_status status = rungi_output_check_inputs_unchanged(output, &is_changed);
    if (is_changed)
        discard_files(output);
    TRY(status);
    status = accept ? accept(user, &output->matrix, report) : RUNG_OK;
    if (status == RUNG_STATUS_NO_MEMORY || status == RUNG_STATUS_IO || status == RUNG_STATUS_CANCELLED)
        return status; /* the check did not complete: the next call resumes */
    if (status != RUNG_OK) {
        discard_files(output);
        return status;
    }
    return rename_output(output);
}

void rungi_output_close(rungi_output *output)
{
    if (!output)
        return;
    if (output->has_thread) {
        pthread_mutex_lock(&output->mutex);
        output->is_closing = true;
        pthread_cond_broadcast(&output->changed);
        pthread_mutex_unlock(&output->mutex);
        pthread_join(output->thread, NULL);
    }
    if (output->is_started && !output->is_renamed && (output->committed_blocks == 0 || !output->can_resume))
        discard_files(output);
    if (output->journal >= 0 && lseek(output->journal, 0, SEEK_END) == 0)
        rungi_output_unlink_if_same(output->journal, output->journal_path); /* created, but nothing was started */
    if (output->matrix.fd >= 0)
        close(output->matrix.fd);
    if (output->journal >= 0)
        close(output->journal); /* releases the lock */
    pthread_mutex_destroy(&output->mutex);
    pthread_cond_destroy(&output->changed);
    free(output->pending_blocks);
    free(output);
}
