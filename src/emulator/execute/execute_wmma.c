/* SPDX-License-Identifier: Apache-2.0 */
/* execute_wmma.c - wmma.load, wmma.store and wmma.mma.
 *
 * PTX leaves open which lane holds which element of a fragment. Here lane l holds the elements l * n to l * n + n - 1 of
 * the matrix in row-major order, n per lane; fragments of A and B in .f16 hold every element as often as their registers
 * have room. Sums are fused multiply-adds in single precision (.f64: double), from C on, in the order of k. */
#include <math.h>

#include "emulator/execute/execute.h"
#include "emulator/execute/float_bits.h"
#include "emulator/ptx/matrix_shape.h"

typedef struct fragment {
    int rows, columns;
    ptx_type_t type;
    int bytes, per_lane; /* of an element; elements of one lane */
    const ptx_operand_t *registers;
} fragment_t;

static fragment_t make_fragment(const ptx_matrix_shape_t *shape, char matrix, ptx_type_t type,
                                const ptx_operand_t *registers)
{
    fragment_t fragment = {.rows = matrix == 'b' ? shape->k : shape->m,
                           .columns = matrix == 'a' ? shape->k : shape->n,
                           .type = type,
                           .bytes = rungi_ptx_type_bits(type) / 8,
                           .registers = registers};
    bool has_copies = type == PTX_F16 && (matrix == 'a' || matrix == 'b');
    fragment.per_lane = has_copies ? 512 / PTX_WARP_LANES : fragment.rows * fragment.columns / PTX_WARP_LANES;
    return fragment;
}

static int register_count(const fragment_t *fragment)
{
    return fragment->bytes == 8 ? fragment->per_lane : fragment->per_lane * fragment->bytes / 4;
}

/* Returns the memory of element e of a lane. */
static unsigned char *element_of(const ptx_warp_t *warp, const fragment_t *fragment, int lane, int e)
{
    int per_register = fragment->bytes == 8 ? 1 : 4 / fragment->bytes;
    unsigned char *lanes = rungi_ptx_lanes(warp, fragment->registers[e / per_register]);
    int width = fragment->bytes == 8 ? 8 : 4;
    return lanes + lane * width + e % per_register * fragment->bytes;
}

/* Moves a fragment between registers and memory, one element of each lane at a time. */
static void move_fragment(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask, ptx_access_t kind)
{
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset2);
    bool is_column_major = instruction->operation & 0x80;
    fragment_t fragment = make_fragment(&shape, (char)(instruction->operation & 0x7f), (ptx_type_t)instruction->type,
                                        instruction->list);
    int first = __builtin_ctz(mask), elements = fragment.rows * fragment.columns;
    uint64_t base = 0, stride = (uint64_t)(is_column_major ? fragment.rows : fragment.columns);
    if (instruction->operand[0])
        memcpy(&base, (unsigned char *)OPERAND(0) + first * instruction->address_bytes, instruction->address_bytes);
    base += (uint64_t)instruction->offset;
    if (instruction->operand[1])
        stride = ((const uint32_t *)OPERAND(1))[first];
    for (int e = 0; e < fragment.per_lane; e++) {
        uint64_t address[PTX_WARP_LANES];
        unsigned char *pointer[PTX_WARP_LANES];
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            int index = (lane * fragment.per_lane + e) % elements;
            uint64_t row = (uint64_t)(index / fragment.columns), column = (uint64_t)(index % fragment.columns);
            address[lane] = base + (is_column_major ? column * stride + row : row * stride + column) *
                                       (uint64_t)fragment.bytes;
        }
        uint32_t valid = rungi_ptx_access(warp, instruction, mask, address, fragment.bytes,
                                          (ptx_space_t)instruction->space, kind, pointer);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            unsigned char *element = element_of(warp, &fragment, lane, e);
            if (!(valid >> lane & 1))
                continue;
            memcpy(kind == PTX_READ ? element : pointer[lane], kind == PTX_READ ? pointer[lane] : element,
                   (size_t)fragment.bytes);
        }
    }
}

EXECUTOR(wmma_load)
{
    move_fragment(warp, instruction, mask, PTX_READ);
}

EXECUTOR(wmma_store)
{
    move_fragment(warp, instruction, mask, PTX_WRITE);
}

enum { ELEMENTS_MAX = 32 * 32 };

/* Converts all elements to double, which represents every type. */
static void unpack(const ptx_warp_t *warp, const fragment_t *fragment, double matrix[ELEMENTS_MAX])
{
    int elements = fragment->rows * fragment->columns;
    for (int i = 0; i < elements; i++) {
        const unsigned char *from = element_of(warp, fragment, i / fragment->per_lane, i % fragment->per_lane);
        uint64_t bits = 0;
        memcpy(&bits, from, (size_t)fragment->bytes);
        switch (fragment->type) {
        case PTX_F16: matrix[i] = f16_to_f32((uint16_t)bits); break;
        case PTX_BF16: matrix[i] = bf16_to_f32((uint16_t)bits); break;
        case PTX_TF32: matrix[i] = f32_of_bits((uint32_t)bits & ~0x1fffu); break;
        case PTX_F32: matrix[i] = f32_of_bits((uint32_t)bits); break;
        case PTX_F64: matrix[i] = f64_of_bits(bits); break;
        case PTX_S8: matrix[i] = (int8_t)bits; break;
        case PTX_U8: matrix[i] = (uint8_t)bits; break;
        default: matrix[i] = (int32_t)bits; break;
        }
    }
}

static void write_result(const ptx_warp_t *warp, const fragment_t *fragment, int index, double value, bool saturates)
{
    unsigned char *to = element_of(warp, fragment, index / fragment->per_lane, index % fragment->per_lane);
    uint64_t bits;
    if (fragment->type == PTX_F64) {
        bits = f64_bits(value);
    } else if (fragment->type == PTX_F32) {
        bits = f32_bits(canonical_f32((float)value));
    } else if (fragment->type == PTX_F16) {
        bits = f32_to_f16((float)value);
    } else { /* sums of integers are exact in double precision */
        if (saturates)
            value = value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value;
        bits = (uint64_t)(int64_t)value;
    }
    memcpy(to, &bits, (size_t)fragment->bytes);
}

EXECUTOR(wmma_mma)
{
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    double a[ELEMENTS_MAX], b[ELEMENTS_MAX], c[ELEMENTS_MAX];
    fragment_t d_fragment = make_fragment(&shape, 'd', (ptx_type_t)shape.d_type, instruction->list);
    fragment_t a_fragment = make_fragment(&shape, 'a', (ptx_type_t)shape.a_type,
                                          d_fragment.registers + register_count(&d_fragment));
    fragment_t b_fragment = make_fragment(&shape, 'b', (ptx_type_t)shape.b_type,
                                          a_fragment.registers + register_count(&a_fragment));
    fragment_t c_fragment = make_fragment(&shape, 'c', (ptx_type_t)shape.c_type,
                                          b_fragment.registers + register_count(&b_fragment));
    bool is_single = shape.d_type == PTX_F32 || shape.d_type == PTX_F16;
    (void)mask;
    unpack(warp, &a_fragment, a);
    unpack(warp, &b_fragment, b);
    unpack(warp, &c_fragment, c);
    for (int row = 0; row < shape.m; row++)
        for (int column = 0; column < shape.n; column++) {
            double sum = c[row * shape.n + column];
            for (int k = 0; k < shape.k; k++) {
                double x = a[row * shape.k + k], y = b[k * shape.n + column];
                sum = is_single ? fmaf((float)x, (float)y, (float)sum) : fma(x, y, sum);
            }
            write_result(warp, &d_fragment, row * shape.n + column, sum, instruction->flags & PTX_FLAG_SAT);
        }
}

PTX_EXECUTORS(wmma) = {E(wmma_load), E(wmma_store), E(wmma_mma), {NULL, NULL}};
