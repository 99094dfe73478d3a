/* SPDX-License-Identifier: Apache-2.0 */
/* amx_permission_none.c - see amx_permission.h: macOS has no AMX of Intel, and on Windows it is not used yet. */
#include "base/amx_permission.h"

bool rungi_amx_request(void)
{
    return false;
}
