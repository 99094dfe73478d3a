/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel_instances.h - instantiates microkernel_body.h for one type, and defines the table of its functions.
 *
 * The file of an instruction set defines: ISA, a part of the table's name; VECTOR_BYTES; HIDE_POINTER(pointer), which hides the
 * origin of a pointer from the compiler; MASK and MASK_OF(count), the first lanes; PACKED_VECTORS, the vectors of a packed tile.
 * Lists call X for each number of rows: IN_PLACE_ROWS(X) for tiles with B in place, PACKED_ROWS(X) with a packed B,
 * PACKING_ROWS(X) with a B that is packed on the fly, PACKED_A_ROWS(X) with a packed A.
 *
 * It includes this header once per accumulator type, after defining: TYPE, a part of names; ACC, the element; LOAD_MASKED,
 * STORE_MASKED and STORE_STREAMING; and, unless the default below is right, PLUS_TIMES(x, y, z) = x * y + z, ACCUMULATE(sum, x,
 * y): sum += x * y, BROADCAST(address), SUM_LANES(vector),
 * which adds the lanes, and SCALAR(double). It may define RUN_LOOP(rows, a_mode, b_mode, at, k, sums), the loop
 * over k for large whole tiles (see is_large in the body); it stores the vectors of the sums, row by row. The macros
 * of the type are undefined at the end. */
#define PASTE(x, y, z) x##_##y##_##z
#define NAME(x, y, z) PASTE(x, y, z)
#define INLINE static inline __attribute__((always_inline))
#define TILES_FUNCTION NAME(TYPE, multiply, tiles)
#define BODY_FUNCTION NAME(TYPE, multiply, panels)
#define POSITION NAME(TYPE, position, t)
#define VECTOR NAME(TYPE, vector, t)
#define UNALIGNED_VECTOR NAME(TYPE, unaligned, t)
#define LANES (VECTOR_BYTES / (int)sizeof(ACC))
#define PACKED_WIDTH (PACKED_VECTORS * LANES)
#define MAX_LOOP_VECTORS 28
#define LOAD(address) ((VECTOR) * (const UNALIGNED_VECTOR *)(address))
#define STORE(address, value) *(UNALIGNED_VECTOR *)(address) = (value)
#define SPLAT(value) ((value) - (VECTOR){0}) /* the compiler converts a scalar operand to a vector */
#ifndef PLUS_TIMES
#define PLUS_TIMES(x, y, z) ((x) * (y) + (z))
#endif
#ifndef ACCUMULATE
#define ACCUMULATE(sum, x, y) sum = PLUS_TIMES(x, y, sum)
#endif
#ifndef BROADCAST
#define BROADCAST(address) SPLAT(*(address))
#endif
#ifdef RUN_LOOP
#define HAS_LOOP 1
#else
#define HAS_LOOP 0
#define RUN_LOOP(rows, a_mode, b_mode, at, k, sums) ((void)(at))
#endif
#ifndef SUM_LANES
#define SUM_LANES(vector) NAME(TYPE, sum, of_lanes)(vector)
#endif
#ifndef SCALAR
#define SCALAR(value) (ACC)(value)
#endif
typedef ACC VECTOR __attribute__((vector_size(VECTOR_BYTES)));
typedef ACC UNALIGNED_VECTOR __attribute__((vector_size(VECTOR_BYTES), aligned(1), may_alias));

/* Adds the lanes: halves first, as instructions that add pairs do. */
INLINE ACC NAME(TYPE, sum, of_lanes)(VECTOR vector)
{
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            vector[i] += vector[i + width];
    return vector[0];
}

#include "cpu/microkernels/microkernel_body.h"

#include "cpu/microkernels/dot_products_body.h"

/* clang-format off */
#define DEFINE(kind, rows, vectors, has_packed_a, b_mode, streaming)         \
    static void NAME(TYPE, kind, rows)(const rungi_microkernel_args *args)   \
    {                                                                        \
        BODY_FUNCTION(rows, vectors, has_packed_a, b_mode, streaming, args); \
    }
#define DEFINE_IN_PLACE(rows)                     \
    DEFINE(v1, rows, 1, 0, RUNGI_B_IN_PLACE, 0)   \
    DEFINE(v2, rows, 2, 0, RUNGI_B_IN_PLACE, 0)
#define DEFINE_PACKED(rows)                            \
    DEFINE(packed_v1, rows, 1, 0, RUNGI_B_PACKED, 0)   \
    DEFINE(packed_v2, rows, 2, 0, RUNGI_B_PACKED, 0)
#define DEFINE_PACKING(rows)                                     \
    DEFINE(packing_v1, rows, 1, 0, RUNGI_B_PACK_ON_THE_FLY, 0)   \
    DEFINE(packing_v2, rows, 2, 0, RUNGI_B_PACK_ON_THE_FLY, 0)   \
    DEFINE(streaming, rows, PACKED_VECTORS, 0, RUNGI_B_PACKED, 1)
#define DEFINE_PACKED_A(rows)                            \
    DEFINE(packed_a_v1, rows, 1, 1, RUNGI_B_PACKED, 0)   \
    DEFINE(packed_a_v2, rows, 2, 1, RUNGI_B_PACKED, 0)   \
    DEFINE(packed_a_streaming, rows, PACKED_VECTORS, 1, RUNGI_B_PACKED, 1)
#if PACKED_VECTORS == 3
#define DEFINE_THREE_PACKED(rows) DEFINE(packed_v3, rows, 3, 0, RUNGI_B_PACKED, 0)
#define DEFINE_THREE_PACKING(rows) DEFINE(packing_v3, rows, 3, 0, RUNGI_B_PACK_ON_THE_FLY, 0)
#define DEFINE_THREE_PACKED_A(rows) DEFINE(packed_a_v3, rows, 3, 1, RUNGI_B_PACKED, 0)
#define ENTRY(kind, rows) \
    [rows - 1] = {NAME(TYPE, kind##_v1, rows), NAME(TYPE, kind##_v2, rows), NAME(TYPE, kind##_v3, rows)},
#else
#define DEFINE_THREE_PACKED(rows)
#define DEFINE_THREE_PACKING(rows)
#define DEFINE_THREE_PACKED_A(rows)
#define ENTRY(kind, rows) [rows - 1] = {NAME(TYPE, kind##_v1, rows), NAME(TYPE, kind##_v2, rows), NULL},
#endif
/* clang-format on */
#define IN_PLACE_ENTRY(rows) [rows - 1] = {NAME(TYPE, v1, rows), NAME(TYPE, v2, rows), NULL},
#define PACKED_ENTRY(rows) ENTRY(packed, rows)
#define PACKING_ENTRY(rows) ENTRY(packing, rows)
#define PACKED_A_ENTRY(rows) ENTRY(packed_a, rows)
#define STREAMING_ENTRY(rows) [rows - 1] = NAME(TYPE, streaming, rows),
#define PACKED_A_STREAMING_ENTRY(rows) [rows - 1] = NAME(TYPE, packed_a_streaming, rows),
#define COUNT(rows) +1

IN_PLACE_ROWS(DEFINE_IN_PLACE)
PACKED_ROWS(DEFINE_PACKED)
PACKED_ROWS(DEFINE_THREE_PACKED)
PACKING_ROWS(DEFINE_PACKING)
PACKING_ROWS(DEFINE_THREE_PACKING)
PACKED_A_ROWS(DEFINE_PACKED_A)
PACKED_A_ROWS(DEFINE_THREE_PACKED_A)

const rungi_microkernel_table NAME(rungi_microkernels, ISA, TYPE) = {
    .lanes = LANES,
    .in_place_rows = 0 IN_PLACE_ROWS(COUNT),
    .packed_rows = 0 PACKED_ROWS(COUNT),
    .packed_vectors = PACKED_VECTORS,
    .in_place = {IN_PLACE_ROWS(IN_PLACE_ENTRY)},
    .packed = {PACKED_ROWS(PACKED_ENTRY)},
    .packing = {PACKING_ROWS(PACKING_ENTRY)},
    .streaming = {PACKING_ROWS(STREAMING_ENTRY)},
    .packed_a = {[0] = {NULL}, PACKED_A_ROWS(PACKED_A_ENTRY)},
    .packed_a_streaming = {[0] = NULL, PACKED_A_ROWS(PACKED_A_STREAMING_ENTRY)},
    .dot_products = NAME(TYPE, dot, products),
};

#undef TYPE
#undef ACC
#undef LOAD_MASKED
#undef STORE_MASKED
#undef STORE_STREAMING
#undef PLUS_TIMES
#undef ACCUMULATE
#undef BROADCAST
#undef RUN_LOOP
#undef HAS_LOOP
#undef SCALAR
#undef SUM_LANES
#undef DEFINE_THREE_PACKED
#undef DEFINE_THREE_PACKING
#undef DEFINE_THREE_PACKED_A
#undef ENTRY
