/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.h - multiplies on a device with memory of its own. */
#ifndef RUNGI_OVERLAP_H
#define RUNGI_OVERLAP_H

#include "core/context.h"

/* As much as a call may take besides its operands. */
static const int64_t rungi_workspace_max = (int64_t)64 << 20;

/* Brings a settled problem over, whole or panel by panel, runs it and brings C back. */
rung_status rungi_overlap_run(rung_context *context, rung_device *device, const rung_problem *problem);

#endif /* RUNGI_OVERLAP_H */
