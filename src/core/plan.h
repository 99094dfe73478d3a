/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - a plan as core and device share it. */
#ifndef RUNGI_PLAN_H
#define RUNGI_PLAN_H

#include "core/device.h"
#include "core/kernel.h"

/* How the operands of a problem begin: A, B and C at multiples of four elements, A and B at
 * multiples of 16 bytes. */
typedef enum rungi_alignment { RUNGI_AT_FOURS = 1, RUNGI_AT_16_BYTES = 2 } rungi_alignment;

struct rung_plan {
    rung_device       *device;
    rung_problem       problem; /* its form alone */
    const rung_kernel *kernel;
    rungi_values       values;
    rung_plan_info     info;
    char               parameters[RUNGI_PARAMETERS_TEXT];
    char               origin[256];
    char               refused[1024];
    bool               is_open;           /* the kernel is the library's choice */
    int64_t            splits_asked;      /* 0: as many as seem good, ... */
    int64_t            workspace_offered; /* ... within so many bytes */
    int64_t            carveout;          /* see rung_plan_options */
    int64_t            threads_asked;     /* 0: as many as the context has */
    unsigned           aligned; /* the problem it was made for: of rungi_alignment */
    unsigned           needs_aligned; /* the device's choice of those */
    void              *state; /* the device's own */
};

/* Fills a plan, zeroed but for its device, with a problem's form. */
void rungi_plan_begin(rung_plan *plan, const rung_problem *problem);

/* A rung_code and the memory behind it. The backend fills all but parameters and context. */
struct rungi_code {
    rung_code     code;
    rung_context *context;
    char          parameters[RUNGI_PARAMETERS_TEXT];
    char          path[64];
    void         *image;
};

#endif /* RUNGI_PLAN_H */
