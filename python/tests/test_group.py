# SPDX-License-Identifier: Apache-2.0
"""rung.group_matmul on NumPy arrays."""

import numpy
import pytest

import rung

SIZES = [(3, 4, 5), (0, 4, 5), (1, 1, 1), (40, 33, 17), (2, 0, 3), (2, 3, 0), (64, 64, 64)]


def ints(shape, dtype=numpy.float32, seed=0):
    """Small whole numbers, for which every sum is exact."""
    return numpy.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def operands(dtype="float32"):
    a = [ints((m, k), dtype, index) for index, (m, _, k) in enumerate(SIZES)]
    b = [ints((k, n), dtype, 100 + index) for index, (_, n, k) in enumerate(SIZES)]
    return a, b


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int32"])
def test_types_and_sizes(dtype):
    a, b = operands(dtype)
    results = rung.group_matmul(a, b)
    assert len(results) == len(SIZES)
    for x, y, result in zip(a, b, results):
        expected = x.astype(numpy.float64) @ y.astype(numpy.float64)
        assert result.dtype == ("int32" if dtype == "int8" else dtype)
        assert result.shape == expected.shape and (result == expected).all()


def test_same_bits_as_matmul():
    generator = numpy.random.default_rng(3)
    a = [generator.standard_normal((rows, 70), numpy.float32) for rows in (5, 130, 0, 64)]
    b = [generator.standard_normal((70, 50), numpy.float32) for _ in a]
    for threads in (None, 1, 2):
        for x, y, result in zip(a, b, rung.group_matmul(a, b, threads=threads)):
            assert result.tobytes() == rung.matmul(x, y).tobytes()


def test_epilogue_and_out():
    a, b = operands()
    shapes = [(m, n) for m, n, _ in SIZES]
    bias = [ints(shape[1:], seed=7) for shape in shapes]
    residual = [ints(shape, seed=8) for shape in shapes]
    multiplier = [ints(shape, seed=10) for shape in shapes]
    out = [ints(shape, seed=9) for shape in shapes]
    expected = [
        numpy.maximum(2 * (x @ y) - c + d, 0) * f + r
        for x, y, c, d, f, r in zip(a, b, out, bias, multiplier, residual)
    ]
    epilogue = {"bias": bias, "activation": "relu", "multiplier": multiplier, "residual": residual}
    results = rung.group_matmul(a, b, out, alpha=2, beta=-1, **epilogue)
    for result, array, right in zip(results, out, expected):
        assert result is array and (array == right).all()


def test_copied_operands():
    a = [ints((8, 6))[::-1], ints((6, 8)).T, ints((8, 12))[:, ::2]]
    b = [ints((6, 4), seed=1)] * 3  # one matrix for all
    out = [numpy.zeros((8, 4), numpy.float32)[::-1] for _ in a]
    rung.group_matmul(a, b, out)
    for x, result in zip(a, out):
        assert (result == x @ b[0]).all()


def test_empty_groups():
    assert rung.group_matmul([], []) == []
    (result,) = rung.group_matmul([numpy.zeros((0, 3), numpy.float32)], [numpy.zeros((3, 2), numpy.float32)])
    assert result.shape == (0, 2)


def test_invalid_arguments():
    a, b = operands()
    with pytest.raises(ValueError, match="one of each"):
        rung.group_matmul(a, b[1:])
    with pytest.raises(ValueError, match="bias has 1 arrays"):
        rung.group_matmul(a, b, bias=[None])
    with pytest.raises(ValueError, match="two dimensions"):
        rung.group_matmul([ints(3)], [ints((3, 2))])
    with pytest.raises(rung.Error, match="problem 1"):
        rung.group_matmul([ints((2, 2)), ints((2, 2)).astype("float64")], [ints((2, 2)), ints((2, 2)).astype("float64")])
    out = numpy.zeros((2, 2), numpy.float32)
    with pytest.raises(rung.Error, match="overlaps the output"):
        rung.group_matmul([ints((2, 2))] * 2, [ints((2, 2))] * 2, [out, out])
