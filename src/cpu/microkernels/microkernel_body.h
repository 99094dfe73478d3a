/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel_body.h - the micro-kernel, written once for all instruction sets and types.
 *
 * microkernel_instances.h includes this header once per accumulator type and documents the macros.
 *
 * One step of k loads two vectors of B and broadcasts one element of A per row: with 14 rows, 28 multiply-adds for 16 loads.
 * Adjacent tiles are one call, so that the processor starts the next tile while it stores the sums of the previous one. */

/* Rows are separate variables, because not every compiler keeps an array in registers. Four rows of A share one pointer: the
 * addressing modes add up to three strides. */
/* clang-format off */
#define ALL_ROWS(X)                                                                                \
    X(0, a0, 0) X(1, a0, row) X(2, a0, 2 * row) X(3, a0, row3) X(4, a4, 0) X(5, a4, row)           \
    X(6, a4, 2 * row) X(7, a4, row3) X(8, a8, 0) X(9, a8, row) X(10, a8, 2 * row) X(11, a8, row3)  \
    X(12, a12, 0) X(13, a12, row)
/* clang-format on */

#define INIT_ROW(i, pointer, offset) VECTOR left##i = {0}, right##i = {0};
#define PREFETCH_C_ROW(i, pointer, offset)             \
    if (i < rows) {                                    \
        __builtin_prefetch(at, 1);                     \
        if (vectors > 1)                               \
            __builtin_prefetch(at + 2 * LANES - 1, 1); \
        at += c_row_stride;                            \
    }
#define MULTIPLY_ROW(i, pointer, offset)               \
    if (i < rows) {                                    \
        VECTOR element = SPLAT(pointer[(offset) + u]); \
        ACCUMULATE(left##i, element, b_left);          \
        if (vectors > 1)                               \
            ACCUMULATE(right##i, element, b_right);    \
    }
#define K_STEP(number)                                                                                         \
    {                                                                                                          \
        enum { u = number };                                                                                   \
        VECTOR b_left = b_mode == RUNGI_B_PACKED || vectors > 1                                                \
                            ? LOAD(b + u * b_row_stride)                                                       \
                            : (VECTOR)LOAD_MASKED(b + u * b_row_stride, last_mask);                            \
        VECTOR b_right = {0};                                                                                  \
        if (vectors > 1)                                                                                       \
            b_right = b_mode == RUNGI_B_PACKED ? LOAD(b + u * b_row_stride + LANES)                            \
                                               : (VECTOR)LOAD_MASKED(b + u * b_row_stride + LANES, last_mask); \
        if (b_mode == RUNGI_B_PACK_ON_THE_FLY) {                                                               \
            STORE(pack_to + u * 2 * LANES, b_left);                                                            \
            if (vectors > 1)                                                                                   \
                STORE(pack_to + u * 2 * LANES + LANES, b_right);                                               \
        }                                                                                                      \
        __builtin_prefetch(b_prefetch + u * b_row_stride);                                                     \
        if (vectors > 1 && !is_one_line)                                                                       \
            __builtin_prefetch(b_prefetch + u * b_row_stride + LANES);                                         \
        ALL_ROWS(MULTIPLY_ROW)                                                                                 \
    }
/* The last vector of a row may be partial. */
#define STORE_VECTOR(value, address, is_last)        \
    {                                                \
        if (is_last)                                 \
            STORE_MASKED(address, last_mask, value); \
        else                                         \
            STORE(address, value);                   \
    }
#define LOAD_VECTOR(address, is_last) (is_last ? (VECTOR)LOAD_MASKED(address, last_mask) : LOAD(address))
#define STREAM_ROW(i, pointer, offset)         \
    if (i < rows) {                            \
        STORE_STREAMING(at, left##i);          \
        STORE_STREAMING(at + LANES, right##i); \
        at += c_row_stride;                    \
    }
#define STORE_ROW(i, pointer, offset)             \
    if (i < rows) {                               \
        STORE_VECTOR(left##i, at, vectors == 1)   \
        if (vectors > 1)                          \
            STORE_VECTOR(right##i, at + LANES, 1) \
        at += c_row_stride;                       \
    }
#define SCALE_ROW(i, pointer, offset) \
    left##i *= alpha;                 \
    right##i *= alpha;
#define ADD_C_ROW(i, pointer, offset)                                                            \
    if (i < rows) {                                                                              \
        STORE_VECTOR(PLUS_TIMES(beta, LOAD_VECTOR(at, vectors == 1), left##i), at, vectors == 1) \
        if (vectors > 1)                                                                         \
            STORE_VECTOR(PLUS_TIMES(beta, LOAD_VECTOR(at + LANES, 1), right##i), at + LANES, 1)  \
        at += c_row_stride;                                                                      \
    }

/* Computes one panel: adjacent tiles. B begins at first_b; the offsets are added to the other addresses. */
INLINE void PANEL_FUNCTION(const int rows, const int vectors, const rungi_microkernel_b_mode b_mode,
                           const int streaming, const rungi_microkernel_args *args, const ACC *first_b,
                           int64_t a_offset, int64_t c_offset, int64_t prefetch_offset)
{
    const int64_t row = args->a_row_stride, row3 = 3 * row, c_row_stride = args->c_row_stride;
    const int64_t b_row_stride = b_mode == RUNGI_B_PACKED ? 2 * LANES : args->b_row_stride;
    const int is_one_line = b_mode == RUNGI_B_PACKED && 2 * VECTOR_BYTES <= 64; /* a step of B is one cache line */
    const MASK last_mask = MASK_OF(args->cols - (vectors - 1) * LANES);
    const ACC *next = (const ACC *)args->a_prefetch + prefetch_offset;
    ACC *c = (ACC *)args->c + c_offset, *pack_to = args->pack_to;
    for (int64_t tile = args->tiles; tile > 0; tile--) {
        const ACC *a0 = (const ACC *)args->a + a_offset, *a4 = a0 + 4 * row, *a8 = a0 + 8 * row, *a12 = a0 + 12 * row;
        const ACC *b = first_b, *b_prefetch = b + args->b_prefetch_steps * b_row_stride + args->b_prefetch_offset;
        const ACC *next_a = next;
        ACC *at = c;
        if (args->prefetches_c) {
            ALL_ROWS(PREFETCH_C_ROW)
        }
        ALL_ROWS(INIT_ROW)
        int64_t k = args->k;
        for (; k >= 4; k -= 4) {
            K_STEP(0)
            K_STEP(1)
            K_STEP(2)
            K_STEP(3)
            __builtin_prefetch(next_a, 0, 2);
            a0 += 4, a4 += 4, a8 += 4, a12 += 4, next_a += 4;
            b += 4 * b_row_stride, b_prefetch += 4 * b_row_stride, pack_to += 4 * 2 * LANES;
        }
        for (; k > 0; k--) {
            K_STEP(0)
            a0++, a4++, a8++, a12++;
            b += b_row_stride, b_prefetch += b_row_stride, pack_to += 2 * LANES;
        }
        at = c;
        HIDE_POINTER(at);
        if (args->alpha != 1) {
            const ACC alpha = SCALAR(args->alpha);
            ALL_ROWS(SCALE_ROW)
        }
        if (streaming) {
            ALL_ROWS(STREAM_ROW)
        } else if (args->beta == 0) {
            ALL_ROWS(STORE_ROW)
        } else {
            const VECTOR beta = SPLAT(SCALAR(args->beta));
            ALL_ROWS(ADD_C_ROW)
        }
        c += vectors * LANES;
        first_b = b_mode == RUNGI_B_PACKED ? b : first_b + vectors * LANES;
        next += args->a_prefetch_row_stride;
    }
}

/* Computes several panels. If B is packed on the fly, the first panel packs it. */
INLINE void BODY_FUNCTION(const int rows, const int vectors, const rungi_microkernel_b_mode b_mode, const int streaming,
                          const rungi_microkernel_args *args)
{
    const rungi_microkernel_b_mode later_mode = b_mode == RUNGI_B_PACK_ON_THE_FLY ? RUNGI_B_PACKED : b_mode;
    const ACC *b = args->b;
    int64_t a = 0, c = 0, next = 0, panel = args->panels;
    if (b_mode == RUNGI_B_PACK_ON_THE_FLY) {
        PANEL_FUNCTION(rows, vectors, RUNGI_B_PACK_ON_THE_FLY, 0, args, b, a, c, next);
        b = args->pack_to;
        a += rows * args->a_row_stride, c += rows * args->c_row_stride, next += rows * args->a_prefetch_row_stride;
        panel--;
    }
    for (; panel > 0; panel--) {
        PANEL_FUNCTION(rows, vectors, later_mode, streaming, args, b, a, c, next);
        a += rows * args->a_row_stride, c += rows * args->c_row_stride, next += rows * args->a_prefetch_row_stride;
    }
}
