/* SPDX-License-Identifier: Apache-2.0 */
/* scale_selectors.h - the values that the selectors of mma with block scales may have, for the decoder and the executor.
 *
 * Selectors 0 to 3 are byte-id-a, thread-id-a, byte-id-b and thread-id-b. `blocks` is the number of scales per row of A and
 * per column of B: 1, 2 or 4. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { PTX_SELECTORS = 4 };

static inline const char *rungi_ptx_selector_name(int selector)
{
    static const char *const names[] = {"byte-id-a", "thread-id-a", "byte-id-b", "thread-id-b"};
    return names[selector];
}

/* A byte-id is the first of `blocks` bytes of a register; its other bytes hold scales for other instructions. */
static inline bool rungi_ptx_selector_is_valid(int selector, int blocks, uint64_t value)
{
    return selector == 1 ? value < 2 : value < 4 && (selector == 3 || value % (uint64_t)blocks == 0);
}

/* Returns the valid values, for messages. */
static inline const char *rungi_ptx_selector_values(int selector, int blocks)
{
    if (selector % 2)
        return selector == 1 ? "0 or 1" : "0 to 3";
    return blocks == 1 ? "0 to 3" : blocks == 2 ? "0 or 2" : "0";
}
