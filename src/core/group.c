/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - rung_group_multiply(): multiplies problems of different sizes as one unit of work.
 *
 * A device that reads host memory gets a plan per problem and runs all of them in one pass of its threads. On other
 * devices, group_launch.c runs the group. */
#include "core/group_check.h"

#include "base/assert.h"
#include "base/cancellation.h"
#include "base/checked_option.h"
#include "base/clock.h"
#include "base/try.h"
#include "core/caller_structs.h"
#include "core/checked/checked_multiply.h"
#include "core/device_pool.h"
#include "core/group_launch.h"
#include "core/plan_table.h"
#include "core/problem.h"
#include "core/staging/timeline.h"

/* Writes one line about a group that ran on the CPU. */
static void log_run(const rung_device *device, const rungi_group *group, const rung_plan *first, int64_t nanoseconds)
{
    rungi_log(device->context, 1, "rung: %s group of %lld problems, %s into %s, %s for the first: %.3f ms",
              device->info.name, (long long)group->count, rung_type_name(group->problems[0].a.type),
              rung_type_name(group->problems[0].c.type), first->info.kernel, (double)nanoseconds / 1e6);
}

/* Gets the plan of a problem. With a packed B, the plan must be able to use it. */
static rung_status get_plan(rung_queue *queue, const rungi_group *group, int64_t index, rung_plan **plan)
{
    rung_buffer *packed = group->packed_b ? group->packed_b[index] : NULL;
    TRY(rungi_plan_table_get(queue, &group->problems[index], packed != NULL, plan));
    return packed ? rungi_plan_check_packed_buffer(*plan, packed) : RUNG_OK;
}

static rung_status run_plans(rung_queue *queue, const rungi_group *group, rung_plan **plans, int64_t threads,
                             rungi_timeline *timeline)
{
    for (int64_t i = 0; i < group->count; i++)
        TRY(get_plan(queue, group, i, &plans[i]));
    int64_t start = rungi_timeline_now(timeline), started = rungi_clock_ns();
    TRY(queue->device->ops->plans_run(queue, plans, group, threads));
    log_run(queue->device, group, plans[0], rungi_clock_ns() - started);
    return rungi_timeline_add_host(timeline, plans[0]->info.kernel, 0, start, 0);
}

static rung_status run_on_queue(rung_context *context, rung_queue *queue, const rungi_group *group, int64_t threads,
                                rungi_timeline *timeline)
{
    rung_plan **plans = rungi_allocate(context, group->count * (int64_t)sizeof(rung_plan *), sizeof(rung_plan *));
    TRY(rungi_allocated(plans));
    rung_status status = run_plans(queue, group, plans, threads, timeline);
    rungi_release(context, plans);
    rungi_plan_table_trim(queue);
    return status;
}

static rung_status run_on_host_memory(rung_context *context, rung_device *device, const rungi_group *group,
                                      int64_t threads)
{
    rung_queue *queue;
    rungi_timeline timeline;
    rungi_timeline_begin(&timeline, device);
    TRY(rungi_device_pool_acquire_queue(context, device, &queue));
    rung_status status = run_on_queue(context, queue, group, threads, &timeline);
    rungi_device_pool_release_queue(context, queue);
    return rungi_timeline_end(&timeline, status);
}

/* Returns the device of the packed B; NULL if no B is packed. */
static rung_device *packed_device(const rungi_group *group)
{
    for (int64_t i = 0; group->packed_b && i < group->count; i++)
        if (group->packed_b[i])
            return group->packed_b[i]->device;
    return NULL;
}

static rung_status run(rung_context *context, const rungi_group *group, const rung_multiply_options *options)
{
    rung_device *device, *packed = packed_device(group);
    int64_t threads = options->threads;
    if (group->count == 0)
        return RUNG_OK;
    if (packed && options->device && packed != options->device)
        return rungi_invalid("packed_b is in memory of %s, and the group runs on %s; leave the option `device` NULL",
                             packed->info.name, options->device->info.name);
    TRY(rungi_device_pool_acquire_wanted(context, packed ? packed : options->device, &device));
    RUNGI_ASSERT(!device->reads_host_memory || device->ops->plans_run);
    rung_status status = device->reads_host_memory ? run_on_host_memory(context, device, group, threads)
                                                   : rungi_group_launch(context, device, group);
    rung_device_close(device);
    return status;
}

/* Computes the problems one after another and checks each product. */
static rung_status run_checked(rung_context *context, const rungi_group *group, const rung_multiply_options *options)
{
    int64_t corrected = 0;
    rung_multiply_options each = *options;
    rung_status status = RUNG_OK;
    each.corrected = &corrected;
    if (options->corrected)
        *options->corrected = 0;
    if (packed_device(group))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "the check of a product needs A and B, and the group has a packed B; "
                          "leave packed_b NULL, or multiply without `checked`");
    for (int64_t i = 0; i < group->count && status == RUNG_OK; i++) {
        rung_problem problem = rungi_problem_denormalize(&group->problems[i]);
        status = rung_multiply(context, &problem, &each);
        if (options->corrected)
            *options->corrected += corrected;
    }
    return status;
}

rung_status rung_group_multiply(rung_context *context, const rung_group *given, const rung_multiply_options *options)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_multiply_options read;
    rungi_group group;
    TRY(rungi_versioned_options_read(options, &read, sizeof read, "rung_multiply_options",
                                     "rung_multiply_options_default"));
    TRY(rungi_threads_check(read.threads, "the context's number"));
    TRY(rungi_checked_option_check(read.checked));
    context = rungi_context_or_default(context);
    if (!context)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rungi_group_read(context, given, &group);
    if (status == RUNG_OK)
        status = read.checked ? run_checked(context, &group, &read) : run(context, &group, &read);
    rungi_group_release(context, &group);
    return status;
}
