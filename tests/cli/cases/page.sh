# SPDX-License-Identifier: Apache-2.0
# A page of a kernel has the numbers of the JSON. Without NVIDIA's compiler, nothing can be counted.
export VIRTUAL_ENV=${RUNG_TEST_TOOLS:-$RUNG_SOURCE/build/tools}/python RUNG_NVDISASM=/nowhere
! rung explain 01 --m 64 --quiet 2>&1 | grep -q "NVRTC is missing\|NVRTC was not found" || exit 77
kernels=$RUNG_SOURCE/tests/kernel_page/kernels
try rung explain "$kernels/naive.cu" --html page.html | sed "s#$kernels/##"
rung explain "$kernels/naive.cu" --json --html again.html > both.json
rung explain "$kernels/naive.cu" --json > plain.json
cmp page.html again.html && sed -n '/id="data">/,/<\/script>/p' page.html | sed '1d;s#</script>##' > data.json
jq -cn 'input as $page | input.kernels[0] as $both | input.kernels[0] as $plain |
    [$page == $both, ($page | del(.trace, .checks)) == $plain]' data.json both.json plain.json
jq -c '.lines[] | [.line, .kind, .array, .requests, .sectors, .sectors_ideal]' data.json
jq -c '.trace | [.m, .n, .k, .warps_recorded, .steps_per_warp, (.rows | map([.row, (.warps | length), .left_out]))]' data.json
try rung explain "$kernels/race.cu" --html race.html | sed "s#$kernels/##; s/is [-0-9.e+]*; the right/is wrong; the right/"
try rung explain --all --html page.html
