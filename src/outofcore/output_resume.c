/* SPDX-License-Identifier: Apache-2.0 */
/* output_resume.c - starts an output file anew, or resumes one from its journal. See output_internal.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_io.h"
#include "base/try.h"
#include "outofcore/output_internal.h"

/* ---- Starting anew ---------------------------------------------------------------------------------------- */

static rung_status write_journal(rungi_output *output, const rung_outofcore_blocking *blocking)
{
    char line[RUNGI_JOURNAL_LINE_BYTES];
    int length = rungi_journal_format_line(line, "cut %lld %lld %lld %lld", (long long)blocking->block_rows,
                                           (long long)blocking->block_cols, (long long)blocking->panel_depth,
                                           (long long)blocking->memory_bytes);
    if (ftruncate(output->journal, 0) != 0 || lseek(output->journal, 0, SEEK_SET) != 0 ||
        !rungi_write_all(output->journal, output->head, strlen(output->head)) ||
        !rungi_write_all(output->journal, line, (size_t)length) || fsync(output->journal) != 0)
        return rungi_output_fail_write(output->journal_path);
    rungi_sync_folder(output->path);
    return RUNG_OK;
}

/* Removes the PATH.part of an earlier call. Without a journal of rung, another program wrote the file. */
static rung_status remove_part(const rungi_output *output, bool has_signature)
{
    struct stat part_status;
    if (lstat(output->part_path, &part_status) != 0)
        return RUNG_OK;
    if (!has_signature)
        return rung_error_set(
            RUNG_STATUS_INVALID,
            "%s exists and was not left by an interrupted multiply: %s does not list it. This "
            "multiply needs that name for a temporary file; move or remove it, or name another output file",
            output->part_path, output->journal_path);
    if (unlink(output->part_path) != 0)
        return rung_error_set(RUNG_STATUS_IO, "%s cannot be removed: %s", output->part_path, strerror(errno));
    rungi_sync_folder(output->path);
    return RUNG_OK;
}

static rung_status start_fresh(rungi_output *output, const rung_outofcore_blocking *blocking, bool has_signature)
{
    TRY(rungi_output_check_file_size_limit(output));
    TRY(remove_part(output, has_signature));
    output->is_started = true; /* from here on, the journal belongs to this call */
    TRY(write_journal(output, blocking));
    TRY(rungi_output_open_part(output, O_CREAT | O_EXCL));
    TRY(rungi_output_initialize_part(output));
    rungi_sync_folder(output->path);
    return RUNG_OK;
}

/* ---- Reading the journal ----------------------------------------------------------------------------------- */

/* Blocks that the journal lists. */
typedef struct journal_read {
    const rungi_outofcore_sizes *sizes;
    unsigned char *is_block_done;
    int64_t blocks, done;
} journal_read_t;

static bool add_journal_block(void *user, const rung_outofcore_blocking *journal_blocking, int64_t block)
{
    journal_read_t *read = user;
    rung_outofcore_blocking blocking = *journal_blocking;
    if (!read->is_block_done) {
        if (rungi_blocking_count(read->sizes, &blocking) != RUNG_OK)
            return false;
        read->blocks = blocking.row_blocks * blocking.col_blocks;
        read->is_block_done = calloc((size_t)read->blocks, 1);
    }
    if (!read->is_block_done || block >= read->blocks)
        return false;
    read->done += !read->is_block_done[block];
    read->is_block_done[block] = 1;
    return true;
}

static rung_status fail_foreign_journal(const rungi_output *output)
{
    return rung_error_set(RUNG_STATUS_INVALID,
                          "%s exists and is not a journal of rung multiply; move or remove it, or name "
                          "another output file",
                          output->journal_path);
}

static rung_status read_journal(const rungi_output *output, char **text, int64_t *bytes)
{
    enum { JOURNAL_MAX_BYTES = 1 << 28 };
    struct stat status;
    if (fstat(output->journal, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > JOURNAL_MAX_BYTES)
        return fail_foreign_journal(output);
    *bytes = (int64_t)status.st_size;
    *text = malloc((size_t)*bytes + 1);
    if (!*text)
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for %s", output->journal_path);
    if (rungi_read_up_to(output->journal, *text, *bytes) != *bytes)
        return rung_error_set(RUNG_STATUS_IO, "%s cannot be read: %s", output->journal_path, strerror(errno));
    return RUNG_OK;
}

/* Returns whether the journal belongs to a PATH.part that no longer exists: a process ended between the rename and the
 * removal of its journal. The journal of any problem is then ignored, unless the result is now one of the inputs: the same
 * call would be applied twice. */
static bool is_stale_journal(const rungi_output *output, const char *text, int64_t bytes)
{
    struct stat part_status;
    return rungi_output_find_input_at(output, output->path) == RUNGI_OUTPUT_NO_INPUT &&
           rungi_journal_has_signature(text, bytes) && lstat(output->part_path, &part_status) != 0;
}

/* Returns RUNG_OK for a journal of this problem, else the reason why it cannot be resumed. */
static rung_status check_journal_match(const rungi_output *output, rungi_journal_match match)
{
    const char *journal = output->journal_path;
    char name[RUNGI_OUTPUT_DESCRIPTION_BYTES];
    switch (match) {
    case RUNGI_JOURNAL_MATCHES: return RUNG_OK;
    case RUNGI_JOURNAL_UNKNOWN_VERSION:
        return rung_error_set(RUNG_STATUS_INVALID,
                              "%s was written by another version of rung, and this version cannot resume it; "
                              "resume with that version, or discard what was computed (restart)",
                              journal);
    case RUNGI_JOURNAL_DIFFERENT_PROBLEM:
        return rung_error_set(RUNG_STATUS_INVALID,
                              "%s lists blocks of another problem; repeat the call that was interrupted, or discard "
                              "what was computed (restart)",
                              journal);
    case RUNGI_JOURNAL_A_CHANGED:
    case RUNGI_JOURNAL_B_CHANGED:
    case RUNGI_JOURNAL_C0_CHANGED:
        rungi_output_describe_changed_input(output, match, name);
        return rung_error_set(RUNG_STATUS_INVALID,
                              "the multiply that %s lists was interrupted, and %s has changed since then (size, mtime, "
                              "ctime, inode or contents); discard what was computed (restart)",
                              journal, name);
    default: return rung_error_set(RUNG_STATUS_INVALID, "%s is damaged; discard what was computed (restart)", journal);
    }
}

/* ---- Resuming ---------------------------------------------------------------------------------------------- */

/* Cuts the journal after its last valid line and opens PATH.part, which must have its full size. */
static rung_status reopen_files(rungi_output *output, const rungi_journal *journal, const struct stat *part_status)
{
    off_t end = (off_t)journal->valid_bytes;
    if (part_status->st_size != output->file_bytes)
        return rung_error_set(RUNG_STATUS_INVALID,
                              "%s has %lld bytes instead of %lld, although %s lists its blocks; discard both (restart)",
                              output->part_path, (long long)part_status->st_size, (long long)output->file_bytes,
                              output->journal_path);
    if (ftruncate(output->journal, end) != 0 || lseek(output->journal, 0, SEEK_END) != end)
        return rungi_output_fail_write(output->journal_path);
    TRY(rungi_output_check_file_size_limit(output));
    return rungi_output_open_part(output, 0);
}

/* Resumes with the blocks that the journal lists. Leaves *is_fresh true if the journal lists none. The caller frees
 * read->is_block_done. */
static rung_status resume(rungi_output *output, const char *text, int64_t bytes, journal_read_t *read,
                          rung_outofcore_blocking *blocking, bool *is_fresh)
{
    rungi_journal journal = {.valid_bytes = 0};
    struct stat part_status;
    if (!is_stale_journal(output, text, bytes))
        TRY(check_journal_match(output,
                                rungi_journal_parse(text, bytes, output->head, &journal, add_journal_block, read)));
    if (!output->can_resume || read->done == 0 || stat(output->part_path, &part_status) != 0)
        return RUNG_OK;
    TRY(reopen_files(output, &journal, &part_status));
    *is_fresh = false;
    output->is_started = true;
    output->committed_blocks = read->done;
    *blocking = journal.blocking;
    return rungi_blocking_count(&output->sizes, blocking);
}

static rung_status resume_or_start(rungi_output *output, bool should_restart, const char *text, int64_t bytes,
                                   rung_outofcore_blocking *blocking, unsigned char **is_block_done)
{
    bool is_fresh = true, has_signature = rungi_journal_has_signature(text, bytes);
    journal_read_t read = {.sizes = &output->sizes};
    if (bytes > 0 && !has_signature && !rungi_journal_is_head_truncated(text, bytes, output->head))
        return fail_foreign_journal(output);
    rung_status status = should_restart ? RUNG_OK : resume(output, text, bytes, &read, blocking, &is_fresh);
    if (status == RUNG_OK && !is_fresh)
        *is_block_done = read.is_block_done;
    else
        free(read.is_block_done);
    TRY(status);
    return is_fresh ? start_fresh(output, blocking, has_signature) : RUNG_OK;
}

rung_status rungi_output_open_files(rungi_output *output, bool should_restart, rung_outofcore_blocking *blocking,
                                    unsigned char **is_block_done)
{
    char *text = NULL;
    int64_t bytes = 0;
    TRY(rungi_output_check_paths(output));
    TRY(rungi_output_open_journal(output));
    rung_status status = read_journal(output, &text, &bytes);
    if (status == RUNG_OK)
        status = resume_or_start(output, should_restart, text, bytes, blocking, is_block_done);
    free(text);
    return status;
}
