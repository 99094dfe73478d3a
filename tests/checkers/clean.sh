#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clean.sh KERNEL - right, and not a line in Oclgrind's log, on every edge of the
# tiles of preset tiny, in each type, and with copies that arrive late where the
# kernel has them.
set -u
kernel=$1
. "$(dirname "$0")/oclgrind.sh"

check() {
    verify_checked --kernels "$kernel" --suite edges "$@"
    echo "$* $(jq -c '[.cases, .wrong, .skipped]' "$json")"
    [ $code -eq 0 ] || { cat "$json"; exit 1; }
    jq -e '.cases > 30 and .skipped == 0' "$json" > /dev/null || { cat "$json"; exit 1; }
    [ ! -s "$log" ] || { head -n 40 "$log"; exit 1; }
}
check --params tiny --dtype f32,i32
if "$RUNG" kernels "$kernel" --device opencl --json | jq -e '.kernels[0].params | any(.name == "CHECKED")' > /dev/null
then
    check --params tiny,CHECKED=1
fi
