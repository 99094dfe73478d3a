# SPDX-License-Identifier: Apache-2.0
"""rung.quantize, rung.Quantized and rung.load_weights: GGML's blocks, and files of weights."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping
from ctypes import c_void_p
from math import prod
from typing import Any

import numpy

from . import _library
from ._arrays import View, dtype_of, view_of_array

_BLOCK = 32  # elements that share a scale
_BLOCK_BYTES = {"q8_0": 34, "q4_0": 18}
_TYPES = {"q8_0": _library.BLOCK_TYPES["Q8_0"], "q4_0": _library.BLOCK_TYPES["Q4_0"]}
_TYPE_NAMES = {number: name for name, number in _TYPES.items()}


def _matrix(kind: int, shape: tuple, address: int) -> _library.Matrix:
    """Returns the view of a dense array: the last dimension is a row."""
    rows, cols = prod(shape[:-1]), shape[-1]
    return _library.Matrix(kind, rows, cols, cols, 1, address or None, None, 0, 0, None)


class Quantized:
    """An array in blocks of 32 elements with one scale each. Created by rung.quantize() and rung.load_weights().

    ``type`` is ``"q8_0"`` or ``"q4_0"``, ``shape`` the shape of the array, and ``data`` the bytes of its
    blocks, row by row, as GGML stores them.
    """

    def __init__(self, type: str, shape: tuple, data: numpy.ndarray) -> None:
        self.type = type
        self.shape = shape
        self.data = data

    @property
    def nbytes(self) -> int:
        return self.data.nbytes

    def __repr__(self) -> str:
        return f"<rung.Quantized {' x '.join(map(str, self.shape))} {self.type}, {self.nbytes} bytes>"

    def dequantize(self, dtype: Any = numpy.float32) -> numpy.ndarray:
        """Returns the elements as float32, float64, float16 or bfloat16 (of ml_dtypes)."""
        result = numpy.empty(self.shape, dtype)
        if result.size == 0:
            return result
        to = view_of_array(result, "dtype")
        function = _library.load().rung_dequantize
        blocks = _matrix(_TYPES[self.type], self.shape, _address(self.data))
        _library.check(function(blocks, None, _matrix(to.type, self.shape, to.address)))
        return result


def _address(data: numpy.ndarray) -> int:
    """Returns the address of an array of bytes."""
    return data.__array_interface__["data"][0]


def quantize(array: Any, type: str) -> Quantized:
    """Quantizes an array to blocks of 32 elements with one scale each: ``type`` is ``"q8_0"`` or ``"q4_0"``.

    The array has type float32, float64, float16 or bfloat16, finite elements, and a last dimension that is
    a multiple of 32. The bytes are those of GGML's reference quantization.

    >>> import numpy, rung
    >>> weights = rung.quantize(numpy.ones((2, 64), numpy.float32), "q8_0")
    >>> weights
    <rung.Quantized 2 x 64 q8_0, 136 bytes>
    >>> weights.dequantize().shape
    (2, 64)
    """
    kind = _library.lookup(_TYPES, type, "type")
    view = view_of_array(numpy.ascontiguousarray(array), "array")
    shape = tuple(view.shape)
    if shape[-1] % _BLOCK:
        raise ValueError(f"the last dimension of array is {shape[-1]}; {type} needs a multiple of {_BLOCK}")
    data = numpy.empty(prod(shape) // _BLOCK * _BLOCK_BYTES[type], numpy.uint8)
    if data.size:
        function = _library.load().rung_quantize
        _library.check(
            function(_matrix(view.type, shape, view.address), _matrix(kind, shape, _address(data)), None)
        )
    return Quantized(type, shape, data)


class Weights(Mapping):
    """The tensors of a file by name, in the order of the file. Created by rung.load_weights().

    A tensor is a read-only array in the mapped file, or a rung.Quantized. The file stays open as long as
    this object or one of its arrays exists.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        library = _library.load_weights()
        handle = c_void_p(_library.create(library.rung_weights_open, os.fsencode(path)))
        weakref.finalize(self, library.rung_weights_close, handle)
        count = library.rung_weights_count(handle)
        tensors = (library.rung_weights_at(handle, index).contents for index in range(count))
        self._tensors = {tensor.name.decode("utf-8", "surrogateescape"): tensor for tensor in tensors}
        self._path = os.fspath(path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return f"<rung.Weights {self._path!r}, {len(self)} tensors>"

    def type_name(self, name: str) -> str:
        """Returns the type of a tensor as the format of the file names it, for example ``"Q4_K"``."""
        return self._tensors[name].type_name.decode("utf-8", "replace")

    def __getitem__(self, name: str) -> numpy.ndarray | Quantized:
        """Returns a tensor. Raises TypeError if its type has no NumPy type; type_name() works then, too."""
        tensor = self._tensors[name]
        shape = tuple(tensor.dimensions[: tensor.dimension_count])
        kind = tensor.view.type
        address = tensor.view.data or 0
        if kind in _TYPE_NAMES:
            return Quantized(_TYPE_NAMES[kind], shape, self._bytes(address, tensor.data_bytes))
        if kind not in _library.TYPES.values():
            raise TypeError(f"tensor {name} of {self._path} has type {self.type_name(name)}, which rung cannot read")
        if not address:  # no elements
            return numpy.empty(shape, dtype_of(kind))
        return View(address, shape, None, kind, None, False, self).as_array()

    def _bytes(self, address: int, count: int) -> numpy.ndarray:
        if not address:
            return numpy.empty(0, numpy.uint8)
        return View(address, (count,), None, _library.TYPES["I8"], None, False, self).as_array().view(numpy.uint8)


def load_weights(path: str | os.PathLike) -> Weights:
    """Opens a GGUF or safetensors file and returns its tensors by name. Nothing is copied.

    >>> import rung
    >>> weights = rung.load_weights("model.gguf")           # doctest: +SKIP
    >>> weights["output.weight"].dequantize()                # doctest: +SKIP
    """
    return Weights(path)
