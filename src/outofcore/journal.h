/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - the text that tells which blocks of a file are done. Its lines:
 *
 *     rung-multiply 2                       and what identifies the problem and its files, some lines,
 *     cut 512 512 128 1048576               rows and columns of a block, depth of a panel, memory,
 *     block 17                              and one for each block that is on the disk,
 *
 * each with a check sum behind it, " #1234abcd". A line whose sum is not its own ends it: a kill may tear the last, and
 * a power cut any of those that were not synced yet, and what it does not tell of is done again. One that is whole and says what
 * cannot be makes the text another's. */
#ifndef RUNGI_OUTOFCORE_JOURNAL_H
#define RUNGI_OUTOFCORE_JOURNAL_H

#include <stdbool.h>

#include "rung/outofcore.h"

enum { RUNGI_JOURNAL_LINE = 512, RUNGI_JOURNAL_HEAD = 4096 };

/* A line with its check sum and its end; the length, 0 where it does not fit. */
int rungi_journal_line(char line[RUNGI_JOURNAL_LINE], const char *format, ...) RUNG_PRINTF(2, 3);

typedef struct rungi_journal {
    rung_outofcore_blocking blocking; /* rows, cols, depth and memory */
    int64_t end;                      /* bytes up to which it is good */
    bool has_blocking;                /* false: it ended before the cut, and says nothing */
} rungi_journal;

/* Returns whether a text begins with the first line of a journal, of this version or another. A journal that is not ours is
 * somebody else's file, and stays as it is. */
bool rungi_journal_is_ours(const char *text, int64_t bytes);

/* Returns whether a text ends within `head`: the process ended while it wrote the head, and nothing was done. */
bool rungi_journal_is_torn(const char *text, int64_t bytes, const char *head);

/* What a text is to a problem whose head is known. */
typedef enum rungi_journal_kind {
    RUNGI_JOURNAL_GOOD,         /* a journal of this problem, which may list nothing */
    RUNGI_JOURNAL_OTHER_FORMAT, /* of another version, or no journal */
    RUNGI_JOURNAL_OTHER_PROBLEM,
    RUNGI_JOURNAL_OTHER_A, /* an input is not the file that it was */
    RUNGI_JOURNAL_OTHER_B,
    RUNGI_JOURNAL_OTHER_C0,
    RUNGI_JOURNAL_DAMAGED /* a whole line says what cannot be */
} rungi_journal_kind;

/* Reads a text whose first lines must be `head`, of such lines. `each` gets the blocks; false from it makes the text
 * RUNGI_JOURNAL_DAMAGED. */
rungi_journal_kind rungi_journal_parse(const char *text, int64_t bytes, const char *head, rungi_journal *journal,
                                       bool (*each)(void *user, const rung_outofcore_blocking *blocking, int64_t block),
                                       void *user);

#endif /* RUNGI_OUTOFCORE_JOURNAL_H */
