/* SPDX-License-Identifier: Apache-2.0 */
/* execute_wgmma.c - wgmma.mma_async. The four warps of a warpgroup compute 16 rows of D each, when the instruction is issued;
 * shared memory counts as being read until the group is waited for.
 *
 * The fragments of D and of A in registers are those of mma.sync with 16 rows. A and B in shared memory consist of chunks of
 * 16 bytes; descriptors say where they are. Sums are fused multiply-adds in single precision, from D on, in the order of k. */
#include <math.h>

#include "emulator/checks/checks.h"
#include "emulator/execute/execute.h"
#include "emulator/execute/float_bits.h"
#include "emulator/machine/bulk.h"
#include "emulator/ptx/hopper_operations.h"

enum { ROWS = 16, N_MAX = 256, K_MAX = 32, CHUNK = 16, CHUNKS = 2 }; /* k is 32 bytes in every type */

/* ---- Matrices in shared memory ------------------------------------------------------------------------------------- */

typedef struct descriptor {
    uint64_t start, leading, stride; /* bytes */
    uint64_t base;                   /* offset of the swizzle's pattern, in bytes */
    ptx_tensor_swizzle_t swizzle;
} descriptor_t;

static descriptor_t read_descriptor(uint64_t bits)
{
    static const ptx_tensor_swizzle_t modes[] = {PTX_SWIZZLE_NONE, PTX_SWIZZLE_128B, PTX_SWIZZLE_64B, PTX_SWIZZLE_32B};
    return (descriptor_t){.start = (bits & 0x3fff) << 4,
                          .leading = (bits >> 16 & 0x3fff) << 4,
                          .stride = (bits >> 32 & 0x3fff) << 4,
                          .base = (bits >> 49 & 7) << 7,
                          .swizzle = modes[bits >> 62]};
}

static uint64_t swizzled(const descriptor_t *matrix, uint64_t offset)
{
    return rungi_ptx_swizzle(offset - matrix->base, matrix->swizzle) + matrix->base;
}

/* Returns where chunk `chunk` of a row is, of a matrix whose rows are stored along k. */
static uint64_t row_chunk(const descriptor_t *matrix, uint64_t row, uint64_t chunk)
{
    uint64_t pitch = (uint64_t)CHUNK << matrix->swizzle; /* of rows: 16, 32, 64 or 128 bytes */
    uint64_t step = matrix->swizzle == PTX_SWIZZLE_NONE ? matrix->leading : CHUNK;
    return swizzled(matrix, matrix->start + row % 8 * pitch + row / 8 * matrix->stride + chunk * step);
}

/* Returns where the chunk of 8 rows from 8 * group on is for one k, of a matrix of halves that is stored along its rows. */
static uint64_t column_chunk(const descriptor_t *matrix, uint64_t group, uint64_t k)
{
    uint64_t width = UINT64_C(1) << matrix->swizzle; /* chunks of one pattern: 1, 2, 4 or 8 */
    bool is_plain = matrix->swizzle == PTX_SWIZZLE_NONE;
    uint64_t groups = group / width * (is_plain ? matrix->stride : matrix->leading);
    return swizzled(matrix, matrix->start + group % width * CHUNK + groups + k % 8 * width * CHUNK +
                                k / 8 * (is_plain ? matrix->leading : matrix->stride));
}

/* Checks the read of a chunk, which lasts until the group is waited for. */
static void observe(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint64_t offset)
{
    ptx_async_read_t read = {
        .is_matrix = true, .from = (uint32_t)offset, .bytes = CHUNK, .group = warp->matrix_group, .pc = warp->pc};
    rungi_ptx_bulk_access(warp, instruction, 0, PTX_SPACE_SHARED, offset, CHUNK, PTX_READ);
    rungi_ptx_check_proxy_read(warp, 0, read.from, CHUNK);
    rungi_ptx_async_read_add(warp, &read);
}

/* Returns a chunk of shared memory. A chunk outside of it is reported and reads as zeros. */
static const unsigned char *find_chunk(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint64_t offset)
{
    static const unsigned char zeros[CHUNK] = {0};
    if (offset + CHUNK > (uint64_t)warp->block->shared_bytes) {
        rungi_ptx_report(warp, RUNG_EMULATOR_OUT_OF_BOUNDS, 0, offset, CHUNK,
                         "wgmma reads 16 bytes at byte offset %llu of shared memory, which has %lld bytes",
                         (unsigned long long)offset, (long long)warp->block->shared_bytes);
        return zeros;
    }
    if (warp->is_checked)
        observe(warp, instruction, offset);
    return warp->block->shared + offset;
}

/* ---- Elements ------------------------------------------------------------------------------------------------------ */

/* Converts `bytes` bytes of elements. Returns their number. */
static int widen(float *to, const unsigned char *from, int bytes, ptx_type_t type)
{
    int count = bytes * 8 / rungi_ptx_type_bits(type);
    for (int i = 0; i < count; i++) {
        uint16_t half;
        uint32_t word;
        switch (type) {
        case PTX_F16: memcpy(&half, from + 2 * (size_t)i, 2), to[i] = f16_to_f32(half); break;
        case PTX_BF16: memcpy(&half, from + 2 * (size_t)i, 2), to[i] = bf16_to_f32(half); break;
        case PTX_TF32: memcpy(&word, from + 4 * (size_t)i, 4), to[i] = f32_of_bits(word & ~0x1fffu); break;
        case PTX_E4M3: to[i] = e4m3_to_f32(from[i]); break;
        case PTX_E5M2: to[i] = e5m2_to_f32(from[i]); break;
        case PTX_S8: to[i] = (float)(int8_t)from[i]; break;
        default: to[i] = (float)from[i]; break;
        }
    }
    return count;
}

/* A matrix of `rows` rows of k elements; element (row, k) is at row * row_step + k * k_step of `to`. */
typedef struct matrix {
    float *to;
    int rows, row_step, k_step;
    ptx_type_t type;
    bool is_transposed, is_negated;
} matrix_t;

static void load_matrix(ptx_warp_t *warp, const ptx_instruction_t *instruction, const descriptor_t *descriptor,
                        int first_row, const matrix_t *matrix)
{
    float chunk[CHUNK], sign = matrix->is_negated ? -1.0f : 1.0f;
    int per_chunk = CHUNK * 8 / rungi_ptx_type_bits(matrix->type);
    if (matrix->is_transposed) {
        for (int row = 0; row < matrix->rows; row += 8)
            for (int k = 0; k < 2 * per_chunk; k++) {
                uint64_t offset = column_chunk(descriptor, ((uint64_t)first_row + (uint64_t)row) / 8, (uint64_t)k);
                widen(chunk, find_chunk(warp, instruction, offset), CHUNK, matrix->type);
                for (int e = 0; e < 8; e++)
                    matrix->to[(row + e) * matrix->row_step + k * matrix->k_step] = sign * chunk[e];
            }
        return;
    }
    for (int row = 0; row < matrix->rows; row++)
        for (int c = 0; c < CHUNKS; c++) {
            uint64_t offset = row_chunk(descriptor, (uint64_t)first_row + (uint64_t)row, (uint64_t)c);
            widen(chunk, find_chunk(warp, instruction, offset), CHUNK, matrix->type);
            for (int e = 0; e < per_chunk; e++)
                matrix->to[row * matrix->row_step + (c * per_chunk + e) * matrix->k_step] = sign * chunk[e];
        }
}

/* Loads A from registers: register i holds rows lane / 4 + 8 * (i % 2). */
static void unpack_a(ptx_warp_t *warp, const ptx_operand_t *registers, const matrix_t *matrix)
{
    float sign = matrix->is_negated ? -1.0f : 1.0f;
    int per_word = 32 / rungi_ptx_type_bits(matrix->type);
    for (int i = 0; i < 4; i++) {
        const unsigned char *words = rungi_ptx_lanes(warp, registers[i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            float element[4];
            int row = lane / 4 + 8 * (i % 2), k = lane % 4 * per_word + 4 * per_word * (i / 2);
            widen(element, words + 4 * (size_t)lane, 4, matrix->type);
            for (int e = 0; e < per_word; e++)
                matrix->to[row * matrix->row_step + (k + e) * matrix->k_step] = sign * element[e];
        }
    }
}

/* Loads the warp's 16 rows of A, and B. Returns the number of registers of D. */
static void load_operands(ptx_warp_t *warp, const ptx_instruction_t *instruction, float a[ROWS][K_MAX],
                          float b[K_MAX][N_MAX])
{
    int registers = (int)instruction->offset * rungi_ptx_type_bits((ptx_type_t)instruction->type) / 64;
    bool has_registers = instruction->operation & PTX_WGMMA_REGISTERS;
    const ptx_operand_t *list = instruction->list + registers;
    const matrix_t left = {.to = a[0],
                           .rows = ROWS,
                           .row_step = K_MAX,
                           .k_step = 1,
                           .type = (ptx_type_t)instruction->source_type,
                           .is_transposed = instruction->operation & PTX_WGMMA_TRANSPOSE_A,
                           .is_negated = instruction->operation & PTX_WGMMA_NEGATE_A};
    const matrix_t right = {.to = b[0],
                            .rows = (int)instruction->offset,
                            .row_step = 1,
                            .k_step = N_MAX,
                            .type = (ptx_type_t)instruction->combine,
                            .is_transposed = instruction->operation & PTX_WGMMA_TRANSPOSE_B,
                            .is_negated = instruction->operation & PTX_WGMMA_NEGATE_B};
    const uint64_t *b_bits = rungi_ptx_lanes(warp, list[has_registers ? 4 : 1]);
    descriptor_t b_descriptor = read_descriptor(b_bits[0]);
    if (has_registers) {
        unpack_a(warp, list, &left);
    } else {
        const uint64_t *a_bits = rungi_ptx_lanes(warp, list[0]);
        descriptor_t a_descriptor = read_descriptor(a_bits[0]);
        load_matrix(warp, instruction, &a_descriptor, ROWS * (warp->index % 4), &left);
    }
    load_matrix(warp, instruction, &b_descriptor, 0, &right);
}

static bool adds_to_d(const ptx_warp_t *warp, const ptx_instruction_t *instruction)
{
    uint32_t predicate = rungi_ptx_predicate(warp, instruction->operand[0]);
    return (predicate ^ (instruction->flags & PTX_FLAG_NEGATE_A ? ~0u : 0u)) & 1;
}

/* ---- Products ------------------------------------------------------------------------------------------------------ */

static int depth_of(const ptx_instruction_t *instruction)
{
    return 2 * CHUNK * 8 / rungi_ptx_type_bits((ptx_type_t)instruction->source_type);
}

/* Row and column of element i of the fragment of D. */
static inline int d_row(int lane, int i)
{
    return lane / 4 + 8 * (i / 2 % 2);
}

static inline int d_column(int lane, int i)
{
    return 8 * (i / 4) + lane % 4 * 2 + i % 2;
}

static void read_d(const ptx_warp_t *warp, const ptx_instruction_t *instruction, float sum[ROWS][N_MAX])
{
    bool is_half = instruction->type == PTX_F16;
    for (int i = 0; i < instruction->offset / 2; i++) {
        const unsigned char *words = rungi_ptx_lanes(warp, instruction->list[is_half ? i / 2 : i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            int first_byte = 4 * lane + 2 * (i % 2);
            uint16_t half;
            memcpy(&half, words + first_byte, 2);
            sum[d_row(lane, i)][d_column(lane, i)] = is_half ? f16_to_f32(half)
                                                             : ((const float *)(const void *)words)[lane];
        }
    }
}

static void write_d(const ptx_warp_t *warp, const ptx_instruction_t *instruction, float sum[ROWS][N_MAX])
{
    bool is_half = instruction->type == PTX_F16;
    for (int i = 0; i < instruction->offset / 2; i++) {
        unsigned char *words = rungi_ptx_lanes(warp, instruction->list[is_half ? i / 2 : i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            int first_byte = 4 * lane + 2 * (i % 2);
            float value = sum[d_row(lane, i)][d_column(lane, i)];
            uint16_t half = f32_to_f16(value);
            if (is_half)
                memcpy(words + first_byte, &half, 2);
            else
                ((float *)(void *)words)[lane] = canonical_f32(value);
        }
    }
}

EXECUTOR(wgmma_float)
{
    float a[ROWS][K_MAX], b[K_MAX][N_MAX], sum[ROWS][N_MAX];
    int n = (int)instruction->offset, depth = depth_of(instruction);
    (void)mask;
    load_operands(warp, instruction, a, b);
    memset(sum, 0, sizeof sum);
    if (adds_to_d(warp, instruction))
        read_d(warp, instruction, sum);
    for (int row = 0; row < ROWS; row++)
        for (int k = 0; k < depth; k++) {
            float factor = a[row][k], *restrict to = sum[row];
            const float *restrict from = b[k];
            for (int column = 0; column < n; column++)
                to[column] = fmaf(factor, from[column], to[column]);
        }
    write_d(warp, instruction, sum);
}

/* Products of 8-bit integers and sums of 32 of them are exact in single precision. */
EXECUTOR(wgmma_integer)
{
    float a[ROWS][K_MAX], b[K_MAX][N_MAX], sum[ROWS][N_MAX];
    int n = (int)instruction->offset;
    bool adds = adds_to_d(warp, instruction), saturates = instruction->flags & PTX_FLAG_SAT;
    (void)mask;
    load_operands(warp, instruction, a, b);
    memset(sum, 0, sizeof sum);
    for (int row = 0; row < ROWS; row++)
        for (int k = 0; k < K_MAX; k++)
            for (int column = 0; column < n; column++)
                sum[row][column] += a[row][k] * b[k][column];
    for (int i = 0; i < n / 2; i++) {
        int32_t *d = rungi_ptx_lanes(warp, instruction->list[i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            int64_t total = (int64_t)sum[d_row(lane, i)][d_column(lane, i)] + (adds ? d[lane] : 0);
            if (saturates)
                total = total > INT32_MAX ? INT32_MAX : total < INT32_MIN ? INT32_MIN : total;
            d[lane] = (int32_t)(uint32_t)(uint64_t)total;
        }
    }
}

EXECUTOR(wgmma_commit)
{
    (void)instruction;
    (void)mask;
    warp->matrix_group++;
}

/* The groups are those of the warpgroup: a warp waits until all of its four warps have issued them, and then all of their
 * reads have ended. CUTLASS releases a stage with one thread of the warpgroup. */
EXECUTOR(wgmma_wait)
{
    ptx_block_t *block = warp->block;
    int first = warp->index & ~3, end = first + 4 < block->warp_count ? first + 4 : block->warp_count;
    int64_t limit[PTX_WARP_LANES];
    (void)mask;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        limit[lane] = (int64_t)warp->matrix_group - instruction->offset;
    for (int i = first; i < end; i++)
        if (block->warps[i].live && (int64_t)block->warps[i].matrix_group < limit[0]) {
            warp->must_wait = true;
            return;
        }
    for (int i = first; warp->is_checked && i < end; i++) {
        rungi_ptx_async_reads_end(&block->warps[i], ~0u, true, limit);
        rungi_ptx_check_warpgroup(warp, i);
    }
}

PTX_EXECUTORS(wgmma) = {E(wgmma_float), E(wgmma_integer), E(wgmma_commit), E(wgmma_wait), {NULL, NULL}};
