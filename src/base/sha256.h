/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.h - SHA-256 (FIPS 180-4). The code cache names files by it and detects damaged files. Implemented here so that
 * the library links only libc. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { RUNGI_SHA256_BYTES = 32, RUNGI_SHA256_BLOCK = 64 };

typedef struct rungi_sha256 {
    uint32_t state[8];
    uint64_t bytes; /* number of bytes added so far */
    uint8_t block[RUNGI_SHA256_BLOCK];
} rungi_sha256;

void rungi_sha256_begin(rungi_sha256 *hash);
void rungi_sha256_add(rungi_sha256 *hash, const void *data, size_t bytes);
void rungi_sha256_end(rungi_sha256 *hash, uint8_t digest[RUNGI_SHA256_BYTES]);
