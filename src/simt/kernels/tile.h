/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h - loads tiles of A and B into shared memory and stores C, for kernels 07 to 10 and any
 * layout. 12_matrix uses the same macros with its own loads.
 *
 * Both operands are addressed as (mn, k): mn is a row of A or a column of B, and
 * transposed_view() exchanges the strides of B. The path is selected at compile time, so that
 * the fast paths have no overhead:
 *
 *   A_MN_MAJOR, B_MN_MAJOR  1 if adjacent elements in memory lie along m or n (MN-major), 0
 *                         along k (K-major). Vectors of four elements have this direction
 *   WIDE                  1 if a vector can be loaded at once (16 bytes of float): its stride
 *                         is one, and base, other strides and k are multiples of four; the
 *                         rows of C have stride one and the same alignment.
 *                         In 12_matrix a vector is a 16-byte chunk of any type; 2 if a chunk
 *                         may cross an edge
 *   GUARDED               1 if tiles may cross the edges of the matrices
 *
 * The host defines these macros. The defaults below are the general path.
 */
#ifndef RUNG_TILE_H
#define RUNG_TILE_H

#ifndef A_MN_MAJOR
#define A_MN_MAJOR 0
#endif
#ifndef B_MN_MAJOR
#define B_MN_MAJOR 1
#endif
#ifndef WIDE
#define WIDE 0
#endif
#ifndef GUARDED
#define GUARDED 1
#endif

/* Unrolling of the loops over a thread's vectors, over single elements, and over the steps of k
 * in a tile. Guarded loops, and vectors on the general path, are not unrolled: with an address or
 * a condition per element they would need more registers than CUDA's compilers provide. The same
 * holds for conversions of 16-bit elements and for sums with two possible destinations. */
#if WIDE
#define UNROLL_VECTORS _Pragma("unroll")
#else
#define UNROLL_VECTORS _Pragma("unroll 1")
#endif
#if (WIDE || IN_BYTES != 2) && !RUNTIME_FLAGS
#define UNROLL_ELEMENTS _Pragma("unroll")
#else
#define UNROLL_ELEMENTS _Pragma("unroll 1")
#endif
#if (WIDE && !GUARDED && IN_BYTES != 2 && !SPLIT) || defined(__OPENCL_C_VERSION__)
#define UNROLL_STEPS _Pragma("unroll")
#elif WIDE && !GUARDED && IN_BYTES != 2 /* with all steps, 08_vector would spill on sm_90 */
#define UNROLL_STEPS _Pragma("unroll 4")
#else
#define UNROLL_STEPS _Pragma("unroll 1")
#endif

/* Finds the tile of C that this block computes, in a grid of ceil(m / tile_m) x ceil(n / tile_n) tiles.
 * Blocks are numbered down the columns of a group of `group` rows of tiles, then down the next group.
 * Blocks that run at the same time form a rectangle and share tiles of A and of B in the L2 cache. The
 * last group may have fewer rows. */
DEVICE void find_block_tile(uint *tile_row, uint *tile_col, index_t m, index_t n, uint tile_m, uint tile_n, uint group)
{
    const uint grid_rows = (uint)((m + tile_m - 1) / tile_m), grid_cols = (uint)((n + tile_n - 1) / tile_n);
    const uint first = blockIdx.x / grid_cols / group * group; /* first row of this block's group */
    const uint rows = grid_rows - first < group ? grid_rows - first : group;
    const uint index = blockIdx.x - first * grid_cols; /* of this block in its group */
    *tile_col = index / rows;
    *tile_row = first + index - *tile_col * rows;
}

/* Returns the element at (mn, k), or zero outside. */
DEVICE in_t load_global(GLOBAL const in_t *memory, view_t view, index_t mn, index_t k, index_t mn_end,
                        index_t k_end)
{
    return !GUARDED || (mn < mn_end && k < k_end) ? memory[at(view, mn, k)] : (in_t)0;
}

/* Returns four elements starting at (mn, k), zero outside. */
DEVICE in4_t load4_global(GLOBAL const in_t *memory, view_t view, index_t mn, index_t k, index_t mn_end,
                          index_t k_end, int mn_major)
{
    const index_t d_mn = mn_major ? 1 : 0, dk = mn_major ? 0 : 1;
    if (WIDE && (!GUARDED || (mn + 3 * d_mn < mn_end && k + 3 * dk < k_end)))
        return *(GLOBAL const in4_t *)&memory[at(view, mn, k)];
    return make_in4(load_global(memory, view, mn, k, mn_end, k_end),
                    load_global(memory, view, mn + d_mn, k + dk, mn_end, k_end),
                    load_global(memory, view, mn + 2 * d_mn, k + 2 * dk, mn_end, k_end),
                    load_global(memory, view, mn + 3 * d_mn, k + 3 * dk, mn_end, k_end));
}

/* Return the mn and k coordinates of a vector of a tile_mn x tile_k tile. Vectors are numbered
 * along their own direction first, so that adjacent threads read adjacent memory. */
DEVICE uint vector_mn(uint vector, uint tile_mn, uint tile_k, int mn_major)
{
    return mn_major ? vector % (tile_mn / 4) * 4 : vector / (tile_k / 4);
}

DEVICE uint vector_k(uint vector, uint tile_mn, uint tile_k, int mn_major)
{
    return mn_major ? vector / (tile_mn / 4) : vector % (tile_k / 4) * 4;
}

/* Stores a vector to an MN-major tile with `ld` elements between adjacent k. An MN-major vector
 * takes one access; a K-major vector is transposed. */
DEVICE void store4_shared(SHARED in_t *tile, uint ld, uint mn, uint k, int mn_major, in4_t vector)
{
    const uint step = mn_major ? 1 : ld;
    SHARED in_t *to = &tile[k * ld + mn];
    if (WIDE && mn_major && ld % 4 == 0) {
        *(SHARED in4_t *)to = vector;
        return;
    }
    to[0] = vector.x;
    to[step] = vector.y;
    to[2 * step] = vector.z;
    to[3 * step] = vector.w;
}

/* Loads the tile_mn x tile_k elements at (mn, k) into an MN-major tile in shared memory. All
 * threads of the block take part. */
DEVICE void load_tile(SHARED in_t *tile, uint ld, uint tile_mn, uint tile_k, uint threads,
                      GLOBAL const in_t *memory, view_t view, index_t mn, index_t k, index_t mn_end,
                      index_t k_end, int mn_major)
{
    UNROLL_VECTORS
    for (uint i = 0; i < tile_mn * tile_k / 4; i += threads) {
        const uint vector = i + threadIdx.x;
        const uint d_mn = vector_mn(vector, tile_mn, tile_k, mn_major);
        const uint dk = vector_k(vector, tile_mn, tile_k, mn_major);
        store4_shared(tile, ld, d_mn, dk, mn_major,
                      load4_global(memory, view, mn + d_mn, k + dk, mn_end, k_end, mn_major));
    }
}

/* Return the row and column of a lane in the `rows` x `cols` lanes of a warp. Bit 0 of the lane selects
 * the column and bit 1 the row, so that A's address is the same for lanes n and n^1 and B's for n and
 * n^2. A GPU then serves a 16-byte load in two wavefronts; in row-major order B's load takes four. */
DEVICE uint lane_row(uint lane, uint rows, uint cols)
{
    return rows < 2 || cols < 2 ? lane / cols : lane / 2 % 2 + lane / (2 * cols) * 2;
}

DEVICE uint lane_col(uint lane, uint rows, uint cols)
{
    return rows < 2 || cols < 2 ? lane % cols : lane % 2 + lane / 4 % (cols / 2) * 2;
}

/* Loads and widens four adjacent elements of a tile whose rows are `ld` elements apart. */
DEVICE void load4_shared(sum_t *fragment, SHARED const in_t *from, uint ld)
{
    if (ld % 4 == 0) {
        const in4_t vector = *(SHARED const in4_t *)from;
        fragment[0] = widen(vector.x);
        fragment[1] = widen(vector.y);
        fragment[2] = widen(vector.z);
        fragment[3] = widen(vector.w);
        return;
    }
    fragment[0] = widen(from[0]);
    fragment[1] = widen(from[1]);
    fragment[2] = widen(from[2]);
    fragment[3] = widen(from[3]);
}

/* Scales four adjacent sums of a row of C, applies the epilogue and stores them. */
DEVICE void epilogue_store4(const output_t *output, index_t row, index_t col, const sum_t *sum)
{
    if (WIDE && !IS_SPLIT(output->launch_args) && (!GUARDED || (row < output->m && col + 3 < output->n))) {
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
        store4(to, epilogue_apply(output, row, col, x), epilogue_apply(output, row, col + 1, y),
               epilogue_apply(output, row, col + 2, z), epilogue_apply(output, row, col + 3, w));
        return;
    }
#pragma unroll
    for (uint j = 0; j < 4; j++)
        if (!GUARDED || (row < output->m && col + j < output->n))
            epilogue_store(output, row, col + j, sum[j]);
}

#endif /* RUNG_TILE_H */
