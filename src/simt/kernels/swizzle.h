/* SPDX-License-Identifier: Apache-2.0 */
/* swizzle.h - where the elements of a tile stand in shared memory, for 12_matrix.
 *
 * A tile is rows of chunks of 16 bytes, which is what a copy, and a lane of ldmatrix,
 * moves. A row runs along k where the operand does in memory, else along l: then the rows
 * are the steps of k (see tile.h for l and k). Eight lanes that read down one column of
 * chunks would meet in the same banks, so a row's chunks are exchanged among each other,
 * by an exclusive or with a number that differs from row to row.
 *
 * This is plain arithmetic, without a word of the dialect but DEVICE and uint: the test
 * that counts bank conflicts includes this file on the host.
 */
#ifndef RUNG_SWIZZLE_H
#define RUNG_SWIZZLE_H

enum { CHUNK_BYTES = 16 };

/* What a row's chunks are turned by, so that no two of the eight rows that ldmatrix reads at
 * once fall into the same banks. Those are neighbours, but for elements of one byte along l:
 * then they are two of every four (see ldmatrix_at). Elements of four bytes along l are not
 * for ldmatrix: a warp reads two chunks of four neighbours. Rows of two chunks have too few
 * to exchange; four such rows, which have the same turn, exchange theirs. */
DEVICE uint turn_of(uint row, uint row_bytes, uint element_bytes, int along_l)
{
    const uint chunks = row_bytes / CHUNK_BYTES < 8 ? row_bytes / CHUNK_BYTES : 8;
    if (along_l && element_bytes == 1)
        return chunks == 8 ? (row / 4 * 2 + row % 2) % 8 : chunks == 4 ? row / 4 % 4 : row / 4 % 2 + row / 8 % 2 * 4;
    if (along_l && element_bytes == 4)
        return 2 * row % chunks;
    return row / (8 / chunks) % chunks;
}

/* The byte of a tile at which a chunk begins. */
DEVICE uint chunk_at(uint row, uint chunk, uint row_bytes, uint element_bytes, int along_l)
{
    return ((row * (row_bytes / CHUNK_BYTES) + chunk) ^ turn_of(row, row_bytes, element_bytes, along_l)) *
           CHUNK_BYTES;
}

/* The byte at which element (l, k) begins. */
DEVICE uint element_at(uint l, uint k, uint row_bytes, uint element_bytes, int along_l)
{
    const uint row = along_l ? k : l, place = (along_l ? l : k) * element_bytes;
    return chunk_at(row, place / CHUNK_BYTES, row_bytes, element_bytes, along_l) + place % CHUNK_BYTES;
}

/* The byte that a lane of ldmatrix points at, for the 16 x 32 bytes of k that begin at row l,
 * a multiple of 16, and at so many bytes of k. Along k the four matrices are the halves of l
 * within the halves of k, as A's registers are, or the other way round, as B's. Along l the
 * instruction transposes pairs of bytes: numbers of two bytes, four matrices as before, or
 * two numbers of one byte. Then 16 of l are a chunk, each matrix is eight of k, and the
 * first two have k = 0 1 4 5 8 9 12 13 and 2 3 6 7 10 11 14 15, so that a lane gets four
 * neighbours of k, of 2 g and 2 g + 1 of l: matrix.h puts them together. */
DEVICE uint ldmatrix_at(uint lane, uint l, uint k_bytes, uint row_bytes, uint element_bytes, int along_l,
                        int is_b)
{
    const uint half_l = is_b ? lane / 16 : lane / 8 % 2, half_k = is_b ? lane / 8 % 2 : lane / 16;
    if (along_l && element_bytes == 1)
        return chunk_at(k_bytes + lane / 16 * 16 + lane / 8 % 2 * 2 + lane % 8 / 2 * 4 + lane % 2, l / 16,
                        row_bytes, 1, 1);
    if (along_l)
        return chunk_at(k_bytes / 2 + half_k * 8 + lane % 8, l / 8 + half_l, row_bytes, 2, 1);
    /* Rows 16 apart are turned alike. */
    return l * row_bytes + chunk_at(half_l * 8 + lane % 8, k_bytes / CHUNK_BYTES + half_k, row_bytes, 2, 0);
}

/* The same for sums on their way out, four bytes each in rows of `ld`: where a lane writes
 * the pair of columns j of its 8 x 8, or, where B's columns came in twos, the four that two
 * of them make; A's rows may have come in twos as well. */
DEVICE uint sums_written_at(uint lane, uint eight, uint j, uint ld, int twos_of_a, int twos_of_b)
{
    const uint row = twos_of_a ? lane / 4 * 2 + eight : lane / 4 + eight * 8;
    return row * ld + (twos_of_b ? 16 * (j / 2) + lane % 4 * 4 : 8 * j + lane % 4 * 2);
}

/* What rows of sums are longer by, for lanes that write together not to meet. */
DEVICE uint sums_pad(int twos_of_a, int twos_of_b)
{
    return twos_of_a == twos_of_b ? 8 : twos_of_b ? 16 : 4;
}

/* ... and the order in which it reads its piece of a row, four at a time: lanes whose pieces
 * are eight long begin with one half or the other in turns. */
DEVICE uint sums_read_first(uint lane, uint piece)
{
    return piece == 8 ? lane / 4 % 2 * 4 : 0;
}

#endif /* RUNG_SWIZZLE_H */
