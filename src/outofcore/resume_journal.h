/* SPDX-License-Identifier: Apache-2.0 */
/* resume_journal.h - the text file that lists the completed blocks of a result file. Its lines:
 *
 *     rung-multiply 2                       then some lines that identify the problem and its files
 *     cut 512 512 128 1048576               rows and columns of a block, depth of a panel, memory
 *     block 17                              one line per block that is on the disk
 *
 * Each line ends with a checksum, " #1234abcd". Reading stops at the first line with a wrong checksum: a kill may tear the
 * last line, and a power failure any line that was not synced. Blocks after that line are computed again. A line with a
 * correct checksum and invalid contents means that the file is damaged. */
#pragma once

#include <stdbool.h>

#include "rung/outofcore.h"

enum { RUNGI_JOURNAL_LINE_BYTES = 512, RUNGI_JOURNAL_HEAD_BYTES = 4096 };

/* Formats a line with its checksum and newline. Returns its length, or 0 if it does not fit. */
int rungi_journal_format_line(char line[RUNGI_JOURNAL_LINE_BYTES], const char *format, ...) RUNG_PRINTF(2, 3);

typedef struct rungi_journal {
    rung_outofcore_blocking blocking; /* block rows and columns, panel depth and memory */
    int64_t valid_bytes;              /* length of the valid lines */
    bool has_blocking;                /* false: the journal ends before the line "cut" */
} rungi_journal;

/* Returns whether a text begins with the first line of a journal of any version. Any other file was written by another
 * program and must stay unchanged. */
bool rungi_journal_has_signature(const char *text, int64_t bytes);

/* Returns whether a text ends within `head`: the process ended while it wrote the head, before any block. */
bool rungi_journal_is_head_truncated(const char *text, int64_t bytes, const char *head);

/* How a text relates to a problem with a given head. */
typedef enum rungi_journal_match {
    RUNGI_JOURNAL_MATCHES,         /* a journal of this problem, possibly without blocks */
    RUNGI_JOURNAL_UNKNOWN_VERSION, /* a journal of another version, or not a journal */
    RUNGI_JOURNAL_DIFFERENT_PROBLEM,
    RUNGI_JOURNAL_A_CHANGED, /* an input file has changed */
    RUNGI_JOURNAL_B_CHANGED,
    RUNGI_JOURNAL_C0_CHANGED,
    RUNGI_JOURNAL_DAMAGED /* a line with a correct checksum is invalid */
} rungi_journal_match;

/* Receives one block of a journal. Returns false if the journal is damaged. */
typedef bool rungi_journal_visitor(void *user, const rung_outofcore_blocking *blocking, int64_t block);

/* Parses a text that must begin with `head` and calls visit_block per block. If visit_block returns false, the result is
 * RUNGI_JOURNAL_DAMAGED. */
rungi_journal_match rungi_journal_parse(const char *text, int64_t bytes, const char *head, rungi_journal *journal,
                                        rungi_journal_visitor *visit_block, void *user);
