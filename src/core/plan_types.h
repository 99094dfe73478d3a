/* SPDX-License-Identifier: Apache-2.0 */
/* plan_types.h - a plan and the compiled code of a plan, as the core and the backends share them. The functions on
 * plans are declared in plan.h, which backends and the choice of kernels do not include. */
#pragma once

#include "core/device.h"
#include "core/group_check.h"
#include "core/kernel.h"

/* Alignments of a problem's operands, as bits. */
typedef enum rungi_alignment {
    RUNGI_ALIGNED_4_ELEMENTS = 1,        /* A, B and C begin at multiples of four elements */
    RUNGI_INPUTS_ALIGNED_16_BYTES = 2,   /* A and B begin at multiples of 16 bytes */
    RUNGI_INPUTS_ALIGNED_4_ELEMENTS = 4, /* A and B begin at multiples of four elements */
    RUNGI_NARROW_B_ALIGNED = 8 /* B, of another type than A, begins at a multiple of eight elements and four bytes */
} rungi_alignment;

struct rung_plan {
    rung_device *device;
    rung_problem problem;                             /* types, sizes and strides; without memory */
    rung_quantization a_quantization, b_quantization; /* what those of `problem` point to, unless they are NULL */
    const rung_kernel *kernel;
    rungi_parameter_values values;
    bool has_parameter_values;  /* `values` belongs to `kernel` */
    int64_t block_threads;      /* threads per block of the kernel, if the device has determined them; else 0 */
    int64_t block_shared_bytes; /* the same for shared memory; both are also set if the device rejects the kernel */
    rung_plan_info info;
    char parameters[RUNG_PARAMETERS_BYTES];
    char origin_text[256];
    char rejected[1024];
    bool is_kernel_automatic;        /* the library chooses the kernel */
    bool ignores_tuning;             /* it does so without tuning records */
    int64_t split_k_requested;       /* 0: the library chooses the number of slices, */
    int64_t workspace_bytes_allowed; /* within this workspace */
    int64_t split_k_ranked;          /* the number that belongs to a ranked preset; 0: none */
    int64_t carveout;                /* see rung_plan_options */
    int64_t threads_requested;       /* see rung_plan_options */
    bool packed_b;                   /* runs take a packed B */
    const rungi_group *group;        /* problems that a run computes by one launch; NULL: a run computes `problem` */
    unsigned alignment;              /* rungi_alignment bits of the problem that the plan was created for */
    unsigned required_alignment;     /* the bits of them that the device requires of every run */
    bool has_fast_path;              /* one non-empty multiply without epilogue on a device that reads host memory */
    int64_t spans[3];                /* fast path: elements of A, B and C, including gaps */
    rung_plan *zero_alpha_plan;      /* of a vendor library's plan: runs with alpha = 0, which read neither A nor B;
                                      * NULL if no kernel of this library supports the problem */
    void *state;                     /* owned by the device */
};

/* Returns the number of CPU threads of a run with these options. */
static inline int64_t rungi_plan_threads(const rung_plan *plan, const rung_run_options *options)
{
    int64_t threads = plan->info.threads;
    return options->threads > 0 && options->threads < threads ? options->threads : threads;
}

/* A rung_code and its memory. The backend fills everything except `parameters` and `context`; `launch` is the memory of
 * rung_code.entry and rung_code.arguments. */
struct rungi_code {
    rung_code code;
    rung_context *context;
    char parameters[RUNG_PARAMETERS_BYTES];
    char path[64], architecture[32];
    void *image, *ptx, *launch;
};
