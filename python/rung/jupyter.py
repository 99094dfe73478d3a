# SPDX-License-Identifier: Apache-2.0
"""The cell magic %%rung: verifies, explains or grades the CUDA kernel in the cell.

    %load_ext rung

    %%rung --arch sm_86
    __global__ void matmul(const float *A, const float *B, float *C, int N) { ... }

The first word of the line may name one command: ``verify``, ``explain``, ``page`` or ``grade TASK``. Without a command,
the cell is verified and explained; ``--no-explain`` and ``--no-verify`` leave one of the two out. Options of the line are
those of rung.verify, rung.explain, rung.page and rung.grade. ``--into NAME`` stores the result in a variable: a pair if
the line names no command. The results of the last cell are also in ``_rung``. Lines are counted from the line with
``%%rung``, as editors of notebooks count them.
"""

from __future__ import annotations

import shlex
from typing import Any

from ._lab import CommandError, explain, grade, page, verify

# Options that only one of the two commands has.
_VERIFY_ONLY = {"sarif", "seed", "suite"}
_EXPLAIN_ONLY = {"machine", "m", "n", "k", "dtype", "compute", "metrics"}

_COMMANDS = {"verify": verify, "explain": explain, "page": page, "grade": grade}


def _parse_options(words: list) -> dict:
    """Returns the options of a line: --arch sm_86 --metrics becomes {"arch": "sm_86", "metrics": True}."""
    options: dict[str, Any] = {}
    words = list(words)
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


def parse_line(line: str) -> tuple[str, list, dict]:
    """Returns the command of a line ("" if it names none), the arguments before the source, and the options."""
    words = shlex.split(line)
    command = words.pop(0) if words and not words[0].startswith("-") else ""
    if command and command not in _COMMANDS:
        raise ValueError(f"{command!r} is not a command of cells; use {', '.join(_COMMANDS)}, or options alone")
    arguments = []
    if command == "grade":
        if not words or words[0].startswith("-"):
            raise ValueError("name a task, for example %%rung grade vector_add; rung.tasks() lists the tasks")
        arguments.append(words.pop(0))
    return command, arguments, _parse_options(words)


def _run_both(cell: str, options: dict) -> list:
    """Verifies and explains a cell. Returns the results, or the errors in their place."""
    results: list = []
    for command, is_left_out, others in (
        (verify, options.pop("no_verify", False), _EXPLAIN_ONLY),
        (explain, options.pop("no_explain", False), _VERIFY_ONLY),
    ):
        if not is_left_out:
            own = {name: value for name, value in options.items() if name not in others}
            try:
                results.append(command(cell, **own))
            except CommandError as error:
                results.append(error)
    return results


def check_cell(line: str, cell: str) -> tuple[Any, str | None]:
    """Runs the command of a cell. Returns its result, and the name of --into.

    Without a command, the result is a tuple: the results, or the errors in their place.
    """
    cell = f"\n{cell}\n"  # the empty line is that of the magic
    command, arguments, options = parse_line(line)
    into = options.pop("into", None)
    if not command:
        return tuple(_run_both(cell, options)), into
    try:
        return _COMMANDS[command](*arguments, cell, **options), into
    except CommandError as error:
        return error, into


def load_ipython_extension(shell) -> None:
    """Adds the cell magic to an IPython shell: called by ``%load_ext rung``."""

    def rung(line: str, cell: str) -> None:
        from IPython.core.error import UsageError
        from IPython.display import display

        try:
            result, into = check_cell(line, cell)
        except ValueError as error:
            raise UsageError(f"rung: {error}") from None
        results = result if isinstance(result, tuple) else (result,)
        for one in results:
            if not isinstance(one, CommandError):
                display(one)
        shell.user_ns["_rung"] = result
        if into:
            shell.user_ns[into] = result
        # A cell whose command cannot run fails, with the message and without a traceback.
        errors = [str(one) for one in results if isinstance(one, CommandError)]
        if errors:
            raise UsageError("rung: " + "\nrung: ".join(dict.fromkeys(errors)))

    shell.register_magic_function(rung, "cell", "rung")
