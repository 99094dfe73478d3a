/* SPDX-License-Identifier: Apache-2.0 */
/* upload.h - copies operands of a staged multiply to the device. */
#ifndef RUNGI_UPLOAD_H
#define RUNGI_UPLOAD_H

#include "core/staging/pipeline.h"

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

#endif /* RUNGI_UPLOAD_H */
