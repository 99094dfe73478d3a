# SPDX-License-Identifier: Apache-2.0
# explain_tools.sh - sourced by the course's tests: `rung` as a newcomer would type it, with the tools that
# it needs to say everything; exits with 77 where they are missing.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
out=$work/out block=$work/block
mkdir "$work/bin" && ln -s "$RUNG" "$work/bin/rung"
export PATH=$work/bin:$PATH VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
RUNG_NVDISASM=$(ls -d "$RUNG_TEST_TOOLS"/python/lib/python3*/site-packages/nvidia/cu13/bin/nvdisasm 2> /dev/null | head -n 1)
export RUNG_NVDISASM
rung verify --device opencl --kernels 01 --m 2 > "$out" 2>&1
[ $? -ne 77 ] || { cat "$out"; exit 77; }
rung explain 01 --m 64 --quiet > "$out" 2>&1
! grep -q "^Missing tools\|was not found" "$out" || { cat "$out"; exit 77; }
