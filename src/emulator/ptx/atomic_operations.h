/* SPDX-License-Identifier: Apache-2.0 */
/* atomic_operations.h - the operations of atom and red, for the decoder and the executors. */
#pragma once

typedef enum ptx_atomic_operation {
    PTX_ATOMIC_ADD,
    PTX_ATOMIC_MIN,
    PTX_ATOMIC_MAX,
    PTX_ATOMIC_INC,
    PTX_ATOMIC_DEC,
    PTX_ATOMIC_AND,
    PTX_ATOMIC_OR,
    PTX_ATOMIC_XOR,
    PTX_ATOMIC_EXCHANGE,
    PTX_ATOMIC_CAS
} ptx_atomic_operation_t;
