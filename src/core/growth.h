/* SPDX-License-Identifier: Apache-2.0 */
/* growth.h - reads the structs of rung.h that callers fill. The caller may have been compiled with an older or a newer
 * header: see by_size.h and docs/decisions/0040-growth.md. Inside the library every struct has this version's size. */
#ifndef RUNGI_GROWTH_H
#define RUNGI_GROWTH_H

#include "core/by_size.h"

/* Copies a problem, or options, to `copy`. Options may be NULL: the defaults. */
rung_status rungi_problem_read(const rung_problem *given, rung_problem *copy);
rung_status rungi_plan_options_read(const rung_plan_options *given, rung_plan_options *copy);
rung_status rungi_run_options_read(const rung_run_options *given, rung_run_options *copy);

#endif /* RUNGI_GROWTH_H */
