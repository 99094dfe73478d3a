# SPDX-License-Identifier: Apache-2.0
# tune.sh - what the tests of rung tune share: folders of their own, so that the user's store
# and state are neither read nor written, and a problem that is quick and where the defaults are
# far from the best: one row, of which most kernels compute sixteen.
set -u
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export XDG_CONFIG_HOME=$work/config XDG_STATE_HOME=$work/state LC_ALL=C
unset RUNG_DEVICE RUNG_VERBOSE RUNG_OVERLAP RUNG_TUNING RUNG_CLBLAST_TUNING
cd "$work" || exit 1
"$RUNG" verify --device opencl --m 1 > /dev/null 2>&1 || exit 77
row=(--device opencl --m 1 --n 2048 --k 64)

fail() { echo "$*"; cat "$work"/*.json "$work"/*.err "$work"/state.txt 2> /dev/null; exit 1; }

# Whether a JSON file is so.
holds() { jq -e "$2" "$1" > /dev/null || fail "$1: not so: $2"; }

# Nothing was tried twice.
tried_once() {
    local twice
    twice=$(grep '^trying' "$1" | sort | uniq -d)
    [ -z "$twice" ] || fail "tried twice: $twice"
}
