# SPDX-License-Identifier: Apache-2.0
"""Operands that are not NumPy arrays: DLPack and __cuda_array_interface__."""

import gc
import os
import pathlib
import subprocess
import sys
import weakref

import numpy
import pytest

import rung

HERE = pathlib.Path(__file__).resolve().parent


class Exporter:
    """An array of another package, with the newest or the oldest version of DLPack."""

    def __init__(self, array, is_old=False):
        self.array, self.is_old = array, is_old

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **arguments):
        if self.is_old and arguments:
            raise TypeError("unknown arguments")
        return self.array.__dlpack__(**arguments)


def ints(shape, seed=0):
    return numpy.random.default_rng(seed).integers(-4, 5, shape).astype(numpy.float32)


@pytest.mark.parametrize("is_old", [False, True])
def test_dlpack(is_old):
    a, b = ints((6, 8))[::2], ints((5, 8), 1).T
    out = numpy.zeros((3, 5), numpy.float32)
    result = Exporter(out, is_old)
    for _ in range(2):
        assert (rung.matmul(Exporter(a, is_old), Exporter(b, is_old)) == a @ b).all()
        assert rung.matmul(Exporter(a, is_old), b, result) is result
        assert (out == a @ b).all()
        out[...] = 0
    assert (rung.matmul(Exporter(a[::-1], is_old), b) == a[::-1] @ b).all()


def test_dlpack_read_only_out():
    out = numpy.zeros((3, 5), numpy.float32)
    out.flags.writeable = False
    with pytest.raises((ValueError, BufferError), match="read-?only"):  # older versions of NumPy do not export it
        rung.matmul(ints((3, 4)), ints((4, 5)), Exporter(out))


def test_dlpack_memory_is_released():
    array = ints((4, 4)).view(numpy.ndarray)
    alive = weakref.ref(array)
    rung.matmul(Exporter(array), ints((4, 4)))
    del array
    gc.collect()
    assert alive() is None


def test_dlpack_types():
    with pytest.raises(TypeError, match="type code"):
        rung.matmul(Exporter(numpy.ones((2, 2), "c8")), ints((2, 2)))


def test_unknown_device():
    class Elsewhere(Exporter):
        def __dlpack_device__(self):
            return (8, 0)

    with pytest.raises(TypeError, match="kind 8"):
        rung.matmul(Elsewhere(ints((2, 2))), ints((2, 2)))


class OnCuda:
    """Claims to be on a CUDA device."""

    __cuda_array_interface__ = {"version": 3, "shape": (2, 2), "typestr": "<f4", "data": (4096, False)}


def test_cuda_array_without_a_gpu_says_what_is_missing():
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_arrays import *\n"
        "try: rung.matmul(OnCuda(), OnCuda(), OnCuda())\n"
        "except rung.Error as error: assert 'cuda:0, which cannot be used' in str(error), error\n"
        "else: raise AssertionError\n"
    )
    path = os.pathsep.join([str(pathlib.Path(rung.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", program, str(HERE)], env=environment, check=True)


def test_cuda_and_memory_are_not_mixed():
    with pytest.raises(ValueError, match="move them"):
        rung.matmul(OnCuda(), ints((2, 2)), OnCuda())
    with pytest.raises(ValueError, match="pass out="):
        rung.matmul(OnCuda(), OnCuda())
