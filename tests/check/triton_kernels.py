# SPDX-License-Identifier: Apache-2.0
"""triton_kernels.py NAME - compiles a Triton kernel to NAME.ptx without a GPU, writes its inputs and the results of NumPy to
.npy files, and prints the launch and the expected arrays for rung check, each on one line."""
import math
import sys

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(x, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    v = tl.load(x + row * stride + at, mask=mask, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + at, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def layer_norm(x, w, b, out, mean, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    v = tl.load(x + row * columns + at, mask=mask, other=0.0)
    m = tl.sum(v, axis=0) / columns
    d = tl.where(mask, v - m, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, axis=0) / columns + eps)
    tl.store(mean + row, m)
    y = d * r * tl.load(w + at, mask=mask) + tl.load(b + at, mask=mask)
    tl.store(out + row * columns + at, y, mask=mask)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    pa = a + rows[:, None] * K + depth[None, :]
    pb = b + depth[:, None] * N + cols[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = K - k * BK
        va = tl.load(pa, mask=(rows[:, None] < M) & (depth[None, :] < left), other=0.0)
        vb = tl.load(pb, mask=(depth[:, None] < left) & (cols[None, :] < N), other=0.0)
        acc += tl.dot(va, vb)
        pa += BK
        pb += BK * N
    where = c + rows[:, None] * N + cols[None, :]
    tl.store(where, acc.to(c.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def attention(q, k, v, out, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    head = tl.program_id(1)
    at = tl.arange(0, D)
    base = head * length * D
    vq = tl.load(q + base + rows[:, None] * D + at[None, :], mask=rows[:, None] < length, other=0.0)
    best = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        cols = start + tl.arange(0, BN)
        vk = tl.load(k + base + cols[None, :] * D + at[:, None], mask=cols[None, :] < length, other=0.0)
        s = tl.dot(vq, vk) * scale
        s = tl.where((cols[None, :] < length) & (cols[None, :] <= rows[:, None]), s, -float("inf"))
        new = tl.maximum(best, tl.max(s, axis=1))
        p = tl.exp(s - new[:, None])
        decay = tl.exp(best - new)
        total = total * decay + tl.sum(p, axis=1)
        vv = tl.load(v + base + cols[:, None] * D + at[None, :], mask=cols[:, None] < length, other=0.0)
        acc = acc * decay[:, None] + tl.dot(p.to(vv.dtype), vv)
        best = new
    acc = acc / total[:, None]
    tl.store(out + base + rows[:, None] * D + at[None, :], acc.to(out.dtype.element_ty), mask=rows[:, None] < length)


rng = np.random.default_rng(3)


def uniform(*shape, dtype=np.float32):
    return rng.uniform(-1, 1, shape).astype(dtype)


def softmax_case():
    x = uniform(6, 777)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return softmax, {"BLOCK": 1024}, "6", [x, ("out", np.float32, e / e.sum(axis=1, keepdims=True)), 777, 777]


def layer_norm_case():
    x, w, b = uniform(5, 600), uniform(600), uniform(600)
    d = x.astype(np.float64)
    mean = d.mean(axis=1, keepdims=True)
    y = (d - mean) / np.sqrt(d.var(axis=1, keepdims=True) + 1e-5) * w + b
    return layer_norm, {"BLOCK": 1024}, "5", [x, w, b, ("out", np.float32, y), ("mean", np.float32, mean), 600, 1e-5]


def matmul_case(dtype, out, m=100, n=88, k=150):
    a, b = uniform(m, k, dtype=dtype), uniform(k, n, dtype=dtype)
    c = a.astype(np.float64) @ b.astype(np.float64)
    return matmul, {"BM": 64, "BN": 32, "BK": 32}, "2,3", [a, b, ("c", out, c), m, n, k]


def attention_case(dtype):
    heads, length, d = 2, 100, 32
    q, k, v = (uniform(heads, length, d, dtype=dtype) for _ in range(3))
    s = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / math.sqrt(d)
    s[:, np.triu(np.ones((length, length), bool), 1)] = -np.inf
    p = np.exp(s - s.max(axis=2, keepdims=True))
    o = p / p.sum(axis=2, keepdims=True) @ v.astype(np.float64)
    return attention, {"BM": 32, "BN": 32, "D": d}, "4,2", [q, k, v, ("out", dtype, o), length, 1 / math.sqrt(d)]


# By name: the case, and options of the compiler.
cases = {
    "softmax": (softmax_case, {"num_warps": 4}),
    "softmax_8_warps": (softmax_case, {"num_warps": 8}),
    "layer_norm": (layer_norm_case, {"num_warps": 4}),
    "matmul_f16": (lambda: matmul_case(np.float16, np.float16), {"num_warps": 4, "num_stages": 3}),
    "matmul_f16_f32": (lambda: matmul_case(np.float16, np.float32), {"num_warps": 2, "num_stages": 4}),
    "matmul_tf32": (lambda: matmul_case(np.float32, np.float32), {"num_warps": 4, "num_stages": 2}),
    "matmul_aligned": (lambda: matmul_case(np.float16, np.float32, 128, 96, 128), {"num_warps": 4, "num_stages": 3}),
    "attention_f16": (lambda: attention_case(np.float16), {"num_warps": 4, "num_stages": 2}),
    "attention_f32": (lambda: attention_case(np.float32), {"num_warps": 4, "num_stages": 1}),
}
pointers = {np.dtype(np.float32): ("*fp32", "f32"), np.dtype(np.float16): ("*fp16", "f16")}


def run(name, capability):
    build, options = cases[name]
    kernel, constants, grid, arguments = build()
    signature, launch, expected, attributes = {}, [], [], {}
    for i, (parameter, value) in enumerate(zip(kernel.arg_names, arguments)):
        if isinstance(value, np.ndarray):
            signature[parameter], kind = pointers[value.dtype]
            np.save(f"{parameter}.npy", value)
            launch.append(f"p{i}={kind}[{value.size}]:{parameter}.npy")
        elif isinstance(value, tuple):
            array, dtype, result = value
            signature[parameter], kind = pointers[np.dtype(dtype)]
            np.save(f"{array}.npy", result)
            launch.append(f"p{i}={kind}[{result.size}]:none")
            expected.append(f"p{i}={array}.npy")
        else:
            signature[parameter] = "i32" if isinstance(value, int) else "fp32"
            launch.append(f"p{i}={value}")
        aligned = not isinstance(value, (int, float)) or (isinstance(value, int) and value % 16 == 0)
        if aligned: # as Triton specializes the kernel for pointers from an allocator and such sizes
            attributes[(i,)] = [["tt.divisibility", 16]]
    signature.update({constant: "constexpr" for constant in constants})
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    code = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    with open(f"{name}.ptx", "w") as file:
        file.write(code.asm["ptx"])
    count = len(arguments) # Triton appends two pointers to scratch memory
    launch += [f"p{count}=0", f"p{count + 1}=0"]
    threads = 32 * options["num_warps"]
    print(f"grid={grid} block={threads} shared={code.metadata.shared} " + " ".join(launch))
    print(",".join(expected))


if sys.argv[1] == "list":
    print(*cases, sep="\n")
else:
    run(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 80)
