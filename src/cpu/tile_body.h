/* SPDX-License-Identifier: Apache-2.0 */
/* tile_body.h - a tile of C in registers, written once for all instruction sets.
 *
 * It is included once for each type of sums by the file of an instruction set, which gives
 * the words that differ: SUM, the element; VECTOR of LANES elements; MASK of some of them
 * (MASK_OF a number); LOAD, LOAD_SOME, STORE, STORE_SOME, STREAM; ALL of one element in
 * memory, EACH of a value, a SCALAR of a double; ZERO, TIMES, PLUS_TIMES (x, y, z: x * y + z) and ACCUMULATE
 * (z, x, y: z += x * y); INLINE for a function that is always part of its caller; PANEL and
 * BODY, what those are called here.
 *
 * One step along k brings two vectors of B and, for each row, one element of A to all lanes:
 * 28 multiply-adds for 16 loads where there are 14 rows. Several tiles beside each other are
 * one call: the processor is then at the next one's multiply-adds while it stores the sums of
 * the one before. */

/* Rows are written out, since not every compiler takes an array apart into registers. Four of
 * A's are reached from one pointer: the processor adds up to three rows while it loads. */
/* clang-format off */
#define ALL_ROWS(X)                                                                                \
    X(0, a0, 0) X(1, a0, row) X(2, a0, 2 * row) X(3, a0, row3) X(4, a4, 0) X(5, a4, row)           \
    X(6, a4, 2 * row) X(7, a4, row3) X(8, a8, 0) X(9, a8, row) X(10, a8, 2 * row) X(11, a8, row3)  \
    X(12, a12, 0) X(13, a12, row)
/* clang-format on */

#define START(i, pointer, offset) VECTOR left##i = ZERO(), right##i = ZERO();
#define COME(i, pointer, offset)                       \
    if (i < rows) {                                    \
        __builtin_prefetch(at, 1);                     \
        if (vectors > 1)                               \
            __builtin_prefetch(at + 2 * LANES - 1, 1); \
        at += c_row;                                   \
    }
#define MULTIPLY(i, pointer, offset)                  \
    if (i < rows) {                                   \
        VECTOR element = ALL(pointer + (offset) + u); \
        ACCUMULATE(left##i, element, b_left);         \
        if (vectors > 1)                              \
            ACCUMULATE(right##i, element, b_right);   \
    }
#define STEP(number)                                                                                                   \
    {                                                                                                                  \
        enum { u = number };                                                                                           \
        VECTOR b_left = b_is == RUNGI_B_PACKED || vectors > 1 ? LOAD(b + u * b_step)                                   \
                                                              : LOAD_SOME(b + u * b_step, some);                       \
        VECTOR b_right = ZERO();                                                                                       \
        if (vectors > 1)                                                                                               \
            b_right = b_is == RUNGI_B_PACKED ? LOAD(b + u * b_step + LANES) : LOAD_SOME(b + u * b_step + LANES, some); \
        if (b_is == RUNGI_B_PACKING) {                                                                                 \
            STORE(pack + u * 2 * LANES, b_left);                                                                       \
            if (vectors > 1)                                                                                           \
                STORE(pack + u * 2 * LANES + LANES, b_right);                                                          \
        }                                                                                                              \
        __builtin_prefetch(ahead + u * b_step);                                                                        \
        if (vectors > 1)                                                                                               \
            __builtin_prefetch(ahead + u * b_step + LANES);                                                            \
        ALL_ROWS(MULTIPLY)                                                                                             \
    }
/* The last vector of a row may have fewer columns. */
#define PUT(value, place, is_last)          \
    {                                       \
        if (is_last)                        \
            STORE_SOME(place, some, value); \
        else                                \
            STORE(place, value);            \
    }
#define GET(place, is_last) (is_last ? LOAD_SOME(place, some) : LOAD(place))
#define SEND(i, pointer, offset)      \
    if (i < rows) {                   \
        STREAM(at, left##i);          \
        STREAM(at + LANES, right##i); \
        at += c_row;                  \
    }
#define KEEP(i, pointer, offset)         \
    if (i < rows) {                      \
        PUT(left##i, at, vectors == 1)   \
        if (vectors > 1)                 \
            PUT(right##i, at + LANES, 1) \
        at += c_row;                     \
    }
#define SCALE(i, pointer, offset)    \
    left##i = TIMES(alpha, left##i); \
    right##i = TIMES(alpha, right##i);
#define ADD(i, pointer, offset)                                                 \
    if (i < rows) {                                                             \
        PUT(PLUS_TIMES(beta, GET(at, vectors == 1), left##i), at, vectors == 1) \
        if (vectors > 1)                                                        \
            PUT(PLUS_TIMES(beta, GET(at + LANES, 1), right##i), at + LANES, 1)  \
        at += c_row;                                                            \
    }

/* One panel: tiles beside each other. B begins at `first`, the others at so many elements. */
INLINE void PANEL(const int rows, const int vectors, const int b_is, const int streaming, const rungi_tile_job *job,
                  const SUM *first, int64_t a_place, int64_t c_place, int64_t next_place)
{
    const int64_t row = job->a_row, row3 = 3 * row, c_row = job->c_row;
    const int64_t b_step = b_is == RUNGI_B_PACKED ? 2 * LANES : job->b_step;
    const MASK some = MASK_OF(job->cols - (vectors - 1) * LANES);
    const SUM *next = (const SUM *)job->next + next_place;
    SUM *c = (SUM *)job->c + c_place, *pack = job->pack;
    for (int64_t tile = job->tiles; tile > 0; tile--) {
        const SUM *a0 = (const SUM *)job->a + a_place, *a4 = a0 + 4 * row, *a8 = a0 + 8 * row, *a12 = a0 + 12 * row;
        const SUM *b = first, *ahead = b + job->ahead * b_step + job->aside;
        const SUM *soon = next;
        SUM *at = c;
        if (job->brings_c) {
            ALL_ROWS(COME)
        }
        ALL_ROWS(START)
        int64_t k = job->k;
        for (; k >= 4; k -= 4) {
            STEP(0)
            STEP(1)
            STEP(2)
            STEP(3)
            __builtin_prefetch(soon, 0, 2);
            a0 += 4, a4 += 4, a8 += 4, a12 += 4, soon += 4;
            b += 4 * b_step, ahead += 4 * b_step, pack += 4 * 2 * LANES;
        }
        for (; k > 0; k--) {
            STEP(0)
            a0++, a4++, a8++, a12++;
            b += b_step, ahead += b_step, pack += 2 * LANES;
        }
        at = c;
        KEEP_APART(at);
        if (job->alpha != 1) {
            const VECTOR alpha = EACH(SCALAR(job->alpha));
            ALL_ROWS(SCALE)
        }
        if (streaming) {
            ALL_ROWS(SEND)
        } else if (job->beta == 0) {
            ALL_ROWS(KEEP)
        } else {
            const VECTOR beta = EACH(SCALAR(job->beta));
            ALL_ROWS(ADD)
        }
        c += vectors * LANES;
        first = b_is == RUNGI_B_PACKED ? b : first + vectors * LANES;
        next += job->next_row;
    }
}

/* Panels below each other; where B is packed on the way, the first of them does it. */
INLINE void BODY(const int rows, const int vectors, const int b_is, const int streaming, const rungi_tile_job *job)
{
    const int then = b_is == RUNGI_B_PACKING ? RUNGI_B_PACKED : b_is;
    const SUM *b = job->b;
    int64_t a = 0, c = 0, next = 0, panel = job->panels;
    if (b_is == RUNGI_B_PACKING) {
        PANEL(rows, vectors, RUNGI_B_PACKING, 0, job, b, a, c, next);
        b = job->pack;
        a += rows * job->a_row, c += rows * job->c_row, next += rows * job->next_row;
        panel--;
    }
    for (; panel > 0; panel--) {
        PANEL(rows, vectors, then, streaming, job, b, a, c, next);
        a += rows * job->a_row, c += rows * job->c_row, next += rows * job->next_row;
    }
}

#undef ALL_ROWS
#undef START
#undef COME
#undef MULTIPLY
#undef STEP
#undef PUT
#undef GET
#undef SEND
#undef KEEP
#undef SCALE
#undef ADD
