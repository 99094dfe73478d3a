/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - what a search has tried, a line a step, on disk before the next step begins: a
 * run that was killed goes on where it was, and what killed it is not tried again. */
#ifndef LAB_JOURNAL_H
#define LAB_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sweep.h"

/* trying is written before a candidate is touched; one of the others after. One that has no
 * other has ended its process. late: the time was up, it may be tried again. */
/* clang-format off */
#define LAB_TRIAL_LIST(X) X(TRYING, "trying") X(TIMED, "timed") X(REFUSED, "refused") X(WRONG, "wrong") \
    X(CRASHED, "crashed") X(LATE, "late")
/* clang-format on */

typedef enum lab_trial_kind {
#define X(name, word) LAB_TRIAL_##name,
    LAB_TRIAL_LIST(X)
#undef X
        LAB_TRIAL_COUNT
} lab_trial_kind;

typedef struct lab_trial {
    lab_trial_kind kind;
    int64_t m, n, k;
    char kernel[64];
    uint64_t source;                      /* its text, as a hash: another is another kernel */
    char parameters[LAB_PARAMETERS_TEXT]; /* all of them */
    int64_t ns;                           /* the least time, if it was timed */
} lab_trial;

typedef struct lab_journal {
    FILE *file;
    lab_trial *trials; /* the last word on each candidate */
    int64_t count, capacity;
} lab_journal;

/* Opens a journal that begins with this line, or begins one. False with a sentence in `why`
 * if it begins with another, cannot be written or is another process's at the moment. A line
 * that was cut off by the end of its process is removed; a file of anything else is not touched. */
bool lab_journal_open(const char *path, const char *head, lab_journal *journal, char *why, size_t capacity);
void lab_journal_close(lab_journal *journal);

/* What is known of this candidate: kernel, source, sizes and parameters; NULL if nothing is. */
const lab_trial *lab_journal_find(const lab_journal *journal, const lab_trial *candidate);

/* Writes a line, with a reason or NULL, and remembers it; `trying` is on the disk by then. False
 * if the disk does not take it. The kernel's name has no tabs and no ends of lines in it. */
bool lab_journal_add(lab_journal *journal, const lab_trial *trial, const char *reason);

/* A hash that stays the same from run to run (FNV-1a). */
uint64_t lab_hash(const char *text);

#endif /* LAB_JOURNAL_H */
