/* SPDX-License-Identifier: Apache-2.0 */
/* xxh64.c - see xxh64.h. Written from the specification, with its names. */
#include "base/xxh64.h"

#include <string.h>

#include "base/assert.h"

#define PRIME_1 UINT64_C(0x9E3779B185EBCA87)
#define PRIME_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME_3 UINT64_C(0x165667B19E3779F9)
#define PRIME_4 UINT64_C(0x85EBCA77C2B2AE63)
#define PRIME_5 UINT64_C(0x27D4EB2F165667C5)

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

/* The specification reads little-endian numbers. */
static uint64_t read64(const unsigned char *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

static uint64_t read32(const unsigned char *from)
{
    return (uint64_t)from[0] | (uint64_t)from[1] << 8 | (uint64_t)from[2] << 16 | (uint64_t)from[3] << 24;
}

static uint64_t round_of(uint64_t lane, uint64_t input)
{
    return rotate(lane + input * PRIME_2, 31) * PRIME_1;
}

static uint64_t merge(uint64_t sum, uint64_t lane)
{
    return (sum ^ round_of(0, lane)) * PRIME_1 + PRIME_4;
}

void rungi_xxh64_begin(rungi_xxh64 *hash)
{
    *hash = (rungi_xxh64){.lanes = {PRIME_1 + PRIME_2, PRIME_2, 0, 0 - PRIME_1}};
}

void rungi_xxh64_add(rungi_xxh64 *hash, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    uint64_t a = hash->lanes[0], b = hash->lanes[1], c = hash->lanes[2], d = hash->lanes[3];
    RUNGI_ASSERT(bytes % RUNGI_XXH64_STRIPE == 0);
    for (size_t i = 0; i < bytes; i += RUNGI_XXH64_STRIPE) {
        a = round_of(a, read64(from + i));
        b = round_of(b, read64(from + i + 8));
        c = round_of(c, read64(from + i + 16));
        d = round_of(d, read64(from + i + 24));
    }
    *hash = (rungi_xxh64){{a, b, c, d}, hash->bytes + bytes};
}

static uint64_t merge_lanes(const uint64_t *lanes)
{
    uint64_t sum = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
    for (int i = 0; i < 4; i++)
        sum = merge(sum, lanes[i]);
    return sum;
}

/* Fewer bytes than a stripe. */
static uint64_t add_tail(uint64_t sum, const unsigned char *from, size_t bytes)
{
    for (; bytes >= 8; from += 8, bytes -= 8)
        sum = rotate(sum ^ round_of(0, read64(from)), 27) * PRIME_1 + PRIME_4;
    for (; bytes >= 4; from += 4, bytes -= 4)
        sum = rotate(sum ^ read32(from) * PRIME_1, 23) * PRIME_2 + PRIME_3;
    for (; bytes > 0; from++, bytes--)
        sum = rotate(sum ^ *from * PRIME_5, 11) * PRIME_1;
    return sum;
}

uint64_t rungi_xxh64_end(rungi_xxh64 *hash, const void *data, size_t bytes)
{
    size_t tail = bytes % RUNGI_XXH64_STRIPE;
    rungi_xxh64_add(hash, data, bytes - tail);
    uint64_t sum = hash->bytes > 0 ? merge_lanes(hash->lanes) : PRIME_5;
    sum = add_tail(sum + hash->bytes + tail, (const unsigned char *)data + bytes - tail, tail);
    sum = (sum ^ sum >> 33) * PRIME_2;
    sum = (sum ^ sum >> 29) * PRIME_3;
    return sum ^ sum >> 32;
}
