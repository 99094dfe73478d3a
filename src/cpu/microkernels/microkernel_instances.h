/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel_instances.h - instantiates microkernel_body.h for one type, and defines the table of its functions.
 *
 * The file of an instruction set defines: ISA, a part of the table's name; VECTOR_BYTES; ROW_COUNTS(X), which calls X for
 * each number of rows, and LARGE_ROW_COUNTS(X) for the larger ones only; HIDE_POINTER(pointer), which hides the origin of a
 * pointer from the compiler; MASK and MASK_OF(count), the first lanes. It includes this header once per accumulator type,
 * after defining: TYPE, a part of names; ACC, the element; LOAD_MASKED, STORE_MASKED and STORE_STREAMING; and, unless the
 * default below is right, PLUS_TIMES(x, y, z) = x * y + z, ACCUMULATE(sum, x, y): sum += x * y, and SCALAR(double). The macros
 * of the type are undefined at the end. */
#define PASTE(x, y, z) x##_##y##_##z
#define NAME(x, y, z) PASTE(x, y, z)
#define INLINE static inline __attribute__((always_inline))
#define PANEL_FUNCTION NAME(TYPE, multiply, panel)
#define BODY_FUNCTION NAME(TYPE, multiply, panels)
#define VECTOR NAME(TYPE, vector, t)
#define UNALIGNED_VECTOR NAME(TYPE, unaligned, t)
#define LANES (VECTOR_BYTES / (int)sizeof(ACC))
#define LOAD(address) ((VECTOR) * (const UNALIGNED_VECTOR *)(address))
#define STORE(address, value) *(UNALIGNED_VECTOR *)(address) = (value)
#define SPLAT(value) ((value) - (VECTOR){0}) /* the compiler converts a scalar operand to a vector */
#ifndef PLUS_TIMES
#define PLUS_TIMES(x, y, z) ((x) * (y) + (z))
#endif
#ifndef ACCUMULATE
#define ACCUMULATE(sum, x, y) sum = PLUS_TIMES(x, y, sum)
#endif
#ifndef SCALAR
#define SCALAR(value) (ACC)(value)
#endif
typedef ACC VECTOR __attribute__((vector_size(VECTOR_BYTES)));
typedef ACC UNALIGNED_VECTOR __attribute__((vector_size(VECTOR_BYTES), aligned(1), may_alias));

#include "cpu/microkernels/microkernel_body.h"

/* clang-format off */
#define DEFINE(kind, rows, vectors, b_mode, streaming)                       \
    static void NAME(TYPE, kind, rows)(const rungi_microkernel_args *args)   \
    {                                                                        \
        BODY_FUNCTION(rows, vectors, b_mode, streaming, args);               \
    }
#define DEFINE_MICROKERNELS(rows)                   \
    DEFINE(v1, rows, 1, RUNGI_B_IN_PLACE, 0)        \
    DEFINE(v2, rows, 2, RUNGI_B_IN_PLACE, 0)        \
    DEFINE(packed_v1, rows, 1, RUNGI_B_PACKED, 0)   \
    DEFINE(packed_v2, rows, 2, RUNGI_B_PACKED, 0)
#define DEFINE_PACKING_MICROKERNELS(rows)                     \
    DEFINE(packing_v1, rows, 1, RUNGI_B_PACK_ON_THE_FLY, 0)   \
    DEFINE(packing_v2, rows, 2, RUNGI_B_PACK_ON_THE_FLY, 0)   \
    DEFINE(streaming, rows, 2, RUNGI_B_PACKED, 1)
/* clang-format on */
#define IN_PLACE_ENTRY(rows) {NAME(TYPE, v1, rows), NAME(TYPE, v2, rows)},
#define PACKED_ENTRY(rows) {NAME(TYPE, packed_v1, rows), NAME(TYPE, packed_v2, rows)},
#define PACKING_ENTRY(rows) [rows - 1] = {NAME(TYPE, packing_v1, rows), NAME(TYPE, packing_v2, rows)},
#define STREAMING_ENTRY(rows) [rows - 1] = NAME(TYPE, streaming, rows),
#define COUNT(rows) +1

ROW_COUNTS(DEFINE_MICROKERNELS)
LARGE_ROW_COUNTS(DEFINE_PACKING_MICROKERNELS)

const rungi_microkernel_table NAME(rungi_microkernels, ISA, TYPE) = {
    .rows = 0 ROW_COUNTS(COUNT),
    .lanes = LANES,
    .in_place = {ROW_COUNTS(IN_PLACE_ENTRY)},
    .packed = {ROW_COUNTS(PACKED_ENTRY)},
    .packing = {LARGE_ROW_COUNTS(PACKING_ENTRY)},
    .streaming = {LARGE_ROW_COUNTS(STREAMING_ENTRY)},
};

#undef TYPE
#undef ACC
#undef LOAD_MASKED
#undef STORE_MASKED
#undef STORE_STREAMING
#undef PLUS_TIMES
#undef ACCUMULATE
#undef SCALAR
