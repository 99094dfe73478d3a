/* SPDX-License-Identifier: Apache-2.0 */
/* compute_mode.c - see compute_mode.h. */
#include "core/compute_mode.h"

#include "core/enum_counts.h"

/* 1 is the most precise mode; 0 is not a mode. */
static const int ranks[] = {
    [RUNG_COMPUTE_STRICT] = 1,
    [RUNG_COMPUTE_BF16X3] = 2,
    [RUNG_COMPUTE_TF32] = 3,
    [RUNG_COMPUTE_BF16X1] = 4,
};
_Static_assert(sizeof ranks / sizeof *ranks == RUNGI_COMPUTE_COUNT, "every compute mode has a rank");

static int rank_of(rung_compute mode)
{
    return (int)mode >= 0 && (int)mode < RUNGI_COMPUTE_COUNT ? ranks[mode] : 0;
}

bool rungi_compute_is_as_precise(rung_compute mode, rung_compute requested)
{
    return rank_of(mode) > 0 && rank_of(mode) <= rank_of(requested);
}
