#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# container.sh [RESULT] - builds the Dockerfile with buildah, runs the image, and writes what it prints to RESULT. The base
# image comes from debootstrap, so that no registry is needed. Needs root, buildah and debootstrap; takes 10 to 40 minutes.
# RUNG_DEBIAN_BASE names a folder made by debootstrap (--variant=minbase bookworm) to start from.
set -eu
source=${RUNG_SOURCE:-$(realpath "$(dirname "$0")/../..")}
result=$(realpath -m "${1:-/dev/stdout}")
[ "$(id -u)" -eq 0 ] || { echo "skipped: debootstrap needs root"; exit 77; }
for tool in debootstrap buildah; do
    command -v $tool > /dev/null || { echo "skipped: $tool is not here (apt-get install debootstrap buildah)"; exit 77; }
done
work=$(mktemp -d)
bh() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
trap 'rm -rf --one-file-system "$work"' EXIT
root=${RUNG_DEBIAN_BASE:-}
if [ -z "$root" ]; then
    root=$work/root
    mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2> /dev/null |
        awk '$1 == "URIs:" { print $2; exit } $1 == "deb" { print $2 ~ /^\[/ ? $3 : $2; exit }')
    debootstrap --variant=minbase bookworm "$root" "$mirror" > "$work/log" 2>&1 || { tail -n 5 "$work/log"; echo "debootstrap failed"; exit 1; }
fi
container=$(bh from scratch)
bh add --quiet "$container" "$root" / > /dev/null
bh commit --quiet "$container" localhost/debian:12 > /dev/null
bh rm "$container" > /dev/null

# The files that a clone has. A machine behind a proxy gives pip its certificates.
mkdir "$work/context"
git -C "$source" ls-files -z -co --exclude-standard |
    (cd "$source" && tar -c --null -T - --ignore-failed-read 2> /dev/null) | tar -x --no-same-owner -C "$work/context"
volume=()
if [ -n "${PIP_CERT:-}" ]; then
    printf '[global]\ncert = /etc/pip-certificates\n' > "$work/pip.conf"
    volume=(--volume "$(realpath "$PIP_CERT"):/etc/pip-certificates:ro" --volume "$work/pip.conf:/etc/pip.conf:ro")
fi
started=$SECONDS
bh bud --isolation chroot --network host --build-arg BASE=localhost/debian:12 ${RUNG_CONTAINER_LAB+--build-arg LAB="$RUNG_CONTAINER_LAB"} \
    "${volume[@]}" --tag rung "$work/context" > "$work/log" 2>&1 || { tail -n 30 "$work/log"; echo "buildah could not build the Dockerfile"; exit 1; }
seconds=$((SECONDS - started))
container=$(bh from --pull-never localhost/rung)
run() { bh run --isolation chroot "$container" -- "$@"; }
bh copy --quiet "$container" "$source/examples/cuda/tiled.cu" /work/ > /dev/null
bad=0
# step EXPECTED COMMAND...: runs the command in the image; its output must contain EXPECTED.
step() {
    local expected=$1 code=0
    shift
    echo "\$ $*"
    run "$@" > "$work/output" 2>&1 || code=$?
    head -n 30 "$work/output"
    grep -qF -- "$expected" "$work/output" && [ $code -eq 0 ] || { echo "FAILED: exit code $code; expected '$expected'"; bad=1; }
}
{
    echo "# The Dockerfile, built by $(buildah --version | cut -d ' ' -f 1-3) on a base image of debootstrap. Written by"
    echo "# tests/packaging/container.sh."
    echo "build: $seconds s"
    step "rung $("$source/tools/project-version")" rung --version
    step "cpu" rung devices
    step "10_pipeline" rung verify --device cpu --kernels 10 --suite tile
    [ -n "${RUNG_CONTAINER_LAB-default}" ] && step "tiled" rung verify /work/tiled.cu
} > "$work/result"
cat "$work/result" > "$result"
[ $bad -eq 0 ] || { cat "$work/result"; exit 1; }
