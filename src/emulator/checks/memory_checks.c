/* SPDX-License-Identifier: Apache-2.0 */
/* memory_checks.c - checks of single accesses: bounds, use after free, constants, uninitialized bytes, copies in flight.
 *
 * One shadow byte per byte of memory says whether nobody has written the byte. Bounds of global memory come from the list of
 * allocations, so that memory which was allocated before the checks were switched on is known too. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "emulator/checks/checker.h"

/* ---- The shadow of global memory ----------------------------------------------------------------------------------- */

void rungi_ptx_check_host_allocate(rung_emulator *emulator, uint64_t address, int64_t bytes)
{
    if (!(emulator->options.checks & RUNG_EMULATOR_CHECK_UNINITIALIZED))
        return;
    if (!emulator->shadow) {
        void *memory = mmap(NULL, emulator->global_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) /* everything then counts as initialized */
            return;
        emulator->shadow = memory;
    }
    memset(emulator->shadow + (address - PTX_GLOBAL_BASE), PTX_SHADOW_UNINITIALIZED, (size_t)bytes);
}

void rungi_ptx_check_host_write(rung_emulator *emulator, uint64_t address, int64_t bytes)
{
    if (emulator->shadow && bytes > 0)
        memset(emulator->shadow + (address - PTX_GLOBAL_BASE), 0, (size_t)bytes);
}

/* ---- Allocations --------------------------------------------------------------------------------------------------- */

const ptx_allocation_t *rungi_ptx_nearest_allocation(const rung_emulator *emulator, uint64_t address)
{
    const ptx_allocation_t *nearest = NULL;
    uint64_t distance = UINT64_MAX;
    for (int64_t i = 0; i < emulator->allocation_count; i++) {
        const ptx_allocation_t *allocation = &emulator->allocations[i];
        uint64_t end = allocation->start + (uint64_t)allocation->bytes;
        uint64_t this_distance = address < allocation->start ? allocation->start - address
                                 : address >= end            ? address - end
                                                             : 0;
        if (this_distance < distance) {
            distance = this_distance;
            nearest = allocation;
        }
    }
    enum { NEAR_BYTES = 1 << 20 }; /* a wild address says nothing about an allocation */
    return distance < NEAR_BYTES ? nearest : NULL;
}

bool rungi_ptx_is_null(uint64_t address)
{
    enum { NULL_BYTES = 1 << 16 };
    return address < NULL_BYTES;
}

void rungi_ptx_check_outside(ptx_warp_t *warp, int lane, uint64_t address, int bytes, ptx_access_t kind)
{
    const ptx_allocation_t *nearest = rungi_ptx_nearest_allocation(warp->block->launch->emulator, address);
    char text[96];
    if (rungi_ptx_is_null(address)) {
        rungi_ptx_report(warp, RUNG_EMULATOR_OUT_OF_BOUNDS, lane, address, bytes,
                         "%s of %d bytes at byte offset %llu of a null pointer", rungi_ptx_action_name(kind), bytes,
                         (unsigned long long)address);
        return;
    }
    if (!nearest) {
        rungi_ptx_report(warp, RUNG_EMULATOR_OUT_OF_BOUNDS, lane, address, bytes,
                         "%s of %d bytes at 0x%llx, which is far from all memory of the GPU",
                         rungi_ptx_action_name(kind), bytes, (unsigned long long)address);
        return;
    }
    rungi_ptx_report(warp, nearest->is_freed ? RUNG_EMULATOR_USE_AFTER_FREE : RUNG_EMULATOR_OUT_OF_BOUNDS, lane,
                     address, bytes, "%s of %d bytes at byte offset %lld of %s, which has %lld bytes%s",
                     rungi_ptx_action_name(kind), bytes, (long long)(address - nearest->start),
                     rungi_ptx_allocation_text(nearest, text, sizeof text), (long long)nearest->bytes,
                     nearest->is_freed ? " and was freed" : "");
}

const char *rungi_ptx_allocation_text(const ptx_allocation_t *allocation, char *text, size_t capacity)
{
    if (allocation->name[0])
        snprintf(text, capacity, "\"%s\"", allocation->name);
    else
        snprintf(text, capacity, "an array in global memory");
    return text;
}

static bool is_inside(const ptx_allocation_t *allocation, uint64_t address, int bytes)
{
    return address >= allocation->start && allocation->bytes >= bytes &&
           address - allocation->start <= (uint64_t)(allocation->bytes - bytes);
}

/* ---- Alignment ------------------------------------------------------------------------------------------------------ */

/* Returns whether an instruction loads what the next one stores. The compiler gives such a copy of a struct one line: that of
 * the store. */
static bool is_copy(const ptx_module_t *module, int32_t pc)
{
    const ptx_instruction_t *load = &module->instructions[pc], *store = load + 1;
    return pc + 1 < module->instruction_count && load->list_length > 0 && load->list_length == store->list_length &&
           load->list[0] == store->list[0] && rungi_ptx_line(module, pc) == rungi_ptx_line(module, pc + 1);
}

/* Returns the instruction that computes the address, if it is on another line; -1 otherwise. */
static int32_t find_address(const ptx_module_t *module, int32_t pc)
{
    int32_t definition = module->instructions[pc].address_definition;
    bool differs = definition >= 0 && rungi_ptx_line(module, definition) != rungi_ptx_line(module, pc);
    return differs ? definition : -1;
}

/* Writes "byte offset 4 of "x"". */
static void write_offset(const ptx_warp_t *warp, ptx_space_t space, uint64_t address, char *text, size_t capacity)
{
    const ptx_allocation_t *found = space == PTX_SPACE_GLOBAL
                                        ? rungi_ptx_find_allocation(warp->block->launch->emulator, address)
                                        : NULL;
    char name[96];
    const char *memory = space == PTX_SPACE_GLOBAL  ? "global memory"
                         : space == PTX_SPACE_LOCAL ? "local memory"
                         : space == PTX_SPACE_PARAM ? "the parameters"
                                                    : "shared memory";
    uint64_t offset = found ? address - found->start : address;
    if (found)
        memory = rungi_ptx_allocation_text(found, name, sizeof name);
    snprintf(text, capacity, "byte offset %llu of %s", (unsigned long long)offset, memory);
}

void rungi_ptx_check_misaligned(ptx_warp_t *warp, int lane, ptx_space_t space, uint64_t address, int bytes,
                                ptx_access_t kind)
{
    const ptx_launch_t *launch = warp->block->launch;
    char place[160];
    int32_t definition = find_address(launch->module, warp->pc);
    ptx_party_t here = {.pc = warp->pc, .thread = PTX_WARP_LANES * warp->index + lane, .block = warp->block->linear_id};
    ptx_party_t other = here;
    write_offset(warp, space, address, place, sizeof place);
    other.pc = definition;
    if (definition >= 0 && kind == PTX_READ && is_copy(launch->module, warp->pc)) {
        here.call = &launch->module->instructions[definition]; /* its line is that of the load */
        other.pc = warp->pc;
    }
    rungi_ptx_report_pair(launch, RUNG_EMULATOR_MISALIGNED, &here, definition >= 0 ? &other : NULL, address, bytes,
                          "%s of %d bytes at %s, where the address is not a multiple of %d",
                          rungi_ptx_action_name(kind), bytes, place, bytes);
}

/* ---- Allocations of lanes ------------------------------------------------------------------------------------------- */

/* Returns the allocation of one lane's access if the access is allowed; reports it otherwise. */
static const ptx_allocation_t *find_allocation(const ptx_checked_access_t *access, int lane)
{
    ptx_warp_t *warp = access->warp;
    const rung_emulator *emulator = warp->block->launch->emulator;
    uint64_t address = access->address[lane];
    const ptx_allocation_t *found = rungi_ptx_find_allocation(emulator, address);
    if (!found || found->is_freed || !is_inside(found, address, access->bytes)) {
        rungi_ptx_check_outside(warp, lane, address, access->bytes, access->kind);
        return NULL;
    }
    if (found->is_constant && access->kind != PTX_READ) {
        rungi_ptx_report(warp, RUNG_EMULATOR_READ_ONLY, lane, address, access->bytes,
                         "%s of %d bytes at byte offset %lld of \"%s\", which is in constant memory",
                         rungi_ptx_action_name(access->kind), access->bytes, (long long)(address - found->start),
                         found->name);
        return NULL;
    }
    if (!found->is_constant)
        warp->block->checker->allocation_of[warp->pc] = (int32_t)(found - emulator->allocations);
    return found;
}

/* ---- Shadow bytes -------------------------------------------------------------------------------------------------- */

unsigned rungi_ptx_shadow_bits(const unsigned char *shadow, int bytes)
{
    uint64_t bits = 0, word;
    for (; bytes >= 8; bytes -= 8, shadow += 8) {
        memcpy(&word, shadow, 8);
        bits |= word;
    }
    if (bytes >= 4) {
        uint32_t half;
        memcpy(&half, shadow, 4);
        bits |= half;
        bytes -= 4;
        shadow += 4;
    }
    for (; bytes > 0; bytes--, shadow++)
        bits |= *shadow;
    bits |= bits >> 32;
    bits |= bits >> 16;
    bits |= bits >> 8;
    return (unsigned)bits & 0xff;
}

/* Returns whether any shadow bit of the lanes' words is set, whose shadow begins at address `base`. A quick test before each lane is looked at. */
static bool any_shadow(const unsigned char *shadow, uint64_t base, const ptx_checked_access_t *access, uint32_t mask)
{
    const ptx_address_pattern_t *pattern = access->pattern;
    uint32_t bits = 0, word;
    int bytes = access->bytes;
    if (bytes < 4)
        return true;
    if (pattern)
        return rungi_ptx_shadow_bits(shadow + (pattern->first[0] - base), pattern->step[0] ? 64 : bytes) ||
               rungi_ptx_shadow_bits(shadow + (pattern->first[1] - base), pattern->step[1] ? 64 : bytes);
    if (bytes % 8 == 0) {
        uint64_t all = 0, eight, previous = UINT64_MAX;
        for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
            uint64_t address = access->address[__builtin_ctz(lanes)];
            for (int i = 0; address != previous && i < bytes; i += 8) {
                memcpy(&eight, shadow + (address - base) + i, 8);
                all |= eight;
            }
            previous = address;
        }
        return all != 0;
    }
    if (mask == ~0u && bytes == 4) {
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            memcpy(&word, shadow + (access->address[lane] - base), 4);
            bits |= word;
        }
        return bits != 0;
    }
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1)
        for (int i = 0; i < bytes; i += 4) {
            memcpy(&word, shadow + (access->address[__builtin_ctz(lanes)] - base) + i, 4);
            bits |= word;
        }
    return bits != 0;
}

static int first_uninitialized(const unsigned char *shadow, int bytes)
{
    int first = 0;
    while (first < bytes - 1 && !(shadow[first] & PTX_SHADOW_UNINITIALIZED))
        first++;
    return first;
}

static void report_uninitialized(const ptx_checked_access_t *access, int lane, const char *space, const char *name,
                                 uint64_t offset)
{
    rungi_ptx_report(access->warp, RUNG_EMULATOR_UNINITIALIZED, lane, access->address[lane], access->bytes,
                     "%s of %d bytes at byte offset %llu of %s%s%s%s, which nobody has written",
                     rungi_ptx_action_name(access->kind), access->bytes, (unsigned long long)offset, space,
                     name ? "\"" : "", name ? name : "", name ? "\"" : "");
}

static void report_uninitialized_global(const ptx_checked_access_t *access, int lane, const unsigned char *shadow)
{
    uint64_t at = access->address[lane] + (uint64_t)first_uninitialized(shadow, access->bytes);
    const ptx_allocation_t *allocation = rungi_ptx_find_allocation(access->warp->block->launch->emulator, at);
    bool is_named = allocation && allocation->name[0];
    report_uninitialized(access, lane, is_named ? "" : "global memory", is_named ? allocation->name : NULL,
                         allocation ? access->address[lane] - allocation->start : access->address[lane]);
}

/* Returns whether writes of one block do not initialize memory for the other blocks of the launch. So findings do not
 * depend on which block runs first. */
static bool is_deferred(const ptx_launch_t *launch)
{
    return launch->checker && !launch->checker->is_ordered;
}

/* Returns whether this block has written the bytes itself. */
static bool has_block_written(const ptx_checked_access_t *access, int lane)
{
    const ptx_checker_t *checker = access->warp->block->checker;
    uint64_t offset = access->address[lane] - PTX_GLOBAL_BASE;
    if (!is_deferred(access->warp->block->launch) || !checker->global.cells)
        return false;
    for (uint64_t i = offset; i < offset + (uint64_t)access->bytes; i++)
        if (rungi_ptx_stamp_time(rungi_ptx_last_writer(&checker->global, i)) < checker->start)
            return false;
    return true;
}

/* Returns whether a read is inside of the allocation that the instruction read last, and initialized. A quick test before each
 * lane is looked at. */
static bool is_common_read(const ptx_checked_access_t *access, uint32_t mask, bool checks_bounds,
                           const unsigned char *shadow)
{
    const ptx_warp_t *warp = access->warp;
    const ptx_allocation_t *cached =
        &warp->block->launch->emulator->allocations[warp->block->checker->allocation_of[warp->pc]];
    uint64_t lowest = UINT64_MAX, highest = 0;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        uint64_t address = access->address[__builtin_ctz(lanes)];
        lowest = address < lowest ? address : lowest;
        highest = address > highest ? address : highest;
    }
    if (checks_bounds && !(is_inside(cached, lowest, access->bytes) && is_inside(cached, highest, access->bytes) &&
                           !cached->is_freed && !cached->is_constant))
        return false;
    if (!shadow)
        return true;
    if (highest - lowest < 512) /* one look at all bytes between them */
        return !rungi_ptx_shadow_bits(shadow + (lowest - PTX_GLOBAL_BASE), (int)(highest - lowest) + access->bytes);
    return !any_shadow(shadow, PTX_GLOBAL_BASE, access, mask);
}

uint32_t rungi_ptx_check_global(const ptx_checked_access_t *access, uint32_t mask)
{
    ptx_warp_t *warp = access->warp;
    const ptx_launch_t *launch = warp->block->launch;
    const rung_emulator *emulator = launch->emulator;
    bool checks_bounds = launch->checks & RUNG_EMULATOR_CHECK_MEMORY;
    unsigned char *shadow = launch->checks & RUNG_EMULATOR_CHECK_UNINITIALIZED ? emulator->shadow : NULL;
    unsigned char written = is_deferred(launch) ? PTX_SHADOW_UNINITIALIZED | PTX_SHADOW_WRITTEN : 0;
    uint32_t valid = mask;
    if (access->kind == PTX_READ && is_common_read(access, mask, checks_bounds, shadow))
        return mask;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        const ptx_allocation_t *cached = &emulator->allocations[warp->block->checker->allocation_of[warp->pc]];
        bool is_known = is_inside(cached, access->address[lane], access->bytes) && !cached->is_freed &&
                        !cached->is_constant;
        if (checks_bounds && !is_known && !find_allocation(access, lane)) {
            valid &= ~(1u << lane);
            continue;
        }
        unsigned char *bytes = shadow ? shadow + (access->address[lane] - PTX_GLOBAL_BASE) : NULL;
        if (!bytes || !rungi_ptx_shadow_bits(bytes, access->bytes))
            continue;
        if (rungi_ptx_uses_value(access) && !has_block_written(access, lane))
            report_uninitialized_global(access, lane, bytes);
        for (int i = 0; access->kind != PTX_READ && i < access->bytes; i++)
            bytes[i] = bytes[i] ? written : 0;
    }
    return valid;
}

/* ---- Asynchronous copies ------------------------------------------------------------------------------------------- */

/* Finds a copy in flight to one of the bytes. */
static const ptx_async_copy_t *find_copy(const ptx_block_t *block, uint64_t address, int bytes, int *warp)
{
    for (*warp = 0; *warp < block->warp_count; (*warp)++)
        for (int i = 0; i < block->warps[*warp].copy_count; i++) {
            const ptx_async_copy_t *copy = &block->warps[*warp].copies[i];
            if (copy->to < address + (uint64_t)bytes && address < (uint64_t)copy->to + copy->bytes)
                return copy;
        }
    return NULL;
}

static void report_in_flight(const ptx_checked_access_t *access, int lane)
{
    const ptx_block_t *block = access->warp->block;
    int warp;
    const ptx_async_copy_t *copy = find_copy(block, access->address[lane], access->bytes, &warp);
    if (!copy) {
        rungi_ptx_report_bulk_in_flight(access, block, lane, access->address[lane]);
        return;
    }
    int thread = PTX_WARP_LANES * access->warp->index + lane, copier = PTX_WARP_LANES * warp + copy->lane;
    bool is_committed = copy->group < block->warps[warp].copy_group[copy->lane];
    ptx_party_t here = rungi_ptx_party(block->checker, access->warp->pc, thread);
    ptx_party_t other = rungi_ptx_party(block->checker, copy->pc, copier);
    rungi_ptx_report_pair(
        block->launch, RUNG_EMULATOR_ASYNC_COPY, &here, &other, access->address[lane], access->bytes,
        "%s of %d bytes at byte offset %llu of shared memory while an asynchronous copy of %s to it is in "
        "flight: %s",
        rungi_ptx_action_name(access->kind), access->bytes, (unsigned long long)access->address[lane],
        copier == thread ? "the same thread" : "another thread",
        is_committed ? "its thread has not waited for the copy's group"
                     : "the copy was not committed to a group, or not waited for");
}

void rungi_ptx_set_shared_shadow(ptx_checker_t *checker, uint64_t address, int64_t bytes, unsigned char value)
{
    unsigned char *shadow = checker->shared_shadow + address;
    const uint64_t ones = UINT64_C(0x0101010101010101);
    int64_t whole = bytes / 8 * 8;
    for (int64_t i = 0; i < whole; i += 8) {
        uint64_t word;
        memcpy(&word, shadow + i, 8);
        word |= word >> 4;
        word |= word >> 2;
        word |= word >> 1; /* bit 0 of each byte: the byte is not 0 */
        word &= ones;
        checker->shadow_count += (value ? 8 : 0) - (int64_t)(word * ones >> 56);
        memset(shadow + i, value, 8);
    }
    for (int64_t i = whole; i < bytes; i++) {
        checker->shadow_count += (value != 0) - (shadow[i] != 0);
        shadow[i] = value;
    }
}

void rungi_ptx_check_copy_issued(ptx_warp_t *warp, const ptx_async_copy_t *copy)
{
    if (!warp->block->checker)
        return;
    rungi_ptx_set_shared_shadow(warp->block->checker, copy->to, copy->bytes, PTX_SHADOW_IN_FLIGHT);
    rungi_ptx_copy_source_issued(warp->block->checker, copy);
}

void rungi_ptx_check_copy_completed(ptx_warp_t *warp, const ptx_async_copy_t *copy)
{
    ptx_checker_t *checker = warp->block->checker;
    if (!checker)
        return;
    rungi_ptx_copy_source_completed(checker, copy);
    rungi_ptx_set_shared_shadow(checker, copy->to, copy->bytes, 0);
    ptx_stamp_t stamp = rungi_ptx_stamp(checker, warp->index, copy->lane, copy->pc, false);
    for (uint32_t i = copy->to / 4; i < (copy->to + copy->bytes) / 4; i++)
        checker->shared.cells[i].writer = stamp;
    rungi_ptx_mark_written(&checker->shared, copy->to, copy->bytes);
}

/* ---- Shared and local memory --------------------------------------------------------------------------------------- */

/* Returns the name of a shared array by its first byte. */
static const char *array_name(const ptx_launch_t *launch, int64_t first)
{
    const ptx_module_t *module = launch->module;
    for (int32_t i = 0; i < module->shared_array_count; i++)
        if (module->shared_arrays[i].kernel == launch->kernel_index && module->shared_arrays[i].offset == first)
            return module->shared_arrays[i].name;
    return "shared memory";
}

/* Reports lanes outside of the array that the address was computed from, and returns the others. The accesses happen, as on a
 * GPU: another array may be there. */
uint32_t rungi_ptx_check_shared_bounds(const ptx_checked_access_t *access, uint32_t mask)
{
    const ptx_instruction_t *instruction = access->instruction;
    uint64_t first = (uint64_t)instruction->array_first, end = (uint64_t)instruction->array_end;
    const ptx_launch_t *launch = access->warp->block->launch;
    uint32_t outside = 0;
    if (end == 0 || !(launch->checks & RUNG_EMULATOR_CHECK_MEMORY))
        return mask;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        bool is_inside = access->address[lane] >= first && access->address[lane] + (uint64_t)access->bytes <= end;
        outside |= (uint32_t)!is_inside << lane;
    }
    for (uint32_t lanes = outside; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        rungi_ptx_report(access->warp, RUNG_EMULATOR_OUT_OF_BOUNDS, lane, access->address[lane], access->bytes,
                         "%s of %d bytes at byte offset %lld of the shared array \"%s\", which has %lld bytes",
                         rungi_ptx_action_name(access->kind), access->bytes,
                         (long long)access->address[lane] - (long long)first, array_name(launch, (int64_t)first),
                         (long long)(end - first));
    }
    return mask & ~outside;
}

/* Returns whether a read of uninitialized bytes is a mistake. At the edge of a matrix, tiles have rows that nobody fills;
 * products of such rows belong to elements that nobody stores. Matrix loads of whole rows are not reported therefore. */
static bool is_uninitialized_read(const ptx_checked_access_t *access, const unsigned char *shadow)
{
    bool is_matrix_load = access->instruction->control == PTX_CONTROL_WARP_SYNC;
    int count = 0;
    for (int i = 0; i < access->bytes; i++)
        count += shadow[i] & PTX_SHADOW_UNINITIALIZED;
    return rungi_ptx_uses_value(access) && count > 0 && !(is_matrix_load && count == access->bytes);
}

uint32_t rungi_ptx_check_shared_bytes(const ptx_checked_access_t *access, uint32_t mask)
{
    uint32_t checks = access->warp->block->launch->checks;
    ptx_checker_t *checker = access->warp->block->checker;
    uint32_t settled = mask;
    if (checker->shadow_count == 0 || !any_shadow(checker->shared_shadow, 0, access, mask))
        return mask;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        unsigned bits = rungi_ptx_shadow_bits(checker->shared_shadow + access->address[lane], access->bytes);
        if (!bits)
            continue;
        if (bits & PTX_SHADOW_IN_FLIGHT)
            settled &= ~(1u << lane);
        if ((bits & PTX_SHADOW_IN_FLIGHT) && (checks & RUNG_EMULATOR_CHECK_BARRIERS))
            report_in_flight(access, lane);
        else if ((checks & RUNG_EMULATOR_CHECK_UNINITIALIZED) &&
                 is_uninitialized_read(access, checker->shared_shadow + access->address[lane]))
            report_uninitialized(access, lane, "shared memory", NULL, access->address[lane]);
        if ((bits & PTX_SHADOW_BEING_READ) && access->kind != PTX_READ && (checks & RUNG_EMULATOR_CHECK_BARRIERS) &&
            rungi_ptx_report_being_read(access, lane))
            settled &= ~(1u << lane);
        if (access->kind != PTX_READ)
            rungi_ptx_set_shared_shadow(checker, access->address[lane], access->bytes, 0);
    }
    return settled;
}

void rungi_ptx_check_local_bytes(const ptx_checked_access_t *access, uint32_t mask)
{
    ptx_warp_t *warp = access->warp;
    if (!warp->local_shadow)
        return;
    bool reports = warp->block->launch->checks & RUNG_EMULATOR_CHECK_UNINITIALIZED;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        unsigned char *bytes = warp->local_shadow + (size_t)lane * (size_t)warp->block->local_bytes +
                               access->address[lane];
        if (!rungi_ptx_shadow_bits(bytes, access->bytes))
            continue;
        if (rungi_ptx_uses_value(access) && reports)
            report_uninitialized(access, lane, "local memory", NULL, access->address[lane]);
        if (access->kind != PTX_READ)
            memset(bytes, 0, (size_t)access->bytes);
    }
}
