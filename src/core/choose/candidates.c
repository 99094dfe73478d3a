/* SPDX-License-Identifier: Apache-2.0 */
/* candidates.c - rung_candidate_list: the kernels that could run a problem, in the order in which plans prefer them.
 * choose_kernel.c reports them, so that the list and rung_plan_create() always agree. */
#include <string.h>

#include "base/assert.h"
#include "base/cancellation.h"
#include "base/try.h"
#include "core/caller_structs.h"
#include "core/choose/choose_kernel.h"
#include "core/plan.h"
#include "core/choose/tuning_record.h"

/* A candidate and the memory of its texts. */
typedef struct candidate_entry {
    rung_candidate candidate;
    char texts[];
} candidate_entry_t;

struct rung_candidate_list {
    rung_context *context;
    int64_t count, accepted; /* the accepted ones come first */
    candidate_entry_t *entries[RUNGI_TUNING_PROPOSALS_MAX + RUNGI_LADDER_MAX];
};

/* Copies a text to *at and advances *at past the copy. */
static const char *copy_text_to(char **at, const char *text)
{
    char *copy = *at;
    size_t bytes = strlen(text) + 1;
    memcpy(copy, text, bytes);
    *at += bytes;
    return copy;
}

static candidate_entry_t *create_entry(rung_context *context, const rung_plan *plan, const rungi_attempt *attempt)
{
    const char *reason = attempt->status == RUNG_OK ? "" : rung_error_text();
    candidate_entry_t *entry = rungi_allocate_zeroed(context, sizeof *entry + strlen(attempt->kernel) +
                                                                  strlen(attempt->parameters) +
                                                                  strlen(plan->origin_text) + strlen(reason) + 4);
    if (!entry)
        return NULL;
    char *at = entry->texts;
    entry->candidate.kernel = copy_text_to(&at, attempt->kernel);
    entry->candidate.parameters = copy_text_to(&at, attempt->parameters);
    entry->candidate.origin = plan->info.origin;
    entry->candidate.origin_text = copy_text_to(&at, plan->origin_text);
    entry->candidate.status = attempt->status;
    entry->candidate.reason = copy_text_to(&at, reason);
    entry->candidate.threads_per_block = plan->block_threads;
    entry->candidate.shared_bytes_per_block = plan->block_shared_bytes;
    return entry;
}

static rung_status add_attempt(void *user, const rung_plan *plan, const rungi_attempt *attempt)
{
    rung_candidate_list *list = user;
    RUNGI_ASSERT(list->count < (int64_t)(sizeof list->entries / sizeof *list->entries));
    candidate_entry_t *entry = create_entry(list->context, plan, attempt);
    if (!entry)
        return RUNG_STATUS_NO_MEMORY;
    int64_t index = attempt->status == RUNG_OK ? list->accepted++ : list->count;
    memmove(list->entries + index + 1, list->entries + index, (size_t)(list->count - index) * sizeof *list->entries);
    list->entries[index] = entry;
    list->count++;
    return RUNG_OK;
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
    if (out)
        *out = NULL;
    if (!device || !problem || !out)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_candidate_list_create needs a device, a problem and a pointer "
                                               "for the list; one of them is NULL");
    rung_candidate_list *list = rungi_allocate_zeroed(device->context, sizeof *list);
    if (!list)
        return RUNG_STATUS_NO_MEMORY;
    list->context = rungi_context_retain(device->context);
    rung_status status = fill_list(device, problem, options, list);
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
