#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clean.sh KERNEL - right, and not a line in Oclgrind's log: with the smallest
# choice of each parameter on every edge of its tile, with the defaults on a few.
set -u
kernel=$1
. "$(dirname "$0")/oclgrind.sh"

smallest=$("$RUNG" kernels "$kernel" --device opencl --json |
           jq -r '[.kernels[0].params[] | "\(.name)=\(.choices | min)"] | join(",")')
check() {
    verify_checked --kernels "$kernel" "$@"
    jq -c '[.cases, .wrong, .skipped]' "$json"
    [ $code -eq 0 ] || { cat "$json"; exit 1; }
    jq -e '.cases > 0 and .skipped == 0' "$json" > /dev/null || { cat "$json"; exit 1; }
    [ ! -s "$log" ] || { head -n 40 "$log"; exit 1; }
}
check --params "$smallest" --suite edges
check --suite edges --every 7
