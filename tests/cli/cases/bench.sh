# SPDX-License-Identifier: Apache-2.0
# The fields that others rely on, a wrong kernel that gets no time, skipping with a
# reason, and the short form.
rung verify --device opencl --m 1 > /dev/null 2>&1 || exit 77
rung bench --device opencl --kernels 04,07 --params tiny --sizes 32 --dtype f32,i32 --budget 0.05 --json > out.json
echo "exit $?"
jq -c '[.schema, (.machine | has("processor")), (.results | length),
        (.results | map(has("device") and has("kernel") and has("params") and has("dtype") and has("m")
         and has("n") and has("k") and has("verified") and has("median_ns") and has("min_ns")
         and has("ci95_ns") and has("samples") and has("gflops") and has("percent_of_vendor")
         and has("h2d_ns") and has("kernel_ns") and has("d2h_ns")) | all),
        (.results | map(.verified and .median_ns > 0 and .samples >= 5) | all)]' out.json
rung bench --device opencl --kernels 04 --params TILE=8,16 --m 16:48:16 --n 20 --budget 0.02 --csv | cut -d, -f 2-8 | head -n 4
sed 's/i < k; i++/i < k - 1; i++/' "$RUNG_SOURCE/src/simt/kernels/01_naive.cu" > wrong.cu
rung bench --device opencl --kernels wrong.cu --sizes 16 --json > out.json; echo "exit $?"
jq -c '.results[0] | [.verified, .median_ns, .gflops, (.why_not | test("WRONG"))]' out.json
rung bench --device cpu --kernels 01 --sizes 32,2000 --budget 0.01 --json |
    jq -c '.results | map([.m, .verified, (.why_not | test("one run would take about"))])'
rung bench 4 256 --budget 0.01 --json | jq -c '[.results[] | select(.kernel == "04_shared") | .m]'
try rung bench --device opencl --sizes 12x
try rung bench --device opencl --kernels 04 --params TILE=64
# A parameter that no chosen kernel has is an error; one that some have applies to those.
try rung bench --device opencl --kernels 04 --params TYLE=16 --sizes 32 --budget 0.02
try rung bench --device opencl --kernels 04 --params tinny --sizes 32 --budget 0.02
try rung bench --device opencl --kernels 04 --params TILE=16,64 --sizes 32 --budget 0.02
try rung bench --device opencl --kernels rung_gemm --params TILE=16 --sizes 32 --budget 0.02
rung bench --device opencl --kernels 04,06 --params TILE=16,BK=4 --sizes 32 --budget 0.02 --csv |
    cut -d '"' -f 2 | tail -n 2
try rung verify --device opencl --kernels 04 --params TYLE=16 --m 8
rung verify --device opencl --kernels 04,06 --params TILE=16,BK=4 --m 8 --json | jq -c '.by_kernel[].params'
try rung explain 04 --params TYLE=16
try rung explain --all --params TYLE=16
