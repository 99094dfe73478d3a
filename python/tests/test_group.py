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


def test_checked():
    a, b = operands()
    for x, y, result in zip(a, b, rung.group_matmul(a, b, checked=True, threads=2)):
        assert (result == x @ y).all()
    with pytest.raises(rung.Error, match="the group has a packed B"):
        rung.group_matmul(a[:1], [rung.pack(b[0])], checked=True)


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


def test_errors_name_the_index_of_the_problem():
    a = [ints((0, 2)), ints((0, 2)), ints((2, 2)), ints((2, 2))]
    same = numpy.zeros((2, 2), numpy.float32)
    out = [ints((0, 2)), ints((0, 2)), same, same]
    with pytest.raises(rung.Error, match="problem 2 of the group: C overlaps the output of problem 3"):
        rung.group_matmul(a, [ints((2, 2))] * 4, out)


def test_an_out_that_overlaps_operands_is_computed_as_by_matmul():
    a, b = [ints((4, 4), seed=index) for index in range(3)], [ints((4, 4), seed=10 + index) for index in range(3)]
    expected = [x @ y for x, y in zip(a, b)]
    results = rung.group_matmul(a, b, [a[0], b[2], a[1][::-1]])  # operands of the same and of other multiplications
    assert results[0] is a[0] and results[1] is b[2]
    for result, right in zip(results, expected):
        assert (result == right).all()


def test_float8_is_multiplied_as_by_matmul():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = [ints((rows, 6), ml_dtypes.float8_e4m3fn) for rows in (3, 0, 5)]
    b = [ints((6, 4), ml_dtypes.float8_e4m3fn, seed=1)] * 3
    for x, y, result in zip(a, b, rung.group_matmul(a, b)):
        assert result.dtype == numpy.float32 and (result == rung.matmul(x, y)).all()


@pytest.mark.parametrize("kind", ["q8_0", "q4_0", "int8", "int4", "uint4", "f8e4m3", "mxfp4", "nvfp4"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_quantized_experts(kind, dtype):
    generator = numpy.random.default_rng(5)
    experts = [rung.quantize(generator.standard_normal((n, 64), numpy.float32), kind).T for n in (24, 7, 0, 33)]
    tokens = [generator.standard_normal((rows, 64), numpy.float32).astype(dtype) for rows in (5, 0, 3, 70)]
    bias = [generator.standard_normal(expert.shape[1], numpy.float32).astype(dtype) for expert in experts]
    for compute in (None, "q8"):
        results = rung.group_matmul(tokens, experts, alpha=2, bias=bias, compute=compute)
        for a, b, c, result in zip(tokens, experts, bias, results):
            assert result.dtype == dtype
            assert result.tobytes() == rung.matmul(a, b, alpha=2, bias=c, compute=compute).tobytes()


def test_an_out_that_overlaps_a_quantized_b_is_computed_apart():
    weights = [rung.quantize(ints((4, 64), seed=index), "int8") for index in range(2)]
    values = [weight.dequantize().T for weight in weights]
    a = [ints((2, 64), seed=7)] * 2
    out = [weight.data[:32].view(numpy.float32).reshape(2, 4) for weight in reversed(weights)]
    rung.group_matmul(a, [weight.T for weight in weights], out)
    for x, value, result in zip(a, values, out):
        assert numpy.allclose(result, x @ value, atol=1e-4)


def test_quantized_and_other_matrices_are_not_mixed():
    weights = rung.quantize(ints((4, 64)), "int8").T
    with pytest.raises(rung.Error, match="problem 1 of the group"):
        rung.group_matmul([ints((2, 64))] * 2, [weights, ints((64, 4))])
    with pytest.raises(TypeError, match="b has type object"):
        rung.Plan(ints((2, 64)), weights)


def test_packed_matrices():
    generator = numpy.random.default_rng(5)
    for dtype, k, n in [("float32", 70, 50), ("float32", 3, 2), ("float64", 33, 129), ("float16", 64, 64), ("int8", 90, 31)]:
        a = [ints((rows, k), dtype, rows) for rows in (5, 130, 0, 1, 64)]
        b = [ints((k, n), dtype, 50 + index) for index in range(5)]
        packed = [rung.pack(matrix) for matrix in b]
        packed[4] = packed[1]
        bias = [generator.integers(-3, 4, n).astype("int32" if dtype == "int8" else dtype) for _ in a]
        for threads in (None, 1, 2):
            results = rung.group_matmul(a, packed, bias=bias, threads=threads)
            for index, (x, result) in enumerate(zip(a, results)):
                y = b[1 if index == 4 else index]
                assert (result == x.astype(numpy.float64) @ y.astype(numpy.float64) + bias[index]).all()


def test_packed_matrices_for_a_compute_mode():
    a = [ints((rows, 200), seed=rows) for rows in (100, 3)]
    packed = [rung.pack(ints((200, 100), seed=index), compute="bf16x3") for index in range(2)]
    results = rung.group_matmul(a, packed)
    assert all((result == x @ ints((200, 100), seed=index)).all() for index, (x, result) in enumerate(zip(a, results)))
    with pytest.raises(ValueError, match="packed for 'bf16x3'"):
        rung.group_matmul(a, packed, compute="strict")


def test_packed_matrices_that_are_refused():
    matrix = ints((4, 5))
    packed = rung.pack(matrix)
    a = [ints((3, 4)), ints((2, 4))]
    with pytest.raises(TypeError, match="b.1. is not packed"):
        rung.group_matmul(a, [packed, matrix])
    with pytest.raises(ValueError, match="CPU only"):
        rung.group_matmul(a, [packed, packed], device="opencl")
    with pytest.raises(ValueError, match="was packed for"):
        rung.group_matmul(a, [packed, rung.pack(matrix, compute="bf16x3")])
