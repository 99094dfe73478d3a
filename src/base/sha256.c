/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.c - see sha256.h. Follows FIPS 180-4, with its names of functions. */
#include "base/sha256.h"

#include <string.h>

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t x, int bits)
{
    return x >> bits | x << (32 - bits);
}

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Expands the block of 16 words to 64 words; each further word depends on four earlier ones. */
static void schedule(const uint8_t *block, uint32_t w[64])
{
    for (size_t t = 0; t < 16; t++)
        w[t] = big_endian(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotated(w[t - 15], 7) ^ rotated(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotated(w[t - 2], 17) ^ rotated(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
}

static void add_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64];
    schedule(block, w);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; t++) {
        uint32_t sum1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
        uint32_t sum0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
        uint32_t choice = (e & f) ^ (~e & g);
        uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        uint32_t t1 = h + sum1 + choice + constants[t] + w[t];
        uint32_t t2 = sum0 + majority;
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void rungi_sha256_begin(rungi_sha256 *hash)
{
    /* The same of the square roots of the first eight. */
    *hash = (rungi_sha256){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void rungi_sha256_add(rungi_sha256 *hash, const void *data, size_t bytes)
{
    const uint8_t *from = data;
    while (bytes > 0) {
        size_t used = hash->bytes % RUNGI_SHA256_BLOCK, room = RUNGI_SHA256_BLOCK - used;
        size_t taken = bytes < room ? bytes : room;
        memcpy(hash->block + used, from, taken);
        if (taken == room)
            add_block(hash->state, hash->block);
        hash->bytes += taken;
        from += taken;
        bytes -= taken;
    }
}

/* A one, zeros up to the last eight bytes of a block, and the length in bits. */
void rungi_sha256_end(rungi_sha256 *hash, uint8_t digest[RUNGI_SHA256_BYTES])
{
    static const uint8_t padding[RUNGI_SHA256_BLOCK] = {0x80};
    size_t used = hash->bytes % RUNGI_SHA256_BLOCK;
    uint64_t bits = hash->bytes * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    rungi_sha256_add(hash, padding, used < 56 ? 56 - used : 120 - used);
    rungi_sha256_add(hash, length, sizeof length);
    for (int i = 0; i < RUNGI_SHA256_BYTES; i++)
        digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}
