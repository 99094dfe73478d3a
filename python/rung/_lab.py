# SPDX-License-Identifier: Apache-2.0
"""rung.devices, kernels, bench, verify, explain, page, tasks and grade: they run the command `rung`, most with --json."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from typing import Any, Iterator

from . import _library
from ._results import Explanation, Grade, Page, Records, Verification

# Options that are given once per value, instead of as a list.
_REPEATED = ("define_macro", "include_path")


class CommandError(_library.Error):
    """The command `rung` failed. ``exit_code`` is its exit code."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message, 0)
        self.exit_code = exit_code

    def __reduce__(self):
        return (type(self), (str(self), self.exit_code))


def environment() -> dict[str, str]:
    """Returns the environment of the command: it searches NVIDIA's compilers in this Python's virtual environment."""
    variables = dict(os.environ)
    if sys.prefix != sys.base_prefix:
        variables.setdefault("VIRTUAL_ENV", sys.prefix)
    return variables


def arguments_of(options: dict) -> list[str]:
    """Returns keyword arguments as options of the command: time_limit=5 becomes --time-limit 5."""
    arguments: list[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            arguments.append(option)
        elif isinstance(value, (list, tuple)) and name in _REPEATED:
            for one in value:
                arguments += [option, str(one)]
        elif isinstance(value, (list, tuple)):
            arguments += [option, ",".join(map(str, value))]
        else:
            arguments += [option, str(value)]
    return arguments


def run(command: str, *arguments: str) -> dict:
    """Runs a command and returns its JSON object. Raises CommandError if the command printed none, or did nothing."""
    line = [_library.command_path(), command, *arguments, "--json"]
    done = subprocess.run(line, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    try:
        data = json.loads(done.stdout)
    except ValueError:
        data = None
    # A file that does not compile has no kernels; the reason is on standard error.
    if data is None or done.returncode != 0 and data.get("kernels") == []:
        text = done.stderr.strip() or done.stdout.strip() or f"rung {command} printed nothing"
        raise CommandError(text.removeprefix("rung: "), done.returncode)
    return data


def devices() -> Records:
    """Returns the devices of this machine, one record per device. ``missing`` says why a device cannot be used.

    >>> import rung
    >>> rung.devices()[0]["name"]
    'cpu'
    """
    return Records(run("devices")["devices"], ["name", "title", "driver", "compute_units", "missing"])


def kernels(device: str | None = None) -> Records:
    """Returns the kernels of the ladder, one record per kernel.

    >>> import rung
    >>> [kernel["kernel"] for kernel in rung.kernels("cpu")][-1]
    '15_quantized'
    """
    data = run("kernels", *arguments_of({"device": device}))
    return Records(data["kernels"], ["backend", "kernel", "dtypes", "compute", "summary"])


def bench(kernels: Any = None, sizes: Any = None, **options: Any) -> Records:
    """Times kernels and returns one record per kernel and size, with the median in nanoseconds and the GFLOPS.

    Keyword arguments are the options of ``rung bench``, with underscores for dashes: ``device``, ``dtype``,
    ``threads``, ``budget``, ``peers`` and so on. The attribute ``warnings`` of the result says what
    disturbed the measurement, ``machine`` describes the machine.

    >>> import rung
    >>> rung.bench("10_pipeline", 48, device="cpu", budget=0.05)[0]["kernel"]
    '10_pipeline'
    """
    data = run("bench", *arguments_of({"kernels": kernels, "sizes": sizes, "quiet": True, **options}))
    shown = ["device", "kernel", "dtype", "m", "n", "k", "median_ns", "gflops", "percent_of_vendor"]
    return Records(
        data["results"], shown, machine=data.get("machine", {}), warnings=data.get("conditions", {}).get("warnings", [])
    )


def _is_source(text: str) -> bool:
    return "\n" in text or "__global__" in text


@contextlib.contextmanager
def _source_file(source: str, name: str = "kernel.cu") -> Iterator[str]:
    """Provides a file with the source text of a kernel."""
    with tempfile.TemporaryDirectory(prefix="rung-") as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        yield path


def _without_folder(value: Any, folder: str) -> Any:
    """Removes the temporary folder from the texts of a result."""
    if isinstance(value, str):
        return value.replace(folder + os.sep, "")
    if isinstance(value, list):
        return [_without_folder(x, folder) for x in value]
    if isinstance(value, dict):
        return {name: _without_folder(x, folder) for name, x in value.items()}
    return value


def _run_on_text(source: str, command: str, *arguments: str) -> dict:
    """Runs a command on a temporary file with the source text, which is the last argument."""
    with _source_file(source) as path:
        try:
            return _without_folder(run(command, *arguments, path), os.path.dirname(path))
        except CommandError as error:
            text = _without_folder(str(error), os.path.dirname(path))
            raise CommandError(text, error.exit_code) from None


def _run_on_source(command: str, source: Any, options: dict) -> dict:
    """Runs a command on source text, a file or a kernel of the ladder."""
    arguments = ["--quiet", *arguments_of(options)]
    if isinstance(source, str) and _is_source(source):
        return _run_on_text(source, command, *arguments)
    if isinstance(source, os.PathLike):
        return run(command, os.fspath(source), *arguments)
    if not isinstance(source, str):
        raise TypeError(f"source is {type(source).__name__}; pass source text, a path or the name of a kernel")
    if command == "verify" and not os.path.exists(source):
        return run(command, "--kernels", source, *arguments)
    return run(command, source, *arguments)


def verify(source: Any, **options: Any) -> Verification:
    """Checks that a kernel computes correct results and has no races or wrong accesses. No GPU is needed.

    ``source`` is the text of a CUDA file, a path, or the name or number of a kernel of the ladder.
    Keyword arguments are the options of ``rung verify``, with underscores for dashes: ``kernel``,
    ``arch``, ``grid``, ``block``, ``args``, ``time_limit`` and so on. The result is true if every case was right
    and nothing was found. CUDA files need NVIDIA's compiler: ``pip install "rung[lab]"``.

    >>> import rung
    >>> bool(rung.verify("10_pipeline", device="cpu", suite="quick", every=50))
    True
    """
    return Verification(_run_on_source("verify", source, options), source)


def explain(source: Any, **options: Any) -> Explanation:
    """Explains the speed of a kernel on a GPU without that GPU: memory accesses, occupancy, bottleneck.

    ``source`` is the text of a CUDA file, a path, or the name or number of a kernel of the ladder.
    Keyword arguments are the options of ``rung explain``, with underscores for dashes: ``arch``,
    ``machine``, ``m``, ``n``, ``k``, ``dtype`` and so on. CUDA files need NVIDIA's compiler, and the prediction of
    the speed NVIDIA's disassembler: ``pip install "rung[lab]"``.
    """
    return Explanation(_run_on_source("explain", source, options), source)


def page(source: Any, **options: Any) -> Page:
    """Makes the page of ``rung explain --html``: the source with its memory requests, banks and races.

    Arguments are those of rung.explain(). The attribute ``html`` of the result is the page as text, which
    ``save(path)`` writes to a file. Jupyter shows the page in a frame.
    """
    with tempfile.TemporaryDirectory(prefix="rung-") as folder:
        path = os.path.join(folder, "page.html")
        data = _run_on_source("explain", source, {**options, "html": path})
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return Page(data, file.read(), source)
        except FileNotFoundError:
            errors = [kernel.get("error") for kernel in data.get("kernels", [])]
            raise CommandError("; ".join(filter(None, errors)) or "rung explain wrote no page", 1) from None


def tasks(folder: Any = None) -> Records:
    """Returns the tasks of rung.grade(), or those in a folder of yours: one record per task.

    >>> import rung
    >>> rung.tasks()[0]["name"]
    'vector_add'
    """
    arguments = [] if folder is None else [os.fspath(folder)]
    return Records(run("tasks", *arguments)["tasks"], ["name", "max_points", "title"])


def skeleton(task: Any) -> str:
    """Returns the text of the file from which a submission for a task starts."""
    line = [_library.command_path(), "tasks", os.fspath(task), "--source"]
    done = subprocess.run(line, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise CommandError(done.stderr.strip().removeprefix("rung: "), done.returncode)
    return done.stdout


def grade(task: Any, source: Any, **options: Any) -> Grade:
    """Grades a kernel: right results, wrong accesses, races, memory traffic and so on, as the task says.

    ``task`` is the name of a task or the path of a folder with a file ``task.toml``. ``source`` is the text of a CUDA
    file or a path. Keyword arguments are the options of ``rung grade``, with underscores for dashes: ``seed``,
    ``time_limit``, ``junit`` and so on. The result has ``points``, ``max_points``, ``parts`` and ``findings``; it is
    true if the kernel gets all points. A submission that does not compile gets 0 points and raises nothing.
    Grading needs NVIDIA's compiler: ``pip install "rung[lab]"``.

    >>> import rung
    >>> result = rung.grade("vector_add", rung.skeleton("vector_add"))
    >>> result.points < result.max_points
    True
    """
    if not isinstance(task, (str, os.PathLike)) or not isinstance(source, (str, os.PathLike)):
        raise TypeError("pass the name or the folder of a task, then the source text or the path of a file")
    arguments = [*arguments_of(options), os.fspath(task)]
    if isinstance(source, str) and _is_source(source):
        return Grade(_run_on_text(source, "grade", *arguments), source)
    return Grade(run("grade", *arguments, os.fspath(source)), source)
