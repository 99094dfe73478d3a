/* SPDX-License-Identifier: Apache-2.0 */
/* random.c - see random.h. */
#include "common/random.h"

#include <math.h>

static uint32_t multiply_high(uint32_t x, uint32_t y)
{
    return (uint32_t)(((uint64_t)x * y) >> 32);
}

static void permute_philox(uint32_t counter[4], uint32_t key0, uint32_t key1)
{
    for (int round = 0; round < 10; round++) {
        uint32_t high0 = multiply_high(0xD2511F53u, counter[0]), low0 = 0xD2511F53u * counter[0];
        uint32_t high1 = multiply_high(0xCD9E8D57u, counter[2]), low1 = 0xCD9E8D57u * counter[2];
        counter[0] = high1 ^ counter[1] ^ key0;
        counter[1] = low1;
        counter[2] = high0 ^ counter[3] ^ key1;
        counter[3] = low0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

uint32_t lab_random(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint64_t block = index / 4;
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    permute_philox(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
    return counter[index % 4];
}

double lab_random_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (double)(lab_random(seed, stream, index) >> 8) / 8388608.0 - 1.0;
}

double lab_random_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    double radius = ((double)lab_random(seed, stream, 2 * index) + 1) / 0x1p32; /* above 0, up to 1 */
    double angle = (double)lab_random(seed, stream, 2 * index + 1) / 0x1p32;
    return sqrt(-2 * log(radius)) * cos(6.283185307179586 * angle);
}
