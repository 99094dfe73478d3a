/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel_instances.h - instantiates microkernel_body.h for one type, and defines the table of its functions.
 *
 * Include it after the macros of microkernel_body.h and three more: ROW_COUNTS(X) calls X for each number of rows,
 * LARGE_ROW_COUNTS(X) for the larger ones only, and TABLE is the name of the table. It undefines the macros of the type. */
#include "cpu/microkernels/microkernel_body.h"

#define PASTE(x, y, z) x##_##y##_##z
#define NAME(type, kind, rows) PASTE(type, kind, rows)
/* clang-format off */
#define DEFINE_MICROKERNELS(rows)                                                                                 \
    static void NAME(BODY_FUNCTION, v1, rows)(const rungi_microkernel_args *args) { BODY_FUNCTION(rows, 1, RUNGI_B_IN_PLACE, 0, args); }    \
    static void NAME(BODY_FUNCTION, v2, rows)(const rungi_microkernel_args *args) { BODY_FUNCTION(rows, 2, RUNGI_B_IN_PLACE, 0, args); }    \
    static void NAME(BODY_FUNCTION, packed_v1, rows)(const rungi_microkernel_args *args) { BODY_FUNCTION(rows, 1, RUNGI_B_PACKED, 0, args); }  \
    static void NAME(BODY_FUNCTION, packed_v2, rows)(const rungi_microkernel_args *args) { BODY_FUNCTION(rows, 2, RUNGI_B_PACKED, 0, args); }
#define DEFINE_PACKING_MICROKERNELS(rows)                                                                                 \
    static void NAME(BODY_FUNCTION, packing_v1, rows)(const rungi_microkernel_args *args) { BODY_FUNCTION(rows, 1, RUNGI_B_PACK_ON_THE_FLY, 0, args); } \
    static void NAME(BODY_FUNCTION, packing_v2, rows)(const rungi_microkernel_args *args) { BODY_FUNCTION(rows, 2, RUNGI_B_PACK_ON_THE_FLY, 0, args); } \
    static void NAME(BODY_FUNCTION, streaming, rows)(const rungi_microkernel_args *args) { BODY_FUNCTION(rows, 2, RUNGI_B_PACKED, 1, args); }
/* clang-format on */
#define IN_PLACE_ENTRY(rows) {NAME(BODY_FUNCTION, v1, rows), NAME(BODY_FUNCTION, v2, rows)},
#define PACKED_ENTRY(rows) {NAME(BODY_FUNCTION, packed_v1, rows), NAME(BODY_FUNCTION, packed_v2, rows)},
#define PACKING_ENTRY(rows) [rows - 1] = {NAME(BODY_FUNCTION, packing_v1, rows), NAME(BODY_FUNCTION, packing_v2, rows)},
#define STREAMING_ENTRY(rows) [rows - 1] = NAME(BODY_FUNCTION, streaming, rows),
#define COUNT(rows) +1

ROW_COUNTS(DEFINE_MICROKERNELS)
LARGE_ROW_COUNTS(DEFINE_PACKING_MICROKERNELS)

const rungi_microkernel_table TABLE = {
    .rows = 0 ROW_COUNTS(COUNT),
    .lanes = LANES,
    .in_place = {ROW_COUNTS(IN_PLACE_ENTRY)},
    .packed = {ROW_COUNTS(PACKED_ENTRY)},
    .packing = {LARGE_ROW_COUNTS(PACKING_ENTRY)},
    .streaming = {LARGE_ROW_COUNTS(STREAMING_ENTRY)},
};

#undef PASTE
#undef NAME
#undef DEFINE_MICROKERNELS
#undef DEFINE_PACKING_MICROKERNELS
#undef IN_PLACE_ENTRY
#undef PACKED_ENTRY
#undef PACKING_ENTRY
#undef COUNT
#undef STREAMING_ENTRY
#undef ACC
#undef VECTOR
#undef LANES
#undef MASK
#undef MASK_OF
#undef LOAD
#undef LOAD_MASKED
#undef STORE
#undef STORE_MASKED
#undef STORE_STREAMING
#undef BROADCAST
#undef SPLAT
#undef SCALAR
#undef ZERO
#undef TIMES
#undef PLUS_TIMES
#undef ACCUMULATE
#undef PANEL_FUNCTION
#undef BODY_FUNCTION
#undef TABLE
