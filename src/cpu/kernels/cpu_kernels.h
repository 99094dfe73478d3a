/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_kernels.h - declares the kernel tables of the CPU ladder (core/ladder.def), and selects the compiled variant of a kernel
 * for a job. */
#pragma once

#include "core/enum_counts.h"
#include "cpu/cpu_kernel.h"

#define VENDOR(number, name)
#define CPU(number, name) extern const rungi_cpu_kernel rungi_cpu_##number##_##name;
#define SIMT(number, name)
#include "core/ladder.def"
#undef CPU
#undef SIMT
#undef VENDOR

/* The variants of one kernel. A kernel's file is compiled once per type of A and B and, from 08 on, once per instruction set
 * (cmake/cpu_kernels.cmake). NULL where a variant is missing: a lower instruction set is used then. The portable variants always exist. */
typedef const rungi_cpu_kernel *rungi_cpu_variant_table[RUNGI_ISA_COUNT][RUNGI_TYPE_COUNT];

const rungi_cpu_kernel *rungi_cpu_variant_select(const rungi_cpu_variant_table *variants, const rungi_cpu_job *job);
