# SPDX-License-Identifier: Apache-2.0
"""Forms: rung_problem structs for operands with given types, shapes and strides.

A form is computed once. A call sets the addresses and scalars in one of the form's structs.
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any

import numpy

from ._arrays import TYPE_BYTES, View
from ._library import Matrix, Problem

OPERANDS = ("a", "b", "c", "bias", "multiplier", "residual")

# Indices of 8-byte words of rung_problem: the addresses of the operands, alpha and beta.
DATA_WORDS = tuple((getattr(Problem, name).offset + Matrix.data.offset) // 8 for name in OPERANDS)
WORD_A, WORD_B, WORD_C = DATA_WORDS[:3]
WORD_ALPHA, WORD_BETA = Problem.alpha.offset // 8, Problem.beta.offset // 8

#: Forms with more items are not cached, because their lists of offsets are long.
MAX_CACHED_ITEMS = 4096


class Slot:
    """One rung_problem struct, used by one call at a time."""

    __slots__ = ("problem", "reference", "words", "reals")

    def __init__(self, template: Problem) -> None:
        self.problem = Problem.from_buffer_copy(template)
        self.reference = ctypes.byref(self.problem)
        raw = memoryview(self.problem).cast("B")
        self.words = raw.cast("q")
        self.reals = raw.cast("d")


class Form:
    """The problem of a multiplication without addresses and scalars."""

    __slots__ = ("template", "calls", "offsets", "items", "shape", "dtype", "mask", "pool", "plans", "_identity")

    def __init__(self, template, calls, offsets, items) -> None:
        self.template = template
        self.calls = calls  # byte offsets of the operands, one tuple per call of the library; none if C is empty
        self.offsets: tuple = offsets  # arrays that batch_offsets point to
        self.items = items
        self.shape: tuple = ()  # shape and type of the result, for plain calls
        self.dtype: Any = None
        self.mask = 0  # address bits that must be 0
        self.pool: list = []
        self.plans: dict = {}  # of CUDA devices
        self._identity = b""

    def take(self) -> Slot:
        """Returns a slot for one call; give it back by pool.append()."""
        try:
            return self.pool.pop()
        except IndexError:
            return Slot(self.template)

    @property
    def identity(self) -> bytes:
        """The struct as a key: equal for equal forms."""
        if not self._identity:
            self._identity = bytes(self.template)
        return self._identity

    @property
    def is_single(self) -> bool:
        """Whether one call of the library suffices, and the form is worth caching."""
        return len(self.calls) == 1 and self.items <= MAX_CACHED_ITEMS

    @property
    def is_empty(self) -> bool:
        """Whether the result has no elements."""
        return not self.calls


def result_shape(a: tuple, b: tuple) -> tuple:
    """Returns the shape of a product as numpy.matmul defines it."""
    if not a or not b:
        raise ValueError(f"{'a' if not a else 'b'} has no dimensions; multiply by a scalar with alpha")
    inner_a, inner_b = a[-1], b[-2] if len(b) > 1 else b[0]
    if inner_a != inner_b:
        raise ValueError(f"shapes {a} and {b} do not match: {inner_a} columns of a, {inner_b} rows of b")
    batch_a, batch_b = a[:-2], b[:-2]
    if batch_a == batch_b:
        batch = batch_a
    else:
        try:
            batch = numpy.broadcast_shapes(batch_a, batch_b)
        except ValueError:
            raise ValueError(f"shapes {a} and {b} do not match: the batch dimensions cannot be broadcast") from None
    return batch + a[-2:-1] + (b[-1:] if len(b) > 1 else ())


def _broadcast_strides(shape: tuple, strides: tuple, to: tuple) -> tuple:
    """Returns the strides of an operand of `shape` as if it had the shape `to`."""
    missing = len(to) - len(shape)
    return (0,) * missing + tuple(0 if length == 1 else step for length, step in zip(shape, strides))


def _split(view: View, which: str, out_shape: tuple, a_is_vector: bool, b_is_vector: bool):
    """Returns (batch strides, row stride, column stride) of an operand in bytes."""
    shape, strides = view.shape, view.strides
    batch_dimensions = len(out_shape) - 2 + a_is_vector + b_is_vector
    batch = out_shape[:batch_dimensions]
    if which == "a":
        core = (0, strides[-1]) if a_is_vector else strides[-2:]
    elif which == "b":
        core = (strides[-1], 0) if b_is_vector else strides[-2:]
    else:
        full = _broadcast_strides(shape, strides, out_shape)
        inner = full[batch_dimensions:]
        core = ((0,) if a_is_vector else inner[:1]) + ((0,) if b_is_vector else inner[-1:])
        return full[:batch_dimensions], *core
    return _broadcast_strides(shape[:-2], strides[:-2], batch), *core


def _fill(matrix: Matrix, kind: int, rows: int, cols: int, row_step: int, col_step: int, is_input: bool) -> None:
    """Fills a view. Strides of sizes 0 and 1, which NumPy leaves undefined, become those of a dense matrix."""
    matrix.type = kind
    matrix.rows, matrix.cols = rows, cols
    if cols <= 1 and not (is_input and rows > 1 and row_step == 0):
        col_step = 1
    if rows <= 1:
        row_step = max(cols, 1) * max(col_step, 1)
    matrix.row_stride, matrix.col_stride = row_step, col_step


def _merge(dimensions: list) -> list:
    """Merges adjacent batch dimensions (length, strides) that all operands step through evenly."""
    merged: list = []
    for length, steps in dimensions:
        if merged and all(outer == inner * length for outer, inner in zip(merged[-1][1], steps)):
            merged[-1] = (merged[-1][0] * length, steps)
        else:
            merged.append((length, steps))
    return merged


def _offsets(dimensions: list, operand: int):
    """Returns the offsets of an operand's items in the order of the dimensions."""
    total = numpy.zeros((), numpy.int64)
    for length, steps in dimensions:
        total = numpy.add.outer(total, numpy.arange(length, dtype=numpy.int64) * steps[operand])
    return numpy.ascontiguousarray(total.ravel())


def _is_even(dimensions: list, operand: int) -> bool:
    """Whether one stride describes all items of an operand."""
    return all(outer[1][operand] == inner[1][operand] * inner[0] for outer, inner in zip(dimensions, dimensions[1:]))


def _fits_one_call(dimensions: list, count: int) -> bool:
    """Whether the library takes these batch dimensions at once. Operands of the epilogue take no list of offsets, and
    the offsets of an output must ascend."""
    if len(dimensions) < 2:
        return True
    if not all(_is_even(dimensions, operand) for operand in range(3, count)):
        return False
    if _is_even(dimensions, 2):
        return True
    return bool((numpy.diff(_offsets(dimensions, 2)) > 0).all())


def make_form(views: list, activation: int, compute: int) -> Form:
    """Returns the form of operands (a, b, out, bias, multiplier, residual); the last three may be None or missing.

    The views must be direct, and their shapes must match.
    """
    a, b, c = views[:3]
    present = [index for index, view in enumerate(views) if view is not None]
    a_is_vector, b_is_vector = len(a.shape) == 1, len(b.shape) == 1
    m = 1 if a_is_vector else a.shape[-2]
    n = 1 if b_is_vector else b.shape[-1]
    k = a.shape[-1]
    batch = c.shape[: len(c.shape) - 2 + a_is_vector + b_is_vector]
    template = Problem(size=ctypes.sizeof(Problem), alpha=1.0, batch=1, compute=compute, activation=activation)
    sizes = {"a": (m, k), "b": (k, n)}
    batch_steps = []
    for index in present:
        name, view = OPERANDS[index], views[index]
        bytes_per_element = TYPE_BYTES[view.type]
        outer, row_step, col_step = _split(view, name, c.shape, a_is_vector, b_is_vector)
        rows, cols = sizes.get(name, (m, n))
        _fill(
            getattr(template, name),
            view.type,
            rows,
            cols,
            row_step // bytes_per_element,
            col_step // bytes_per_element,
            name != "c",
        )
        batch_steps.append(tuple(step // bytes_per_element for step in outer))
    if m == 0 or n == 0 or 0 in batch:
        return Form(template, (), (), 0)

    dimensions = [(length, steps) for length, steps in zip(batch, zip(*batch_steps)) if length > 1]
    dimensions.sort(key=lambda dimension: -dimension[1][2])
    dimensions = _merge(dimensions)
    loops = []
    while not _fits_one_call(dimensions, len(present)):
        loops.append(dimensions.pop(0))

    template.batch = items = prod(length for length, _ in dimensions)
    lists = []
    for operand, index in enumerate(present):
        matrix = getattr(template, OPERANDS[index])
        if dimensions and _is_even(dimensions, operand):
            matrix.batch_stride = dimensions[-1][1][operand]
        elif dimensions:
            lists.append(_offsets(dimensions, operand))
            matrix.batch_offsets = lists[-1].ctypes.data
    starts = [
        (_offsets(loops, present.index(index)) * TYPE_BYTES[views[index].type]).tolist() if index in present else None
        for index in range(len(OPERANDS))
    ]
    count = prod(length for length, _ in loops)
    calls = tuple(tuple(start[i] if start else 0 for start in starts) for i in range(count))
    form = Form(template, calls, tuple(lists), items * count)
    form.mask = max(TYPE_BYTES[views[index].type] for index in present) - 1
    return form
