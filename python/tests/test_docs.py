# SPDX-License-Identifier: Apache-2.0
"""The examples in docstrings and in the guide print what they say, and the import is quick."""

import doctest
import importlib
import os
import pathlib
import re
import subprocess
import sys

import pytest

import rung

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(rung.__file__).parents[1]
PAGES = {"docs/guides/python.md": 8, "README.md": 1, "docs/start/first-multiply.md": 1}


@pytest.mark.parametrize("name", ["_lab", "_matmul", "_packed", "_plan", "_quantized", "_threads"])
def test_docstrings(name):
    result = doctest.testmod(importlib.import_module("rung." + name))
    assert result.attempted > 0 and result.failed == 0


def blocks(page):
    """Returns the Python blocks of a page, without those that begin with a magic or need another package."""
    found = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    return [text for text in found if not text.startswith(("%", "import torch"))]


@pytest.mark.skipif(not (ROOT / "README.md").is_file(), reason="the pages are in the source tree only")
@pytest.mark.parametrize("page", PAGES)
def test_pages(page, monkeypatch, tmp_path):
    found = blocks(ROOT / page)
    assert len(found) >= PAGES[page]
    monkeypatch.chdir(ROOT)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    names = {"folder": str(tmp_path)}
    parser = doctest.DocTestParser()
    for number, text in enumerate(found):
        test = parser.get_doctest(text, names, f"block {number + 1} of {page}", page, 0)
        assert test.examples, text
        runner.run(test, clear_globs=False)
        names.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0


def milliseconds(program):
    """Returns the least CPU time of several runs of a program."""
    times = []
    path = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    for _ in range(5):
        timed = f"import time, numpy; t = time.process_time(); {program}; print(time.process_time() - t)"
        done = subprocess.run(
            [sys.executable, "-c", timed], check=True, capture_output=True, text=True, env=environment
        )
        times.append(float(done.stdout) * 1000)
    return min(times)


def test_import_loads_little():
    """Not a test of speed: modules that take long must not be imported."""
    line = "import numpy, sys; before = set(sys.modules); import rung; print(*sorted(set(sys.modules) - before))"
    path = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", line], check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    loaded = [name for name in done.stdout.split() if not name.startswith("rung")]
    assert set(loaded) <= {"__future__", "threading"}, loaded


if __name__ == "__main__":
    print(f"import rung takes {milliseconds('import rung'):.1f} ms of CPU time after import numpy")
