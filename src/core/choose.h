/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h - which kernel a plan takes, and with which parameters. */
#ifndef RUNGI_CHOOSE_H
#define RUNGI_CHOOSE_H

#include "core/plan.h"

/* One attempt to create the plan: a kernel with parameters, and the result. The texts are valid during the call. */
typedef struct rungi_attempt {
    const char *kernel;
    const char *parameters; /* "" if they are not known */
    rung_status status;     /* the sentence of a failure is rung_error_text() */
} rungi_attempt;

/* Receives every attempt. A result other than RUNG_OK ends the choice, which returns it. */
typedef struct rungi_visitor {
    rung_status (*visit)(void *user, const rung_plan *plan, const rungi_attempt *attempt);
    void *user;
} rungi_visitor;

/* Creates the plan with the kernel of the options, or else with the best kernel that supports its problem: what was
 * measured (tuning records), else what can be counted (tiles.h), from the top of the ladder down. Options may be NULL.
 *
 * With a visitor, tries all kernels instead, in the same order: reports each attempt, destroys what it created, and
 * returns RUNG_OK with a plan that has no kernel. */
rung_status rungi_choose(rung_plan *plan, const rung_plan_options *options, const rungi_visitor *visitor);

/* Gives it a kernel and parameters, the kernel's for such a device where they are NULL ("" are
 * those of a kernel that has none): all that comes before the device is asked. */
rung_status rungi_choose_take(rung_plan *plan, const rung_kernel *kernel, const char *parameters, rung_origin origin,
                              const char *origin_text);

/* Whether a kernel may be taken unasked for such types and such a compute mode, and so stand in
 * a store. */
rung_status rungi_choose_check(const rung_kernel *kernel, const rung_problem *problem);

#endif /* RUNGI_CHOOSE_H */
