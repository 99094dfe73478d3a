/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - a result file that is complete or absent, and the journal with which a later call resumes. */
#ifndef RUNGI_OUTOFCORE_OUTPUT_H
#define RUNGI_OUTOFCORE_OUTPUT_H

#include <stdbool.h>

#include "outofcore/outofcore_problem.h"

/* Bytes of an error message that one thread keeps for another; rung_error_text() is never longer. */
enum { RUNGI_OUTOFCORE_ERROR_BYTES = 4096 };

typedef struct rungi_output rungi_output;

/* Opens PATH.part and PATH.journal for a problem with a path. If an earlier call left them, `blocking` becomes that call's
 * and *is_block_done gets a 1 per completed block; the caller frees it. Otherwise `blocking` stays and *is_block_done is
 * NULL. */
rung_status rungi_output_open(const rungi_outofcore_problem *problem, bool should_restart,
                              rung_outofcore_blocking *blocking, unsigned char **is_block_done, rungi_output **output);

/* Returns the matrix in PATH.part. */
const rung_outofcore_matrix *rungi_output_matrix(const rungi_output *output);

/* Queues a block that was written to PATH.part. A thread syncs queued blocks and adds them to the journal, so that devices
 * do not wait for the disk. Returns the failure of an earlier block, if there was one. */
rung_status rungi_output_queue_block(rungi_output *output, int64_t block);

/* Waits for the disk, checks that no input has changed, calls `accept` (may be NULL) and renames PATH.part to PATH. */
rung_status rungi_output_finish(rungi_output *output, rung_outofcore_accept_function accept, void *user,
                                const rung_outofcore_report *report);

/* Closes the files in every case. Removes them if nothing can be resumed from them. */
void rungi_output_close(rungi_output *output);

#endif /* RUNGI_OUTOFCORE_OUTPUT_H */
