#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pages of large results: nothing is dropped or merged without a word.
. "$(dirname "$0")/report.sh"

# Two runs of one kernel whose parameters differ only at their end are two rows.
python3 - "$RUNG_SOURCE/results/xeon-pocl/bench.json" << 'PYTHON'
import copy, json, sys
data = json.load(open(sys.argv[1]))
row = next(row for row in data["results"] if row["verified"] and row["kernel"].startswith("04"))
def rows(changes):
    out = []
    for change in changes:
        one = copy.deepcopy(row)
        one.update(change)
        out.append(one)
    return out
def write(name, results):
    data["results"] = results
    json.dump(data, open(name, "w"))
long = ",".join("PARAMETER_%02d=%d" % (i, i) for i in range(12))
write("ends.json", rows([{"params": long + ",LAST=%d" % i, "gflops": 100 + i} for i in range(3)]))
write("types.json", rows([{"dtype": "f32", "batch": i + 1, "params": "TILE=%d" % i, "gflops": 100 + i} for i in range(60)]))
write("series.json", rows([{"params": "TILE=%d" % i, "m": size, "n": size, "k": size, "gflops": 100 + i}
                           for i in range(20) for size in (64, 128, 256, 512)]))
write("wide.json", rows([dict({"field_%03d" % i: i for i in range(200)}, params="TILE=%d" % j) for j in range(2)]))
write("texts.json", rows([{"params": "TILE=%d" % i, "note": 600 * "x" + str(i)} for i in range(2)]))
PYTHON
expect 0 "long parameters" ends.json -o page.html --charts charts
rows=$(cat charts/ladder*.csv | grep -c PARAMETER_00)
[ "$rows" -eq 3 ] || fail "of three rows with long parameters $rows are left"
expect 0 "many groups" types.json -o page.html
grep -q "shows 40 of 60;" page.html || fail "60 single rows: the page does not say how many are drawn"
expect 0 "many series" series.json -o page.html
grep -q "shows 16 of 20 kernels;" page.html || fail "20 series: the page does not say how many are drawn"
expect 0 "many fields" wide.json -o page.html
grep -q "more than 128 fields" page.html || fail "200 fields: the page does not say that some are left out"
expect 0 "long texts" texts.json -o page.html
grep -q "xx1</td>" page.html || fail "two texts that differ at their end are shown as one"

# Explanations of more kernels than are drawn.
python3 - "$RUNG_SOURCE/results/explain/sm_86.json" << 'PYTHON'
import copy, json, sys
data = json.load(open(sys.argv[1]))
data["kernels"] = [dict(copy.deepcopy(data["kernels"][3]), kernel="k%03d" % i) for i in range(300)]
json.dump(data, open("explained.json", "w"))
PYTHON
expect 0 "many explanations" explained.json -o page.html
grep -q "shows 40 of 256;" page.html || fail "300 explanations: the page does not say how many are drawn"
grep -q "44 more rows" page.html || fail "300 explanations: the page does not say that rows are left out"
exit $bad
