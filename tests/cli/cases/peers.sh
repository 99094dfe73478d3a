# SPDX-License-Identifier: Apache-2.0
# Other libraries on the CPU: what is said of wrong words, of a library that is not there, and the
# fields that others rely on. No library need be installed for it.
try rung bench --device cpu --peers gotoblas
try rung bench --device cpu --peers mkl,
try rung bench --device cpu --threads 0
try rung bench --device cpu --threads many
try rung bench --device cpu --threads 2 --kernels rung_gemm
try rung bench --device cpu --sizes 1x2
rung kernels --device opencl > /dev/null 2>&1 && rung verify --device opencl --m 1 > /dev/null 2>&1 &&
    rung bench --device opencl --peers all --kernels 01 2>&1 | head -n 1 ||
    echo "rung: --peers and --threads require --device cpu"

export RUNG_CPU_VENDOR=gotoblas
rung verify --device cpu --kernels 00 --m 4 --json | jq -r '.by_kernel[] | [.cases, .skipped, .why_skipped] | @tsv'
export RUNG_CPU_VENDOR=/nowhere/libblas.so
rung bench --device cpu --kernels 00 --sizes 16 --json > out.json; echo "exit $?"
jq -r '.results[] | [.kernel, .verified, .why_not] | @tsv' out.json | sed 's/opened: .*/opened: .../'
# Nothing is set for libraries that are not measured.
rung bench --device cpu --kernels 00,01 --sizes 16 --threads 2 --budget 0.02 --json | jq -c '.settings'
unset RUNG_CPU_VENDOR
rung bench --device cpu --kernels 00_vendor:openblas,01 --sizes 16 --threads 2 --budget 0.02 --json |
    jq -c '[.settings[].name | select(test("^(KMP|GOMP|BLIS)_"))]'
# MKL is nowhere, unless this machine has it where every program finds it.
HOME=/nonexistent VIRTUAL_ENV= CONDA_PREFIX= MKLROOT= rung verify --device cpu --kernels 00_vendor:mkl --m 4 --json |
    jq -r '.by_kernel[] | if .skipped == 0 then "00_vendor:mkl: libmkl_rt.so.3 of MKL was not found; install it (pip install mkl), or set RUNG_CPU_VENDOR=/path/to/library.so"
           else .why_skipped end'

rung bench --device cpu --kernels 01 --sizes 24,3x5x7 --threads 1 --budget 0.02 --json > out.json; echo "exit $?"
jq -c '[.settings, (.results | map([.m, .n, .k, .time, .threads, .mode, .library, .doubt, .best_peer, .percent_of_best_peer]))]' out.json
jq -c '[.results[] | .verified and .median_ns > 0 and (.m > 3 or .repeats > 1) and .samples >= 1 and .probe == "fma f32"
        and .probe_gflops > 0 and .percent_of_probe > 0 and .fast_samples == 0 and .slow_samples == 0
        and .fast_median_ns == 0 and .slow_median_ns == 0] | all' out.json
rung bench --device cpu --kernels 01 --sizes 16 --threads 2 --budget 0.02 --json | jq -c '.results[] | [.time, .verified]'
rung bench --device cpu --kernels 01 --sizes 16 --dtype f64,bf16:f32,i8,bf16x3 --threads 1 --budget 0.02 --json |
    jq -c '.results[] | [.dtype, .compute, .verified, (.probe | test("^(amx|dot|fma) (f64|f32|bf16|i8)$")), (.mode | test("^(-|fast|slow)$")),
           (.mode == "-" or (.probe | test("amx")))]'
rung bench --device cpu --kernels 01 --sizes 16 --threads 1 --budget 0.02 --csv | cut -d, -f 2,4-7,22-23
rung bench --device cpu --kernels 01 --sizes 16 --threads 1 --budget 0.02 | sed -n '3,4p' | sed -E 's/peak [0-9]+/peak N/; s/  +/  /g'
# Each row has its threads, and one sample has no interval.
rung bench --device cpu --kernels 01 --sizes 16 --threads 1 --budget 0.0000001 2> /dev/null | sed -n '5p' | awk '{ print $1, $2, $4, $NF }'
rung help bench | grep -E 'peers|threads'
