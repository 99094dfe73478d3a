# SPDX-License-Identifier: Apache-2.0
"""Declares the C interface of librung and librung-weights (include/rung) for ctypes and loads the libraries.

python/tests/test_library.py compiles a C program that compares these declarations with the header.
ctypes.CDLL releases the interpreter lock during each call.
"""

from __future__ import annotations

import ctypes
import os
import threading
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p

#: Statuses of the library: number to name. The names are those of the header without RUNG_STATUS_.
STATUSES = {
    0: "OK",
    -1: "INVALID",
    -2: "ALIASED",
    -3: "TOO_LARGE",
    -4: "NO_MEMORY",
    -5: "NO_DEVICE",
    -6: "UNSUPPORTED",
    -7: "COMPILE_FAILED",
    -8: "DEVICE_LOST",
    -9: "NOT_FOUND",
    -10: "IO",
    -11: "CANCELLED",
    -12: "CORRUPTED",
}
INVALID, ALIASED, NO_DEVICE, UNSUPPORTED = -1, -2, -5, -6

#: Element types that this package passes to the library, by the names of the header.
TYPES = {"F32": 1, "F64": 2, "F16": 3, "BF16": 4, "I8": 5, "I32": 6, "F8E4M3": 10, "F8E5M2": 11}

#: Types whose blocks hold their scales.
BLOCK_TYPES = {"Q8_0": 14, "Q4_0": 15}

#: Types of quantized elements, scales and zero points that NumPy lacks.
NARROW_TYPES = {"U8": 7, "I4": 8, "U4": 9, "F4E2M1": 12, "E8M0": 13}

COMPUTES = {"strict": 0, "bf16x3": 1, "tf32": 2, "bf16x1": 3, "tf32x3": 4, "q8": 5}
ACTIVATIONS = {"none": 0, "relu": 1, "gelu": 2, "gelu_tanh": 3, "silu": 4}
ORIGINS = {"defaults": 0, "given": 1, "preset": 2, "tuning": 3, "fallback": 4}

#: The largest number of threads that the library accepts.
MAX_THREADS = 8192


class Error(RuntimeError):
    """A call of the library failed.

    ``status`` is the library's number, ``name`` the name of this status without ``RUNG_STATUS_``, for
    example ``"UNSUPPORTED"``.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status

    @property
    def name(self) -> str:
        return STATUSES.get(self.status, str(self.status))

    def __reduce__(self):
        return (type(self), (str(self), self.status))


class Matrix(Structure):
    """rung_matrix"""

    _fields_ = [
        ("type", c_int),
        ("rows", c_int64),
        ("cols", c_int64),
        ("row_stride", c_int64),
        ("col_stride", c_int64),
        ("data", c_void_p),
        ("buffer", c_void_p),
        ("offset", c_int64),
        ("batch_stride", c_int64),
        ("batch_offsets", c_void_p),
    ]


class Quantization(Structure):
    """rung_quantization"""

    _fields_ = [
        ("size", c_size_t),
        ("scales", Matrix),
        ("zero_points", Matrix),
        ("block_rows", c_int64),
        ("block_cols", c_int64),
    ]


class Problem(Structure):
    """rung_problem"""

    _fields_ = [
        ("size", c_size_t),
        ("alpha", c_double),
        ("beta", c_double),
        ("a", Matrix),
        ("b", Matrix),
        ("c", Matrix),
        ("d", Matrix),
        ("batch", c_int64),
        ("compute", c_int),
        ("activation", c_int),
        ("bias", Matrix),
        ("residual", Matrix),
        ("a_quantization", c_void_p),
        ("b_quantization", c_void_p),
        ("d_quantization", c_void_p),
        ("multiplier", Matrix),
    ]


class Group(Structure):
    """rung_group"""

    _fields_ = [("size", c_size_t), ("problems", c_void_p), ("count", c_int64), ("packed_b", c_void_p)]


class MultiplyOptions(Structure):
    """rung_multiply_options"""

    _fields_ = [
        ("size", c_size_t),
        ("threads", c_int64),
        ("checked", c_int64),
        ("corrected", c_void_p),
        ("device", c_void_p),
    ]


class ContextOptions(Structure):
    """rung_context_options"""

    _fields_ = [
        ("size", c_size_t),
        ("device", c_char_p),
        ("threads", c_int64),
        ("verbose", c_int),
        ("log", c_void_p),
        ("log_user", c_void_p),
        ("allocate", c_void_p),
        ("release", c_void_p),
        ("memory_user", c_void_p),
        ("span", c_void_p),
        ("span_user", c_void_p),
        ("parallel_for", c_void_p),
        ("parallel_for_user", c_void_p),
    ]


class DeviceInfo(Structure):
    """rung_device_info: the fields up to the one that this package reads."""

    _fields_ = [
        ("name", c_char_p),
        ("backend", c_char_p),
        ("title", c_char_p),
        ("platform", c_char_p),
        ("driver", c_char_p),
        ("missing", c_char_p),
        ("compute_units", c_int64),
    ]


class RunOptions(Structure):
    """rung_run_options"""

    _fields_ = [
        ("size", c_size_t),
        ("wait", c_void_p),
        ("wait_count", c_int64),
        ("signal", c_void_p),
        ("workspace", c_void_p),
        ("packed_b", c_void_p),
        ("threads", c_int64),
        ("checked", c_int64),
        ("corrected", c_void_p),
    ]


class PlanOptions(Structure):
    """rung_plan_options"""

    _fields_ = [
        ("size", c_size_t),
        ("kernel", c_void_p),
        ("parameters", c_char_p),
        ("split_k", c_int64),
        ("max_workspace_bytes", c_int64),
        ("threads", c_int64),
        ("packed_b", c_int),
        ("shared_carveout_percent", c_int),
    ]


class PlanInfo(Structure):
    """rung_plan_info"""

    _fields_ = [
        ("kernel", c_char_p),
        ("parameters", c_char_p),
        ("origin", c_int),
        ("origin_text", c_char_p),
        ("rejected", c_char_p),
        ("compute", c_int),
        ("workspace_bytes", c_int64),
        ("split_k", c_int64),
        ("blocks", c_int64),
        ("threads", c_int64),
        ("library", c_char_p),
        ("warning", c_char_p),
        ("packed_b_bytes", c_int64),
    ]


class WeightsTensor(Structure):
    """rung_weights_tensor"""

    _fields_ = [
        ("name", c_char_p),
        ("type_name", c_char_p),
        ("dimension_count", c_int64),
        ("dimensions", c_int64 * 8),
        ("data", c_void_p),
        ("data_bytes", c_int64),
        ("view", Matrix),
    ]


#: C names of the structs above, for the test that compares them with the header. A struct that the
#: library returns may be longer than its declaration here.
STRUCTS = {
    "rung_matrix": Matrix,
    "rung_quantization": Quantization,
    "rung_problem": Problem,
    "rung_group": Group,
    "rung_multiply_options": MultiplyOptions,
    "rung_context_options": ContextOptions,
    "rung_device_info": DeviceInfo,
    "rung_run_options": RunOptions,
    "rung_plan_options": PlanOptions,
    "rung_plan_info": PlanInfo,
    "rung_weights_tensor": WeightsTensor,
}
RETURNED_STRUCTS = ("rung_device_info", "rung_weights_tensor")

_HANDLE = POINTER(c_void_p)

# Result and argument types. rung_multiply is not listed: see load().
_FUNCTIONS = {
    "rung_version": (c_int, []),
    "rung_version_text": (c_char_p, []),
    "rung_error_text": (c_char_p, []),
    "rung_problem_check": (c_int, [c_void_p]),
    "rung_accumulator_type": (c_int, [c_int, c_int, c_int]),
    "rung_group_multiply": (c_int, [c_void_p, c_void_p, c_void_p]),
    "rung_context_create": (c_int, [POINTER(ContextOptions), _HANDLE]),
    "rung_device_open": (c_int, [c_void_p, c_char_p, _HANDLE]),
    "rung_device_close": (None, [c_void_p]),
    "rung_device_context": (c_void_p, [c_void_p]),
    "rung_device_describe": (POINTER(DeviceInfo), [c_void_p]),
    "rung_queue_create": (c_int, [c_void_p, _HANDLE]),
    "rung_queue_wrap": (c_int, [c_void_p, c_void_p, _HANDLE]),
    "rung_queue_finish": (c_int, [c_void_p]),
    "rung_queue_destroy": (None, [c_void_p]),
    "rung_buffer_create": (c_int, [c_void_p, c_int64, _HANDLE]),
    "rung_buffer_wrap": (c_int, [c_void_p, c_void_p, c_int64, c_int64, _HANDLE]),
    "rung_buffer_destroy": (None, [c_void_p]),
    "rung_kernel_find": (c_int, [c_void_p, c_char_p, c_char_p, _HANDLE]),
    "rung_plan_create": (c_int, [c_void_p, c_void_p, POINTER(PlanOptions), _HANDLE]),
    "rung_plan_describe": (POINTER(PlanInfo), [c_void_p]),
    "rung_plan_destroy": (None, [c_void_p]),
    "rung_plan_run": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "rung_plan_pack_b": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "rung_packed_save": (c_int, [c_void_p, c_void_p, c_void_p, c_char_p]),
    "rung_packed_load": (c_int, [c_void_p, c_void_p, c_char_p, _HANDLE]),
    "rung_quantize": (c_int, [Matrix, Matrix, c_void_p]),
    "rung_dequantize": (c_int, [Matrix, c_void_p, Matrix]),
}

# Those of librung-weights.
_WEIGHTS_FUNCTIONS = {
    "rung_weights_open": (c_int, [c_char_p, _HANDLE]),
    "rung_weights_count": (c_int64, [c_void_p]),
    "rung_weights_at": (POINTER(WeightsTensor), [c_void_p, c_int64]),
    "rung_weights_close": (None, [c_void_p]),
}

_folder = os.path.dirname(os.path.abspath(__file__))
_lock = threading.Lock()
_loaded = None
_loaded_weights = None


def library_path(name: str = "librung") -> str:
    """Returns the path of a library: in the folder RUNG_LIBRARY_DIR if set, else in the package."""
    named = os.environ.get("RUNG_LIBRARY_DIR")
    return os.path.join(named or os.path.join(_folder, "lib"), f"{name}.so.0")


def command_path() -> str:
    """Returns the path of the command `rung`: in the folder RUNG_LIBRARY_DIR if set, else in the package."""
    named = os.environ.get("RUNG_LIBRARY_DIR")
    path = os.path.join(named, "rung") if named else os.path.join(_folder, "bin", "rung")
    if not os.access(path, os.X_OK):
        raise Error(f"there is no command {path}; {_hint(named)}", -9)
    return path


def _hint(named: str | None) -> str:
    if named:
        return f"RUNG_LIBRARY_DIR is {named!r}; set it to the folder of a build, for example build/release"
    return "install the package again, or set RUNG_LIBRARY_DIR to the folder of a build, for example build/release"


def _open_library(name: str, functions: dict) -> ctypes.CDLL:
    path = library_path(name)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        named = os.environ.get("RUNG_LIBRARY_DIR")
        raise ImportError(f"{name} cannot be loaded: {error}; {_hint(named)}") from None
    for function_name, (result, arguments) in functions.items():
        function = getattr(library, function_name)
        function.restype = result
        function.argtypes = arguments
    return library


def _open() -> ctypes.CDLL:
    library = _open_library("librung", _FUNCTIONS)
    # Declared argument types would cost more than the arguments themselves: callers pass byref() objects and None.
    library.rung_multiply.restype = c_int
    return library


def load() -> ctypes.CDLL:
    """Returns the library. The first call loads it and registers the threadpoolctl controller."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _open()
                from . import _threadpoolctl

                _threadpoolctl.register()
    return _loaded


def load_weights() -> ctypes.CDLL:
    """Returns librung-weights. The first call loads it."""
    global _loaded_weights
    load()  # holds the error text
    if _loaded_weights is None:
        with _lock:
            if _loaded_weights is None:
                _loaded_weights = _open_library("librung-weights", _WEIGHTS_FUNCTIONS)
    return _loaded_weights


def error_text() -> str:
    """Returns the description of this thread's most recent error."""
    return load().rung_error_text().decode("utf-8", "replace")


def check(status: int) -> None:
    """Raises rung.Error with the library's description unless the status is 0."""
    if status:
        raise Error(error_text(), status)


def create(function, *arguments) -> int:
    """Calls a function whose last argument receives a new object, and returns the object's address."""
    made = c_void_p()
    check(function(*arguments, byref(made)))
    return made.value or 0


def versioned(struct, **fields):
    """Returns a struct with its field `size` set."""
    return struct(ctypes.sizeof(struct), **fields)


def lookup(table: dict, name, what: str) -> int:
    """Returns the number of a name; raises ValueError with the valid names."""
    try:
        return table[name]
    except (KeyError, TypeError):
        raise ValueError(f"{what} is {name!r}; valid are {', '.join(map(repr, table))}") from None


_contexts: dict[str, c_void_p] = {}


def context_of(device: str | None) -> c_void_p | None:
    """Returns the context whose device is `device`; None, the default context, without a device.

    Contexts live as long as the process, like the default context.
    """
    if device is None:
        return None
    context = _contexts.get(device)
    if context is None:
        if not isinstance(device, str):
            raise TypeError(f"device is {device!r}; pass a name such as 'cpu', 'opencl:1' or 'cuda'")
        library = load()
        with _lock:
            if device not in _contexts:
                # A device that cannot be opened is reported before a context exists for it.
                library.rung_device_close(create(library.rung_device_open, None, device.encode()))
                options = versioned(ContextOptions, device=device.encode())
                _contexts[device] = c_void_p(create(library.rung_context_create, byref(options)))
        context = _contexts[device]
    return context
