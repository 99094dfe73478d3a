/* SPDX-License-Identifier: Apache-2.0 */
/* array_reuse.c - see array_reuse.h. */
#include "emulator/counts/array_reuse.h"

#include <stdlib.h>

#include "emulator/machine/emulator.h"

enum { SECTOR_BYTES = 32, SECTORS_PER_LINE = 4, WORD_BITS = 64 };

static bool create_set(ptx_sector_set_t *set, size_t words)
{
    set->block = calloc(words, sizeof *set->block);
    set->launch = calloc(words, sizeof *set->launch);
    set->changed = calloc(words, sizeof *set->changed);
    return set->block && set->launch && set->changed;
}

static void free_set(ptx_sector_set_t *set)
{
    free(set->block);
    free(set->launch);
    free(set->changed);
}

bool rungi_ptx_reuse_create(const ptx_launch_t *launch, ptx_reuse_t *reuse)
{
    size_t sectors = (size_t)(launch->global_bytes / SECTOR_BYTES) + 1, words = sectors / WORD_BITS + 1;
    reuse->sector_count = (int64_t)sectors;
    reuse->block = -1;
    reuse->arrays = calloc((size_t)launch->emulator->allocation_count + 1, sizeof *reuse->arrays);
    bool has_read = create_set(&reuse->read, words), has_written = create_set(&reuse->written, words);
    return has_read && has_written && reuse->arrays;
}

void rungi_ptx_reuse_free(ptx_reuse_t *reuse)
{
    free_set(&reuse->read);
    free_set(&reuse->written);
    free(reuse->arrays);
}

/* Forgets what the previous block accessed. */
static void clear_block(ptx_sector_set_t *set)
{
    for (int64_t i = 0; i < set->changed_count; i++)
        set->block[set->changed[i]] = 0;
    set->changed_count = 0;
}

/* Counts a sector that the block accesses for the first time. */
static void add_sector(ptx_reuse_t *reuse, const ptx_block_t *block, uint64_t address, uint64_t sector, bool is_read)
{
    const rung_emulator *emulator = block->launch->emulator;
    const ptx_allocation_t *allocation = rungi_ptx_find_allocation(emulator, address);
    ptx_sector_set_t *set = is_read ? &reuse->read : &reuse->written;
    uint64_t word = sector / WORD_BITS, bit = sector % WORD_BITS,
             first_of_line = bit & ~(uint64_t)(SECTORS_PER_LINE - 1);
    bool is_new_line = (set->block[word] >> first_of_line & ((1u << SECTORS_PER_LINE) - 1)) == 0;
    if (set->block[word] == 0)
        set->changed[set->changed_count++] = (uint32_t)word;
    set->block[word] |= UINT64_C(1) << bit;
    set->launch[word] |= UINT64_C(1) << bit;
    if (!allocation)
        return;
    rung_emulator_array *array = &reuse->arrays[allocation - emulator->allocations];
    array->block_sectors_read += is_read;
    array->block_lines_read += is_read && is_new_line;
    array->block_sectors_written += !is_read;
}

void rungi_ptx_reuse_mark(ptx_reuse_t *reuse, const ptx_block_t *block, const uint64_t address[PTX_WARP_LANES],
                          ptx_access_t kind)
{
    const uint64_t *seen = kind == PTX_READ ? reuse->read.block : reuse->written.block;
    uint64_t last = UINT64_MAX;
    if (reuse->block != block->linear_id) {
        clear_block(&reuse->read);
        clear_block(&reuse->written);
        reuse->block = block->linear_id;
    }
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        uint64_t sector = (address[lane] - PTX_GLOBAL_BASE) / SECTOR_BYTES;
        if (sector == last || sector >= (uint64_t)reuse->sector_count)
            continue;
        last = sector;
        if (!(seen[sector / WORD_BITS] >> sector % WORD_BITS & 1))
            add_sector(reuse, block, address[lane], sector, kind == PTX_READ);
    }
}

/* Counts the sectors of a word that any thread accessed. */
static void sum_word(const ptx_reuse_t *const *threads, int count, uint64_t word, uint64_t bits,
                     rung_emulator_array *sum)
{
    uint64_t read = 0, written = 0;
    for (int i = 0; i < count; i++) {
        read |= threads[i]->read.launch[word];
        written |= threads[i]->written.launch[word];
    }
    sum->sectors_read += __builtin_popcountll(read & bits);
    sum->sectors_written += __builtin_popcountll(written & bits);
}

void rungi_ptx_reuse_sum(const ptx_launch_t *launch, const ptx_reuse_t *const *threads, int count, int64_t index,
                         rung_emulator_array *sum)
{
    const ptx_allocation_t *allocation = &launch->emulator->allocations[index];
    uint64_t first = (allocation->start - PTX_GLOBAL_BASE) / SECTOR_BYTES;
    uint64_t last = (allocation->start - PTX_GLOBAL_BASE + (uint64_t)allocation->bytes - 1) / SECTOR_BYTES;
    for (int i = 0; i < count; i++) {
        sum->block_sectors_read += threads[i]->arrays[index].block_sectors_read;
        sum->block_lines_read += threads[i]->arrays[index].block_lines_read;
        sum->block_sectors_written += threads[i]->arrays[index].block_sectors_written;
    }
    if (sum->block_sectors_read + sum->block_sectors_written == 0)
        return;
    for (uint64_t word = first / WORD_BITS; word <= last / WORD_BITS; word++) {
        uint64_t bits = ~UINT64_C(0);
        if (word == first / WORD_BITS)
            bits &= ~UINT64_C(0) << first % WORD_BITS;
        if (word == last / WORD_BITS)
            bits &= ~UINT64_C(0) >> (WORD_BITS - 1 - last % WORD_BITS);
        sum_word(threads, count, word, bits, sum);
    }
}
