/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h - which kernel a plan takes, and with which parameters. */
#ifndef RUNGI_CHOOSE_H
#define RUNGI_CHOOSE_H

#include "core/plan.h"

/* Makes the plan with the best kernel that takes its problem: what was measured (the tuning
 * store), else what can be counted (tiles.h), from the top of the ladder down. */
rung_status rungi_choose(rung_plan *plan);

/* Makes it with a kernel that the caller names; parameters may be NULL or "". */
rung_status rungi_choose_given(rung_plan *plan, const rung_kernel *kernel, const char *parameters);

/* Gives it a kernel and parameters, the kernel's for such a device where they are NULL ("" are
 * those of a kernel that has none): all that comes before the device is asked. */
rung_status rungi_choose_take(rung_plan *plan, const rung_kernel *kernel, const char *parameters,
                              rung_origin origin, const char *origin_text);

/* Whether a kernel may be taken unasked for such types and such a compute mode, and so stand in
 * a store. */
rung_status rungi_choose_check(const rung_kernel *kernel, const rung_problem *problem);

#endif /* RUNGI_CHOOSE_H */
