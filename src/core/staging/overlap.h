/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.h - multiplies host matrices on a device that cannot read host memory. */
#ifndef RUNGI_OVERLAP_H
#define RUNGI_OVERLAP_H

#include "core/context.h"

/* Copies a normalized problem to the device, whole or panel by panel, runs it and copies C back. */
rung_status rungi_staging_multiply(rung_context *context, rung_device *device, const rung_problem *problem);

#endif /* RUNGI_OVERLAP_H */
