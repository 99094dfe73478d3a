# SPDX-License-Identifier: Apache-2.0
# tinygrad_ops.py - runs operations of tinygrad on its CUDA back end and compares the results with NumPy. Prints one line per
# group of operations, and the number of distinct kernels that were executed: programs whose PTX differs by more than the
# name of the kernel. Started by tinygrad.sh on the emulated driver.
import hashlib
import sys

import numpy as np
from tinygrad import Device, Tensor, dtypes
from tinygrad.runtime import ops_cuda

executed = set()
call = ops_cuda.CUDAProgram.__call__


def counted_call(self, *arguments, **options):
    executed.add(hashlib.sha256(self.lib.replace(self.name.encode(), b"kernel")).hexdigest())
    return call(self, *arguments, **options)


ops_cuda.CUDAProgram.__call__ = counted_call
random = np.random.default_rng(1)
results = []
wrong = 0


def real(*shape, low=-2.0, high=2.0):
    return random.uniform(low, high, shape).astype(np.float32)


def check(group, what, found, expected, relative=2e-4, absolute=2e-5):
    """Compares one result; integers must be equal."""
    global wrong
    expected = np.asarray(expected)
    is_good = found.shape == expected.shape and np.allclose(found.astype(np.float64), expected.astype(np.float64),
                                                            rtol=relative, atol=absolute, equal_nan=True)
    if not is_good:
        wrong += 1
        print(f"WRONG {group}: {what}")
    results.append((group, is_good))


def elementwise():
    unary = {
        "exp": np.exp, "exp2": np.exp2, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "abs": np.abs, "neg": np.negative,
        "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "sign": np.sign, "square": np.square,
        "relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "silu": lambda x: x / (1 + np.exp(-x)), "softplus": lambda x: np.log1p(np.exp(x)), "round": np.round,
        "elu": lambda x: np.where(x > 0, x, np.exp(x) - 1), "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
        "hardtanh": lambda x: np.clip(x, -1, 1), "softsign": lambda x: x / (1 + np.abs(x)),
    }
    for name, reference in unary.items():
        for shape in ((77,), (16, 33)):
            x = real(*shape)
            check("elementwise", f"{name} {shape}", getattr(Tensor(x), name)().numpy(), reference(x))
    for name, reference in {"log": np.log, "log2": np.log2, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
                            "reciprocal": lambda x: 1 / x}.items():
        for shape in ((65,), (8, 40)):
            x = real(*shape, low=0.1, high=9)
            check("elementwise", f"{name} {shape}", getattr(Tensor(x), name)().numpy(), reference(x))
    binary = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
              "div": np.divide}
    for name, reference in binary.items():
        for left, right in (((40, 50), (40, 50)), ((40, 50), (50,)), ((40, 1), (1, 50)), ((3, 4, 5), (4, 1))):
            x, y = real(*left), real(*right, low=0.5, high=3)
            check("elementwise", f"{name} {left} {right}", getattr(Tensor(x), name)(Tensor(y)).numpy(), reference(x, y))
    for dtype in ("int32", "int64", "int16", "int8", "uint8", "uint32"):
        x = random.integers(1, 100, (37, 11)).astype(dtype)
        y = random.integers(1, 7, (37, 11)).astype(dtype)
        check("integers", f"{dtype} +", (Tensor(x) + Tensor(y)).numpy(), x + y)
        check("integers", f"{dtype} *", (Tensor(x) * Tensor(y)).numpy(), x * y)
        check("integers", f"{dtype} //", (Tensor(x) // Tensor(y)).numpy(), x // y)
        check("integers", f"{dtype} %", (Tensor(x) % Tensor(y)).numpy(), x % y)
        check("integers", f"{dtype} ^", (Tensor(x) ^ Tensor(y)).numpy(), x ^ y)
        check("integers", f"{dtype} &", (Tensor(x) & Tensor(y)).numpy(), x & y)
        check("integers", f"{dtype} <", (Tensor(x) < Tensor(y)).numpy(), x < y)
        check("integers", f"{dtype} <<", (Tensor(x) << 1).numpy(), (x << 1).astype(dtype))
    for low, high in (("float32", "float16"), ("float32", "int32"), ("int32", "float32"), ("float32", "float64"),
                      ("float64", "float32"), ("uint8", "float32"), ("float32", "bool"), ("int32", "int8")):
        x = (real(91) * 20).astype(low) if "float" in low else random.integers(0, 100, 91).astype(low)
        check("casts", f"{low} {high}", Tensor(x).cast(getattr(dtypes, high)).numpy(), x.astype(high), 1e-3, 1e-3)
    x, y = real(30, 30), real(30, 30)
    check("elementwise", "where", Tensor(x).__lt__(0.3).where(Tensor(x), Tensor(y)).numpy(), np.where(x < 0.3, x, y))
    check("elementwise", "fused", ((Tensor(x) * 3 + Tensor(y)).exp() - Tensor(y).sin()).numpy(), np.exp(x * 3 + y) - np.sin(y))
    h = real(33, 17).astype(np.float16)
    check("half", "add", (Tensor(h) + Tensor(h)).numpy(), h + h, 1e-3, 1e-3)
    check("half", "mul exp", (Tensor(h).exp() * Tensor(h)).numpy(), np.exp(h.astype(np.float32)) * h, 1e-2, 1e-2)
    check("half", "sum", Tensor(h).sum(axis=0).numpy(), h.astype(np.float32).sum(axis=0), 1e-2, 1e-2)
    check("half", "matmul", (Tensor(h) @ Tensor(h).T).numpy(), h.astype(np.float32) @ h.T.astype(np.float32), 1e-2, 2e-2)


def reductions():
    for shape in ((1000,), (37, 53), (8, 9, 10), (4, 256), (300, 7), (2, 3, 4, 5)):
        x = real(*shape)
        for axis in (None, *range(len(shape))):
            for name in ("sum", "mean", "max", "min"):
                check("reduce", f"{name} {shape} {axis}", getattr(Tensor(x), name)(axis=axis).numpy(),
                      getattr(x, name)(axis=axis), 1e-4, 1e-3)
        check("reduce", f"std {shape}", Tensor(x).std(axis=-1).numpy(), x.std(axis=-1, ddof=1))
        check("reduce", f"argmax {shape}", Tensor(x).argmax(axis=-1).numpy(), x.argmax(axis=-1))
        check("reduce", f"prod {shape}", Tensor(x[..., :4]).prod(axis=-1).numpy(), x[..., :4].prod(axis=-1))
        check("softmax", f"{shape}", Tensor(x).softmax().numpy(),
              np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True))
        check("softmax", f"log {shape}", Tensor(x).log_softmax().numpy(),
              x - x.max(-1, keepdims=True) - np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)))
        check("softmax", f"logsumexp {shape}", Tensor(x).logsumexp(axis=-1).numpy(), np.log(np.exp(x).sum(-1)))
        check("reduce", f"cumsum {shape}", Tensor(x).cumsum(axis=-1).numpy(), x.cumsum(axis=-1), 1e-3, 1e-3)
        normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        check("norm", f"layernorm {shape}", Tensor(x).layernorm().numpy(), normal, 1e-3, 1e-3)
    x = random.integers(0, 100, (50, 40)).astype(np.int32)
    check("reduce", "int sum", Tensor(x).sum(axis=1).numpy(), x.sum(axis=1))
    check("reduce", "any", (Tensor(x) > 98).any(axis=1).numpy(), (x > 98).any(axis=1))
    check("reduce", "all", (Tensor(x) > 1).all(axis=1).numpy(), (x > 1).all(axis=1))


def products():
    for m, n, k in ((1, 1, 1), (16, 16, 16), (32, 32, 32), (64, 64, 64), (33, 17, 65), (128, 96, 40), (1, 100, 50),
                    (100, 1, 50), (7, 7, 200), (128, 128, 128)):
        a, b = real(m, k), real(k, n)
        check("matmul", f"{m} {n} {k}", (Tensor(a) @ Tensor(b)).numpy(), a @ b, 1e-4, 1e-3)
        check("matmul", f"{m} {n} {k} bias", (Tensor(a) @ Tensor(b) + 1).relu().numpy(), np.maximum(a @ b + 1, 0), 1e-4, 1e-3)
    a, b = real(5, 20, 30), real(5, 30, 12)
    check("matmul", "batched", (Tensor(a) @ Tensor(b)).numpy(), a @ b, 1e-4, 1e-3)
    check("matmul", "transposed", (Tensor(a[0]).T @ Tensor(a[0])).numpy(), a[0].T @ a[0], 1e-4, 1e-3)
    check("matmul", "einsum", Tensor.einsum("bij,bjk->bik", Tensor(a), Tensor(b)).numpy(), a @ b, 1e-4, 1e-3)
    check("matmul", "dot", Tensor(a[0, 0]).dot(Tensor(b[0, :, 0])).numpy(), a[0, 0] @ b[0, :, 0], 1e-4, 1e-3)
    d = real(24, 36).astype(np.float64)
    check("matmul", "float64", (Tensor(d) @ Tensor(d).T).numpy(), d @ d.T, 1e-9, 1e-9)
    i = random.integers(-9, 9, (20, 30)).astype(np.int32)
    check("matmul", "int32", (Tensor(i) @ Tensor(i).T).numpy(), i @ i.T)
    q, v = real(2, 4, 16, 8), real(2, 4, 16, 8)
    weight = q @ q.swapaxes(-1, -2) / np.sqrt(8)
    weight = np.exp(weight - weight.max(-1, keepdims=True))
    weight /= weight.sum(-1, keepdims=True)
    check("attention", "plain", Tensor(q).scaled_dot_product_attention(Tensor(q), Tensor(v)).numpy(), weight @ v, 1e-3, 1e-3)


def convolution(x, w, stride=1, padding=0):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    height, width = (x.shape[2] - w.shape[2]) // stride + 1, (x.shape[3] - w.shape[3]) // stride + 1
    out = np.zeros((x.shape[0], w.shape[0], height, width), np.float32)
    for i in range(height):
        for j in range(width):
            patch = x[:, :, i * stride:i * stride + w.shape[2], j * stride:j * stride + w.shape[3]]
            out[:, :, i, j] = np.tensordot(patch, w, axes=([1, 2, 3], [1, 2, 3]))
    return out


def convolutions():
    for channels, filters, size, kernel, stride, padding in ((1, 1, 8, 3, 1, 0), (3, 4, 12, 3, 1, 1), (2, 6, 11, 5, 2, 2),
                                                             (4, 4, 9, 1, 1, 0), (3, 8, 16, 3, 2, 1), (8, 2, 7, 2, 1, 0)):
        x, w = real(2, channels, size, size), real(filters, channels, kernel, kernel)
        check("conv2d", f"{channels} {filters} {size} {kernel} {stride} {padding}",
              Tensor(x).conv2d(Tensor(w), stride=stride, padding=padding).numpy(), convolution(x, w, stride, padding), 1e-3, 1e-3)
    x = real(2, 3, 12, 12)
    blocks = x.reshape(2, 3, 6, 2, 6, 2)
    check("pool", "max", Tensor(x).max_pool2d((2, 2)).numpy(), blocks.max(axis=(3, 5)))
    check("pool", "average", Tensor(x).avg_pool2d((2, 2)).numpy(), blocks.mean(axis=(3, 5)), 1e-4, 1e-4)


def movement():
    x = real(6, 8, 10)
    t = Tensor(x)
    cases = {
        "permute": (t.permute(2, 0, 1), x.transpose(2, 0, 1)), "flip": (t.flip(1), x[:, ::-1]),
        "slice": (t[1:5, ::2, 3:], x[1:5, ::2, 3:]), "reshape": (t.reshape(48, 10), x.reshape(48, 10)),
        "expand": (t[:, :1].expand(6, 8, 10), np.broadcast_to(x[:, :1], (6, 8, 10))),
        "pad": (t.pad(((1, 2), (0, 0), (3, 1))), np.pad(x, ((1, 2), (0, 0), (3, 1)))),
        "cat": (Tensor.cat(t, t, dim=1), np.concatenate([x, x], axis=1)),
        "stack": (Tensor.stack(t, t, dim=0), np.stack([x, x])), "repeat": (t.repeat((2, 1, 3)), np.tile(x, (2, 1, 3))),
        "transpose": (t.transpose(0, 2), x.swapaxes(0, 2)), "squeeze": (t[:1].squeeze(0), x[0]),
        "roll": (t.roll(3, 1), np.roll(x, 3, 1)), "tril": (t[0].tril(), np.tril(x[0])), "triu": (t[0].triu(1), np.triu(x[0], 1)),
        "arange": (Tensor.arange(5, 100, 3), np.arange(5, 100, 3)), "eye": (Tensor.eye(9), np.eye(9)),
        "full": (Tensor.full((4, 5), 7.5), np.full((4, 5), 7.5)), "linspace": (Tensor.linspace(0, 1, 11), np.linspace(0, 1, 11)),
    }
    for name, (found, expected) in cases.items():
        check("movement", name, (found + 0).contiguous().numpy(), expected, 1e-5, 1e-6)
    for count in (1, 7, 20):
        rows = random.integers(0, 6, count)
        check("indexing", f"rows {count}", t[Tensor(rows.astype(np.int32))].numpy(), x[rows])
    index = random.integers(0, 8, (6, 5, 10)).astype(np.int32)
    check("indexing", "gather", t.gather(1, Tensor(index)).numpy(), np.take_along_axis(x, index, 1))
    check("indexing", "one hot", Tensor(np.array([1, 3, 0], np.int32)).one_hot(5).numpy(), np.eye(5)[[1, 3, 0]])
    table = real(50, 12)
    words = random.integers(0, 50, (3, 9)).astype(np.int32)
    check("indexing", "embedding", Tensor(table)[Tensor(words)].numpy(), table[words])
    values = real(3, 33)
    check("sort", "values", Tensor(values).sort(dim=-1)[0].numpy(), np.sort(values, axis=-1))
    check("sort", "topk", Tensor(values).topk(5)[0].numpy(), -np.sort(-values, axis=-1)[:, :5])


def gradients():
    for m, n in ((8, 5), (17, 33)):
        x, w = real(m, n), real(n, 4)
        a, b = Tensor(x), Tensor(w)
        to_a, to_b = ((a @ b).tanh() * 2).sum().gradient(a, b)
        slope = 2 * (1 - np.tanh(x @ w) ** 2)
        check("gradient", f"x {m} {n}", to_a.numpy(), slope @ w.T, 1e-3, 1e-3)
        check("gradient", f"w {m} {n}", to_b.numpy(), x.T @ slope, 1e-3, 1e-3)


for part in (elementwise, reductions, products, convolutions, movement, gradients):
    part()
    print(f"{part.__name__}: {len(results)} results, {len(executed)} kernels", file=sys.stderr, flush=True)
if Device.DEFAULT != "CUDA":
    print("the device is", Device.DEFAULT)
    sys.exit(1)
for group in dict.fromkeys(group for group, _ in results):
    good = [is_good for name, is_good in results if name == group]
    print(f"{group:12} {len(good):4} results, {good.count(False)} wrong")
print(f"{len(results)} results, {wrong} wrong, {len(executed)} distinct kernels")
sys.exit(1 if wrong or len(executed) < 300 else 0)
