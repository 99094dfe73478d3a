#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `rung explain --all --json`: every kernel is there with every field, the ladder rises as it
# should, and 04, 05, 08, 09, 10, 12 and 14 are at the conflict-free minimum.
set -u
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
RUNG_NVDISASM=$(ls -d "$RUNG_TEST_TOOLS"/python/lib/python3*/site-packages/nvidia/cu13/bin/nvdisasm 2> /dev/null | head -n 1)
export RUNG_NVDISASM
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$RUNG" explain --all --arch sm_86 --json --quiet > "$out"
code=$?
[ $code -eq 77 ] && exit 77
[ $code -eq 0 ] || { echo "rung explain exits with $code"; exit 1; }
# Python, since what reads JSON in CI is Python's.
python3 - "$out" << 'PYTHON'
import json, sys
rows = {row["kernel"][:2]: row for row in json.load(open(sys.argv[1]))["kernels"]}
fields = """kernel params arch sectors_per_request sectors_ideal wavefronts_per_request wavefronts_ideal registers
shared_bytes spills occupancy math_share bound predicted_gflops""".split()
wrong = []
def check(what, good):
    if not good:
        wrong.append(what)
check("all kernels: %s" % sorted(rows), sorted(rows) == ["%02d" % i for i in range(1, 13)] + ["14"])
for name, row in rows.items():
    for field in fields:
        check("%s has %s" % (name, field), row.get(field) is not None)
    check("%s does not spill" % name, row["spills"] == 0)
# A warp of 01 with BLOCK = 16 reads 16 rows of A, a sector each, and two columns of B, which stand
# in one sector: 17 sectors in two requests, and nothing else matters beside the k of 4096.
check("01: %.3f sectors" % rows["01"]["sectors_per_request"], abs(rows["01"]["sectors_per_request"] - 8.5) < 0.01)
# One of 02 reads one element of A and 32 side by side of B: 5 sectors in two.
check("02: %.3f sectors" % rows["02"]["sectors_per_request"], abs(rows["02"]["sectors_per_request"] - 2.5) < 0.01)
for name in ("02", "04", "05", "08", "09", "12", "14"):
    check("%s asks for no sector too many" % name, rows[name]["sectors_per_request"] < 1.001 * rows[name]["sectors_ideal"])
for name in ("04", "05", "08", "09", "10", "12", "14"):
    check("%s meets no bank twice" % name, rows[name]["wavefronts_per_request"] < 1.0001 * rows[name]["wavefronts_ideal"])
check("07 does", rows["07"]["wavefronts_per_request"] > 1.2 * rows["07"]["wavefronts_ideal"])
for low, high in (("01", "02"), ("03", "02"), ("02", "04"), ("04", "05"), ("05", "06"), ("06", "07"), ("07", "08"), ("07", "09")):
    check("%s is predicted to be faster than %s" % (high, low), rows[high]["predicted_gflops"] > rows[low]["predicted_gflops"])
check("none above its peak", all(row["predicted_gflops"] <= row["peak_gflops"] * 1.0001 for row in rows.values()))
print("\n".join("wrong: " + what for what in wrong))
sys.exit(1 if wrong else 0)
PYTHON
