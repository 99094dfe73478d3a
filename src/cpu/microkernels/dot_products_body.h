/* SPDX-License-Identifier: Apache-2.0 */
/* dot_products_body.h - products of few rows of A with columns of B that are contiguous along k, as the weights of a network
 * are. Packing such a B would read and write it for a few multiply-adds per element.
 *
 * microkernel_instances.h includes this header once per accumulator type and documents the macros. */

/* Computes rows x cols dot products. Both numbers are constants where this is inlined, so that the sums are registers. */
INLINE void NAME(TYPE, dot, tile)(const int rows, const int cols, const rungi_dot_products_args *args, const ACC *a,
                                  const ACC *b, ACC *to)
{
    VECTOR sums[RUNGI_DOT_MAX_ROWS][RUNGI_DOT_MAX_COLUMNS];
    int64_t k = args->k, whole = k / LANES * LANES;
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (int j = 0; j < cols; j++)
            sums[i][j] = (VECTOR){0};
    for (int64_t p = 0; p < k; p += LANES) {
        VECTOR b_vectors[RUNGI_DOT_MAX_COLUMNS];
        const MASK mask = MASK_OF(p < whole ? LANES : k - whole);
#pragma GCC unroll 8
        for (int j = 0; j < cols; j++) {
            const ACC *from = b + j * args->b_col_stride + p;
            b_vectors[j] = p < whole ? LOAD(from) : (VECTOR)LOAD_MASKED(from, mask);
        }
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            const ACC *from = a + i * args->a_row_stride + p;
            VECTOR elements = p < whole ? LOAD(from) : (VECTOR)LOAD_MASKED(from, mask);
#pragma GCC unroll 8
            for (int j = 0; j < cols; j++)
                ACCUMULATE(sums[i][j], elements, b_vectors[j]);
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (int j = 0; j < cols; j++)
            to[i * args->sums_row_stride + j] = SUM_LANES(sums[i][j]);
}

/* Computes all columns for `rows` rows, `cols` columns at a time. */
INLINE void NAME(TYPE, dot, rows)(const int rows, const int cols, const rungi_dot_products_args *args, int64_t row)
{
    const ACC *a = (const ACC *)args->a + row * args->a_row_stride, *b = args->b;
    ACC *to = (ACC *)args->sums + row * args->sums_row_stride;
    int64_t j = 0;
    for (; j + cols <= args->cols; j += cols)
        NAME(TYPE, dot, tile)(rows, cols, args, a, b + j * args->b_col_stride, to + j);
    for (; j < args->cols; j++)
        NAME(TYPE, dot, tile)(rows, 1, args, a, b + j * args->b_col_stride, to + j);
}

static void NAME(TYPE, dot, products)(const rungi_dot_products_args *args)
{
    enum { ROWS = VECTOR_BYTES == 64 ? RUNGI_DOT_MAX_ROWS : 2 }; /* 4 x 4 sums need more than 16 registers */
    int64_t i = 0;
    for (; i + ROWS <= args->rows; i += ROWS)
        NAME(TYPE, dot, rows)(ROWS, 4, args, i);
    if (i + 2 <= args->rows) {
        NAME(TYPE, dot, rows)(2, 4, args, i);
        i += 2;
    }
    if (i < args->rows)
        NAME(TYPE, dot, rows)(1, RUNGI_DOT_MAX_COLUMNS, args, i);
}
