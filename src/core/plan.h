/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - a plan as core and device share it. */
#ifndef RUNGI_PLAN_H
#define RUNGI_PLAN_H

#include "core/device.h"
#include "core/kernel.h"

struct rung_plan {
    rung_device       *device;
    rung_problem       problem; /* its form alone */
    const rung_kernel *kernel;
    rungi_values       values;
    rung_plan_info     info;
    char               parameters[RUNGI_PARAMETERS_TEXT];
    char               refused[1024];
    int64_t            splits_asked;      /* 0: as many as seem good, ... */
    int64_t            workspace_offered; /* ... within so many bytes */
    int64_t            carveout;          /* see rung_plan_options */
    bool               aligned; /* the problem it was made for, to four elements */
    bool               needs_aligned; /* the device's choice */
    void              *state; /* the device's own */
};

#endif /* RUNGI_PLAN_H */
