/* SPDX-License-Identifier: Apache-2.0 */
/* try.h - returns early when a call fails.
 *
 *     TRY(rung_problem_check(problem));
 *
 * evaluates the call once. If its status is not RUNG_OK, the current function returns that status. A function that must
 * release something in every case calls another function that uses TRY:
 *
 *     rung_status status = copy_blocks(file, buffer);
 *     close_file(file);
 *     return status;
 */
#pragma once

#include "base/error.h"

#define TRY(call)                        \
    do {                                 \
        rung_status try_status = (call); \
        if (try_status != RUNG_OK)       \
            return try_status;           \
    } while (0)
