/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_operations.h - the operations of bar and barrier, for the decoder and the scheduler. */
#pragma once

typedef enum ptx_barrier_operation {
    PTX_BARRIER_SYNC,
    PTX_BARRIER_ARRIVE,
    PTX_BARRIER_RED_POPC,
    PTX_BARRIER_RED_AND,
    PTX_BARRIER_RED_OR
} ptx_barrier_operation_t;
