/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - a result file that is complete or absent, and the journal with which a later call resumes.
 *
 *     output_inputs.c   identity of the inputs: the head of the journal
 *     output_resume.c   paths and locks of PATH.part and PATH.journal; starts anew or resumes from the journal
 *     output_lifetime.c opening, finishing and closing; the thread that syncs blocks and adds them to the journal */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#include "outofcore/blocking.h"
#include "outofcore/resume_journal.h"

/* The first failure of a thread, with its message, for the other threads. */
typedef struct rungi_outofcore_failure {
    rung_status status;
    char text[4096]; /* rung_error_text() is never longer */
} rungi_outofcore_failure;

/* Records a failure of the calling thread, unless there was an earlier one. */
static inline void rungi_outofcore_failure_record(rungi_outofcore_failure *failure, rung_status status)
{
    if (failure->status == RUNG_OK && status != RUNG_OK) {
        failure->status = status;
        snprintf(failure->text, sizeof failure->text, "%s", rung_error_text());
    }
}

/* Returns the recorded failure and sets its message, or returns RUNG_OK. */
static inline rung_status rungi_outofcore_failure_return(const rungi_outofcore_failure *failure)
{
    return failure->status == RUNG_OK ? RUNG_OK : rungi_fail(failure->status, "%s", failure->text);
}

enum { RUNGI_OUTPUT_PATH_BYTES = PATH_MAX, RUNGI_OUTPUT_DESCRIPTION_BYTES = 256 };

typedef struct rungi_output {
    const rungi_outofcore_problem *problem;
    rungi_outofcore_sizes sizes;
    char path[RUNGI_OUTPUT_PATH_BYTES]; /* with symbolic links followed */
    char part_path[RUNGI_OUTPUT_PATH_BYTES], journal_path[RUNGI_OUTPUT_PATH_BYTES];
    char head[RUNGI_JOURNAL_HEAD_BYTES];
    int journal;                  /* file descriptor; -1: not open */
    rung_outofcore_matrix matrix; /* in PATH.part */
    int64_t file_bytes;           /* of PATH.part */
    bool can_resume;              /* all operands are files */
    bool is_started;              /* PATH.part and PATH.journal belong to this call */
    bool is_renamed;
    int64_t committed_blocks; /* in the journal, including those of an earlier call */

    pthread_t thread; /* see output_lifetime.c */
    bool has_thread, is_closing, is_busy;
    pthread_mutex_t mutex; /* protects the members below and the three above */
    pthread_cond_t changed;
    int64_t *pending_blocks;
    int64_t pending_count, pending_capacity;
    rungi_outofcore_failure failure; /* of the thread */
} rungi_output;

/* Opens PATH.part and PATH.journal for a problem with a path. If an earlier call left them, `blocking` becomes that call's
 * and *is_block_done gets a 1 per completed block; the caller frees it. Otherwise `blocking` stays and *is_block_done is
 * NULL. */
rung_status rungi_output_open(const rungi_outofcore_problem *problem, bool should_restart,
                              rung_outofcore_blocking *blocking, unsigned char **is_block_done, rungi_output **output);

/* Queues a block that was written to PATH.part. A thread syncs queued blocks and adds them to the journal, so that devices
 * do not wait for the disk. Returns the failure of an earlier block, if there was one. */
rung_status rungi_output_queue_block(rungi_output *output, int64_t block);

/* Waits for the disk, checks that no input has changed, calls `accept` (may be NULL) and renames PATH.part to PATH. */
rung_status rungi_output_finish(rungi_output *output, rung_outofcore_accept_function accept, void *user,
                                const rung_outofcore_report *report);

/* Closes the files in every case. Removes them if nothing can be resumed from them. */
void rungi_output_close(rungi_output *output);

/* The functions below are for the files output_*.c only. */

/* ---- output_inputs.c ---- */

typedef enum rungi_output_input {
    RUNGI_OUTPUT_INPUT_A,
    RUNGI_OUTPUT_INPUT_B,
    RUNGI_OUTPUT_INPUT_C0,
    RUNGI_OUTPUT_NO_INPUT
} rungi_output_input;

/* Returns the caller's name of an input: "A", "B" or "C". */
const char *rungi_output_input_name(rungi_output_input input);

/* Returns whether every matrix that the problem reads is in a file. */
bool rungi_output_inputs_are_files(const rungi_outofcore_problem *problem);

/* Writes the head of the journal. Different problems and changed input files have different heads. */
rung_status rungi_output_write_head(const rungi_outofcore_problem *problem, char head[RUNGI_JOURNAL_HEAD_BYTES]);

/* Returns which input is the file at `path`, following symbolic links. */
rungi_output_input rungi_output_find_input_at(const rungi_output *output, const char *path);

/* Writes the name and, if the system knows it, the path of the input that changed: "A (/data/a.npy)". */
void rungi_output_describe_changed_input(const rungi_output *output, rungi_journal_match match,
                                         char text[RUNGI_OUTPUT_DESCRIPTION_BYTES]);

/* Fails if an input has changed since the call began. *is_changed stays false if an input cannot be read. */
rung_status rungi_output_check_inputs_unchanged(const rungi_output *output, bool *is_changed);

/* ---- output_resume.c ---- */

/* Sets path, part_path and journal_path. */
rung_status rungi_output_set_paths(rungi_output *output, const char *path);

/* Returns whether an open file is the file at `path`, and removes the path if it is. */
bool rungi_output_is_same_file(int fd, const char *path);
void rungi_output_unlink_if_same(int fd, const char *path);

/* Sets the error "PATH cannot be written" with errno. */
rung_status rungi_output_fail_write(const char *path);

/* Opens the journal and PATH.part: resumes if the journal allows it and should_restart is false, else starts anew. */
rung_status rungi_output_open_files(rungi_output *output, bool should_restart, rung_outofcore_blocking *blocking,
                                    unsigned char **is_block_done);
