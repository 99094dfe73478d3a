/* SPDX-License-Identifier: Apache-2.0 */
/* system_caches_macos.c - see base/system_caches.h. Apple's processors have two kinds of cores; perflevel0 is the faster. */
#include <sys/sysctl.h>

#include "base/system_caches.h"

/* Returns a number of the system, or 0. */
static int64_t read_number(const char *name)
{
    int64_t number = 0;
    size_t bytes = sizeof number;
    return sysctlbyname(name, &number, &bytes, NULL, 0) == 0 ? number : 0;
}

static int64_t first_of(const char *name, const char *otherwise)
{
    int64_t number = read_number(name);
    return number > 0 ? number : read_number(otherwise);
}

rungi_system_caches rungi_system_caches_read(void)
{
    return (rungi_system_caches){.l1 = first_of("hw.perflevel0.l1dcachesize", "hw.l1dcachesize"),
                                 .l2 = first_of("hw.perflevel0.l2cachesize", "hw.l2cachesize"),
                                 .l3 = first_of("hw.perflevel0.l3cachesize", "hw.l3cachesize"),
                                 .cores = first_of("hw.perflevel0.physicalcpu", "hw.physicalcpu")};
}
