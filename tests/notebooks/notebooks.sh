#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# notebooks.sh - the notebooks of docs/notebooks run from a clean kernel without a network, no cell raises, and the numbers in their
# texts are those that the cells compute. They are committed without outputs. Planted: a wrong number, a number without an
# expression, a cell that raises, and an output.
set -u
cd "$RUNG_SOURCE" || exit 1
. tests/notebooks/common.sh
bad=0
tools/strip-notebooks --check || bad=1
"$python" -W ignore tests/notebooks/run_notebook.py docs/notebooks/*.ipynb --output "$work" 2> "$work/errors" ||
    { cat "$work/errors"; bad=1; }
# Somebody who reads the notebook sees a table per grade and a frame with the page.
for text in '80 of 100 points' '<iframe title=\"rung explain: matmul\"' 'sandbox=\"allow-scripts\"'; do
    grep -qF -- "$text" "$work/first-kernel.ipynb" || { echo "the outputs of first-kernel.ipynb lack: $text"; bad=1; }
done

# ---- Planted ----
"$python" - "$work" <<'END'
import sys, nbformat.v4 as v4, nbformat
code, text = v4.new_code_cell, v4.new_markdown_cell
right = [code("x = 4"), text("**4**<!-- x -->, **8**<!-- 2 * x --> and **16**<!-- 4 * x -->")]
wrong = [code("x = 4"), text("**4**<!-- x -->, **9**<!-- 2 * x --> and **16**, **17**<!-- 4 * x -->")]
for name, cells in {"right": right, "wrong": wrong, "raises": [*right, code("1 / 0")]}.items():
    nbformat.write(v4.new_notebook(cells=cells), f"{sys.argv[1]}/{name}.ipynb")
END
# faults NAME TEXT...: the notebook fails with exactly these lines.
faults() {
    local name=$1
    shift
    "$python" -W ignore tests/notebooks/run_notebook.py "$work/$name.ipynb" > "$work/out" 2> "$work/errors" &&
        { echo "planted: $name.ipynb passes"; bad=1; }
    for text; do grep -qF -- "$text" "$work/out" || { echo "planted: not reported: $text"; cat "$work/out" "$work/errors"; bad=1; }; done
}
"$python" -W ignore tests/notebooks/run_notebook.py "$work/right.ipynb" > "$work/out" 2>&1 ||
    { echo "a right notebook fails:"; cat "$work/out"; bad=1; }
faults wrong 'the text states **9**, but 2 * x is 8' '**16** has no expression' 'the text states **17**, but 4 * x is 16'
faults raises 'a cell raises' 'ZeroDivisionError'
tools/strip-notebooks --check "$work/first-kernel.ipynb" > /dev/null && { echo "planted: outputs pass"; bad=1; }
exit $bad
