/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc.h - compiles kernels that are not embedded with NVRTC. */
#pragma once

#include <stdbool.h>

#include "base/nvrtc_library.h"
#include "core/context.h"

/* The compiler's report about a cubin: registers per thread, static shared memory per block, and bytes of spill stores
 * and loads. */
typedef struct rungi_nvrtc_report {
    int64_t registers, shared_bytes, spill_bytes;
} rungi_nvrtc_report;

/* A compilation. `defines` has the form "-DNAME=1 -DOTHER=2". */
typedef struct rungi_nvrtc_job {
    const char *file, *source, *defines;
    int architecture;
    bool is_specific;           /* with the instructions that only this architecture has: sm_90a */
    bool to_ptx;                /* otherwise to a cubin for exactly this architecture */
    bool has_line_info;         /* always with a report */
    rungi_nvrtc_report *report; /* of a cubin: filled unless NULL, also if the compilation fails */
    void **ptx;                 /* receives the PTX of a cubin, too, unless NULL; the caller releases it */
    size_t *ptx_bytes;
} rungi_nvrtc_job;

/* Returns the code, which the caller releases. The size of PTX includes its terminating zero. */
rung_status rungi_nvrtc_compile(rung_context *context, const rungi_nvrtc *nvrtc, const rungi_nvrtc_job *job,
                                void **code, size_t *bytes);
