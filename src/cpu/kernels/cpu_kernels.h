/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_kernels.h - declares the kernel tables of the CPU ladder (core/ladder.def). */
#ifndef RUNGI_CPU_KERNELS_H
#define RUNGI_CPU_KERNELS_H

#include "cpu/cpu_kernel.h"

#define VENDOR(number, name)
#define CPU(number, name) extern const rungi_cpu_kernel rungi_cpu_##number##_##name;
#define SIMT(number, name)
#include "core/ladder.def"
#undef CPU
#undef SIMT
#undef VENDOR

#endif /* RUNGI_CPU_KERNELS_H */
