#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# reports.sh - what rung check says about the kernels of reports.cu: the line, the sentence and the remedy. Also chooses kernels by
# their arguments, and checks shared arrays of PTX files and addresses in SARIF. Needs NVRTC.
set -u
. "$(dirname "$0")/common.sh"
ls "$RUNG_TEST_TOOLS"/python/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1? > /dev/null 2>&1 || exit 77
cp "$here/reports.cu" "$here/shared_arrays.ptx" .
line() { grep -n -- "// $1" reports.cu | head -n 1 | cut -d: -f1; }
check() { code=$1; shift; run "$code" reports.cu --launch "$*"; }

# A load that the compiler moved to the line of a store is reported where its address is computed, with array and offset.
check 1 'kernel=shift_vectors grid=1 block=32 from=f32[132] to=f32[128]'
prints "reports.cu:$(line 'misaligned load'): misaligned"
prints 'Read of 16 bytes at byte offset 8 of "from"'

# The remedy depends on the cause.
check 1 'kernel=tally grid=1 block=256 values=i32[256] totals=i32[10]:none'
prints "reports.cu:$(line 'update without'): race .*Both accesses are in line .*atomicAdd\(\)"
lacks '__syncthreads\(\) between'
check 1 'kernel=last_block_adds grid=8 block=32 parts=i32[8] total=i32[1]:none'
prints "reports.cu:$(line 'without a fence'): race .*__threadfence\(\)"
check 1 'kernel=allocates grid=1 block=32 x=u64[32]'
prints "reports.cu:$(line heap): trap .*calls malloc\(\), which is not emulated\. Allocate the memory with cudaMalloc"
check 1 'kernel=store grid=1 block=32 x=0 n=1'
prints "reports.cu:$(line 'null pointer'): out-of-bounds .*of a null pointer"
prints 'check the result of cudaMalloc'

# Volatile does not order the lanes of a warp; a flag that a lane waits for is no mistake.
check 1 'kernel=warp_sum template=0 grid=1 block=32 in=i32[32] out=i32[1]:none'
prints "reports.cu:[0-9]+: race .*__syncwarp\(\) between the two accesses"
check 0 'kernel=warp_sum template=1 grid=1 block=32 in=i32[32] out=i32[1]:none'
check 0 'kernel=wait_for_flag grid=1 block=32 in=i32[1] out=i32[32]:none'

# An index past the end of a shared array is found, even if another array is there.
check 0 'kernel=neighbours grid=1 block=32 step=i32[1]:zero out=f32[32]:none'
check 1 'kernel=neighbours grid=1 block=32 step=i32[1]:ones out=f32[32]:none'
prints "reports.cu:$(line 'past the end'): out-of-bounds .*byte offset 128 of the shared array \"left\", which has 128 bytes"
run 1 shared_arrays.ptx --launch 'kernel=forward grid=1 block=32 p0=u32[32]:none'
prints 'out-of-bounds .*Read of 4 bytes at byte offset 128 of the shared array "first"'
run 1 shared_arrays.ptx --launch 'kernel=backward grid=1 block=32 p0=u32[32]:none'
prints 'out-of-bounds .*Read of 4 bytes at byte offset -4 of the shared array "upper"'
run 0 shared_arrays.ptx --launch 'kernel=either grid=1 block=32 p0=u32[32]:none'
run 1 shared_arrays.ptx --launch 'kernel=exchange grid=1 block=32 p0=u32[32]:none'
prints 'race .*__syncwarp'
sed 's/sm_86/sm_61/' shared_arrays.ptx > lockstep.ptx # the lanes of these GPUs run in lockstep
run 0 lockstep.ptx --launch 'kernel=exchange grid=1 block=32 p0=u32[32]:none'

# A thread that leaves the kernel is not at its last line.
check 1 'kernel=barrier_for_some grid=2 block=64 x=i32[n] n=100'
prints "reports.cu:$(line 'barrier in a branch'): barrier .*exited before they reached this barrier\. Move the barrier"

# Kernels are found by their arguments, in spite of functions of the same name, and with template arguments of the file.
check 0 'kernel=any grid=1 block=32 x=i32[n] found=i32[1]:zero n=32'
check 0 'kernel=twice grid=1 block=32 x=f64[32] factor=2'
prints "twice, reports.cu:$(line 'of doubles')"
check 2 'kernel=twice grid=1 block=32 x=i32[32] factor=2'
prints 'the arguments fit 0 of 2 kernels of the same name; .*twice\(float \*, float\), twice\(double \*, double\)'
check 0 'kernel=instantiated grid=1 block=32 x=i32[32]'
prints 'instantiated<32>, reports.cu'
check 0 'kernel=launched grid=1 block=32 x=f32[32]'
prints 'launched<float, 32>, reports.cu'
check 2 'kernel=no_such_kernel grid=1 block=1'
prints 'no kernel named no_such_kernel; its kernels are: shift_vectors, '
run 2 reports.cu
prints 'The kernels of the file are: shift_vectors, tally'

# Cooperative launches.
check 1 'kernel=two_steps grid=4 block=32 x=f32[128] y=f32[128]'
prints "reports.cu:$(line 'not cooperative'): trap .*calls grid.sync\(\), and the launch is not cooperative.*cooperative=1"
check 0 'kernel=two_steps grid=4 block=32 cooperative=1 x=f32[128] y=f32[128]'
check 2 'kernel=two_steps grid=4 block=32 cooperative=yes x=f32[128] y=f32[128]'
prints 'cooperative=yes is not valid'

# Numbers keep their values.
check 2 'kernel=store grid=1 block=32 x=i32[32] n=2.5'
prints 'n=2.5 is not a whole number, and the parameter is an integer: int n'
check 0 'kernel=store grid=1 block=32 x=i32[32] n=2.0'

# Names in JSON are those of the source; addresses in SARIF are relative if the argument is.
run 1 reports.cu --json --launch 'kernel=tally grid=1 block=256 values=i32[256] totals=i32[10]:none'
prints '"kernel": "tally", "line"'
run 1 reports.cu --sarif relative.sarif --launch 'kernel=tally grid=1 block=256 values=i32[256] totals=i32[10]:none'
grep -q '"uri": "reports.cu"' relative.sarif || { echo "SARIF:"; grep uri relative.sarif; failures=$((failures + 1)); }
run 1 "$work/reports.cu" --sarif absolute.sarif --launch 'kernel=tally grid=1 block=256 values=i32[256] totals=i32[10]:none'
grep -q "\"uri\": \"file://$(realpath reports.cu)\"" absolute.sarif || { echo "SARIF:"; grep uri absolute.sarif; failures=$((failures + 1)); }

# The help has the contents of arrays, and messages name no functions of the library.
"$RUNG" help check > out
prints 'contents random \(default\), zero, ones, iota, none'
printf '__device__ char big[100ull << 30];\n__global__ void use(char *x) { *x = big[0]; }\n' > big.cu
run 2 big.cu --launch 'grid=1 block=1 x=i8[1]'
prints 'do not fit into the memory of the emulated GPU'
lacks 'rung_emulator_options'
exit $((failures > 0))
