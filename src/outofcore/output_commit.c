/* SPDX-License-Identifier: Apache-2.0 */
/* output_commit.c - the thread that syncs written blocks and then adds them to the journal. See output_internal.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_io.h"
#include "base/try.h"
#include "outofcore/output_internal.h"

static rung_status sync_file(int fd, const char *path)
{
    if (fdatasync(fd) == 0)
        return RUNG_OK;
    return rung_error_set(RUNG_STATUS_IO, "%s cannot be synced to the disk: %s", path, strerror(errno));
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
void *rungi_output_run_commit(void *user)
{
    rungi_output *output = user;
    pthread_mutex_lock(&output->mutex);
    for (;;) {
        while (output->pending_count == 0 && !output->is_closing)
            pthread_cond_wait(&output->changed, &output->mutex);
        if (output->pending_count == 0 || output->status != RUNG_OK)
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
        output->status = status;
        if (status != RUNG_OK)
            snprintf(output->error, sizeof output->error, "%s", rung_error_text());
        else
            output->committed_blocks += count;
        pthread_cond_broadcast(&output->changed);
    }
    pthread_mutex_unlock(&output->mutex);
    return NULL;
}

/* Returns the failure of the thread, or RUNG_OK. The caller holds the mutex. */
static rung_status thread_status(const rungi_output *output)
{
    return output->status == RUNG_OK ? RUNG_OK : rung_error_set(output->status, "%s", output->error);
}

/* Adds a block to the pending ones. The caller holds the mutex. */
static rung_status add_pending(rungi_output *output, int64_t block)
{
    TRY(thread_status(output));
    if (output->pending_count == output->pending_capacity) {
        int64_t capacity = 2 * output->pending_capacity + 16;
        int64_t *blocks = realloc(output->pending_blocks, (size_t)capacity * sizeof *blocks);
        if (!blocks)
            return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for a list of blocks");
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

rung_status rungi_output_wait_for_commit(rungi_output *output)
{
    pthread_mutex_lock(&output->mutex);
    while (output->status == RUNG_OK && (output->pending_count > 0 || output->is_busy))
        pthread_cond_wait(&output->changed, &output->mutex);
    rung_status status = thread_status(output);
    pthread_mutex_unlock(&output->mutex);
    return status;
}
