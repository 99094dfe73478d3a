/* SPDX-License-Identifier: Apache-2.0 */
/* access_checks.c - the state of the checks of a block, and the way of an access through them. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "emulator/checks/checker.h"
#include "emulator/machine/cluster.h"

const char *rungi_ptx_action_name(ptx_access_t kind)
{
    static const char *const names[] = {"read", "write", "atomic access"};
    return names[kind];
}

ptx_party_t rungi_ptx_party(const ptx_checker_t *checker, int32_t pc, int thread)
{
    return (ptx_party_t){.pc = pc, .thread = thread, .block = checker->block->linear_id};
}

/* ---- Creation ------------------------------------------------------------------------------------------------------ */

static size_t part_bytes(const ptx_race_memory_t *memory, int size)
{
    return (size_t)((memory->bytes >> size) + 4) * sizeof(ptx_cell_t);
}

bool rungi_ptx_reserve_parts(ptx_race_memory_t *memory, int size)
{
    if (memory->parts[size] || memory->bytes > SIZE_MAX / sizeof(ptx_cell_t) - 4)
        return memory->parts[size] != NULL;
    void *cells = mmap(NULL, part_bytes(memory, size), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (cells == MAP_FAILED)
        return false;
    madvise(cells, part_bytes(memory, size), MADV_HUGEPAGE);
    memory->parts[size] = cells;
    return true;
}

static void forget_parts(const ptx_race_memory_t *memory)
{
    for (int size = 0; size < PTX_CELL_PARTS; size++)
        if (memory->parts[size])
            madvise(memory->parts[size], part_bytes(memory, size), MADV_DONTNEED);
}

static void free_parts(const ptx_race_memory_t *memory)
{
    for (int size = 0; size < PTX_CELL_PARTS; size++)
        if (memory->parts[size])
            munmap(memory->parts[size], part_bytes(memory, size));
}

static bool allocate(ptx_checker_t *checker)
{
    const ptx_block_t *block = checker->block;
    size_t warps = (size_t)block->warp_count, shared = (size_t)block->shared_bytes + 16;
    size_t clock = (size_t)checker->clock_count;
    checker->shared_shadow = malloc(shared);
    checker->shared.cells = calloc(shared / 4 + 4, sizeof *checker->shared.cells);
    checker->shared.reads = malloc(PTX_LOGGED_READS_MAX * sizeof *checker->shared.reads);
    checker->global.reads = malloc(PTX_LOGGED_READS_MAX * sizeof *checker->global.reads);
    checker->shared.lists = malloc(PTX_LOGGED_LISTS_MAX * sizeof *checker->shared.lists);
    checker->global.lists = malloc(PTX_LOGGED_LISTS_MAX * sizeof *checker->global.lists);
    checker->global.base = PTX_GLOBAL_BASE;
    rungi_ptx_divide(&checker->shared, shared);
    rungi_ptx_divide(&checker->global, block->launch->global_bytes);
    checker->allocation_of = calloc((size_t)block->launch->module->instruction_count + 1,
                                    sizeof *checker->allocation_of);
    checker->warp_time = calloc(warps, sizeof *checker->warp_time);
    checker->warp_synced = calloc(warps, sizeof *checker->warp_synced);
    checker->lane_synced = calloc(warps, sizeof *checker->lane_synced);
    checker->clocks = calloc(warps * clock, sizeof *checker->clocks);
    checker->fenced = calloc(warps * clock, sizeof *checker->fenced);
    checker->proxy_fenced = calloc(warps, sizeof *checker->proxy_fenced);
    checker->has_fenced = calloc(warps, sizeof *checker->has_fenced);
    bool is_in_cluster = clock > warps;
    checker->published = is_in_cluster ? calloc(warps * clock, sizeof *checker->published) : NULL;
    checker->has_published = calloc(warps, sizeof *checker->has_published);
    checker->barrier_clocks = calloc(clock * PTX_BARRIERS, sizeof *checker->barrier_clocks);
    checker->fenced_arrivals = calloc(clock * 2, sizeof *checker->fenced_arrivals);
    bool has_lists = checker->shared.lists && checker->global.lists;
    return has_lists && checker->shared_shadow && checker->shared.cells && checker->shared.reads &&
           checker->global.reads && checker->allocation_of && checker->warp_time && checker->warp_synced &&
           checker->lane_synced && checker->clocks && checker->fenced && checker->has_fenced &&
           checker->barrier_clocks && checker->fenced_arrivals && checker->proxy_fenced && checker->has_published &&
           (checker->published || !is_in_cluster);
}

/* Reserves the cells of global memory. Without them, races in global memory are not found. */
static void reserve_cells(ptx_checker_t *checker)
{
    uint64_t cells = checker->block->launch->global_bytes / 4 + 4;
    if (!(checker->block->launch->checks & RUNG_EMULATOR_CHECK_RACES) || cells > SIZE_MAX / sizeof(ptx_cell_t))
        return;
    checker->global_cell_bytes = cells * sizeof(ptx_cell_t);
    void *memory = mmap(NULL, checker->global_cell_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    checker->global.cells = memory == MAP_FAILED ? NULL : memory;
    if (checker->global.cells) /* faults of small pages take longer than the accesses */
        madvise(memory, checker->global_cell_bytes, MADV_HUGEPAGE);
}

rung_status rungi_ptx_check_block_create(ptx_block_t *block)
{
    ptx_checker_t *checker = calloc(1, sizeof *checker);
    if (!checker)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the checks of a block");
    block->checker = checker;
    checker->block = block;
    checker->clock_count = block->warp_count * rungi_ptx_cluster_size(block->launch);
    checker->first_warp = block->warp_count * (int)block->cluster_rank;
    if (!allocate(checker))
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the checks of a block");
    reserve_cells(checker);
    return RUNG_OK;
}

void rungi_ptx_check_block_free(ptx_block_t *block)
{
    ptx_checker_t *checker = block->checker;
    if (!checker)
        return;
    if (checker->global.cells)
        munmap(checker->global.cells, checker->global_cell_bytes);
    free_parts(&checker->shared);
    free_parts(&checker->global);
    for (int i = 0; checker->lane_synced && i < block->warp_count; i++)
        free(checker->lane_synced[i]);
    void *const parts[] = {checker->shared_shadow,
                           checker->shared.cells,
                           checker->allocation_of,
                           checker->warp_time,
                           checker->warp_synced,
                           checker->lane_synced,
                           checker->clocks,
                           checker->fenced,
                           checker->has_fenced,
                           checker->barrier_clocks,
                           checker->fenced_arrivals,
                           checker->sync.variables,
                           checker->sync.clocks,
                           checker->shared.reads,
                           checker->global.reads,
                           checker->shared.lists,
                           checker->global.lists,
                           checker->remote,
                           checker->proxy_fenced,
                           checker->published,
                           checker->has_published,
                           checker->cluster_sync.variables,
                           checker->cluster_sync.clocks};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
    free(checker);
    block->checker = NULL;
}

/* ---- Start and end of a block -------------------------------------------------------------------------------------- */

void rungi_ptx_checker_restart(ptx_checker_t *checker)
{
    memset(checker->shared.cells, 0, ((size_t)checker->block->shared_bytes / 4 + 4) * sizeof(ptx_cell_t));
    if (checker->global.cells)
        madvise(checker->global.cells, checker->global_cell_bytes, MADV_DONTNEED);
    forget_parts(&checker->shared);
    forget_parts(&checker->global);
    for (int i = 0; i < checker->block->warp_count; i++)
        if (checker->lane_synced[i])
            memset(checker->lane_synced[i], 0, (size_t)PTX_WARP_LANES * PTX_WARP_LANES * sizeof **checker->lane_synced);
    ptx_launch_checker_t *launch = checker->block->launch->checker;
    if (launch && launch->cluster_size > 1) {
        const ptx_block_accesses_t *own = &launch->accesses[checker->block->worker];
        madvise(own->cluster_words, launch->cluster_word_bytes, MADV_DONTNEED);
        madvise(own->cluster_bytes, launch->cluster_byte_bytes, MADV_DONTNEED);
    }
    checker->time = 0;
}

static void clear_table(ptx_sync_table_t *table)
{
    if (table->count > 0)
        memset(table->variables, 0, (size_t)table->capacity * sizeof *table->variables);
    table->count = 0;
}

static int64_t cluster_of(const ptx_block_t *block)
{
    const uint32_t *grid = block->launch->grid, *size = block->launch->cluster, *id = block->id;
    int64_t across = grid[0] / size[0], down = grid[1] / size[1];
    return id[0] / size[0] + across * (id[1] / size[1] + down * (id[2] / size[2]));
}

void rungi_ptx_check_block_start(ptx_block_t *block)
{
    ptx_checker_t *checker = block->checker;
    if (!checker)
        return;
    size_t warps = (size_t)block->warp_count;
    if (checker->time > PTX_TIME_MAX / 2)
        rungi_ptx_checker_restart(checker);
    checker->floor = checker->start = ++checker->time;
    rungi_ptx_begin_interval(&checker->shared);
    rungi_ptx_begin_interval(&checker->global);
    memset(checker->shared_shadow, PTX_SHADOW_UNINITIALIZED, (size_t)block->shared_bytes);
    checker->shadow_count = block->shared_bytes;
    size_t clock = (size_t)checker->clock_count;
    memset(checker->clocks, 0, warps * clock * sizeof *checker->clocks);
    memset(checker->proxy_fenced, 0, warps * sizeof *checker->proxy_fenced);
    if (checker->remote)
        memset(checker->remote, 0, ((size_t)block->shared_bytes / 4 + 4) * sizeof *checker->remote);
    memset(checker->has_fenced, 0, warps * sizeof *checker->has_fenced);
    memset(checker->has_published, 0, warps * sizeof *checker->has_published);
    memset(checker->barrier_clocks, 0, clock * PTX_BARRIERS * sizeof *checker->barrier_clocks);
    memset(checker->fenced_arrivals, 0, clock * 2 * sizeof *checker->fenced_arrivals);
    for (int i = 0; i < block->warp_count; i++) {
        checker->warp_time[i] = checker->warp_synced[i] = checker->time;
        if (block->warps[i].local_shadow)
            memset(block->warps[i].local_shadow, PTX_SHADOW_UNINITIALIZED, PTX_WARP_LANES * (size_t)block->local_bytes);
    }
    clear_table(&checker->sync);
    clear_table(&checker->cluster_sync);
    checker->copies_in_flight = 0;
    checker->block_has_fenced = false;
    checker->acquired_cluster = -1;
    checker->cluster = cluster_of(block);
}

void rungi_ptx_check_block_end(ptx_block_t *block)
{
    (void)block;
}

/* ---- Accesses ------------------------------------------------------------------------------------------------------ */

static uint32_t check_global(const ptx_checked_access_t *access, uint32_t mask)
{
    ptx_checker_t *checker = access->warp->block->checker;
    mask = rungi_ptx_check_global(access, mask);
    if (access->kind != PTX_READ && checker->copies_in_flight > 0)
        rungi_ptx_check_copy_sources(access, mask);
    if (!mask || !checker->global.cells)
        return mask;
    if (rungi_ptx_is_strong(access))
        rungi_ptx_check_strong_access(access, mask, false);
    rungi_ptx_check_races(access, mask, &checker->global);
    rungi_ptx_check_block_races(access, mask);
    return mask;
}

static void check_shared(const ptx_checked_access_t *access, uint32_t mask)
{
    const ptx_block_t *block = access->warp->block;
    mask = rungi_ptx_check_shared_bounds(access, mask);
    if (!mask)
        return;
    mask = rungi_ptx_check_shared_bytes(access, mask);
    if (!mask || !(block->launch->checks & RUNG_EMULATOR_CHECK_RACES))
        return;
    if (rungi_ptx_is_strong(access))
        rungi_ptx_check_strong_access(access, mask, true);
    if (block->checker->remote)
        rungi_ptx_check_remote_conflicts(access, mask);
    rungi_ptx_check_races(access, mask, &block->checker->shared);
}

static uint32_t check_parameters(const ptx_checked_access_t *access, uint32_t mask)
{
    if (access->kind == PTX_READ)
        return mask;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        if (mask >> lane & 1)
            rungi_ptx_report(access->warp, RUNG_EMULATOR_READ_ONLY, lane, access->address[lane], access->bytes,
                             "%s of %d bytes at byte offset %llu of the kernel's parameters, which are read-only",
                             rungi_ptx_action_name(access->kind), access->bytes,
                             (unsigned long long)access->address[lane]);
    return 0;
}

static uint32_t check_space(const ptx_checked_access_t *access, ptx_space_t space, uint32_t mask)
{
    switch (space) {
    case PTX_SPACE_SHARED: check_shared(access, mask); return mask;
    case PTX_SPACE_SHARED_CLUSTER: rungi_ptx_check_remote(access, mask); return mask;
    case PTX_SPACE_LOCAL: rungi_ptx_check_local_bytes(access, mask); return mask;
    case PTX_SPACE_PARAM: return check_parameters(access, mask);
    default: return check_global(access, mask);
    }
}

uint32_t rungi_ptx_check_access(const ptx_checked_access_t *access)
{
    uint32_t left = access->mask, valid = 0;
    if (access->instruction->space != PTX_SPACE_GENERIC && access->instruction->space != PTX_SPACE_SHARED_CLUSTER)
        return check_space(access, access->space[__builtin_ctz(left)], left);
    while (left) { /* generic addresses of one access may be in several spaces */
        ptx_space_t space = access->space[__builtin_ctz(left)];
        uint32_t same = 0;
        for (uint32_t lanes = left; lanes; lanes &= lanes - 1)
            same |= (uint32_t)(access->space[__builtin_ctz(lanes)] == space) << __builtin_ctz(lanes);
        valid |= check_space(access, space, same);
        left &= ~same;
    }
    return valid;
}
