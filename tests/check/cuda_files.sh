#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cuda_files.sh - rung check on a CUDA file: arguments of every kind, findings, --expect, several launches, and descriptions
# that are invalid. Needs NVRTC and NumPy.
set -u
. "$(dirname "$0")/common.sh"
python=$RUNG_TEST_TOOLS/python/bin/python
"$python" -c 'import numpy' 2> /dev/null || { echo "NumPy is missing; see tools/install-test-tools" >&2; exit 77; }
ls "$RUNG_TEST_TOOLS"/python/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1? > /dev/null 2>&1 || exit 77
cp "$here/kernels.cu" .
line() { grep -n -- "$1" kernels.cu | head -n 1 | cut -d: -f1; }

"$python" - << 'EOF'
import numpy as np
x = np.linspace(-1, 1, 1000).astype(np.float32).reshape(10, 100)
np.save("x.npy", x)
y = 2.5 * x.astype(np.float64)
np.save("y.npy", y)
y[3, 7] += 0.01
np.save("other.npy", y)
np.save("sums.npy", np.pad(np.arange(1000, dtype=np.float64), (0, 24)).reshape(8, 128).sum(axis=1))
np.save("integers.npy", np.pad(np.arange(1000), (0, 24)).reshape(8, 128).sum(axis=1).astype(np.int64))
np.save("fields.npy", np.full(8, 2 + 0.5 + 3))
np.save("threes.npy", np.full(32, 3.0))
np.save("doubled.npy", 2.0 * np.arange(32))
np.save("column.npy", np.asfortranarray(np.ones((5, 200), np.float32)))
EOF

saxpy='kernel=saxpy grid=(n + 255) / 256 block=256 n=1000 a=2.5 y=f32[n]:zero'
run 0 kernels.cu --launch "$saxpy x=f32[n]:x.npy" --expect y=y.npy
prints "space::saxpy, kernels.cu:$(line 'saxpy(int n')"
prints '4 x 1 x 1 blocks of 256 x 1 x 1 threads'
prints 'y equals y.npy; the largest difference is [0-9.e-]+'
prints 'findings none'
run 1 kernels.cu --launch "$saxpy x=f32[n]:x.npy" --expect y=other.npy
prints 'y differs from other.npy in 1 of 1000 elements: y\[307\] is'
run 0 kernels.cu --launch "$saxpy x=f32[n]:x.npy" --expect y=other.npy --tolerance 0.02
run 1 kernels.cu --launch "$saxpy x=f32[n]:x.npy" --expect y=y.npy --tolerance 0
run 1 kernels.cu --json --launch "$saxpy x=f32[n]:x.npy" --expect y=other.npy
"$python" - << 'EOF' || failures=$((failures + 1))
import json
result = json.load(open("out"))
assert result["cases"] == 1 and result["wrong"] == 1 and result["findings"] == [], result
assert result["expected"][0]["array"] == "y" and result["expected"][0]["first"] == 307, result
EOF

# Findings name the lines of the file, as text and as JSON.
run 1 kernels.cu --launch "${saxpy/kernel=saxpy/kernel=saxpy_out_of_bounds} x=f32[n]" --json
"$python" - "$(line '    y\[i\] = a \* x\[i\] + y\[i\];$')" << 'EOF' || failures=$((failures + 1))
import json, sys
found = json.load(open("out"))["findings"]
assert found and found[0]["kind"] == "out-of-bounds" and found[0]["line"] > 0 and found[0]["fix"], found
assert {"kind", "file", "line", "other_line", "text", "fix"} <= found[0].keys(), found
assert found[0]["file"].endswith("kernels.cu") and '"y"' in found[0]["text"] or '"x"' in found[0]["text"], found
EOF
reduce='kernel=reduce grid=(n + BLOCK - 1) / BLOCK block=BLOCK n=1000'
run 0 kernels.cu --launch "$reduce template=1 in=f32[n]:iota out=f32[8]:none" --expect out=sums.npy
run 0 kernels.cu --launch "$reduce template=1, int in=i32[n]:iota out=i32[8]:none" --expect out=integers.npy
run 0 kernels.cu --launch "$reduce template=1,long long in=i64[n]:iota out=i64[8]:none" --expect out=integers.npy
run 1 kernels.cu --launch "$reduce template=0 in=f32[n]:iota out=f32[8]:none"
prints "kernels.cu:[0-9]+: race"
prints 'part\[t\] \+= part\[t \+ s\];'
prints 'Put __syncthreads\(\) between'
run 1 kernels.cu --launch 'kernel=uninitialised grid=1 block=32 shared=32*sizeof(float) out=f32[32]'
prints "kernels.cu:$(line 'out\[threadIdx.x\] = tile'): uninitialized"
run 1 kernels.cu --launch 'kernel=uninitialised grid=1 block=32 shared=16 out=f32[32]'
prints 'out-of-bounds'
run 1 kernels.cu --launch 'kernel=endless grid=1 block=32 flag=i32[1]:zero' --time-limit 0.5
prints 'infinite-loop'
run 0 kernels.cu --launch 'kernel=endless grid=1 block=32 flag=i32[1]:ones'

# Structs, vectors, half, bool, parameters without a name, null pointers.
fields='kernel=fields grid=1 block=32 m.width=8 v=make_float4(1,2,3,4) h=0.5 flag=true large=1LL+2'
run 0 kernels.cu --launch "$fields m.elements=f32[m.width]:none p4=0" --expect m.elements=fields.npy
run 1 kernels.cu --launch "$fields m.elements=f32[4] p4=i32[3]"
prints 'out-of-bounds'

# Variables in constant memory.
filtered='kernel=filtered grid=1 block=32 in=f32[34]:ones out=f32[32]:none filter=f32[3]:iota'
run 0 kernels.cu --launch "$filtered factor=i32[1]:ones" --expect out=threes.npy
prints 'filter = f32\[3\] \(iota\), factor = i32\[1\] \(ones\)'

# Launches run in order, on the same arrays.
both='kernel=produce grid=1 block=32 made=f32[32]:none; kernel=consume grid=1 block=32 taken=made result=f32[32]:none'
run 0 kernels.cu --launch "$both" --expect result=doubled.npy
prints 'taken = made'
{ cat kernels.cu; echo "// rung: ${both%;*}"; echo "  // rung:${both#*;}"; } > lines.cu
run 0 lines.cu --expect result=doubled.npy --counts
prints 'from the comment in line'
prints 'global store made 1 4 4'

# Output of printf() does not mix with JSON.
run 0 kernels.cu --launch 'kernel=print_it grid=1 block=2'
prints 'printed by thread 0 printed by thread 1'

# NVRTC replaces a write to constant memory by a trap without a line. The line is that of the write, also in a function.
run 1 "$here/bugs/limits_constant_table.cu"
prints 'limits_constant_table.cu:8: read-only'
run 1 "$here/bugs/limits_constant_counter.cu"
prints 'limits_constant_counter.cu:7: read-only'
lacks 'counter.cu:[0-9]+: trap'
"$RUNG" check kernels.cu --json --launch 'kernel=print_it grid=1 block=2' 2> /dev/null | "$python" -m json.tool > /dev/null ||
    { echo "the JSON is not valid"; failures=$((failures + 1)); }

# Invalid descriptions.
wrong() {
    run 2 kernels.cu --launch "$1"
    prints "$2"
}
wrong 'grid=1 block=1' 'the file has [0-9]+ kernels; add kernel=NAME with one of: space::saxpy, saxpy_out_of_bounds, reduce'
wrong 'kernel=gemm grid=1 block=1' 'no kernel named gemm; its kernels are: space::saxpy'
wrong 'kernel=reduce grid=1 block=1 in=f32[1] out=f32[1] n=1' 'reduce is a template; add template=ARGUMENTS, .* for: SYNCED, T'
wrong "$saxpy" 'the parameter const float \*__restrict__ x of space::saxpy has no value; add x=TYPE\[COUNT\]'
wrong "${saxpy/n=1000/} x=f32[4]" 'the parameter int n of space::saxpy has no value; add n=VALUE'
wrong "$saxpy x=f32[n] z=1" 'space::saxpy has no parameter z; its parameters are: int n, float a, const float'
wrong "$filtered factor=i32[2]" 'factor=i32\[2\] has 8 bytes, but the variable has 4'
wrong "$filtered missing=i32[2]" 'filtered has no parameter missing, and the file has no variable of this name'
wrong "$saxpy x=7" 'x=7 is not valid for the pointer .* write x=TYPE\[COUNT\], the name of another array, or 0'
wrong "$saxpy x=f64[n]" 'x=f64\[n\] does not fit the parameter const float \*__restrict__ x, whose elements have 4 bytes; use f32'
wrong "$saxpy x=i32[n]" 'x=i32\[n\] does not fit .* use f32'
wrong "${saxpy/n=1000/n=f32[4]} x=f32[4]" 'n=f32\[4\] is an array, but the parameter is no pointer'
wrong "$saxpy x=f32[m]" 'the compiler rejects the description of the launch: .*identifier "m" is undefined'
wrong "$saxpy x=f32[n-1000]" 'x=f32\[n-1000\] has 0 elements'
wrong "$saxpy x=f32[100000000000LL]" 'x=f32\[100000000000\] takes 372.5 GiB; all arrays together may take'
wrong "$saxpy x=f32[n]:column.npy" 'column.npy is in Fortran order'
wrong "$saxpy x=f32[n]:y.npy" 'x is f32\[1000\], but y.npy has elements of type f64'
wrong "${saxpy/n=1000/n=999} x=f32[n]:x.npy" 'x has 999 elements, but x.npy has 1000'
run 1 kernels.cu --launch "${saxpy/block=256/block=2048} x=f32[n]"
prints '[Tt]he block has 2048 threads in x; 1 to 1024 are valid'
sed 's/a \* x\[i\]/b * x[i]/' kernels.cu > broken.cu
run 2 broken.cu --launch "$saxpy x=f32[n]"
prints 'broken.cu did not compile .*identifier "b" is undefined'
run 2 kernels.cu
prints "say how to launch the kernel: --launch 'kernel=space::saxpy grid=4 block=256 n=1024 a=1024 x=f32\[1024\] y=f32\[1024\]'"
exit $((failures > 0))
