/* SPDX-License-Identifier: Apache-2.0 */
/* races.c - races between the threads of a block, in shared and in global memory.
 *
 * Two accesses of the same bytes by different threads race if one of them writes, not both are strong (atomic, volatile,
 * relaxed, acquire or release), and nothing orders them. Volatile accesses of lanes of one warp to different elements race,
 * too: from sm_70 on, the lanes do not run in lockstep, and volatile is relaxed. The lanes of one instruction do not race with each other: all
 * lanes are compared with earlier accesses before any of them is recorded. Stores of the same value to shared memory do not
 * race with each other. */
#include <string.h>

#include "emulator/checks/checker.h"

ptx_stamp_t rungi_ptx_stamp(const ptx_checker_t *checker, int warp, int lane, int32_t pc, bool is_strong)
{
    ptx_stamp_t thread = (ptx_stamp_t)warp * PTX_WARP_LANES + (ptx_stamp_t)lane;
    return (ptx_stamp_t)checker->warp_time[warp] << PTX_STAMP_TIME_SHIFT | thread << PTX_STAMP_THREAD_SHIFT |
           (ptx_stamp_t)is_strong << PTX_STAMP_STRONG_SHIFT | ((ptx_stamp_t)pc & PTX_STAMP_PC_MASK);
}

ptx_stamp_t rungi_ptx_last_writer(const ptx_race_memory_t *memory, uint64_t offset)
{
    ptx_stamp_t last = memory->cells[offset >> PTX_CELL_WORD].writer;
    for (int size = 0; size < PTX_CELL_PARTS; size++)
        if (memory->parts[size] && memory->parts[size][offset >> size].writer > last)
            last = memory->parts[size][offset >> size].writer;
    return last;
}

bool rungi_ptx_happened_before(const ptx_checker_t *checker, ptx_stamp_t stamp, int warp, int lane)
{
    uint32_t time = rungi_ptx_stamp_time(stamp);
    if (time < checker->floor)
        return true;
    int thread = rungi_ptx_stamp_thread(stamp), other = thread / PTX_WARP_LANES, other_lane = thread % PTX_WARP_LANES;
    if (other != warp)
        return time <= checker->clocks[warp * checker->clock_count + checker->first_warp + other];
    if (other_lane == lane || time < checker->warp_synced[warp])
        return true;
    if (time <= checker->clocks[warp * checker->clock_count + checker->first_warp + warp])
        return true; /* lanes of a warp may synchronize through an mbarrier or a flag */
    const uint32_t *lanes = checker->lane_synced[warp];
    return lanes && time < lanes[lane * PTX_WARP_LANES + other_lane];
}

/* ---- Comparing ----------------------------------------------------------------------------------------------------- */

/* One lane's access to one cell. */
typedef struct visit {
    const ptx_checked_access_t *access;
    int lane;
    ptx_stamp_t stamp;
    uint64_t address, bytes; /* of the cell */
} visit_t;

/* The write is the finding's first side; of two writes, the first instruction. */
static void report(const visit_t *visit, ptx_stamp_t earlier, bool earlier_reads)
{
    const ptx_checked_access_t *access = visit->access;
    const ptx_checker_t *checker = access->warp->block->checker;
    ptx_party_t here = rungi_ptx_party(checker, access->warp->pc, PTX_WARP_LANES * access->warp->index + visit->lane);
    ptx_party_t other = rungi_ptx_party(checker, (int32_t)(earlier & PTX_STAMP_PC_MASK),
                                        rungi_ptx_stamp_thread(earlier));
    const ptx_space_t space = access->space[visit->lane];
    bool is_global = space == PTX_SPACE_GLOBAL,
         swaps = access->kind == PTX_READ || (!earlier_reads && other.pc < here.pc);
    const ptx_allocation_t *allocation = is_global ? rungi_ptx_find_allocation(checker->block->launch->emulator,
                                                                               visit->address)
                                                   : NULL;
    uint64_t offset = allocation ? visit->address - allocation->start : visit->address;
    const char *name = allocation && allocation->name[0] ? allocation->name
                       : is_global                       ? "global memory"
                                                         : "shared memory";
    bool is_quoted = allocation && allocation->name[0];
    const char *actions[2] = {access->kind == PTX_READ ? "read" : "write", earlier_reads ? "read" : "write"};
    const ptx_party_t *first = swaps ? &other : &here, *second = swaps ? &here : &other;
    rungi_ptx_report_pair(
        checker->block->launch, RUNG_EMULATOR_RACE, first, second, visit->address, access->bytes,
        "%s by thread %d and %s by thread %d of the same block at byte offset %llu of %s%s%s: no barrier "
        "or fence orders them",
        actions[swaps], first->thread, actions[!swaps], second->thread, (unsigned long long)offset,
        is_quoted ? "\"" : "", name, is_quoted ? "\"" : "");
}

/* Returns whether the lanes access one address only, as those that wait for a flag do. */
static bool is_one_address(const ptx_checked_access_t *access)
{
    uint64_t first = access->address[__builtin_ctz(access->mask)];
    for (uint32_t lanes = access->mask; lanes; lanes &= lanes - 1)
        if (access->address[__builtin_ctz(lanes)] != first)
            return false;
    return true;
}

static bool is_volatile(const ptx_instruction_t *instruction)
{
    return instruction->flags & PTX_FLAG_VOLATILE && !(instruction->flags & PTX_FLAG_RELAXED);
}

/* Returns whether two strong accesses are those of lanes of one warp that exchange elements through volatile shared memory, as
 * if the lanes ran in lockstep. A flag that lanes wait for is no such exchange. */
static bool is_lockstep_exchange(const visit_t *visit, ptx_stamp_t earlier)
{
    enum { FIRST_WITHOUT_LOCKSTEP = 70 };
    const ptx_checked_access_t *access = visit->access;
    const ptx_module_t *module = access->warp->block->launch->module;
    return rungi_ptx_stamp_thread(earlier) / PTX_WARP_LANES == access->warp->index &&
           access->space[visit->lane] == PTX_SPACE_SHARED && module->target >= FIRST_WITHOUT_LOCKSTEP &&
           is_volatile(access->instruction) && is_volatile(&module->instructions[earlier & PTX_STAMP_PC_MASK]) &&
           !is_one_address(access);
}

static bool conflicts(const visit_t *visit, ptx_stamp_t earlier)
{
    const ptx_checker_t *checker = visit->access->warp->block->checker;
    bool are_strong = (visit->stamp & earlier) >> PTX_STAMP_STRONG_SHIFT & 1;
    return (!are_strong || is_lockstep_exchange(visit, earlier)) &&
           !rungi_ptx_happened_before(checker, earlier, visit->access->warp->index, visit->lane);
}

/* Returns whether a store to shared memory writes the bytes that are already there. Compilers let several warps store
 * the same values, for example if a tile has fewer rows than the block has threads. The order of such stores does not
 * matter. */
static bool repeats_value(const visit_t *visit)
{
    const ptx_checked_access_t *access = visit->access;
    const ptx_instruction_t *instruction = access->instruction;
    uint64_t first = access->address[visit->lane], element = instruction->element_bytes;
    bool is_store = access->kind == PTX_WRITE &&
                    strcmp(rung_emulator_instruction_at(instruction->row)->opcode, "st") == 0;
    if (!is_store || access->space[visit->lane] != PTX_SPACE_SHARED)
        return false;
    for (uint64_t byte = 0; byte < (uint64_t)access->bytes; byte++) {
        uint64_t at = first + byte;
        if (at < visit->address || at >= visit->address + visit->bytes)
            continue;
        const unsigned char *value = rungi_ptx_lanes(access->warp, instruction->list[byte / element]);
        if (access->warp->block->shared[at] !=
            value[(size_t)visit->lane * instruction->register_bytes + byte % element])
            return false;
    }
    return true;
}

static void compare(const visit_t *visit, const ptx_cell_t *cell)
{
    if (conflicts(visit, cell->writer) && !repeats_value(visit)) {
        report(visit, cell->writer, false);
        return;
    }
    if (visit->access->kind == PTX_READ)
        return;
    if (conflicts(visit, cell->reader))
        report(visit, cell->reader, true);
    else if (conflicts(visit, cell->reader2))
        report(visit, cell->reader2, true);
}

/* ---- All lanes ----------------------------------------------------------------------------------------------------- */

/* The cells of one access. */
typedef struct range {
    ptx_cell_t *cells;
    uint64_t base;
    ptx_stamp_t stamp, floor; /* stamp: of lane 0 */
    int size;                 /* of a cell */
    int count;                /* cells of one lane */
} range_t;

static inline ptx_stamp_t lane_stamp(const range_t *range, int lane)
{
    return range->stamp + ((ptx_stamp_t)lane << PTX_STAMP_THREAD_SHIFT);
}

static void compare_lane(const ptx_checked_access_t *access, const range_t *range, int lane)
{
    uint64_t bytes = UINT64_C(1) << range->size, address = access->address[lane] & ~(bytes - 1);
    visit_t visit = {.access = access, .lane = lane, .stamp = lane_stamp(range, lane), .bytes = bytes};
    const ptx_cell_t *cell = range->cells + ((address - range->base) >> range->size);
    for (int i = 0; i < range->count; i++) {
        visit.address = address + bytes * (uint64_t)i;
        compare(&visit, cell + i);
    }
}

/* Returns whether a cell holds accesses since the last barrier of the whole block, which must be compared. */
static inline bool is_recent(const ptx_cell_t *cell, int count, ptx_stamp_t floor, bool is_read)
{
    bool recent = false;
    for (int i = 0; i < count; i++) {
        recent |= cell[i].writer >= floor;
        recent |= !is_read && ((cell[i].reader >= floor) | (cell[i].reader2 >= floor));
    }
    return recent;
}

static inline void record_read(ptx_cell_t *cell, int count, ptx_stamp_t stamp, ptx_stamp_t floor)
{
    const ptx_stamp_t thread = (ptx_stamp_t)1023 << PTX_STAMP_THREAD_SHIFT;
    for (int i = 0; i < count; i++) {
        ptx_stamp_t before = cell[i].reader;
        if (before >= floor && ((before ^ stamp) & thread))
            cell[i].reader2 = before;
        cell[i].reader = stamp;
    }
}

/* Records the lanes. Of neighbors that access the same address, the first and the last are recorded. */
static inline void record(const ptx_checked_access_t *access, uint32_t mask, const range_t *range, int size, int count,
                          bool is_read)
{
    uint64_t previous = UINT64_MAX;
    uint32_t next;
    for (uint32_t lanes = mask; lanes; lanes = next) {
        int lane = __builtin_ctz(lanes);
        uint64_t address = access->address[lane];
        next = lanes & (lanes - 1);
        if (address == previous && next && access->address[__builtin_ctz(next)] == address)
            continue;
        previous = address;
        ptx_cell_t *cell = range->cells + ((address - range->base) >> size);
        ptx_stamp_t stamp = lane_stamp(range, lane);
        if (is_read)
            record_read(cell, count, stamp, range->floor);
        else
            for (int i = 0; i < count; i++)
                cell[i].writer = stamp;
    }
}

/* Returns the lanes whose cells must be compared. */
static inline uint32_t find_recent(const ptx_checked_access_t *access, uint32_t mask, const range_t *range, int size,
                                   int count, bool is_read)
{
    uint32_t recent = 0;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        const ptx_cell_t *cell = range->cells + ((access->address[lane] - range->base) >> size);
        recent |= (uint32_t)is_recent(cell, count, range->floor, is_read) << lane;
    }
    return recent;
}

static inline void check(const ptx_checked_access_t *access, uint32_t mask, const range_t *range, int size, int count,
                         bool is_read)
{
    for (uint32_t lanes = find_recent(access, mask, range, size, count, is_read); lanes; lanes &= lanes - 1)
        compare_lane(access, range, __builtin_ctz(lanes));
    record(access, mask, range, size, count, is_read);
}

/* Compares the lanes with accesses of another size. */
static void compare_size(const ptx_checked_access_t *access, uint32_t mask, const ptx_race_memory_t *memory,
                         const range_t *range, int size)
{
    range_t other = *range;
    other.cells = rungi_ptx_cells(memory, size);
    other.size = size;
    other.count = access->bytes >> size > 1 ? access->bytes >> size : 1;
    for (uint32_t lanes = find_recent(access, mask, &other, size, other.count, access->kind == PTX_READ); lanes;
         lanes &= lanes - 1)
        compare_lane(access, &other, __builtin_ctz(lanes));
}

/* Compares the lanes with accesses of all other sizes in the same regions. */
static void compare_other_sizes(const ptx_checked_access_t *access, uint32_t mask, const ptx_race_memory_t *memory,
                                const range_t *range, ptx_regions_t regions)
{
    for (int size = 0; size < PTX_CELL_PARTS; size++)
        if (size != range->size && (memory->part_regions[size] & regions))
            compare_size(access, mask, memory, range, size);
    if (range->size != PTX_CELL_WORD && memory->has_words)
        compare_size(access, mask, memory, range, PTX_CELL_WORD);
}

/* ---- Reads by all lanes -------------------------------------------------------------------------------------------- */

/* Returns whether lanes 16 to 31 read the same cells as lanes 0 to 15, as in blocks of 16 x 16 threads. */
static inline bool are_halves_equal(const uint32_t cell[PTX_WARP_LANES])
{
    uint32_t difference = 0;
    for (int lane = 0; lane < PTX_WARP_LANES / 2; lane++)
        difference |= cell[lane] ^ cell[lane + PTX_WARP_LANES / 2];
    return difference == 0;
}

/* Records a read by all lanes. Of lanes that read the same cell, two are recorded. Returns the lanes whose
 * cells were written since the last barrier of the whole block. */
static inline uint32_t record_full_read(ptx_cell_t *cells, const ptx_logged_read_t *read,
                                        const uint32_t index[PTX_WARP_LANES], ptx_stamp_t floor, int count)
{
    const ptx_stamp_t one_lane = (ptx_stamp_t)1 << PTX_STAMP_THREAD_SHIFT, thread = 1023 * one_lane,
                      warp = 992 * one_lane;
    bool is_halved = are_halves_equal(index);
    int lanes = is_halved ? PTX_WARP_LANES / 2 : PTX_WARP_LANES;
    ptx_stamp_t stamp = read->stamp, different = is_halved ? warp : thread;
    uint32_t written = 0;
    for (int lane = 0; lane < lanes; lane++, stamp += one_lane) {
        if (lane > 0 && lane < lanes - 1 && index[lane] == index[lane - 1] && index[lane] == index[lane + 1])
            continue;
        ptx_cell_t *cell = cells + index[lane];
        bool is_written = false;
        for (int i = 0; i < count; i++) {
            ptx_stamp_t before = cell[i].reader, twin = is_halved ? stamp + 16 * one_lane : cell[i].reader2;
            is_written |= cell[i].writer >= floor;
            cell[i].reader2 = before >= floor && ((before ^ stamp) & different) ? before : twin;
            cell[i].reader = stamp;
        }
        written |= (uint32_t)is_written << lane;
    }
    return is_halved ? written | written << PTX_WARP_LANES / 2 : written;
}

static uint32_t record_read_of_any_size(const ptx_race_memory_t *memory, const ptx_logged_read_t *read,
                                        const uint32_t index[PTX_WARP_LANES], ptx_stamp_t floor)
{
    ptx_cell_t *cells = rungi_ptx_cells(memory, read->size);
    if (read->count == 1) /* the common cases are compiled for their size */
        return record_full_read(cells, read, index, floor, 1);
    if (read->count == 4)
        return record_full_read(cells, read, index, floor, 4);
    return record_full_read(cells, read, index, floor, read->count);
}

/* Returns the regions of cells of a size. Those of one lane are in one region. */
static inline ptx_regions_t regions_of_list(const ptx_race_memory_t *memory, const uint32_t cells[PTX_WARP_LANES],
                                            int size)
{
    ptx_regions_t regions = 0;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        regions |= rungi_ptx_region(memory, cells[lane] >> (PTX_CELL_WORD - size));
    return regions;
}

static inline ptx_regions_t regions_of_rows(const ptx_race_memory_t *memory, const uint32_t first[2],
                                            const uint32_t step[2], int size)
{
    ptx_regions_t regions = 0;
    for (int half = 0; half < 2; half++)
        regions |= rungi_ptx_region(memory, first[half] >> (PTX_CELL_WORD - size)) |
                   rungi_ptx_region(memory, (first[half] + 15 * step[half]) >> (PTX_CELL_WORD - size));
    return regions;
}

static ptx_regions_t regions_of_access(const ptx_race_memory_t *memory, const ptx_checked_access_t *access,
                                       uint32_t mask)
{
    ptx_regions_t regions = 0;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1)
        regions |= rungi_ptx_region(memory, (access->address[__builtin_ctz(lanes)] - memory->base) >> 2);
    return regions;
}

static void record_logged_read(const ptx_race_memory_t *memory, const ptx_logged_read_t *read, ptx_stamp_t floor)
{
    ptx_cell_list_t regular;
    for (uint32_t lane = 0; read->list < 0 && lane < PTX_WARP_LANES; lane++)
        regular[lane] = read->first[lane / 16] + read->step[lane / 16] * (lane % 16);
    record_read_of_any_size(memory, read, read->list < 0 ? regular : memory->lists[read->list], floor);
}

/* Records all logged reads, because the log is full. */
static void record_log(ptx_race_memory_t *memory, ptx_stamp_t floor)
{
    for (int i = 0; i < memory->read_count; i++)
        record_logged_read(memory, &memory->reads[i], floor);
    memory->read_count = memory->list_count = 0;
    memory->read_regions = 0;
}

void rungi_ptx_record_reads(ptx_race_memory_t *memory, uint32_t floor)
{
    record_log(memory, (ptx_stamp_t)floor << PTX_STAMP_TIME_SHIFT);
}

/* Records the logged reads of some regions, because a write to them follows. */
static void record_reads_of(ptx_race_memory_t *memory, ptx_regions_t written, ptx_stamp_t floor)
{
    int left = 0;
    if (!(memory->read_regions & written))
        return;
    memory->read_regions = 0;
    for (int i = 0; i < memory->read_count; i++) {
        ptx_logged_read_t read = memory->reads[i];
        ptx_regions_t regions = read.list < 0 ? regions_of_rows(memory, read.first, read.step, read.size)
                                              : regions_of_list(memory, memory->lists[read.list], read.size);
        if (regions & written) {
            record_logged_read(memory, &read, floor);
            continue;
        }
        memory->read_regions |= regions;
        memory->reads[left++] = read;
    }
    memory->read_count = left;
    if (left == 0)
        memory->list_count = 0;
}

static inline void log_read(ptx_race_memory_t *memory, const range_t *range, const uint32_t first[2],
                            const uint32_t step[2], const uint32_t *cells)
{
    if (memory->read_count == PTX_LOGGED_READS_MAX || memory->list_count == PTX_LOGGED_LISTS_MAX)
        record_log(memory, range->floor);
    ptx_logged_read_t *read = &memory->reads[memory->read_count++];
    read->stamp = range->stamp;
    read->size = (int16_t)range->size;
    read->count = (int16_t)range->count;
    read->list = cells ? memory->list_count++ : -1;
    for (int half = 0; half < 2; half++) {
        read->first[half] = first[half];
        read->step[half] = step[half];
    }
    if (cells)
        memcpy(memory->lists[read->list], cells, sizeof memory->lists[read->list]);
}

/* Returns whether the cells of each half of the warp are equal or follow each other. */
static bool find_rows(const uint32_t cells[PTX_WARP_LANES], uint32_t first[2], uint32_t step[2])
{
    uint32_t difference = 0;
    for (int half = 0; half < 2; half++) {
        const uint32_t *row = cells + 16 * (ptrdiff_t)half;
        first[half] = row[0];
        step[half] = row[1] - row[0];
        for (uint32_t lane = 0; lane < 16; lane++)
            difference |= row[lane] ^ (first[half] + step[half] * lane);
    }
    return difference == 0 && step[0] <= 1 && step[1] <= 1;
}

static inline void list_cells(const ptx_checked_access_t *access, uint64_t base, int size, ptx_cell_list_t cells)
{
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        cells[lane] = (uint32_t)((access->address[lane] - base) >> size);
}

/* A read of regions that were not written since the last barrier conflicts with nothing, and matters only if a write follows
 * before the next one. Such reads are only logged, which is faster than recording them. Returns the regions. */
static inline __attribute__((always_inline)) ptx_regions_t
check_full_read(const ptx_checked_access_t *access, ptx_race_memory_t *memory, const range_t *range, int size)
{
    const ptx_address_pattern_t *pattern = access->pattern;
    uint32_t first[2] = {0, 0}, step[2] = {0, 0};
    ptx_cell_list_t cells;
    bool are_rows = pattern != NULL;
    for (int half = 0; pattern && half < 2; half++) {
        first[half] = (uint32_t)((pattern->first[half] - range->base) >> size);
        step[half] = pattern->step[half] >> size;
    }
    if (!pattern) {
        list_cells(access, range->base, size, cells);
        are_rows = size != PTX_CELL_WORD && find_rows(cells, first, step); /* of words, the pattern is known */
    }
    ptx_regions_t regions = are_rows ? regions_of_rows(memory, first, step, size)
                                     : regions_of_list(memory, cells, size);
    if (!(memory->written_regions & regions)) {
        log_read(memory, range, first, step, are_rows ? NULL : cells);
        memory->read_regions |= regions;
        return regions;
    }
    if (pattern)
        list_cells(access, range->base, size, cells);
    ptx_logged_read_t read = {.stamp = range->stamp, .size = (int16_t)size, .count = (int16_t)range->count};
    /* Reads do not conflict with each other, so that they are recorded before they are compared with writes. */
    for (uint32_t lanes = record_read_of_any_size(memory, &read, cells, range->floor); lanes; lanes &= lanes - 1)
        compare_lane(access, range, __builtin_ctz(lanes));
    if (size != PTX_CELL_WORD ||
        ((memory->part_regions[PTX_CELL_BYTE] | memory->part_regions[PTX_CELL_HALF]) & regions))
        compare_other_sizes(access, ~0u, memory, range, regions);
    return regions;
}

static inline range_t make_range(const ptx_checked_access_t *access, const ptx_race_memory_t *memory, int size)
{
    const ptx_checker_t *checker = access->warp->block->checker;
    return (range_t){
        .cells = rungi_ptx_cells(memory, size),
        .base = memory->base,
        .size = size,
        .count = size == PTX_CELL_WORD ? access->bytes / 4 : 1,
        .floor = (ptx_stamp_t)checker->floor << PTX_STAMP_TIME_SHIFT,
        .stamp = rungi_ptx_stamp(checker, access->warp->index, 0, access->warp->pc, rungi_ptx_is_strong(access))};
}

/* Returns whether the read is one of all lanes, and its cells have 32-bit numbers. */
static inline bool can_log(const ptx_checked_access_t *access, uint32_t mask, int size)
{
    return access->kind == PTX_READ && mask == ~0u && access->warp->block->launch->global_bytes >> size <= UINT32_MAX;
}

/* Compares and records an access of bytes or of halves of words. */
static __attribute__((noinline)) void check_parts(const ptx_checked_access_t *access, uint32_t mask,
                                                  ptx_race_memory_t *memory)
{
    int size = access->bytes == 2 ? PTX_CELL_HALF : PTX_CELL_BYTE;
    if (!rungi_ptx_reserve_parts(memory, size))
        return;
    range_t range = make_range(access, memory, size);
    if (can_log(access, mask, size)) {
        memory->part_regions[size] |= check_full_read(access, memory, &range, size);
        return;
    }
    ptx_regions_t regions = regions_of_access(memory, access, mask);
    memory->part_regions[size] |= regions;
    if (access->kind == PTX_READ) {
        compare_other_sizes(access, mask, memory, &range, regions);
        check(access, mask, &range, size, 1, true);
        return;
    }
    record_reads_of(memory, regions, range.floor);
    memory->written_regions |= regions;
    compare_other_sizes(access, mask, memory, &range, regions);
    check(access, mask, &range, size, 1, false);
}

void rungi_ptx_check_races(const ptx_checked_access_t *access, uint32_t mask, ptx_race_memory_t *memory)
{
    if (access->bytes < 4) {
        check_parts(access, mask, memory);
        return;
    }
    range_t range = make_range(access, memory, PTX_CELL_WORD);
    memory->has_words = true;
    if (can_log(access, mask, PTX_CELL_WORD)) {
        check_full_read(access, memory, &range, PTX_CELL_WORD);
        return;
    }
    bool has_parts = memory->part_regions[PTX_CELL_BYTE] | memory->part_regions[PTX_CELL_HALF];
    bool is_read = access->kind == PTX_READ;
    ptx_regions_t regions = !is_read || has_parts ? regions_of_access(memory, access, mask) : 0;
    if (has_parts)
        compare_other_sizes(access, mask, memory, &range, regions);
    if (is_read) {
        check(access, mask, &range, PTX_CELL_WORD, range.count, true);
        return;
    }
    record_reads_of(memory, regions, range.floor);
    memory->written_regions |= regions;
    check(access, mask, &range, PTX_CELL_WORD, range.count, false);
}
