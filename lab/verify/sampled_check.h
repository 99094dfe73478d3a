/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_check.h - checks a large product of arbitrary numbers without computing all of it again.
 *
 * Freivalds' test (freivalds.h), which the lab uses for integers, is too weak here: it compares sums over a whole row, and
 * the rounding bound of such a sum can hide a wrong block. Single elements are therefore compared with their own bounds
 * (oracle.h): all of them if the problem is small, else as many as take about a second and at least one per block of C. A
 * block that is entirely wrong is always found. */
#pragma once

#include "verify/oracle.h"
#include "rung/outofcore.h"

/* Number of checked elements. */
typedef struct lab_sampled_coverage {
    int64_t elements;
    bool is_all;
} lab_sampled_coverage;

/* Checks samples of C, at least one element per block of `blocking`. Returns RUNG_STATUS_DEVICE_LOST and sets
 * rung_error_text() if an element is wrong, RUNG_STATUS_CANCELLED after an interruption (interrupt.h). */
rung_status lab_sampled_check(const rung_outofcore_problem *problem, const rung_outofcore_matrix *c,
                              const rung_outofcore_blocking *blocking, lab_accuracy rigour, uint64_t seed,
                              lab_sampled_coverage *sample);
