#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""random_cases.py [COUNT] [--seed N] - compares rung.matmul with NumPy for COUNT random calls.

Hypothesis draws shapes, batches, strides, types, alignment, read-only operands, out, scalars and
epilogues. All elements are small whole numbers, so every sum is exact and results must be equal
(after gelu and silu, and for 16-bit results, equal up to rounding). Prints what was covered. Exits
with 1 and prints the smallest failing call if a result is wrong.
"""

import argparse
import collections
import importlib.util
import math
import pathlib
import sys

import numpy

if importlib.util.find_spec("rung") is None:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from hypothesis import HealthCheck, Phase, given, seed, settings, strategies

import rung

try:
    import ml_dtypes
except ImportError:
    sys.exit("random_cases.py needs ml_dtypes; run tools/install-test-tools")

BFLOAT16 = numpy.dtype(ml_dtypes.bfloat16)
# Type of the operands -> types of the result; the first is the default.
RESULTS = {
    numpy.dtype("float32"): ("float32", "float16", BFLOAT16),
    numpy.dtype("float64"): ("float64", "float32"),
    numpy.dtype("float16"): ("float16", "float32"),
    BFLOAT16: (BFLOAT16, "float32"),
    numpy.dtype("int8"): ("int32",),
    numpy.dtype("int32"): ("int32",),
    numpy.dtype(ml_dtypes.float8_e4m3fn): ("float32", BFLOAT16),
    numpy.dtype(ml_dtypes.float8_e5m2): ("float32", BFLOAT16),
}
# Largest relative rounding error of one conversion to the result's type.
ROUNDING = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-22, "float64": 2.0**-50, "int32": 0.0}

covered = collections.Counter()


def whole_numbers(shape, dtype, generator):
    return generator.integers(-3, 4, shape).astype(dtype)


def with_layout(values, layout, generator):
    """Returns an array equal to `values` whose memory has another layout."""
    dtype, shape = values.dtype, values.shape
    if layout == "dense" or values.ndim == 0:
        return values
    if layout == "permuted":
        order = generator.permutation(values.ndim)
        return numpy.ascontiguousarray(values.transpose(order)).transpose(numpy.argsort(order))
    if layout in ("steps", "negative"):
        steps = generator.integers(1, 4, values.ndim)
        memory = numpy.full([n * s + 2 for n, s in zip(shape, steps)], 9, numpy.float32).astype(dtype)
        index = tuple(slice(1, 1 + n * s, s) for n, s in zip(shape, steps))
        array = memory[index]
        if layout == "negative":
            array = array[tuple(slice(None, None, int(generator.choice([-1, 1]))) for _ in shape)]
        array[...] = values
        return array
    if layout == "unaligned":
        memory = numpy.zeros(values.nbytes + 1, numpy.uint8)
        array = memory[1:].view(dtype).reshape(shape)
        array[...] = values
        return array
    if layout == "repeated":
        axis = int(generator.integers(values.ndim))
        first = numpy.take(values, [0] if shape[axis] else [], axis)
        return numpy.broadcast_to(first, shape)
    if layout == "swapped":
        return values.astype(dtype.newbyteorder()) if dtype.kind in "fi" else values
    raise ValueError(layout)


INPUT_LAYOUTS = ["dense", "dense", "permuted", "steps", "negative", "unaligned", "repeated", "swapped"]
OUTPUT_LAYOUTS = ["dense", "permuted", "steps", "negative", "unaligned"]

sizes = strategies.sampled_from([3, 1, 2, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 24, 31, 33, 40, 64, 65, 0])
lengths = strategies.sampled_from([2, 3, 1, 4, 2, 3, 5, 2, 3, 1, 4, 0])


@strategies.composite
def calls(draw):
    """Draws the description of a call: a dictionary of plain values."""
    batch = draw(strategies.lists(lengths, max_size=3))
    kept = [draw(strategies.integers(0, len(batch))) for _ in "ab"]
    ones = [[draw(strategies.booleans()) for _ in batch] for _ in "ab"]
    dtype = draw(strategies.sampled_from(list(RESULTS)))
    out = draw(strategies.sampled_from([None, *OUTPUT_LAYOUTS, "a"]))
    k = draw(sizes)
    return {
        "m": draw(sizes),
        "n": k if out == "a" else draw(sizes),
        "k": k,
        "vector": draw(strategies.sampled_from(["", "", "", "", "a", "b", "ab"])),
        "batch": batch,
        "kept": kept,
        "ones": ones,
        "dtype": dtype,
        "result": numpy.dtype(draw(strategies.sampled_from(RESULTS[dtype]))),
        "layouts": [draw(strategies.sampled_from(INPUT_LAYOUTS)) for _ in "abcmr"],
        "read_only": draw(strategies.booleans()),
        "out": out,
        "alpha": draw(strategies.sampled_from([1, 1, 1, 2, -1, 0])),
        "beta": draw(strategies.sampled_from([0, 0, 1, -2])),
        "bias": draw(strategies.sampled_from([None, None, "full", "row", "column", "scalar", "number"])),
        "activation": draw(strategies.sampled_from([None, None, "relu", "gelu", "gelu_tanh", "silu"])),
        "multiplier": draw(strategies.sampled_from([None, None, None, "full", "row", "number"])),
        "residual": draw(strategies.sampled_from([None, None, "full", "row"])),
        "threads": draw(strategies.sampled_from([None, None, 1, 2])),
        "packed": draw(strategies.integers(0, 9)) == 0,
        "seed": draw(strategies.integers(0, 2**32 - 1)),
    }


def operand_shape(core, batch, kept, ones):
    outer = [1 if one else n for one, n in zip(ones, batch)]
    return tuple(outer[len(batch) - kept :]) + core


def addend(kind, shape, dtype, layout, generator):
    if kind is None or kind == "number":
        return None if kind is None else 2
    target = {"full": shape, "row": shape[-1:], "column": shape[:-1] + (1,) if shape else (), "scalar": ()}[kind]
    return with_layout(whole_numbers(target, dtype, generator), layout, generator)


def activate(values, name):
    if name == "relu":
        return numpy.maximum(values, 0)
    if name == "gelu":
        return values / 2 * (1 + numpy.vectorize(math.erf, otypes=["d"])(values / math.sqrt(2)))
    if name == "gelu_tanh":
        return values / 2 * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (values + 0.044715 * values**3)))
    if name == "silu":
        with numpy.errstate(over="ignore"):  # 1 / infinity is right
            return values / (1 + numpy.exp(-values))
    return values


def double(array):
    return numpy.asarray(array).astype(numpy.float64)


def check(call):
    generator = numpy.random.default_rng(call["seed"])
    a_core = (call["k"],) if "a" in call["vector"] else (call["m"], call["k"])
    b_core = (call["k"],) if "b" in call["vector"] else (call["k"], call["n"])
    a_kept, b_kept = (0 if name in call["vector"] else kept for name, kept in zip("ab", call["kept"]))
    a_values = whole_numbers(operand_shape(a_core, call["batch"], a_kept, call["ones"][0]), call["dtype"], generator)
    b_values = whole_numbers(operand_shape(b_core, call["batch"], b_kept, call["ones"][1]), call["dtype"], generator)
    a = with_layout(a_values, call["layouts"][0], generator)
    b = with_layout(b_values, call["layouts"][1], generator)
    product = numpy.matmul(double(a), double(b))
    shape, result = product.shape, call["result"]

    activation = call["activation"]
    if result == numpy.int32 and activation not in (None, "relu"):
        activation = None
    kind, beta = call["out"], call["beta"]
    default = numpy.dtype(RESULTS[call["dtype"]][0])
    out = None
    surroundings = None
    if kind == "a":  # the result replaces an operand
        if shape == a.shape and result == a.dtype and call["layouts"][0] in ("dense", "permuted", "steps", "negative"):
            out = a
        else:
            kind = None
    elif kind is not None:
        out = with_layout(whole_numbers(shape, result, generator), kind, generator)
        surroundings = out.base.copy() if kind in ("steps", "negative") and out.base is not None else None
    if out is None:
        result, beta = default, 0
    bias = addend(call["bias"], shape, result, call["layouts"][2], generator)
    residual = addend(call["residual"], shape, result, call["layouts"][4], generator)
    multiplier = addend(call["multiplier"], shape, result, call["layouts"][3], generator)
    before = 0 if beta == 0 else beta * double(out)
    expected = call["alpha"] * product + before + (0 if bias is None else double(bias))
    product = activate(expected, activation) * (1 if multiplier is None else double(multiplier))
    expected = product + (0 if residual is None else double(residual))
    magnitude = 1 + numpy.abs(product) + numpy.abs(expected)
    if beta == 0 and out is not None and kind != "a" and result.kind != "i":
        out[...] = numpy.nan  # must not be read
    if call["read_only"]:
        for array in (a, b, bias, multiplier, residual):
            if isinstance(array, numpy.ndarray) and array is not out:
                array.flags.writeable = False

    right = b
    if (
        call["packed"]
        and b.ndim == 2
        and 0 not in b.shape
        and b.dtype.name in ("float32", "float64", "float16", "int8")
    ):
        if b.dtype.isnative:
            right = rung.pack(b, result_dtype=result)
            covered["packed"] += 1
    initial = None if out is None else out.copy()
    for _ in range(1 if kind == "a" else 2):  # a new form, then a known one
        if out is not None:
            out[...] = initial
        found = rung.matmul(
            a,
            right,
            out,
            alpha=call["alpha"],
            beta=beta,
            bias=bias,
            activation=activation,
            multiplier=multiplier,
            residual=residual,
            threads=call["threads"],
        )
    assert found.dtype == result, (found.dtype, result)
    assert found.shape == shape, (found.shape, shape)
    assert out is None or found is out
    compare(found, expected, magnitude, result, activation)
    if surroundings is not None:
        check_surroundings(out, surroundings)
    if beta == 0 and kind != "a" and result == default:  # the same shapes with other strides
        dense = [numpy.array(x, x.dtype.newbyteorder("=") if x.dtype.kind in "fi" else x.dtype) for x in (a, b)]
        compare(
            rung.matmul(
                *dense,
                alpha=call["alpha"],
                bias=bias,
                activation=activation,
                multiplier=multiplier,
                residual=residual,
            ),
            expected,
            magnitude,
            result,
            activation,
        )
    count(call, result, kind, bias, activation, multiplier, residual, beta)


def compare(found, expected, magnitude, result, activation):
    found = double(found)
    tolerance = ROUNDING[result.name]
    if activation in ("gelu", "gelu_tanh", "silu"):
        allowed = (1e-10 if result == numpy.float64 else tolerance + 2.0**-18) * magnitude
    elif result.name in ("float16", "bfloat16"):
        allowed = tolerance * numpy.abs(expected)
    else:
        allowed = 0.0
    wrong = ~(numpy.abs(found - expected) <= allowed)
    first = numpy.argwhere(wrong)[:1].tolist()
    assert not wrong.any(), f"{int(wrong.sum())} of {wrong.size} elements are wrong, first at {first}"


def check_surroundings(out, before):
    """Memory between the elements of an output must not change."""
    after = out.base.copy()
    inside = numpy.zeros(after.shape, bool)
    start = (out.__array_interface__["data"][0] - out.base.__array_interface__["data"][0]) // out.itemsize
    steps = [step // out.itemsize for step in out.strides]
    for index in numpy.ndindex(out.shape):
        inside.reshape(-1)[start + sum(i * s for i, s in zip(index, steps))] = True
    same = after.view(f"u{out.itemsize}") == before.view(f"u{out.itemsize}")
    assert (same | inside).all(), "memory between the elements of out changed"


def count(call, result, kind, bias, activation, multiplier, residual, beta):
    covered["calls"] += 1
    covered[f"operands {call['dtype'].name}"] += 1
    covered[f"result {result.name}"] += 1
    covered[f"out {kind or 'new'}"] += 1
    for layout in call["layouts"][:2]:
        covered[f"operand {layout}"] += 1
    covered["batch"] += bool(call["batch"])
    covered["vector operand"] += bool(call["vector"])
    covered["size 0"] += 0 in (call["m"], call["n"], call["k"], *call["batch"])
    covered["read-only"] += call["read_only"]
    covered["bias"] += bias is not None
    covered[f"activation {activation or 'none'}"] += 1
    covered["multiplier"] += multiplier is not None
    covered["residual"] += residual is not None
    covered["beta"] += beta != 0


def main():
    parser = argparse.ArgumentParser(description="compares rung.matmul with NumPy for random calls")
    parser.add_argument("count", nargs="?", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    @seed(arguments.seed)
    @settings(
        max_examples=arguments.count,
        deadline=None,
        database=None,
        print_blob=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(calls())
    def run(call):
        check(call)

    run()
    for name, number in sorted(covered.items()):
        print(f"{number:8} {name}")
    if covered["calls"] < arguments.count:
        sys.exit(f"only {covered['calls']} of {arguments.count} calls ran")
    print(f"{covered['calls']} calls: 0 wrong")


if __name__ == "__main__":
    main()
