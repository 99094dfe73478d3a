#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torch.sh [FILE] - runs the examples of examples/python with PyTorch and IPython from PyPI. Installs them in python-torch/ of
# the build folder: 3 GB to download, 5.4 GB on disk, because PyPI has no smaller build of PyTorch for x86-64. No GPU is used.
# The output is written to FILE, to be committed as results/python/torch.txt.
set -eu
packages="torch==2.15.0 numpy==2.4.6 ipython==9.18.1"
folder=$RUNG_BUILD/python-torch
if [ "$(cat "$folder/installed" 2> /dev/null)" != "$packages" ]; then
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir $packages || {
        echo "PyPI cannot be reached, or does not have $packages"
        exit 77
    }
    echo "$packages" > "$folder/installed"
fi
export RUNG_LIBRARY_DIR=$RUNG_BUILD PYTHONPATH=$RUNG_SOURCE/python PYTHONDONTWRITEBYTECODE=1
export CUDA_VISIBLE_DEVICES= VIRTUAL_ENV=$RUNG_TEST_TOOLS/python IPYTHONDIR=$folder/ipython
file=${1:-$folder/torch.txt}
{
    echo "# $packages (tests/python/torch.sh)"
    "$folder/bin/python" "$RUNG_SOURCE/examples/python/torch_operator.py"
    "$folder/bin/python" -W ignore -m IPython "$RUNG_SOURCE/examples/python/check_kernels.py"
} > "$file"
cat "$file"
[ "$(grep -c 'agrees with PyTorch' "$file")" -eq 2 ] && grep -q 'shares the memory' "$file"
