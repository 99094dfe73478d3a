/* SPDX-License-Identifier: Apache-2.0 */
/* targets.h - attributes that compile one function for an instruction set, whatever the file is compiled for. The
 * same sets as compiler flags are in cmake/cpu_kernels.cmake. features.h decides at run time which functions may run. */
#pragma once

#if defined(__x86_64__)
#define RUNGI_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define RUNGI_TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c,fma")))
#define RUNGI_TARGET_AVX512_DOT \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c,fma,avx512vnni,avx512bf16")))
#define RUNGI_TARGET_AMX                                                                       \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c,fma,avx512vnni,avx512bf16," \
                          "amx-tile,amx-bf16,amx-int8")))
#define RUNGI_ALWAYS_INLINE inline __attribute__((always_inline))
#endif
