/* SPDX-License-Identifier: Apache-2.0 */
/* execute_mma_scaled.c - mma.sync with block scales: kind::mxf8f6f4, kind::mxf4 and kind::mxf4nvf4.
 *
 * The fragments are those of execute_mma.c, with 4 elements per word in m16n8k32 and 8 in m16n8k64. Each row of A and
 * each column of B has `blocks` scales for as many blocks of k. Scale j is byte byte-id + j of one register:
 *     row r of A:     of lane 4 * (r % 8) + 2 * thread-id-a + r / 8
 *     column c of B:  of lane 4 * c + thread-id-b
 * Element times scale is exact in double precision, and so is the product of two of these. Each product is added to the
 * sum, which begins with C, in the order of k. A product has at most 12 bits, so the sum of both in double precision,
 * rounded to single precision, is the one of a fused multiply-add with a single rounding. */
#include <math.h>

#include "emulator/execute/execute.h"
#include "emulator/execute/matrix_elements.h"
#include "emulator/ptx/matrix_shape.h"
#include "emulator/ptx/scale_selectors.h"

enum { ROWS = 16, COLUMNS = 8, DEPTH_MAX = 64, BLOCKS_MAX = 4, A_REGISTERS = 4, B_REGISTERS = 2, C_REGISTERS = 4 };

/* First operands in the instruction's list. A scale is followed by its selectors. */
enum {
    LIST_D = 0,
    LIST_A = LIST_D + C_REGISTERS,
    LIST_B = LIST_A + A_REGISTERS,
    LIST_C = LIST_B + B_REGISTERS,
    LIST_SCALE_A = LIST_C + C_REGISTERS,
    LIST_SCALE_B = LIST_SCALE_A + 3
};

typedef struct scaled_product {
    double a[DEPTH_MAX][ROWS], b[DEPTH_MAX][COLUMNS];
    double a_scale[BLOCKS_MAX][ROWS], b_scale[BLOCKS_MAX][COLUMNS];
    float c[COLUMNS][ROWS];
} scaled_product_t;

/* Reads the selectors, which must be valid and the same in all lanes of the mask. */
static bool read_selectors(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask,
                           int selectors[PTX_SELECTORS])
{
    int blocks = instruction->vector_length, first = __builtin_ctz(mask);
    for (int i = 0; i < PTX_SELECTORS; i++) {
        int at = (i < 2 ? LIST_SCALE_A : LIST_SCALE_B) + 1 + i % 2;
        const uint16_t *values = rungi_ptx_lanes(warp, instruction->list[at]);
        selectors[i] = values[first];
        for (int lane = first; lane < PTX_WARP_LANES; lane++) {
            bool is_good = values[lane] == values[first] && rungi_ptx_selector_is_valid(i, blocks, values[lane]);
            if (is_good || !(mask >> lane & 1))
                continue;
            rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, lane,
                            "%s of mma is %d, and %d in lane %d; it must be %s, and the same in all lanes",
                            rungi_ptx_selector_name(i), values[lane], values[first], first,
                            rungi_ptx_selector_values(i, blocks));
            return false;
        }
    }
    return true;
}

static double scale_of(uint32_t word, int byte, ptx_type_t type)
{
    uint32_t bits = word >> 8 * byte & 0xff;
    return type == PTX_UE8M0 ? ue8m0_to_f32(bits) : e4m3_to_f32(bits & 0x7f); /* ue4m3 has 7 bits */
}

static void read_scales(const ptx_warp_t *warp, const ptx_instruction_t *instruction,
                        const int selectors[PTX_SELECTORS], scaled_product_t *product)
{
    const uint32_t *a = rungi_ptx_lanes(warp, instruction->list[LIST_SCALE_A]);
    const uint32_t *b = rungi_ptx_lanes(warp, instruction->list[LIST_SCALE_B]);
    ptx_type_t type = (ptx_type_t)instruction->source_type;
    for (int j = 0; j < instruction->vector_length; j++) {
        for (int row = 0; row < ROWS; row++)
            product->a_scale[j][row] = scale_of(a[4 * (row % 8) + 2 * selectors[1] + row / 8], selectors[0] + j, type);
        for (int column = 0; column < COLUMNS; column++)
            product->b_scale[j][column] = scale_of(b[4 * column + selectors[3]], selectors[2] + j, type);
    }
}

/* Unpacks one register of all lanes to `per_word` elements per lane. */
static void unpack_register(const uint32_t *words, int per_word, ptx_type_t type, float *to)
{
    if (per_word == 4) {
        unpack_floats(words, PTX_WARP_LANES, type, to);
        return;
    }
    for (int i = 0; i < 8 * PTX_WARP_LANES; i++) /* e2m1 */
        to[i] = e2m1_to_f32(words[i / 8] >> 4 * (i % 8) & 15);
}

/* Reads A and B and multiplies each element by its scale. */
static void read_factors(const ptx_warp_t *warp, const ptx_instruction_t *instruction, const ptx_matrix_shape_t *shape,
                         scaled_product_t *product)
{
    const ptx_operand_t *a = instruction->list + LIST_A, *b = instruction->list + LIST_B;
    int per_word = shape->k / 8, block_depth = shape->k / instruction->vector_length;
    float elements[8 * PTX_WARP_LANES];
    for (int i = 0; i < A_REGISTERS; i++) {
        unpack_register(rungi_ptx_lanes(warp, a[i]), per_word, (ptx_type_t)shape->a_type, elements);
        for (int e = 0; e < per_word * PTX_WARP_LANES; e++) {
            int lane = e / per_word, row = lane / 4 + 8 * (i % 2);
            int k = lane % 4 * per_word + e % per_word + 4 * per_word * (i / 2);
            product->a[k][row] = elements[e] * product->a_scale[k / block_depth][row];
        }
    }
    for (int i = 0; i < B_REGISTERS; i++) {
        unpack_register(rungi_ptx_lanes(warp, b[i]), per_word, (ptx_type_t)shape->b_type, elements);
        for (int e = 0; e < per_word * PTX_WARP_LANES; e++) {
            int lane = e / per_word, column = lane / 4;
            int k = lane % 4 * per_word + e % per_word + 4 * per_word * i;
            product->b[k][column] = elements[e] * product->b_scale[k / block_depth][column];
        }
    }
}

/* Reads C, or writes D. */
static void read_sums(const ptx_warp_t *warp, const ptx_instruction_t *instruction, scaled_product_t *product)
{
    const ptx_operand_t *c = instruction->list + LIST_C;
    for (int i = 0; i < C_REGISTERS; i++) {
        const float *lanes = rungi_ptx_lanes(warp, c[i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            product->c[lane % 4 * 2 + i % 2][lane / 4 + 8 * (i / 2)] = lanes[lane];
    }
}

static void write_sums(const ptx_warp_t *warp, const ptx_instruction_t *instruction, const scaled_product_t *product)
{
    for (int i = 0; i < C_REGISTERS; i++) {
        float *lanes = rungi_ptx_lanes(warp, instruction->list[LIST_D + i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            lanes[lane] = canonical_f32(product->c[lane % 4 * 2 + i % 2][lane / 4 + 8 * (i / 2)]);
    }
}

static void add_products(scaled_product_t *product, int depth)
{
    for (int column = 0; column < COLUMNS; column++) {
        float *sum = product->c[column];
        for (int k = 0; k < depth; k++) {
            double factor = product->b[k][column];
            for (int row = 0; row < ROWS; row++)
                sum[row] = (float)(sum[row] + product->a[k][row] * factor);
        }
    }
}

EXECUTOR(mma_scaled)
{
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    int selectors[PTX_SELECTORS];
    scaled_product_t product;
    if (!read_selectors(warp, instruction, mask, selectors))
        return;
    read_scales(warp, instruction, selectors, &product);
    read_factors(warp, instruction, &shape, &product);
    read_sums(warp, instruction, &product);
    add_products(&product, shape.k);
    write_sums(warp, instruction, &product);
}

PTX_EXECUTORS(mma_scaled) = {E(mma_scaled), {NULL, NULL}};
