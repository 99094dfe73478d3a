/* SPDX-License-Identifier: Apache-2.0 */
/* compute.h - the order of compute modes by precision. Their numbers say nothing about it: later versions append
 * modes to rung_compute. */
#ifndef RUNGI_COMPUTE_H
#define RUNGI_COMPUTE_H

#include <stdbool.h>

#include "rung/rung.h"

/* Returns whether `mode` is at least as precise as `requested`: then a kernel that computes in `mode` may serve a
 * problem that requests the other. False if either is not a mode. */
bool rungi_compute_is_as_precise(rung_compute mode, rung_compute requested);

#endif /* RUNGI_COMPUTE_H */
