/* SPDX-License-Identifier: Apache-2.0 */
/* hopper_operations.h - what decoders of mbarriers and bulk copies write into `operation`. */
#pragma once

typedef enum ptx_mbarrier_operation {
    PTX_MBARRIER_INIT,
    PTX_MBARRIER_INVALIDATE,
    PTX_MBARRIER_EXPECT,
    PTX_MBARRIER_COMPLETE
} ptx_mbarrier_operation_t;

enum { PTX_ARRIVE_EXPECTS = 1, PTX_ARRIVE_NO_COMPLETE = 2, PTX_ARRIVE_DROPS = 4 };
enum { PTX_WAIT_BLOCKS = 1, PTX_WAIT_PARITY = 2 };

/* Of bulk copies: 0, or the reduction's ptx_atomic_operation_t from here on. */
enum { PTX_BULK_REDUCES = 1 };

/* Of wgmma. */
enum {
    PTX_WGMMA_NEGATE_A = 1,
    PTX_WGMMA_NEGATE_B = 2,
    PTX_WGMMA_TRANSPOSE_A = 4, /* A is stored by columns */
    PTX_WGMMA_TRANSPOSE_B = 8, /* B is stored by rows */
    PTX_WGMMA_REGISTERS = 16   /* A is in registers */
};
