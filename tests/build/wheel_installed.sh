#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel_installed.sh FOLDER - installs the wheel of FOLDER in new environments and uses it there as its users do: rung with
# NumPy alone (time of the import, the tests of python/tests), and rung[jupyter] with a cell %%rung in IPython. Other packages
# come from PyPI, or from FOLDER. The output belongs to results/wheel/installed.txt.
set -eu
folder=$(realpath "$1")
wheel=$(ls "$folder"/rung-*_"$(uname -m)".whl) || { echo "$folder has no wheel of rung for this processor"; exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
unset VIRTUAL_ENV PYTHONPATH RUNG_LIBRARY_DIR
cd "$work"
# new_environment NAME PACKAGE...
new_environment() {
    python3 -m venv "$1"
    "$1/bin/pip" install --quiet --disable-pip-version-check --find-links "$folder" "${@:2}" || { echo "PyPI cannot be reached, or $folder lacks a package"; exit 77; }
    echo "== $1: pip install ${*:2}"
}
echo "$(basename "$wheel"): $(stat -c %s "$wheel") bytes"

new_environment plain rung
"$work/plain/bin/rung" --version
# CPU time, because other work on the machine does not change it.
"$work/plain/bin/python" - <<'END'
import subprocess, sys
def least(program):
    line = f"import time, numpy; t = time.process_time(); {program}; print(time.process_time() - t)"
    return min(float(subprocess.run([sys.executable, "-c", line], check=True, capture_output=True, text=True).stdout) for _ in range(7))
milliseconds = 1000 * (least("import rung") - least("pass"))
print(f"import rung takes {milliseconds:.1f} ms of CPU time after import numpy; the limit is 50 ms")
sys.exit(milliseconds > 50)
END
# The tests, far from the package of the source tree.
new_environment tested 'rung[lab]' pytest==9.2.0 hypothesis==6.170.15 ml_dtypes==0.6.0 threadpoolctl==3.8.0
cp -r "$RUNG_SOURCE/python/tests" "$RUNG_SOURCE/include" "$RUNG_SOURCE/examples" "$RUNG_SOURCE/README.md" "$RUNG_SOURCE/docs" .
mkdir python && mv tests python/tests
"$work/tested/bin/python" -c 'import rung; print(rung.__file__.split("/tested/")[1])'
HYPOTHESIS_STORAGE_DIRECTORY=$work/hypothesis "$work/tested/bin/python" -m pytest -q -p no:cacheprovider python/tests
"$work/tested/bin/python" python/tests/random_cases.py 300 | tail -n 1

new_environment notebook 'rung[jupyter]'
{
    echo '%load_ext rung'
    echo '%%rung --into found'
    cat "$RUNG_SOURCE/examples/cuda/tiled.cu"
} > cells
cat > cell.py <<'END'
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
first, cell = open("cells").read().split("\n", 1)
for text in (first, cell):
    result = shell.run_cell(text)
    assert result.success, result.error_in_exec
found = shell.user_ns["found"]
print(found[0])
print(f"{len(found[1].kernels)} kernel explained, drawn with {len(found[1].svg())} characters of SVG")
assert found[0] and "<table" in found[0]._repr_html_()
END
IPYTHONDIR=$work/ipython "$work/notebook/bin/python" -W ignore cell.py > cell.txt 2>&1 || { cat cell.txt; echo "the cell %%rung failed"; exit 1; }
tail -n 12 cell.txt
