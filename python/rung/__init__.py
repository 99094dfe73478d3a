# SPDX-License-Identifier: Apache-2.0
"""rung: matrix multiplication on the CPU, on OpenCL devices and on NVIDIA GPUs, and a lab for CUDA kernels.

``rung.matmul`` multiplies arrays, ``rung.group_matmul`` lists of arrays. ``rung.Plan`` and ``rung.pack`` prepare
repeated work. ``rung.quantize`` and ``rung.load_weights`` handle quantized arrays.
``rung.verify`` and ``rung.explain`` check and explain CUDA kernels without a GPU, and ``rung.grade`` grades them. The guide is
docs/guides/python.md of the source tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._library import Error
from ._threads import get_threads, set_threads

if TYPE_CHECKING:
    from ._lab import CommandError, bench, devices, explain, grade, kernels, page, skeleton, tasks, verify
    from ._group import group_matmul
    from ._matmul import matmul
    from ._packed import Packed, pack
    from ._plan import Plan
    from ._quantized import Quantized, Weights, load_weights, quantize

__all__ = [
    "CommandError",
    "Error",
    "Packed",
    "Plan",
    "Quantized",
    "Weights",
    "bench",
    "devices",
    "explain",
    "get_threads",
    "grade",
    "group_matmul",
    "kernels",
    "load_weights",
    "matmul",
    "pack",
    "page",
    "quantize",
    "set_threads",
    "skeleton",
    "tasks",
    "verify",
]

# Loaded at first use, so that `import rung` is quick. The console script does not load NumPy.
_LAZY = {
    "group_matmul": "_group",
    "matmul": "_matmul",
    "Packed": "_packed",
    "pack": "_packed",
    "Plan": "_plan",
    "Quantized": "_quantized",
    "Weights": "_quantized",
    "load_weights": "_quantized",
    "quantize": "_quantized",
    "CommandError": "_lab",
    "bench": "_lab",
    "devices": "_lab",
    "explain": "_lab",
    "grade": "_lab",
    "kernels": "_lab",
    "page": "_lab",
    "skeleton": "_lab",
    "tasks": "_lab",
    "verify": "_lab",
}


def __getattr__(name: str):
    if name == "__version__":
        from ._library import load

        return load().rung_version_text().decode()
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'rung' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module("." + module, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__) | {"__version__"})


def load_ipython_extension(shell) -> None:
    """Adds the cell magic ``%%rung``: called by ``%load_ext rung``."""
    from .jupyter import load_ipython_extension as load_extension

    load_extension(shell)
