/* SPDX-License-Identifier: Apache-2.0 */
/* fnv1a.h - the one hash for short keys: FNV-1a with 64 bits. Files of packed matrices use base/xxh64.h instead. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RUNGI_FNV1A_START 14695981039346656037u

/* Returns the hash of the bytes hashed so far (`hash`; at first RUNGI_FNV1A_START) followed by `bytes`. */
static inline uint64_t rungi_fnv1a(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ byte[i]) * 1099511628211u;
    return hash;
}
