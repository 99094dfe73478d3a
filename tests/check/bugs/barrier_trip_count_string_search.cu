/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_trip_count_string_search.cu - a thread that has found a match leaves the loop before the barrier */
// rung: grid=1 block=128 text=u8[n] found=i32[128]:none n=1024 wanted=3
__global__ void search(const unsigned char *text, int *found, int n, int wanted)
{
    __shared__ unsigned char chunk[128];
    found[threadIdx.x] = -1;
    for (int start = 0; start < n; start += 128) {
        chunk[threadIdx.x] = text[start + threadIdx.x];
        __syncthreads(); // BUG barrier
        if (chunk[threadIdx.x] == wanted && chunk[(threadIdx.x + 1) % 128] == wanted) {
            found[threadIdx.x] = start + threadIdx.x;
            break;
        }
        __syncthreads(); // BUG barrier
    }
}
