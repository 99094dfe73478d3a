/* SPDX-License-Identifier: Apache-2.0 */
/* vendor.h - the CPU's vendors as kernel 00: 00_vendor and 00_vendor:mkl, by name. */
#ifndef RUNGI_CPU_VENDOR_H
#define RUNGI_CPU_VENDOR_H

#include "cpu/cpu.h"

/* What the device's table has of plans, for these kernels. RUNG_STATUS_UNSUPPORTED where the library
 * is not here or does not take the problem. */
rung_status rungi_cpu_vendor_create(rung_plan *plan);
rung_status rungi_cpu_vendor_run(rung_plan *plan, const rung_problem *problem, rungi_sizes sizes,
                                 const rung_run_options *options);
void rungi_cpu_vendor_destroy(rung_plan *plan);

/* In a fork's child, which has one thread: whoever was in one of these libraries is gone. */
void rungi_cpu_vendor_forked(void);

#endif /* RUNGI_CPU_VENDOR_H */
