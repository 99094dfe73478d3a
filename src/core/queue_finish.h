/* SPDX-License-Identifier: Apache-2.0 */
/* queue_finish.h - waits for a queue in the cleanup after its work, whether the work was submitted or failed. */
#ifndef RUNGI_QUEUE_FINISH_H
#define RUNGI_QUEUE_FINISH_H

#include "base/error.h"

/* Waits for the queue, so that memory of its work can be freed. Returns `status` with its error text if that is a
 * failure, and otherwise the status of the wait. */
static inline rung_status rungi_queue_finish_after(rung_queue *queue, rung_status status)
{
    rungi_saved_error first;
    if (status == RUNG_OK)
        return rung_queue_finish(queue);
    rungi_error_save(&first);
    rung_queue_finish(queue);
    rungi_error_restore(&first);
    return status;
}

#endif /* RUNGI_QUEUE_FINISH_H */
