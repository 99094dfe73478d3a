/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - loads and stores of 32-bit words without checks, for execute_memory.c.
 *
 * Most accesses of a warp follow one of two patterns: all lanes use the same address, or lane i uses word i of a row.
 * Both become one access. For other patterns, all offsets are tested at once before any memory is touched. */
#pragma once

#include "emulator/checks/checks.h"
#include "emulator/execute/execute.h"

typedef enum word_pattern {
    WORDS_INVALID,
    WORDS_EQUAL,
    WORDS_CONSECUTIVE,
    WORDS_HALVES,
    WORDS_SCATTERED
} word_pattern_t;

/* The memory of one access, and the offsets of the lanes in it. Only scattered patterns fill `offset`. */
typedef struct words {
    unsigned char *memory;
    uint64_t room;          /* bytes of the memory */
    uint64_t first;         /* offset of lane 0 */
    uint64_t half_first[2]; /* WORDS_HALVES: offsets of lanes 0 and 16 */
    bool is_row[2];         /* WORDS_HALVES: consecutive words, or the same one */
    uint64_t offset[PTX_WARP_LANES];
} words_t;

static inline bool is_valid_offset(const words_t *words, uint64_t offset, uint64_t bytes, uint64_t alignment)
{
    return offset <= words->room && bytes <= words->room - offset && (offset & (alignment - 1)) == 0;
}

/* Tests offsets one by one. Inactive lanes take the offset of the first active one, so that loads need no mask. */
static inline word_pattern_t test_offsets(words_t *words, uint32_t mask, uint64_t bytes)
{
    uint64_t bad = 0, active = words->offset[__builtin_ctz(mask)], last = words->room - bytes;
    if (words->room < bytes)
        return WORDS_INVALID;
    if (mask != ~0u)
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            words->offset[lane] = mask >> lane & 1 ? words->offset[lane] : active;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        bad |= (words->offset[lane] > last ? 1 : 0) | (words->offset[lane] & (bytes - 1));
    return bad ? WORDS_INVALID : WORDS_SCATTERED;
}

#ifdef __AVX512F__
/* Finds patterns of 16 lanes, as blocks of 16 x 16 threads have. Returns false if there is none. */
static inline bool find_halves(words_t *words, const uint32_t *base, uint32_t offset, __m512i low, __m512i high)
{
    const __m512i steps = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60);
    for (int half = 0; half < 2; half++) {
        __m512i lanes = half ? high : low, start = _mm512_set1_epi32((int)base[16 * half]);
        words->half_first[half] = base[16 * half] + offset;
        words->is_row[half] = _mm512_cmpneq_epi32_mask(lanes, _mm512_add_epi32(start, steps)) == 0;
        if ((!words->is_row[half] && _mm512_cmpneq_epi32_mask(lanes, start) != 0) ||
            !is_valid_offset(words, words->half_first[half], words->is_row[half] ? 64 : 4, 4))
            return false;
    }
    return true;
}
#endif

/* Finds the pattern of 32-bit addresses of elements of `bytes` bytes. */
static inline word_pattern_t find_pattern32(words_t *words, const uint32_t *base, uint32_t offset, uint32_t mask,
                                            uint64_t bytes)
{
    uint32_t first = base[0] + offset, unequal = 0, scattered = 0;
    words->first = first;
#ifdef __AVX512F__
    const __m512i steps = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60);
    __m512i low = _mm512_loadu_si512(base), high = _mm512_loadu_si512(base + 16);
    __m512i start = _mm512_set1_epi32((int)base[0]), row = _mm512_add_epi32(start, steps);
    unequal = _mm512_cmpneq_epi32_mask(low, start) | _mm512_cmpneq_epi32_mask(high, start);
    scattered = _mm512_cmpneq_epi32_mask(low, row) |
                _mm512_cmpneq_epi32_mask(high, _mm512_add_epi32(row, _mm512_set1_epi32(64)));
    if (unequal && scattered && mask == ~0u && bytes == 4 && find_halves(words, base, offset, low, high))
        return WORDS_HALVES;
#else
    for (uint32_t lane = 0; lane < PTX_WARP_LANES; lane++) {
        unequal |= base[lane] ^ base[0];
        scattered |= base[lane] ^ (base[0] + 4 * lane);
    }
#endif
    if (unequal == 0)
        return is_valid_offset(words, first, bytes, bytes) ? WORDS_EQUAL : WORDS_INVALID;
    if (scattered == 0 && mask == ~0u && bytes == 4)
        return is_valid_offset(words, first, PTX_WARP_LANES * sizeof(uint32_t), 4) ? WORDS_CONSECUTIVE : WORDS_INVALID;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        words->offset[lane] = base[lane] + offset;
    return test_offsets(words, mask, bytes);
}

/* Finds the pattern of 64-bit addresses. `offset` includes the negated start of the memory. */
static inline word_pattern_t find_pattern64(words_t *words, const uint64_t *base, uint64_t offset, uint32_t mask,
                                            uint64_t bytes)
{
    uint64_t first = base[0] + offset, unequal = 0, scattered = 0;
    words->first = first;
    for (uint64_t lane = 0; lane < PTX_WARP_LANES; lane++) {
        unequal |= base[lane] ^ base[0];
        scattered |= base[lane] ^ (base[0] + 4 * lane);
    }
    if (unequal == 0)
        return is_valid_offset(words, first, bytes, bytes) ? WORDS_EQUAL : WORDS_INVALID;
    if (scattered == 0 && mask == ~0u && bytes == 4)
        return is_valid_offset(words, first, PTX_WARP_LANES * sizeof(uint32_t), 4) ? WORDS_CONSECUTIVE : WORDS_INVALID;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        words->offset[lane] = base[lane] + offset;
    return test_offsets(words, mask, bytes);
}

/* Finds the pattern of an instruction's address. */
static inline word_pattern_t find_pattern(const ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask,
                                          uint64_t start, words_t *words)
{
    uint64_t bytes = 4 * (uint64_t)instruction->vector_length, offset = (uint64_t)instruction->offset - start;
    ptx_operand_t operand = instruction->operand[0];
    if (operand == 0) {
        words->first = offset;
        return is_valid_offset(words, offset, bytes, bytes) ? WORDS_EQUAL : WORDS_INVALID;
    }
    if (instruction->address_bytes == 8)
        return find_pattern64(words, rungi_ptx_lanes(warp, operand), offset, mask, bytes);
    return find_pattern32(words, rungi_ptx_lanes(warp, operand), (uint32_t)offset, mask, bytes);
}

/* Returns a pattern that is not scattered as addresses, which begin at `start`. */
static inline ptx_address_pattern_t regular_pattern(const words_t *words, word_pattern_t pattern, uint64_t start)
{
    uint64_t first = words->first + start;
    if (pattern == WORDS_HALVES)
        return (ptx_address_pattern_t){{words->half_first[0] + start, words->half_first[1] + start},
                                       {words->is_row[0] ? 4 : 0, words->is_row[1] ? 4 : 0}};
    if (pattern == WORDS_CONSECUTIVE)
        return (ptx_address_pattern_t){{first, first + 64}, {4, 4}};
    return (ptx_address_pattern_t){{first, first}, {0, 0}};
}

static inline void expand_pattern(const ptx_address_pattern_t *pattern, uint64_t address[PTX_WARP_LANES])
{
    for (uint64_t half = 0; half < 2; half++) {
        uint64_t first = pattern->first[half], used = pattern->step[half] ? ~UINT64_C(0) : 0;
        for (uint64_t lane = 0; lane < 16; lane++)
            address[16 * half + lane] = first + (4 * lane & used);
    }
}

/* Loads one word per lane. */
static inline void gather(const unsigned char *memory, const uint64_t offset[PTX_WARP_LANES],
                          uint32_t to[PTX_WARP_LANES])
{
#ifdef __AVX512F__
    for (int i = 0; i < PTX_WARP_LANES; i += 8) {
        __m256i words = _mm512_i64gather_epi32(_mm512_loadu_si512(offset + i), memory, 1);
        _mm256_storeu_si256((__m256i *)(void *)(to + i), words);
    }
#else
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        memcpy(&to[lane], memory + offset[lane], 4);
#endif
}

#ifdef __AVX512F__
/* Returns the vectors of lanes i, i + 4, i + 8 and i + 12. */
static inline __m512i load_four_vectors(const unsigned char *memory, const uint64_t *offset)
{
    __m512i four = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)(memory + offset[0])));
    four = _mm512_inserti32x4(four, _mm_loadu_si128((const __m128i *)(const void *)(memory + offset[4])), 1);
    four = _mm512_inserti32x4(four, _mm_loadu_si128((const __m128i *)(const void *)(memory + offset[8])), 2);
    return _mm512_inserti32x4(four, _mm_loadu_si128((const __m128i *)(const void *)(memory + offset[12])), 3);
}

/* Loads one vector of four words per lane and stores word i of all lanes in to[i]. */
static inline void gather_vectors(const unsigned char *memory, const uint64_t offset[PTX_WARP_LANES],
                                  uint32_t to[4][PTX_WARP_LANES])
{
    for (int half = 0; half < PTX_WARP_LANES; half += 16) {
        __m512i a = load_four_vectors(memory, offset + half), b = load_four_vectors(memory, offset + half + 1);
        __m512i c = load_four_vectors(memory, offset + half + 2), d = load_four_vectors(memory, offset + half + 3);
        __m512i ab_low = _mm512_unpacklo_epi32(a, b), ab_high = _mm512_unpackhi_epi32(a, b);
        __m512i cd_low = _mm512_unpacklo_epi32(c, d), cd_high = _mm512_unpackhi_epi32(c, d);
        _mm512_storeu_si512(&to[0][half], _mm512_unpacklo_epi64(ab_low, cd_low));
        _mm512_storeu_si512(&to[1][half], _mm512_unpackhi_epi64(ab_low, cd_low));
        _mm512_storeu_si512(&to[2][half], _mm512_unpacklo_epi64(ab_high, cd_high));
        _mm512_storeu_si512(&to[3][half], _mm512_unpackhi_epi64(ab_high, cd_high));
    }
}
#else
static inline void gather_vectors(const unsigned char *memory, const uint64_t offset[PTX_WARP_LANES],
                                  uint32_t to[4][PTX_WARP_LANES])
{
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        uint32_t vector[4];
        memcpy(vector, memory + offset[lane], sizeof vector);
        for (int i = 0; i < 4; i++)
            to[i][lane] = vector[i];
    }
}
#endif
