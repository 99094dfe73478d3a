# SPDX-License-Identifier: Apache-2.0
"""Cells for a Jupyter notebook that check CUDA kernels without a GPU. Run it as a whole with: ipython check_kernels.py

Each part after a line `# %%` is one cell; editors such as Visual Studio Code show them as cells. In a notebook, the magic
`%%rung` at the top of a cell does the same for the source text in the cell:

    %load_ext rung

    %%rung --arch sm_86 --into found
    __global__ void matmul(const float *A, const float *B, float *C, int N) { ... }
"""

# %% A kernel with a bug: a barrier is missing.
import rung

KERNEL = """
#define TILE 16
__global__ void matmul(const float *A, const float *B, float *C, int N)
{
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < N / TILE; t++) {
        As[threadIdx.y][threadIdx.x] = A[row * N + t * TILE + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(t * TILE + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        MISSING
    }
    C[row * N + col] = sum;
}
"""
LAUNCH = dict(grid="N/16,N/16", block="16,16")
found = rung.verify(KERNEL.replace("MISSING", ""), **LAUNCH)
print(found)
assert not found and found.findings[0]["kind"] == "race"

# %% The same with the barrier.
right = KERNEL.replace("MISSING", "__syncthreads();")
found = rung.verify(right, **LAUNCH)
print(found)
assert found

# %% What limits it?
explanation = rung.explain(right, arch="sm_86", m=1024, **LAUNCH)
print(explanation)
assert explanation.kernels[0]["bound"]

# %% Through the magic, as a notebook would.
try:
    shell = get_ipython()  # noqa: F821
except NameError:
    print("without IPython there is no magic")
else:
    shell.run_line_magic("load_ext", "rung")
    shell.run_cell_magic("rung", "--grid N/16,N/16 --block 16,16 --into results", right)
    assert shell.user_ns["results"][0]
