/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - creating, matching and running plans inside the core. plan_types.h defines the structs. */
#pragma once

#include "core/group_check.h"
#include "core/plan_types.h"

/* Validates the arguments as rung_plan_create() does and creates a plan without a kernel. The plan does not hold its
 * device; rungi_release() frees it. */
rung_status rungi_plan_create_without_kernel(rung_device *device, const rung_problem *problem,
                                             const rung_plan_options *options, rung_plan **plan);

/* Creates a plan as rung_plan_create() does, without tuning records. */
rung_status rungi_plan_create_untuned(rung_device *device, const rung_problem *problem,
                                      const rung_plan_options *options, rung_plan **plan);

/* Creates a plan whose runs compute all problems of a group in device memory by one launch (rungi_device_ops.group_run).
 * The kernel is chosen for `typical`, a batch of problems of typical size, and for the tiles of all problems. `alignment`
 * has the rungi_alignment bits that all problems share. The group must outlive the plan. */
rung_status rungi_plan_create_for_group(rung_device *device, const rung_problem *typical, const rungi_group *group,
                                        unsigned alignment, rung_plan **plan);

/* Returns options with the workspace for split-K that rung_gemm() allows. */
rung_plan_options rungi_plan_options(const rung_kernel *kernel, const char *parameters);

/* Creates a plan for a normalized problem. */
rung_status rungi_plan_create_normalized(rung_device *device, const rung_problem *normalized,
                                         const rung_plan_options *options, rung_plan **plan);

/* Sets the problem of a plan that is zero except for its device. */
void rungi_plan_set_problem(rung_plan *plan, const rung_problem *problem);

/* Returns whether rung_plan_create() would create an equal plan for this normalized problem on the plan's device.
 * Assumes unchanged tuning records and equal options. */
bool rungi_plan_matches(const rung_plan *plan, const rung_problem *normalized);

/* Returns whether the plan fits a call with this number of threads (0: the device's number). A plan that uses fewer
 * threads than allowed, because the problem is small, fits every call that allows its threads. */
bool rungi_plan_matches_threads(const rung_plan *plan, int64_t threads);

/* Runs the plan without validation. The caller guarantees a normalized problem that the plan matches, memory that the
 * device can access, and options with the workspace that the plan needs. */
rung_status rungi_plan_run_normalized(rung_plan *plan, rung_queue *queue, const rung_problem *normalized,
                                      const rung_run_options *options);

/* Returns whether the plan runs this problem unchanged and the problem is valid: one multiply of matrices in host
 * memory whose address ranges do not overlap. Then rungi_plan_run_fast() may run it, with options that set at most a
 * packed B and a number of threads. */
bool rungi_plan_can_run_fast(const rung_plan *plan, const rung_queue *queue, const rung_problem *problem);
rung_status rungi_plan_run_fast(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                const rung_run_options *options);

/* Checks that the plan takes a packed B, that the queue belongs to the plan's device, and that `packed`, unless it is
 * NULL, is a buffer that can hold the plan's packed B. */
rung_status rungi_plan_check_packing(const rung_plan *plan, const rung_queue *queue, const rung_buffer *packed);

/* For plan.c and plan_run.c: returns the rungi_alignment bits of a normalized problem; checks that the plan's
 * device can access the memory of an operand; checks that the buffer can hold the plan's packed B. */
unsigned rungi_plan_alignment_of(const rung_problem *normalized);
rung_status rungi_plan_check_view(const rung_plan *plan, const char *name, const rung_matrix *view);
rung_status rungi_plan_check_packed_buffer(const rung_plan *plan, const rung_buffer *packed);

/* For RUNG_VERBOSE=1 (trace.c): runs the plan on a normalized problem and records one line about the problem as it was
 * given, with the command that runs the same multiply again. The line is logged when its time is known. The options are
 * validated. */
rung_status rungi_trace_run(rung_plan *plan, rung_queue *queue, const rung_problem *given,
                            const rung_problem *normalized, rungi_gemm_sizes sizes, const rung_run_options *options);

/* Logs and frees all recorded lines of a queue whose work is complete. */
void rungi_trace_flush(rung_queue *queue);
