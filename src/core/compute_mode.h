/* SPDX-License-Identifier: Apache-2.0 */
/* compute_mode.h - compares compute modes by precision. The values of rung_compute are not in this order, because later
 * versions append modes. */
#ifndef RUNGI_COMPUTE_MODE_H
#define RUNGI_COMPUTE_MODE_H

#include <stdbool.h>

#include "rung/rung.h"

/* Returns whether `mode` is at least as precise as `requested`, so that a kernel in `mode` may compute the problem.
 * Returns false if either value is not a mode. */
bool rungi_compute_is_as_precise(rung_compute mode, rung_compute requested);

#endif /* RUNGI_COMPUTE_MODE_H */
