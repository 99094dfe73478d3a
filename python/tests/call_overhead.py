#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""call_overhead.py [--seconds S] [SIZE ...] - compares rung.matmul with the C call rung_gemm.

Compiles a C function that calls rung_gemm in a loop. Runs this loop and a loop over rung.matmul
alternately, in CPU time with one thread. Prints a table: the medians per call, the median of the
differences of neighbours, and the median of their quotients. Needs a C compiler.
"""

import argparse
import ctypes
import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["RUNG_THREADS"] = "1"
here = pathlib.Path(__file__).resolve().parent
if importlib.util.find_spec("rung") is None:
    sys.path.insert(0, str(here.parent))

import numpy

import rung
from rung import _library

SOURCE = r"""
#include <rung/rung.h>
#include <time.h>
double c_call_ns(int type, long n, const void *a, const void *b, void *c, long count)
{
    struct timespec t0, t1;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t0);
    for (long i = 0; i < count; i++)
        if (rung_gemm(NULL, 1.0, rung_matrix_of((rung_type)type, n, n, a), rung_matrix_of((rung_type)type, n, n, b),
                      0.0, rung_matrix_of((rung_type)type, n, n, c)) != RUNG_OK)
            return -1;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t1);
    return ((double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec)) / (double)count;
}
"""


def compile_loop(folder):
    source = pathlib.Path(folder, "loop.c")
    source.write_text(SOURCE)
    library = _library.library_path()
    subprocess.run(
        [
            os.environ.get("CC", "cc"),
            "-O2",
            "-shared",
            "-fPIC",
            "-I",
            str(here.parents[1] / "include"),
            str(source),
            "-o",
            f"{folder}/loop.so",
            library,
            f"-Wl,-rpath,{os.path.dirname(library)}",
        ],
        check=True,
    )
    function = ctypes.CDLL(f"{folder}/loop.so").c_call_ns
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_int, ctypes.c_long] + [ctypes.c_void_p] * 3 + [ctypes.c_long]
    return function


def python_call_ns(a, b, out, count):
    multiply, repeat = rung.matmul, range(count)
    start = time.thread_time_ns()
    if out is None:
        for _ in repeat:
            multiply(a, b)
    else:
        for _ in repeat:
            multiply(a, b, out)
    return (time.thread_time_ns() - start) / count


def compare(function, size, dtype, with_out, seconds):
    kind = {"float32": 1, "float64": 2}[dtype]
    a = numpy.ones((size, size), dtype)
    b, c = a.copy(), a.copy()
    addresses = [x.ctypes.data for x in (a, b, c)]
    out = c if with_out else None
    function(kind, size, *addresses, 3)
    python_call_ns(a, b, out, 3)
    count = max(1, int(5e6 / function(kind, size, *addresses, 3)))
    pairs = []
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(pairs) < 11:
        if len(pairs) % 2:  # neither has the advantage of being second
            called = function(kind, size, *addresses, count)
            pairs.append((called, python_call_ns(a, b, out, count)))
        else:
            multiplied = python_call_ns(a, b, out, count)
            pairs.append((function(kind, size, *addresses, count), multiplied))
    return (
        statistics.median(c for c, _ in pairs),
        statistics.median(p for _, p in pairs),
        statistics.median(p - c for c, p in pairs),
        statistics.median(c / p for c, p in pairs),
        len(pairs),
    )


def main():
    parser = argparse.ArgumentParser(description="compares rung.matmul with the C call rung_gemm")
    parser.add_argument("sizes", nargs="*", type=int, default=[8, 64, 256, 512, 1024])
    parser.add_argument("--seconds", type=float, default=3)
    arguments = parser.parse_args()
    print(f"# rung {rung.__version__}, NumPy {numpy.__version__}; one thread, CPU time; load {os.getloadavg()[0]:.2f}")
    print("size\ttype\tout\tc_ns\tpython_ns\tdifference_ns\tspeed_ratio\tsamples")
    with tempfile.TemporaryDirectory() as folder:
        function = compile_loop(folder)
        for size in arguments.sizes:
            for dtype in ("float32", "float64"):
                for with_out in (False, True):
                    row = compare(function, size, dtype, with_out, arguments.seconds)
                    print(
                        f"{size}\t{dtype}\t{'given' if with_out else 'new'}\t{row[0]:.0f}\t{row[1]:.0f}\t{row[2]:.0f}"
                        f"\t{row[3]:.4f}\t{row[4]}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
