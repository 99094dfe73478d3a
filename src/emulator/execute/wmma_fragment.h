/* SPDX-License-Identifier: Apache-2.0 */
/* wmma_fragment.h - which lane holds which element of a wmma fragment, for execute_wmma.c and execute_wmma_memory.c.
 *
 * PTX leaves that open. Here lane l holds the elements l * n to l * n + n - 1 of the matrix in row-major order, n per lane;
 * fragments of A and B in .f16 hold every element as often as their registers have room. Elements of less than a byte are
 * kept as words of 32 bits along k. B of these and of .f64 is kept as its transpose. So these fragments are those of mma, which
 * executes their multiplication. */
#pragma once

#include "emulator/execute/execute.h"
#include "emulator/ptx/matrix_shape.h"

typedef struct fragment {
    int rows, columns;
    ptx_type_t type;
    int bytes, per_lane; /* of an element; elements of one lane */
    int copies;          /* of each element */
    bool is_transposed;  /* rows and columns are those of the transpose */
    const ptx_operand_t *registers;
} fragment_t;

static inline fragment_t make_fragment(const ptx_matrix_shape_t *shape, char matrix, ptx_type_t type,
                                       const ptx_operand_t *registers)
{
    fragment_t fragment = {.rows = matrix == 'b' ? shape->k : shape->m,
                           .columns = matrix == 'a' ? shape->k : shape->n,
                           .type = type,
                           .bytes = rungi_ptx_type_bits(type) / 8,
                           .copies = 1,
                           .registers = registers};
    fragment.is_transposed = matrix == 'b' && (fragment.bytes == 0 || type == PTX_F64);
    if (fragment.bytes == 0 || fragment.is_transposed) {
        fragment.rows = 8;
        fragment.columns = 4;
    }
    if (fragment.bytes == 0) {
        fragment.type = PTX_B32;
        fragment.bytes = 4;
    }
    int elements = fragment.rows * fragment.columns;
    if (type == PTX_F16 && (matrix == 'a' || matrix == 'b'))
        fragment.copies = 512 / elements;
    fragment.per_lane = fragment.copies * elements / PTX_WARP_LANES;
    return fragment;
}

/* Returns the memory of element e of a lane. */
static inline unsigned char *element_of(const ptx_warp_t *warp, const fragment_t *fragment, int lane, int e)
{
    int per_register = fragment->bytes == 8 ? 1 : 4 / fragment->bytes;
    unsigned char *lanes = rungi_ptx_lanes(warp, fragment->registers[e / per_register]);
    int width = fragment->bytes == 8 ? 8 : 4, offset = lane * width + e % per_register * fragment->bytes;
    return lanes + offset;
}
