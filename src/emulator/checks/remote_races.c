/* SPDX-License-Identifier: Apache-2.0 */
/* remote_races.c - accesses to shared memory of other blocks of a cluster.
 *
 * Vector clocks have an entry for each warp of the cluster. barrier.cluster and mbarriers carry them from block to block.
 * Accesses by other blocks are kept beside the cells of a block's own accesses, by words of 4 bytes. */
#include <stdlib.h>

#include "emulator/checks/checker.h"
#include "emulator/machine/cluster.h"

/* One lane's access to a word of another block, or of its own block that others have accessed. */
typedef struct visit {
    const ptx_checked_access_t *access;
    int lane;
    const ptx_block_t *owner; /* of the memory */
    uint64_t offset;
} visit_t;

static ptx_remote_access_t remote_of(const ptx_checker_t *checker, ptx_stamp_t stamp)
{
    return (ptx_remote_access_t){.time = rungi_ptx_stamp_time(stamp) < checker->start ? 0 : rungi_ptx_stamp_time(stamp),
                                 .pc = (int32_t)(stamp & PTX_STAMP_PC_MASK),
                                 .thread = (uint16_t)rungi_ptx_stamp_thread(stamp),
                                 .rank = (uint8_t)checker->block->cluster_rank,
                                 .is_strong = stamp >> PTX_STAMP_STRONG_SHIFT & 1};
}

/* Returns whether an earlier access happened before those of the visiting lane. */
static bool is_ordered(const visit_t *visit, const ptx_remote_access_t *earlier)
{
    const ptx_warp_t *warp = visit->access->warp;
    const ptx_checker_t *checker = warp->block->checker;
    int entry = earlier->rank * warp->block->warp_count + earlier->thread / PTX_WARP_LANES;
    bool is_same_warp = entry == checker->first_warp + warp->index;
    bool are_strong = earlier->is_strong && rungi_ptx_is_strong(visit->access);
    return earlier->time == 0 || are_strong || is_same_warp ||
           earlier->time <= rungi_ptx_known_time(checker, warp->index, entry);
}

/* Reports the accesses if nothing orders them. Returns whether they conflict. */
static bool compare(const visit_t *visit, const ptx_remote_access_t *earlier, bool earlier_reads)
{
    const ptx_checked_access_t *access = visit->access;
    bool reads = access->kind == PTX_READ;
    if ((reads && earlier_reads) || is_ordered(visit, earlier))
        return false;
    ptx_party_t now = rungi_ptx_party(access->warp->block->checker, access->warp->pc,
                                      PTX_WARP_LANES * access->warp->index + visit->lane);
    ptx_party_t before = {
        .pc = earlier->pc, .thread = earlier->thread, .block = visit->owner->cluster->blocks[earlier->rank].linear_id};
    const ptx_party_t *writer = reads ? &before : &now, *other = reads ? &now : &before;
    rungi_ptx_report_pair(
        visit->owner->launch, RUNG_EMULATOR_RACE, writer, other, visit->offset, 4,
        "write by thread %d of block %lld and %s by thread %d of block %lld at byte offset %llu of the "
        "shared memory of block %lld: no cluster barrier or mbarrier orders them",
        writer->thread, (long long)writer->block, reads || earlier_reads ? "read" : "write", other->thread,
        (long long)other->block, (unsigned long long)visit->offset, (long long)visit->owner->linear_id);
    return true;
}

static void record(const visit_t *visit, ptx_remote_cell_t *cell)
{
    const ptx_warp_t *warp = visit->access->warp;
    *(visit->access->kind == PTX_READ ? &cell->reader : &cell->writer) = (ptx_remote_access_t){
        .time = warp->block->checker->warp_time[warp->index],
        .pc = warp->pc,
        .thread = (uint16_t)(PTX_WARP_LANES * warp->index + visit->lane),
        .rank = (uint8_t)warp->block->cluster_rank,
        .is_strong = rungi_ptx_is_strong(visit->access)};
}

/* Compares an access with those of the owner's threads, up to the first conflict. */
static bool compare_cell(const visit_t *visit, const ptx_cell_t *cell)
{
    const ptx_checker_t *owner = visit->owner->checker;
    ptx_remote_access_t own[3] = {remote_of(owner, cell->writer), remote_of(owner, cell->reader),
                                  remote_of(owner, cell->reader2)};
    return compare(visit, &own[0], false) || compare(visit, &own[1], true) || compare(visit, &own[2], true);
}

/* The same for accesses of words and of their parts. */
static bool compare_owner(const visit_t *visit)
{
    for (int size = PTX_CELL_WORD; size >= 0; size--) {
        const ptx_cell_t *cells = rungi_ptx_cells(&visit->owner->checker->shared, size);
        for (uint64_t i = visit->offset >> size; cells && i < (visit->offset + 4) >> size; i++)
            if (compare_cell(visit, &cells[i]))
                return true;
    }
    return false;
}

/* Compares an access with those of the owner and of the other blocks, and records it. */
static void visit_cell(const visit_t *visit)
{
    ptx_remote_cell_t *remote = &visit->owner->checker->remote[visit->offset / 4];
    if (!compare_owner(visit) && !compare(visit, &remote->writer, false))
        compare(visit, &remote->reader, true);
    record(visit, remote);
}

static void check_lane(const ptx_checked_access_t *access, int lane, const ptx_block_t *owner, uint64_t offset)
{
    ptx_checker_t *checker = owner->checker;
    if (!checker->remote)
        checker->remote = calloc((size_t)owner->shared_bytes / 4 + 4, sizeof *checker->remote);
    if (!checker->remote || access->bytes < 4)
        return;
    rungi_ptx_record_reads(&checker->shared, checker->floor);
    for (int i = 0; i < access->bytes; i += 4) {
        visit_t visit = {.access = access, .lane = lane, .owner = owner, .offset = offset + (uint64_t)i};
        visit_cell(&visit);
    }
}

/* Reports bytes that nobody has written, or that a copy will write. */
static bool check_shadow(const ptx_checked_access_t *access, int lane, const ptx_block_t *owner, uint64_t offset)
{
    ptx_checker_t *checker = owner->checker;
    uint32_t checks = owner->launch->checks;
    unsigned bits = rungi_ptx_shadow_bits(checker->shared_shadow + offset, access->bytes);
    bool is_in_flight = bits & PTX_SHADOW_IN_FLIGHT;
    if (is_in_flight && (checks & RUNG_EMULATOR_CHECK_BARRIERS))
        rungi_ptx_report_bulk_in_flight(access, owner, lane, offset);
    else if ((bits & PTX_SHADOW_UNINITIALIZED) && access->kind != PTX_WRITE &&
             (checks & RUNG_EMULATOR_CHECK_UNINITIALIZED))
        rungi_ptx_report(
            access->warp, RUNG_EMULATOR_UNINITIALIZED, lane, access->address[lane], access->bytes,
            "%s of %d bytes at byte offset %llu of the shared memory of block %lld, which nobody has written",
            rungi_ptx_action_name(access->kind), access->bytes, (unsigned long long)offset,
            (long long)owner->linear_id);
    if (bits && access->kind != PTX_READ)
        rungi_ptx_set_shared_shadow(checker, offset, access->bytes, 0);
    return !is_in_flight;
}

void rungi_ptx_check_remote(const ptx_checked_access_t *access, uint32_t mask)
{
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        uint64_t offset = access->address[lane];
        const ptx_block_t *owner = rungi_ptx_cluster_block(access->warp->block, &offset);
        if ((uint32_t)owner->thread_count == owner->exited)
            rungi_ptx_report(access->warp, RUNG_EMULATOR_USE_AFTER_FREE, lane, access->address[lane], access->bytes,
                             "%s of %d bytes at byte offset %llu of the shared memory of block %lld, which has exited",
                             rungi_ptx_action_name(access->kind), access->bytes, (unsigned long long)offset,
                             (long long)owner->linear_id);
        else if (check_shadow(access, lane, owner, offset) && (owner->launch->checks & RUNG_EMULATOR_CHECK_RACES))
            check_lane(access, lane, owner, offset);
    }
}

void rungi_ptx_check_remote_conflicts(const ptx_checked_access_t *access, uint32_t mask)
{
    const ptx_block_t *owner = access->warp->block;
    for (uint32_t lanes = mask; lanes && access->bytes >= 4; lanes &= lanes - 1)
        for (int i = 0; i < access->bytes; i += 4) {
            int lane = __builtin_ctz(lanes);
            visit_t visit = {
                .access = access, .lane = lane, .owner = owner, .offset = access->address[lane] + (uint64_t)i};
            const ptx_remote_cell_t *cell = &owner->checker->remote[visit.offset / 4];
            if (!compare(&visit, &cell->writer, false))
                compare(&visit, &cell->reader, true);
        }
}
