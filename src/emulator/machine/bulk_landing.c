/* SPDX-License-Identifier: Apache-2.0 */
/* bulk_landing.c - bulk copies of a cluster between their issue and their arrival at an mbarrier. Declared in cluster.h, which
 * holds the copies; a separate file because mbarriers are built on clusters. */
#include <stdlib.h>
#include <string.h>

#include "emulator/checks/checks.h"
#include "emulator/machine/mbarrier.h"
#include "emulator/ptx/vector.h"

ptx_bulk_copy_t *rungi_ptx_bulk_copy_add(ptx_warp_t *warp)
{
    ptx_cluster_t *cluster = warp->block->cluster;
    ptx_bulk_copy_t *copies = rungi_ptx_grow(cluster->copies, (int64_t)cluster->copy_count + 1, &cluster->copy_capacity,
                                             sizeof *copies);
    if (!copies) {
        rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, 0, "no memory for an asynchronous copy");
        return NULL;
    }
    cluster->copies = copies;
    ptx_bulk_copy_t *copy = &cluster->copies[cluster->copy_count++];
    cluster->events++;
    *copy = (ptx_bulk_copy_t){.issuer = warp->block, .pc = warp->pc};
    return copy;
}

static void land(ptx_warp_t *warp, uint32_t mask, const ptx_bulk_copy_t *copy)
{
    int lane = __builtin_ctz(mask);
    if (copy->arrival) {
        rungi_ptx_async_copy_land(copy->arrival, copy->thread % PTX_WARP_LANES, copy->arrival_count, warp, lane);
        return;
    }
    if (!copy->is_reduction)
        memcpy(copy->block->shared + copy->to, copy->data, copy->bytes);
    rungi_ptx_check_landed(warp, lane, copy->to, copy->bytes, copy->pc);
}

void rungi_ptx_bulk_copies_land(ptx_warp_t *warp, uint32_t mask, uint32_t mbarrier)
{
    ptx_cluster_t *cluster = warp->block->cluster;
    int left = 0;
    bool has_landed = false;
    for (int i = 0; i < cluster->copy_count; i++) {
        ptx_bulk_copy_t copy = cluster->copies[i];
        if (copy.block != warp->block || copy.mbarrier != mbarrier) {
            cluster->copies[left++] = copy;
            continue;
        }
        has_landed = true;
        land(warp, mask, &copy);
        rungi_ptx_mbarrier_landed(warp, &copy);
        free(copy.data);
    }
    cluster->copy_count = left;
    if (has_landed && warp->is_checked)
        rungi_ptx_check_warp_sync(warp, mask); /* the lanes that wait together see the data */
}
