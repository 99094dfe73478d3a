/* SPDX-License-Identifier: Apache-2.0 */
/* peer_plan.h - plans of kernel 00 on the CPU: 00_vendor, and one kernel per library such as 00_vendor:mkl. */
#ifndef RUNGI_CPU_PEER_PLAN_H
#define RUNGI_CPU_PEER_PLAN_H

#include "core/plan_types.h"

/* Plan functions of rungi_device_ops. Creation returns RUNG_STATUS_UNSUPPORTED if the library is not installed or does not
 * support the problem. */
rung_status rungi_cpu_peer_plan_create(rung_plan *plan);
rung_status rungi_cpu_peer_plan_run(rung_plan *plan, const rung_problem *problem, rungi_gemm_sizes sizes,
                                    const rung_run_options *options);
void rungi_cpu_peer_plan_destroy(rung_plan *plan);

/* Resets the lock in the child of a fork, which has one thread. */
void rungi_cpu_peer_after_fork(void);

#endif /* RUNGI_CPU_PEER_PLAN_H */
