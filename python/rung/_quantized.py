# SPDX-License-Identifier: Apache-2.0
"""rung.quantize, rung.Quantized and rung.load_weights: arrays of narrow numbers with scales, and files of weights."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping
from ctypes import addressof, byref, c_void_p
from math import prod
from typing import Any, NamedTuple

import numpy

from . import _library
from ._arrays import TYPE_BYTES, View, dtype_of, type_name, view_of, view_of_array
from ._form import Form, Slot
from ._matmul import Operands, matmul

_BLOCK = 32  # elements of a block of GGML
_BLOCK_BYTES = {"q8_0": 34, "q4_0": 18}
_TYPES = {"q8_0": _library.BLOCK_TYPES["Q8_0"], "q4_0": _library.BLOCK_TYPES["Q4_0"]}


class _Format(NamedTuple):
    """The library's types of elements, scales and zero points, and the block; 0 is a whole row."""

    elements: str
    scales: str
    zero_points: str | None
    block: int


_FORMATS = {
    "int8": _Format("I8", "F32", None, 0),
    "int4": _Format("I4", "F16", None, 32),
    "uint4": _Format("U4", "F16", "U4", 128),
    "f8e4m3": _Format("F8E4M3", "F32", None, 0),
    "f8e5m2": _Format("F8E5M2", "F32", None, 0),
    "mxfp8": _Format("F8E4M3", "E8M0", None, 32),
    "mxfp4": _Format("F4E2M1", "E8M0", None, 32),
    "nvfp4": _Format("F4E2M1", "F8E4M3", None, 16),
}
_NUMBERS = {**_library.TYPES, **_library.NARROW_TYPES}
_ALL_TYPES = {**_TYPES, **{name: _NUMBERS[format.elements] for name, format in _FORMATS.items()}}
_FLOATS = [_library.TYPES[name] for name in ("F32", "F64", "F16", "BF16")]
_NVFP4_LARGEST = 448 * 6  # largest E4M3 times largest E2M1
_SCALE_DTYPES = {"F32": numpy.float32, "F16": numpy.float16}  # others are bytes


def _matrix(kind: int, shape: tuple, address: int) -> _library.Matrix:
    """Returns the view of a dense array: the last dimension is a row."""
    rows, cols = prod(shape[:-1]), shape[-1]
    row_stride = cols or _BLOCK  # whole blocks also if there are no elements
    return _library.Matrix(kind, rows, cols, row_stride, 1, address or None, None, 0, 0, None)


def _transpose(matrix: _library.Matrix) -> None:
    matrix.rows, matrix.cols = matrix.cols, matrix.rows
    matrix.row_stride, matrix.col_stride = matrix.col_stride, matrix.row_stride


def _bytes_of(kind: str, count: int) -> int:
    """Returns the bytes of elements; two 4-bit elements share a byte."""
    return (count + 1) // 2 if kind in ("I4", "U4", "F4E2M1") else count * TYPE_BYTES.get(_NUMBERS[kind], 1)


def _empty(kind: str, count: int) -> numpy.ndarray:
    dtype = _SCALE_DTYPES.get(kind, numpy.uint8)
    return numpy.zeros(_bytes_of(kind, count), numpy.uint8).view(dtype)


class Quantized:
    """An array of narrow numbers with scales. Created by rung.quantize() and rung.load_weights().

    ``type`` is the format, for example ``"q8_0"``, and ``shape`` the shape of the array. ``data`` has the
    bytes of its elements, row by row; two 4-bit elements share a byte, the first in the lower half. ``block``
    has the rows and columns of elements that share a scale. ``scales`` and ``zero_points`` have one element
    per block, row by row; they are bytes if NumPy lacks their type, and None if the format has none. Blocks
    of Q8_0 and Q4_0 hold their scales, as in GGML. Every element is also multiplied by ``global_scale``,
    which only "nvfp4" uses. ``T`` is the transposed array, with the same memory. ``array @ quantized`` is
    rung.matmul(array, quantized), and ``quantized @ quantized`` is rung.matmul(quantized, quantized).
    """

    __array_ufunc__ = None  # NumPy leaves array @ quantized to __rmatmul__

    def __init__(
        self,
        type: str,
        shape: tuple,
        data: numpy.ndarray,
        scales: numpy.ndarray | None = None,
        zero_points: numpy.ndarray | None = None,
        block: tuple = (1, _BLOCK),
        global_scale: float = 1.0,
    ) -> None:
        self.type = type
        self.shape = shape
        self.data = data
        self.scales = scales
        self.zero_points = zero_points
        self.block = block
        self.global_scale = global_scale
        self._is_transposed = False

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (self.data, self.scales, self.zero_points) if part is not None)

    @property
    def T(self) -> Quantized:
        if len(self.shape) != 2:
            raise ValueError(f"the array has {len(self.shape)} dimensions; only arrays with two can be transposed")
        transposed = Quantized(
            self.type, self.shape[::-1], self.data, self.scales, self.zero_points, self.block[::-1], self.global_scale
        )
        transposed._is_transposed = not self._is_transposed
        return transposed

    def __matmul__(self, b: Any) -> Any:
        return matmul(self, b)

    def __rmatmul__(self, a: Any) -> Any:
        return matmul(a, self)

    def __repr__(self) -> str:
        return f"<rung.Quantized {' x '.join(map(str, self.shape))} {self.type}, {self.nbytes} bytes>"

    def _view(self) -> _library.Matrix:
        matrix = _matrix(
            _ALL_TYPES[self.type], self.shape[::-1] if self._is_transposed else self.shape, _address(self.data)
        )
        if self._is_transposed:
            _transpose(matrix)
        return matrix

    def _quantization(self) -> _library.Quantization | None:
        """Returns the scales and zero points; None if the elements hold their scales."""
        format = _FORMATS.get(self.type)
        if format is None:
            return None
        block = self.block[::-1] if self._is_transposed else self.block
        shape = self.shape[::-1] if self._is_transposed else self.shape
        return _describe(format, shape, block, self.scales, self.zero_points, self._is_transposed)

    def dequantize(self, dtype: Any = numpy.float32) -> numpy.ndarray:
        """Returns the elements as float32, float64, float16 or bfloat16 (of ml_dtypes)."""
        result = numpy.empty(self.shape, dtype)
        if result.size == 0:
            return result
        to = view_of_array(result, "dtype")
        quantization = self._quantization()
        _library.check(
            _library.load().rung_dequantize(
                self._view(), quantization and byref(quantization), _matrix(to.type, self.shape, to.address)
            )
        )
        if self.global_scale != 1:  # products of E2M1 and E4M3 are exact in every dtype
            result[...] = result.astype(numpy.float32) * numpy.float32(self.global_scale)
        return result

    def _operands(self, a, b, out, beta, bias, multiplier, residual) -> QuantizedOperands:
        """Returns the operands of a multiplication by this array, for rung.matmul and rung.group_matmul."""
        return QuantizedOperands(a, self, out, beta, bias, multiplier, residual)


class QuantizedOperands(Operands):
    """The operands of a multiplication whose b, or whose a and b, are quantized.

    An array with the type and shape of b's elements after dequantization takes the place of b, and of a; its memory is not
    used.
    """

    def __init__(self, a, b: Quantized, out, beta, bias, multiplier, residual) -> None:
        if len(b.shape) != 2:
            raise ValueError(f"b has shape {b.shape}; a quantized b has two dimensions")
        self._quantized_a = a if isinstance(a, Quantized) else None
        if self._quantized_a is not None:
            a = _dense_in_place_of(_checked_pair(a, b), _library.TYPES["F32"])
        view = a if isinstance(a, View) else view_of(a, "a")
        if view.type not in (_library.TYPES["F32"], _library.TYPES["F16"], _library.TYPES["BF16"]):
            raise TypeError(
                f"a has type {type_name(view.type)}; with a quantized b it must be float32, float16 or bfloat16"
            )
        if view.device is not None:
            raise ValueError(
                "a is on a CUDA device, and the quantized b is in memory; pass an array in memory and device='cuda'"
            )
        super().__init__(a, _dense_in_place_of(b, view.type), out, beta, bias, multiplier, residual)
        other = _library.TYPES["BF16"] if self._quantized_a is not None else view.type
        if self.c.type not in (other, _library.TYPES["F32"]):
            raise TypeError(
                f"out has type {type_name(self.c.type)}; with a quantized "
                + ("a and b it must be float32 or bfloat16" if self._quantized_a is not None else
                   f"b it must be float32 or the type of a, {type_name(view.type)}")
            )
        self._quantized = b
        self._quantized_view, self._quantization = b._view(), b._quantization()
        if self._quantized_a is not None:
            self._a_view, self._a_quantization = self._quantized_a._view(), self._quantized_a._quantization()

    def take_slot(self, form: Form, alpha: float, beta: float) -> Slot:
        fresh = Form(form.template, form.calls, form.offsets, form.items)  # other slots have a dense b
        scale = self._quantized.global_scale
        if self._quantized_a is not None:
            scale *= self._quantized_a.global_scale
        slot = super().take_slot(fresh, alpha * scale, beta)
        b, view = slot.problem.b, self._quantized_view  # shape and batch are those of the dense array
        b.type, b.row_stride, b.col_stride = view.type, view.row_stride, view.col_stride
        slot.problem.b_quantization = addressof(self._quantization) if self._quantization else None
        if self._quantized_a is not None:
            a, view = slot.problem.a, self._a_view
            a.type, a.row_stride, a.col_stride = view.type, view.row_stride, view.col_stride
            slot.problem.a_quantization = addressof(self._a_quantization) if self._a_quantization else None
        return slot

    def give_back(self, form: Form, slot: Slot) -> None:
        """Drops the slot, which no other multiplication can use."""

    def addresses(self) -> list:
        addresses = super().addresses()
        addresses[1] = self._quantized_view.data or 0
        if self._quantized_a is not None:
            addresses[0] = self._a_view.data or 0
        return addresses

    def quantized_parts(self) -> list:
        both = [self._quantized] if self._quantized_a is None else [self._quantized_a, self._quantized]
        parts = [part for array in both for part in (array.data, array.scales, array.zero_points)]
        return [part for part in parts if part is not None]


def _checked_pair(a: Quantized, b: Quantized) -> Quantized:
    """Returns a, which may be multiplied by b."""
    if len(a.shape) != 2:
        raise ValueError(f"a has shape {a.shape}; a quantized a has two dimensions")
    for name, array in (("a", a), ("b", b)):
        if array.type in _TYPES:
            raise TypeError(f"{name} has type {array.type}; a quantized a and its b are of {', '.join(_FORMATS)}")
    return a


def _dense_in_place_of(array: Quantized, kind: int) -> View:
    """Returns a dense view with the shape of the array and no memory."""
    size = TYPE_BYTES[kind]
    return View(0, array.shape, (array.shape[1] * size, size), kind, None, False, None)


def _address(data: numpy.ndarray) -> int:
    """Returns the address of an array of bytes."""
    return data.__array_interface__["data"][0]


def _blocks_shape(shape: tuple, block: tuple) -> tuple:
    """Returns the number of blocks in the rows and columns of an array."""
    rows, cols = prod(shape[:-1]), shape[-1]
    return (-(-rows // (block[0] or max(rows, 1))), -(-cols // (block[1] or max(cols, 1))))


def _describe(
    format: _Format, shape: tuple, block: tuple, scales: Any, zero_points: Any, is_transposed: bool
) -> _library.Quantization:
    """Returns the struct of scales and zero points of an array with this shape in memory."""
    quantization = _library.versioned(_library.Quantization, block_rows=block[0], block_cols=block[1])
    blocks = _blocks_shape(shape, block)
    quantization.scales = _matrix(_NUMBERS[format.scales], blocks, _address(scales))
    if format.zero_points:
        quantization.zero_points = _matrix(_NUMBERS[format.zero_points], blocks, _address(zero_points))
    if is_transposed:
        _transpose(quantization.scales)
        _transpose(quantization.zero_points)
        quantization.block_rows, quantization.block_cols = block[1], block[0]
    return quantization


def _block_of(type: str, format: _Format, block: Any) -> tuple:
    """Returns the rows and columns of a block."""
    if block is None:
        return (1, format.block)
    pair = (1, block) if isinstance(block, int) else tuple(block)
    if len(pair) != 2 or any(not isinstance(size, int) or size < 0 for size in pair):
        raise ValueError(f"block is {block!r}; pass the number of elements in a row, or rows and columns; 0 is all")
    if format.scales in ("E8M0", "F8E4M3") and pair != (1, format.block):
        raise ValueError(f"block is {block!r}; {type} has blocks of {format.block} elements in a row")
    return pair


def quantize(array: Any, type: str, block: Any = None) -> Quantized:
    """Quantizes an array to narrow numbers with a scale per block.

    The array has type float32, float64, float16 or bfloat16 and finite elements. ``type`` is one of these:

    ===========  =======================================  ================================================
    type         elements and scales                      elements in a row that share a scale
    ===========  =======================================  ================================================
    "q8_0"       8-bit integers, blocks of GGML           32; the last dimension is a multiple of 32
    "q4_0"       4-bit integers, blocks of GGML           32; the last dimension is a multiple of 32
    "int8"       8-bit integers, float32                  all
    "int4"       4-bit integers, float16                  32
    "uint4"      4-bit integers, float16 and zero points  128
    "f8e4m3"     8-bit floats, float32                    all
    "f8e5m2"     8-bit floats, float32                    all
    "mxfp8"      8-bit floats E4M3, E8M0                  32
    "mxfp4"      4-bit floats E2M1, E8M0                  32
    "nvfp4"      4-bit floats E2M1, E4M3                  16
    ===========  =======================================  ================================================

    E4M3 has a small range. "nvfp4" therefore divides the array by ``global_scale`` of the result first, a
    float32 with which the largest scale of a block is 448, the largest number of E4M3.

    ``block`` changes the block of the integer and f8 formats: a number of elements in a row, or a pair of
    rows and columns, where 0 is all. To multiply by weights of shape (n, k), pass the transposed array:

    >>> import numpy, rung
    >>> weights = rung.quantize(numpy.ones((2, 64), numpy.float32), "q8_0")
    >>> weights
    <rung.Quantized 2 x 64 q8_0, 136 bytes>
    >>> weights.dequantize().shape
    (2, 64)
    >>> rung.matmul(numpy.ones((1, 64), numpy.float32), weights.T).shape
    (1, 2)
    """
    kind = _library.lookup(_ALL_TYPES, type, "type")
    view = view_of_array(numpy.ascontiguousarray(array), "array")
    shape = tuple(view.shape)
    if type == "nvfp4":
        return _quantize_to_nvfp4(view, shape, block)
    if type in _FORMATS:
        return _quantize_with_scales(view, shape, type, block)
    if block is not None:
        raise ValueError(f"block is {block!r}; blocks of {type} always have {_BLOCK} elements")
    if shape[-1] % _BLOCK:
        raise ValueError(f"the last dimension of array is {shape[-1]}; {type} needs a multiple of {_BLOCK}")
    data = numpy.empty(prod(shape) // _BLOCK * _BLOCK_BYTES[type], numpy.uint8)
    if data.size:
        function = _library.load().rung_quantize
        _library.check(
            function(_matrix(view.type, shape, view.address), _matrix(kind, shape, _address(data)), None)
        )
    return Quantized(type, shape, data)


def _quantize_with_scales(view: View, shape: tuple, type: str, block: Any) -> Quantized:
    format = _FORMATS[type]
    sizes = _block_of(type, format, block)
    count = prod(_blocks_shape(shape, sizes))
    data = numpy.zeros(_bytes_of(format.elements, prod(shape)), numpy.uint8)
    scales = _empty(format.scales, count)
    zero_points = _empty(format.zero_points, count) if format.zero_points else None
    if data.size:
        quantization = _describe(format, shape, sizes, scales, zero_points, False)
        to = _matrix(_NUMBERS[format.elements], shape, _address(data))
        function = _library.load().rung_quantize
        _library.check(function(_matrix(view.type, shape, view.address), to, byref(quantization)))
    return Quantized(type, shape, data, scales, zero_points, sizes)


def _quantize_to_nvfp4(view: View, shape: tuple, block: Any) -> Quantized:
    scale = _global_scale_of(view)
    if scale != 1:
        view = view_of_array(view.as_array().astype(numpy.float32) / scale, "array")
    quantized = _quantize_with_scales(view, shape, "nvfp4", block)
    quantized.global_scale = float(scale)
    return quantized


def _global_scale_of(view: View) -> numpy.float32:
    """Returns the largest magnitude divided by that of an element in NVFP4; 1 if the library will refuse the array."""
    array, one = view.as_array(), numpy.float32(1)
    if view.type not in _FLOATS or not array.size:
        return one
    with numpy.errstate(over="ignore"):
        largest = numpy.abs(array.astype(numpy.float32)).max()
    if largest == 0 or not numpy.isfinite(largest):
        return one
    return max(largest / numpy.float32(_NVFP4_LARGEST), numpy.finfo(numpy.float32).tiny)


# NumPy types of tensors by the names that GGUF and safetensors give them. BF16 and 8-bit floats need ml_dtypes.
_FILE_DTYPES = {
    **{name: name.replace("F", "float") for name in ("F16", "F32", "F64")},
    **{name: name.replace("I", "int") for name in ("I8", "I16", "I32", "I64")},
    **{name: name.replace("U", "uint") for name in ("U8", "U16", "U32", "U64")},
    "BOOL": "bool",
    "C64": "complex64",
}
_FILE_TYPES = {"BF16": "BF16", "F8_E4M3": "F8E4M3", "F8_E5M2": "F8E5M2"}


def _dtype_in_file(type_name: str) -> numpy.dtype | None:
    """Returns the dtype of a type of a file; None if NumPy has none. Without ml_dtypes: integers with the same bits."""
    if type_name in _FILE_DTYPES:
        return numpy.dtype(_FILE_DTYPES[type_name])
    if type_name not in _FILE_TYPES:
        return None
    kind = _library.TYPES[_FILE_TYPES[type_name]]
    try:
        return dtype_of(kind)
    except TypeError:
        return numpy.dtype(f"u{TYPE_BYTES[kind]}")


class _File:
    """An open file of weights. It is closed when the last array in its memory is gone."""

    def __init__(self, path: str | os.PathLike) -> None:
        library = _library.load_weights()
        handle = c_void_p(_library.create(library.rung_weights_open, os.fsencode(path)))
        # Not at exit: functions registered with atexit, which run later, may still use arrays.
        weakref.finalize(self, library.rung_weights_close, handle).atexit = False
        count = library.rung_weights_count(handle)
        tensors = (library.rung_weights_at(handle, index).contents for index in range(count))
        self.tensors = {tensor.name.decode("utf-8", "surrogateescape"): tensor for tensor in tensors}

    def bytes_of(self, tensor: _library.WeightsTensor) -> numpy.ndarray:
        """Returns the bytes of a tensor, which keep the file open."""
        if not tensor.data_bytes:
            return numpy.empty(0, numpy.uint8)
        view = View(tensor.data, (tensor.data_bytes,), None, _library.TYPES["I8"], None, False, self)
        return view.as_array().view(numpy.uint8)


class Weights(Mapping):
    """The tensors of a file by name, in the order of the file. Created by rung.load_weights().

    A tensor is a read-only array in the mapped file, or a rung.Quantized. Types are those of NumPy and, for
    bfloat16 and 8-bit floats, of ml_dtypes. A tensor whose address is not a multiple of its element size
    is copied.

    close(), or the end of a ``with`` block, releases the file. The file stays open as long as this object is not
    closed or one of its arrays exists, so arrays stay valid.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        self._open_file: _File | None = _File(path)
        self._path = os.fspath(path)

    @property
    def _file(self) -> _File:
        if self._open_file is None:
            raise ValueError(f"{self._path} is closed; open it again with rung.load_weights()")
        return self._open_file

    def close(self) -> None:
        """Releases the file, which is closed when none of its arrays exists. Tensors can no longer be looked up."""
        self._open_file = None

    def __enter__(self) -> Weights:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __contains__(self, name: object) -> bool:  # without reading the tensor
        return name in self._file.tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self._file.tensors)

    def __len__(self) -> int:
        return len(self._file.tensors)

    def __repr__(self) -> str:
        state = "closed" if self._open_file is None else f"{len(self)} tensors"
        return f"<rung.Weights {self._path!r}, {state}>"

    def type_name(self, name: str) -> str:
        """Returns the type of a tensor as the format of the file names it, for example ``"Q4_K"``."""
        return self._file.tensors[name].type_name.decode("utf-8", "replace")

    def __getitem__(self, name: str) -> numpy.ndarray | Quantized:
        """Returns a tensor. Raises TypeError if its type has no NumPy type; type_name() works then, too."""
        tensor = self._file.tensors[name]
        shape = tuple(tensor.dimensions[: tensor.dimension_count])
        type_name = self.type_name(name)
        if type_name.lower() in _TYPES:
            return Quantized(type_name.lower(), shape, self._file.bytes_of(tensor))
        dtype = _dtype_in_file(type_name)
        if dtype is None:
            raise TypeError(f"tensor {name} of {self._path} has type {type_name}, which NumPy does not have")
        array = self._file.bytes_of(tensor).view(dtype).reshape(shape)
        if not array.flags.aligned:
            array = array.copy()
            array.flags.writeable = False
        return array


def load_weights(path: str | os.PathLike) -> Weights:
    """Opens a GGUF or safetensors file and returns its tensors by name. Only misaligned tensors are copied.

    >>> import rung
    >>> with rung.load_weights("model.gguf") as weights:     # doctest: +SKIP
    ...     output = weights["output.weight"].dequantize()
    """
    return Weights(path)
