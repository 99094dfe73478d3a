/* SPDX-License-Identifier: Apache-2.0 */
/* engine_layout.h - how a multiply by packed panels is cut, and where in a thread's scratch its pieces stand. */
#ifndef RUNGI_CPU_ENGINE_LAYOUT_H
#define RUNGI_CPU_ENGINE_LAYOUT_H

#include "core/checked.h"
#include "cpu/engine.h"

#if defined(__x86_64__)

/* What is given: bytes of k, as packed, in a slice and in a stretch of slices; rows and columns of a block; and whether
 * all of A is packed before all else, or only the 32 rows that are next. */
typedef struct rungi_cuts {
    int64_t kc, kd, mc, nc;
    bool is_whole_a;
    int64_t kept_bytes; /* of B, packed: up to this, all slices are kept */
    int64_t most_kept;  /* slices of B, see rungi_layout's kept: of a part of C those of the whole */
    bool has_packed_b;  /* B comes packed and needs no scratch */
} rungi_cuts;

typedef struct rungi_layout {
    rungi_packing packing;
    int64_t size;    /* bytes of an element */
    int64_t step;    /* elements along k */
    int64_t unit;    /* bytes of a panel's step */
    int64_t depth;   /* elements of k in a slice */
    int64_t slices;  /* of k */
    int64_t stretch; /* how many of them are packed at a time */
    int64_t kept;    /* how many stay packed: all of them, for the next block of rows, if they fit */
    int64_t mc, nc;
    int64_t panels;                    /* of nc */
    int64_t panel_bytes, slice_bytes;  /* of a slice of a panel, of all panels */
    int64_t a, b, sums, block;         /* packed rows and columns; sums of a block of C, and of 32 x 64 */
    int64_t ranges, worn, room, bytes; /* in parts: of panels, of 32 x 32 of C, for rungi_fma_block; all */
} rungi_layout;

rungi_layout rungi_lay_out(int64_t m, int64_t n, int64_t k, rungi_packing packing, const rungi_cuts *cuts);
#endif

#endif /* RUNGI_CPU_ENGINE_LAYOUT_H */
