/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - the state of one staged multiply, shared by overlap.c (which schedules the panels) and upload.c (which
 * copies operands to the device). */
#ifndef RUNGI_PIPELINE_H
#define RUNGI_PIPELINE_H

#include "core/matrix.h"
#include "core/plan_types.h"
#include "core/staging/panels.h"
#include "core/staging/timeline.h"

enum { RUNGI_PIPELINE_LANES_MAX = 3 };

/* A queue with its own buffers and staging memory. */
typedef struct rungi_pipeline_lane {
    rung_queue *queue;
    rung_buffer *buffers[RUNGI_OPERAND_COUNT]; /* operands that are copied with each panel */
    char *stages[RUNGI_OPERAND_COUNT];         /* where they are packed; NULL: copied from the caller's memory */
    rung_buffer *workspace;
    char *staging;            /* staging memory of the lane: all `stages`, or one chunk of a shared operand */
    rung_event *staging_free; /* signalled when the device has read a shared chunk from `staging` */
    rung_event *wait;         /* that event, or the timeline's; NULL after the wait */
    int64_t panel;            /* index of the panel in flight; -1: none */
} rungi_pipeline_lane;

typedef struct rungi_pipeline {
    rung_context *context;
    rung_device *device;
    const rung_problem *problem;
    rungi_panels panels;
    rung_problem device_problem; /* the problem, with shared operands in device buffers */
    rung_buffer *shared[RUNGI_OPERAND_COUNT];
    rung_event *shared_ready; /* event of the last chunk of the shared operands; NULL: none are shared */
    rung_plan *plans[2];      /* for a panel and for a shorter last panel; the second may be NULL */
    rungi_pinned_memory pinned;
    void *unpinned; /* staging memory, if there is no pinned memory */
    rungi_pipeline_lane lanes[RUNGI_PIPELINE_LANES_MAX];
    int lane_count;
    int64_t chunks; /* chunks of shared operands copied so far */
    rungi_timeline timeline;
} rungi_pipeline;

/* One panel in host memory and in the buffers of a lane. */
typedef struct rungi_staged_panel {
    rung_problem host_problem, device_problem;
    bool is_copied[RUNGI_OPERAND_COUNT]; /* copied with this panel */
    int64_t items[RUNGI_OPERAND_COUNT], bytes[RUNGI_OPERAND_COUNT];
} rungi_staged_panel;

/* Returns whether all panels read the same elements of the operand. It is copied once, before the panels. */
static inline bool rungi_pipeline_is_shared(const rungi_pipeline *pipeline, rungi_operand operand)
{
    return !rungi_matrix_is_empty(rungi_problem_view(pipeline->problem, operand)) &&
           !rungi_panels_is_split(&pipeline->panels, pipeline->problem, operand);
}

#endif /* RUNGI_PIPELINE_H */
