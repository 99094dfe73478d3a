/* SPDX-License-Identifier: Apache-2.0 */
/* execute_wmma.c - wmma.mma. Sums are fused multiply-adds in single precision, from C on, in the order of k.
 * .f64 and elements of less than a byte are executed like mma; see wmma_fragment.h. */
#include <float.h>
#include <math.h>

#include "emulator/execute/float_bits.h"
#include "emulator/execute/wmma_fragment.h"

static int register_count(const fragment_t *fragment)
{
    return fragment->bytes == 8 ? fragment->per_lane : fragment->per_lane * fragment->bytes / 4;
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
        case PTX_S8: matrix[i] = (int8_t)bits; break;
        case PTX_U8: matrix[i] = (uint8_t)bits; break;
        default: matrix[i] = (int32_t)bits; break;
        }
    }
}

/* .satfinite: NaN becomes 0, and what is too large the largest number. */
static double make_finite(double value, double largest)
{
    return value != value ? 0 : value > largest ? largest : value < -largest ? -largest : value;
}

static void write_result(const ptx_warp_t *warp, const fragment_t *fragment, int index, double value, bool saturates)
{
    unsigned char *to = element_of(warp, fragment, index / fragment->per_lane, index % fragment->per_lane);
    uint64_t bits;
    if (fragment->type == PTX_F32) {
        bits = f32_bits(canonical_f32((float)(saturates ? make_finite(value, FLT_MAX) : value)));
    } else if (fragment->type == PTX_F16) {
        bits = f32_to_f16((float)(saturates ? make_finite(value, 65504) : value));
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

PTX_EXECUTORS(wmma) = {E(wmma_mma), {NULL, NULL}};
