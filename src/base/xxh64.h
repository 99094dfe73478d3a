/* SPDX-License-Identifier: Apache-2.0 */
/* xxh64.h - XXH64 with seed 0 (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md): a checksum that is as fast as
 * memory.
 *
 * The checksum detects accidental damage: flipped bits, lost or repeated blocks, truncated copies. It does not detect
 * deliberate changes; sha256.h does. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { RUNGI_XXH64_STRIPE = 32 };

typedef struct rungi_xxh64 {
    uint64_t lanes[4];
    uint64_t bytes; /* added so far */
} rungi_xxh64;

void rungi_xxh64_begin(rungi_xxh64 *hash);

/* Adds whole stripes: `bytes` is a multiple of RUNGI_XXH64_STRIPE. */
void rungi_xxh64_add(rungi_xxh64 *hash, const void *data, size_t bytes);

/* Returns the checksum of everything that was added and of `bytes` more, any number. */
uint64_t rungi_xxh64_end(rungi_xxh64 *hash, const void *data, size_t bytes);
