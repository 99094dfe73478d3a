/* SPDX-License-Identifier: Apache-2.0 */
/* available_memory_macos.c - see base/available_memory.h: pages that are free or that only cache files. */
#include <mach/mach.h>

#include "base/available_memory.h"

int64_t rungi_available_memory(const char *root)
{
    vm_statistics64_data_t statistics;
    mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
    (void)root;
    if (host_statistics64(mach_host_self(), HOST_VM_INFO64, (host_info64_t)&statistics, &count) != KERN_SUCCESS)
        return 1 << 29;
    return ((int64_t)statistics.free_count + statistics.inactive_count + statistics.purgeable_count) *
           sysconf(_SC_PAGESIZE);
}
