#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A tool that is not installed never changes what `rung explain` concludes: without its inputs a prediction is
# withheld in every output, and each missing tool is named once, with what to install. 77 without NVRTC.
set -u
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
wrong=0
fail() { echo "wrong: $*"; wrong=1; }
has() { grep -q -- "$2" "$1" || { fail "no \"$2\" in $1:"; head -c 2000 "$1"; }; }
lacks() { ! grep -q -- "$2" "$1" || { fail "\"$2\" in $1:"; head -c 2000 "$1"; }; }
once() { [ "$(grep -c -- "$2" "$1")" -eq 1 ] || { fail "\"$2\" is not in $1 exactly once:"; head -c 2000 "$1"; }; }

# ---- Without nvdisasm: counts and occupancy, but no prediction
export RUNG_NVDISASM=$work/none
timeout 120 "$RUNG" explain 04 --m 1024 --quiet > text 2>&1
[ $? -ne 77 ] || exit 77
has text "counted by the emulator"
lacks text "^Predicted"
lacks text "^Next"
lacks text "GFLOPS"
once text "pip install nvidia-cuda-nvdisasm"
has text "Not predicted: nvdisasm is missing"
timeout 120 "$RUNG" explain 04 --m 1024 --quiet --json > without.json || fail "explain --json fails without nvdisasm"
[ "$(jq -c '[.kernels[0] | .predicted_gflops, .bound, .clocks_a_block.issue]' without.json)" = '[null,"",null]' ] ||
    fail "a prediction without its inputs in JSON: $(jq -c '.kernels[0]|[.predicted_gflops,.bound]' without.json)"
[ "$(jq -r '.missing_tools[].tool' without.json)" = nvdisasm ] || fail "missing_tools: $(jq -c .missing_tools without.json)"
jq -e '.missing_tools[0].install | contains("pip install")' without.json > /dev/null || fail "missing_tools has no install"

# A table of reported values: neither a prediction nor a correlation.
printf 'machine\tkernel\tparams\tdtype\tsize\tgflops\tdocument\tnote\n' > reported.tsv
printf 'rtx3070-laptop\t%s\t-\tf32\t256\t%s\tx\t-\n' 04 1000 05 1100 >> reported.tsv
timeout 120 "$RUNG" explain --compare reported.tsv --quiet > compared 2>&1
lacks compared "rank correlation"
once compared "pip install nvidia-cuda-nvdisasm"
[ "$(grep -c "	-	-	-	-	nvdisasm is missing" compared)" -eq 2 ] || { fail "rows of --compare"; cat compared; }

# The page: nothing to draw of it, and a file of an earlier version that predicted without the loop is not ranked.
timeout 60 "$RUNG" report without.json -o page.html > /dev/null || fail "report of an explanation without prediction"
lacks page.html "What is predicted for"
jq 'del(.kernels[0].predicted_from, .missing_tools) | .kernels[0].predicted_gflops = 869 | .kernels[0].peak_gflops = 16589 | .kernels[0].dram_bytes = 1e8 |
    .kernels += [.kernels[0] | .kernel = "05_padded" | .predicted_gflops = 944 | .not_taken_apart = "" |
                 .math_share = 0.3]' without.json > mixed.json
timeout 60 "$RUNG" report mixed.json -o page.html --charts charts > /dev/null || fail "report of a mixed file"
has page.html "What is predicted for"
has page.html "1 of 2 kernels has no complete prediction"
cat charts/*.csv > csv
lacks csv ",869"
has csv "944"

# ---- Without Oclgrind and OpenCL: the counts need neither
RUNG_OCLGRIND=$work/none OCL_ICD_VENDORS=$work/none timeout 120 "$RUNG" explain 04 --m 256 --quiet > text 2>&1 ||
    fail "explain needs Oclgrind or OpenCL"
has text "global load   a"
lacks text "Oclgrind"
exit $wrong
