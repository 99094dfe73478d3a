/* SPDX-License-Identifier: Apache-2.0 */
/* execute_mma_forms.c - the less common forms of mma.sync: sparse A, single bits, FP64 with a rounding mode, and m8n8k4 of halves.
 *
 * Fragments of sparse and single-bit forms are those of execute_mma.c; sparse A has the fragment of a matrix with half the
 * columns. With g = lane / 4, the metadata of a sparse A are 4 bits per chunk of a row, in lanes of the group g:
 *     16 and 32-bit elements: lane 4 * g + s + c / 4 holds chunk c of row g in bits 4 * (c % 4), of row g + 8 in bits 16 + ...
 *     8 and 4-bit elements:   lane 4 * g + s + 2 * (c / 8) holds row g, the next lane row g + 8, in bits 4 * (c % 8)
 * where s is the first lane that the selector chooses. Sums are as in execute_mma.c. */
#include <fenv.h>
#include <math.h>

#include "emulator/execute/execute.h"
#include "emulator/execute/matrix_elements.h"
#include "emulator/ptx/matrix_shape.h"

enum { ROWS = 16, COLUMNS = 8, PACKED_MAX = 64, DEPTH_MAX = 128, BIT_WORDS_MAX = 8 };

/* First registers of the fragments in the instruction's list, and their number. */
typedef struct sparse_fragments {
    const ptx_operand_t *d, *a, *b, *c;
    int a_count, b_count, c_count;
} sparse_fragments_t;

static sparse_fragments_t find_fragments(const ptx_instruction_t *instruction, const ptx_matrix_shape_t *shape,
                                         int packed)
{
    int bits = rungi_ptx_type_bits((ptx_type_t)shape->a_type);
    sparse_fragments_t fragments = {.d = instruction->list,
                                    .a_count = shape->m * packed * bits / 32 / PTX_WARP_LANES,
                                    .b_count = shape->k * shape->n * bits / 32 / PTX_WARP_LANES,
                                    .c_count = shape->m * shape->n * rungi_ptx_type_bits((ptx_type_t)shape->c_type) /
                                               32 / PTX_WARP_LANES};
    fragments.a = fragments.d + fragments.c_count;
    fragments.b = fragments.a + fragments.a_count;
    fragments.c = fragments.b + fragments.b_count;
    return fragments;
}

/* ---- Sparse A ------------------------------------------------------------------------------------------------------ */

/* Returns the 4 bits of metadata of a chunk. */
static uint32_t metadata_of(const ptx_warp_t *warp, const ptx_instruction_t *instruction, int row, int chunk,
                            int chunks, int element_bits)
{
    const uint32_t *words = rungi_ptx_lanes(warp, instruction->operand[0]);
    int first = instruction->operation * (chunks / 4), high = row / 8; /* chunks / 4: lanes that hold metadata */
    if (element_bits >= 16)
        return words[4 * (row % 8) + first + chunk / 4] >> (16 * high + 4 * (chunk % 4)) & 15;
    return words[4 * (row % 8) + first + high + 2 * (chunk / 8)] >> 4 * (chunk % 8) & 15;
}

/* Finds the row of B that each packed element of A is multiplied with. */
static void find_positions(const ptx_warp_t *warp, const ptx_instruction_t *instruction,
                           const ptx_matrix_shape_t *shape, uint8_t position[ROWS][PACKED_MAX])
{
    int bits = rungi_ptx_type_bits((ptx_type_t)shape->a_type), chunk_size = bits == 32 ? 2 : bits == 4 ? 8 : 4;
    int chunks = shape->k / chunk_size;
    for (int row = 0; row < shape->m; row++)
        for (int chunk = 0; chunk < chunks; chunk++) {
            uint32_t metadata = metadata_of(warp, instruction, row, chunk, chunks, bits);
            int low = (int)(metadata & 3), high = (int)(metadata >> 2), first = chunk * chunk_size;
            uint8_t *to = &position[row][first / 2];
            if (bits == 32) { /* two indices of halves */
                to[0] = (uint8_t)(first + low / 2);
            } else if (bits == 4) { /* indices of pairs */
                to[0] = (uint8_t)(first + 2 * low);
                to[1] = (uint8_t)(first + 2 * low + 1);
                to[2] = (uint8_t)(first + 2 * high);
                to[3] = (uint8_t)(first + 2 * high + 1);
            } else {
                to[0] = (uint8_t)(first + low);
                to[1] = (uint8_t)(first + high);
            }
        }
}

/* Index of an element in unpacked registers of A or B. `width` is the number of columns of A in one register. */
static int index_in_a(int row, int k, int width)
{
    return (k / width * ROWS + row) * width + k % width;
}

static int index_in_b(int k, int column, int width)
{
    return (k / width * COLUMNS + column) * width + k % width;
}

/* Reads or writes element i of the accumulator of a lane. */
static float read_sum(const ptx_warp_t *warp, const ptx_operand_t *registers, ptx_type_t type, int lane, int i)
{
    if (type == PTX_F16)
        return f16_to_f32(((const uint16_t *)rungi_ptx_lanes(warp, registers[i / 2]))[2 * lane + i % 2]);
    return ((const float *)rungi_ptx_lanes(warp, registers[i]))[lane];
}

static void write_sum(const ptx_warp_t *warp, const ptx_operand_t *registers, ptx_type_t type, int lane, int i,
                      float sum)
{
    if (type == PTX_F16)
        ((uint16_t *)rungi_ptx_lanes(warp, registers[i / 2]))[2 * lane + i % 2] = f32_to_f16(sum);
    else
        ((float *)rungi_ptx_lanes(warp, registers[i]))[lane] = canonical_f32(sum);
}

EXECUTOR(mma_sparse_float)
{
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    int packed = shape.k / 2;
    sparse_fragments_t fragments = find_fragments(instruction, &shape, packed);
    int per_word = 32 / rungi_ptx_type_bits((ptx_type_t)shape.a_type), width = 4 * per_word;
    float a[ROWS * PACKED_MAX], b[DEPTH_MAX * COLUMNS], sums[PTX_WARP_LANES][4];
    uint8_t position[ROWS][PACKED_MAX];
    (void)mask;
    for (int i = 0; i < fragments.a_count; i++)
        unpack_floats(rungi_ptx_lanes(warp, fragments.a[i]), PTX_WARP_LANES, (ptx_type_t)shape.a_type,
                      a + (size_t)(i * PTX_WARP_LANES * per_word));
    for (int i = 0; i < fragments.b_count; i++)
        unpack_floats(rungi_ptx_lanes(warp, fragments.b[i]), PTX_WARP_LANES, (ptx_type_t)shape.b_type,
                      b + (size_t)(i * PTX_WARP_LANES * per_word));
    find_positions(warp, instruction, &shape, position);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        for (int i = 0; i < 4; i++) {
            int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
            float sum = read_sum(warp, fragments.c, (ptx_type_t)shape.c_type, lane, i);
            for (int k = 0; k < packed; k++)
                sum = fmaf(a[index_in_a(row, k, width)], b[index_in_b(position[row][k], column, width)], sum);
            sums[lane][i] = sum;
        }
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        for (int i = 0; i < 4; i++)
            write_sum(warp, fragments.d, (ptx_type_t)shape.d_type, lane, i, sums[lane][i]);
}

EXECUTOR(mma_sparse_integer)
{
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    int packed = shape.k / 2;
    sparse_fragments_t fragments = find_fragments(instruction, &shape, packed);
    int per_word = 32 / rungi_ptx_type_bits((ptx_type_t)shape.a_type), width = 4 * per_word;
    int32_t a[ROWS * PACKED_MAX], b[DEPTH_MAX * COLUMNS];
    uint8_t position[ROWS][PACKED_MAX];
    (void)mask;
    for (int i = 0; i < fragments.a_count; i++)
        unpack_integers(rungi_ptx_lanes(warp, fragments.a[i]), PTX_WARP_LANES, (ptx_type_t)shape.a_type,
                        a + (size_t)(i * PTX_WARP_LANES * per_word));
    for (int i = 0; i < fragments.b_count; i++)
        unpack_integers(rungi_ptx_lanes(warp, fragments.b[i]), PTX_WARP_LANES, (ptx_type_t)shape.b_type,
                        b + (size_t)(i * PTX_WARP_LANES * per_word));
    find_positions(warp, instruction, &shape, position);
    for (int i = 0; i < 4; i++) {
        uint32_t *d = rungi_ptx_lanes(warp, fragments.d[i]);
        const int32_t *c = rungi_ptx_lanes(warp, fragments.c[i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
            int64_t sum = c[lane];
            for (int k = 0; k < packed; k++) {
                int32_t x = a[index_in_a(row, k, width)], y = b[index_in_b(position[row][k], column, width)];
                sum += (int64_t)x * y; /* numbers of at most 8 bits */
            }
            if (instruction->flags & PTX_FLAG_SAT)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            d[lane] = (uint32_t)sum;
        }
    }
}

/* ---- FP64 with a rounding mode ------------------------------------------------------------------------------------- */

/* Volatile accesses keep the arithmetic between the changes of the mode. */
EXECUTOR(mma_f64_rounded)
{
    static const int modes[] = {
        [PTX_ROUND_RZ] = FE_TOWARDZERO, [PTX_ROUND_RM] = FE_DOWNWARD, [PTX_ROUND_RP] = FE_UPWARD};
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    int groups = shape.m / 8, c_count = 2 * groups, a_count = groups * shape.k / 4;
    const ptx_operand_t *d = instruction->list, *a = d + c_count, *b = a + a_count, *c = b + shape.k / 4;
    double sums[4][PTX_WARP_LANES];
    (void)mask;
    fesetround(modes[instruction->rounding]);
    for (int i = 0; i < c_count; i++)
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            double sum = ((const volatile double *)rungi_ptx_lanes(warp, c[i]))[lane];
            int column = lane % 4 * 2 + i % 2; /* of B; lane 4 * column + t holds its rows t, t + 4, ... */
            for (int k = 0; k < shape.k; k++) {
                const volatile double *x = rungi_ptx_lanes(warp, a[i / 2 + groups * (k / 4)]);
                const volatile double *y = rungi_ptx_lanes(warp, b[k / 4]);
                sum = fma(x[lane / 4 * 4 + k % 4], y[4 * column + k % 4], sum);
            }
            *(volatile double *)&sums[i][lane] = sum;
        }
    fesetround(FE_TONEAREST);
    for (int i = 0; i < c_count; i++)
        memcpy(rungi_ptx_lanes(warp, d[i]), sums[i], sizeof sums[i]);
}

/* ---- Single bits --------------------------------------------------------------------------------------------------- */

/* `operation` is 0 for xor, 1 for and. */
EXECUTOR(mma_bits)
{
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    sparse_fragments_t fragments = find_fragments(instruction, &shape, shape.k);
    uint32_t a[ROWS][BIT_WORDS_MAX], b[BIT_WORDS_MAX][COLUMNS];
    int row_groups = shape.m / 8;
    (void)mask;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        for (int i = 0; i < fragments.a_count; i++)
            a[lane / 4 + 8 * (i % row_groups)][lane % 4 + 4 * (i / row_groups)] = ((const uint32_t *)rungi_ptx_lanes(
                warp, fragments.a[i]))[lane];
        for (int i = 0; i < fragments.b_count; i++)
            b[lane % 4 + 4 * i][lane / 4] = ((const uint32_t *)rungi_ptx_lanes(warp, fragments.b[i]))[lane];
    }
    for (int i = 0; i < fragments.c_count; i++) {
        uint32_t *d = rungi_ptx_lanes(warp, fragments.d[i]);
        const uint32_t *c = rungi_ptx_lanes(warp, fragments.c[i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
            uint32_t sum = c[lane];
            for (int word = 0; word < shape.k / 32; word++)
                sum += (uint32_t)__builtin_popcount(instruction->operation ? a[row][word] & b[word][column]
                                                                           : a[row][word] ^ b[word][column]);
            d[lane] = sum;
        }
    }
}

/* ---- m8n8k4 of halves ---------------------------------------------------------------------------------------------- */

/* Four multiplications of their own, each by the lanes 4 * q to 4 * q + 3 and 16 more. With `high` for the upper 16 lanes
 * and t = lane % 4, a lane holds row t + 4 * high of a row-major A and of C in .f16, or column t of a column-major A with
 * rows 4 * high to 4 * high + 3; B alike, with rows and columns exchanged. */
static int row_of_sum(int lane, int i, ptx_type_t type)
{
    int high = lane / 16 * 4;
    return high + (type == PTX_F16 ? lane % 4 : (lane & 1) + (i & 2));
}

static int column_of_sum(int lane, int i, ptx_type_t type)
{
    return type == PTX_F16 ? i : (i & 4) + (lane & 2) + (i & 1);
}

static void unpack_quads(const ptx_warp_t *warp, const ptx_operand_t *registers, bool is_along_k, float matrix[4][8][4])
{
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        for (int i = 0; i < 4; i++) {
            const uint32_t *words = rungi_ptx_lanes(warp, registers[i / 2]);
            float value = f16_to_f32((uint16_t)(words[lane] >> 16 * (i % 2)));
            int quad = lane % 16 / 4, high = lane / 16 * 4, t = lane % 4;
            if (is_along_k)
                matrix[quad][t + high][i] = value;
            else
                matrix[quad][i + high][t] = value;
        }
}

/* Bits 0 and 1 of `operation` are set if A and B are column-major. */
EXECUTOR(mma_m8n8k4)
{
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    ptx_type_t c_type = (ptx_type_t)shape.c_type, d_type = (ptx_type_t)shape.d_type;
    const ptx_operand_t *d = instruction->list, *a = d + (d_type == PTX_F16 ? 4 : 8), *c = a + 4;
    float rows[4][8][4], columns[4][8][4], sum[4][8][8];
    (void)mask;
    unpack_quads(warp, a, !(instruction->operation & 1), rows);
    unpack_quads(warp, a + 2, instruction->operation & 2, columns);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        for (int i = 0; i < 8; i++)
            sum[lane % 16 / 4][row_of_sum(lane, i, c_type)][column_of_sum(lane, i, c_type)] = read_sum(warp, c, c_type,
                                                                                                       lane, i);
    for (int quad = 0; quad < 4; quad++)
        for (int row = 0; row < 8; row++)
            for (int column = 0; column < 8; column++)
                for (int k = 0; k < 4; k++)
                    sum[quad][row][column] = fmaf(rows[quad][row][k], columns[quad][column][k], sum[quad][row][column]);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        for (int i = 0; i < 8; i++)
            write_sum(warp, d, d_type, lane, i,
                      sum[lane % 16 / 4][row_of_sum(lane, i, d_type)][column_of_sum(lane, i, d_type)]);
}

PTX_EXECUTORS(mma_forms) = {E(mma_sparse_float), E(mma_sparse_integer), E(mma_bits),
                            E(mma_f64_rounded),  E(mma_m8n8k4),         {NULL, NULL}};
