/* SPDX-License-Identifier: Apache-2.0 */
/* immintrin.h - GCC 12 takes the stride of a tile as a long, which has 32 bits on Windows, and the assembler rejects it. */
#pragma once

#include_next <immintrin.h>

#include <stddef.h>

#undef _tile_loadd
#undef _tile_stored
#define _tile_loadd(tile, base, stride) RUNGI_TILE_LOAD(tile, base, stride)
#define _tile_stored(tile, base, stride) RUNGI_TILE_STORE(tile, base, stride)
#define RUNGI_TILE_LOAD(tile, base, stride) \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"((const void *)(base)), "r"((size_t)(stride)))
#define RUNGI_TILE_STORE(tile, base, stride) \
    __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"((void *)(base)), "r"((size_t)(stride)) : "memory")
