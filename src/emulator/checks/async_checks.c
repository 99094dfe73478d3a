/* SPDX-License-Identifier: Apache-2.0 */
/* async_checks.c - checks of what the asynchronous proxy does to shared memory: bulk copies that complete at an mbarrier, bulk
 * stores, wgmma, and mbarriers themselves.
 *
 * The destination of a copy is in flight until a thread waits for the copy's mbarrier. From then on, the waiting thread
 * counts as the writer, so a reader that neither waits nor synchronizes with a thread that waited is in a race. The source of
 * a bulk store or of wgmma is being read until its group is waited for; the read is recorded again at that time. */
#include <string.h>

#include "emulator/checks/checker.h"
#include "emulator/machine/cluster.h"
#include "emulator/machine/mbarrier.h"

/* ---- Copies -------------------------------------------------------------------------------------------------------- */

void rungi_ptx_check_in_flight(ptx_block_t *block, uint32_t to, uint32_t bytes)
{
    if (block->checker)
        rungi_ptx_set_shared_shadow(block->checker, to, bytes, PTX_SHADOW_IN_FLIGHT);
}

void rungi_ptx_check_landed(ptx_warp_t *warp, int lane, uint32_t to, uint32_t bytes, int32_t pc)
{
    ptx_checker_t *checker = warp->block->checker;
    if (!checker)
        return;
    rungi_ptx_set_shared_shadow(checker, to, bytes, 0);
    /* The strong bit marks a write of the asynchronous proxy, which needs no proxy fence. */
    ptx_stamp_t stamp = rungi_ptx_stamp(checker, warp->index, lane, pc, true);
    for (uint32_t i = to / 4; i < (to + bytes) / 4; i++) {
        checker->shared.cells[i].writer = stamp;
        if (checker->remote)
            checker->remote[i].writer = (ptx_remote_access_t){0};
    }
    rungi_ptx_mark_written(&checker->shared, to, bytes);
}

/* Finds a bulk copy in flight to one of the bytes. */
static const ptx_bulk_copy_t *find_copy(const ptx_block_t *block, uint64_t address, int bytes)
{
    const ptx_cluster_t *cluster = block->cluster;
    for (int i = 0; i < cluster->copy_count; i++) {
        const ptx_bulk_copy_t *copy = &cluster->copies[i];
        if (copy->block == block && copy->data && copy->to < address + (uint64_t)bytes &&
            address < (uint64_t)copy->to + copy->bytes)
            return copy;
    }
    return NULL;
}

bool rungi_ptx_report_bulk_in_flight(const ptx_checked_access_t *access, const ptx_block_t *block, int lane,
                                     uint64_t address)
{
    const ptx_bulk_copy_t *copy = find_copy(block, address, access->bytes);
    if (!copy)
        return false;
    if (copy->is_reduction && access->kind == PTX_ATOMIC) /* reductions may overlap */
        return true;
    ptx_party_t here = rungi_ptx_party(access->warp->block->checker, access->warp->pc,
                                       PTX_WARP_LANES * access->warp->index + lane);
    ptx_party_t other = {.pc = copy->pc, .thread = copy->thread, .block = copy->issuer->linear_id};
    rungi_ptx_report_pair(
        block->launch, RUNG_EMULATOR_ASYNC_COPY, &here, &other, address, access->bytes,
        "%s of %d bytes at byte offset %llu of shared memory while a bulk copy to it is in flight: no "
        "thread has waited for the phase of the mbarrier at byte offset %u that the copy completes",
        rungi_ptx_action_name(access->kind), access->bytes, (unsigned long long)address, copy->mbarrier);
    return true;
}

void rungi_ptx_check_cluster_end(ptx_cluster_t *cluster)
{
    if (!(cluster->launch->checks & RUNG_EMULATOR_CHECK_BARRIERS))
        return;
    for (int i = 0; i < cluster->copy_count; i++) {
        const ptx_bulk_copy_t *copy = &cluster->copies[i];
        ptx_party_t here = {.pc = copy->pc, .thread = copy->thread, .block = copy->issuer->linear_id};
        rungi_ptx_report_pair(
            cluster->launch, RUNG_EMULATOR_ASYNC_COPY, &here, NULL, copy->to, (int)copy->bytes,
            "the block ends while a copy of %u bytes to its shared memory is in flight: no thread has "
            "waited for the mbarrier at byte offset %u",
            copy->bytes, copy->mbarrier);
    }
    for (int b = 0; b < cluster->count; b++)
        for (int w = 0; w < cluster->blocks[b].warp_count; w++) {
            const ptx_warp_t *warp = &cluster->blocks[b].warps[w];
            for (int i = 0; i < warp->read_count; i++) {
                ptx_party_t here = {.pc = warp->reads[i].pc,
                                    .thread = PTX_WARP_LANES * w + warp->reads[i].lane,
                                    .block = cluster->blocks[b].linear_id};
                rungi_ptx_report_pair(cluster->launch, RUNG_EMULATOR_ASYNC_COPY, &here, NULL, warp->reads[i].from,
                                      (int)warp->reads[i].bytes,
                                      "the block ends while %s its shared memory: %s is missing",
                                      warp->reads[i].is_matrix ? "wgmma reads" : "a bulk store reads",
                                      warp->reads[i].is_matrix ? "wgmma.wait_group" : "cp.async.bulk.wait_group");
            }
        }
}

/* ---- Reads of the asynchronous proxy ------------------------------------------------------------------------------- */

void rungi_ptx_check_read_begins(ptx_block_t *block, uint32_t from, uint32_t bytes)
{
    ptx_checker_t *checker = block->checker;
    if (!checker)
        return;
    for (uint32_t i = from; i < from + bytes; i++) {
        checker->shadow_count += checker->shared_shadow[i] == 0;
        checker->shared_shadow[i] |= PTX_SHADOW_BEING_READ;
    }
}

void rungi_ptx_check_read_ends(ptx_warp_t *warp, const ptx_async_read_t *read)
{
    ptx_checker_t *checker = warp->block->checker;
    if (!checker)
        return;
    ptx_stamp_t stamp = rungi_ptx_stamp(checker, warp->index, read->lane, read->pc, false);
    for (uint32_t i = read->from; i < read->from + read->bytes; i++) {
        unsigned char *shadow = &checker->shared_shadow[i];
        checker->shadow_count -= *shadow == PTX_SHADOW_BEING_READ;
        *shadow &= (unsigned char)~PTX_SHADOW_BEING_READ;
    }
    for (uint32_t i = read->from / 4; i < (read->from + read->bytes) / 4; i++) {
        ptx_cell_t *cell = &checker->shared.cells[i];
        if (rungi_ptx_stamp_thread(cell->reader) != rungi_ptx_stamp_thread(stamp))
            cell->reader2 = cell->reader;
        cell->reader = stamp;
    }
    checker->shared.has_words = true;
}

bool rungi_ptx_report_being_read(const ptx_checked_access_t *access, int lane)
{
    const ptx_block_t *block = access->warp->block;
    uint64_t address = access->address[lane];
    for (int w = 0; w < block->warp_count; w++)
        for (int i = 0; i < block->warps[w].read_count; i++) {
            const ptx_async_read_t *read = &block->warps[w].reads[i];
            if (read->from >= address + (uint64_t)access->bytes || address >= (uint64_t)read->from + read->bytes)
                continue;
            ptx_party_t here = rungi_ptx_party(block->checker, access->warp->pc,
                                               PTX_WARP_LANES * access->warp->index + lane);
            ptx_party_t other = rungi_ptx_party(block->checker, read->pc, PTX_WARP_LANES * w + read->lane);
            rungi_ptx_report_pair(
                block->launch, RUNG_EMULATOR_ASYNC_COPY, &here, &other, address, access->bytes,
                "%s of %d bytes at byte offset %llu of shared memory that %s may still read: no %s has "
                "ended its group",
                rungi_ptx_action_name(access->kind), access->bytes, (unsigned long long)address,
                read->is_matrix ? "wgmma" : "a bulk store",
                read->is_matrix ? "wgmma.wait_group" : "cp.async.bulk.wait_group.read");
            return true;
        }
    return false;
}

void rungi_ptx_check_proxy_read(ptx_warp_t *warp, int lane, uint32_t from, uint32_t bytes)
{
    const ptx_checker_t *checker = warp->block->checker;
    if (!checker || !(warp->block->launch->checks & RUNG_EMULATOR_CHECK_RACES))
        return;
    ptx_cell_t *const *parts = checker->shared.parts;
    uint32_t step = parts[PTX_CELL_BYTE] ? 1 : parts[PTX_CELL_HALF] ? 2 : 4;
    for (uint32_t i = from; i < from + bytes; i += step) {
        ptx_stamp_t writer = rungi_ptx_last_writer(&checker->shared, i);
        uint32_t time = rungi_ptx_stamp_time(writer);
        int thread = rungi_ptx_stamp_thread(writer);
        bool is_asynchronous = writer >> PTX_STAMP_STRONG_SHIFT & 1;
        if (time < checker->start || is_asynchronous || time <= checker->proxy_fenced[thread / PTX_WARP_LANES])
            continue;
        ptx_party_t here = rungi_ptx_party(checker, (int32_t)(writer & PTX_STAMP_PC_MASK), thread);
        ptx_party_t other = rungi_ptx_party(checker, warp->pc, PTX_WARP_LANES * warp->index + lane);
        rungi_ptx_report_pair(
            warp->block->launch, RUNG_EMULATOR_ASYNC_COPY, &here, &other, i, (int)step,
            "a write by thread %d at byte offset %u of shared memory is not visible to the asynchronous "
            "proxy, which reads it: fence.proxy.async must follow the write",
            thread, i);
        return;
    }
}

/* ---- mbarriers ----------------------------------------------------------------------------------------------------- */

uint64_t rungi_ptx_check_mbarrier_write(ptx_warp_t *warp, int lane, uint64_t offset)
{
    ptx_checker_t *checker = warp->block->checker;
    ptx_space_t space[PTX_WARP_LANES];
    uint64_t address[PTX_WARP_LANES];
    if (!checker)
        return 0;
    address[lane] = offset;
    space[lane] = PTX_SPACE_SHARED;
    ptx_checked_access_t access = {.warp = warp,
                                   .instruction = &warp->block->launch->module->instructions[warp->pc],
                                   .mask = 1u << lane,
                                   .address = address,
                                   .space = space,
                                   .bytes = 8,
                                   .kind = PTX_WRITE};
    uint32_t mask = rungi_ptx_check_shared_bytes(&access, access.mask);
    if (mask && (warp->block->launch->checks & RUNG_EMULATOR_CHECK_RACES))
        rungi_ptx_check_races(&access, mask, &checker->shared);
    return rungi_ptx_stamp(checker, warp->index, lane, warp->pc, false);
}

void rungi_ptx_check_mbarrier_use(ptx_warp_t *warp, int lane, uint64_t offset, uint64_t init)
{
    const ptx_checker_t *checker = warp->block->checker;
    if (!checker || !(warp->block->launch->checks & RUNG_EMULATOR_CHECK_RACES) ||
        rungi_ptx_happened_before(checker, init, warp->index, lane))
        return;
    ptx_party_t here = rungi_ptx_party(checker, (int32_t)(init & PTX_STAMP_PC_MASK), rungi_ptx_stamp_thread(init));
    ptx_party_t other = rungi_ptx_party(checker, warp->pc, PTX_WARP_LANES * warp->index + lane);
    rungi_ptx_report_pair(
        warp->block->launch, RUNG_EMULATOR_RACE, &here, &other, offset, 8,
        "thread %d initializes the mbarrier at byte offset %llu of shared memory and thread %d uses it: no "
        "barrier or fence orders them",
        here.thread, (unsigned long long)offset, other.thread);
}
