/* SPDX-License-Identifier: Apache-2.0 */
/* amx_tiles.h - whether kernels can use AMX tiles in this process, for tests that expect a kernel to accept a problem. */
#ifndef RUNG_TESTS_CPU_AMX_TILES_H
#define RUNG_TESTS_CPU_AMX_TILES_H

#include "base/amx_permission.h"
#include "cpu/features.h"

static inline bool has_amx_tiles(const rungi_cpu_features *features)
{
#if defined(__x86_64__)
    return features->isa >= RUNGI_ISA_AMX && rungi_amx_request();
#else
    (void)features;
    return false;
#endif
}

#endif
