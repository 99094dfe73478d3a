/* SPDX-License-Identifier: Apache-2.0 */
/* execute_memory.c - loads, stores and asynchronous copies.
 *
 * Accesses of 32-bit words in global and shared memory take a fast path: all addresses are tested at once, and addresses that
 * follow each other become one copy. Everything else goes through rungi_ptx_access(). */
#include "emulator/counts/counts.h"
#include "emulator/execute/words.h"

/* ---- Any size and space -------------------------------------------------------------------------------------------- */

static int sign_shift(const ptx_instruction_t *instruction)
{
    bool is_signed = rungi_ptx_type_kind((ptx_type_t)instruction->type) == PTX_KIND_SIGNED;
    return is_signed && instruction->element_bytes < 8 ? 64 - 8 * instruction->element_bytes : 0;
}

/* Writes one element to a register, extended by its sign or by zeros. */
static inline void write_element(unsigned char *to, const unsigned char *from, size_t bytes, size_t register_bytes,
                                 int shift)
{
    uint64_t value[2] = {0, 0};
    memcpy(value, from, bytes);
    value[0] = (uint64_t)((int64_t)(value[0] << shift) >> shift);
    if (register_bytes > 8 && bytes <= 8 && shift)
        value[1] = (uint64_t)((int64_t)value[0] >> 63);
    memcpy(to, value, register_bytes);
}

/* Finds the host addresses of an access to global or shared memory without checks. Inactive lanes take the address of the
 * first active one. Returns false if a lane is elsewhere, outside or misaligned. */
static bool find_pointers(const ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask,
                          uint64_t address[PTX_WARP_LANES], uint64_t bytes, unsigned char *pointer[PTX_WARP_LANES])
{
    bool is_shared = instruction->space == PTX_SPACE_SHARED;
    bool is_global = instruction->space == PTX_SPACE_GLOBAL || instruction->space == PTX_SPACE_GENERIC;
    unsigned char *memory = is_shared ? warp->block->shared : warp->block->launch->global;
    uint64_t room = is_shared ? (uint64_t)warp->block->shared_bytes : warp->block->launch->global_bytes, bad = 0;
    uint64_t start = is_shared ? 0 : PTX_GLOBAL_BASE, active = address[__builtin_ctz(mask)];
    if (warp->is_observed || (!is_shared && !is_global) || room < bytes || (bytes & (bytes - 1)) != 0)
        return false;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        uint64_t offset = (mask >> lane & 1 ? address[lane] : active) - start;
        bad |= (offset > room - bytes ? 1 : 0) | (offset & (bytes - 1));
        pointer[lane] = (unsigned char *)((uintptr_t)memory + offset); /* used only if all are inside */
    }
    return bad == 0;
}

/* Copies elements that are as wide as their registers from memory to registers. */
static inline void load_elements(unsigned char *d, unsigned char *const *pointer, size_t offset, size_t bytes,
                                 uint32_t mask)
{
    for (size_t lane = 0; lane < PTX_WARP_LANES; lane++)
        if (mask >> lane & 1)
            memcpy(d + lane * bytes, pointer[lane] + offset, bytes);
}

EXECUTOR(load)
{
    uint64_t address[PTX_WARP_LANES];
    unsigned char *pointer[PTX_WARP_LANES];
    size_t bytes = instruction->element_bytes, width = instruction->register_bytes;
    int shift = sign_shift(instruction);
    rungi_ptx_read_addresses(warp, instruction, 0, address);
    if (!find_pointers(warp, instruction, mask, address, bytes * instruction->vector_length, pointer))
        mask = rungi_ptx_access(warp, instruction, mask, address, (int)bytes * instruction->vector_length,
                                (ptx_space_t)instruction->space, PTX_READ, pointer);
    for (size_t i = 0; i < instruction->vector_length; i++) {
        unsigned char *d = rungi_ptx_lanes(warp, instruction->list[i]);
        if (bytes == width && bytes == 2)
            load_elements(d, pointer, i * 2, 2, mask);
        else if (bytes == width && bytes == 4)
            load_elements(d, pointer, i * 4, 4, mask);
        else if (bytes == width && bytes == 8)
            load_elements(d, pointer, i * 8, 8, mask);
        else
            for (size_t lane = 0; lane < PTX_WARP_LANES; lane++)
                if (mask >> lane & 1)
                    write_element(d + lane * width, pointer[lane] + i * bytes, bytes, width, shift);
    }
}

EXECUTOR(store)
{
    uint64_t address[PTX_WARP_LANES];
    unsigned char *pointer[PTX_WARP_LANES];
    size_t bytes = instruction->element_bytes, width = instruction->register_bytes;
    rungi_ptx_read_addresses(warp, instruction, 0, address);
    if (!find_pointers(warp, instruction, mask, address, bytes * instruction->vector_length, pointer))
        mask = rungi_ptx_access(warp, instruction, mask, address, (int)bytes * instruction->vector_length,
                                (ptx_space_t)instruction->space, PTX_WRITE, pointer);
    for (size_t i = 0; i < instruction->vector_length; i++) {
        const unsigned char *a = rungi_ptx_lanes(warp, instruction->list[i]);
        for (size_t lane = 0; lane < PTX_WARP_LANES; lane++)
            if (mask >> lane & 1)
                memcpy(pointer[lane] + i * bytes, a + lane * width, bytes);
    }
}

/* ---- Words --------------------------------------------------------------------------------------------------------- */

/* Checks and counts an access. Returns the lanes that may access; the pattern then is scattered if some may not. */
static uint32_t observe_words(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask, words_t *words,
                              uint64_t start, word_pattern_t *pattern, ptx_access_t kind)
{
    uint64_t address[PTX_WARP_LANES];
    bool is_regular = *pattern != WORDS_SCATTERED;
    ptx_address_pattern_t regular = regular_pattern(words, *pattern, start);
    if (is_regular)
        expand_pattern(&regular, address);
    else
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            address[lane] = words->offset[lane] + start;
    if (warp->is_counted)
        rungi_ptx_count_words(warp, instruction, mask, 0, address, kind);
    if (!warp->is_checked)
        return mask;
    uint32_t valid = rungi_ptx_check_words(warp, instruction, mask, address,
                                           is_regular && mask == ~0u ? &regular : NULL, kind);
    if (valid != mask)
        *pattern = WORDS_SCATTERED;
    for (int lane = 0; valid != mask && is_regular && lane < PTX_WARP_LANES; lane++)
        words->offset[lane] = address[lane] - start;
    return valid;
}

/* Loads or stores a row or one word for lanes 0 to 15, and for lanes 16 to 31. */
static void load_halves(uint32_t *d, const words_t *words)
{
    for (int half = 0; half < 2; half++, d += 16) {
        const unsigned char *from = words->memory + words->half_first[half];
        uint32_t word;
        memcpy(&word, from, 4);
        if (words->is_row[half])
            memcpy(d, from, 64);
        else
            for (int lane = 0; lane < 16; lane++)
                d[lane] = word;
    }
}

static void store_halves(const uint32_t *a, const words_t *words)
{
    for (int half = 0; half < 2; half++, a += 16) {
        unsigned char *to = words->memory + words->half_first[half];
        if (words->is_row[half])
            memcpy(to, a, 64);
        else
            memcpy(to, &a[15], 4);
    }
}

/* Loads scattered words. Vectors of four are loaded as such and transposed. */
static void load_scattered(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask, const words_t *words)
{
    uint32_t value[4][PTX_WARP_LANES];
    int count = instruction->vector_length;
    if (count == 4)
        gather_vectors(words->memory, words->offset, value);
    for (int i = 0; i < count; i++) {
        uint32_t *d = rungi_ptx_lanes(warp, instruction->list[i]), *from = value[i % 4];
        if (count != 4)
            gather(words->memory + 4 * (size_t)i, words->offset, from);
        FOR_LANES(d[lane] = from[lane])
    }
}

static inline void load_words(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask, words_t *words,
                              uint64_t start)
{
    word_pattern_t pattern = find_pattern(warp, instruction, mask, start, words);
    if (warp->is_observed && pattern != WORDS_INVALID) {
        mask = observe_words(warp, instruction, mask, words, start, &pattern, PTX_READ);
        if (!mask)
            return;
    }
    switch (pattern) {
    case WORDS_EQUAL:
        for (int i = 0; i < instruction->vector_length; i++) {
            uint32_t *d = rungi_ptx_lanes(warp, instruction->list[i]), word;
            memcpy(&word, words->memory + words->first + 4 * (size_t)i, 4);
            FOR_LANES(d[lane] = word)
        }
        break;
    case WORDS_CONSECUTIVE:
        memcpy(rungi_ptx_lanes(warp, instruction->list[0]), words->memory + words->first,
               PTX_WARP_LANES * sizeof(uint32_t));
        break;
    case WORDS_HALVES: load_halves(rungi_ptx_lanes(warp, instruction->list[0]), words); break;
    case WORDS_SCATTERED: load_scattered(warp, instruction, mask, words); break;
    case WORDS_INVALID: execute_load(warp, instruction, mask); break;
    }
}

static inline void store_words(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask, words_t *words,
                               uint64_t start)
{
    word_pattern_t pattern = find_pattern(warp, instruction, mask, start, words);
    if (pattern == WORDS_INVALID) {
        execute_store(warp, instruction, mask);
        return;
    }
    if (warp->is_observed) {
        mask = observe_words(warp, instruction, mask, words, start, &pattern, PTX_WRITE);
        if (!mask)
            return;
    }
    for (int i = 0; i < instruction->vector_length; i++) {
        const uint32_t *a = rungi_ptx_lanes(warp, instruction->list[i]);
        unsigned char *to = words->memory + 4 * (size_t)i;
        if (pattern == WORDS_CONSECUTIVE) {
            memcpy(to + words->first, a, PTX_WARP_LANES * sizeof *a);
        } else if (pattern == WORDS_HALVES) {
            store_halves(a, words);
        } else if (pattern == WORDS_EQUAL) { /* the last lane wins */
            memcpy(to + words->first, &a[31 - __builtin_clz(mask)], 4);
        } else {
            for (int lane = 0; lane < PTX_WARP_LANES; lane++)
                if (mask >> lane & 1)
                    memcpy(to + words->offset[lane], &a[lane], 4);
        }
    }
}

EXECUTOR(load_shared_words)
{
    words_t words;
    words.memory = warp->block->shared;
    words.room = (uint64_t)warp->block->shared_bytes;
    load_words(warp, instruction, mask, &words, 0);
}

EXECUTOR(store_shared_words)
{
    words_t words;
    words.memory = warp->block->shared;
    words.room = (uint64_t)warp->block->shared_bytes;
    store_words(warp, instruction, mask, &words, 0);
}

EXECUTOR(load_global_words)
{
    words_t words;
    words.memory = warp->block->launch->global;
    words.room = warp->block->launch->global_bytes;
    load_words(warp, instruction, mask, &words, PTX_GLOBAL_BASE);
}

EXECUTOR(store_global_words)
{
    words_t words;
    words.memory = warp->block->launch->global;
    words.room = warp->block->launch->global_bytes;
    store_words(warp, instruction, mask, &words, PTX_GLOBAL_BASE);
}

/* ---- Parameters ---------------------------------------------------------------------------------------------------- */

/* A parameter of the kernel at a fixed offset: the same value for all lanes. */
EXECUTOR(load_param)
{
    const ptx_launch_t *launch = warp->block->launch;
    size_t bytes = instruction->element_bytes, width = instruction->register_bytes;
    int shift = sign_shift(instruction);
    int64_t end = instruction->offset + (int64_t)bytes * instruction->vector_length;
    if (instruction->offset < 0 || end > launch->parameter_bytes) {
        execute_load(warp, instruction, mask);
        return;
    }
    for (size_t i = 0; i < instruction->vector_length; i++) {
        unsigned char *d = rungi_ptx_lanes(warp, instruction->list[i]);
        uint64_t value[2] = {0, 0};
        write_element((unsigned char *)value, launch->parameters + instruction->offset + i * bytes, bytes, width,
                      shift);
        if (width == 4) {
            uint32_t *words = (uint32_t *)(void *)d;
            FOR_LANES(words[lane] = (uint32_t)value[0])
        } else if (width == 8) {
            uint64_t *words = (uint64_t *)(void *)d;
            FOR_LANES(words[lane] = value[0])
        } else {
            for (size_t lane = 0; lane < PTX_WARP_LANES; lane++)
                if (mask >> lane & 1)
                    memcpy(d + lane * width, value, width);
        }
    }
}

/* Parameters of functions are in the frame: offset2 bytes per lane. */
EXECUTOR(load_function_param)
{
    const unsigned char *base = OPERAND(0);
    size_t bytes = instruction->element_bytes, width = instruction->register_bytes;
    int shift = sign_shift(instruction);
    for (size_t i = 0; i < instruction->vector_length; i++) {
        unsigned char *d = rungi_ptx_lanes(warp, instruction->list[i]);
        const unsigned char *from = base + instruction->offset + i * bytes;
        for (size_t lane = 0; lane < PTX_WARP_LANES; lane++)
            if (mask >> lane & 1)
                write_element(d + lane * width, from + lane * (size_t)instruction->offset2, bytes, width, shift);
    }
}

EXECUTOR(store_function_param)
{
    unsigned char *base = OPERAND(0);
    size_t bytes = instruction->element_bytes, width = instruction->register_bytes;
    for (size_t i = 0; i < instruction->vector_length; i++) {
        const unsigned char *a = rungi_ptx_lanes(warp, instruction->list[i]);
        unsigned char *to = base + instruction->offset + i * bytes;
        for (size_t lane = 0; lane < PTX_WARP_LANES; lane++)
            if (mask >> lane & 1)
                memcpy(to + lane * (size_t)instruction->offset2, a + lane * width, bytes);
    }
}

/* ---- Asynchronous copies ------------------------------------------------------------------------------------------- */

/* Issues the copies of all lanes, whose addresses are valid. Returns false if memory is short. */
static bool issue_copies(ptx_warp_t *warp, const uint64_t *to, const uint64_t *from, int bytes)
{
    const ptx_launch_t *launch = warp->block->launch;
    ptx_async_copy_t *copies = rungi_ptx_async_copy_reserve(warp, PTX_WARP_LANES);
    for (int lane = 0; copies && lane < PTX_WARP_LANES; lane++) {
        const unsigned char *data = launch->global + (from[lane] - PTX_GLOBAL_BASE);
        copies[lane] = (ptx_async_copy_t){.lane = (uint8_t)lane,
                                          .bytes = (uint8_t)bytes,
                                          .to = (uint32_t)to[lane],
                                          .group = warp->copy_group[lane],
                                          .arrival = warp->copy_arrivals[lane],
                                          .pc = warp->pc,
                                          .from_bytes = (uint8_t)(warp->is_checked ? bytes : 0),
                                          .from = from[lane]};
        if (bytes == 16) /* a size that the compiler knows */
            memcpy(copies[lane].data, data, 16);
        else
            memcpy(copies[lane].data, data, (size_t)bytes);
    }
    for (int lane = 0; copies && warp->is_checked && lane < PTX_WARP_LANES; lane++)
        rungi_ptx_check_copy_issued(warp, &copies[lane]);
    return copies != NULL;
}

/* Returns whether the copies of all lanes are inside of their memories and aligned. Lanes that copy nothing have no source. */
static bool are_valid_copies(const ptx_warp_t *warp, const uint64_t *to, const uint64_t *from, const uint32_t *copied,
                             uint64_t bytes)
{
    uint64_t shared = (uint64_t)warp->block->shared_bytes, global = warp->block->launch->global_bytes, bad = 0;
    if (shared < bytes || global < bytes)
        return false;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        uint64_t bad_source = (from[lane] - PTX_GLOBAL_BASE > global - bytes ? 1 : 0) | (from[lane] & (bytes - 1));
        bad |= (to[lane] > shared - bytes ? 1 : 0) | (to[lane] & (bytes - 1)) | (copied[lane] ? bad_source : 0);
    }
    return bad == 0;
}

/* Issues copies of 16 bytes of a warp that is not observed, each of which copies all or nothing. Returns false if an address
 * is not valid, or if the copies must be issued one by one. */
static bool issue_batch(ptx_warp_t *warp, const uint64_t *to, const uint64_t *from, const uint32_t *copied)
{
    static const unsigned char zeros[16];
    const unsigned char *global = warp->block->launch->global;
    if (!are_valid_copies(warp, to, from, copied, sizeof zeros))
        return false;
    ptx_copy_batch_t *batch = rungi_ptx_copy_batch_reserve(warp, ~0u, sizeof zeros);
    for (int lane = 0; batch && lane < PTX_WARP_LANES; lane++)
        batch->to[lane] = (uint32_t)to[lane];
    for (int lane = 0; batch && lane < PTX_WARP_LANES; lane++)
        memcpy(batch->data[lane], copied[lane] ? global + (from[lane] - PTX_GLOBAL_BASE) : zeros, sizeof zeros);
    return batch != NULL;
}

/* How much the lanes copy: all of their bytes; all or nothing; other numbers of bytes. */
typedef enum copied_part { COPY_ALL, COPY_ALL_OR_NOTHING, COPY_SOME } copied_part_t;

/* Reads how many bytes each lane copies; the rest of its destination becomes zero. */
static copied_part_t read_copied_bytes(const ptx_warp_t *warp, const ptx_instruction_t *instruction,
                                       const uint32_t *source_bytes, uint32_t copied[PTX_WARP_LANES])
{
    uint32_t bytes = instruction->element_bytes, ignored = 0, partial = 0, some = 0;
    if (instruction->operand[3]) {
        ignored = rungi_ptx_predicate(warp, instruction->operand[3]);
        ignored = instruction->flags & PTX_FLAG_NEGATE_A ? ~ignored : ignored;
    }
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        copied[lane] = source_bytes && source_bytes[lane] < bytes ? source_bytes[lane] : bytes;
        copied[lane] = ignored >> lane & 1 ? 0 : copied[lane];
        partial |= copied[lane] ^ bytes;
        some |= copied[lane] & (bytes - 1); /* bytes is a power of two */
    }
    return some ? COPY_SOME : partial ? COPY_ALL_OR_NOTHING : COPY_ALL;
}

/* Resolves the sources of copies. The bytes that are not copied may be outside of the memory, but every address must be a
 * multiple of the size of the whole copy. Lanes that copy nothing have no source. */
static uint32_t resolve_sources(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask,
                                const uint64_t *from, const uint32_t *copied, unsigned char **pointer)
{
    uint32_t bytes = instruction->element_bytes, valid = 0;
    while (mask) {
        uint32_t same = 0, size = copied[__builtin_ctz(mask)];
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            if (mask >> lane & 1 && copied[lane] == size)
                same |= 1u << lane;
        mask &= ~same;
        for (int lane = 0; size < bytes && lane < PTX_WARP_LANES; lane++) {
            if (!(same >> lane & 1) || (size > 0 && (from[lane] & (bytes - 1)) == 0))
                continue;
            if (size > 0)
                rungi_ptx_report(warp, RUNG_EMULATOR_MISALIGNED, lane, from[lane], (int)bytes,
                                 "a copy of %u bytes from 0x%llx, which is not a multiple of %u", bytes,
                                 (unsigned long long)from[lane], bytes);
            same &= ~(1u << lane);
        }
        if (same)
            valid |= rungi_ptx_access(warp, instruction, same, from, (int)size, PTX_SPACE_GLOBAL, PTX_READ, pointer);
    }
    return valid;
}

/* The data is read now and lands when the copy is waited for, so that a missing wait shows. */
EXECUTOR(cp_async)
{
    uint64_t to[PTX_WARP_LANES], from[PTX_WARP_LANES];
    unsigned char *to_pointer[PTX_WARP_LANES], *from_pointer[PTX_WARP_LANES];
    const uint32_t *source_bytes = instruction->operand[2] ? OPERAND(2) : NULL;
    uint32_t bytes = instruction->element_bytes, copied[PTX_WARP_LANES];
    rungi_ptx_read_addresses(warp, instruction, 0, to);
    rungi_ptx_compute_addresses(warp, instruction, 1, 8, instruction->offset2, from);
    copied_part_t part = read_copied_bytes(warp, instruction, source_bytes, copied);
    bool is_whole = part == COPY_ALL && mask == ~0u;
    if (part != COPY_SOME && mask == ~0u && bytes == 16 && !warp->is_observed && issue_batch(warp, to, from, copied))
        return;
    if (is_whole && !warp->is_observed && are_valid_copies(warp, to, from, copied, bytes) &&
        issue_copies(warp, to, from, (int)bytes))
        return;
    uint32_t reads = resolve_sources(warp, instruction, mask, from, copied, from_pointer);
    mask = rungi_ptx_access(warp, instruction, mask, to, (int)bytes, PTX_SPACE_SHARED, PTX_WRITE, to_pointer);
    if (is_whole && reads == ~0u && mask == ~0u && issue_copies(warp, to, from, (int)bytes))
        return;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        unsigned char data[16] = {0};
        if (!(mask >> lane & 1))
            continue;
        if (reads >> lane & 1)
            memcpy(data, from_pointer[lane], copied[lane]);
        rungi_ptx_async_copy_issue(warp, lane, (uint32_t)to[lane], data, (int)bytes, from[lane],
                                   reads >> lane & 1 ? (int)copied[lane] : 0);
    }
}

EXECUTOR(cp_async_commit)
{
    (void)instruction;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        warp->copy_group[lane] += mask >> lane & 1;
}

EXECUTOR(cp_async_wait)
{
    rungi_ptx_async_copy_wait(warp, mask, instruction->offset);
}

EXECUTOR(cp_async_wait_all)
{
    (void)instruction;
    rungi_ptx_async_copy_wait_all(warp, mask);
}

/* Blocks share memory through the host's memory, which orders accesses. The race check sees the fence. */
EXECUTOR(fence)
{
    (void)instruction;
    (void)mask;
    if (warp->is_checked)
        rungi_ptx_check_fence(warp, true);
    atomic_thread_fence(memory_order_seq_cst);
}

/* Orders the accesses for threads of the same block only. A block runs on one thread of the host. */
EXECUTOR(fence_block)
{
    (void)instruction;
    (void)mask;
    if (warp->is_checked)
        rungi_ptx_check_fence(warp, false);
}

PTX_EXECUTORS(memory) = {E(load),
                         E(store),
                         E(load_shared_words),
                         E(store_shared_words),
                         E(load_global_words),
                         E(store_global_words),
                         E(load_param),
                         E(load_function_param),
                         E(store_function_param),
                         E(cp_async),
                         E(cp_async_commit),
                         E(cp_async_wait),
                         E(cp_async_wait_all),
                         E(fence),
                         E(fence_block),
                         {NULL, NULL}};
