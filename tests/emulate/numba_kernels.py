# SPDX-License-Identifier: Apache-2.0
# numba_kernels.py - kernels of numba-cuda, compared with NumPy. Started by numba.sh on the emulated driver.
import math
import sys

import numpy as np
from numba import cuda, float32, int32

random = np.random.default_rng(2)
count = wrong = 0


def check(name, found, expected, tolerance=1e-5):
    global count, wrong
    count += 1
    is_good = np.allclose(found, expected, rtol=tolerance, atol=tolerance)
    wrong += not is_good
    print(f"{name:20} {'correct' if is_good else 'WRONG'}")


@cuda.jit
def axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@cuda.jit
def matmul(a, b, c):
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@cuda.jit
def matmul_tiled(a, b, c):
    tile_a = cuda.shared.array((16, 16), float32)
    tile_b = cuda.shared.array((16, 16), float32)
    j, i = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for step in range((a.shape[1] + 15) // 16):
        k = step * 16
        tile_a[ty, tx] = a[i, k + tx] if i < a.shape[0] and k + tx < a.shape[1] else 0
        tile_b[ty, tx] = b[k + ty, j] if k + ty < b.shape[0] and j < b.shape[1] else 0
        cuda.syncthreads()
        for n in range(16):
            total += tile_a[ty, n] * tile_b[n, tx]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@cuda.jit
def block_sum(x, out):
    shared = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    width = 64
    while width > 0:
        if t < width:
            shared[t] += shared[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        cuda.atomic.add(out, 0, shared[0])


@cuda.jit
def histogram(x, bins):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i], 1)


@cuda.jit
def warp_sum(x, out):
    value = x[cuda.grid(1)]
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
    if cuda.laneid == 0:
        out[cuda.grid(1) // 32] = value


@cuda.jit
def functions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = math.exp(-x[i]) * math.sin(x[i]) + math.sqrt(abs(x[i])) + math.log(1.5 + x[i] * x[i])


@cuda.jit
def stencil(x, out):
    i, j = cuda.grid(2)
    if 0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1:
        out[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@cuda.jit(device=True)
def mandelbrot_steps(x, y):
    c, z = complex(x, y), 0j
    for i in range(50):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4:
            return i
    return 50


@cuda.jit
def mandelbrot(out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = mandelbrot_steps(-2 + 3 * j / out.shape[1], -1 + 2 * i / out.shape[0])


@cuda.jit
def prefix(x, out):
    shared = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    shared[t] = x[t]
    cuda.syncthreads()
    step = 1
    while step < 256:
        value = shared[t - step] if t >= step else 0
        cuda.syncthreads()
        shared[t] += value
        cuda.syncthreads()
        step *= 2
    out[t] = shared[t]


@cuda.jit
def transpose(x, out):
    tile = cuda.shared.array((16, 17), float32)
    j, i = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[i, j]
    cuda.syncthreads()
    row = cuda.blockIdx.x * 16 + cuda.threadIdx.y
    column = cuda.blockIdx.y * 16 + cuda.threadIdx.x
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


print("device:", cuda.get_current_device().name)
x, y = random.random(1000, np.float32), random.random(1000, np.float32)
found = y.copy()
axpy[8, 128](np.float32(2.5), x, found)
check("axpy", found, 2.5 * x + y)

a, b = random.random((45, 33), np.float32), random.random((33, 50), np.float32)
c = np.zeros((45, 50), np.float32)
matmul[(6, 7), (8, 8)](a, b, c)
check("matmul", c, a @ b, 1e-4)
c[:] = 0
matmul_tiled[(4, 3), (16, 16)](a, b, c)
check("matmul_tiled", c, a @ b, 1e-4)

total = np.zeros(1, np.float32)
block_sum[8, 128](x, total)
check("block_sum", total[0], x.sum(), 1e-4)

values = random.integers(0, 10, 5000).astype(np.int32)
bins = np.zeros(10, np.int32)
histogram[40, 128](values, bins)
check("histogram", bins, np.bincount(values, minlength=10))

sums = np.zeros(8, np.float32)
warp_sum[2, 128](x[:256], sums)
check("warp_sum", sums, x[:256].reshape(8, 32).sum(axis=1), 1e-4)

d = random.uniform(-3, 3, 777)
out = np.zeros_like(d)
functions[7, 128](d, out)
check("functions", out, np.exp(-d) * np.sin(d) + np.sqrt(np.abs(d)) + np.log(1.5 + d * d), 1e-12)

grid = random.random((40, 60))
out = np.zeros_like(grid)
stencil[(5, 8), (8, 8)](grid, out)
expected = np.zeros_like(grid)
expected[1:-1, 1:-1] = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
check("stencil", out, expected, 1e-12)

steps = np.zeros((32, 48), np.int32)
mandelbrot[(4, 6), (8, 8)](steps)
expected = np.zeros_like(steps)
for i in range(32):
    for j in range(48):
        c0, z, n = complex(-2 + 3 * j / 48, -1 + 2 * i / 32), 0j, 50
        for n in range(51):
            if n == 50:
                break
            z = z * z + c0
            if z.real * z.real + z.imag * z.imag >= 4:
                break
        expected[i, j] = n
check("mandelbrot", steps, expected)

numbers = random.integers(0, 100, 256).astype(np.int32)
out = np.zeros(256, np.int32)
prefix[1, 256](numbers, out)
check("prefix", out, np.cumsum(numbers))

matrix = random.random((37, 53), np.float32)
out = np.zeros((53, 37), np.float32)
transpose[(4, 3), (16, 16)](matrix, out)
check("transpose", out, matrix.T)

print(f"{count} kernels, {wrong} wrong")
sys.exit(1 if wrong or count < 10 else 0)
