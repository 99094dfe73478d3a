# SPDX-License-Identifier: Apache-2.0
# The command in a Python package, without an active environment: tools of the same environment are found from its own
# place, and what is missing is installed with pip.
command -v jq ld > /dev/null || exit 77
site=$PWD/site
cmake --install "${RUNG_BUILD:-$(dirname "$RUNG")}" --prefix "$site/rung" > log 2>&1 || { cat log; exit 1; }
in_package() { env -u VIRTUAL_ENV -u CONDA_PREFIX -u CUDA_HOME -u CUDA_PATH HOME=/nonexistent "$site/rung/bin/rung" "$@"; }
export OCL_ICD_VENDORS=/nonexistent OPENCL_VENDOR_PATH=/nonexistent
installs() {
    in_package doctor --json |
        jq -r '.parts[] | select(.name | test("NVRTC|nvdisasm")) | "\(.name): \(.install)"'
}
echo "Not in a package:"
installs
echo "In a package:"
touch "$site/rung/__init__.py"
installs
in_package devices --json | jq -r '.devices[] | select(.backend == "opencl").missing' | grep -o 'pip install.*'

echo "Found beside the package:"
mkdir -p "$site/nvidia/cu13/bin"
printf '#!/bin/sh\n' > "$site/nvidia/cu13/bin/nvdisasm"
chmod +x "$site/nvidia/cu13/bin/nvdisasm"
mkdir no_tools
PATH=$PWD/no_tools /usr/bin/env "$site/rung/bin/rung" doctor --json | /usr/bin/env PATH="$PATH" jq -r --arg site "$site" \
    '.parts[] | select(.name == "nvdisasm").found | sub($site; "SITE")'

# PoCL as pocl-binary-distribution installs it, without a loader that knows it.
pocl=$(ls /usr/lib/*/libpocl.so.2 2> /dev/null | head -n 1)
[ -n "$pocl" ] || exit 77
mkdir -p "$site/pyopencl/.libs"
ln -s "$pocl" "$site/pyopencl/.libs/libpocl-0.so"
ln -s "$(dirname "$pocl")/pocl" "$site/pyopencl/.libs/pocl" # its devices
# PoCL searches its headers relative to the folder in which it was opened, and Debian's are elsewhere.
mkdir "$site/share"
ln -s /usr/share/pocl "$site/share/pocl"
in_package devices --json | jq -r '.devices[] | select(.backend == "opencl") | [.name, .present, .platform] | @csv'
PATH=$PWD/no_tools "$site/rung/bin/rung" devices --json | jq -r '.devices[] | select(.backend == "opencl").missing'
try in_package verify --device opencl --kernels 02 --m 20 | tail -n 2
