#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# explain_counts.sh - the numbers of rung explain for three textbook kernels, against numbers that are derived here by hand
# from the rules of docs/guides/explain.md. All numbers are those of one block. A warp has 32 threads with adjacent
# threadIdx.x, then threadIdx.y. K is the length of the sum.
set -u
. "$(dirname "$0")/common.sh"

cat > "$work/naive.cu" << 'EOF'
__global__ void naive(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
void run(const float *A, const float *B, float *C, int M, int N, int K)
{
    naive<<<dim3(N / 16, M / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}
EOF
cat > "$work/tiled.cu" << 'EOF'
__global__ void tiled(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[32][32], Bs[32][32];
    int row = blockIdx.y * 32 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < K; t += 32) {
        As[threadIdx.y][threadIdx.x] = A[row * K + t + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < 32; k++)
            sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    C[row * N + col] = sum;
}
void run(const float *A, const float *B, float *C, int M, int N, int K)
{
    tiled<<<dim3(N / 32, M / 32), dim3(32, 32)>>>(A, B, C, M, N, K);
}
EOF
cat > "$work/registers.cu" << 'EOF'
__global__ void registers(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[16][64], Bs[16][64];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16, a_row = threadIdx.x / 4, a_col = threadIdx.x % 4 * 4;
    const float *a = A + (blockIdx.y * 64 + a_row) * K + a_col;
    const float *b = B + ty * N + blockIdx.x * 64 + tx * 4;
    float sum[4][4] = {};
    for (int t = 0; t < K; t += 16) {
        float4 left = *(const float4 *)&a[t];
        float lefts[4] = {left.x, left.y, left.z, left.w};
        for (int i = 0; i < 4; i++)
            As[a_col + i][a_row] = lefts[i];
        *(float4 *)&Bs[ty][tx * 4] = *(const float4 *)&b[t * N];
        __syncthreads();
        for (int k = 0; k < 16; k++) {
            float4 x = *(const float4 *)&As[k][ty * 4], y = *(const float4 *)&Bs[k][tx * 4];
            float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] += xs[i] * ys[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        *(float4 *)&C[(blockIdx.y * 64 + ty * 4 + i) * N + blockIdx.x * 64 + tx * 4] =
            make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
}
void run(const float *A, const float *B, float *C, int M, int N, int K)
{
    registers<<<dim3(N / 64, M / 64), 256>>>(A, B, C, M, N, K);
}
EOF
cat > "$work/compare.py" << 'EOF'
import json, sys
name, K = sys.argv[1], int(sys.argv[3])

# Rows: access and array, then requests, bytes of all lanes, bytes that differ within a request, sectors (wavefronts for
# shared memory) and the minimum.
def global_row(requests, bytes, distinct, sectors, ideal):
    return dict(requests=requests, bytes=bytes, distinct_bytes=distinct, sectors=sectors, sectors_ideal=ideal)

def shared_row(requests, bytes, wavefronts, ideal):
    return dict(requests=requests, bytes=bytes, wavefronts=wavefronts, wavefronts_ideal=ideal)

if name == "naive":
    # 256 threads are 8 warps of 2 rows x 16 columns. Each warp loads A and B in each of the K steps: 8 K requests of 4
    # bytes x 32 lanes.
    requests = 8 * K
    shared_bytes = 0
    expected = {
        # The 16 lanes of a row read the same element, and the rows are 4 K bytes apart: 2 sectors. The 8 bytes of both
        # would fill 1.
        ("global_load", "A"): global_row(requests, requests * 128, requests * 8, 2 * requests, requests),
        # Both rows read the same 16 adjacent elements, 64 bytes: 2 sectors.
        ("global_load", "B"): global_row(requests, requests * 128, requests * 64, 2 * requests, 2 * requests),
        # Once per warp: 2 rows of 64 bytes, 4 sectors.
        ("global_store", "C"): global_row(8, 16 * 16 * 4, 16 * 16 * 4, 8 * 4, 8 * 4),
    }
elif name == "tiled":
    # 1024 threads are 32 warps of 1 row x 32 columns. Each warp loads one row of each tile per step of 32.
    steps = K // 32
    requests = 32 * steps
    shared_bytes = 2 * 32 * 32 * 4
    expected = {
        # 32 adjacent elements, 128 bytes: 4 sectors. Every element of the 32 x K (K x 32) panel is read once.
        ("global_load", "A"): global_row(requests, requests * 128, 32 * K * 4, 4 * requests, 4 * requests),
        ("global_load", "B"): global_row(requests, requests * 128, 32 * K * 4, 4 * requests, 4 * requests),
        ("global_store", "C"): global_row(32, 32 * 32 * 4, 32 * 32 * 4, 32 * 4, 32 * 4),
        # 32 adjacent words are in 32 banks: 1 wavefront.
        ("shared_store", "As"): shared_row(requests, requests * 128, requests, requests),
        ("shared_store", "Bs"): shared_row(requests, requests * 128, requests, requests),
        # As[ty][k] to As[ty][k + 3] are adjacent, and the assembler merges them: 8 loads of 16 bytes per row instead of 32
        # of 4. All lanes have the same address, so the minimum of 2 wavefronts is reached.
        ("shared_load", "As"): shared_row(8 * requests, 8 * requests * 512, 2 * 8 * requests, 2 * 8 * requests),
        # Bs[k][tx]: 32 loads of 32 adjacent words.
        ("shared_load", "Bs"): shared_row(32 * requests, 32 * requests * 128, 32 * requests, 32 * requests),
    }
else:
    # 256 threads are 8 warps. Each thread computes 4 x 4 elements of the 64 x 64 tile and loads 4 elements (16 bytes) of A
    # and of B per step of 16.
    steps = K // 16
    requests = 8 * steps
    shared_bytes = 2 * 16 * 64 * 4
    expected = {
        # A: 4 lanes per row, so 8 rows of 64 bytes: 8 x 2 sectors. B: 16 lanes per row, so 2 rows of 256 bytes: 2 x 8
        # sectors. A request has 512 bytes, which fill 16 sectors. Every element of both panels is read once.
        ("global_load", "A"): global_row(requests, requests * 512, 64 * K * 4, 16 * requests, 16 * requests),
        ("global_load", "B"): global_row(requests, requests * 512, 64 * K * 4, 16 * requests, 16 * requests),
        # Each thread stores 4 rows of 16 bytes: 4 requests per warp, each of 2 rows of 256 bytes.
        ("global_store", "C"): global_row(32, 64 * 64 * 4, 64 * 64 * 4, 32 * 16, 32 * 16),
        # As[a_col + i][a_row] has the bank a_row % 32, because a row has 64 words. The 4 lanes with the same a_row store 4
        # different words of one bank: 4 wavefronts where 1 is enough. There are 4 stores, i = 0 to 3.
        ("shared_store", "As"): shared_row(4 * requests, 4 * requests * 128, 4 * 4 * requests, 4 * requests),
        # 16 bytes per lane: 4 groups of 8 lanes, each with 128 adjacent bytes: 4 wavefronts.
        ("shared_store", "Bs"): shared_row(requests, requests * 512, 4 * requests, 4 * requests),
        # As[k][4 ty]: the warp has 2 different ty, and 16 adjacent lanes have the same address: 2 wavefronts.
        ("shared_load", "As"): shared_row(16 * requests, 16 * requests * 512, 2 * 16 * requests, 2 * 16 * requests),
        # Bs[k][4 tx]: adjacent lanes read adjacent 16 bytes: 4 groups of 8 lanes: 4 wavefronts.
        ("shared_load", "Bs"): shared_row(16 * requests, 16 * requests * 512, 4 * 16 * requests, 4 * 16 * requests),
    }

bad = []
kernel, = json.load(open(sys.argv[2]))["kernels"]
found = {}
for line in kernel["lines"]:
    row = found.setdefault((line["kind"], line["array"]), {})
    for key, value in line.items():
        if isinstance(value, int):
            row[key] = row.get(key, 0) + value
if set(found) != set(expected):
    bad.append("accesses %s instead of %s" % (sorted(found), sorted(expected)))
for access, row in expected.items():
    for key, value in row.items():
        if found.get(access, {}).get(key) != value:
            bad.append("%s of %s: %s is %s instead of %d" % (*access, key, found.get(access, {}).get(key), value))

# The ratios of the summary are sums over all accesses of the space.
def ratio(space, key):
    rows = [row for access, row in expected.items() if access[0].startswith(space)]
    return sum(row[key] for row in rows) / sum(row["requests"] for row in rows) if rows else 0

for field, value in [("kernel", name), ("shared_bytes", shared_bytes), ("spills", 0),
                     ("sectors_per_request", ratio("global", "sectors")),
                     ("sectors_ideal", ratio("global", "sectors_ideal")),
                     ("wavefronts_per_request", ratio("shared", "wavefronts")),
                     ("wavefronts_ideal", ratio("shared", "wavefronts_ideal"))]:
    got = kernel[field]
    if got != value and not (isinstance(value, float) and abs(got - value) < 1e-9 * value):
        bad.append("%s is %s instead of %s" % (field, got, value))
# The occupancy depends on the compiler's registers, which this test does not derive.
kinds = [finding["kind"] for finding in kernel["findings"] if finding["kind"] != "occupancy_cliff"]
if kinds != {"naive": ["uncoalesced"], "tiled": [], "registers": ["bank_conflict"]}[name]:
    bad.append("the findings are %s" % kinds)
for text in bad:
    print(text)
sys.exit(len(bad) > 0)
EOF

for name in naive tiled registers; do
    for sizes in "1024 1024 1024" "512 1024 640"; do
        read -r m n k <<< "$sizes"
        run 0 explain "$work/$name.cu" --json --m "$m" --n "$n" --k "$k"
        python3 "$work/compare.py" $name "$work/out" "$k" || { echo "$name, $m x $n x $k"; bad=1; }
    done
done
exit $bad
