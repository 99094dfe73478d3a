/* SPDX-License-Identifier: Apache-2.0 */
/* group_launch.h - runs a group on a device with its own memory. */
#pragma once

#include "core/device.h"
#include "core/group_check.h"

/* Copies the problems to the device, computes them and copies the results back: by one launch if one kernel can compute
 * all problems, otherwise one problem after another. */
rung_status rungi_group_launch(rung_context *context, rung_device *device, const rungi_group *group);
