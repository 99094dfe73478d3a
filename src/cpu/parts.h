/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - kernels whose file is compiled several times, once for each type of A and B and,
 * from 08 on, for each instruction set: the part that a job gets. */
#ifndef RUNGI_CPU_PARTS_H
#define RUNGI_CPU_PARTS_H

#include "core/lists.h"
#include "cpu/cpu.h"

/* NULL where there is none: a processor without it takes that of a lesser one. There is always
 * a portable one. */
typedef const rungi_cpu_kernel *rungi_cpu_parts[RUNGI_ISA_COUNT][RUNGI_TYPE_COUNT];

const rungi_cpu_kernel *rungi_cpu_part(const rungi_cpu_parts *parts, const rungi_cpu_job *job);

#endif /* RUNGI_CPU_PARTS_H */
