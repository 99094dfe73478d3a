# SPDX-License-Identifier: Apache-2.0
# common.sh - for tests that run notebooks: `python`, whose packages are those of tools/install-test-tools, the package rung with the
# library of this build, and a folder for files. Nothing is read from or written to the home directory.
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
python=$RUNG_TEST_TOOLS/notebooks/bin/python
"$python" -c 'import nbclient, ipykernel' 2> /dev/null || { echo "nbclient or ipykernel is not here; run tools/install-test-tools"; exit 77; }
# NVIDIA's compilers are in the other environment.
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python RUNG_LIBRARY_DIR=$RUNG_BUILD PYTHONPATH=$RUNG_SOURCE/python PYTHONDONTWRITEBYTECODE=1
ls "$VIRTUAL_ENV"/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.* > /dev/null 2>&1 ||
    { echo "NVRTC is not here; run tools/install-test-tools"; exit 77; }
mkdir "$work/home"
export HOME=$work/home IPYTHONDIR=$work/home/ipython JUPYTER_CONFIG_DIR=$work/home/jupyter JUPYTER_DATA_DIR=$work/home/data \
    JUPYTER_RUNTIME_DIR=$work/home/runtime JUPYTER_PLATFORM_DIRS=1 PYDEVD_DISABLE_FILE_VALIDATION=1
