# SPDX-License-Identifier: Apache-2.0
"""rung.matmul on NumPy arrays."""

import threading

import numpy
import pytest

import rung

ml_dtypes = pytest.importorskip("ml_dtypes")


def ints(shape, dtype=numpy.float32, seed=0):
    """Small whole numbers, for which every sum is exact."""
    return numpy.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def exact(a, b):
    return numpy.matmul(a.astype(numpy.float64), b.astype(numpy.float64))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_types(dtype):
    a, b = ints((7, 9), dtype), ints((9, 5), dtype, 1)
    for _ in range(3):  # the general path, then the fast one
        c = rung.matmul(a, b)
        assert c.dtype == a.dtype
        assert (c == exact(a, b)).all()


def test_int8_gives_int32():
    a, b = ints((7, 900), "int8"), ints((900, 5), "int8", 1)
    c = rung.matmul(a, b)
    assert c.dtype == numpy.int32
    assert (c == exact(a, b)).all()


@pytest.mark.parametrize(
    "name, result", [("bfloat16", "bfloat16"), ("float8_e4m3fn", "float32"), ("float8_e5m2", "float32")]
)
def test_ml_dtypes(name, result):
    dtype = numpy.dtype(getattr(ml_dtypes, name))
    a, b = ints((6, 8), dtype), ints((8, 5), dtype, 1)
    for _ in range(2):
        c = rung.matmul(a, b)
        assert c.dtype.name == result
        assert (c.astype("d") == exact(a, b)).all()


@pytest.mark.parametrize("dtype, out", [("float32", "float16"), ("float64", "float32"), ("float16", "float32")])
def test_other_result_types(dtype, out):
    a, b = ints((3, 4), dtype), ints((4, 5), dtype, 1)
    c = numpy.empty((3, 5), out)
    for _ in range(2):
        assert rung.matmul(a, b, c) is c
        assert (c == exact(a, b)).all()


SHAPES = [
    ((3, 4), (4, 5)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((4,), (4,)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (7, 4, 5)),
    ((6, 1, 3, 4), (1, 7, 4, 5)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
    ((0, 4), (4, 5)),
    ((3, 0), (0, 5)),
    ((3, 4), (4, 0)),
    ((0, 3, 4), (4, 5)),
    ((0,), (0,)),
    ((1, 1), (1, 1)),
    ((1, 4), (4, 1)),
]


@pytest.mark.parametrize("a_shape, b_shape", SHAPES)
def test_shapes(a_shape, b_shape):
    a, b = ints(a_shape), ints(b_shape, seed=1)
    expected = numpy.matmul(a, b)
    for _ in range(2):
        c = rung.matmul(a, b)
        assert c.shape == expected.shape
        assert (c == expected).all()
        out = numpy.full(expected.shape, 7, numpy.float32)
        rung.matmul(a, b, out)
        assert (out == expected).all()


def test_strides_are_used_in_place():
    base = ints((20, 30, 2))
    for a in (base[::2, ::3, 1], base[:, :, 0].T, numpy.broadcast_to(base[0, :, 0], (4, 30))):
        b = ints((a.shape[1], 6), seed=2)
        assert (rung.matmul(a, b) == numpy.matmul(a, b)).all()


def test_negative_strides_and_unaligned_arrays_are_copied():
    a, b = ints((6, 8)), ints((8, 5), seed=1)
    raw = numpy.zeros(6 * 8 * 4 + 1, numpy.uint8)
    unaligned = raw[1:].view(numpy.float32).reshape(6, 8)
    unaligned[...] = a
    swapped = a.astype(a.dtype.newbyteorder())
    records = numpy.zeros((6, 8), [("pad", "i1"), ("x", "f4")])
    records["x"] = a
    for _ in range(2):
        assert (rung.matmul(a[::-1], b[:, ::-1]) == numpy.matmul(a[::-1], b[:, ::-1])).all()
        for same in (unaligned, swapped, records["x"]):
            assert (rung.matmul(same, b) == numpy.matmul(a, b)).all()


def test_the_fast_path_notices_a_changed_alignment():
    a, b = ints((6, 8)), ints((8, 5), seed=1)
    rung.matmul(a, b)
    raw = numpy.zeros(6 * 8 * 4 + 1, numpy.uint8)
    unaligned = raw[1:].view(numpy.float32).reshape(6, 8)
    unaligned[...] = a
    assert unaligned.strides == a.strides
    assert (rung.matmul(unaligned, b) == numpy.matmul(a, b)).all()


@pytest.mark.parametrize(
    "view",
    [
        lambda whole: whole[::2, ::2],
        lambda whole: whole[:3, :5][::-1],
        lambda whole: whole[:5, :3].T,
        lambda whole: whole[2:5, 1:6],
    ],
)
def test_out_with_strides(view):
    a, b = ints((3, 4)), ints((4, 5), seed=1)
    whole = numpy.full((6, 10), 7, numpy.float32)
    expected = whole.copy()
    view(expected)[:3, :5] = a @ b
    out = view(whole)[:3, :5]
    for _ in range(2):
        rung.matmul(a, b, out)
        assert (whole == expected).all()


def test_read_only_arrays():
    a, b = ints((3, 4)), ints((4, 5), seed=1)
    out = numpy.empty((3, 5), numpy.float32)
    rung.matmul(a, b, out)
    for array in (a, b, out):
        array.flags.writeable = False
    assert (rung.matmul(a, b) == a @ b).all()
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            rung.matmul(a, b, out)


def test_overlapping_out_is_computed_as_numpy_does():
    a = ints((5, 5))
    expected = a @ a
    for _ in range(2):
        out = a.copy()
        rung.matmul(out, out, out)
        assert (out == expected).all()
    with pytest.raises(ValueError, match="overlapping"):
        rung.matmul(a, a, numpy.lib.stride_tricks.as_strided(a.copy(), (5, 5), (0, 4)))


def test_scalars_and_epilogue():
    a, b = ints((3, 4), "d"), ints((4, 5), "d", 1)
    c, bias, residual = ints((3, 5), "d", 2), ints(5, "d", 3), ints((3, 1), "d", 4)
    out = c.copy()
    for _ in range(2):
        out[...] = c
        rung.matmul(a, b, out, alpha=2, beta=3, bias=bias, activation="relu", residual=residual)
        assert (out == numpy.maximum(2 * a @ b + 3 * c + bias, 0) + residual).all()
        out[...] = c
        rung.matmul(a, b, out, alpha=0.5, beta=-1)
        assert (out == 0.5 * (a @ b) - c).all()
    assert (rung.matmul(a, b, alpha=2) == 2 * a @ b).all()
    for multiplier in (ints((3, 5), "d", 5), ints((5,), "d", 6), ints((6, 10), "d", 7)[::2, ::2], 3):
        for _ in range(2):  # a new form, then a known one
            found = rung.matmul(a, b, bias=bias, activation="relu", multiplier=multiplier, residual=residual)
            assert (found == numpy.maximum(a @ b + bias, 0) * multiplier + residual).all()
            assert (rung.matmul(a, b, multiplier=multiplier) == a @ b * multiplier).all()
            assert (rung.matmul(a, b) == a @ b).all()
    with pytest.raises(ValueError, match="multiplier has shape"):
        rung.matmul(a, b, multiplier=ints((4, 5), "d"))
    assert (rung.matmul(a, b, bias=1.5) == a @ b + 1.5).all()
    silu = a @ b / (1 + numpy.exp(-(a @ b)))
    assert numpy.allclose(rung.matmul(a, b, activation="silu"), silu)


def test_beta_zero_ignores_out():
    a, out = ints((3, 3)), numpy.full((3, 3), numpy.nan, numpy.float32)
    assert numpy.isfinite(rung.matmul(a, a, out)).all()


def test_batches_that_one_stride_cannot_describe():
    a = ints((2, 5, 3, 4)).transpose(1, 0, 2, 3)
    b = ints((5, 1, 4, 6), seed=1)
    bias = ints((5, 2, 1, 6), seed=2)[:, ::-1]
    expected = numpy.matmul(a, b) + bias
    for _ in range(2):
        assert (rung.matmul(a, b, bias=bias) == expected).all()
        out = numpy.empty((6, 2, 5, 3), numpy.float32).transpose(2, 1, 3, 0)
        assert (rung.matmul(a, b, out, bias=bias) == expected).all()


def test_subclasses_lists_and_scalars():
    a, b = ints((3, 4), "d"), ints((4, 5), "d", 1)
    assert (rung.matmul(a.tolist(), b.tolist()) == a @ b).all()
    assert (rung.matmul(a.view(numpy.matrix), b) == a @ b).all()


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda a, b: rung.matmul(a, a), ValueError, "do not match"),
        (lambda a, b: rung.matmul(a, 2.0), TypeError, "convert one"),
        (lambda a, b: rung.matmul(a, numpy.float32(2)), ValueError, "no dimensions"),
        (lambda a, b: rung.matmul(a, b.astype("d")), TypeError, "convert one"),
        (lambda a, b: rung.matmul(a.astype("c8"), b.astype("c8")), TypeError, "supported are"),
        (lambda a, b: rung.matmul(a.astype("i8"), b.astype("i8")), TypeError, "supported are"),
        (lambda a, b: rung.matmul(numpy.ones((2, 3, 4), "f"), numpy.ones((3, 4, 5), "f")), ValueError, "broadcast"),
        (lambda a, b: rung.matmul(a, b, numpy.empty((3, 4), "f")), ValueError, "out has shape"),
        (lambda a, b: rung.matmul(a, b, numpy.empty((3, 5), "d")), TypeError, "valid for operands"),
        (lambda a, b: rung.matmul(a, b, [[0.0] * 5] * 3), TypeError, "pass a NumPy array"),
        (lambda a, b: rung.matmul(a, b, beta=1), ValueError, "pass out="),
        (lambda a, b: rung.matmul(a, b, bias=numpy.ones(4, "f")), ValueError, "cannot be broadcast"),
        (lambda a, b: rung.matmul(a, b, bias=numpy.ones(5, "d")), TypeError, "the result has type"),
        (lambda a, b: rung.matmul(a, b, activation="tanh"), ValueError, "valid are"),
        (lambda a, b: rung.matmul(a, b, compute="fp8"), ValueError, "valid are"),
        (lambda a, b: rung.matmul(a, b, threads=-1), ValueError, "maximum is"),
        (lambda a, b: rung.matmul(a, b, threads=1.5), TypeError, "whole number"),
        (lambda a, b: rung.matmul(a, b, device=0), TypeError, "pass a name"),
        (lambda a, b: rung.matmul(a, b, device="gpu"), rung.Error, "gpu"),
        (lambda a, b: rung.matmul(a.astype("i4"), b.astype("i4"), alpha=0.5), rung.Error, "whole"),
    ],
)
def test_wrong_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call(ints((3, 4)), ints((4, 5)))


def test_device_and_threads():
    a, b = ints((300, 200)), ints((200, 100), seed=1)
    for arguments in ({"device": "cpu"}, {"threads": 1}, {"threads": 2}, {"compute": "tf32"}):
        assert (rung.matmul(a, b, **arguments) == a @ b).all()


@pytest.fixture
def seen_options(monkeypatch):
    """The fields threads and checked of the options of each call of rung_multiply."""
    rung.matmul(ints((2, 2)), ints((2, 2)))  # loads the library
    seen, multiply = [], rung._matmul._multiply

    def record(context, problem, options):
        seen.append((options._obj.threads, options._obj.checked) if options is not None else (0, 0))
        return multiply(context, problem, options)

    monkeypatch.setattr(rung._matmul, "_multiply", record)
    return seen


def test_checked(seen_options):
    """All paths of a call pass `checked` and the number of threads to the library."""
    a, b = ints((30, 20)), ints((20, 10), seed=1)
    for _ in range(3):  # the second call and later calls know the form
        assert (rung.matmul(a, b, checked=True) == a @ b).all()
        assert (rung.matmul(a, b, bias=1, threads=2, checked=True) == a @ b + 1).all()
        assert (rung.matmul(a, b, numpy.empty((30, 10), numpy.float32), checked=True) == a @ b).all()
        assert (rung.matmul(a, b) == a @ b).all()
    assert seen_options == [(0, 1), (2, 1), (0, 1), (0, 0)] * 3
    rung.set_threads(1)
    rung.matmul(a, b, checked=True)
    rung.set_threads(None)
    assert seen_options[-1] == (1, 1)


def test_checked_products_need_operands_in_memory():
    a, b = ints((3, 4)), ints((4, 5))
    with pytest.raises(ValueError, match="b is packed"):
        rung.matmul(a, rung.pack(b), checked=True)


def test_set_threads():
    before = rung.get_threads()
    rung.set_threads(3)
    assert rung.get_threads() == 3
    a = ints((3, 4))
    assert (rung.matmul(a, a.T) == a @ a.T).all()
    rung.set_threads(None)
    assert rung.get_threads() == before
    with pytest.raises(ValueError):
        rung.set_threads(100000)


def test_threadpoolctl():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    rung.matmul(ints((2, 2)), ints((2, 2)))
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert rung.get_threads() == 1
        info = [x for x in threadpoolctl.threadpool_info() if x["internal_api"] == "rung"]
        assert info[0]["num_threads"] == 1
        assert info[0]["version"] == rung.__version__
    rung.set_threads(None)


def test_many_threads_share_one_form():
    """Calls of several threads must not share a struct."""
    inputs = [(ints((33, 17), seed=i), ints((17, 29), seed=100 + i)) for i in range(8)]
    wrong = []

    def work(a, b):
        expected = a @ b
        for _ in range(400):
            if not (rung.matmul(a, b) == expected).all():
                wrong.append(1)

    threads = [threading.Thread(target=work, args=pair) for pair in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_fork():
    import os

    a = ints((64, 64))
    rung.matmul(a, a)
    child = os.fork()
    if child == 0:
        os._exit(0 if (rung.matmul(a, a) == a @ a).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
