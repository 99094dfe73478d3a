/* SPDX-License-Identifier: Apache-2.0 */
/* candidates.c - the list of kernels that could run a problem, in the order in which plans prefer them. The choice
 * itself (choose.c) reports them, so that the list and rung_plan_create() cannot disagree. */
#include <string.h>

#include "core/assert.h"
#include "core/cancel.h"
#include "core/choose.h"
#include "core/growth.h"
#include "core/store.h"

/* A candidate and the memory of its texts. */
typedef struct entry {
    rung_candidate candidate;
    char texts[];
} entry_t;

struct rung_candidate_list {
    rung_context *context;
    int64_t count, accepted; /* the accepted ones come first */
    entry_t *entries[RUNGI_PROPOSALS + RUNGI_LADDER_MAX];
};

/* Copies a text to *at and advances *at past it. */
static const char *keep_text(char **at, const char *text)
{
    char *kept = *at;
    size_t bytes = strlen(text) + 1;
    memcpy(kept, text, bytes);
    *at += bytes;
    return kept;
}

static entry_t *entry_of(rung_context *context, const rung_plan *plan, const rungi_attempt *attempt)
{
    const char *reason = attempt->status == RUNG_OK ? "" : rung_error_text();
    entry_t *made = rungi_new(context, sizeof *made + strlen(attempt->kernel) + strlen(attempt->parameters) +
                                           strlen(plan->origin_text) + strlen(reason) + 4);
    if (!made)
        return NULL;
    char *at = made->texts;
    made->candidate.kernel = keep_text(&at, attempt->kernel);
    made->candidate.parameters = keep_text(&at, attempt->parameters);
    made->candidate.origin = plan->info.origin;
    made->candidate.origin_text = keep_text(&at, plan->origin_text);
    made->candidate.status = attempt->status;
    made->candidate.reason = keep_text(&at, reason);
    made->candidate.threads_per_block = plan->block_threads;
    made->candidate.shared_bytes_per_block = plan->block_shared_bytes;
    return made;
}

static rung_status add(void *user, const rung_plan *plan, const rungi_attempt *attempt)
{
    rung_candidate_list *list = user;
    RUNGI_ASSERT(list->count < (int64_t)(sizeof list->entries / sizeof *list->entries));
    entry_t *made = entry_of(list->context, plan, attempt);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    int64_t index = attempt->status == RUNG_OK ? list->accepted++ : list->count;
    memmove(list->entries + index + 1, list->entries + index, (size_t)(list->count - index) * sizeof *list->entries);
    list->entries[index] = made;
    list->count++;
    return RUNG_OK;
}

static rung_status fill(rung_device *device, const rung_problem *problem, const rung_plan_options *options,
                        rung_candidate_list *list)
{
    rung_plan *plan;
    rung_problem read;
    rung_plan_options choice;
    rung_status status = rungi_problem_read(problem, &read);
    if (status == RUNG_OK)
        status = rungi_plan_options_read(options, &choice);
    if (status == RUNG_OK)
        status = rungi_plan_prepare(device, &read, &choice, &plan);
    if (status != RUNG_OK)
        return status;
    status = rungi_choose(plan, &choice, &(rungi_visitor){add, list});
    rungi_release(device->context, plan);
    return status;
}

rung_status rung_candidate_list_create(rung_device *device, const rung_problem *problem,
                                       const rung_plan_options *options, rung_candidate_list **out)
{
    RUNGI_DISABLE_CANCELLATION;
    if (out)
        *out = NULL;
    if (!device || !problem || !out)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_candidate_list_create needs a device, a problem and a pointer "
                                               "for the list; one of them is NULL");
    rung_candidate_list *list = rungi_new(device->context, sizeof *list);
    if (!list)
        return RUNG_STATUS_NO_MEMORY;
    list->context = rungi_context_retain(device->context);
    rung_status status = fill(device, problem, options, list);
    if (status != RUNG_OK) {
        rung_candidate_list_destroy(list);
        return status;
    }
    *out = list;
    return RUNG_OK;
}

int64_t rung_candidate_list_count(const rung_candidate_list *list)
{
    return list ? list->count : 0;
}

const rung_candidate *rung_candidate_list_at(const rung_candidate_list *list, int64_t index)
{
    return list && index >= 0 && index < list->count ? &list->entries[index]->candidate : NULL;
}

void rung_candidate_list_destroy(rung_candidate_list *list)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!list)
        return;
    rung_context *context = list->context;
    for (int64_t i = 0; i < list->count; i++)
        rungi_release(context, list->entries[i]);
    rungi_release(context, list);
    rungi_context_release(context);
}
