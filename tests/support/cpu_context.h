/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_context.h - the context of test programs that need kernels of any device, but no device: set-up and tear-down of a group. */
#pragma once

#include "support/unit.h"

#include "core/context.h" /* before the variable, whose name parameters have */

static rung_context *context;

static inline int open_context(void **state)
{
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "cpu", .verbose = -1};
    (void)state;
    return rung_context_create(&options, &context) == RUNG_OK ? 0 : -1;
}

static inline int close_context(void **state)
{
    (void)state;
    rung_context_destroy(context);
    return 0;
}
