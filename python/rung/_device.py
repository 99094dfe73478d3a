# SPDX-License-Identifier: Apache-2.0
"""Devices and plans: opened once per process, with queues that calls take and give back."""

from __future__ import annotations

import threading
from ctypes import byref, c_void_p

from . import _library
from ._arrays import TYPE_BYTES
from ._form import OPERANDS, WORD_ALPHA, WORD_BETA
from ._library import PlanInfo, PlanOptions, RunOptions, check, create, versioned

_lock = threading.Lock()
_devices: dict = {}

# CU_STREAM_LEGACY. __dlpack__ is called with the same stream.
_DEFAULT_STREAM = c_void_p(1)


class Device:
    """An open device, and queues that no call uses at the moment."""

    def __init__(self, name: str | None) -> None:
        library = _library.load()
        self.handle = create(library.rung_device_open, None, None if name is None else name.encode())
        info = library.rung_device_describe(self.handle).contents
        self.name, self.backend = info.name.decode(), info.backend.decode()
        self.queues: list = []

    def take_queue(self) -> int:
        """Returns a queue for one thread; give it back by queues.append()."""
        try:
            return self.queues.pop()
        except IndexError:
            library = _library.load()
            if self.backend == "cuda":
                return create(library.rung_queue_wrap, self.handle, _DEFAULT_STREAM)
            return create(library.rung_queue_create, self.handle)


def open_device(name: str | None) -> Device:
    """Returns an open device; None is the default device. Devices stay open until the process ends."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"device is {name!r}; pass a name such as 'cpu', 'opencl:1' or 'cuda'")
    with _lock:
        device = _devices.get(name)
        if device is None:
            device = _devices[name] = Device(name)
        return device


class LibraryPlan:
    """A rung_plan. Destroyed with its last reference."""

    def __init__(self, device: Device, problem, kernel=None, parameters=None, threads=0, packed=False) -> None:
        library = _library.load()
        self.handle = 0
        self.device = device
        options = versioned(PlanOptions, threads=threads, packed_b=int(packed))
        if kernel is not None:
            context = library.rung_device_context(device.handle)
            options.kernel = create(library.rung_kernel_find, context, device.backend.encode(), kernel.encode())
        if parameters is not None:
            options.parameters = parameters.encode()
        self.handle = create(library.rung_plan_create, device.handle, byref(problem), byref(options))
        self._library = library
        # On the CPU, the result is complete when the call returns. A plan has one packed B.
        self.is_simple = device.backend == "cpu" and self.info.workspace_bytes == 0
        self.options: RunOptions | None = None

    def __del__(self) -> None:
        if self.handle:
            self._library.rung_plan_destroy(self.handle)

    @property
    def info(self) -> PlanInfo:
        return _library.load().rung_plan_describe(self.handle).contents

    def run(self, slot, packed_b=None) -> int:
        """Runs the plan and waits for the result. Returns a status."""
        library = self._library
        if self.is_simple:
            if self.options is None:
                self.options = versioned(RunOptions, packed_b=packed_b)
            queue = self.device.take_queue()
            status = library.rung_plan_run(self.handle, queue, slot.reference, byref(self.options))
            self.device.queues.append(queue)
            return status
        options = versioned(RunOptions, packed_b=packed_b)
        workspace = self.info.workspace_bytes
        if workspace > 0:
            options.workspace = create(library.rung_buffer_create, self.device.handle, workspace)
        queue = self.device.take_queue()
        try:
            status = library.rung_plan_run(self.handle, queue, slot.reference, byref(options))
            finished = library.rung_queue_finish(queue)
        finally:
            self.device.queues.append(queue)
            if options.workspace:
                library.rung_buffer_destroy(options.workspace)
        return status or finished


class Buffer:
    """A rung_buffer. Destroyed with its last reference."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self._destroy = _library.load().rung_buffer_destroy

    def __del__(self) -> None:
        self._destroy(self.handle)


# ---- Arrays on a CUDA device ------------------------------------------------------------------


def cuda_device_of(operands, name: str | None) -> Device:
    """Returns the open device of operands in CUDA memory; raises if the caller named another one."""
    own = f"cuda:{operands.device}"
    if name is not None and name != own and not (name == "cuda" and operands.device == 0):
        raise ValueError(f"device is {name!r}, but the operands are on {own}")
    try:
        return open_device(own)
    except _library.Error as error:
        raise _library.Error(f"the operands are on {own}, which cannot be used: {error}", error.status) from None


def _span(view) -> int:
    """Returns the number of bytes from the first to the end of the last element."""
    return sum((length - 1) * step for length, step in zip(view.shape, view.strides)) + TYPE_BYTES[view.type]


def wrap_operands(operands, device: Device, problem) -> list:
    """Sets the buffers of a problem to the memory of the operands. Returns the buffers, to be kept until the end."""
    library = _library.load()
    buffers = []
    for name, view in zip(OPERANDS, operands.views()):
        if view is not None:
            if not view.is_direct:
                raise ValueError(
                    f"{'out' if name == 'c' else name} on a CUDA device has negative strides or is not aligned; copy it"
                )
            span = 0 if 0 in view.shape else _span(view)
            made = create(library.rung_buffer_wrap, device.handle, c_void_p(view.address), 0, span)
            buffers.append(Buffer(made))
            getattr(problem, name).buffer = made
    return buffers


def multiply_with_plan(operands, form, alpha: float, beta: float, plan: LibraryPlan) -> None:
    """Multiplies operands in the memory of the plan's CUDA device."""
    slot = form.take()
    try:
        buffers = wrap_operands(operands, plan.device, slot.problem)
        slot.reals[WORD_ALPHA], slot.reals[WORD_BETA] = alpha, beta
        for starts in form.calls:
            for name, view, start in zip(OPERANDS, operands.views(), starts):
                if view is not None:
                    getattr(slot.problem, name).offset = start // TYPE_BYTES[view.type]
            check(plan.run(slot))
        del buffers
    finally:
        for name in OPERANDS:  # the slot is used again, for other memory
            getattr(slot.problem, name).buffer = None
            getattr(slot.problem, name).offset = 0
        form.pool.append(slot)


def multiply_on_cuda(operands, form, alpha: float, beta: float, name: str | None) -> None:
    """Multiplies operands that are in the memory of a CUDA device."""
    device = cuda_device_of(operands, name)
    if form.is_empty:
        return
    plan = form.plans.get(device.name)
    if plan is None:
        plan = form.plans[device.name] = LibraryPlan(device, form.template)
    multiply_with_plan(operands, form, alpha, beta, plan)
