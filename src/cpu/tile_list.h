/* SPDX-License-Identifier: Apache-2.0 */
/* tile_list.h - makes the functions of tile_body.h, and the table of them.
 *
 * Included after the words of tile_body.h and three more: ROWS(X), which calls X for each number
 * of rows, MANY_ROWS(X) for the larger ones alone, and TABLE, the table's name; it takes the words back, so that the next type may
 * follow. */
#include "cpu/tile_body.h"

#define PASTE(x, y, z) x##_##y##_##z
#define NAME(type, kind, rows) PASTE(type, kind, rows)
/* clang-format off */
#define TILE(rows)                                                                                 \
    static void NAME(BODY, left, rows)(const rungi_tile_job *job) { BODY(rows, 1, RUNGI_B_IN_PLACE, 0, job); }    \
    static void NAME(BODY, both, rows)(const rungi_tile_job *job) { BODY(rows, 2, RUNGI_B_IN_PLACE, 0, job); }    \
    static void NAME(BODY, packed_left, rows)(const rungi_tile_job *job) { BODY(rows, 1, RUNGI_B_PACKED, 0, job); }  \
    static void NAME(BODY, packed_both, rows)(const rungi_tile_job *job) { BODY(rows, 2, RUNGI_B_PACKED, 0, job); }
#define MORE(rows)                                                                                 \
    static void NAME(BODY, packing_left, rows)(const rungi_tile_job *job) { BODY(rows, 1, RUNGI_B_PACKING, 0, job); } \
    static void NAME(BODY, packing_both, rows)(const rungi_tile_job *job) { BODY(rows, 2, RUNGI_B_PACKING, 0, job); } \
    static void NAME(BODY, streaming, rows)(const rungi_tile_job *job) { BODY(rows, 2, RUNGI_B_PACKED, 1, job); }
/* clang-format on */
#define IN_PLACE_ENTRY(rows) {NAME(BODY, left, rows), NAME(BODY, both, rows)},
#define PACKED_ENTRY(rows) {NAME(BODY, packed_left, rows), NAME(BODY, packed_both, rows)},
#define PACKING_ENTRY(rows) [rows - 1] = {NAME(BODY, packing_left, rows), NAME(BODY, packing_both, rows)},
#define STREAMING_ENTRY(rows) [rows - 1] = NAME(BODY, streaming, rows),
#define COUNT(rows) +1

ROWS(TILE)
MANY_ROWS(MORE)

const rungi_tiles TABLE = {
    .rows = 0 ROWS(COUNT),
    .lanes = LANES,
    .in_place = {ROWS(IN_PLACE_ENTRY)},
    .packed = {ROWS(PACKED_ENTRY)},
    .packing = {MANY_ROWS(PACKING_ENTRY)},
    .streaming = {MANY_ROWS(STREAMING_ENTRY)},
};

#undef PASTE
#undef NAME
#undef TILE
#undef MORE
#undef IN_PLACE_ENTRY
#undef PACKED_ENTRY
#undef PACKING_ENTRY
#undef COUNT
#undef STREAMING_ENTRY
#undef SUM
#undef VECTOR
#undef LANES
#undef MASK
#undef MASK_OF
#undef LOAD
#undef LOAD_SOME
#undef STORE
#undef STORE_SOME
#undef STREAM
#undef ALL
#undef EACH
#undef SCALAR
#undef ZERO
#undef TIMES
#undef PLUS_TIMES
#undef ACCUMULATE
#undef PANEL
#undef BODY
#undef TABLE
