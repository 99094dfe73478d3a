#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# numpy.sh - NumPy and SciPy as PyPI has them multiply through the drop-in, and right: RUNG_VERBOSE
# proves the first, numpy_products.py the second. What rung does not do goes to the OpenBLAS that they bring,
# which only they know of.
set -u
. "$(dirname "$0")/preload.sh"
python=$RUNG_TEST_TOOLS/python/bin/python
"$python" -c 'import numpy, scipy' 2> /dev/null || { echo "NumPy and SciPy are not in $RUNG_TEST_TOOLS"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)

# lines PATTERN: how often rung told so
lines() { grep -cE "$1" "$work/err"; }

# One multiply is one line, by the names of NumPy (64-bit integers) and of SciPy (32-bit ones).
for type in f4:f32 f8:f64; do
    preload "$ours" env RUNG_VERBOSE=1 "$python" -c "
import numpy as np
a, b = np.ones((3, 4), '${type%:*}'), np.ones((4, 5), '${type%:*}')
assert (a @ b == 4).all()" 2> "$work/err" || { cat "$work/err"; wrong "NumPy, ${type%:*}"; }
    [ "$(lines "^rung: cpu .* 3x5x4 ${type#*:} ")" -eq 1 ] && [ "$(wc -l < "$work/err")" -eq 1 ] ||
        { cat "$work/err"; wrong "NumPy did not multiply ${type%:*} through rung"; }
done
preload "$ours" env RUNG_VERBOSE=1 "$python" -c "
import numpy as np
from scipy.linalg import blas
a, b = np.ones((3, 4)), np.ones((4, 5))
assert (blas.dgemm(1.0, a, b) == 4).all() and (blas.sgemm(1.0, a, b) == 4).all()" 2> "$work/err" ||
    { cat "$work/err"; wrong "SciPy"; }
[ "$(lines '^rung: cpu .* 5x3x4 f(32|64) ')" -eq 2 ] ||
    { cat "$work/err"; wrong "SciPy did not multiply through rung"; }

# All kinds of operands, threads and a fork: right, and thousands of them rung's.
preload "$ours" env RUNG_VERBOSE=1 "$python" "$here/numpy_products.py" > "$work/out" 2> "$work/err" ||
    { cat "$work/out"; grep -v '^rung: ' "$work/err"; wrong "a product is wrong"; }
cat "$work/out"
[ "$(lines '^rung: cpu .* f32 ')" -ge 1000 ] && [ "$(lines '^rung: cpu .* f64 ')" -ge 1000 ] ||
    wrong "rung told of $(lines '^rung: cpu ') multiplies"
echo "rung told of $(lines '^rung: cpu .* f32 ') multiplies in f32, $(lines '^rung: cpu .* f64 ') in f64"

# Off, and where rung cannot: OpenBLAS does it.
preload "$ours" env RUNG_VERBOSE=1 RUNG_BLAS=off "$python" "$here/numpy_products.py" > /dev/null 2> "$work/err" ||
    wrong "a product is wrong with RUNG_BLAS=off"
[ "$(lines '^rung: ')" -eq 0 ] || { head -n 3 "$work/err"; wrong "RUNG_BLAS=off is not off"; }
preload "$ours" env RUNG_VERBOSE=1 RUNG_DEVICE=cpu:9 "$python" "$here/numpy_products.py" > /dev/null 2> "$work/err" ||
    wrong "a product is wrong without a device"
[ "$(lines 'was forwarded to .*openblas')" -ge 1000 ] && [ "$(lines 'a plain loop')" -eq 0 ] ||
    { head -n 3 "$work/err"; wrong "OpenBLAS was not found behind a plugin"; }
