/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.h - what rung bench is held against (--baseline): a result, or another executable with
 * which it takes turns. */
#ifndef LAB_BASELINE_H
#define LAB_BASELINE_H

#include "bench.h"
#include "turns.h"

/* Whether the file is an executable: then there are turns; else a result, which is read later. A
 * sentence on what is wrong with it, NULL if nothing is. */
const char *lab_baseline_look(const char *file, bool *is_executable);

/* Starts it, with the options that this one was given. Normal inputs are drawn from the same seed. */
bool lab_baseline_start(const lab_options *options, const lab_bench *bench, lab_turns *turns);

/* After the run: the old results, the verdicts, and --baseline-json. An exit code: LAB_SLOWED if
 * anything is slower. */
int lab_baseline_compare(const lab_options *options, const lab_bench *bench, lab_turns *turns);

#endif /* LAB_BASELINE_H */
