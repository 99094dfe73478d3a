/* SPDX-License-Identifier: Apache-2.0 */
/* group_check.h - groups of problems with different sizes: reading and checking what a caller passes, for
 * group.c and the devices, which run them. */
#pragma once

#include "core/context.h"

/* The problems of a group that have something to compute. */
typedef struct rungi_group {
    rung_problem *problems; /* normalized */
    int64_t count;
    rung_buffer **
        packed_b; /* the packed B of each problem, which is NULL if the problem does not read B; NULL: no B is packed */
    /* In device memory, where one launch computes all problems: the buffer of A, B, bias and residual of every problem
     * (NULL: nothing is read), and the buffer of every C. */
    rung_buffer *inputs, *outputs;
} rungi_group;

/* Reads and checks a group. Problems whose output is empty are left out. Inputs are dropped where alpha is 0. The caller
 * calls rungi_group_release in every case. */
rung_status rungi_group_read(const rung_context *context, const rung_group *given, rungi_group *group);
void rungi_group_release(const rung_context *context, rungi_group *group);
