#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clean_kernels.sh [--update | --every N] - runs kernels that have no known bug under all checks and counts false alarms.
#
# The kernels are those of tests/check/clean, of the GEMM corpus (tests/plain_cuda/gemm), of CUB, of Triton and of CUTLASS.
# The table must be results/plain_cuda/clean.tsv; --update writes it. A finding that `cub.sh` knows to be true is no false
# alarm. Triton is a download of about 200 MB, and nvcc needs about ten minutes for CUTLASS.
#
# With --every N, it takes every N-th kernel of tests/check/clean only, and their rows must be rows of the table.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tests=$(dirname "$here")
table=$RUNG_SOURCE/results/plain_cuda/clean.tsv
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
export LC_ALL=C
failures=0

# Prints the row of one file of tests/check/clean. Findings are "failed" if the kernel did not run.
check_file()
{
    local name
    name=$(basename "$1")
    (cd "$here/clean" && timeout 120 "$RUNG" check --json "$name" 2> /dev/null) | awk -v OFS='\t' -v name="${name%.cu}" '
        /^  "cases"/ { cases = $2 + 0 }
        /^  "findings"/ { inside = 1 }
        inside && /^      "kind"/ { findings++ }
        END { print "tests/check/clean", name, cases + 0, inside ? findings + 0 : "failed", inside ? findings + 0 : 1, "" }'
}

own_kernels()
{
    printf '%s\n' "$here"/clean/*.cu | awk -v every="$1" 'NR % every == 0' |
        xargs -P "${RUNG_JOBS:-$(nproc)}" -n 1 "$BASH" "$0" --file | sort
}

# run NAME SCRIPT ARGUMENT... - runs the script of another test. Its output is in $work/NAME.
run()
{
    local name=$1
    shift
    "$BASH" "$@" > "$work/$name" 2> "$work/$name.error" && return
    echo "$1 fails:"
    cat "$work/$name" "$work/$name.error"
    return 1
}

# The other scripts print one line per kernel. These functions turn the lines into rows.
gemm_rows()
{
    awk -F '\t' -v OFS='\t' '!/^#/ { print "GEMM corpus", $1 ": " $2, $5 + 0, $6, $6, "" }' "$work/gemm"
}

cub_rows()
{
    awk -v OFS='\t' '/^(block|warp)_/ { note = $5 ? "the finding is true, see README.md" : ""
        print "CUB", $1, 1, $4 + $5, $4, note }' "$work/cub"
}

triton_rows()
{
    awk -v OFS='\t' '$2 ~ /^sm_/ { if (!cases[$1]++) names[++count] = $1; findings[$1] += $5 }
        END { for (i = 1; i <= count; i++) {
            name = names[i]
            print "Triton", name, cases[name], findings[name], findings[name], "one case per architecture" } }' "$work/triton"
}

cutlass_rows()
{
    awk -v OFS='\t' '/^sm_/ { findings = $NF; NF -= 5; gsub(OFS, " "); print "CUTLASS" OFS $0 OFS 1, findings, findings, "" }' \
        "$work/cutlass"
}

# Adds one line per source and one for all sources.
with_summary()
{
    awk -F '\t' -v OFS='\t' '
        { print }
        NR > 1 {
            if (!kernels[$1]++) sources[++count] = $1
            cases[$1] += $3; findings[$1] += $4; alarms[$1] += $5
        }
        END {
            for (i = 1; i <= count; i++) {
                source = sources[i]
                print "# " source, kernels[source] " kernels", cases[source], findings[source], alarms[source], ""
                all += kernels[source]; all_cases += cases[source]
                all_findings += findings[source]; all_alarms += alarms[source]
            }
            print "# all", all " kernels", all_cases, all_findings, all_alarms, ""
        }'
}

if [ "${1:-}" = --file ]; then
    check_file "$2"
    exit
fi
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
"$RUNG" check "$here/clean/vector_add.cu" > "$work/first" 2>&1
if [ $? -gt 1 ]; then
    cat "$work/first"
    echo "rung check does not run CUDA files here; NVRTC is needed"
    exit 77
fi
if [ "${1:-}" = --every ]; then
    own_kernels "$2" > "$work/rows"
    [ "$(wc -l < "$work/rows")" -gt 5 ] || { echo "hardly a kernel was checked"; exit 1; }
    ! grep -vxF -f "$table" "$work/rows" || { echo "these rows are not in $table"; exit 1; }
    exit
fi

run cutlass "$tests/emulator/cutlass.sh" &
own_kernels 1 > "$work/own"
run gemm "$tests/plain_cuda/verify_gemm.sh" "$work/gemm.tsv" && mv "$work/gemm.tsv" "$work/gemm" || failures=1
run cub "$here/cub.sh" || failures=1
run triton "$here/triton.sh" || failures=1
wait $! || failures=1
{
    printf 'source\tkernel\tcases\tfindings\tfalse alarms\tnote\n'
    cat "$work/own"
    gemm_rows
    cub_rows
    triton_rows
    cutlass_rows
} | with_summary > "$work/table"
grep '^#' "$work/table"
for source in "tests/check/clean" "GEMM corpus" CUB Triton CUTLASS; do
    grep -q "^# $source" "$work/table" || { echo "no kernel of $source was checked"; failures=1; }
done
awk -F '\t' 'NR > 1 && !/^#/ && $5 != 0 { print "false alarm: " $0; found = 1 } END { exit found }' "$work/table" || failures=1
if [ "${1:-}" = --update ]; then
    cp "$work/table" "$table"
else
    diff "$table" "$work/table" || { echo "the table differs; update it with clean_kernels.sh --update"; failures=1; }
fi
exit $failures
