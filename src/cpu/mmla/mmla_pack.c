/* SPDX-License-Identifier: Apache-2.0 */
/* mmla_pack.c - packs rows of A and columns of B for the matrix instructions of AArch64. See mmla.h.
 *
 * Elements that are contiguous along k are copied 8 bytes at a time. Elements that are contiguous across k are transposed in
 * blocks of one group by four rows or columns. */
#include "cpu/mmla/mmla.h"

#include <arm_neon.h>
#include <string.h>

#include "base/checked_arithmetic.h"

enum { GROUP = RUNGI_MMLA_GROUP_BYTES, BLOCK = 4 };

/* Packs the groups of one row or column, element by element, from group `first` on. */
static void pack_elements(int64_t width, int64_t size, const rungi_mmla_operand *from, int64_t item, int64_t first,
                          int64_t groups, char *to)
{
    int64_t per_group = GROUP / size;
    for (int64_t g = first; g < groups; g++) {
        char *group = to + (g * width + item) * GROUP;
        int64_t count = item < from->outer ? rungi_min(per_group, from->k - g * per_group) : 0;
        memset(group, 0, GROUP);
        for (int64_t e = 0; e < count; e++)
            memcpy(group + e * size,
                   from->first + (item * from->outer_stride + (g * per_group + e) * from->k_stride) * size,
                   (size_t)size);
    }
}

/* Copies the whole groups of one row or column that is contiguous along k. Returns their number. */
static int64_t copy_groups(int64_t width, int64_t size, const rungi_mmla_operand *from, int64_t item, char *to)
{
    const char *source = from->first + item * from->outer_stride * size;
    int64_t groups = from->k * size / GROUP;
    for (int64_t g = 0; g < groups; g++)
        memcpy(to + (g * width + item) * GROUP, source + g * GROUP, GROUP);
    return groups;
}

/* Transposes 8 steps of k of four INT8 columns. */
static inline void transpose_i8(const char *from, int64_t row_bytes, char *to)
{
    static const uint8_t order[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    uint32_t rows[8];
    for (int i = 0; i < 8; i++)
        memcpy(&rows[i], from + i * row_bytes, sizeof *rows);
    uint8x16_t low = vqtbl1q_u8(vreinterpretq_u8_u32(vld1q_u32(rows)), vld1q_u8(order));
    uint8x16_t high = vqtbl1q_u8(vreinterpretq_u8_u32(vld1q_u32(rows + 4)), vld1q_u8(order));
    uint32x4_t x = vreinterpretq_u32_u8(low), y = vreinterpretq_u32_u8(high);
    vst1q_u32((uint32_t *)(void *)to, vzip1q_u32(x, y));
    vst1q_u32((uint32_t *)(void *)(to + 16), vzip2q_u32(x, y));
}

/* Transposes 4 steps of k of four BF16 columns. */
static inline void transpose_bf16(const char *from, int64_t row_bytes, char *to)
{
    static const uint8_t order[2][16] = {{0, 1, 8, 9, 16, 17, 24, 25, 2, 3, 10, 11, 18, 19, 26, 27},
                                         {4, 5, 12, 13, 20, 21, 28, 29, 6, 7, 14, 15, 22, 23, 30, 31}};
    uint8x8_t rows[4];
    for (int i = 0; i < 4; i++)
        rows[i] = vld1_u8((const uint8_t *)from + i * row_bytes);
    uint8x16x2_t all = {{vcombine_u8(rows[0], rows[1]), vcombine_u8(rows[2], rows[3])}};
    for (int i = 0; i < 2; i++)
        vst1q_u8((uint8_t *)to + 16 * i, vqtbl2q_u8(all, vld1q_u8(order[i])));
}

/* Transposes the whole groups of four rows or columns that are contiguous across k. Returns their number. */
static int64_t transpose_groups(int64_t width, int64_t size, const rungi_mmla_operand *from, int64_t item, char *to)
{
    int64_t row_bytes = from->k_stride * size, groups = from->k * size / GROUP;
    const char *source = from->first + item * size;
    to += item * GROUP;
    for (int64_t g = 0; g < groups; g++, source += GROUP / size * row_bytes, to += width * GROUP)
        if (size == 1)
            transpose_i8(source, row_bytes, to);
        else
            transpose_bf16(source, row_bytes, to);
    return groups;
}

void rungi_mmla_pack(int64_t width, int64_t element_bytes, const rungi_mmla_operand *from, char *to)
{
    int64_t size = element_bytes, groups = rungi_ceil_divide(from->k, GROUP / size);
    for (int64_t block = 0; block < width; block += BLOCK) {
        bool is_transposed = from->k_stride != 1 && from->outer_stride == 1 && block + BLOCK <= from->outer;
        int64_t transposed = is_transposed ? transpose_groups(width, size, from, block, to) : 0;
        for (int64_t item = block; item < block + BLOCK; item++) {
            bool is_copied = from->k_stride == 1 && item < from->outer;
            int64_t first = is_copied ? copy_groups(width, size, from, item, to) : transposed;
            pack_elements(width, size, from, item, first, groups, to);
        }
    }
}
