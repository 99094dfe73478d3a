/* SPDX-License-Identifier: Apache-2.0 */
/* execute_matrix.c - ldmatrix, stmatrix and movmatrix: matrices of 8 x 8 halves. */
#include "emulator/execute/execute.h"

/* ---- Matrices of 8 x 8 halves -------------------------------------------------------------------------------------- */

/* Where lane `lane` keeps the halves of matrix `matrix`: row and column of the lower one; the upper one is one further. */
typedef struct half_place {
    int row, column;
} half_place_t;

static inline half_place_t place_of(int lane, int half, bool transposes)
{
    half_place_t place = {lane / 4, lane % 4 * 2 + half};
    return transposes ? (half_place_t){place.column, place.row} : place;
}

/* Loads a matrix of 8 x 8 halves, whose rows are at these addresses of shared memory. */
#ifdef __AVX512BW__
static inline __m512i load_four_rows(const unsigned char *shared, const uint64_t address[4])
{
    const void *row[4] = {shared + address[0], shared + address[1], shared + address[2], shared + address[3]};
    __m512i four = _mm512_castsi128_si512(_mm_loadu_si128(row[0]));
    four = _mm512_inserti32x4(four, _mm_loadu_si128(row[1]), 1);
    four = _mm512_inserti32x4(four, _mm_loadu_si128(row[2]), 2);
    return _mm512_inserti32x4(four, _mm_loadu_si128(row[3]), 3);
}

static inline void load_matrix(uint16_t to[64], const unsigned char *shared, const uint64_t address[8], bool transposes)
{
#define COLUMN(i) i, 8 + i, 16 + i, 24 + i, 32 + i, 40 + i, 48 + i, 56 + i
    static const uint16_t order[64] = {COLUMN(0), COLUMN(1), COLUMN(2), COLUMN(3),
                                       COLUMN(4), COLUMN(5), COLUMN(6), COLUMN(7)};
#undef COLUMN
    __m512i low = load_four_rows(shared, address), high = load_four_rows(shared, address + 4);
    if (transposes) {
        __m512i rows = low;
        low = _mm512_permutex2var_epi16(rows, _mm512_loadu_si512(order), high);
        high = _mm512_permutex2var_epi16(rows, _mm512_loadu_si512(order + 32), high);
    }
    _mm512_storeu_si512(to, low);
    _mm512_storeu_si512(to + 32, high);
}
#else
static inline void load_matrix(uint16_t to[64], const unsigned char *shared, const uint64_t address[8], bool transposes)
{
    uint16_t rows[64];
    for (int i = 0; i < 8; i++)
        memcpy(rows + 8 * (size_t)i, shared + address[i], 16);
    for (int i = 0; i < 64; i++)
        to[i] = rows[transposes ? i % 8 * 8 + i / 8 : i];
}
#endif

/* Loads matrices from shared memory. Row r of a matrix is in lanes 4 * r to 4 * r + 3. Returns false if an
 * address is not valid. */
static bool load_matrices(ptx_warp_t *warp, const ptx_instruction_t *instruction,
                          const uint64_t address[PTX_WARP_LANES])
{
    const unsigned char *shared = warp->block->shared;
    uint64_t last = (uint64_t)warp->block->shared_bytes - 16, bad = 0;
    int rows = 8 * instruction->vector_length;
    for (int row = 0; row < rows; row++)
        bad |= (address[row] > last ? 1 : 0) | (address[row] & 15);
    if (bad || warp->block->shared_bytes < 16)
        return false;
    for (int row = 0; row < rows; row += 8)
        load_matrix(rungi_ptx_lanes(warp, instruction->list[row / 8]), shared, address + row,
                    instruction->flags & PTX_FLAG_TRANSPOSE);
    return true;
}

/* Lane 8 * j + r holds the address of row r of matrix j. */
static void move_matrices(ptx_warp_t *warp, const ptx_instruction_t *instruction, ptx_access_t kind)
{
    uint64_t address[PTX_WARP_LANES];
    unsigned char *row[PTX_WARP_LANES];
    int count = instruction->vector_length;
    uint32_t needed = count == 4 ? ~0u : (1u << 8 * count) - 1;
    bool transposes = instruction->flags & PTX_FLAG_TRANSPOSE;
    rungi_ptx_read_addresses(warp, instruction, 0, address);
    if (kind == PTX_READ && !warp->is_observed && instruction->space == PTX_SPACE_SHARED &&
        load_matrices(warp, instruction, address))
        return;
    uint32_t valid = rungi_ptx_access(warp, instruction, needed, address, 16, (ptx_space_t)instruction->space, kind,
                                      row);
    if (kind == PTX_READ && valid == needed && instruction->space == PTX_SPACE_SHARED &&
        load_matrices(warp, instruction, address))
        return;
    for (int j = 0; j < count; j++) {
        uint16_t *halves = rungi_ptx_lanes(warp, instruction->list[j]);
        for (int i = 0; i < 2 * PTX_WARP_LANES; i++) {
            half_place_t place = place_of(i / 2, i % 2, transposes);
            int line = 8 * j + place.row;
            if (!(valid >> line & 1))
                continue;
            if (kind == PTX_READ)
                memcpy(&halves[i], row[line] + 2 * (size_t)place.column, 2);
            else
                memcpy(row[line] + 2 * (size_t)place.column, &halves[i], 2);
        }
    }
}

EXECUTOR(ldmatrix)
{
    (void)mask;
    move_matrices(warp, instruction, PTX_READ);
}

EXECUTOR(stmatrix)
{
    (void)mask;
    move_matrices(warp, instruction, PTX_WRITE);
}

EXECUTOR(movmatrix)
{
    uint16_t *d = OPERAND(0), matrix[8][8];
    const uint16_t *a = OPERAND(1);
    (void)mask;
    for (int i = 0; i < 2 * PTX_WARP_LANES; i++)
        matrix[i / 8][i % 8] = a[i];
    for (int i = 0; i < 2 * PTX_WARP_LANES; i++)
        d[i] = matrix[i % 8][i / 8];
}

PTX_EXECUTORS(matrix) = {E(ldmatrix), E(stmatrix), E(movmatrix), {NULL, NULL}};
