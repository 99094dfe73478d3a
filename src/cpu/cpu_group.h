/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_group.h - groups of problems on the CPU: the function plans_run of rungi_device_ops. */
#pragma once

#include "core/group_check.h"

rung_status rungi_cpu_plans_run(rung_queue *queue, rung_plan *const *plans, const rungi_group *group, int64_t threads);
