#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel_minimal_root.sh FOLDER - in a minimal Debian 12 with Python and nothing else, pip installs rung[lab] from the
# wheels in FOLDER, and rung verify, explain and check work on plain CUDA files. RUNG_MINIMAL_ROOT may name such a root;
# otherwise debootstrap creates one. Needs root. To fill FOLDER: the wheel of tools/build-wheel, and
#   pip download -d FOLDER --find-links FOLDER "rung[lab]"
set -eu
wheels=$(realpath "$1")
[ "$(id -u)" -eq 0 ] || { echo "chroot needs root"; exit 77; }
ls "$wheels"/rung-*_x86_64.whl > /dev/null || { echo "$wheels has no wheel of rung"; exit 77; }
root=${RUNG_MINIMAL_ROOT:-}
if [ -z "$root" ]; then
    command -v debootstrap > /dev/null || { echo "debootstrap is not installed"; exit 77; }
    root=$(mktemp -d) && trap 'umount "$root/proc" 2> /dev/null; rm -rf "$root"' EXIT
    debootstrap --quiet --variant=minbase --include=python3-venv bookworm "$root" > /dev/null
else
    trap 'umount "$root/proc" 2> /dev/null' EXIT
fi
mkdir -p "$root/wheels" "$root/home/user"
cp "$wheels"/*.whl "$root/wheels/"
cp "$RUNG_SOURCE"/examples/cuda/*.cu "$root/home/user/"
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
inside() { chroot "$root" /usr/bin/env -i HOME=/home/user LC_ALL=C "$@"; }
run() {
    echo "\$ $*"
    inside /bin/sh -c "cd /home/user && $*" && code=0 || code=$?
    echo "(exit $code)"
    [ $code -eq 0 ] || exit 1
}
inside /bin/sh -c 'rm -rf /home/user/.venv && ! command -v ld cc clinfo nvcc'
run /usr/bin/python3 -m venv .venv
pip='.venv/bin/pip install --quiet --disable-pip-version-check --no-index --find-links /wheels'
run $pip rung
run .venv/bin/rung doctor
run $pip '"rung[lab]"'
run .venv/bin/rung doctor
run .venv/bin/rung verify tiled.cu
run .venv/bin/rung explain tiled.cu
run .venv/bin/rung check saxpy.cu
run .venv/bin/rung explain 04 --arch sm_86
