/* SPDX-License-Identifier: Apache-2.0 */
/* system_caches_none.c - see system_caches.h. */
#include "base/system_caches.h"

rungi_system_caches rungi_system_caches_read(void)
{
    return (rungi_system_caches){0};
}
