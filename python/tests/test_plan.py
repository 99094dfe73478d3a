# SPDX-License-Identifier: Apache-2.0
"""rung.Plan and rung.pack."""

import numpy
import pytest

import rung


def ints(shape, dtype=numpy.float32, seed=0):
    return numpy.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def test_plan():
    a, b = ints((6, 8)), ints((8, 5), seed=1)
    plan = rung.Plan(a, b)
    assert plan.kernel and plan.device == "cpu" and plan.shape == (6, 5)
    assert plan.kernel in repr(plan)
    assert (plan(a, b) == a @ b).all()
    out = ints((6, 5), seed=2)
    expected = 2 * a @ b + 3 * out
    assert plan(a, b, out, alpha=2, beta=3) is out
    assert (out == expected).all()


def test_plan_with_a_kernel_and_an_epilogue():
    a, b, bias = ints((6, 8)), ints((8, 5), seed=1), ints(5, seed=2)
    plan = rung.Plan(a, b, bias=bias, activation="relu", kernel="01", threads=1)
    assert plan.kernel == "01_naive" and plan.threads == 1
    assert (plan(a, b, bias=bias) == numpy.maximum(a @ b + bias, 0)).all()
    up = ints((6, 5), seed=3)
    plan = rung.Plan(a, b, activation="relu", multiplier=up)
    for values in (up, -up):  # a new form, then a known one
        assert (plan(a, b, multiplier=values) == numpy.maximum(a @ b, 0) * values).all()
    with pytest.raises(ValueError, match="plan: multiplier"):
        plan(a, b)


def test_plan_rejects_other_arrays():
    a, b = ints((6, 8)), ints((8, 5), seed=1)
    plan = rung.Plan(a, b)
    with pytest.raises(ValueError, match="plan: b"):
        plan(a, b.T.copy().T)
    with pytest.raises(ValueError, match="plan: a, out"):
        plan(a[:3], b)
    with pytest.raises(rung.Error) as caught:
        rung.Plan(a, b, kernel="99")
    assert caught.value.name == "NOT_FOUND"
    with pytest.raises(ValueError, match="at least one element"):
        rung.Plan(a[:0], b)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
def test_packed(dtype):
    b = ints((40, 30), dtype)
    packed = rung.pack(b)
    assert packed.shape == (40, 30) and packed.dtype == dtype and packed.nbytes > 0
    for shape in ((1, 40), (40,), (7, 40), (300, 40), (2, 3, 40), (0, 40)):
        a = ints(shape, dtype, 1)
        expected = numpy.matmul(a.astype("d"), b.astype("d"))
        for _ in range(2):
            c = rung.matmul(a, packed)
            assert c.shape == expected.shape
            assert (c == expected).all()


def test_packed_strides_and_epilogue():
    b = ints((40, 30))
    a, bias, out = ints((5, 40), seed=1), ints(30, seed=2), ints((5, 30), seed=3)
    for view in (b, b.T.copy().T, b[::-1], b[:, ::-1]):
        packed = rung.pack(view)
        result = out.copy()
        rung.matmul(a, packed, result, beta=2, bias=bias, activation="relu", threads=1)
        assert (result == numpy.maximum(a @ view + 2 * out + bias, 0)).all()


def test_packed_file(tmp_path):
    b, a = ints((40, 30)), ints((5, 40), seed=1)
    rung.pack(b).save(tmp_path / "b.packed")
    loaded = rung.Packed.load(tmp_path / "b.packed", (40, 30), "float32")
    assert (rung.matmul(a, loaded) == a @ b).all()
    with pytest.raises(rung.Error) as caught:
        rung.Packed.load(tmp_path / "b.packed", (30, 40), "float32")
    assert caught.value.name == "INVALID"
    with pytest.raises(rung.Error) as caught:
        rung.Packed.load(tmp_path / "missing", (40, 30), "float32")
    assert caught.value.name == "NOT_FOUND"


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda b: rung.pack(b[0]), ValueError, "dimensions"),
        (lambda b: rung.pack(b[:0]), ValueError, "at least one row"),
        (lambda b: rung.pack(b, result_dtype="float64"), TypeError, "valid for"),
        (lambda b: rung.matmul(b, rung.pack(b)), ValueError, "do not match"),
        (lambda b: rung.matmul(b.T, rung.pack(b), device="opencl"), ValueError, "CPU only"),
        (lambda b: rung.matmul(b.T, rung.pack(b), compute="tf32"), ValueError, "packed for"),
        (lambda b: rung.matmul(b.T, rung.pack(b), numpy.empty((30, 30), "f2")), TypeError, "result_dtype"),
    ],
)
def test_wrong_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call(ints((40, 30)))
