# SPDX-License-Identifier: Apache-2.0
# Wrong words end in 2, with a sentence that helps.
try rung verfy
try rung help verfy
try rung devices nonsense
try rung verify --frobnicate
try rung devices --alpha 1
try rung verify --device gpu
try rung verify --device cpu:7
try rung verify --device cpu --kernels 99 | sed 's/it has .*/it has .../'
try rung verify --device cpu --kernels missing.cu
try rung verify --device cpu --params TILE=3
try rung verify --device cpu --suite huge
try rung verify --device cpu --every 0
try rung verify --device cpu --dtype f31
try rung verify --device cpu --n 3
try rung verify --device cpu --m 3 --a-strides 4
try rung kernels --source
try rung kernels 99
try rung verify --device cpu --m 3 --a-strides -1,2
try rung verify --device cpu --m 3 --a-strides 3,1,0,9,0
try rung verify --device cpu --m 1 --k 20000000
try rung verify --device cpu:+1
try rung kernels --device cpux
rung verify --device cpu --m 9223372036854775807 --n 1 --k 1 > /dev/null; echo "more than there is: exit $?"
try rung verify --device cpu --dtype f16:i8
try rung verify --device cpu --compute half
try rung verify --device cpu --epilogue bias_row,softmax
try rung verify --device cpu --batch -1
try rung verify --device cpu --repeat 3
try rung bench --device cpu --batch 0
try rung verify --device cpu --m 4 --batch 0
try rung tune --device cpu --budget 0
try rung tune --device cpu --budget soon
try rung tune --device cpu --dtype f32,f64
try rung tune --device cpu --layout rx
try rung tune --device cpu --m 0
try rung tune --device cpu --sizes 64 --m 64
try rung tune --device cpu --n 64
try rung tune --device cpu --seed -1
try rung tune --device cpu --params TILE=8
try rung tune --device cpu --kernels rung_gemm --state state.txt
try rung tune --device cpu --kernels 99 | sed 's/it has .*/it has .../'
try rung tune --device nothing
try rung explain
try rung explain 04 --all
try rung explain 04 --arch sm_1
try rung explain 04 --machine p100 --arch sm_86
try rung explain 04 --m 0
try rung explain 44
try rung multiply
try rung multiply A.npy B.npy -o C.npy
try rung multiply A.bin B.bin -o C.bin --dtype f32
try rung multiply A.npy B.npy -o C.npy --memory 12Q
try rung multiply A.npy B.npy -o C.npy --dtype f32,f64
try rung multiply A.npy B.npy -o C.npy --alpha much
head -c 400 /dev/zero > ten.bin
try rung multiply ten.bin ten.bin -o C.bin --dtype f32 --shape-a 10x10 --shape-b 10x11
try rung multiply ten.bin ten.bin -o C.bin --dtype f32 --shape-a 10x10 --shape-b 5x20
try rung multiply ten.bin ten.bin -o C.bin --dtype f32 --shape-a 10x10 --shape-b 10x10 --device opncl
try rung multiply ten.bin ten.bin -o C.bin --dtype f32 --shape-a 10x10 --shape-b 10x10 --beta 1
try rung multiply ten.bin ten.bin -o nowhere/C.bin --dtype f32 --shape-a 10x10 --shape-b 10x10
# Nothing that is given is ignored.
try rung bench --device cpu --kernels 01 --sizes 16 --m 32
try rung bench 1 64 --device cpu --sizes 16
try rung bench 1 --device cpu --kernels 02 --sizes 16
try rung bench --cluster --kernels 04
try rung bench --cluster --sizes 16 --batch 4
try rung bench --cluster --sizes 16 --packed
try rung bench --cluster --sizes 16 --time-limit 5
try rung verify --device cpu --kernels rung_gemm --m 4 --packed
try rung tune --device cpu --sizes 16 --remove --export records
try rung bench --device cpu --kernels "$(printf '01,%.0s' {1..70})" --sizes 16 --budget 0.001
try rung bench --device cpu --kernels "$(printf '07,%.0s' {1..33})07" --params BM=16,32,48,64 --sizes 16 --budget 0.001
rung bench --device cpu --kernels "$(printf 'x%.0s' {1..600}).cu" --sizes 16 2>&1 | cut -c 1-40
# What is meant, where that can be told.
try rung benhc
try rung frobnicate | head -n 3
try rung bench --kernal 01
try rung bench --device
try rung bench --json=yes
try rung bench -x
try rung bench --color pink
try rung verify --device opncl
try rung verify --device cpu --kernels til2d | sed 's/it has .* (did/it has ... (did/'
try rung kernels coalesed --device cpu | sed 's/it has .* (did/it has ... (did/'
# More rows than there is room for are refused, not left out.
try rung bench --device cpu --kernels 04,06,07 --params BM=8,16,24,32,40,48,56,64,BK=8,16,24,32,40,48,56,64 --sizes 16 --threads 1 --budget 0.000001
