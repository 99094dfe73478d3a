# SPDX-License-Identifier: Apache-2.0
"""rung.pack and rung.Packed: a matrix B in the layout of a kernel, for many multiplications."""

from __future__ import annotations

import os
from ctypes import byref
from typing import Any

import numpy

from . import _library, _threads
from ._arrays import RESULT_TYPES, TYPE_BYTES, View, dtype_of, type_name, type_of, view_of
from ._device import Buffer, LibraryPlan, open_device
from ._form import make_form
from ._library import create
from ._matmul import KnownForms, Operands, check_compute, view_of_array_as

# Rows of A in the plan that packs. The number affects only which kernel is selected.
_ROWS = 256
_MAX_PLANS = 256


class Packed:
    """A packed matrix. Pass it to rung.matmul in place of ``b``. Created by rung.pack() and rung.Packed.load()."""

    def __init__(self, shape: tuple, kind: int, result_type: int, compute: str | None) -> None:
        self.shape = shape
        self.compute = compute
        self._type = kind
        self._result_type = result_type
        self._device = open_device("cpu")
        self._known = KnownForms()
        self._plans: dict = {}
        self._first = self._make_plan(self._form(_ROWS), 0, None, None)
        info = self._first.info
        self.kernel: str = info.kernel.decode()
        self.parameters: str = info.parameters.decode()
        self.nbytes: int = info.packed_b_bytes
        self._buffer: Any = None  # set by pack() and load()

    @property
    def dtype(self):
        """The type of the matrix that was packed."""
        return dtype_of(self._type)

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"<rung.Packed {rows} x {cols} {type_name(self._type)} for {self.kernel}, {self.nbytes} bytes>"

    def _view(self) -> View:
        """Returns the view of B that problems contain. A run does not read its memory."""
        size = TYPE_BYTES[self._type]
        return View(0, self.shape, (self.shape[1] * size, size), self._type, None, False, None)

    def _form(self, rows: int):
        size, result = TYPE_BYTES[self._type], TYPE_BYTES[self._result_type]
        k, n = self.shape
        a = View(0, (rows, k), (k * size, size), self._type, None, False, None)
        c = View(0, (rows, n), (n * result, result), self._result_type, None, True, None)
        return make_form([a, self._view(), c], 0, check_compute(self.compute))

    def _make_plan(self, form, threads: int, kernel, parameters) -> LibraryPlan:
        return LibraryPlan(self._device, form.template, kernel, parameters, threads, packed=True)

    def _pack(self, b: View) -> None:
        library = _library.load()
        self._buffer = Buffer(create(library.rung_buffer_create, self._device.handle, self.nbytes))
        problem = make_form([self._form_a(), b, self._form_c()], 0, 0).template
        problem.b.data = b.address
        queue = self._device.take_queue()
        try:
            _library.check(
                library.rung_plan_pack_b(self._first.handle, queue, byref(problem.b), self._buffer.handle, None)
            )
        finally:
            self._device.queues.append(queue)

    def _form_a(self) -> View:
        size = TYPE_BYTES[self._type]
        return View(0, (1, self.shape[0]), (self.shape[0] * size, size), self._type, None, False, None)

    def _form_c(self) -> View:
        size = TYPE_BYTES[self._result_type]
        return View(0, (1, self.shape[1]), (self.shape[1] * size, size), self._result_type, None, True, None)

    def _plan_for(self, form, threads: int) -> LibraryPlan:
        key = (form.identity, threads)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._make_plan(form, threads, self.kernel, self.parameters)
            if len(self._plans) >= _MAX_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return plan

    @property
    def buffer_handle(self) -> int:
        return self._buffer.handle

    def check_arguments(self, compute: str | None, device: str | None) -> None:
        """Checks arguments of a multiplication that the packed matrix determines."""
        if device not in (None, "cpu"):
            raise ValueError(f"device is {device!r}; a packed matrix can be used on the CPU only")
        if compute not in (None, self.compute):
            raise ValueError(f"compute is {compute!r}; the matrix was packed for {self.compute or 'strict'!r}")

    def _operands(self, a, b, out, beta, bias, multiplier, residual) -> Operands:
        """Returns the operands of a multiplication by this matrix, which is `b`."""
        operands = Operands(a, self._view(), out, beta, bias, multiplier, residual, self._result_type)
        if operands.c.type != self._result_type:
            raise TypeError(
                f"out has type {type_name(operands.c.type)}; the matrix was packed for results of type "
                f"{type_name(self._result_type)} (see the argument result_dtype of rung.pack)"
            )
        return operands

    def _multiply_packed(self, a, out, alpha, beta, bias, activation, multiplier, residual, compute, device, threads):
        """Multiplies a by the packed matrix, for rung.matmul."""
        self.check_arguments(compute, device)
        number = _threads.requested(threads)
        handle = self._buffer.handle

        def run(form, slot):
            return self._plan_for(form, number).run(slot, handle)

        arrays = (a, None, out, bias, multiplier, residual)
        key = KnownForms.key(arrays, activation)
        found = self._known.multiply(key, arrays, alpha, beta, run)
        if found is not None:
            return found
        operands = self._operands(a, self, out, beta, bias, multiplier, residual)
        form = operands.form(activation, self.compute)
        operands.multiply(form, alpha, beta, run)
        self._known.remember(key, arrays, operands, form)
        return operands.finish()

    def save(self, path: str | os.PathLike) -> None:
        """Saves the packed matrix to a file. The file is replaced as a whole."""
        self._with_queue(_library.load().rung_packed_save, self._buffer.handle, os.fsencode(path))

    def _with_queue(self, function, *arguments) -> None:
        queue = self._device.take_queue()
        try:
            _library.check(function(self._first.handle, queue, *arguments))
        finally:
            self._device.queues.append(queue)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike,
        shape: tuple,
        dtype: Any,
        *,
        compute: str | None = None,
        result_dtype: Any = None,
    ) -> Packed:
        """Loads a packed matrix that save() stored, with the arguments that rung.pack() had.

        Raises rung.Error if the file was saved on a machine with another layout, or is damaged. Pack
        the matrix again then.
        """
        kind = type_of(numpy.dtype(dtype), "the file")
        packed = cls(tuple(shape), kind, _result_type(kind, result_dtype), compute)
        loaded = _library.c_void_p()
        packed._with_queue(_library.load().rung_packed_load, os.fsencode(path), byref(loaded))
        packed._buffer = Buffer(loaded.value or 0)
        return packed


def _result_type(kind: int, result_dtype) -> int:
    valid = RESULT_TYPES[kind]
    if result_dtype is None:
        return valid[0]
    result = type_of(numpy.dtype(result_dtype), "result_dtype")
    if result not in valid:
        raise TypeError(
            f"result_dtype is {type_name(result)}; valid for {type_name(kind)}: {', '.join(map(type_name, valid))}"
        )
    return result


def pack(b: Any, *, compute: str | None = None, result_dtype: Any = None) -> Packed:
    """Packs a matrix once, for example the weights of a layer, for many multiplications on the CPU.

    ``b`` has two dimensions and any strides; its memory is not used afterwards. ``result_dtype`` is the
    type of later results (default: as in rung.matmul).

    >>> import numpy, rung
    >>> weights = rung.pack(numpy.eye(3, dtype=numpy.float32))
    >>> rung.matmul(numpy.ones((2, 3), numpy.float32), weights)
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    view = view_of(b, "b")
    if view.device is not None:
        raise ValueError("b is on a CUDA device; only matrices in memory can be packed")
    if len(view.shape) != 2:
        raise ValueError(f"b has {len(view.shape)} dimensions; a packed matrix has two")
    if 0 in view.shape:
        raise ValueError(f"b has shape {view.shape}; a packed matrix has at least one row and one column")
    if not view.is_direct:
        view = view_of_array_as(numpy.array(view.as_array(), order="C", copy=True), view.type)
    packed = Packed(view.shape, view.type, _result_type(view.type, result_dtype), compute)
    packed._pack(view)
    return packed
