/* SPDX-License-Identifier: Apache-2.0 */
/* soak_shrink.h - finds the smallest case that still fails. */
#pragma once

#include "soak_run.h"

enum { SOAK_STEPS_MAX = 400 };

/* The changes that led from the case of a seed to a smaller one, as numbers. */
typedef struct soak_steps {
    int steps[SOAK_STEPS_MAX];
    int count;
} soak_steps;

/* Applies each change to a case as long as it fails. `result` receives the failure of the smallest case. Stops after `seconds`. */
void soak_shrink(soak_case *subject, double seconds, soak_steps *steps, soak_result *result);

/* Writes changes as text, "3.0.12", and applies changes that were written. Returns false if the text has another form. */
void soak_steps_format(const soak_steps *steps, char *text, size_t capacity);
bool soak_steps_apply(const char *text, soak_case *subject);
