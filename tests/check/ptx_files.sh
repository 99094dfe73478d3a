#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ptx_files.sh - rung check on PTX files: launches, findings at lines of the PTX text, and descriptions that are invalid.
set -u
. "$(dirname "$0")/common.sh"
cp "$here/add.ptx" .

# The comment line of the file describes the launch.
run 0 add.ptx
prints '2 x 1 x 1 blocks of 64 x 1 x 1 threads \(from the comment in line 1\)'
prints 'p0 = f32\[100\] \(ones\), p1 = f32\[100\] \(iota\), p2 = f32\[100\] \(uninitialised\)'
prints 'findings none'

# A part of the name selects the kernel. Out-of-bounds: the finding names the line of the PTX text and prints it.
arguments='kernel=add grid=2 block=64 p0=f32[100] p1=f32[100] p3=128 p4=1'
run 1 add.ptx --launch "$arguments p2=f32[64]"
prints 'add.ptx:[0-9]+: out-of-bounds'
prints 'st.global.f32 \[%rd7\], %f3;'
run 1 add.ptx --launch "$arguments p2=f32[128]"
prints 'byte offset 400 of "p0", which has 400 bytes'
# Uninitialised.
run 1 add.ptx --launch 'grid=1 block=64 p0=f32[64]:none p1=f32[64] p2=f32[64] p3=64 p4=1'
prints 'add.ptx:[0-9]+: uninitialized'
# Without the guard there is no access: p3=0.
run 0 add.ptx --launch 'grid=1 block=64 p0=f32[64]:none p1=f32[64] p2=f32[64] p3=0 p4=1' --repeat 3
prints 'ran 3 launches'
# Null pointers.
run 1 add.ptx --launch 'grid=1 block=64 p0=0 p1=f32[64] p2=f32[64] p3=64 p4=1'
prints 'out-of-bounds'

# An endless loop ends with the instruction budget.
sed 's/^DONE:/LOOP:\n\tbra LOOP;\nDONE:/' add.ptx > loop.ptx
run 1 loop.ptx --time-limit 0.1
prints 'infinite-loop'
prints 'stopped'

# Several launches share arrays by name; contents in a later launch write the array again.
both='grid=1 block=64 p0=f32[64]:ones p1=f32[64]:ones p2=f32[64]:none p3=64 p4=2'
run 0 add.ptx --launch "$both; grid=1 block=64 p0=p2 p1=f32[64] p2=f32[64] p3=64 p4=1"
prints 'p0 = p2, p1 = f32\[64\] \(as before\)'
run 1 add.ptx --launch "grid=1 block=64 p0=f32[64] p1=f32[64] p2=f32[64]:none p3=0 p4=2; grid=1 block=64 p0=p2 p1=f32[64] p2=f32[64] p3=64 p4=1"
prints 'uninitialized'
run 2 add.ptx --launch "$both; grid=1 block=64 p0=p2 p1=f32[65] p2=f32[64] p3=64 p4=1"
prints 'launch 2: p1 is f32\[65\] here, but an earlier launch has it as f32\[64\]'

# Counts, as text and as JSON.
run 0 add.ptx --counts
prints 'global load p0 4 13 13'
run 0 add.ptx --counts --json
prints '"cases": 1, "wrong": 0'
prints '"access": "global store", "array": "p2", "line": [0-9]+, "requests": 4, "sectors": 13'

# A name that the PTX gives as its source is printed only if the file is beside the PTX file.
mkdir -p other
echo 'secret' > other/secret.txt
sed -e 's/^\tst.global/\t.loc 1 1 0\n\tst.global/' -e "\$a.file 1 \"$work/other/secret.txt\"" add.ptx > located.ptx
run 1 located.ptx --launch "$arguments p2=f32[64]"
prints 'secret.txt:1: out-of-bounds'
prints '1 \| secret'
mkdir -p deeper
cp located.ptx deeper
run 1 deeper/located.ptx --launch "$arguments p2=f32[64]"
prints 'secret.txt:1: out-of-bounds'
lacks '1 \| secret'

# A launch that exceeds a limit of the GPU is a finding.
run 1 add.ptx --launch 'grid=1 block=4096 p0=f32[64] p1=f32[64] p2=f32[64] p3=64 p4=1'
prints 'limit'

# Invalid descriptions name the parameter and say what is valid.
first='p0=f32\[64\]'
good='grid=1 block=64 p0=f32[64] p1=f32[64] p2=f32[64] p3=64 p4=1'
wrong() {
    run 2 add.ptx --launch "$1"
    prints "$2"
}
wrong 'block=64 p0=f32[64]' 'grid=X\[,Y\[,Z\]\] is missing'
wrong 'grid=1 p0=f32[64]' 'block=X\[,Y\[,Z\]\] is missing'
wrong "$good p5=1" 'no parameter p5; in PTX, parameters are p0 to p4'
wrong "$good x=1" 'no parameter x'
wrong "$good p4=1" 'p4= is given twice'
wrong "$good kernel=none" 'kernel=none matches 0 kernels; the kernels are: _Z3add'
wrong "$good template=float" 'template= is for CUDA'
wrong "${good/p3=64/}" 'the parameter p3 \(.u32, 4 bytes\) of _Z3add.* has no value'
wrong "${good/p3=64/p3=f32[4]}" 'p3=f32\[4\] is an array, but the parameter has 4 bytes'
wrong "${good/p3=64/p3=2.5}" 'p3=2.5 \(parameter of type .u32\)'
wrong "${good/p3=64/p3=1<<40}" 'p3=1<<40 does not fit the 4 bytes'
wrong "${good/$first/p0=float[64]}" 'p0: "float" is not an element type; valid types are f64, f32'
wrong "${good/$first/p0=f32[]}" 'p0: "f32\[\]" has no count'
wrong "${good/$first/p0=f32[64]:ramp}" 'p0: "ramp" is not valid contents; use random, zero, ones, iota, none'
wrong "${good/$first/p0=f32[64]zero}" 'p0: "zero" follows the array'
wrong "${good/$first/p0=f32[n]}" 'p0: "n" is not an integer argument; these are: p3'
wrong "${good/$first/p0=f32[p3-64]}" 'p0=f32\[p3-64\] has 0 elements; use at least 1'
wrong "${good/$first/p0=f32[p3/0]}" 'p0: the expression divides by zero'
wrong "${good/$first/p0=f32[25000000000]}" 'p0=f32\[25000000000\] takes 93.13 GiB; all arrays together may take .* Use a smaller count'
wrong "${good/$first/p0=f32[9223372036854775807]}" 'p0=f32\[9223372036854775807\] takes'
wrong "${good/$first/p0=f32[64]:missing.npy}" 'p0: missing.npy: cannot be opened'
wrong "${good/grid=1/grid=1,2,3,4}" 'grid=1,2,3,4 has more than three numbers'
wrong "${good/grid=1/grid=0-1}" 'grid=0-1 is -1'
wrong 'saxpy' '"saxpy" is not NAME=VALUE'
wrong '' 'say how to launch the kernel'
run 2 add.ptx --launch "$good" --expect y=out.npy
prints 'there is no array y; the arrays are: p0, p1, p2'
run 2 add.ptx --expect p2
prints '"p2" is not NAME=FILE.npy'
run 2 missing.ptx
prints 'missing.ptx: cannot be opened'
run 2 "$here/common.sh"
prints 'is not a .cu or .ptx file'
run 2 add.ptx --repeat 0
run 2 add.ptx --tolerance -1
run 2 add.ptx --arch fast
echo "not PTX" > bad.ptx
run 2 bad.ptx --launch "$good"
exit $((failures > 0))
