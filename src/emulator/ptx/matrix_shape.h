/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_shape.h - shape and types of mma and wmma, for the decoder and the executors. Stored in an instruction's offset. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct ptx_matrix_shape {
    uint8_t m, n;
    uint16_t k;
    uint8_t a_type, b_type, c_type, d_type; /* ptx_type_t */
} ptx_matrix_shape_t;

static inline int64_t rungi_ptx_pack_shape(ptx_matrix_shape_t shape)
{
    int64_t packed;
    memcpy(&packed, &shape, sizeof packed);
    return packed;
}

static inline ptx_matrix_shape_t rungi_ptx_unpack_shape(int64_t packed)
{
    ptx_matrix_shape_t shape;
    memcpy(&shape, &packed, sizeof shape);
    return shape;
}
