# SPDX-License-Identifier: Apache-2.0
"""The options of this package's calls: the number of CPU threads, and checks of products."""

from __future__ import annotations

import os
from ctypes import byref

from . import _library

_requested = 0
_options: dict = {}

#: Argument `options` of rung_multiply for calls without `threads`: None, the default, or a byref object.
current_options = None


def check_threads(threads) -> int:
    """Returns a valid number of threads; 0 means the default."""
    try:
        number = threads.__index__()
    except AttributeError:
        raise TypeError(f"threads is {threads!r}; pass a whole number") from None
    if not 0 <= number <= _library.MAX_THREADS:
        raise ValueError(
            f"threads is {number}; the maximum is {_library.MAX_THREADS} (0 selects the number of available CPUs)"
        )
    return number


def options_of(threads) -> object:
    """Returns the argument `options` of rung_multiply for a number of threads."""
    try:
        return _options[threads]
    except (KeyError, TypeError):
        number = check_threads(threads)
        if number == 0:
            return None
        made = byref(_library.versioned(_library.MultiplyOptions, threads=number))
        return _options.setdefault(number, made)


def multiply_options(threads, checked) -> object:
    """Returns the argument `options` of rung_multiply for the arguments `threads` and `checked` of a call."""
    if checked:
        return checked_options_of(threads)
    if threads is None:
        return current_options
    return options_of(threads)


def checked_options_of(threads) -> object:
    """Returns the argument `options` of a multiplication whose product is checked."""
    key = (requested(threads), "checked")
    if key not in _options:
        _options[key] = byref(_library.versioned(_library.MultiplyOptions, threads=key[0], checked=1))
    return _options[key]


def requested(threads=None) -> int:
    """Returns the number of threads for a plan; 0 is the library's default."""
    return _requested if threads is None else check_threads(threads)


def set_threads(threads: int | None) -> None:
    """Sets the maximum number of CPU threads of each later call, including the calling thread.

    ``None`` or 0 selects the default: the environment variable ``RUNG_THREADS``, else the number of
    available CPUs. The setting is for the whole process. The number of threads does not change the
    bits of a result.

    >>> import rung
    >>> rung.set_threads(1)
    >>> rung.get_threads()
    1
    >>> rung.set_threads(None)
    """
    global _requested, current_options
    number = 0 if threads is None else check_threads(threads)
    current_options = options_of(number)
    _requested = number


def _default_threads() -> int:
    named = os.environ.get("RUNG_THREADS", "")
    if named.isdigit() and 1 <= int(named) <= _library.MAX_THREADS:
        return int(named)
    library = _library.load()
    device = _library.create(library.rung_device_open, None, b"cpu")
    units = library.rung_device_describe(device).contents.compute_units
    library.rung_device_close(device)
    return int(units)


def get_threads() -> int:
    """Returns the maximum number of CPU threads of a call without the argument ``threads``."""
    return _requested or _default_threads()
