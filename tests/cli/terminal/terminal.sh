# SPDX-License-Identifier: Apache-2.0
# terminal.sh - what the tests of the command on a terminal share: a folder of their own, and a
# terminal of their own.
set -u
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export XDG_CONFIG_HOME=$work/config XDG_STATE_HOME=$work/state RUNG_TUNING=off LC_ALL=C.UTF-8 TERM=xterm
unset RUNG_DEVICE RUNG_VERBOSE RUNG_OVERLAP RUNG_THREADS RUNG_CPU_VENDOR NO_COLOR
cd "$work" || exit 1
escape=$'\033'

fail() { echo "$*"; head -c 4000 "$work"/*.json "$work"/*.txt 2> /dev/null; exit 1; }

# Whether a JSON file is so.
holds() { jq -e "$2" "$1" > /dev/null || fail "$1: not so: $2"; }

# on_terminal COLUMNS COMMAND: what a terminal of so many columns is sent.
on_terminal() { script -qec "stty cols $1; $2" /dev/null < /dev/null; }

# wait_for COMMAND...: until it is so, a minute at most, for slow builds on busy machines.
wait_for() {
    for _ in $(seq 3000); do
        "$@" > /dev/null 2>&1 && return
        sleep 0.02
    done
    fail "in vain: $*"
}
