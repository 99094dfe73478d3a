# SPDX-License-Identifier: Apache-2.0
# Types whose B is quantized: their names, the commands that take them, and what verify and bench report.
try rung verify --device cpu --dtype 'f32*q9'
try rung verify --device cpu --dtype 'f32*q8_0:f16'
try rung verify --device cpu --dtype 'f32*q8_0' --m 33
try rung bench --device cpu --dtype 'f32,f32*q8_0' --sizes 64,1x64x72
try rung tune --device cpu --dtype 'f32*q8_0'
try rung explain 07 --dtype 'f32,f32*q4_0'
try rung multiply a.npy b.npy -o c.npy --dtype 'f16*q4_0'
rung kernels 10 --device cpu --json | jq -r '.kernels[0].dtypes' | tr , '\n' | grep '^f32\*q'

# Every case of every kernel that runs here is within the bound, in each mode. A kernel may need instructions that are missing.
for mode in strict bf16x1 q8; do
    rung verify --device cpu --dtype 'f32*q8_0,bf16*q4_0:f32' --compute $mode --suite quick --json |
        jq -c '[.compute, .wrong, .cases > 500, ([.by_kernel[] | select(.skipped == 0) | .dtype] | unique)]'
done
rung verify --device cpu --dtype 'f32*q8_0,f32*q4_0' --suite extras --kernels 10 --packed --json |
    jq -c '[.by_kernel[] | [.kernel, .dtype, .wrong, .skipped, .cases > 50]]'
# B is dense along k by default, in one problem as in a batch; strides are those of the elements.
for options in "--batch 4 --epilogue bias_row,gelu" "--b-strides 1,128,32 --alpha 0.5 --beta 2" "--scattered --batch 3"; do
    rung verify --device cpu --kernels rung_gemm --dtype 'f32*q4_0' --m 3 --n 5 --k 96 $options | tail -n 1
done
rung verify --device cpu --kernels rung_gemm --dtype 'f32*q4_0' --m 3 --n 5 --k 96 --b-strides 1,100 | grep -c 'must be multiples of that'

rung bench --device cpu --kernels 10 --dtype 'f32*q8_0,f16*q4_0' --sizes 1x256x512,40x64x96 --threads 1 --budget 0.02 --json > out.json
echo "exit $?"
jq -c '.results[] | [.kernel, .dtype, .m, .n, .k, .compute, .computed, .verified, .gflops > 0, .probe == "fma f32", .percent_of_probe > 0,
                     .b_gbytes_per_second > 0]' out.json
# The rate is that of the blocks: 34 bytes per 32 elements.
jq -c '.results[] | select(.m == 1 and .dtype == "f32*q8_0") | .b_gbytes_per_second * .median_ns / (256 * 512 * 34 / 32) | . > 0.999 and . < 1.001' out.json
rung bench --device cpu --kernels 10 --dtype 'f32*q8_0' --sizes 2x64x64 --compute q8 --cache cold --inputs normal --seed 1 --threads 1 --budget 0.02 --json |
    jq -c '.results[] | [.compute, .computed, .verified]'
rung bench --device cpu --kernels 10 --dtype 'f32*q4_0' --sizes 8x64x64 --batch 3 --epilogue bias_col --threads 1 --budget 0.02 --csv | cut -d, -f 2,5-9

# Without environment variables that lead to GGML, it is found only if the system's linker finds it. rung is measured in both
# cases.
HOME=/nonexistent VIRTUAL_ENV= CONDA_PREFIX= MKLROOT= RUNG_CPU_VENDOR= \
    rung bench --device cpu --peers all --kernels 10 --dtype 'f32*q8_0' --sizes 1x64x64 --threads 1 --budget 0.02 --json |
    jq -r '.results[] | if .kernel == "10_pipeline" then [.kernel, .verified]
           elif .verified then [.kernel, false, "00_vendor:ggml: libggml.so.0 of GGML was not found; install it (pip install llama-cpp-python), or set RUNG_CPU_VENDOR=/path/to/library.so"]
           else [.kernel, .verified, .why_not] end | @tsv'
