/* SPDX-License-Identifier: Apache-2.0 */
/* choose_kernel.h - chooses the kernel of a plan and its parameters. */
#pragma once

#include "core/plan_types.h"

/* One attempt to create the plan: a kernel with parameters, and the result. The texts are valid during the call. */
typedef struct rungi_attempt {
    const char *kernel;
    const char *parameters; /* "" if they are not known */
    rung_status status;     /* rung_error_text() describes a failure */
} rungi_attempt;

/* Receives every attempt. A result other than RUNG_OK ends the choice, which returns it. */
typedef struct rungi_attempt_visitor {
    rung_status (*visit)(void *user, const rung_plan *plan, const rungi_attempt *attempt);
    void *user;
} rungi_attempt_visitor;

/* Creates the plan with the kernel of the options. Without one, creates it from a tuning record, or else with the preset
 * that the device predicts to be fastest, or else with the first kernel, from the top of the ladder down, that supports the
 * problem. Options may be NULL.
 *
 * With a visitor, tries all kernels in the same order, reports each attempt and destroys its state. Returns RUNG_OK
 * with a plan that has no kernel. */
rung_status rungi_choose_kernel(rung_plan *plan, const rung_plan_options *options,
                                const rungi_attempt_visitor *visitor);

/* Sets the kernel and parameters of a plan, and checks everything that needs no device. NULL selects the default
 * parameters for the plan's device; "" are the parameters of a kernel without any. */
rung_status rungi_choose_set_kernel(rung_plan *plan, const rung_kernel *kernel, const char *parameters,
                                    rung_origin origin, const char *origin_text);

/* Checks that the library may choose the kernel for these types and this compute mode, without the caller naming it.
 * Tuning records contain only such kernels. */
rung_status rungi_choose_check_automatic(const rung_kernel *kernel, const rung_problem *problem);

/* Checks that the kernels of a backend apply the multiplier of a normalized problem, if it has one. */
rung_status rungi_choose_check_multiplier(const rungi_backend *backend, const rung_problem *problem);

/* Returns whether a failure is specific to one kernel, so that another kernel may succeed. */
static inline bool rungi_choose_is_rejection(rung_status status)
{
    return status == RUNG_STATUS_UNSUPPORTED || status == RUNG_STATUS_COMPILE_FAILED;
}
