/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h - brings tiles of A and B into shared memory and C out of registers, for
 * kernels 07 to 10, whatever the layout. 12 has its own way, by the same words.
 *
 * Both operands are seen alike. Each has a long side l (the rows of A, the columns
 * of B) and a side k; flipped() turns B's view so that (l, k) addresses both. How
 * they stand is known at compile time, so that no path pays for another:
 *
 *   A_ALONG_L, B_ALONG_L  1 if the operand's neighbours in memory lie along l, 0
 *                         along k: pieces of four are taken in that direction
 *   WIDE                  1 if such a piece may be moved at once, which is 16 bytes of
 *                         float: that stride is one, and bases, other strides and k are
 *                         multiples of four; C has rows of stride one, aligned the same
 *                         way
 *                         In 12_matrix a piece is a chunk of 16 bytes, in any type; 2 if
 *                         one may hang over an edge
 *   GUARDED               1 if tiles may hang over the edges of the matrices
 *
 * The host defines them; what stands here is the path that takes anything.
 */
#ifndef RUNG_TILE_H
#define RUNG_TILE_H

#ifndef A_ALONG_L
#define A_ALONG_L 0
#endif
#ifndef B_ALONG_L
#define B_ALONG_L 1
#endif
#ifndef WIDE
#define WIDE 0
#endif
#ifndef GUARDED
#define GUARDED 1
#endif

/* A thread's pieces of a tile, or single elements of it, and the steps of k within one.
 * With guards, and pieces on the general path, they are taken one after the other: side by
 * side, each with an address or a condition of its own, they need more registers than
 * CUDA's compilers give. So do many 16-bit numbers with their conversions, and sums that go
 * one of two ways. */
#if WIDE
#define EACH_PIECE _Pragma("unroll")
#else
#define EACH_PIECE _Pragma("unroll 1")
#endif
#if (WIDE || IN_BYTES != 2) && !RUN_TIME
#define EACH_ELEMENT _Pragma("unroll")
#else
#define EACH_ELEMENT _Pragma("unroll 1")
#endif
#if (WIDE && !GUARDED && IN_BYTES != 2) || defined(__OPENCL_C_VERSION__)
#define EACH_STEP _Pragma("unroll")
#else
#define EACH_STEP _Pragma("unroll 1")
#endif

/* The element at (l, k); zero outside. */
DEVICE in_t fetch(GLOBAL const in_t *memory, view_t view, index_t l, index_t k, index_t l_end,
                  index_t k_end)
{
    return !GUARDED || (l < l_end && k < k_end) ? memory[at(view, l, k)] : (in_t)0;
}

/* Four elements from (l, k) on; zero outside. */
DEVICE in4_t fetch4(GLOBAL const in_t *memory, view_t view, index_t l, index_t k, index_t l_end,
                    index_t k_end, int along_l)
{
    const index_t dl = along_l ? 1 : 0, dk = along_l ? 0 : 1;
    if (WIDE && (!GUARDED || (l + 3 * dl < l_end && k + 3 * dk < k_end)))
        return *(GLOBAL const in4_t *)&memory[at(view, l, k)];
    return four_in(fetch(memory, view, l, k, l_end, k_end),
                   fetch(memory, view, l + dl, k + dk, l_end, k_end),
                   fetch(memory, view, l + 2 * dl, k + 2 * dk, l_end, k_end),
                   fetch(memory, view, l + 3 * dl, k + 3 * dk, l_end, k_end));
}

/* Where the piece with this number begins in a tile of tile_l x tile_k. Pieces are
 * numbered along their own direction first, so that neighbouring threads read
 * neighbouring memory. */
DEVICE uint piece_l(uint piece, uint tile_l, uint tile_k, int along_l)
{
    return along_l ? piece % (tile_l / 4) * 4 : piece / (tile_k / 4);
}

DEVICE uint piece_k(uint piece, uint tile_l, uint tile_k, int along_l)
{
    return along_l ? piece / (tile_l / 4) : piece % (tile_k / 4) * 4;
}

/* Puts a piece into a tile that stands k by k, `ld` elements from one k to the next.
 * A piece along l is one access there too; one along k is turned. */
DEVICE void put4(SHARED in_t *tile, uint ld, uint l, uint k, int along_l, in4_t piece)
{
    const uint step = along_l ? 1 : ld;
    SHARED in_t *to = &tile[k * ld + l];
    if (WIDE && along_l && ld % 4 == 0) {
        *(SHARED in4_t *)to = piece;
        return;
    }
    to[0] = piece.x;
    to[step] = piece.y;
    to[2 * step] = piece.z;
    to[3 * step] = piece.w;
}

/* Brings the tile_l x tile_k elements from (l, k) on into a tile, all threads of
 * the block together. */
DEVICE void bring(SHARED in_t *tile, uint ld, uint tile_l, uint tile_k, uint threads,
                  GLOBAL const in_t *memory, view_t view, index_t l, index_t k, index_t l_end,
                  index_t k_end, int along_l)
{
    EACH_PIECE
    for (uint i = 0; i < tile_l * tile_k / 4; i += threads) {
        const uint piece = i + threadIdx.x;
        const uint dl = piece_l(piece, tile_l, tile_k, along_l);
        const uint dk = piece_k(piece, tile_l, tile_k, along_l);
        put4(tile, ld, dl, dk, along_l,
             fetch4(memory, view, l + dl, k + dk, l_end, k_end, along_l));
    }
}

/* Four neighbours of a tile with this distance between its rows, as sums. */
DEVICE void take4(sum_t *part, SHARED const in_t *from, uint ld)
{
    if (ld % 4 == 0) {
        const in4_t piece = *(SHARED const in4_t *)from;
        part[0] = widen(piece.x);
        part[1] = widen(piece.y);
        part[2] = widen(piece.z);
        part[3] = widen(piece.w);
        return;
    }
    part[0] = widen(from[0]);
    part[1] = widen(from[1]);
    part[2] = widen(from[2]);
    part[3] = widen(from[3]);
}

/* Finishes four neighbours of a row of C. */
DEVICE void finish4(const output_t *output, index_t row, index_t col, const sum_t *sum)
{
    if (WIDE && !IS_SPLIT(output->extra) && (!GUARDED || (row < output->m && col + 3 < output->n))) {
        GLOBAL out4_t *to = (GLOBAL out4_t *)&output->c[at(output->view, row, col)];
        sum_t x = output->alpha * sum[0], y = output->alpha * sum[1];
        sum_t z = output->alpha * sum[2], w = output->alpha * sum[3];
        if (output->beta != (sum_t)0) {
            const out4_t old = *to;
            x += output->beta * widen_out(old.x);
            y += output->beta * widen_out(old.y);
            z += output->beta * widen_out(old.z);
            w += output->beta * widen_out(old.w);
        }
        store4(to, epilogue(output, row, col, x), epilogue(output, row, col + 1, y),
               epilogue(output, row, col + 2, z), epilogue(output, row, col + 3, w));
        return;
    }
#pragma unroll
    for (uint j = 0; j < 4; j++)
        if (!GUARDED || (row < output->m && col + j < output->n))
            finish(output, row, col + j, sum[j]);
}

#endif /* RUNG_TILE_H */
