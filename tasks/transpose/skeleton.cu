/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton - Matrix transpose: coalesced on both sides. Try it: rung grade transpose FILE */
// rung: grid=(cols+31)/32,(rows+31)/32 block=32,8

__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    /* TODO: out[col * rows + row] = in[row * cols + col] for every element. A block has 32 x 8
     * threads and a tile of 32 x 32 elements, so each thread has four elements. */
}
