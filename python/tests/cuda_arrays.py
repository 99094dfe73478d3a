#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuda_arrays.py - multiplies arrays in the memory of a CUDA device.

Run it with `rung emulate`, which provides a CUDA driver, or on a machine with an NVIDIA GPU. The arrays are
allocated by the driver and offered by __cuda_array_interface__ and by __dlpack__.
"""

import ctypes
import importlib.util
import pathlib
import sys

if importlib.util.find_spec("rung") is None:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import numpy

import rung

driver = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    status = getattr(driver, name)(*arguments)
    assert status == 0, f"{name}: {status}"


class DeviceArray:
    """A copy of an array in device memory, offered by __cuda_array_interface__."""

    def __init__(self, array):
        self.dtype, self.shape, self.strides = array.dtype, array.shape, array.strides
        whole = array if array.base is None else array.base
        self.whole = numpy.ascontiguousarray(whole)
        start = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        self.memory = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(self.memory), ctypes.c_size_t(self.whole.nbytes))
        call(
            "cuMemcpyHtoD_v2", self.memory, ctypes.c_void_p(self.whole.ctypes.data), ctypes.c_size_t(self.whole.nbytes)
        )
        self.address = self.memory.value + start
        self.start = start

    def get(self):
        call(
            "cuMemcpyDtoH_v2", ctypes.c_void_p(self.whole.ctypes.data), self.memory, ctypes.c_size_t(self.whole.nbytes)
        )
        return numpy.ndarray(self.shape, self.dtype, self.whole, self.start, self.strides)


class InterfaceArray(DeviceArray):
    @property
    def __cuda_array_interface__(self):
        return {
            "version": 3,
            "shape": self.shape,
            "strides": self.strides,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "stream": None,
        }


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
    ]


class DLPackArray(DeviceArray):
    """The same, offered by __dlpack__."""

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, *, stream=None):
        assert stream == 1
        count = len(self.shape)
        self.lists = (
            (ctypes.c_int64 * count)(*self.shape),
            (ctypes.c_int64 * count)(*(step // self.dtype.itemsize for step in self.strides)),
        )
        self.tensor = Tensor(
            self.address,
            (2, 0),
            count,
            2,
            8 * self.dtype.itemsize,
            1,
            ctypes.addressof(self.lists[0]),
            ctypes.addressof(self.lists[1]),
            0,
        )
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def ints(shape, seed):
    return numpy.random.default_rng(seed).integers(-4, 5, shape).astype(numpy.float32)


def main():
    call("cuInit", 0)
    context = ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    weights = rung.quantize(ints((20, 32), 7), "q4_0")
    rows = ints((5, 32), 8)
    product = rung.matmul(rows, weights.T, device="cuda")
    assert numpy.allclose(product, rows @ weights.dequantize().T, atol=1e-3)
    for kind in (InterfaceArray, DLPackArray):
        a, b, bias = ints((20, 30), 1), ints((30, 40), 2)[:, ::2], ints((20,), 3)
        out = kind(ints((20, 20), 4))
        arrays = [kind(x) for x in (a, b, bias)]
        for _ in range(2):
            assert rung.matmul(arrays[0], arrays[1], out, bias=arrays[2]) is out
            assert (out.get() == a @ b + bias).all(), kind
        plan = rung.Plan(arrays[0], arrays[1], out)
        assert plan.device == "cuda:0"
        plan(arrays[0], arrays[1], out, alpha=2)
        assert (out.get() == 2 * (a @ b)).all(), kind
        batch, result = kind(ints((3, 20, 30), 5)), kind(ints((3, 20, 20), 6))
        rung.matmul(batch, arrays[1], result)
        assert (result.get() == batch.get() @ b).all(), kind
        for wrong, text in (
            (lambda: rung.matmul(arrays[0], arrays[1]), "pass out="),
            (lambda: rung.matmul(arrays[0], b, out), "move them"),
            (lambda: rung.matmul(arrays[0], arrays[1], out, device="cuda:1"), "on cuda:0"),
            (lambda: rung.matmul(arrays[0], weights.T, out), "the quantized b is in memory"),
        ):
            try:
                wrong()
            except ValueError as error:
                assert text in str(error), error
            else:
                raise AssertionError(text)
        print(f"{kind.__name__}: {plan}")


if __name__ == "__main__":
    main()
