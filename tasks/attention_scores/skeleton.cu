/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton - Attention scores: softmax of Q K^T with a causal mask. Try it: rung grade attention_scores FILE */
// rung: grid=n block=128 shared=4*n

__global__ void attention_scores(const float *q, const float *k, float *p, float factor, int n, int d)
{
    /* TODO: q and k are n x d matrices, stored by rows. For each row i of p:
     *   score[j] = factor * (the product of row i of q and row j of k), for j <= i;
     *   p[i][j] = softmax over j <= i of score[j], and 0 for j > i.
     * One block per row is enough; dynamic shared memory has room for the scores of a row. */
}
