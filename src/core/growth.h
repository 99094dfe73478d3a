/* SPDX-License-Identifier: Apache-2.0 */
/* growth.h - reads structs of callers that were compiled with an older or a newer rung.h.
 *
 * Such a struct begins with its size. A caller with an older header has a smaller struct: its missing fields
 * become 0, which means the old behaviour. A caller with a newer header has a larger struct: its unknown fields
 * must be 0. Inside the library every struct has the size of this version. */
#ifndef RUNGI_GROWTH_H
#define RUNGI_GROWTH_H

#include "rung/rung.h"

/* Copies the struct `given` to `copy`, a struct of `known` bytes. `initialiser` is the function that sets the size,
 * for the message. Returns RUNG_STATUS_INVALID for a size that was not set, and RUNG_STATUS_UNSUPPORTED if a field
 * that this version does not know is not 0. */
rung_status rungi_struct_read(const void *given, void *copy, size_t known, const char *initialiser);

/* The same for each struct of rung.h. Options may be NULL: the defaults. */
rung_status rungi_problem_read(const rung_problem *given, rung_problem *copy);
rung_status rungi_plan_options_read(const rung_plan_options *given, rung_plan_options *copy);
rung_status rungi_run_options_read(const rung_run_options *given, rung_run_options *copy);

#endif /* RUNGI_GROWTH_H */
