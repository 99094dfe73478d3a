# SPDX-License-Identifier: Apache-2.0
"""The cell magic %%rung: verifies and explains the CUDA kernel in the cell.

    %load_ext rung

    %%rung --arch sm_86
    __global__ void matmul(const float *A, const float *B, float *C, int N) { ... }

Options of the line go to rung.verify and rung.explain, as far as each knows them. ``--no-explain`` and
``--no-verify`` leave one of the two out. ``--into NAME`` stores the results in a variable as a pair.
"""

from __future__ import annotations

import shlex
import sys
from typing import Any

from ._lab import CommandError, explain, verify

# Options that only one of the two commands has.
_VERIFY_ONLY = {"sarif", "seed", "suite"}
_EXPLAIN_ONLY = {"machine", "m", "n", "k", "dtype", "compute", "metrics"}


def parse_line(line: str) -> dict:
    """Returns the options of a line: --arch sm_86 --metrics becomes {"arch": "sm_86", "metrics": True}."""
    options: dict[str, Any] = {}
    words = shlex.split(line)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            raise ValueError(f"{word!r} is not an option; write for example --arch sm_86")
        name, equals, value = word[2:].partition("=")
        if not equals and words and not words[0].startswith("--"):
            value = words.pop(0)
            equals = "="
        options[name.replace("-", "_")] = value if equals else True
    return options


def check_cell(line: str, cell: str) -> tuple[list, str | None]:
    """Runs the commands on a cell. Returns the results, or the errors in their place, and the name of --into."""
    options = parse_line(line)
    into = options.pop("into", None)
    results: list = []
    for command, is_left_out, others in (
        (verify, options.pop("no_verify", False), _EXPLAIN_ONLY),
        (explain, options.pop("no_explain", False), _VERIFY_ONLY),
    ):
        if not is_left_out:
            own = {name: value for name, value in options.items() if name not in others}
            try:
                results.append(command(cell + "\n", **own))
            except CommandError as error:
                results.append(error)
    return results, into


def load_ipython_extension(shell) -> None:
    """Adds the cell magic to an IPython shell: called by ``%load_ext rung``."""

    def rung(line: str, cell: str) -> None:
        from IPython.display import display

        results, into = check_cell(line, cell)
        for result in results:
            if isinstance(result, CommandError):
                print(f"rung: {result}", file=sys.stderr)
            else:
                display(result)
        if into:
            shell.user_ns[into] = tuple(results)

    shell.register_magic_function(rung, "cell", "rung")
