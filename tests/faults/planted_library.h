/* SPDX-License-Identifier: Apache-2.0 */
/* planted_library.h - functions with one bug each. Those that return text fail with it, and succeed with NULL. */
#pragma once

#include <stdbool.h>

bool planted_missing_check(void), planted_no_sentence(void), planted_wrong_result(void);
const char *planted_leak(void), *planted_descriptor(void), *planted_thread(void), *planted_stays_broken(void),
    *planted_endless(void);

/* Writes *c, and then fails with text that says that it did not. */
const char *planted_changed_output(float *c);
