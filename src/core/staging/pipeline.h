/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - the state of one staged multiply, shared by overlap.c (which schedules the panels) and upload.c (which
 * copies operands to the device). */
#pragma once

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

/* Scales or zero points on the device. */
typedef struct rungi_staged_scales {
    rung_buffer *buffer; /* NULL: there are none */
    char *staging;       /* where they are packed; NULL: copied from the caller's memory */
    int64_t items, bytes;
} rungi_staged_scales;

/* What the rung_quantization of A or B points to, if there is one: in host memory and on the device. */
typedef struct rungi_staged_quantization {
    rung_quantization host, device;
    rungi_staged_scales scales[2]; /* scales and zero points */
} rungi_staged_quantization;

typedef struct rungi_pipeline {
    rung_context *context;
    rung_device *device;
    const rung_problem *problem;
    rungi_panels panels;
    rung_problem device_problem; /* the problem, with shared operands in device buffers */
    rungi_staged_quantization a_quantization, b_quantization;
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

/* Copies a normalized problem to a device that cannot read host memory, whole or panel by panel, runs it and copies C
 * back (overlap.c). */
rung_status rungi_staging_multiply(rung_context *context, rung_device *device, const rung_problem *problem);

/* ---- upload.c ---- */

/* Returns whether the items of the view are stored one after the other without gaps. */
bool rungi_upload_is_contiguous(const rung_matrix *view, int64_t items);

/* Returns the staging bytes of the largest chunk of shared operands; of those that are not contiguous, unless `all`. */
int64_t rungi_upload_chunk_bytes(const rungi_pipeline *pipeline, bool all);

/* Waits until the device has read the lane's staging memory. */
rung_status rungi_upload_wait_for_staging(rungi_pipeline_lane *lane);

/* Copies items between host views, to or from staging memory, and adds the time to the timeline as `name`. */
rung_status rungi_upload_copy_items(rungi_pipeline *pipeline, const char *name, const rung_matrix *from,
                                    const rung_matrix *to, int64_t items, int64_t bytes);

/* Starts to copy a shared operand in chunks. The last chunk signals `shared_ready`. */
rung_status rungi_upload_shared(rungi_pipeline *pipeline, rungi_operand operand);

/* Starts to copy the operands of a panel on a lane's queue. */
rung_status rungi_upload_panel(rungi_pipeline *pipeline, int lane, const rungi_staged_panel *panel);

/* Create, copy and free the scales and zero points of A and B. A problem that has any is not split into panels. */
rung_status rungi_upload_create_scales(rungi_pipeline *pipeline);
rung_status rungi_upload_scales(rungi_pipeline *pipeline);
void rungi_upload_free_scales(rungi_pipeline *pipeline);
