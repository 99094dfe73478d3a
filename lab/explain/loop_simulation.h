/* SPDX-License-Identifier: Apache-2.0 */
/* loop_simulation.h - joins the compiled loop of a kernel with the counts of its memory requests, and simulates it. */
#pragma once

#include "explain/explain.h"

/* Returns whether the loop can be simulated: it was disassembled with its timing, and it has the kernel's barriers. */
bool lab_can_simulate_loop(const lab_explanation *explanation);

/* Returns the clocks between the ends of two blocks of a multiprocessor with `resident` blocks, or 0 if the simulation
 * failed. */
double lab_simulate_block(const lab_explanation *explanation, const lab_launch_work *work, double resident,
                          lab_issue_result *result);
