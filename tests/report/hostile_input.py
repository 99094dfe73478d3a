#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hostile_input.py FOLDER - result files that nobody should have written, for hostile_input.sh."""
import json
import os
import sys

folder = sys.argv[1]
machine = {"device": "opencl:0", "title": "a machine", "processor": "a processor", "compute_units": 2, "load": 0.5}


def row(**fields):
    base = {"device": "opencl:0", "kernel": "07_tile2d", "params": "BM=8,BN=8", "dtype": "f32", "m": 256, "n": 256, "k": 256, "batch": 1,
            "compute": "strict", "epilogue": "", "verified": True, "why_not": "", "median_ns": 1000000, "min_ns": 900000, "ci95_ns": 10000,
            "samples": 100, "gflops": 33.5, "h2d_ns": 1000, "kernel_ns": 1000000, "d2h_ns": 500}
    base.update(fields)
    return base


def write(name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
        json.dump(value, out)


def bench(name, rows, **more):
    write(name, {"schema": "rung-bench/1", "machine": machine, "results": rows, **more})


evil = "<script>alert(\"x\")</script>'&amp;]]>"
bench("script.json", [row(kernel=evil, params=evil, device=evil, gflops=i + 1.0, m=2 ** (i + 5), n=2 ** (i + 5), k=2 ** (i + 5)) for i in range(5)]
      + [row(kernel=evil + "2", verified=False, why_not=evil), row(kernel="\u0001\u007f\ufffe\u202e\U0001f600", dtype="f64")])
bench("huge.json", [row(kernel=f"{i:02}_k", gflops=10.0 ** (300 - 50 * i), m=2 ** 61, n=2 ** 61, k=2 ** 61, ci95_ns=2 ** 61, median_ns=2 ** 61 + 1,
                        probe_gflops=1e300) for i in range(1, 12)]
      + [row(kernel="07_tile2d", gflops=1e-300, m=1, n=1, k=1), row(kernel="08_vector", gflops=1e-300, m=2 ** 20, n=1, k=1)])
bench("zero.json", [row(gflops=0, m=0, n=0, k=0, ci95_ns=0), row(kernel="08_vector", gflops=0, h2d_ns=0, kernel_ns=0, d2h_ns=0),
                    row(kernel="09_warptile", gflops=0), row(kernel="00_vendor", gflops=0)])
bench("negative.json", [row(kernel=f"0{i}_k", ci95_ns=-5, min_ns=-1, h2d_ns=-100, d2h_ns=-7, probe_gflops=-3, samples=-1) for i in range(1, 6)])
bench("one.json", [row()])
bench("many.json", [row(kernel=f"k{i:03}_with_a_name", gflops=i + 1.5, m=s, n=s, k=s, h2d_ns=i) for i in range(200) for s in (64, 65, 66, 512)])
bench("long.json", [row(kernel="W" * 10000, params="P=" + "9" * 5000, gflops=g) for g in (1.0, 2.0, 3.0)]
      + [row(kernel="\u00e9" * 3000, epilogue="m" * 4000)])
bench("sweep.json", [row(params=f"BM={a},BN={b},SAME=1", gflops=a * b + 0.25) for a in (8, 16, 32, 128) for b in (8, 16, 64)])
bench("odd_params.json", [row(params=p, gflops=i + 1.0) for i, p in enumerate(["", "=", ",,,", "A", "A=", "=B", "A=1,A=2", "B=3,,A=4", "x" * 300 + "=1",
                                                                              "A=" + evil, "A=1,B=" + "y" * 300])])
bench("refused.json", [row(verified=False, why_not="it is wrong", median_ns=0, gflops=0)])
bench("stopped.json", [row(kernel=f"0{i}_k", gflops=i) for i in range(1, 5)], complete=False)
bench("empty.json", [])
bench("below_zero.json", [row(gflops=-5)])
write("tune.json", {"schema": "rung-tune/1", "machine": machine, "budget": 1e300, "results": [
    {"kernel": "07_tile2d", "params": evil, "dtype": "f32", "m": 64, "n": 64, "k": 64, "gflops": 1e300, "default_gflops": -1, "trials":
     [{"kernel": "07_tile2d", "params": f"BM={i},BN={i * 7 % 50}", "result": "timed", "ns": i - 2} for i in range(300)]},
    {"kernel": evil, "why": evil}, {}]})
write("explain.json", {"kernels": [
    {"kernel": f"{i:02}_k", "arch": evil, "machine": "rtx3090" if i < 6 else evil, "dtype": "f32", "m": 4096, "n": 4096, "k": 4096, "error": "",
     "predicted_gflops": 10.0 ** (i * 20 - 100), "peak_gflops": 10.0 ** (i * 3), "dram_bytes": 10.0 ** (300 - 30 * i), "registers": 1e300,
     "occupancy": -1e300, "findings": [{"file": evil, "line": -1, "text": evil}], "lines": [{"line": 1, "kind": evil}]} for i in range(12)]
    + [{"kernel": evil, "arch": "sm_86", "error": evil}, {}]})
write("peak.json", {"schema": "rung-peak/1", "machine": {"device": "cpu", "processor": "a processor", "title": "a processor"}, "results":
      [{"ceiling": "fma f32", "level": "", "threads": 2, "gflops": 1e300, "samples": 5}]
      + [{"ceiling": "read", "level": evil, "threads": 2, "bytes": 2 ** 60, "gb_s": 10.0 ** i} for i in range(-30, 30, 3)]})
write("foreign.json", {"a": [1, 2, 3]})
write("array.json", [1, 2])
write("verify.json", {"schema": "rung-verify/1", "cases": 3})
write("no_results.json", {"schema": "rung-tune/1", "results": 7})
with open(os.path.join(folder, "bytes.json"), "wb") as out:
    out.write(json.dumps({"schema": "rung-bench/1", "machine": machine, "results": [row(kernel="X@X"), row(kernel="Y@Y"), row(kernel="Z@Z")]})
              .encode().replace(b"X@X", b"\xff\xfe\x80").replace(b"Y@Y", b"\xc3\x28\xed\xa0\x80").replace(b"Z@Z", b"\xf0\x9f\x98"))
with open(os.path.join(folder, "deep.json"), "w", encoding="utf-8") as out:
    out.write("[" * 100000)
