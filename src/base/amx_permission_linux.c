/* SPDX-License-Identifier: Apache-2.0 */
/* amx_permission_linux.c - see amx_permission.h. */
#define _GNU_SOURCE /* syscall */
#include "base/amx_permission.h"

#include <sys/syscall.h>
#include <unistd.h>

bool rungi_amx_request(void)
{
#if defined(__x86_64__)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
    return false;
#endif
}
