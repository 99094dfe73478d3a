/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel_body.h - the micro-kernel, written once for all instruction sets and types.
 *
 * microkernel_instances.h includes this header once per accumulator type and documents the macros.
 *
 * One step of k loads up to three vectors of B and broadcasts one element of A per row. With 9 rows of three vectors, 27
 * multiply-adds need 12 loads. Adjacent tiles are one call, so that the processor starts the next tile while it stores the sums
 * of the previous one. */

/* Rows are separate variables, because not every compiler keeps an array in registers. Four rows of A share one pointer: the
 * addressing modes add up to three strides. */
/* clang-format off */
#define ALL_ROWS(X)                                                                                \
    X(0, a0, 0) X(1, a0, row) X(2, a0, 2 * row) X(3, a0, row3) X(4, a4, 0) X(5, a4, row)           \
    X(6, a4, 2 * row) X(7, a4, row3) X(8, a8, 0) X(9, a8, row) X(10, a8, 2 * row) X(11, a8, row3)  \
    X(12, a12, 0) X(13, a12, row)
/* clang-format on */

#define INIT_ROW(i, pointer, offset) VECTOR first##i = {0}, second##i = {0}, third##i = {0};
/* Prefetches each cache line of a row of the tile, which may begin anywhere in a line, into L2: prefetches into L1 keep the loads
 * of B waiting. */
#define PREFETCH_C_ROW(i, pointer, offset)                      \
    if (i < rows) {                                             \
        __builtin_prefetch(at, 0, 2);                           \
        if (vectors > 1 && VECTOR_BYTES == 64)                  \
            __builtin_prefetch(at + LANES, 0, 2);               \
        if (vectors > 2 && VECTOR_BYTES == 64)                  \
            __builtin_prefetch(at + 2 * LANES, 0, 2);           \
        if (vectors > 1)                                        \
            __builtin_prefetch(at + vectors * LANES - 1, 0, 2); \
        at += c_row_stride;                                     \
    }
#define MULTIPLY_ROW(i, pointer, offset)                                                                         \
    if (i < rows) {                                                                                              \
        VECTOR element = BROADCAST(a_mode == RUNGI_A_PACKED ? &packed_a[u * rows + i] : &pointer[(offset) + u]); \
        if (a_mode == RUNGI_A_PACK_ON_THE_FLY)                                                                   \
            packed_a[u * rows + i] = element[0];                                                                 \
        ACCUMULATE(first##i, element, b_first);                                                                  \
        if (vectors > 1)                                                                                         \
            ACCUMULATE(second##i, element, b_second);                                                            \
        if (vectors > 2)                                                                                         \
            ACCUMULATE(third##i, element, b_third);                                                              \
    }
#define LOAD_SUMS_ROW(i, pointer, offset)                      \
    if (i < rows) {                                            \
        first##i = LOAD(sums + i * vectors * LANES);           \
        second##i = LOAD(sums + (i * vectors + 1) * LANES);    \
        if (vectors > 2)                                       \
            third##i = LOAD(sums + (i * vectors + 2) * LANES); \
    }
/* Columns behind the last one are not read, except from a packed B, which has them. */
#define LOAD_B(vector)                                  \
    (b_mode == RUNGI_B_PACKED || vectors > (vector) + 1 \
         ? LOAD(b + u * b_row_stride + (vector)*LANES)  \
         : (VECTOR)LOAD_MASKED(b + u * b_row_stride + (vector)*LANES, last_mask))
#define PACK_B(vector, value)              \
    if (b_mode == RUNGI_B_PACK_ON_THE_FLY) \
        STORE(pack_to + u * PACKED_WIDTH + (vector)*LANES, value);
/* Not with a packed A: its panels are multiplied by a B that is in L2. */
#define PREFETCH_B(vector)        \
    if (a_mode != RUNGI_A_PACKED) \
        __builtin_prefetch(b_prefetch + u * b_row_stride + (vector)*LANES);
#define K_STEP(number)                                             \
    {                                                              \
        enum { u = number };                                       \
        VECTOR b_first = LOAD_B(0), b_second = {0}, b_third = {0}; \
        if (vectors > 1)                                           \
            b_second = LOAD_B(1);                                  \
        if (vectors > 2)                                           \
            b_third = LOAD_B(2);                                   \
        PACK_B(0, b_first)                                         \
        PREFETCH_B(0)                                              \
        if (vectors > 1) {                                         \
            PACK_B(1, b_second)                                    \
            if (!is_one_line)                                      \
                PREFETCH_B(1)                                      \
        }                                                          \
        if (vectors > 2) {                                         \
            PACK_B(2, b_third)                                     \
            PREFETCH_B(2)                                          \
        }                                                          \
        ALL_ROWS(MULTIPLY_ROW)                                     \
    }
/* The last vector of a row may be partial. */
#define STORE_VECTOR(vector, value)                          \
    if (vectors == (vector) + 1) {                           \
        STORE_MASKED(at + (vector)*LANES, last_mask, value); \
    } else if (vectors > (vector)) {                         \
        STORE(at + (vector)*LANES, value);                   \
    }
#define LOAD_VECTOR(vector) \
    (vectors == (vector) + 1 ? (VECTOR)LOAD_MASKED(at + (vector)*LANES, last_mask) : LOAD(at + (vector)*LANES))
#define ADD_C_VECTOR(vector, value) \
    if (vectors > (vector))         \
        value = PLUS_TIMES(beta, LOAD_VECTOR(vector), value);
#define STREAM_ROW(i, pointer, offset)                 \
    if (i < rows) {                                    \
        STORE_STREAMING(at, first##i);                 \
        if (vectors > 1)                               \
            STORE_STREAMING(at + LANES, second##i);    \
        if (vectors > 2)                               \
            STORE_STREAMING(at + 2 * LANES, third##i); \
        at += c_row_stride;                            \
    }
#define STORE_ROW(i, pointer, offset) \
    if (i < rows) {                   \
        STORE_VECTOR(0, first##i)     \
        STORE_VECTOR(1, second##i)    \
        STORE_VECTOR(2, third##i)     \
        at += c_row_stride;           \
    }
#define SCALE_ROW(i, pointer, offset) \
    first##i *= alpha;                \
    second##i *= alpha;               \
    third##i *= alpha;
#define ADD_C_ROW(i, pointer, offset) \
    if (i < rows) {                   \
        ADD_C_VECTOR(0, first##i)     \
        ADD_C_VECTOR(1, second##i)    \
        ADD_C_VECTOR(2, third##i)     \
        STORE_VECTOR(0, first##i)     \
        STORE_VECTOR(1, second##i)    \
        STORE_VECTOR(2, third##i)     \
        at += c_row_stride;           \
    }

/* The next tile of a panel. */
typedef struct POSITION {
    const ACC *a, *b, *next_a;
    ACC *c, *packed_a, *pack_to;
} POSITION;

/* Computes adjacent tiles of a panel and advances to the next one. */
INLINE void TILES_FUNCTION(const int rows, const int vectors, const rungi_microkernel_a_mode a_mode,
                           const rungi_microkernel_b_mode b_mode, const int streaming,
                           const rungi_microkernel_args *args, int64_t tiles, POSITION *position)
{
    const int64_t row = args->a_row_stride, row3 = 3 * row, c_row_stride = args->c_row_stride;
    const int64_t b_row_stride = b_mode == RUNGI_B_PACKED ? PACKED_WIDTH : args->b_row_stride;
    const int is_one_line = b_mode == RUNGI_B_PACKED && 2 * VECTOR_BYTES <= 64; /* a step of B is one cache line */
    const bool is_large = b_mode == RUNGI_B_IN_PLACE ? rows >= 8 && vectors == RUNGI_IN_PLACE_VECTORS
                                                     : rows >= 7 && vectors == PACKED_VECTORS;
    const bool uses_loop = HAS_LOOP && is_large;
    const bool stores_sums = uses_loop && !streaming && args->alpha == 1 && args->beta == 0; /* the loop stores tiles */
    const MASK last_mask = MASK_OF(args->cols - (vectors - 1) * LANES);
    const ACC *first_b = position->b, *next = position->next_a;
    ACC *c = position->c, *pack_to = position->pack_to;
    for (int64_t tile = tiles; tile > 0; tile--) {
        const ACC *a0 = position->a, *a4 = a0 + 4 * row, *a8 = a0 + 8 * row, *a12 = a0 + 12 * row, *next_a = next;
        const ACC *b = first_b, *b_prefetch = b + args->b_prefetch_steps * b_row_stride + args->b_prefetch_offset;
        ACC *packed_a = position->packed_a, *at = c;
        if (args->prefetches_c) {
            ALL_ROWS(PREFETCH_C_ROW)
        }
        ALL_ROWS(INIT_ROW)
        if (uses_loop) {
            const rungi_microkernel_loop loop = {.a = a0,
                                                 .a4 = a4,
                                                 .a8 = a8,
                                                 .a12 = a12,
                                                 .row = row * (int64_t)sizeof(ACC),
                                                 .packed_a = packed_a,
                                                 .b = b,
                                                 .b_prefetch = b_prefetch,
                                                 .b_row = b_row_stride * (int64_t)sizeof(ACC),
                                                 .pack_to = pack_to,
                                                 .next_a = next_a,
                                                 .c = stores_sums ? c : NULL,
                                                 .c_row = c_row_stride * (int64_t)sizeof(ACC),
                                                 .last_columns = args->cols - (vectors - 1) * LANES};
            _Alignas(64) ACC sums[MAX_LOOP_VECTORS * LANES];
            RUN_LOOP(rows, a_mode, b_mode, loop, args->k, sums);
            if (!stores_sums) {
                ALL_ROWS(LOAD_SUMS_ROW)
            }
            b += args->k * b_row_stride;
            if (b_mode == RUNGI_B_PACK_ON_THE_FLY)
                pack_to += args->k * PACKED_WIDTH;
        }
        int64_t k = uses_loop ? 0 : args->k;
        for (; k >= 4; k -= 4) {
            K_STEP(0)
            K_STEP(1)
            K_STEP(2)
            K_STEP(3)
            __builtin_prefetch(next_a, 0, 2);
            a0 += 4, a4 += 4, a8 += 4, a12 += 4, next_a += 4;
            b += 4 * b_row_stride, b_prefetch += 4 * b_row_stride;
            if (a_mode != RUNGI_A_IN_ROWS)
                packed_a += 4 * rows;
            if (b_mode == RUNGI_B_PACK_ON_THE_FLY)
                pack_to += 4 * PACKED_WIDTH;
        }
        for (; k > 0; k--) {
            K_STEP(0)
            a0++, a4++, a8++, a12++;
            b += b_row_stride, b_prefetch += b_row_stride;
            if (a_mode != RUNGI_A_IN_ROWS)
                packed_a += rows;
            if (b_mode == RUNGI_B_PACK_ON_THE_FLY)
                pack_to += PACKED_WIDTH;
        }
        at = c;
        HIDE_POINTER(at);
        if (!stores_sums && args->alpha != 1) {
            const ACC alpha = SCALAR(args->alpha);
            ALL_ROWS(SCALE_ROW)
        }
        if (streaming) {
            ALL_ROWS(STREAM_ROW)
        } else if (!stores_sums && args->beta == 0) {
            ALL_ROWS(STORE_ROW)
        } else if (!stores_sums) {
            const VECTOR beta = SPLAT(SCALAR(args->beta));
            ALL_ROWS(ADD_C_ROW)
        }
        c += vectors * LANES;
        first_b = b_mode == RUNGI_B_PACKED ? b : first_b + vectors * LANES;
        next += args->a_prefetch_row_stride;
    }
    position->b = first_b;
    position->next_a = next;
    position->c = c;
}

/* Computes several panels, or one that packs B for the others. If A is to be packed, the first tile of a panel packs it for
 * the other tiles. */
INLINE void BODY_FUNCTION(const int rows, const int vectors, const int has_packed_a,
                          const rungi_microkernel_b_mode b_mode, const int streaming,
                          const rungi_microkernel_args *args)
{
    const rungi_microkernel_a_mode a_mode = has_packed_a ? RUNGI_A_PACKED : RUNGI_A_IN_ROWS;
    int64_t a = 0, packed_a = 0, c = 0, next = 0, panel = b_mode == RUNGI_B_PACK_ON_THE_FLY ? 1 : args->panels;
    for (; panel > 0; panel--) {
        POSITION position = {.a = (const ACC *)args->a + a,
                             .b = args->b,
                             .next_a = (const ACC *)args->a_prefetch + next,
                             .c = (ACC *)args->c + c,
                             .packed_a = has_packed_a ? (ACC *)args->packed_a + packed_a : NULL,
                             .pack_to = args->pack_to};
        int64_t tiles = args->tiles;
        if (has_packed_a && vectors == PACKED_VECTORS && args->packs_a) {
            TILES_FUNCTION(rows, vectors, RUNGI_A_PACK_ON_THE_FLY, b_mode, streaming, args, 1, &position);
            tiles--;
        }
        TILES_FUNCTION(rows, vectors, a_mode, b_mode, streaming, args, tiles, &position);
        a += rows * args->a_row_stride, c += rows * args->c_row_stride, next += rows * args->a_prefetch_row_stride;
        if (has_packed_a)
            packed_a += args->packed_a_stride;
    }
}
