#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# triton.sh - kernels of Triton, compiled to PTX without a GPU and run by rung check. Results must equal those of NumPy, and the
# checks must find nothing. Triton is installed from PyPI to build/triton, a download of about 200 MB. The output is
# results/emulator/triton.txt:
#
#     ctest --preset release -R check_triton -V, or
#     RUNG_SOURCE=$PWD RUNG_BUILD=$PWD/build/release RUNG_TEST_TOOLS=$PWD/build/tools tests/check/triton.sh
set -u
. "$(dirname "$0")/common.sh"
folder=$RUNG_SOURCE/build/triton
python=$folder/bin/python
if ! "$python" -c 'import triton, numpy' 2> /dev/null; then
    "${PYTHON:-python3}" -m venv "$folder" && "$folder/bin/pip" install -q triton numpy ||
        { echo "triton.sh: Triton could not be installed to $folder" >&2; exit 77; }
fi
export TRITON_CACHE_DIR=$work/cache TRITON_DEFAULT_FP_FUSION=1
echo "triton $("$python" -c 'import triton; print(triton.__version__)')"
printf '%-18s %6s %8s %6s %9s %10s  %s\n' kernel target elements wrong findings difference tolerance
for name in $("$python" "$here/triton_kernels.py" list); do
    for capability in 80 90; do
        mkdir -p "$name-$capability" && cd "$name-$capability" || exit 1
        "$python" "$here/triton_kernels.py" "$name" $capability > launch.txt 2> err.txt ||
            { echo "$name: $(tail -n 1 err.txt)"; failures=$((failures + 1)); cd ..; continue; }
        # A product of tf32 has an error of up to 2^-10 per operand, relative to the sum of magnitudes.
        case $name in
        matmul_tf32 | attention_f32) tolerance=4e-3 ;;
        *) tolerance= ;;
        esac
        "$RUNG" check "$name.ptx" --launch "$(sed -n 1p launch.txt)" --expect "$(sed -n 2p launch.txt)" \
            ${tolerance:+--tolerance $tolerance} --json > out.json 2> err.txt
        if [ $? -gt 1 ]; then
            echo "$name: $(cat err.txt)"
            failures=$((failures + 1))
        else
            "$python" - "$name" $capability "${tolerance:-default}" << 'EOF' || failures=$((failures + 1))
import json, sys
name, capability, tolerance = sys.argv[1:]
result = json.load(open("out.json"))
elements = sum(array["elements"] for array in result["expected"])
wrong = sum(array["wrong"] for array in result["expected"])
difference = max(array["largest_difference"] for array in result["expected"])
print(f"{name:18} sm_{capability:3} {elements:8} {wrong:6} {len(result['findings']):9} {difference:10.2e}  {tolerance}")
for finding in result["findings"]:
    print(f"    {finding['file']}:{finding['line']}: {finding['kind']}: {finding['text']}")
sys.exit(result["cases"] != 1 or wrong > 0 or len(result["findings"]) > 0)
EOF
        fi
        cd ..
    done
done
exit $((failures > 0))
