#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh pytest NAME ... | random COUNT | cuda | tools - tests the Python package of the source tree with the library of this build.
set -eu
python=$RUNG_TEST_TOOLS/python/bin/python3
"$python" -c 'import numpy, pytest, hypothesis, ml_dtypes' 2> /dev/null || {
    echo "NumPy, pytest, hypothesis or ml_dtypes is not here; see tools/install-test-tools"
    exit 77
}
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export RUNG_LIBRARY_DIR=$RUNG_BUILD PYTHONPATH=$RUNG_SOURCE/python PYTHONDONTWRITEBYTECODE=1
export HYPOTHESIS_STORAGE_DIRECTORY=$work VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
tests=$RUNG_SOURCE/python/tests

# run_python ARGUMENT ... - Python itself is not sanitized: the sanitizer must be loaded before it, and cannot know which
# memory Python leaks.
run_python() {
    case $RUNG_SANITIZE in
    *address*)
        LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 "$python" "$@"
        ;;
    *) "$python" "$@" ;;
    esac
}

needs_nvrtc() {
    ls "$VIRTUAL_ENV"/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.* > /dev/null 2>&1 && return
    echo "NVRTC is not here; see tools/install-test-tools"
    exit 77
}

what=$1
shift
case $what in
pytest)
    files=()
    for name; do files+=("$tests/test_$name.py"); done
    case " $* " in *" lab "*) needs_nvrtc ;; esac
    run_python -m pytest -q -p no:cacheprovider "${files[@]}"
    ;;
random) run_python "$tests/random_cases.py" "$1" ;;
cuda)
    needs_nvrtc
    "$RUNG" emulate "$python" "$tests/cuda_arrays.py"
    ;;
tools) # the two that measure: do they run, and do they print a row per shape and type?
    run_python "$RUNG_SOURCE/tools/compare-numpy" --sizes 48,3x40x50 --budget 0.01 > "$work/numpy.tsv"
    run_python "$tests/call_overhead.py" --seconds 0.01 8 > "$work/overhead.tsv"
    cat "$work"/*.tsv
    [ "$(grep -c '^float' "$work/numpy.tsv")" -eq 4 ] && [ "$(grep -c '^8' "$work/overhead.tsv")" -eq 4 ]
    ;;
*) echo "run.sh: unknown: $what"; exit 2 ;;
esac
