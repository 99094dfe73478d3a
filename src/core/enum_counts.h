/* SPDX-License-Identifier: Apache-2.0 */
/* enum_counts.h - the number of enumerators in this version, for tables. The public header has no counts: a program that
 * was compiled with an old count would misread a newer library. Each name function (rung_type_name() and others)
 * checks its table against the count here. */
#pragma once

#include <stdbool.h>

#include "base/string_view.h"
#include "rung/rung.h"

enum {
    RUNGI_TYPE_COUNT = RUNG_Q4_0 + 1, /* RUNG_TYPE_NONE included */
    RUNGI_COMPUTE_COUNT = RUNG_COMPUTE_Q8 + 1,
    RUNGI_ACTIVATION_COUNT = RUNG_ACTIVATION_SILU + 1,
    RUNGI_ENGINE_COUNT = RUNG_ENGINE_EMULATED + 1
};

/* Returns the rung_compute with this name, or RUNGI_COMPUTE_COUNT if the name is unknown. In type_names.c. */
int rungi_compute_find(rungi_string_view name);

/* Returns whether `mode` is at least as precise as `requested`, so that a kernel in `mode` may compute the problem.
 * Returns false if either value is not a mode. In type_names.c. */
bool rungi_compute_is_as_precise(rung_compute mode, rung_compute requested);
