/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_variants.h - selects the compiled variant of a kernel for a job. A kernel's file is compiled once per type of A and
 * B and, from 08 on, once per instruction set (cmake/cpu_kernels.cmake). */
#ifndef RUNGI_CPU_KERNEL_VARIANTS_H
#define RUNGI_CPU_KERNEL_VARIANTS_H

#include "core/enum_counts.h"
#include "cpu/cpu_kernel.h"

/* NULL where a variant is missing: a lower instruction set is used then. The portable variants always exist. */
typedef const rungi_cpu_kernel *rungi_cpu_variant_table[RUNGI_ISA_COUNT][RUNGI_TYPE_COUNT];

const rungi_cpu_kernel *rungi_cpu_variant_select(const rungi_cpu_variant_table *variants, const rungi_cpu_job *job);

#endif /* RUNGI_CPU_KERNEL_VARIANTS_H */
