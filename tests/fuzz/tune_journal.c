/* SPDX-License-Identifier: Apache-2.0 */
/* tune_journal.c - any bytes as the journal of `rung tune --resume`: refused with a sentence, or trials of known kinds. */
#define _GNU_SOURCE /* memfd_create */
#include "tune/tune_journal.h"

#include "input_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lab_journal journal;
    char why[512] = "";
    if (!lab_journal_open(input_path(data, size), "rung-tune 1", &journal, why, sizeof why)) {
        MUST(strlen(why) > 5);
        return 0;
    }
    for (int64_t i = 0; i < journal.count; i++) {
        const lab_trial *trial = &journal.trials[i];
        MUST((int)trial->kind >= 0 && trial->kind < LAB_TRIAL_COUNT && lab_journal_find(&journal, trial));
        MUST(trial->size.m > 0 && trial->size.n > 0 && trial->size.k > 0 && trial->ns >= 0);
    }
    lab_journal_close(&journal);
    return 0;
}
