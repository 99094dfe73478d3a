/* SPDX-License-Identifier: Apache-2.0 */
/* random_philox.cu - a counter-based generator */
// rung: grid=2 block=32 out=u32[256]:none seed=42
__global__ void philox(uint4 *out, unsigned seed)
{
    unsigned i = blockIdx.x * 32 + threadIdx.x, k0 = seed, k1 = 0xdeadbeefu;
    uint4 c = make_uint4(i, 0, 0, 0);
    for (int round = 0; round < 10; round++) {
        unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
        unsigned h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = make_uint4(h1 ^ c.y ^ k0, l1, h0 ^ c.w ^ k1, l0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[i] = c;
}
