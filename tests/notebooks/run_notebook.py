# SPDX-License-Identifier: Apache-2.0
"""run_notebook.py NOTEBOOK... [--update] [--output FOLDER] - runs notebooks from a clean kernel and checks what their text states.

A number of the text that a cell computes is bold, and a comment behind it is the Python expression of its value at this
place of the notebook:

    The kernel gets **80**<!-- result.points --> points.

A cell that raises is a fault, and a number that differs, and a bold number without an expression. --update writes the
right numbers into the notebook. --output writes the notebooks with their outputs.
"""

import pathlib
import re
import sys

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

STATED = re.compile(r"\*\*([^*\n]*\d[^*\n]*)\*\*(?:<!-- (.*?) -->)?", re.S)
MARK = "number of the text: "


def expressions(cell):
    """Returns pairs of a stated number and its expression ("" if it has none)."""
    return STATED.findall(cell.source) if cell.cell_type == "markdown" else []


def with_prints(notebook):
    """Returns a copy in which a cell that prints its numbers follows each text that states some, and the texts."""
    copy, texts = nbformat.v4.new_notebook(metadata=notebook.metadata), []
    for cell in notebook.cells:
        copy.cells.append(cell)
        found = [expression for _, expression in expressions(cell)]
        if any(found):
            lines = [f"print({MARK!r} + str({expression or 0}))" for expression in found]
            copy.cells.append(nbformat.v4.new_code_cell("\n".join(lines)))
            texts.append((cell, copy.cells[-1]))
    return copy, texts


def printed(cell):
    text = "".join(output.get("text", "") for output in cell.outputs)
    return [line.removeprefix(MARK) for line in text.splitlines() if line.startswith(MARK)]


def check(path, update, folder):
    notebook = nbformat.read(path, as_version=4)
    copy, texts = with_prints(notebook)
    faults, stated = [], 0
    for cell in notebook.cells:
        faults += [f"**{text}** has no expression" for text, expression in expressions(cell) if not expression]
    try:
        NotebookClient(copy, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()
    except CellExecutionError as error:
        return [*faults, f"a cell raises:\n{error}"]
    for cell, prints in texts:
        values = iter(printed(prints))
        for (text, expression), value in zip(expressions(cell), values):
            stated += 1
            if expression and text != value and not update:
                faults.append(f"the text states **{text}**, but {expression} is {value}")
        if update:
            values = iter(printed(prints))
            cell.source = STATED.sub(lambda match: f"**{next(values)}**<!-- {match[2]} -->", cell.source)
    if update:
        nbformat.write(notebook, path)
    if folder:
        copy.cells = [cell for cell in copy.cells if cell.cell_type != "code" or MARK not in cell.source]
        nbformat.write(copy, pathlib.Path(folder) / path.name)
    print(f"{path.name}: {sum(cell.cell_type == 'code' for cell in notebook.cells)} cells, {stated} numbers")
    if stated < 3:
        faults.append("the text states fewer than three numbers")
    return faults


def main():
    arguments = sys.argv[1:]
    update = "--update" in arguments
    folder = arguments[arguments.index("--output") + 1] if "--output" in arguments else None
    paths = [pathlib.Path(name) for name in arguments if name.endswith(".ipynb")]
    bad = 0
    for path in paths:
        for fault in check(path, update, folder):
            print(f"{path.name}: {fault}")
            bad = 1
    return bad if paths else "no notebook is named"


sys.exit(main())
