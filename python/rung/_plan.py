# SPDX-License-Identifier: Apache-2.0
"""rung.Plan: a multiplication that is prepared once."""

from __future__ import annotations

from typing import Any

from . import _threads
from ._device import LibraryPlan, cuda_device_of, multiply_with_plan, open_device
from ._library import COMPUTES
from ._matmul import KnownForms, Operands

_COMPUTE_NAMES = {number: name for name, number in COMPUTES.items()}


class Plan:
    """Selects the kernel for a multiplication once, and then runs every multiplication of the same form.

    The arguments are those of rung.matmul. Types, shapes, strides and the epilogue of the arrays are
    fixed; the memory and the numbers alpha and beta may differ between runs.

    kernel
        Name or number of a kernel, for example "10_pipeline" (see rung.kernels()); None lets the library select.
    parameters
        Parameters of this kernel, for example "KC=256".

    >>> import numpy, rung
    >>> a = numpy.ones((4, 4), numpy.float32)
    >>> plan = rung.Plan(a, a)
    >>> float(plan(a, a)[0, 0])
    4.0
    """

    def __init__(
        self,
        a: Any,
        b: Any,
        out: Any = None,
        *,
        bias: Any = None,
        activation: str | None = None,
        multiplier: Any = None,
        residual: Any = None,
        compute: str | None = None,
        device: str | None = None,
        threads: int | None = None,
        kernel: str | None = None,
        parameters: str | None = None,
    ) -> None:
        operands = Operands(a, b, out, 0, bias, multiplier, residual)
        form = operands.form(activation, compute)
        self._device = open_device(device) if operands.device is None else cuda_device_of(operands, device)
        if len(form.calls) > 1:
            raise ValueError("the batch cannot be described by one plan; pass operands of the epilogue without batches")
        if form.is_empty:
            raise ValueError(f"the result has shape {operands.shape}; a plan needs at least one element")
        self._key = operands.key()
        self._known = KnownForms()
        self._activation, self._compute = activation, compute
        self._plan = LibraryPlan(self._device, form.template, kernel, parameters, _threads.requested(threads))
        info = self._plan.info
        self.kernel: str = info.kernel.decode()
        self.parameters: str = info.parameters.decode()
        self.origin: str = info.origin_text.decode()
        self.rejected: str = info.rejected.decode()
        self.compute: str = _COMPUTE_NAMES.get(info.compute, "?")
        self.threads: int = info.threads
        self.split_k: int = info.split_k
        self.library: str = info.library.decode()
        self.shape: tuple = operands.shape

    @property
    def device(self) -> str:
        """The name of the device."""
        return self._device.name

    def __repr__(self) -> str:
        return f"<rung.Plan {self.kernel} {self.parameters} ({self.origin}) on {self.device}>"

    def __call__(
        self,
        a: Any,
        b: Any,
        out: Any = None,
        *,
        alpha: float = 1,
        beta: float = 0,
        bias: Any = None,
        multiplier: Any = None,
        residual: Any = None,
    ) -> Any:
        """Returns the result of a multiplication whose arrays have the form of the plan."""
        arrays = (a, b, out, bias, multiplier, residual)
        key = KnownForms.key(arrays)
        found = self._known.multiply(key, arrays, alpha, beta, self._run)
        if found is not None:
            return found
        operands = Operands(a, b, out, beta, bias, multiplier, residual)
        if operands.key() != self._key:
            raise ValueError(
                f"arrays that differ in type, shape or strides from those of the plan: {self._differences(operands)}"
            )
        form = operands.form(self._activation, self._compute)
        if operands.device is not None:
            multiply_with_plan(operands, form, float(alpha), float(beta), self._plan)
            return operands.result
        if self._device.backend != "cpu":
            raise ValueError(
                f"the plan is for {self.device} and the arrays are in memory; rung.matmul(..., device={self.device!r}) "
                "copies them"
            )
        operands.multiply(form, alpha, beta, self._run)
        self._known.remember(key, arrays, operands, form)
        return operands.finish()

    def _run(self, form, slot) -> int:
        return self._plan.run(slot)

    def _differences(self, operands) -> str:
        names = ("a", "b", "out", "bias", "multiplier", "residual")
        return ", ".join(name for name, mine, other in zip(names, self._key, operands.key()) if mine != other)
