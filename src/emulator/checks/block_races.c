/* SPDX-License-Identifier: Apache-2.0 */
/* block_races.c - races between the blocks of a launch, in global memory.
 *
 * Blocks run in any order, on several threads. For each word, each thread keeps the lowest and the highest of its blocks that
 * read it and that wrote it; the launch's end merges and compares them. So the findings do not depend on the order. Kernels
 * that synchronize blocks with fences and atomics run their blocks in order on one thread, since the order then decides what
 * is synchronized.
 *
 * Blocks are numbered by cluster and then by rank, and only blocks of different clusters are compared here: those of one
 * cluster have its barrier (cluster_races.c). Without clusters, each block is a cluster. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/error.h"
#include "emulator/checks/checker.h"
#include "emulator/machine/cluster.h"

/* ---- Keys ---------------------------------------------------------------------------------------------------------- */

/* A key sorts by cluster; of one cluster's accesses, a weak one comes first in `low` keys and last in `high` keys. The fields,
 * from the highest: cluster, strength, rank (rank_bits), pc, thread. */
enum { KEY_RANK_SHIFT = 31, KEY_PC_SHIFT = 10, KEY_THREAD_MASK = 1023, KEY_PC_MASK = PTX_STAMP_PC_MASK };

typedef struct accessor {
    ptx_party_t party; /* its block is a number in the order of clusters */
    int64_t cluster;
    bool exists, is_strong;
} accessor_t;

/* Returns the linear number in the grid of a block in the order of clusters. */
static int64_t linear_of(const ptx_launch_t *launch, int64_t number)
{
    const uint32_t *grid = launch->grid, *size = launch->cluster;
    int64_t cluster = number / launch->checker->cluster_size, rank = number % launch->checker->cluster_size;
    int64_t across = grid[0] / size[0], down = grid[1] / size[1];
    int64_t x = cluster % across * size[0] + rank % size[0];
    int64_t y = cluster / across % down * size[1] + rank / size[0] % size[1];
    int64_t z = cluster / across / down * size[2] + rank / size[0] / size[1];
    return x + grid[0] * (y + grid[1] * z);
}

static uint64_t key_of(const ptx_block_t *block, bool strength, int32_t pc, int thread)
{
    uint64_t cluster = (uint64_t)block->checker->cluster << 1 | (uint64_t)strength;
    return (cluster << block->launch->checker->rank_bits | block->cluster_rank) << KEY_RANK_SHIFT |
           ((uint64_t)pc & KEY_PC_MASK) << KEY_PC_SHIFT | ((uint64_t)thread & KEY_THREAD_MASK);
}

/* A low key is stored inverted, so that 0 means that no key is stored, and the maximum is the lowest. */
static accessor_t accessor_of(const ptx_launch_checker_t *state, uint64_t stored, bool is_low)
{
    uint64_t key = is_low ? ~stored : stored, block = key >> KEY_RANK_SHIFT;
    bool strength = block >> state->rank_bits & 1;
    int64_t cluster = (int64_t)(block >> state->rank_bits >> 1);
    int64_t rank = (int64_t)(block & ((UINT64_C(1) << state->rank_bits) - 1));
    return (accessor_t){.exists = stored != 0,
                        .is_strong = is_low ? strength : !strength,
                        .cluster = cluster,
                        .party = {.block = cluster * state->cluster_size + rank,
                                  .thread = (int32_t)(key & KEY_THREAD_MASK),
                                  .pc = (int32_t)(key >> KEY_PC_SHIFT & KEY_PC_MASK)}};
}

/* ---- Evaluation ---------------------------------------------------------------------------------------------------- */

static bool conflict(const accessor_t *x, const accessor_t *y)
{
    return x->exists && y->exists && x->cluster != y->cluster && !(x->is_strong && y->is_strong);
}

void rungi_ptx_report_blocks(const ptx_launch_t *launch, const ptx_party_t *writer, const ptx_party_t *other,
                             bool other_writes, uint64_t address, int bytes)
{
    const ptx_allocation_t *allocation = rungi_ptx_find_allocation(launch->emulator, address);
    bool is_named = allocation && allocation->name[0];
    uint64_t offset = allocation ? address - allocation->start : address - PTX_GLOBAL_BASE;
    rungi_ptx_report_pair(
        launch, RUNG_EMULATOR_RACE, writer, other, address, bytes,
        "write by block %lld and %s by block %lld at byte offset %llu of %s%s%s: nothing orders the blocks",
        (long long)writer->block, other_writes ? "write" : "read", (long long)other->block, (unsigned long long)offset,
        is_named ? "\"" : "", is_named ? allocation->name : "global memory", is_named ? "\"" : "");
}

static void report(const ptx_launch_t *launch, const accessor_t *writer, const accessor_t *other, bool other_writes,
                   uint64_t address, int bytes)
{
    ptx_party_t first = writer->party, second = other->party;
    first.block = linear_of(launch, first.block);
    second.block = linear_of(launch, second.block);
    rungi_ptx_report_blocks(launch, &first, &second, other_writes, address, bytes);
}

/* Reports the first conflict of the blocks that read and wrote some bytes. */
static void evaluate(const ptx_launch_t *launch, const ptx_block_range_t *read, const ptx_block_range_t *written,
                     uint64_t address, int bytes)
{
    const ptx_launch_checker_t *state = launch->checker;
    accessor_t writers[2] = {accessor_of(state, written->low, true), accessor_of(state, written->high, false)};
    accessor_t readers[2] = {accessor_of(state, read->low, true), accessor_of(state, read->high, false)};
    if (!writers[0].exists)
        return;
    if (conflict(&writers[0], &writers[1])) {
        report(launch, &writers[0], &writers[1], true, address, bytes);
        return;
    }
    for (int w = 0; w < 2; w++)
        for (int r = 0; r < 2; r++)
            if (conflict(&writers[w], &readers[r])) {
                report(launch, &writers[w], &readers[r], false, address, bytes);
                return;
            }
}

static void merge(ptx_block_range_t *range, const ptx_block_range_t *other)
{
    range->low = other->low > range->low ? other->low : range->low;
    range->high = other->high > range->high ? other->high : range->high;
}

/* Merges what all threads know about a word, or about one of its bytes. */
static void evaluate_word(const ptx_launch_t *launch, size_t word, uint64_t address, int bytes)
{
    const ptx_launch_checker_t *checker = launch->checker;
    ptx_block_range_t read = {0, 0}, written = {0, 0};
    for (int i = 0; i < checker->thread_count; i++) {
        merge(&read, &checker->accesses[i].word_reads[word]);
        merge(&written, &checker->accesses[i].word_writes[word]);
    }
    for (int i = 0; bytes == 1 && i < checker->thread_count; i++) {
        merge(&read, &checker->accesses[i].byte_reads[address - PTX_GLOBAL_BASE]);
        merge(&written, &checker->accesses[i].byte_writes[address - PTX_GLOBAL_BASE]);
    }
    evaluate(launch, &read, &written, address, bytes);
}

static void evaluate_page(const ptx_launch_t *launch, size_t page)
{
    const ptx_launch_checker_t *checker = launch->checker;
    size_t first = page << PTX_PAGE_SHIFT, end = first + (1 << PTX_PAGE_SHIFT);
    if (end > launch->global_bytes)
        end = (size_t)launch->global_bytes;
    for (size_t at = first; at < end; at += 4) {
        if (!checker->byte_pages[page])
            evaluate_word(launch, at / 4, PTX_GLOBAL_BASE + at, 4);
        for (size_t i = at; checker->byte_pages[page] && i < at + 4; i++)
            evaluate_word(launch, at / 4, PTX_GLOBAL_BASE + i, 1);
    }
}

/* ---- Recording ----------------------------------------------------------------------------------------------------- */

/* Returns whether an access happened before those of a block. Accesses of its cluster are compared elsewhere. */
static bool is_released(const ptx_launch_checker_t *state, const accessor_t *accessor, const ptx_checker_t *checker)
{
    return !accessor->exists || accessor->cluster == checker->cluster ||
           (accessor->cluster <= checker->acquired_cluster && state->released[accessor->party.block]);
}

/* The bytes that one lane accesses: reads and writes of words, or of single bytes. */
typedef struct target {
    ptx_block_range_t *reads, *writes;
} target_t;

/* Forgets accesses of other blocks that happened before this block's. Conflicts among them are reported first. */
static void forget_ordered(ptx_launch_t *launch, const ptx_checker_t *checker, target_t target, uint64_t address,
                           int bytes)
{
    const ptx_launch_checker_t *state = launch->checker;
    accessor_t accessors[4] = {
        accessor_of(state, target.reads->low, true), accessor_of(state, target.reads->high, false),
        accessor_of(state, target.writes->low, true), accessor_of(state, target.writes->high, false)};
    bool has_others = false;
    for (int i = 0; i < 4; i++) {
        if (!is_released(state, &accessors[i], checker))
            return;
        has_others = has_others || (accessors[i].exists && accessors[i].cluster != checker->cluster);
    }
    if (!has_others)
        return;
    evaluate(launch, target.reads, target.writes, address, bytes);
    *target.reads = *target.writes = (ptx_block_range_t){0, 0};
}

/* Publishes the accesses of the warp's block, and those of blocks of its cluster that the warp has synchronized with. */
static void publish(const ptx_launch_checker_t *state, const ptx_warp_t *warp)
{
    const ptx_block_t *block = warp->block;
    unsigned char *released = state->released + block->checker->cluster * state->cluster_size;
    released[block->cluster_rank] = 1;
    for (int rank = 0; rank < state->cluster_size; rank++) {
        const ptx_checker_t *other = block->cluster->blocks[rank].checker;
        for (int i = 0; rank != (int)block->cluster_rank && i < block->warp_count; i++)
            if (rungi_ptx_known_time(block->checker, warp->index, other->first_warp + i) >= other->start)
                released[rank] = 1;
    }
}

/* A strong access acquires what the blocks that wrote the bytes have released, and releases this block's accesses. */
static void synchronize(ptx_launch_checker_t *state, ptx_checker_t *checker, const ptx_checked_access_t *access,
                        const ptx_block_range_t *written)
{
    accessor_t writer = accessor_of(state, written->high, false);
    if (access->kind != PTX_WRITE && writer.exists && writer.is_strong && writer.cluster > checker->acquired_cluster &&
        writer.cluster != checker->cluster)
        checker->acquired_cluster = writer.cluster;
    if (access->kind != PTX_READ && checker->block_has_fenced)
        publish(state, access->warp);
}

/* The keys of one access. */
typedef struct keys {
    uint64_t low, high; /* of lane 0; the thread is added */
    bool is_read, is_strong;
} keys_t;

static inline void record(ptx_block_range_t *range, const keys_t *keys, int lane)
{
    uint64_t low = keys->low - (uint64_t)lane, high = keys->high + (uint64_t)lane;
    if (low > range->low)
        range->low = low;
    if (high > range->high)
        range->high = high;
}

/* Threads may mark the same page. They are read when the launch has ended. */
static void mark_page(unsigned char *pages, uint64_t offset)
{
    unsigned char *page = &pages[offset >> PTX_PAGE_SHIFT];
    if (!__atomic_load_n(page, __ATOMIC_RELAXED))
        __atomic_store_n(page, 1, __ATOMIC_RELAXED);
}

static void record_lane(const ptx_checked_access_t *access, const keys_t *keys, int lane)
{
    ptx_launch_t *launch = access->warp->block->launch;
    ptx_checker_t *checker = access->warp->block->checker;
    ptx_launch_checker_t *state = launch->checker;
    uint64_t offset = access->address[lane] - PTX_GLOBAL_BASE;
    bool by_bytes = access->bytes < 4;
    const ptx_block_accesses_t *own = &state->accesses[access->warp->block->worker];
    target_t target = {by_bytes ? own->byte_reads + offset : own->word_reads + offset / 4,
                       by_bytes ? own->byte_writes + offset : own->word_writes + offset / 4};
    int count = by_bytes ? access->bytes : access->bytes / 4;
    if (!keys->is_read)
        mark_page(state->written_pages, offset);
    if (by_bytes)
        mark_page(state->byte_pages, offset);
    if (keys->is_strong && state->is_sequential)
        synchronize(state, checker, access, target.writes);
    for (int i = 0; i < count; i++, target.reads++, target.writes++) {
        if (checker->acquired_cluster >= 0)
            forget_ordered(launch, checker, target, access->address[lane] + (uint64_t)(by_bytes ? i : 4 * i),
                           by_bytes ? 1 : 4);
        record(keys->is_read ? target.reads : target.writes, keys, lane);
    }
}

/* Records reads of words that synchronize nothing. */
static void record_words(ptx_block_range_t *words, const ptx_checked_access_t *access, uint32_t mask,
                         const keys_t *keys)
{
    int count = access->bytes / 4;
    uint64_t previous = UINT64_MAX;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        ptx_block_range_t *range = words + (access->address[lane] - PTX_GLOBAL_BASE) / 4;
        if (access->address[lane] != previous)
            for (int i = 0; i < count; i++)
                record(&range[i], keys, lane);
        previous = access->address[lane];
    }
}

void rungi_ptx_check_block_races(const ptx_checked_access_t *access, uint32_t mask)
{
    const ptx_block_t *block = access->warp->block;
    const ptx_launch_checker_t *state = block->launch->checker;
    if (!state)
        return;
    if (state->cluster_size > 1)
        rungi_ptx_check_cluster_races(access, mask);
    int thread = PTX_WARP_LANES * access->warp->index;
    keys_t keys = {.is_read = access->kind == PTX_READ, .is_strong = rungi_ptx_is_strong(access)};
    keys.low = ~key_of(block, keys.is_strong, access->warp->pc, thread);
    keys.high = key_of(block, !keys.is_strong, access->warp->pc, thread);
    uint64_t previous = UINT64_MAX;
    if (keys.is_read && !keys.is_strong && access->bytes >= 4 && block->checker->acquired_cluster < 0) {
        record_words(state->accesses[block->worker].word_reads, access, mask, &keys);
        return;
    }
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        if (access->address[lane] != previous) /* of neighbors with one address, the first stands for all */
            record_lane(access, &keys, lane);
        previous = access->address[lane];
    }
}

/* ---- Launches ------------------------------------------------------------------------------------------------------ */

/* Returns whether an instruction lets a block see how far others are: a fence, a strong load or store outside of shared
 * memory, or an atomic whose result is used. */
static bool depends_on_order(const ptx_instruction_t *instruction, ptx_execute_fn fence)
{
    bool is_strong = instruction->flags & (PTX_FLAG_VOLATILE | PTX_FLAG_RELAXED | PTX_FLAG_ACQUIRE | PTX_FLAG_RELEASE);
    bool is_load_or_store = instruction->list_length > 0, has_result = instruction->operand[0] != 0;
    return instruction->execute == fence ||
           (is_strong && instruction->space != PTX_SPACE_SHARED && (is_load_or_store || has_result));
}

/* Returns whether the order of blocks decides what a kernel does. Of a kernel that calls functions, the whole module is
 * searched. */
static bool synchronizes_blocks(const ptx_launch_t *launch)
{
    const ptx_module_t *module = launch->module;
    ptx_execute_fn fence = rungi_ptx_find_executor("fence");
    int32_t first = launch->kernel->first, end = launch->kernel->end;
    for (int32_t i = first; i < end; i++)
        if (module->instructions[i].control == PTX_CONTROL_CALL) {
            first = 0;
            end = module->instruction_count;
            break;
        }
    for (int32_t i = first; i < end; i++)
        if (depends_on_order(&module->instructions[i], fence))
            return true;
    return false;
}

static void *reserve(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE); /* faults of small pages take longer than the accesses */
    return memory;
}

/* Reserves the memory of one thread. */
static bool reserve_accesses(const ptx_launch_checker_t *state, ptx_block_accesses_t *own)
{
    own->word_reads = reserve(state->word_bytes);
    own->word_writes = reserve(state->word_bytes);
    own->byte_reads = reserve(state->byte_bytes);
    own->byte_writes = reserve(state->byte_bytes);
    bool is_complete = own->word_reads && own->word_writes && own->byte_reads && own->byte_writes;
    if (!is_complete || state->cluster_size == 1)
        return is_complete;
    own->cluster_words = reserve(state->cluster_word_bytes);
    own->cluster_bytes = reserve(state->cluster_byte_bytes);
    return own->cluster_words && own->cluster_bytes;
}

static bool create(ptx_launch_checker_t *state, const ptx_launch_t *launch, int threads)
{
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    uint64_t cells = launch->global_bytes + 64;
    if (cells > SIZE_MAX / sizeof(ptx_cluster_cell_t) || blocks > (UINT64_C(1) << 31))
        return false;
    state->word_bytes = (cells / 4 + 1) * sizeof(ptx_block_range_t);
    state->byte_bytes = cells * sizeof(ptx_block_range_t);
    state->cluster_word_bytes = (cells / 4 + 1) * sizeof(ptx_cluster_cell_t);
    state->cluster_byte_bytes = cells * sizeof(ptx_cluster_cell_t);
    state->cluster_size = rungi_ptx_cluster_size(launch);
    while (1 << state->rank_bits < state->cluster_size)
        state->rank_bits++;
    state->page_count = (cells >> PTX_PAGE_SHIFT) + 1;
    state->thread_count = threads;
    state->accesses = calloc((size_t)threads, sizeof *state->accesses);
    bool has_accesses = state->accesses;
    for (int i = 0; has_accesses && i < threads; i++)
        has_accesses = reserve_accesses(state, &state->accesses[i]);
    state->written_pages = calloc(state->page_count, 1);
    state->byte_pages = calloc(state->page_count, 1);
    state->released = calloc(blocks, 1);
    return has_accesses && state->written_pages && state->byte_pages && state->released;
}

static void release(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

static void destroy(ptx_launch_checker_t *state)
{
    for (int i = 0; state->accesses && i < state->thread_count; i++) {
        release(state->accesses[i].word_reads, state->word_bytes);
        release(state->accesses[i].word_writes, state->word_bytes);
        release(state->accesses[i].byte_reads, state->byte_bytes);
        release(state->accesses[i].byte_writes, state->byte_bytes);
        release(state->accesses[i].cluster_words, state->cluster_word_bytes);
        release(state->accesses[i].cluster_bytes, state->cluster_byte_bytes);
    }
    free(state->accesses);
    free(state->written_pages);
    free(state->byte_pages);
    free(state->released);
    free(state);
}

rung_status rungi_ptx_check_launch_start(ptx_launch_t *launch, int *threads)
{
    rung_emulator *emulator = launch->emulator;
    if (emulator->shadow && !(launch->checks & RUNG_EMULATOR_CHECK_UNINITIALIZED)) {
        munmap(emulator->shadow,
               emulator->global_bytes); /* the launch's writes stay unseen: all memory is initialized */
        emulator->shadow = NULL;
    }
    int64_t blocks = (int64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    if (!(launch->checks & RUNG_EMULATOR_CHECK_RACES) || blocks == 1)
        return RUNG_OK;
    bool is_ordered = synchronizes_blocks(launch);
    if (is_ordered)
        *threads = 1;
    ptx_launch_checker_t *state = calloc(1, sizeof *state);
    if (!state || !create(state, launch, *threads)) {
        if (state)
            destroy(state);
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory to check for races between blocks; launch without "
                                                 "RUNG_EMULATOR_CHECK_RACES");
    }
    state->is_ordered = is_ordered;
    state->is_sequential = *threads == 1;
    launch->checker = state;
    return RUNG_OK;
}

/* What blocks have written is initialized for the next launch. */
static void initialize_page(const ptx_launch_t *launch, size_t page)
{
    unsigned char *shadow = launch->emulator->shadow + (page << PTX_PAGE_SHIFT);
    for (size_t i = 0; i < (size_t)1 << PTX_PAGE_SHIFT; i++)
        if (shadow[i] & PTX_SHADOW_WRITTEN)
            shadow[i] = 0;
}

void rungi_ptx_check_launch_end(ptx_launch_t *launch)
{
    ptx_launch_checker_t *state = launch->checker;
    if (!state)
        return;
    for (size_t page = 0; page < state->page_count; page++)
        if (state->written_pages[page]) {
            evaluate_page(launch, page);
            if (launch->emulator->shadow && ((page + 1) << PTX_PAGE_SHIFT) <= launch->emulator->global_bytes)
                initialize_page(launch, page);
        }
    destroy(state);
    launch->checker = NULL;
}
