/* SPDX-License-Identifier: Apache-2.0 */
/* request_cost.c - see request_cost.h.
 *
 * Global memory is read in sectors of 32 bytes; a tag of the L1 cache covers 128 bytes. Local memory is interleaved: word w
 * of lane l is at 4 * (32 * w + l), so that equal offsets of all lanes are consecutive words. Shared memory has 32 banks of
 * 4 bytes. A wavefront reads at most one word per bank; lanes that read the same word share it. */
#include "emulator/counts/request_cost.h"

enum {
    SECTOR_BYTES = 32,
    LINE_BYTES = 128,
    BANKS = 32,
    WORD_BYTES = 4,
    WORDS_MAX = 8,
    KEYS_MAX = PTX_WARP_LANES * WORDS_MAX
};

/* Sorts the keys, which mostly are in order, and returns the number of different ones. */
static int count_distinct(uint64_t *keys, int count)
{
    int distinct = count > 0;
    for (int i = 1; i < count; i++) {
        uint64_t key = keys[i];
        int j = i;
        for (; j > 0 && keys[j - 1] > key; j--)
            keys[j] = keys[j - 1];
        keys[j] = key;
    }
    for (int i = 1; i < count; i++)
        distinct += keys[i] != keys[i - 1];
    return distinct;
}

/* Returns how many different multiples of `unit` bytes the active lanes' addresses are in. */
static int count_units(const ptx_request_t *request, uint64_t unit)
{
    uint64_t keys[PTX_WARP_LANES];
    int count = 0;
    for (uint32_t rest = request->mask; rest; rest &= rest - 1)
        keys[count++] = request->address[__builtin_ctz(rest)] / unit;
    return count_distinct(keys, count);
}

static int round_up(int bytes, int unit)
{
    return (bytes + unit - 1) / unit;
}

static void cost_of_global(const ptx_request_t *request, ptx_request_cost_t *cost)
{
    cost->distinct_bytes = count_units(request, (uint64_t)request->bytes) * request->bytes;
    cost->sectors = count_units(request, SECTOR_BYTES) * round_up(request->bytes, SECTOR_BYTES);
    cost->lines = count_units(request, LINE_BYTES);
    cost->ideal_sectors = round_up(cost->distinct_bytes, SECTOR_BYTES);
}

static void cost_of_local(const ptx_request_t *request, ptx_request_cost_t *cost)
{
    uint64_t keys[KEYS_MAX];
    int count = 0;
    for (uint32_t rest = request->mask; rest; rest &= rest - 1) {
        uint64_t lane = (uint64_t)__builtin_ctz(rest), first = request->address[lane] / WORD_BYTES;
        uint64_t words = (uint64_t)round_up(request->bytes, WORD_BYTES);
        for (uint64_t word = first; word < first + words && count < KEYS_MAX; word++)
            keys[count++] = (word * PTX_WARP_LANES + lane) * WORD_BYTES / SECTOR_BYTES;
    }
    cost->distinct_bytes = cost->lanes * request->bytes;
    cost->sectors = count_distinct(keys, count);
    for (int i = 0; i < count; i++)
        keys[i] /= LINE_BYTES / SECTOR_BYTES;
    cost->lines = count_distinct(keys, count);
    cost->ideal_sectors = round_up(cost->distinct_bytes, SECTOR_BYTES);
}

/* Returns the wavefronts of lanes that are served together: the most different chunks in one group of banks. A chunk is what
 * one lane accesses, at least a word; `groups` chunks fill all banks. */
static int wavefronts_of(const ptx_request_t *request, uint32_t lanes, uint64_t chunk_bytes, uint64_t groups)
{
    uint64_t keys[PTX_WARP_LANES];
    uint8_t load[BANKS] = {0};
    int count = 0, most = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        keys[count++] = request->address[__builtin_ctz(rest)] / chunk_bytes;
    count_distinct(keys, count);
    for (int i = 0; i < count; i++) {
        if (i > 0 && keys[i] == keys[i - 1])
            continue;
        int group_load = ++load[keys[i] % groups];
        most = group_load > most ? group_load : most;
    }
    return most;
}

/* Returns whether each active lane's partner, `distance` away, is inactive or has the same address. */
static bool partners_are_equal(const ptx_request_t *request, int distance)
{
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        int partner = lane ^ distance;
        if ((request->mask >> lane & 1) && (request->mask >> partner & 1) &&
            request->address[lane] != request->address[partner])
            return false;
    }
    return true;
}

/* 64-bit accesses are served by half warps and 128-bit accesses by quarter warps. Two parts of a 128-bit load are served
 * together if lanes n and n^1, or n and n^2, read the same address for every n. */
static void cost_of_shared(const ptx_request_t *request, ptx_request_cost_t *cost)
{
    int chunk = request->bytes < WORD_BYTES ? WORD_BYTES : request->bytes > 16 ? 16 : request->bytes;
    int groups = BANKS * WORD_BYTES / chunk, part = groups;
    int repeats = round_up(request->bytes, chunk); /* accesses of more than 16 bytes */
    bool can_pair = chunk == 16 && request->kind == PTX_READ && !request->is_matrix;
    if (can_pair && (partners_are_equal(request, 1) || partners_are_equal(request, 2)))
        part *= 2;
    for (int first = 0; first < PTX_WARP_LANES; first += part) {
        uint32_t lanes = part == PTX_WARP_LANES ? ~0u : ((1u << part) - 1) << first;
        lanes &= request->mask;
        cost->wavefronts += wavefronts_of(request, lanes, (uint64_t)chunk, (uint64_t)groups) * repeats;
        cost->ideal_wavefronts += (lanes != 0) * repeats;
    }
    cost->distinct_bytes = count_units(request, (uint64_t)(chunk > request->bytes ? chunk : request->bytes)) *
                           (chunk > request->bytes ? chunk : request->bytes);
}

ptx_request_cost_t rungi_ptx_request_cost(const ptx_request_t *request)
{
    ptx_request_cost_t cost = {.lanes = __builtin_popcount(request->mask)};
    if (request->space == PTX_SPACE_SHARED || request->space == PTX_SPACE_SHARED_CLUSTER)
        cost_of_shared(request, &cost);
    else if (request->space == PTX_SPACE_LOCAL)
        cost_of_local(request, &cost);
    else
        cost_of_global(request, &cost);
    if (request->kind == PTX_ATOMIC)
        cost.atomic_conflicts = cost.lanes - count_units(request, (uint64_t)request->bytes);
    return cost;
}
