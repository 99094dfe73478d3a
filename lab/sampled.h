/* SPDX-License-Identifier: Apache-2.0 */
/* sampled.h - whether a large product of any numbers is right, without computing it again.
 *
 * Freivalds' test, which the lab takes for whole numbers (exact.h), has no teeth here: it compares sums over a whole
 * row, for which rounding may explain the sum of all elements' bounds, and a block that is wrong altogether is less
 * than that. So single elements are compared with their own bounds (oracle.h): all of them where the problem is small, else
 * as many as take about a second, and at least one of each block of C: a block that is wrong altogether is always seen. */
#ifndef LAB_SAMPLED_H
#define LAB_SAMPLED_H

#include "oracle.h"
#include "rung/outofcore.h"

/* How many elements were looked at. */
typedef struct lab_sample {
    int64_t elements;
    bool is_all;
} lab_sample;

/* Compares a sample of C with the product of a problem in files or memory: at least one element of each block of `blocking`.
 * Returns RUNG_STATUS_DEVICE_LOST, with a sentence for rung_error_text(), if an element is wrong, and RUNG_STATUS_CANCELLED after an interruption
 * (interrupt.h). */
rung_status lab_sampled_judge(const rung_outofcore_problem *problem, const rung_outofcore_matrix *c,
                              const rung_outofcore_blocking *blocking, lab_rigour rigour, uint64_t seed,
                              lab_sample *sample);

#endif /* LAB_SAMPLED_H */
