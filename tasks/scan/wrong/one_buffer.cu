/* SPDX-License-Identifier: Apache-2.0 */
/* one_buffer - wrong: public shapes, hidden shapes, no wrong accesses, no races, memory traffic; found: race */
// rung: grid=1 block=1024

__global__ void scan(const int *x, int *y, int n)
{
    __shared__ int part[1024];
    int carry = 0;
    for (int first = 0; first < n; first += 1024) {
        int i = first + threadIdx.x;
        part[threadIdx.x] = i < n ? x[i] : 0;
        __syncthreads();
        for (int offset = 1; offset < 1024; offset *= 2) {
            if (threadIdx.x >= offset)
                part[threadIdx.x] += part[threadIdx.x - offset];
            __syncthreads();
        }
        if (i < n)
            y[i] = part[threadIdx.x] + carry;
        carry += part[1023];
        __syncthreads();
    }
}
