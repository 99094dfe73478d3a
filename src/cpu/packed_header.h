/* SPDX-License-Identifier: Apache-2.0 */
/* packed_header.h - the first bytes of a packed B, which describe the layout of the rest.
 *
 * rung_plan_pack_b writes the header, and every run compares it with the header of its plan. A buffer that holds
 * anything else is rejected before an element of it is read. The header does not depend on m, the batch, the
 * threads, A, C or the epilogue: plans that differ in those alone share a packed B. */
#pragma once

#include "core/plan_types.h"

/* How a kernel arranges B: panels of `width` columns, each `depth` elements long along k, of type `stored`. */
typedef struct rungi_packed_layout {
    rung_type packed_type;
    int64_t width, k_block;
    int64_t bytes; /* of all panels */
} rungi_packed_layout;

/* Without padding, so that headers can be compared as bytes. The packed elements follow, 64-byte aligned. */
typedef struct rungi_packed_header {
    char magic[8];
    uint32_t version;
    uint32_t type, packed_type; /* of B as given, and as packed */
    uint32_t compute;           /* the mode in which the kernel forms products */
    int64_t k, n, width, k_block, bytes;
    char kernel[32];
    char reserved[24]; /* zero */
    uint64_t checksum; /* of all bytes before it */
} rungi_packed_header;

_Static_assert(sizeof(rungi_packed_header) == RUNGI_PACKED_HEADER_BYTES, "no padding");
_Static_assert(RUNGI_PACKED_HEADER_BYTES % 64 == 0, "the elements are as aligned as the header");

/* Fills the header of the plan's packed B. */
void rungi_packed_header_fill(const rung_plan *plan, const rungi_packed_layout *layout, rungi_packed_header *header);

/* Compares the start of a packed B with the header that its plan expects. Returns RUNG_OK, or RUNG_STATUS_INVALID and a
 * sentence that names each difference. */
rung_status rungi_packed_header_check(const rungi_packed_header *expected, const void *packed);
