/* SPDX-License-Identifier: Apache-2.0 */
/* amx_multiply.h - multiplies packed panels by matrix instructions: the loops of 12_matrix below its choice of path and block
 * sizes. */
#pragma once

#include "cpu/amx/amx_blocking.h"

#if defined(__x86_64__)
typedef enum rungi_amx_path {
    RUNGI_AMX_PATH_BF16,
    RUNGI_AMX_PATH_I8,
    RUNGI_AMX_PATH_BF16X3,
    RUNGI_AMX_PATH_DOT_BF16,
    RUNGI_AMX_PATH_DOT_I8,
    RUNGI_AMX_PATH_FMA_FEW_ROWS,
    RUNGI_AMX_PATH_GEMV_ROW,
    RUNGI_AMX_PATH_GEMV_COLUMN
} rungi_amx_path;

/* Regimes: all operands fit L2; C has so few rows that reading B dominates; or neither. */
typedef enum rungi_amx_regime {
    RUNGI_AMX_REGIME_SMALL,
    RUNGI_AMX_REGIME_THIN,
    RUNGI_AMX_REGIME_LARGE,
    RUNGI_AMX_REGIME_COUNT
} rungi_amx_regime;

/* Computes the job, whose k is not 0, on a path before RUNGI_AMX_PATH_GEMV_ROW. Stores bypass the caches if C has at least
 * `streamed_elements` elements and its alignment allows it. */
void rungi_amx_multiply(const rungi_cpu_job *job, const rungi_amx_blocking *blocking, rungi_amx_path path,
                        rungi_amx_regime regime, int64_t streamed_elements);
#endif
