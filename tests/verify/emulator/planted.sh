#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# planted.sh [PATTERN [EVERY]] - plants every bug of ../oclgrind/planted.txt and of planted.txt, which has the bugs of kernels
# that OpenCL cannot run, or those whose names begin with PATTERN, or every EVERY-th of them, into a
# kernel and verifies the file on the emulated GPU with all checks. Each bug must be caught, by a finding or by a wrong
# result, and the kernels without bugs must pass. Nothing else checks: neither OpenCL nor Oclgrind runs. Prints a table;
# results/emulator/planted.tsv is its output. The whole list must take less than 120 s of one processor.
#
# NVRTC does not know the architecture of the emulated GPU and compiles to PTX for the one before, which the emulator
# runs: 130 becomes compute_120 or later, and 79 becomes compute_75, which EMULATED=75 stands for on OpenCL. The problems
# of planted.txt are few, for Oclgrind. A bug that they do not show is looked for with the whole suite.
set -u
here=$(dirname "$(realpath "$0")")
RUNG_SOURCE=${RUNG_SOURCE:-$(realpath "$here/../../..")}
RUNG=${RUNG:-$RUNG_SOURCE/build/release/rung}
RUNG_BUILD=${RUNG_BUILD:-$(dirname "$RUNG")}
export VIRTUAL_ENV=${RUNG_TEST_TOOLS:-$RUNG_SOURCE/build/tools}/python
export LD_LIBRARY_PATH=$RUNG_BUILD/driver RUNG_EMULATED_CHECKS=all RUNG_EMULATED_THREADS=1
[ -e "$RUNG_BUILD/driver/libcuda.so.1" ] || { echo "the emulated driver was not built (it needs cuda.h)"; exit 77; }
kernels=$RUNG_SOURCE/src/simt/kernels
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache # compile everything in this run

# verify FILE ARGUMENT...: sets code, wrong and findings.
verify() {
    "$RUNG" verify --device cuda --json --quiet --kernels "$@" > "$work/out" 2> "$work/err"
    code=$?
    if [ $code -gt 1 ]; then
        grep -q "libnvrtc" "$work/out" "$work/err" && { echo "NVRTC is not installed"; exit 77; }
        echo "rung verify $* exited with $code"; cat "$work/out" "$work/err"; exit 1
    fi
    wrong=$(jq .wrong "$work/out")
    findings=$(grep -c "^rung: emulated GPU: " "$work/err")
}

failed=0
declare -A is_healthy
printf 'bug\tkernel\tparams\twrong_or_failed\tfindings\tfirst_finding\n'
while read -r name kernel params script; do
    IFS=: read -r kernel header <<< "$kernel"
    IFS=/ read -r params suite dtype compute <<< "$params"
    IFS=@ read -r suite every <<< "$suite"
    export RUNG_EMULATED_ARCH=130
    [[ $params == *EMULATED=75* ]] && RUNG_EMULATED_ARCH=79
    grep -q "^// takes: .* from sm_90a" "$kernels/$kernel.cu" && RUNG_EMULATED_ARCH=90
    params=${params//,CHECKED=1/} params=${params//,EMULATED=75/}
    mode=()
    [ -n "${compute:-}" ] && mode=(--compute "$compute")
    what=("${mode[@]}" --params "$params" --suite "${suite:-edges}" --dtype "${dtype:-f32}" --every "${every:-6}")
    source=$kernels/$kernel.cu
    if [ -n "${header:-}" ]; then
        sed "$script" "$kernels/$header" > "$work/$header"
        sed -e "/^#include \"$header\"/{r $work/$header" -e 'd}' "$source" > "$work/planted.cu"
        cmp -s "$kernels/$header" "$work/$header" && { echo "$name: the script changes nothing"; failed=1; continue; }
    else
        sed "$script" "$source" > "$work/planted.cu"
        cmp -s "$source" "$work/planted.cu" && { echo "$name: the script changes nothing"; failed=1; continue; }
    fi
    if [ -z "${is_healthy[$kernel ${what[*]}]:-}" ]; then
        verify "$source" "${what[@]}"
        if [ $code -ne 0 ] || [ "$findings" -ne 0 ]; then
            echo "$kernel without a bug is reported, with ${what[*]}"; cat "$work/out"; head -n 5 "$work/err"; failed=1
        fi
        is_healthy[$kernel ${what[*]}]=1
    fi
    verify "$work/planted.cu" "${what[@]}"
    [ $code -ne 0 ] || [ "$findings" -ne 0 ] || verify "$work/planted.cu" "${what[@]::${#what[@]}-2}" --every 1
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$kernel" "$params" "$wrong" "$findings" \
        "$(grep -m 1 "^rung: emulated GPU: " "$work/err" | sed -E 's/^rung: emulated GPU: ([a-z-]+) .*/\1/')"
    if [ $code -eq 0 ] && [ "$findings" -eq 0 ]; then echo "$name: NOT CAUGHT"; failed=1; fi
done < <(cat "$here/../oclgrind/planted.txt" "$here/planted.txt" | grep -E "^(${1:-[a-z]})" |
    awk -v every="${2:-1}" 'NR % every == 1 % every')
exit $failed
