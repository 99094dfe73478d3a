/* SPDX-License-Identifier: Apache-2.0 */
/* candidates.c - rung_candidate_list: the kernels that could run a problem, in the order in which plans prefer them.
 * choose_kernel.c reports them, so that the list and rung_plan_create() always agree. */
#include "base/cancellation.h"
#include "base/try.h"
#include "core/caller_structs.h"
#include "core/choose/choose_kernel.h"
#include "core/device_list.h"
#include "core/plan.h"

struct rung_candidate_list {
    rungi_list list;
    int64_t accepted; /* number of accepted candidates, which come first */
};

static rung_status add_attempt(void *user, const rung_plan *plan, const rungi_attempt *attempt)
{
    rung_candidate_list *list = user;
    rungi_text_list *texts = &list->list.texts;
    const char *reason = rungi_text_list_add(texts, "%s", attempt->status == RUNG_OK ? "" : rung_error_text());
    rung_candidate *candidate = rungi_list_insert(&list->list,
                                                  attempt->status == RUNG_OK ? list->accepted++ : list->list.count);
    TRY(rungi_allocated(candidate));
    *candidate = (rung_candidate){
        .kernel = rungi_text_list_add(texts, "%s", attempt->kernel),
        .parameters = rungi_text_list_add(texts, "%s", attempt->parameters),
        .origin = plan->info.origin,
        .origin_text = rungi_text_list_add(texts, "%s", plan->origin_text),
        .status = attempt->status,
        .reason = reason,
        .threads_per_block = plan->block_threads,
        .shared_bytes_per_block = plan->block_shared_bytes,
    };
    return texts->is_incomplete ? RUNG_STATUS_NO_MEMORY : RUNG_OK;
}

static rung_status fill_list(rung_device *device, const rung_problem *problem, const rung_plan_options *options,
                             rung_candidate_list *list)
{
    rung_plan *plan;
    rung_problem read;
    rung_plan_options read_options;
    TRY(rungi_problem_read(problem, &read));
    TRY(rungi_plan_options_read(options, &read_options));
    TRY(rungi_plan_create_without_kernel(device, &read, &read_options, &plan));
    rung_status status = rungi_choose_kernel(plan, &read_options, &(rungi_attempt_visitor){add_attempt, list});
    rungi_release(device->context, plan);
    return status;
}

rung_status rung_candidate_list_create(rung_device *device, const rung_problem *problem,
                                       const rung_plan_options *options, rung_candidate_list **out)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(rungi_clear_result(
        out, device && problem,
        "rung_candidate_list_create needs a device, a problem and a pointer for the list; one of them is NULL"));
    rung_candidate_list *list = rungi_list_create(device->context, sizeof *list, sizeof(rung_candidate));
    TRY(rungi_allocated(list));
    rung_status status = fill_list(device, problem, options, list);
    if (status == RUNG_OK)
        *out = list;
    else
        rung_candidate_list_destroy(list);
    return status;
}

int64_t rung_candidate_list_count(const rung_candidate_list *list)
{
    return rungi_list_count(list);
}

const rung_candidate *rung_candidate_list_at(const rung_candidate_list *list, int64_t index)
{
    return rungi_list_at(list, index);
}

void rung_candidate_list_destroy(rung_candidate_list *list)
{
    rungi_list_destroy(list);
}
