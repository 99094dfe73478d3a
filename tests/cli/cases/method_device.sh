# SPDX-License-Identifier: Apache-2.0
# The same on a device of blocks and threads: copies in its memory, and its ceilings by kernels of the lab's own.
rung verify --device opencl --m 1 > /dev/null 2>&1 || exit 77
rung bench --device opencl --kernels 04,07 --params tiny --sizes 32 --cache cold --inputs normal --budget 0.05 --json 2> /dev/null > out.json
echo "exit $?"
jq -c '[.results[] | [.verified, .cache, .inputs, .sets > 2, (.series_ns | length >= 1)]]' out.json
rung peak --device opencl --json 2> /dev/null > out.json; echo "exit $?"
jq -c '[.schema, [.results[] | [.ceiling, .level, .why_not == "", .samples > 0]]]' out.json
try rung peak --device opencl --threads 2
