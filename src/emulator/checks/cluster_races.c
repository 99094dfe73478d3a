/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_races.c - races between the blocks of one cluster, in global memory.
 *
 * The blocks of a cluster run together on one thread, and vector clocks have an entry for each warp of the cluster. So an
 * access is compared at once with earlier ones of the other blocks. block_races.c compares different clusters. */
#include "emulator/checks/checker.h"
#include "emulator/machine/cluster.h"

/* One lane's access to a word or a byte. */
typedef struct visit {
    const ptx_checked_access_t *access;
    ptx_stamp_t stamp;
    uint64_t address;
    int bytes; /* 4 or 1 */
} visit_t;

static int rank_of(ptx_stamp_t stamp)
{
    return (int)(stamp >> PTX_STAMP_RANK_SHIFT & 15);
}

static bool is_strong(ptx_stamp_t stamp)
{
    return stamp >> PTX_STAMP_STRONG_SHIFT & 1;
}

static ptx_stamp_t stamp_of(const ptx_checked_access_t *access, int lane)
{
    const ptx_warp_t *warp = access->warp;
    ptx_stamp_t stamp = rungi_ptx_stamp(warp->block->checker, warp->index, lane, warp->pc, rungi_ptx_is_strong(access));
    return stamp | (ptx_stamp_t)warp->block->cluster_rank << PTX_STAMP_RANK_SHIFT;
}

/* Returns whether an earlier access happened before those of the visiting warp, or belongs to its block, whose accesses are
 * compared elsewhere. */
static bool is_ordered(const visit_t *visit, ptx_stamp_t earlier)
{
    const ptx_warp_t *warp = visit->access->warp;
    const ptx_block_t *block = &warp->block->cluster->blocks[rank_of(earlier)];
    uint32_t time = rungi_ptx_stamp_time(earlier);
    if (block == warp->block || time < block->checker->start)
        return true;
    int entry = block->checker->first_warp + rungi_ptx_stamp_thread(earlier) / PTX_WARP_LANES;
    return time <= rungi_ptx_known_time(warp->block->checker, warp->index, entry);
}

static ptx_party_t party_of(const visit_t *visit, ptx_stamp_t stamp)
{
    const ptx_block_t *block = &visit->access->warp->block->cluster->blocks[rank_of(stamp)];
    return rungi_ptx_party(block->checker, (int32_t)(stamp & PTX_STAMP_PC_MASK), rungi_ptx_stamp_thread(stamp));
}

/* Reports the accesses if nothing orders them. Returns whether they conflict. */
static bool compare(const visit_t *visit, ptx_stamp_t earlier, bool earlier_reads)
{
    if ((is_strong(earlier) && is_strong(visit->stamp)) || is_ordered(visit, earlier))
        return false;
    bool reads = visit->access->kind == PTX_READ;
    ptx_party_t now = party_of(visit, visit->stamp), before = party_of(visit, earlier);
    rungi_ptx_report_blocks(visit->access->warp->block->launch, reads ? &before : &now, reads ? &now : &before,
                            !reads && !earlier_reads, visit->address, visit->bytes);
    return true;
}

/* Compares the access with those of other blocks, up to the first conflict. */
static bool compare_cell(const visit_t *visit, const ptx_cluster_cell_t *cell)
{
    bool conflicts = compare(visit, cell->writers[0], false) || compare(visit, cell->writers[1], false);
    if (conflicts || visit->access->kind == PTX_READ)
        return conflicts;
    return compare(visit, cell->readers[0], true) || compare(visit, cell->readers[1], true);
}

/* A read takes the place of one that happened before: what is ordered after the later read is ordered after both. */
static void record(const visit_t *visit, ptx_cluster_cell_t *cell)
{
    if (visit->access->kind != PTX_READ)
        cell->writers[is_strong(visit->stamp)] = visit->stamp;
    else
        cell->readers[!is_ordered(visit, cell->readers[0])] = visit->stamp;
}

static void visit_word(const visit_t *visit, const ptx_block_accesses_t *accesses, bool has_bytes)
{
    uint64_t offset = visit->address - PTX_GLOBAL_BASE;
    bool conflicts = compare_cell(visit, &accesses->cluster_words[offset / 4]);
    for (uint64_t i = 0; has_bytes && !conflicts && i < 4; i++)
        conflicts = compare_cell(visit, &accesses->cluster_bytes[offset + i]);
    record(visit, &accesses->cluster_words[offset / 4]);
}

static void visit_byte(const visit_t *visit, const ptx_block_accesses_t *accesses)
{
    uint64_t offset = visit->address - PTX_GLOBAL_BASE;
    if (!compare_cell(visit, &accesses->cluster_words[offset / 4]))
        compare_cell(visit, &accesses->cluster_bytes[offset]);
    record(visit, &accesses->cluster_bytes[offset]);
}

static void check_lane(const ptx_checked_access_t *access, int lane)
{
    const ptx_block_t *block = access->warp->block;
    const ptx_launch_checker_t *state = block->launch->checker;
    const ptx_block_accesses_t *accesses = &state->accesses[block->worker];
    visit_t visit = {.access = access, .stamp = stamp_of(access, lane), .bytes = access->bytes < 4 ? 1 : 4};
    const unsigned char *page = &state->byte_pages[(access->address[lane] - PTX_GLOBAL_BASE) >> PTX_PAGE_SHIFT];
    bool has_bytes = __atomic_load_n(page, __ATOMIC_RELAXED);
    for (int i = 0; i < access->bytes; i += visit.bytes) {
        visit.address = access->address[lane] + (uint64_t)i;
        if (visit.bytes == 4)
            visit_word(&visit, accesses, has_bytes);
        else
            visit_byte(&visit, accesses);
    }
}

void rungi_ptx_check_cluster_races(const ptx_checked_access_t *access, uint32_t mask)
{
    uint64_t previous = UINT64_MAX;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        if (access->address[lane] != previous) /* of neighbors with one address, the first stands for all */
            check_lane(access, lane);
        previous = access->address[lane];
    }
}
