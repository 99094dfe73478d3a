# SPDX-License-Identifier: Apache-2.0
# preload.sh - for scripts of this folder: where the drop-in and Netlib's reference are, and how
# to put libraries before a program's own.
unset RUNG_BLAS RUNG_DEVICE RUNG_VERBOSE LD_PRELOAD
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
ours=$RUNG_BUILD/librung-blas.so
wrong() { echo "wrong: $*"; exit 1; }
[ -e "$ours" ] || wrong "$ours is not there"

# Debian has every BLAS in a folder of its own; the reference is in the one called "blas".
netlib=$(dirname "$(find /usr/lib/*-linux-gnu/blas -name libblas.so.3 2> /dev/null | head -n 1)")
[ -e "$netlib/libblas.so.3" ] || { echo "libblas3, Netlib's reference, is not here"; exit 77; }
reference=$netlib/libblas.so.3

# A sanitizer's library wants to be the first of all.
sanitizer=$(ldd "$ours" | awk '$1 ~ /^lib[atu]*san\.so/ {print $3}' | tr '\n' ' ')

# preload LIBRARIES COMMAND ...
preload() {
    local libraries=$1
    shift
    LD_PRELOAD="$sanitizer$libraries" "$@"
}
