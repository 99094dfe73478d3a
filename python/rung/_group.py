# SPDX-License-Identifier: Apache-2.0
"""rung.group_matmul"""

from __future__ import annotations

import ctypes
from typing import Any

from . import _library, _threads
from ._library import Group, Problem
from ._matmul import operands_of, run_with_copies
from ._packed import Packed


def group_matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    alpha: float = 1,
    beta: float = 0,
    bias: Any = None,
    activation: str | None = None,
    multiplier: Any = None,
    residual: Any = None,
    compute: str | None = None,
    device: str | None = None,
    threads: int | None = None,
    checked: bool = False,
) -> list:
    """Returns [activation(alpha * a[i] @ b[i] + beta * out[i] + bias[i]) * multiplier[i] + residual[i] for each i].

    The sizes of the matrices may differ, for example the rows of each expert in a mixture of experts. All
    multiplications run as one unit of work: on the CPU, in one pass of the threads.

    a, b
        Sequences of the same number of two-dimensional arrays, as for rung.matmul(). All ``a`` have one type,
        and all ``b``: arrays, results of rung.quantize() in one format, or results of rung.pack(). A matrix may
        occur several times. Sizes may be 0.
    out, bias, multiplier, residual
        Sequences with one array per multiplication, or None. No two arrays of ``out`` may overlap. Inputs
        that overlap one of them are copied first.

    The other arguments are those of rung.matmul(). Arrays on CUDA devices are not supported.

    >>> import numpy, rung
    >>> tokens = [numpy.ones((rows, 2), numpy.float32) for rows in (1, 0, 2)]
    >>> weights = [numpy.full((2, 2), expert, numpy.float32) for expert in (1, 2, 3)]
    >>> [result.tolist() for result in rung.group_matmul(tokens, weights)]
    [[[2.0, 2.0]], [], [[6.0, 6.0], [6.0, 6.0]]]
    """
    a, b = list(a), list(b)
    packed = _packed_buffers(b, compute, device)
    items = [operands_of(*arrays[:3], beta, *arrays[3:]) for arrays in _zip(a, b, out, bias, multiplier, residual)]
    for index, item in enumerate(items):
        if len(item.a.shape) != 2 or len(item.b.shape) != 2:
            raise ValueError(f"a[{index}] has shape {item.a.shape} and b[{index}] {item.b.shape}; both need two dimensions")
        if item.device is not None:
            raise ValueError(f"a[{index}] is on a CUDA device; group_matmul multiplies arrays in memory")
    context = _library.context_of(device if packed is None else None)
    compute = compute if packed is None else b[0].compute
    options = _threads.multiply_options(threads, checked)

    def run():
        problems = _problems(items, activation, compute, float(alpha), float(beta))
        group = Group(ctypes.sizeof(Group), ctypes.addressof(problems), len(items))
        if packed is not None:
            group.packed_b = ctypes.addressof(packed)
        return _library.load().rung_group_multiply(context, ctypes.byref(group), options)

    run_with_copies(items, beta, run)
    return [item.finish() for item in items]


def _packed_buffers(b: list, compute: str | None, device: str | None):
    """Returns an array of the buffers of packed matrices, or None."""
    if not any(isinstance(matrix, Packed) for matrix in b):
        return None
    for index, matrix in enumerate(b):
        if not isinstance(matrix, Packed):
            raise TypeError(f"b[{index}] is not packed, and others are; pack all matrices of b or none")
        matrix.check_arguments(compute, device)
        if matrix.compute != b[0].compute:
            raise ValueError(f"b[{index}] was packed for {matrix.compute or 'strict'!r} and b[0] for {b[0].compute or 'strict'!r}")
    return (ctypes.c_void_p * len(b))(*(matrix.buffer_handle for matrix in b))


def _zip(a: list, b: list, *optional):
    """Returns (a, b, out, bias, multiplier, residual) of each multiplication."""
    lists = [a, b]
    for name, values in zip(("out", "bias", "multiplier", "residual"), optional):
        lists.append([None] * len(a) if values is None else list(values))
        if len(lists[-1]) != len(a):
            raise ValueError(f"{name} has {len(lists[-1])} arrays and a has {len(a)}; pass one array per multiplication")
    if len(a) != len(b):
        raise ValueError(f"a has {len(a)} arrays and b has {len(b)}; pass one of each per multiplication")
    return zip(*lists)


def _problems(items: list, activation: str | None, compute: str | None, alpha: float, beta: float):
    """Returns the structs of all multiplications. Those without elements count, because errors name an index."""
    problems = (Problem * len(items))()
    for problem, item in zip(problems, items):
        form = item.form(activation, compute)
        slot = item.take_slot(form, alpha, beta)
        ctypes.memmove(ctypes.byref(problem), slot.reference, ctypes.sizeof(Problem))
        item.give_back(form, slot)
    return problems
