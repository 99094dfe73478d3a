/* SPDX-License-Identifier: Apache-2.0 */
/* output_internal.h - the parts of an output file, for the files output*.c only.
 *
 *     output_inputs.c   identity of the inputs: the head of the journal
 *     output_files.c    paths, locks, limits and opening of PATH.part and PATH.journal
 *     output_resume.c   starts anew or resumes from the journal
 *     output_commit.c   the thread that syncs blocks and adds them to the journal
 *     output_lifetime.c opening, finishing and closing */
#ifndef RUNGI_OUTOFCORE_OUTPUT_INTERNAL_H
#define RUNGI_OUTOFCORE_OUTPUT_INTERNAL_H

#include <limits.h>
#include <pthread.h>

#include "outofcore/blocking.h"
#include "outofcore/output.h"
#include "outofcore/resume_journal.h"

enum { RUNGI_OUTPUT_PATH_BYTES = PATH_MAX, RUNGI_OUTPUT_DESCRIPTION_BYTES = 256 };

struct rungi_output {
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

    pthread_t thread; /* see output_commit.c */
    bool has_thread, is_closing, is_busy;
    pthread_mutex_t mutex; /* protects the members below and the three above */
    pthread_cond_t changed;
    int64_t *pending_blocks;
    int64_t pending_count, pending_capacity;
    rung_status status; /* of the thread, with its message */
    char error[RUNGI_OUTOFCORE_ERROR_BYTES];
};

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

/* ---- output_files.c ---- */

/* Sets path, part_path and journal_path. */
rung_status rungi_output_set_paths(rungi_output *output, const char *path);

/* Checks that PATH is a regular file or absent, and that no input would be replaced. */
rung_status rungi_output_check_paths(const rungi_output *output);

/* Opens and locks the journal. */
rung_status rungi_output_open_journal(rungi_output *output);

/* Fails if this process may not write a file of file_bytes. Writing past the limit would end the process by a signal. */
rung_status rungi_output_check_file_size_limit(const rungi_output *output);

/* Opens PATH.part with O_CLOEXEC and additional open flags. */
rung_status rungi_output_open_part(rungi_output *output, int flags);

/* Allocates the bytes of PATH.part and writes its .npy header, so that a full disk is found before hours are spent. */
rung_status rungi_output_initialize_part(rungi_output *output);

/* Returns whether an open file is the file at `path`, and removes the path if it is. */
bool rungi_output_is_same_file(int fd, const char *path);
void rungi_output_unlink_if_same(int fd, const char *path);

/* Sets the error "PATH cannot be written" with errno. */
rung_status rungi_output_fail_write(const char *path);

/* ---- output_resume.c ---- */

/* Opens the journal and PATH.part: resumes if the journal allows it and should_restart is false, else starts anew. */
rung_status rungi_output_open_files(rungi_output *output, bool should_restart, rung_outofcore_blocking *blocking,
                                    unsigned char **is_block_done);

/* ---- output_commit.c ---- */

/* Body of the thread that syncs blocks. */
void *rungi_output_run_commit(void *output);

/* Waits until all queued blocks are in the journal. */
rung_status rungi_output_wait_for_commit(rungi_output *output);

#endif /* RUNGI_OUTOFCORE_OUTPUT_INTERNAL_H */
