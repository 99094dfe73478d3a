# SPDX-License-Identifier: Apache-2.0
# Batches, epilogues, types and shares of k on the command line: asked for, told of in
# the log in words that ask for the same again, and refused with a reason.
rung verify --device opencl --m 1 > /dev/null 2>&1 || exit 77
counts='[.cases, .wrong, .skipped]'
rung verify --device opencl --kernels 07 --params tiny --dtype f16:f32 --m 9 --n 7 --k 5 --batch 3 \
    --epilogue bias_col,gelu,residual --json | jq -c "$counts"
rung verify --device opencl --kernels 07 --params tiny --m 9 --k 64 --splits 3 --repeat 2 --json | jq -c "$counts"
rung verify --device opencl --kernels 07 --params tiny --m 5 --batch 4 --scattered --json | jq -c "$counts"
rung verify --device opencl --kernels 07 --params tiny --suite edges --every 9 --batch 2 --json | jq -c "$counts"

# A kernel that cannot says so and runs nothing.
try rung verify --device opencl --kernels 04 --params tiny --m 4 --epilogue relu --json | grep -E 'skipped|exit' | sort -u
try rung verify --device opencl --kernels 04 --params tiny --m 4 --splits 2 --json | grep -E 'why|exit' | sort -u
try rung verify --device cpu --kernels 01 --m 4 --k 40 --splits 2 --json | grep -E 'why|exit' | sort -u

# The log's own command runs the same problem.
line=$(RUNG_VERBOSE=1 rung verify --device opencl --kernels 07 --params tiny --dtype bf16 --m 6 --n 4 --k 40 \
           --batch 2 --splits 2 --compute tf32 --epilogue bias_row,relu 2>&1 | grep again: | head -n 1)
sed -E 's/[0-9.]+ ms/T ms/; s/opencl:[0-9]/opencl/g' <<< "$line"
again=$(sed -E 's/.*again: (rung verify [^;]*);.*/\1/' <<< "$line")
$again --json | jq -c "$counts"

# A batch in one piece of work and as single calls.
rung bench --device opencl --kernels 07 --m 4 --batch 50 --epilogue relu --calls --budget 0.02 --json |
    jq -c '.results[] | [.kernel, .batch, .epilogue, .compute, .splits, .verified, (.over_calls > 0)]'
rung bench --device opencl --kernels 07 --params tiny --dtype bf16,f64,i8 --sizes 40 --budget 0.02 --json |
    jq -c '.results[] | [.dtype, .verified]'

# Kernels for matrix engines run in software here: to be verified, not to be timed.
rung verify --device opencl --kernels 11,12 --params tiny --dtype f16,tf32 --m 9 --json |
    jq -c '.by_kernel[] | [.kernel, .dtype, .compute, .cases, .wrong, .skipped]'
try rung verify --device opencl --kernels 12 --params tiny --m 9 --json | grep -E 'why|exit' | sort -u
try rung bench --device opencl --kernels 12 --dtype f16 --sizes 64
rung bench --device opencl --kernels 07 --params tiny --dtype f32,tf32 --sizes 40 --budget 0.02 --json |
    jq -c '.results[] | [.dtype, .compute, .computed, .verified]'
rung kernels 11 --device opencl --json | jq -c '.kernels[] | [.compute, .engine, .architectures]'
