#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# NumPy's own files, in every type and both orders, and NumPy's own reading of ours.
. "$(dirname "$0")/common.sh"
python=$RUNG_TEST_TOOLS/python/bin/python3
"$python" -c 'import numpy' 2> /dev/null || { echo "NumPy is not here; see tools/install-test-tools"; exit 77; }
cat > save.py <<'PYTHON'
import sys
import numpy as np
kind, order_a, order_b = sys.argv[1:4]
random = np.random.default_rng(1)
a = random.integers(-3, 4, (70, 55)).astype(kind)
b = random.integers(-3, 4, (55, 90)).astype(kind)
np.save("a.npy", np.asarray(a, order=order_a))
np.save("b.npy", np.asarray(b, order=order_b))
PYTHON
cat > compare.py <<'PYTHON'
import sys
import numpy as np
a, b, c = (np.load(name + ".npy") for name in "abc")
assert c.flags["C_CONTIGUOUS"] and c.shape == (70, 90), (c.shape, c.flags)
assert c.dtype == np.dtype(sys.argv[1]), c.dtype
assert (c.astype(float) == a.astype(float) @ b.astype(float)).all()
PYTHON
for kind in '<f4 <f4' '<f8 <f8' '<f2 <f2' '|i1 <i4' '<i4 <i4'; do
    for orders in 'C C' 'C F' 'F C' 'F F'; do
        "$python" save.py ${kind% *} $orders || fail "NumPy does not save"
        "$RUNG" multiply a.npy b.npy -o c.npy --memory 6K --quiet > out.txt 2>&1 || { cat out.txt; fail "$kind, $orders"; }
        "$python" compare.py ${kind#* } || fail "$kind, $orders: wrong"
    done
done
"$python" save.py '<f2' C C
"$RUNG" multiply a.npy b.npy -o c.npy --memory 6K --quiet --dtype f16:f32 > out.txt || fail "f16:f32"
"$python" compare.py '<f4' || fail "f16:f32: wrong"

# Upper halves of F32 as two bytes without a name, which is how BF16 is saved.
"$python" -c '
import numpy as np
for name, value, shape in (("a", 2, (4, 3)), ("b", 3, (3, 5))):
    halves = (np.full(shape, value, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    np.save(name + ".npy", halves.view("V2"))'
"$RUNG" multiply a.npy b.npy -o c.npy --quiet > out.txt 2>&1 && fail "two bytes without a name were taken for something"
grep -q 'bf16, set the type' out.txt || { cat out.txt; fail "no word of bf16"; }
"$RUNG" multiply a.npy b.npy -o c.npy --quiet --dtype bf16 > out.txt || fail "bf16"
"$python" -c '
import numpy as np
c = np.load("c.npy").view(np.uint16).astype(np.uint32) << 16
assert (c.view(np.float32) == 18).all() and c.shape == (4, 5)' || fail "bf16: wrong"
exit 0
