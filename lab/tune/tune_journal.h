/* SPDX-License-Identifier: Apache-2.0 */
/* tune_journal.h - the journal of a search: one line per step, on disk before the next step begins. A killed run resumes
 * where it stopped and does not retry the candidate that killed it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "target/sweep.h"

/* "trying" is written before a candidate is run, another state after it. A candidate with only "trying" ended its
 * process. "late": the time was over; the candidate may be tried again. */
/* clang-format off */
#define LAB_TRIAL_LIST(X) X(TRYING, "trying") X(TIMED, "timed") X(REFUSED, "refused") X(WRONG, "wrong") \
    X(CRASHED, "crashed") X(LATE, "late")
/* clang-format on */

typedef enum lab_trial_state {
#define X(name, word) LAB_TRIAL_##name,
    LAB_TRIAL_LIST(X)
#undef X
        LAB_TRIAL_COUNT
} lab_trial_state;

const char *lab_trial_state_name(lab_trial_state state);

typedef struct lab_trial {
    lab_trial_state kind;
    lab_shape size;
    char kernel[64];
    uint64_t source;                       /* hash of its source: another source is another kernel */
    char parameters[LAB_PARAMETERS_BYTES]; /* all parameters */
    int64_t ns;                            /* minimum time, if timed */
} lab_trial;

typedef struct lab_journal {
    FILE *file;
    lab_trial *trials; /* the last state of each candidate */
    int64_t count;
} lab_journal;

/* Opens the journal that begins with the line `header`, or creates it. Returns false with a sentence in `why` if the file
 * begins with another line, cannot be written, or is in use by another process. Removes an incomplete last line; does
 * not modify other files. */
bool lab_journal_open(const char *path, const char *header, lab_journal *journal, char *why, size_t capacity);
void lab_journal_close(lab_journal *journal);

/* Finds the trial with the same kernel, source, sizes and parameters; NULL if there is none. */
lab_trial *lab_journal_find(const lab_journal *journal, const lab_trial *candidate);

/* Appends a line with a reason (may be NULL); "trying" is synced to disk. Returns false on a write error. The kernel's
 * name must not contain tabs or newlines. */
bool lab_journal_add(lab_journal *journal, const lab_trial *trial, const char *reason);

/* Returns the FNV-1a hash of a text, which is the same in every run. */
uint64_t lab_fnv1a(const char *text);
