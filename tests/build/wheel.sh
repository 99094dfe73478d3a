#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel.sh [FOLDER] - builds both wheels with tools/build-wheel, installs the one for this processor in a new environment and
# runs the other one on QEMU. With FOLDER, its wheels are tested and nothing is built.
set -eu
command -v qemu-aarch64-static > /dev/null || { echo "qemu-user-static is not installed"; exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
dist=${1:-$work/dist}
if [ $# -eq 0 ]; then
    "$RUNG_SOURCE/tools/build-wheel" x86_64 "$dist"
    "$RUNG_SOURCE/tools/build-wheel" aarch64 "$dist"
fi

echo "== $(uname -m), in a new environment"
python3 -m venv "$work/environment"
"$work/environment/bin/pip" install --quiet --disable-pip-version-check "$dist"/rung-*_"$(uname -m)".whl || { echo "PyPI, which has NumPy, cannot be reached"; exit 77; }
rung=$work/environment/bin/rung
"$work/environment/bin/python" -c 'import importlib.metadata; print("version", importlib.metadata.version("rung"))'
env -i PATH=/usr/bin:/bin "$rung" devices | head -n 3
env -i PATH=/usr/bin:/bin RUNG_TUNING=off "$rung" verify --device cpu --kernels 08,10,12,rung_gemm --dtype f32,f64,bf16:f32,i8 --m 33
env -i PATH=/usr/bin:/bin "$rung" plan --help | head -n 1
"$rung" emulate true

echo "== aarch64, on QEMU"
python3 -m zipfile -e "$dist"/rung-*_aarch64.whl "$work/arm"
chmod +x "$work/arm/rung/bin/rung"
arm() { env -i RUNG_TUNING=off qemu-aarch64-static -L /usr/aarch64-linux-gnu "$work/arm/rung/bin/rung" "$@"; }
arm devices | head -n 3
arm verify --device cpu --kernels 01,08,10,rung_gemm --dtype f32,f64,bf16:f32,i8 --m 17
