/* SPDX-License-Identifier: Apache-2.0 */
/* block_races.c - races between the blocks of a launch, in global memory.
 *
 * Blocks run in any order, on several threads. Each cell keeps the lowest and the highest block that read and that wrote
 * it; the launch's end compares them. So the findings do not depend on the order. Kernels that synchronize blocks with
 * fences and atomics run their blocks in order on one thread, since the order then decides what is synchronized. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/error.h"
#include "emulator/checks/checker.h"

enum { PAGE_SHIFT = 12 };

/* ---- Keys ---------------------------------------------------------------------------------------------------------- */

/* A key sorts by block; of one block's accesses, a weak one comes first in `low` keys and last in `high` keys. */
enum {
    KEY_BLOCK_SHIFT = 33,
    KEY_STRENGTH_SHIFT = 32,
    KEY_PC_SHIFT = 10,
    KEY_THREAD_MASK = 1023,
    KEY_PC_MASK = (1 << 22) - 1
};

typedef struct accessor {
    ptx_party_t party;
    bool exists, is_strong;
} accessor_t;

static uint64_t key_of(int64_t block, bool strength, int32_t pc, int thread)
{
    return (uint64_t)block << KEY_BLOCK_SHIFT | (uint64_t)strength << KEY_STRENGTH_SHIFT |
           ((uint64_t)pc & KEY_PC_MASK) << KEY_PC_SHIFT | ((uint64_t)thread & KEY_THREAD_MASK);
}

/* A low key is stored inverted, so that 0 means that no key is stored, and the maximum is the lowest. */
static accessor_t accessor_of(uint64_t stored, bool is_low)
{
    uint64_t key = is_low ? ~stored : stored;
    bool strength = key >> KEY_STRENGTH_SHIFT & 1;
    return (accessor_t){.exists = stored != 0,
                        .is_strong = is_low ? strength : !strength,
                        .party = {.block = (int64_t)(key >> KEY_BLOCK_SHIFT),
                                  .thread = (int32_t)(key & KEY_THREAD_MASK),
                                  .pc = (int32_t)(key >> KEY_PC_SHIFT & KEY_PC_MASK)}};
}

/* ---- Evaluation ---------------------------------------------------------------------------------------------------- */

static bool conflict(const accessor_t *x, const accessor_t *y)
{
    return x->exists && y->exists && x->party.block != y->party.block && !(x->is_strong && y->is_strong);
}

static void report(const ptx_launch_t *launch, const accessor_t *writer, const accessor_t *other, bool other_writes,
                   uint64_t address, int bytes)
{
    const ptx_allocation_t *allocation = rungi_ptx_find_allocation(launch->emulator, address);
    bool is_named = allocation && allocation->name[0];
    uint64_t offset = allocation ? address - allocation->start : address - PTX_GLOBAL_BASE;
    rungi_ptx_report_pair(
        launch, RUNG_EMULATOR_RACE, &writer->party, &other->party, address, bytes,
        "write by block %lld and %s by block %lld at byte offset %llu of %s%s%s: nothing orders the blocks",
        (long long)writer->party.block, other_writes ? "write" : "read", (long long)other->party.block,
        (unsigned long long)offset, is_named ? "\"" : "", is_named ? allocation->name : "global memory",
        is_named ? "\"" : "");
}

/* Reports the first conflict of a cell. */
static void evaluate(const ptx_launch_t *launch, const ptx_block_cell_t *cell, uint64_t address, int bytes)
{
    accessor_t writers[2] = {accessor_of(cell->write_low, true), accessor_of(cell->write_high, false)};
    accessor_t readers[2] = {accessor_of(cell->read_low, true), accessor_of(cell->read_high, false)};
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

static ptx_block_cell_t merge(const ptx_block_cell_t *x, const ptx_block_cell_t *y)
{
    return (ptx_block_cell_t){x->read_low > y->read_low ? x->read_low : y->read_low,
                              x->read_high > y->read_high ? x->read_high : y->read_high,
                              x->write_low > y->write_low ? x->write_low : y->write_low,
                              x->write_high > y->write_high ? x->write_high : y->write_high};
}

static void evaluate_page(const ptx_launch_t *launch, size_t page)
{
    const ptx_launch_checker_t *checker = launch->checker;
    size_t first = page << PAGE_SHIFT, end = first + (1 << PAGE_SHIFT);
    if (end > launch->global_bytes)
        end = (size_t)launch->global_bytes;
    for (size_t at = first; at < end; at += 4) {
        if (!checker->byte_pages[page]) {
            evaluate(launch, &checker->words[at / 4], PTX_GLOBAL_BASE + at, 4);
            continue;
        }
        for (size_t i = at; i < at + 4; i++) {
            ptx_block_cell_t cell = merge(&checker->words[at / 4], &checker->bytes[i]);
            evaluate(launch, &cell, PTX_GLOBAL_BASE + i, 1);
        }
    }
}

/* ---- Recording ----------------------------------------------------------------------------------------------------- */

static inline void raise(uint64_t *value, uint64_t key, bool is_sequential)
{
    uint64_t old = __atomic_load_n(value, __ATOMIC_RELAXED);
    if (is_sequential) {
        *value = old > key ? old : key;
        return;
    }
    while (old < key && !__atomic_compare_exchange_n(value, &old, key, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static bool is_released(const ptx_launch_checker_t *launch, const accessor_t *accessor, const ptx_checker_t *checker)
{
    int64_t block = accessor->party.block;
    return !accessor->exists || block == checker->block->linear_id ||
           (block <= checker->acquired_block && launch->released[block]);
}

/* Forgets accesses of other blocks that happened before this block's. Conflicts among them are reported first. */
static void forget_ordered(ptx_launch_t *launch, const ptx_checker_t *checker, ptx_block_cell_t *cell, uint64_t address,
                           int bytes)
{
    const ptx_launch_checker_t *state = launch->checker;
    accessor_t accessors[4] = {accessor_of(cell->read_low, true), accessor_of(cell->read_high, false),
                               accessor_of(cell->write_low, true), accessor_of(cell->write_high, false)};
    bool has_others = false;
    for (int i = 0; i < 4; i++) {
        if (!is_released(state, &accessors[i], checker))
            return;
        has_others = has_others || (accessors[i].exists && accessors[i].party.block != checker->block->linear_id);
    }
    if (!has_others)
        return;
    evaluate(launch, cell, address, bytes);
    *cell = (ptx_block_cell_t){0};
}

/* A strong access acquires what the blocks that wrote the cell have released, and releases this block's accesses. */
static void synchronize(ptx_launch_checker_t *state, ptx_checker_t *checker, const ptx_checked_access_t *access,
                        const ptx_block_cell_t *cell)
{
    accessor_t writer = accessor_of(cell->write_high, false);
    if (access->kind != PTX_WRITE && writer.exists && writer.is_strong &&
        writer.party.block > checker->acquired_block && writer.party.block != checker->block->linear_id)
        checker->acquired_block = writer.party.block;
    if (access->kind != PTX_READ && checker->block_has_fenced)
        state->released[checker->block->linear_id] = 1;
}

/* The keys of one access. */
typedef struct keys {
    uint64_t low, high; /* of lane 0; the thread is added */
    bool is_read, is_strong, is_sequential;
} keys_t;

static inline void record_cell(ptx_block_cell_t *cell, const keys_t *keys, int lane)
{
    uint64_t low = keys->low - (uint64_t)lane, high = keys->high + (uint64_t)lane;
    uint64_t *lowest = keys->is_read ? &cell->read_low : &cell->write_low;
    uint64_t *highest = keys->is_read ? &cell->read_high : &cell->write_high;
    if (low > __atomic_load_n(lowest, __ATOMIC_RELAXED))
        raise(lowest, low, keys->is_sequential);
    if (high > __atomic_load_n(highest, __ATOMIC_RELAXED))
        raise(highest, high, keys->is_sequential);
}

static void record_lane(const ptx_checked_access_t *access, const keys_t *keys, int lane)
{
    ptx_launch_t *launch = access->warp->block->launch;
    ptx_checker_t *checker = access->warp->block->checker;
    ptx_launch_checker_t *state = launch->checker;
    uint64_t offset = access->address[lane] - PTX_GLOBAL_BASE;
    bool by_bytes = access->bytes < 4;
    ptx_block_cell_t *cell = by_bytes ? &state->bytes[offset] : &state->words[offset / 4];
    int count = by_bytes ? access->bytes : access->bytes / 4;
    unsigned char *page = &state->written_pages[offset >> PAGE_SHIFT];
    if (!keys->is_read && !*page)
        *page = 1;
    if (by_bytes && !state->byte_pages[offset >> PAGE_SHIFT])
        state->byte_pages[offset >> PAGE_SHIFT] = 1;
    if (keys->is_strong && state->is_sequential)
        synchronize(state, checker, access, cell);
    for (int i = 0; i < count; i++) {
        if (checker->acquired_block >= 0)
            forget_ordered(launch, checker, &cell[i], access->address[lane] + (uint64_t)(by_bytes ? i : 4 * i),
                           by_bytes ? 1 : 4);
        record_cell(&cell[i], keys, lane);
    }
}

/* Records reads of words that synchronize nothing. */
static void record_words(ptx_block_cell_t *words, const ptx_checked_access_t *access, uint32_t mask, const keys_t *keys)
{
    int count = access->bytes / 4;
    uint64_t previous = UINT64_MAX;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        ptx_block_cell_t *cell = words + (access->address[lane] - PTX_GLOBAL_BASE) / 4;
        if (access->address[lane] != previous)
            for (int i = 0; i < count; i++)
                record_cell(&cell[i], keys, lane);
        previous = access->address[lane];
    }
}

void rungi_ptx_check_block_races(const ptx_checked_access_t *access, uint32_t mask)
{
    const ptx_block_t *block = access->warp->block;
    if (!block->launch->checker)
        return;
    int thread = PTX_WARP_LANES * access->warp->index;
    keys_t keys = {.is_read = access->kind == PTX_READ,
                   .is_strong = rungi_ptx_is_strong(access),
                   .is_sequential = block->launch->checker->is_sequential};
    keys.low = ~key_of(block->linear_id, keys.is_strong, access->warp->pc, thread);
    keys.high = key_of(block->linear_id, !keys.is_strong, access->warp->pc, thread);
    uint64_t previous = UINT64_MAX;
    if (keys.is_read && !keys.is_strong && access->bytes >= 4 && block->checker->acquired_block < 0) {
        record_words(block->launch->checker->words, access, mask, &keys);
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
    return memory == MAP_FAILED ? NULL : memory;
}

static bool create(ptx_launch_checker_t *state, const ptx_launch_t *launch)
{
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    uint64_t cells = launch->global_bytes + 64;
    if (cells > SIZE_MAX / sizeof(ptx_block_cell_t) || blocks > (UINT64_C(1) << 31))
        return false;
    state->word_bytes = (cells / 4 + 1) * sizeof(ptx_block_cell_t);
    state->byte_bytes = cells * sizeof(ptx_block_cell_t);
    state->page_count = (cells >> PAGE_SHIFT) + 1;
    state->words = reserve(state->word_bytes);
    state->bytes = reserve(state->byte_bytes);
    state->written_pages = calloc(state->page_count, 1);
    state->byte_pages = calloc(state->page_count, 1);
    state->released = calloc(blocks, 1);
    return state->words && state->bytes && state->written_pages && state->byte_pages && state->released;
}

static void destroy(ptx_launch_checker_t *state)
{
    if (state->words)
        munmap(state->words, state->word_bytes);
    if (state->bytes)
        munmap(state->bytes, state->byte_bytes);
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
    ptx_launch_checker_t *state = calloc(1, sizeof *state);
    if (!state || !create(state, launch)) {
        if (state)
            destroy(state);
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory to check for races between blocks; launch without "
                                                 "RUNG_EMULATOR_CHECK_RACES");
    }
    state->is_ordered = synchronizes_blocks(launch);
    if (state->is_ordered)
        *threads = 1;
    state->is_sequential = *threads == 1;
    launch->checker = state;
    return RUNG_OK;
}

/* What blocks have written is initialized for the next launch. */
static void initialize_page(const ptx_launch_t *launch, size_t page)
{
    unsigned char *shadow = launch->emulator->shadow + (page << PAGE_SHIFT);
    for (size_t i = 0; i < (size_t)1 << PAGE_SHIFT; i++)
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
            if (launch->emulator->shadow && ((page + 1) << PAGE_SHIFT) <= launch->emulator->global_bytes)
                initialize_page(launch, page);
        }
    destroy(state);
    launch->checker = NULL;
}
