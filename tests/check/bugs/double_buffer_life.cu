/* SPDX-License-Identifier: Apache-2.0 */
/* double_buffer_life.cu - the parity changes at the wrong place, so that a step reads what it writes */
// rung: grid=1 block=16,16 cells=u8[256] steps=3
__global__ void life(unsigned char *cells, int steps)
{
    __shared__ unsigned char world[2][16][16];
    int x = threadIdx.x, y = threadIdx.y, now = 0;
    world[0][y][x] = cells[y * 16 + x] & 1;
    __syncthreads();
    for (int s = 0; s < steps; s++) {
        int count = 0;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++)
                if (dx || dy)
                    count += world[now][(y + dy) & 15][(x + dx) & 15]; // BUG race
        now ^= 1;
        unsigned char alive = world[now ^ 1][y][x];
        now ^= 1;
        world[now][y][x] = count == 3 || (alive && count == 2); // BUG race
        __syncthreads();
    }
    cells[y * 16 + x] = world[now][y][x];
}
