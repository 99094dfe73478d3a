#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cub.sh [NAME...] - block and warp primitives of CUB, compiled by NVRTC and run by rung check. Results must equal those of
# NumPy, and the checks must find nothing but what `known` lists. The output is results/emulator/cub.txt:
#
#     ctest --preset release -R check_cub -V, or
#     RUNG_SOURCE=$PWD RUNG_BUILD=$PWD/build/release RUNG_TEST_TOOLS=$PWD/build/tools tests/check/cub.sh
set -u
. "$(dirname "$0")/common.sh"
python=$RUNG_TEST_TOOLS/python/bin/python
headers=$(ls -d "$RUNG_TEST_TOOLS"/python/lib/python3*/site-packages/nvidia/cuda_cccl/include/cub 2> /dev/null | head -n 1)
[ -n "$headers" ] && "$python" -c 'import numpy' || { echo "cub.sh: CUB or NumPy is missing; see tools/install-test-tools" >&2; exit 77; }

# cub::BlockMergeSort and cub::WarpMergeSort read the element behind their tile, for which they allocate room and which they
# never write, and drop the value (SerialMerge in block_merge_sort.cuh). results/plain_cuda/README.md has the evidence.
known() {
    case $1 in
    block_merge_sort | warp_merge_sort) echo uninitialized ;;
    esac
}

# Copies of the two sorts in which one thread writes the element before. They must have no findings.
mkdir written
sed 's/    sort(storage)/    if (threadIdx.x == 0)\n        ((int *)\&storage)[512] = 0;\n&/' "$here/cub/block_merge_sort.cu" \
    > written/block_merge_sort_written.cu
sed 's/    sort(storage.*\])/    if (threadIdx.x % 32 == 0)\n        ((int *)\&storage[threadIdx.x \/ 32])[128] = 0;\n&/' \
    "$here/cub/warp_merge_sort.cu" > written/warp_merge_sort_written.cu

# The version of CUB that was compiled is the difference of its number from 0.
cat > version.cu << 'EOF'
// rung: grid=1 block=1 out=i32[1]:none
#include <cub/version.cuh>
__global__ void version(int *out) { *out = CUB_VERSION; }
EOF
"$python" -c 'import numpy; numpy.save("zero.npy", numpy.zeros(1, "int32"))'
"$RUNG" check version.cu --expect out=zero.npy --json > out.json
"$python" -c '
import json
version = int(json.load(open("out.json"))["expected"][0]["largest_difference"])
print(f"CUB {version // 100000}.{version // 100 % 1000}.{version % 100}")'

printf '%-26s %8s %6s %9s  %s\n' primitive elements wrong findings known
for file in "$here"/cub/*.cu written/*.cu; do
    name=$(basename "$file" .cu)
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    expected=$("$python" "$here/cub.py" "${name%_written}") || exit 1
    "$RUNG" check "$file" --expect "$expected" --json > out.json 2> err.txt
    if [ $? -gt 1 ]; then
        echo "$name: $(cat err.txt)"
        failures=$((failures + 1))
        continue
    fi
    "$python" - "$name" "$(known "$name")" << 'EOF' || failures=$((failures + 1))
import json, sys
name, known = sys.argv[1:]
result = json.load(open("out.json"))
elements = sum(array["elements"] for array in result["expected"])
wrong = sum(array["wrong"] for array in result["expected"])
others = [finding for finding in result["findings"] if finding["kind"] != known]
count = len(result["findings"]) - len(others)
print(f"{name:26} {elements:8} {wrong:6} {len(others):9}  {f'{count} {known}' if count else ''}".rstrip())
for finding in others:
    print(f"    {finding['file']}:{finding['line']}: {finding['kind']}: {finding['text']}")
sys.exit(result["cases"] != 1 or wrong > 0 or len(others) > 0 or (known != "" and count == 0))
EOF
done

# A missing barrier is found, and nothing is found once it is there.
run 1 "$here/cub_reuse.cu"
prints 'cub_reuse.cu:[0-9]+: race'
sed 's/    int squares/    __syncthreads();\n    int squares/' "$here/cub_reuse.cu" > correct.cu
run 0 correct.cu
exit $((failures > 0))
