/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_output.h - stores the sums of a warp's matrix instructions to C, for 12_matrix and 13_wgmma.
 *
 *   can_store_vectors(...)    1 if C can be stored by 16-byte vectors
 *   store_sums_shared(...)    stores a lane's sums of 16 rows to shared memory, row by row
 *   epilogue_store_rows(...)  stores those 16 rows to C, as 16-byte vectors, after the epilogue
 *
 * The four sums of a lane lie in two rows of C (see mma.h). They pass through shared memory, so that
 * adjacent lanes store adjacent elements. The kernel defines WN, the columns of a warp's tile, SUMS_LD,
 * the distance between rows of sums, SUM_BYTES, and how the fragments reorder rows and columns: A_ROWS_PAIRED,
 * B_COLS_PAIRED, A_ROWS_GROUPED and B_COLS_GROUPED (see swizzle.h).
 */
#ifndef RUNG_MATRIX_OUTPUT_H
#define RUNG_MATRIX_OUTPUT_H

/* Vectors of sums. */
#if defined(INTEGER_TYPE)
typedef uint2 sum2_t;
typedef uint4 sum4_t;
#elif defined(IN_F64)
typedef double2 sum2_t;
typedef double4 sum4_t;
#else
typedef float2 sum2_t;
typedef float4 sum4_t;
#endif

/* Store two or four sums, or four words, at an aligned address. */
#ifdef __OPENCL_C_VERSION__
/* Single stores: Oclgrind reports vectors that are assembled from elements as uninitialized. */
#define put_two(to, x, y) ((to)[0] = (x), (to)[1] = (y))
#define put_four(to, x, y, z, w) ((to)[0] = (x), (to)[1] = (y), (to)[2] = (z), (to)[3] = (w))
#define put_four_sums put_four
#else
#define put_two(to, x, y) (*(sum2_t *)(to) = sum2_t{x, y})
#define put_four(to, x, y, z, w) (*(uint4 *)(to) = make_uint4(x, y, z, w))
#define put_four_sums(to, x, y, z, w) (*(sum4_t *)(to) = sum4_t{x, y, z, w})
#endif

/* Elements of C in 16 bytes. */
#define OUT_VECTOR (16 / OUT_BYTES)

/* 8 x 8 tiles whose sums are stored together. */
#define SUMS_TILES (B_COLS_GROUPED ? 4 : 2)

/* Stores four adjacent sums. Those of eight bytes need two stores, in an order without bank conflicts. */
DEVICE void store_four_sums(SHARED sum_t *to, sum_t x, sum_t y, sum_t z, sum_t w, uint lane)
{
#if SUM_BYTES == 8
    const uint first = sums_store_first(lane);
    put_two(to + first, first == 0 ? x : z, first == 0 ? y : w);
    put_two(to + (2 - first), first == 0 ? z : x, first == 0 ? w : y);
#else
    put_four_sums(to, x, y, z, w);
#endif
}

/* Stores a lane's sums of 16 rows and SUMS_TILES tiles to shared memory, row by row. */
DEVICE void store_sums_shared(SHARED sum_t *sums, const sum_t *sum, uint lane, uint j)
{
#pragma unroll
    for (uint row_half = 0; row_half < 2; row_half++) {
#if B_COLS_GROUPED
#pragma unroll
        for (uint col_half = 0; col_half < 2; col_half++) {
            const sum_t *first = &sum[2 * row_half + col_half];
            SHARED uint *to = (SHARED uint *)&sums[group_sums_store_offset(lane, row_half, j, col_half, SUMS_LD)];
            put_four(to, float_bits(first[0]), float_bits(first[4]), float_bits(first[8]), float_bits(first[12]));
        }
#else
        const sum_t *low = &sum[2 * row_half], *high = low + 4;
        SHARED sum_t *to = &sums[sums_store_offset(lane, row_half, j, SUMS_LD, A_ROWS_PAIRED, B_COLS_PAIRED)];
#if B_COLS_PAIRED
        store_four_sums(to, low[0], high[0], low[1], high[1], lane);
#else
        put_two(to, low[0], low[1]);
        put_two(to + 8, high[0], high[1]);
#endif
#endif
    }
}

DEVICE void load2_sums(sum_t *sum, SHARED const sum_t *from)
{
    const sum2_t two = *(SHARED const sum2_t *)from;
    sum[0] = two.x;
    sum[1] = two.y;
}

DEVICE void load4_sums(sum_t *sum, SHARED const sum_t *from)
{
    const sum4_t four = *(SHARED const sum4_t *)from;
    sum[0] = four.x;
    sum[1] = four.y;
    sum[2] = four.z;
    sum[3] = four.w;
}

/* Loads two or four sums, or eight in an order without bank conflicts. With GROUP_SUMS_PAD, adjacent rows
 * are shifted by half of eight banks; the caller adds that to the lane. */
DEVICE void load_sum_vector(sum_t *vector, SHARED const sum_t *from, uint lane)
{
#if OUT_VECTOR == 2
    load2_sums(vector, from);
#elif OUT_VECTOR == 4
    load4_sums(vector, from);
#else
    const uint first = sums_load_first(lane, OUT_VECTOR);
    sum_t read_first[4], read_second[4];
    load4_sums(read_first, from + first);
    load4_sums(read_second, from + (4 - first));
#pragma unroll
    for (uint i = 0; i < 4; i++) {
        vector[i] = first == 0 ? read_first[i] : read_second[i];
        vector[4 + i] = first == 0 ? read_second[i] : read_first[i];
    }
#endif
}

/* Returns 1 if every 16-byte vector of a row of C is 16-byte aligned. */
DEVICE int can_store_vectors(const output_t *output)
{
    const index_t first = at(output->view, 0, 0);
    return !IS_SPLIT(output->launch_args) && output->view.col_stride == 1 &&
           output->view.row_stride % OUT_VECTOR == 0 && ((size_t)output->c / OUT_BYTES + first) % OUT_VECTOR == 0;
}

/* Return element i of 16 bytes of C, and their i-th word: one element, two 16-bit ones, or half of one. */
DEVICE out_t output_element(const uint *words, uint i)
{
#if OUT_BYTES == 8
    return words_double(words[2 * i], words[2 * i + 1]);
#elif OUT_BYTES == 2
    return (out_t)(words[i / 2] >> 16 * (i % 2));
#elif defined(OUT_I32)
    return (out_t)words[i];
#else
    return bits_float(words[i]);
#endif
}

DEVICE uint output_word(const out_t *values, uint i)
{
#if OUT_BYTES == 8
    return double_word(values[i / 2], i % 2);
#elif OUT_BYTES == 2
    return values[2 * i] | (uint)values[2 * i + 1] << 16;
#elif defined(OUT_I32)
    return (uint)values[i];
#else
    return float_bits(values[i]);
#endif
}

/* Applies the epilogue to a 16-byte vector that is inside C, and stores it. */
DEVICE void epilogue_store_vector(const output_t *output, index_t row, index_t col, const sum_t *sum)
{
    GLOBAL uint *c = (GLOBAL uint *)&output->c[at(output->view, row, col)];
    sum_t scaled[OUT_VECTOR];
    out_t values[OUT_VECTOR];
#pragma unroll
    for (uint i = 0; i < OUT_VECTOR; i++)
        scaled[i] = output->alpha * sum[i];
    if (output->beta != (sum_t)0) {
        const uint4 words = *(GLOBAL const uint4 *)c;
        const uint old[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
        for (uint i = 0; i < OUT_VECTOR; i++)
            scaled[i] += output->beta * widen_out(output_element(old, i));
    }
#pragma unroll
    for (uint i = 0; i < OUT_VECTOR; i++)
        values[i] = epilogue_apply(output, row, col + i, scaled[i]);
    put_four(c, output_word(values, 0), output_word(values, 1), output_word(values, 2), output_word(values, 3));
}

DEVICE void epilogue_store_guarded(const output_t *output, index_t row, index_t col, const sum_t *sum, int is_aligned)
{
    if (is_aligned && (!GUARDED || (row < output->m && col + OUT_VECTOR <= output->n))) {
        epilogue_store_vector(output, row, col, sum);
        return;
    }
#pragma unroll
    for (uint i = 0; i < OUT_VECTOR; i++)
        if (!GUARDED || (row < output->m && col + i < output->n))
            epilogue_store(output, row, col + i, sum[i]);
}

/* Returns the row of the warp's tile whose sums are row `row` of the i-th 16 x WN sums. */
DEVICE uint tile_row_of(uint i, uint row)
{
    return A_ROWS_GROUPED ? i / 2 * 32 + row % 8 * 4 + i % 2 * 2 + row / 8 : i * 16 + row;
}

/* Stores the i-th 16 rows of a warp's sums from shared memory to C, as 16-byte vectors. The warp's
 * tile starts at (row, col). */
DEVICE void epilogue_store_rows(const output_t *output, SHARED const sum_t *sums, index_t row, index_t col, uint i,
                                uint lane, int is_aligned)
{
    const uint vectors = WN / OUT_VECTOR;
#pragma unroll 1
    for (uint j = lane; j < 16 * vectors; j += 32) {
        const uint sums_row = j / vectors, sums_col = j % vectors * OUT_VECTOR;
        sum_t vector[OUT_VECTOR];
        load_sum_vector(vector, &sums[sums_row * SUMS_LD + sums_col], lane + B_COLS_GROUPED * sums_row * 4);
        epilogue_store_guarded(output, row + tile_row_of(i, sums_row), col + sums_col, vector, is_aligned);
    }
}

#endif /* RUNG_MATRIX_OUTPUT_H */
