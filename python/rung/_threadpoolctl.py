# SPDX-License-Identifier: Apache-2.0
"""A controller for threadpoolctl, so that threadpool_limits() limits the threads of rung, too."""

from __future__ import annotations


def register() -> None:
    """Registers the controller if threadpoolctl is installed. Called when librung is loaded."""
    try:
        from threadpoolctl import LibController  # type: ignore[import-untyped]
        from threadpoolctl import register as register_controller
    except ImportError:
        return

    class RungController(LibController):
        """Limits the threads of rung.matmul and of the plans of this package."""

        user_api = "blas"
        internal_api = "rung"
        filename_prefixes = ("librung.so",)
        check_symbols = ("rung_multiply",)

        def get_num_threads(self):
            from . import _threads

            return _threads.get_threads()

        def set_num_threads(self, num_threads):
            from . import _threads

            _threads.set_threads(num_threads)

        def get_version(self):
            from . import _library

            return _library.load().rung_version_text().decode()

        def set_additional_attributes(self):
            pass

    try:
        register_controller(RungController)
    except (TypeError, ValueError):
        pass  # another copy of this module registered its controller
