#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The source distribution for PyPI has what a build needs: pip builds a wheel from it without a network, and the installed
# command multiplies. The build tool comes from PyPI first.
set -eu
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work"
git clone -q "$RUNG_SOURCE" source
python3 -m venv tools
tools/bin/pip install --quiet --disable-pip-version-check scikit-build-core==1.1.1 numpy || { echo "PyPI cannot be reached"; exit 77; }
(cd source && ../tools/bin/python -c 'from scikit_build_core.build import build_sdist; build_sdist("../dist")') > log 2>&1 || { tail -n 20 log; echo "the source distribution was not built"; exit 1; }
tarball=$(echo dist/rung-*.tar.gz)
echo "$(basename "$tarball"): $(stat -c %s "$tarball") bytes, $(tar -t -f "$tarball" | wc -l) files"
alone=
if [ "$(id -u)" -eq 0 ] && unshare -n true 2> /dev/null; then alone="unshare -n"; fi
$alone tools/bin/pip install --quiet --disable-pip-version-check --no-index --no-build-isolation "$tarball" > log 2>&1 ||
    { tail -n 20 log; echo "pip cannot install the source distribution"; exit 1; }
unset VIRTUAL_ENV PYTHONPATH RUNG_LIBRARY_DIR
tools/bin/rung --version
tools/bin/rung verify --device cpu --kernels 10 --m 33
tools/bin/python -c 'import numpy, rung; a = numpy.ones((3, 3), numpy.float32); print(rung.matmul(a, a)[0, 0])'
