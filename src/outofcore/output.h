/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - a file that is complete or absent, and the journal by which a later call goes on with it. */
#ifndef RUNGI_OUTOFCORE_OUTPUT_H
#define RUNGI_OUTOFCORE_OUTPUT_H

#include <stdbool.h>

#include "outofcore/task.h"

/* Bytes of a sentence that one thread keeps for another: as many as rung_error_text() has at most. */
enum { RUNGI_SENTENCE = 4096 };

typedef struct rungi_output rungi_output;

/* Opens PATH.part and PATH.journal for a problem with a path. If an earlier call left them, `blocking` becomes that
 * call's and *states gets a 1 for each block that is done, for free(). Else `blocking` stays, and *states is NULL. */
rung_status rungi_output_open(const rungi_task *problem, bool restart, rung_outofcore_blocking *blocking,
                              unsigned char **states, rungi_output **output);

/* Where C is to be written. */
const rungi_stored *rungi_output_stored(const rungi_output *output);

/* A block is written: it goes to the disk and into the journal by and by, by a thread of its own, so that nobody
 * waits for a disk. What went wrong with an earlier one is told here. */
rung_status rungi_output_block(rungi_output *output, int64_t block);

/* All of it is there: gives the file its name, after waiting for the disk. */
rung_status rungi_output_finish(rungi_output *output, rung_outofcore_accept_function accept, void *user,
                                const rung_outofcore_report *report);

/* Whatever became of it. */
void rungi_output_close(rungi_output *output);

#endif /* RUNGI_OUTOFCORE_OUTPUT_H */
