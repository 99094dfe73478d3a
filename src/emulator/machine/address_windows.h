/* SPDX-License-Identifier: Apache-2.0 */
/* address_windows.h - where the address spaces are. Global memory is one range; the other spaces have a window each, for
 * generic addresses. */
#pragma once

#include <stdint.h>

#define PTX_GLOBAL_BASE UINT64_C(0x10000000000)
#define PTX_SHARED_WINDOW UINT64_C(0x1000000000)
#define PTX_LOCAL_WINDOW UINT64_C(0x2000000000)
#define PTX_PARAM_WINDOW UINT64_C(0x3000000000)
#define PTX_WINDOW_BYTES UINT64_C(0x1000000000)
enum { PTX_SHARED_RANK_SHIFT = 24 }; /* shared memory of block r of a cluster begins at r << 24 */
