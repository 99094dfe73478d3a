/* SPDX-License-Identifier: Apache-2.0 */
/* swizzle.h - addresses of the elements of a tile in shared memory, for 12_matrix.
 *
 * A tile has rows of 16-byte chunks: the unit of a copy and of one lane of ldmatrix. In a
 * K-major tile a row runs along k. In an MN-major tile a row runs along m or n, and the
 * rows are the steps of k (see tile.h). Eight lanes that read one column of chunks would
 * access the same banks. The chunks of each row are therefore permuted by an exclusive or
 * with a mask that differs between rows.
 *
 * The functions are plain arithmetic and need only DEVICE and uint of the dialect, because
 * the test that counts bank conflicts includes this file on the host.
 */
#ifndef RUNG_SWIZZLE_H
#define RUNG_SWIZZLE_H

enum { CHUNK_BYTES = 16 };

/* The padding of a row of sums for group_sums_store_offset(). */
enum { GROUP_SUMS_PAD = 4 };

/* Returns the mask of a row. The eight rows that ldmatrix reads at once then fall into different
 * banks. These rows are adjacent, except for MN-major elements of one byte, where they are two of
 * every four (see ldmatrix_offset). MN-major elements of four bytes are not read by ldmatrix: eight
 * lanes read two chunks of each of four adjacent rows. So do sixteen lanes that read eight bytes each,
 * and eight lanes that read two MN-major doubles each. Rows of two chunks are too short to permute;
 * four such rows with the same mask exchange chunks with each other. */
DEVICE uint swizzle_mask(uint row, uint row_bytes, uint element_bytes, int mn_major)
{
    const uint chunks = row_bytes / CHUNK_BYTES < 8 ? row_bytes / CHUNK_BYTES : 8;
    if (mn_major && element_bytes == 1)
        return chunks == 8 ? (row / 4 * 2 + row % 2) % 8 : chunks == 4 ? row / 4 % 4 : row / 4 % 2 + row / 8 % 2 * 4;
    if (element_bytes == 8 || (mn_major && element_bytes == 4))
        return row / (8 / chunks) * 2 % chunks;
    return row / (8 / chunks) % chunks;
}

/* Returns the byte offset of a chunk in its tile. */
DEVICE uint chunk_offset(uint row, uint chunk, uint row_bytes, uint element_bytes, int mn_major)
{
    return ((row * (row_bytes / CHUNK_BYTES) + chunk) ^ swizzle_mask(row, row_bytes, element_bytes, mn_major)) *
           CHUNK_BYTES;
}

/* Returns the byte offset of element (mn, k) in its tile. */
DEVICE uint element_offset(uint mn, uint k, uint row_bytes, uint element_bytes, int mn_major)
{
    const uint row = mn_major ? k : mn, byte = (mn_major ? mn : k) * element_bytes;
    return chunk_offset(row, byte / CHUNK_BYTES, row_bytes, element_bytes, mn_major) + byte % CHUNK_BYTES;
}

/* Returns the byte offset that a lane passes to ldmatrix for the 16 rows x 32 bytes of k that start
 * at row mn (a multiple of 16) and byte k_bytes of k.
 *
 * K-major: the four matrices are ordered by the half of k, then by the half of mn, as A's registers;
 * for B the other way round. MN-major: the instruction transposes units of two bytes. For elements
 * of two bytes the four matrices are the same. For elements of one byte, a chunk is 16 elements of
 * mn, and each matrix has eight steps of k: the first 0 1 4 5 8 9 12 13, the second 2 3 6 7 10 11 14
 * 15. A lane thus receives four adjacent k of rows 2 g and 2 g + 1, which mma.h regroups. */
DEVICE uint ldmatrix_offset(uint lane, uint mn, uint k_bytes, uint row_bytes, uint element_bytes, int mn_major,
                            int is_b)
{
    const uint half_mn = is_b ? lane / 16 : lane / 8 % 2, half_k = is_b ? lane / 8 % 2 : lane / 16;
    if (mn_major && element_bytes == 1)
        return chunk_offset(k_bytes + lane / 16 * 16 + lane / 8 % 2 * 2 + lane % 8 / 2 * 4 + lane % 2, mn / 16,
                            row_bytes, 1, 1);
    if (mn_major)
        return chunk_offset(k_bytes / 2 + half_k * 8 + lane % 8, mn / 8 + half_mn, row_bytes, 2, 1);
    /* Rows that are 16 apart have the same mask. */
    return mn * row_bytes + chunk_offset(half_mn * 8 + lane % 8, k_bytes / CHUNK_BYTES + half_k, row_bytes, 2, 0);
}

/* Returns the byte offset of the chunk that a lane loads from an MN-major tile of elements of four
 * bytes: step k + lane % 4 of k, and four rows or columns starting at mn + lane / 4 * 4. mn must be a
 * multiple of 32, and k of 4: the mask then depends on the lane only. */
DEVICE uint group_offset(uint lane, uint mn, uint k, uint row_bytes)
{
    return k * row_bytes + mn * 4 + chunk_offset(lane % 4, lane / 4, row_bytes, 4, 1);
}

/* Return the byte offsets that a lane loads from a tile of doubles, for step k + lane % 4 of k: row mn +
 * lane / 4 of a K-major tile, and the chunk of rows mn + lane / 4 * 2 and the next one of an MN-major
 * tile. mn must be a multiple of 8, and k of 4: the mask then depends on the lane only. */
DEVICE uint double_offset(uint lane, uint mn, uint k, uint row_bytes)
{
    return mn * row_bytes + element_offset(lane / 4, k + lane % 4, row_bytes, 8, 0);
}

DEVICE uint double_pair_offset(uint lane, uint mn, uint k, uint row_bytes)
{
    return k * row_bytes + mn * 8 + chunk_offset(lane % 4, lane / 4, row_bytes, 8, 1);
}

/* Returns where a lane stores its sums (rows of `ld`) of 8 x 8 tile j: two adjacent
 * columns or, if B's columns are paired, four columns of tiles j and j + 1. A's rows may be paired,
 * too. `row_half` selects the upper or lower 8 rows of 16. */
DEVICE uint sums_store_offset(uint lane, uint row_half, uint j, uint ld, int a_rows_paired, int b_cols_paired)
{
    const uint row = a_rows_paired ? lane / 4 * 2 + row_half : lane / 4 + row_half * 8;
    return row * ld + (b_cols_paired ? 16 * (j / 2) + lane % 4 * 4 : 8 * j + lane % 4 * 2);
}

/* Returns where a lane stores four sums if B's columns are grouped: those of column `col_half` of its two
 * in the 8 x 8 tiles j to j + 3. */
DEVICE uint group_sums_store_offset(uint lane, uint row_half, uint j, uint col_half, uint ld)
{
    return (lane / 4 + row_half * 8) * ld + 8 * j + lane % 4 * 8 + col_half * 4;
}

/* Returns the padding of a row of sums that avoids bank conflicts when the lanes store. */
DEVICE uint sums_pad(int a_rows_paired, int b_cols_paired, uint sum_bytes)
{
    if (sum_bytes == 8)
        return b_cols_paired ? 0 : a_rows_paired ? 4 : 8;
    return a_rows_paired == b_cols_paired ? 8 : b_cols_paired ? 16 : 4;
}

/* Returns which two of four adjacent sums of eight bytes a lane stores first: alternating between rows,
 * to avoid bank conflicts without padding. */
DEVICE uint sums_store_first(uint lane)
{
    return lane / 4 % 2 * 2;
}

/* Returns the index of the four sums that a lane loads first. A lane that loads eight elements starts
 * with the first or the second half, alternating between lanes, to avoid bank conflicts. */
DEVICE uint sums_load_first(uint lane, uint elements)
{
    return elements == 8 ? lane / 4 % 2 * 4 : 0;
}

#endif /* RUNG_SWIZZLE_H */
