/* SPDX-License-Identifier: Apache-2.0 */
/* plan_table.c - see plan_table.h. A hash table with linear probing. */
#include "core/plan_table.h"

#include "base/assert.h"
#include "base/fnv1a.h"
#include "base/try.h"
#include "core/problem.h"

enum {
    SLOTS_MIN = 64,        /* a power of two, like every number of slots */
    PLANS_CACHED_MAX = 512 /* that stay after a call: a plan has about 4 KiB */
};

typedef struct slot {
    uint64_t hash;
    rung_plan *plan; /* NULL: empty */
} slot_t;

struct rungi_plan_table {
    int64_t count, slot_count; /* at least one slot stays empty */
    slot_t slots[];
};

static uint64_t hash_of(const rung_problem *problem)
{
    const rung_matrix *views[] = {&problem->a, &problem->b, &problem->c};
    uint64_t hash = RUNGI_FNV1A_START;
    for (int i = 0; i < 3; i++) {
        int64_t numbers[] = {views[i]->rows, views[i]->cols, views[i]->row_stride, views[i]->col_stride};
        hash = rungi_fnv1a(hash, numbers, sizeof numbers);
    }
    return hash;
}

/* Returns the slot of the plan that matches the problem, or the empty slot where it belongs. */
static slot_t *find(rungi_plan_table *table, uint64_t hash, const rung_problem *problem, bool packed_b)
{
    uint64_t mask = (uint64_t)table->slot_count - 1, at = hash & mask;
    RUNGI_ASSERT(table->count < table->slot_count);
    while (table->slots[at].plan && (table->slots[at].hash != hash || table->slots[at].plan->packed_b != packed_b ||
                                     !rungi_plan_matches(table->slots[at].plan, problem)))
        at = (at + 1) & mask;
    return &table->slots[at];
}

static slot_t *find_empty(rungi_plan_table *table, uint64_t hash)
{
    uint64_t mask = (uint64_t)table->slot_count - 1, at = hash & mask;
    while (table->slots[at].plan)
        at = (at + 1) & mask;
    return &table->slots[at];
}

/* Doubles the table when it is half full, or creates it. */
static rung_status ensure_space(rung_queue *queue)
{
    rung_context *context = queue->device->context;
    rungi_plan_table *old = queue->group_plans;
    if (old && old->count < old->slot_count / 2)
        return RUNG_OK;
    int64_t slots = old ? 2 * old->slot_count : SLOTS_MIN;
    rungi_plan_table *table = rungi_allocate_zeroed(context, sizeof *table + (size_t)slots * sizeof *table->slots);
    TRY(rungi_allocated(table));
    table->slot_count = slots;
    for (int64_t i = 0; old && i < old->slot_count; i++)
        if (old->slots[i].plan)
            *find_empty(table, old->slots[i].hash) = old->slots[i];
    table->count = old ? old->count : 0;
    rungi_release(context, old);
    queue->group_plans = table;
    return RUNG_OK;
}

/* Groups choose their own partition and number of threads, so the plan is one for a single thread. */
static rung_status create_plan(const rung_queue *queue, const rung_problem *normalized, bool packed_b, rung_plan **plan)
{
    rung_plan_options options = rungi_plan_options(NULL, NULL);
    options.threads = 1;
    options.packed_b = packed_b;
    return rungi_plan_create_normalized(queue->device, normalized, &options, plan);
}

rung_status rungi_plan_table_get(rung_queue *queue, const rung_problem *normalized, bool packed_b, rung_plan **plan)
{
    uint64_t hash = hash_of(normalized);
    TRY(ensure_space(queue));
    slot_t *slot = find(queue->group_plans, hash, normalized, packed_b);
    if (!slot->plan) {
        TRY(create_plan(queue, normalized, packed_b, &slot->plan));
        slot->hash = hash;
        queue->group_plans->count++;
    }
    *plan = slot->plan;
    return RUNG_OK;
}

void rungi_plan_table_trim(rung_queue *queue)
{
    if (queue->group_plans && queue->group_plans->count > PLANS_CACHED_MAX)
        rungi_plan_table_destroy(queue);
}

void rungi_plan_table_destroy(rung_queue *queue)
{
    rungi_plan_table *table = queue->group_plans;
    for (int64_t i = 0; table && i < table->slot_count; i++)
        rung_plan_destroy(table->slots[i].plan);
    rungi_release(queue->device->context, table);
    queue->group_plans = NULL;
}
