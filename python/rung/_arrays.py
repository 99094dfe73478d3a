# SPDX-License-Identifier: Apache-2.0
"""Turns arguments into views: NumPy arrays, objects with __dlpack__ or __cuda_array_interface__, nested lists."""

from __future__ import annotations

import ctypes
import sys
from bisect import bisect_left
from ctypes import Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from itertools import accumulate
from typing import Any

import numpy

from ._library import TYPES

ndarray = numpy.ndarray

# Names of NumPy's and ml_dtypes' types.
_TYPE_NAMES = {
    "float32": "F32",
    "float64": "F64",
    "float16": "F16",
    "bfloat16": "BF16",
    "int8": "I8",
    "int32": "I32",
    "float8_e4m3fn": "F8E4M3",
    "float8_e5m2": "F8E5M2",
}
_SUPPORTED = ", ".join(_TYPE_NAMES)
_NUMPY_NAMES = {TYPES[ours]: theirs for theirs, ours in _TYPE_NAMES.items()}
TYPE_BYTES = {1: 4, 2: 8, 3: 2, 4: 2, 5: 1, 6: 4, 10: 1, 11: 1}
FLOAT8 = (TYPES["F8E4M3"], TYPES["F8E5M2"])
BF16 = TYPES["BF16"]

# Result types that the library computes for inputs of a type; the first is the default. rung_accumulator_type().
RESULT_TYPES = {1: (1, 3, 4), 2: (2, 1), 3: (3, 1), 4: (4, 1), 5: (6,), 6: (6,), 10: (1, 4), 11: (1, 4)}

# dtype -> type of the library. Byte-swapped types are not in the table: they are copied.
_types_by_dtype: dict = {}


def type_of(dtype, what: str) -> int:
    """Returns the library's type for a dtype in native byte order; raises TypeError for other types."""
    found = _types_by_dtype.get(dtype)
    if found is None:
        name = _TYPE_NAMES.get(dtype.name)
        if name is None:
            raise TypeError(f"{what} has type {dtype}; supported are {_SUPPORTED}")
        found = _types_by_dtype[dtype] = TYPES[name]
    return found


def type_name(kind: int) -> str:
    return _NUMPY_NAMES[kind]


def dtype_of(kind: int):
    """Returns the dtype of a type of the library. BF16 and 8-bit floats need the package ml_dtypes."""
    name = _NUMPY_NAMES[kind]
    if kind in (BF16, *FLOAT8):
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError(
                f"NumPy has no type {name}; install ml_dtypes (pip install ml_dtypes), or pass out="
            ) from None
        return numpy.dtype(getattr(ml_dtypes, name))
    return numpy.dtype(name)


# ---- Addresses ---------------------------------------------------------------------------


# The address of an array's elements is the first field after the object header, in every version of NumPy's
# public struct. Reading it takes 0.1 us. ndarray.ctypes and __array_interface__ take about 1 us per array, for three
# arrays more than the rest of a call. The layout is compared with __array_interface__ when the module is imported.
# A memoryview of all memory reads a word in the fewest steps: after a large multiplication, little of Python is cached.
def _map_memory():
    try:
        return memoryview((c_int64 * (1 << 59)).from_address(0)).cast("B").cast("q")
    except (OverflowError, TypeError, ValueError):
        return None


_memory: Any = _map_memory()
_data_offset = object.__basicsize__


def _interface_address(array) -> int:
    return array.__array_interface__["data"][0]


def _header_address(array) -> int:
    return _memory[id(array) + _data_offset >> 3]


def _has_known_layout() -> bool:
    if sys.implementation.name != "cpython" or _memory is None or _data_offset % 8:
        return False
    whole = numpy.zeros(5, numpy.int16)
    return all(_header_address(part) == _interface_address(part) for part in (whole, whole[1:], whole[3:]))


HAS_KNOWN_LAYOUT = _has_known_layout()
address_of = _header_address if HAS_KNOWN_LAYOUT else _interface_address


# ---- Views ----------------------------------------------------------------------------------


class View:
    """Elements in memory: an address, a shape, strides in bytes, a type of the library, a CUDA device or None.

    `owner` keeps the memory alive. `array` is the NumPy array of the same elements, if there is one.
    """

    __slots__ = ("address", "shape", "strides", "type", "device", "writable", "owner", "array")

    def __init__(self, address, shape, strides, kind, device, writable, owner, array=None):
        self.address = address
        self.shape = shape
        self.strides = strides
        self.type = kind
        self.device = device
        self.writable = writable
        self.owner = owner
        self.array = array

    @property
    def is_direct(self) -> bool:
        """Whether the library can use the elements in place: aligned, with strides >= 0 in whole elements."""
        size = TYPE_BYTES[self.type]
        if self.address % size:
            return False
        return all(length <= 1 or (step >= 0 and step % size == 0) for length, step in zip(self.shape, self.strides))

    def as_array(self) -> ndarray:
        """Returns a NumPy array of the same elements (unsigned integers of the same size for unknown types)."""
        if self.array is None:
            self.array = _array_at(self)
        return self.array


class _Memory:
    """Elements at an address, for NumPy. Keeps their owner alive."""

    __slots__ = ("__array_interface__", "owner")
    __array_interface__: dict
    owner: Any


def _array_at(view: View) -> ndarray:
    try:
        dtype = dtype_of(view.type)
    except TypeError:
        dtype = numpy.dtype(f"u{TYPE_BYTES[view.type]}")
    memory = _Memory()
    memory.owner = view.owner
    memory.__array_interface__ = {
        "version": 3,
        "shape": view.shape,
        "strides": view.strides,
        "typestr": f"<u{dtype.itemsize}",
        "data": (view.address, not view.writable),
    }
    return numpy.asarray(memory).view(dtype)


def view_of_array(array: ndarray, what: str) -> View:
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    kind = type_of(array.dtype, what)
    return View(address_of(array), array.shape, array.strides, kind, None, array.flags.writeable, array, array)


def view_of(value, what: str) -> View:
    """Returns the view of an argument. `what` is its name for error messages."""
    if isinstance(value, ndarray):
        return view_of_array(value if type(value) is ndarray else numpy.asarray(value), what)
    if hasattr(value, "__dlpack__"):
        return _view_of_dlpack(value, what)
    if hasattr(value, "__cuda_array_interface__"):
        return _view_of_cuda_interface(value, what)
    return view_of_array(numpy.asarray(value), what)


class AddressRanges:
    """The memory of several arrays."""

    def __init__(self, arrays) -> None:
        ranges = sorted(_range_of(array) for array in arrays if array.size)
        self._firsts = [first for first, _ in ranges]
        self._ends = list(accumulate((end for _, end in ranges), max))  # largest end up to each range

    def overlap(self, array: ndarray) -> bool:
        """Whether the memory of an array may overlap one of the ranges."""
        if not array.size:
            return False
        first, end = _range_of(array)
        count = bisect_left(self._firsts, end)
        return count > 0 and self._ends[count - 1] > first


def _range_of(array: ndarray) -> tuple:
    """Returns the address of the first byte of an array with elements, and the address after the last byte."""
    first = end = address_of(array)
    for length, step in zip(array.shape, array.strides):
        if step < 0:
            first += (length - 1) * step
        else:
            end += (length - 1) * step
    return first, end + array.itemsize


def output_view(value) -> View:
    """Returns the view of `out`, which must be writable and must not be a copy."""
    if not (isinstance(value, ndarray) or hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__")):
        raise TypeError(f"out is {type(value).__name__}; pass a NumPy array or an object with __dlpack__")
    if isinstance(value, ndarray) and not value.dtype.isnative:
        raise TypeError(f"out has type {value.dtype}, which is byte-swapped; pass an array in native byte order")
    view = view_of(value, "out")
    if not view.writable:
        raise ValueError("out is read-only; pass a writable array")
    return view


# ---- DLPack ---------------------------------------------------------------------------------

_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13
_READ_ONLY = 1


class _DLTensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _DLManagedTensorVersioned(Structure):
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _DLTensor),
    ]


# (code, bits) of DLPack -> type. The codes 10 and 12 are those of DLPack 1.1.
_DLPACK_TYPES = {
    (2, 32): TYPES["F32"],
    (2, 64): TYPES["F64"],
    (2, 16): TYPES["F16"],
    (4, 16): TYPES["BF16"],
    (0, 8): TYPES["I8"],
    (0, 32): TYPES["I32"],
    (10, 8): TYPES["F8E4M3"],
    (12, 8): TYPES["F8E5M2"],
}


def _export(value, **arguments):
    """Calls __dlpack__, with the newest version of the protocol that the object knows."""
    try:
        return value.__dlpack__(max_version=(1, 1), **arguments)
    except TypeError:
        return value.__dlpack__(**arguments)


def _tensor_of(capsule):
    """Returns the DLTensor of a capsule and whether it is read-only.

    The capsule is not consumed: its destructor releases the memory when the last reference to it is gone.
    """
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c_void_p, [ctypes.py_object, ctypes.c_char_p]
    is_named = ctypes.pythonapi.PyCapsule_IsValid
    is_named.restype, is_named.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
    if is_named(capsule, b"dltensor_versioned"):
        managed = _DLManagedTensorVersioned.from_address(pointer(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise TypeError(f"DLPack version {managed.major}.{managed.minor} is not supported; 1.x is")
        return managed.tensor, bool(managed.flags & _READ_ONLY)
    return _DLTensor.from_address(pointer(capsule, b"dltensor")), False


def _dense_strides(shape) -> tuple:
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def _view_of_dlpack(value, what: str) -> View:
    kind, _ = value.__dlpack_device__()
    kind = int(kind)
    if kind in (_CUDA, _CUDA_MANAGED):
        capsule = _export(value, stream=1)  # the legacy default stream, on which this package works
    elif kind in (_CPU, _CUDA_HOST):
        capsule = _export(value)
    else:
        raise TypeError(f"{what} is on a device of DLPack's kind {kind}; supported are memory of the CPU and CUDA")
    tensor, is_read_only = _tensor_of(capsule)
    element = _DLPACK_TYPES.get((tensor.code, tensor.bits))
    if element is None or tensor.lanes != 1:
        raise TypeError(
            f"{what} has DLPack's type code {tensor.code} with {tensor.bits} bits and {tensor.lanes} lanes; "
            f"supported are {_SUPPORTED}"
        )
    shape = tuple(tensor.shape[: tensor.ndim])
    size = TYPE_BYTES[element]
    steps = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else _dense_strides(shape)
    address = (tensor.data or 0) + tensor.byte_offset
    device = tensor.device_id if kind in (_CUDA, _CUDA_MANAGED) else None
    strides = tuple(step * size for step in steps)
    return View(address, shape, strides, element, device, not is_read_only, (value, capsule))


# ---- __cuda_array_interface__ ---------------------------------------------------------------


def _view_of_cuda_interface(value, what: str) -> View:
    interface = value.__cuda_array_interface__
    dtype = numpy.dtype(interface["typestr"])
    if interface.get("mask") is not None:
        raise TypeError(f"{what} has a mask; pass an array without one")
    kind = type_of(dtype, what)
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    if strides is None:
        strides = tuple(step * dtype.itemsize for step in _dense_strides(shape))
    address, is_read_only = interface["data"]
    _wait_for_stream(interface.get("stream"))
    return View(address or 0, shape, tuple(strides), kind, _cuda_device_of(address), not is_read_only, value)


def _cuda_driver():
    """Returns the CUDA driver, or None."""
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def _wait_for_stream(stream) -> None:
    """Waits for work on a stream. This package works on stream 1, the default, for which nothing needs to be done."""
    driver = _cuda_driver()
    if stream is not None and stream not in (1, 2) and driver is not None:
        driver.cuStreamSynchronize(c_void_p(stream))


def _cuda_device_of(address) -> int:
    """Returns the number of the CUDA device that owns an address; 0 if the driver does not say."""
    driver = _cuda_driver()
    if driver is None or not hasattr(driver, "cuPointerGetAttribute"):
        return 0
    ordinal = ctypes.c_int(0)
    device_ordinal = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    status = driver.cuPointerGetAttribute(ctypes.byref(ordinal), device_ordinal, c_uint64(address or 0))
    return ordinal.value if status == 0 else 0
