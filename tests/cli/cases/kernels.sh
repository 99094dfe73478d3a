# SPDX-License-Identifier: Apache-2.0
# The ladder is listed, short names work, and the source is the file's own text.
rung kernels --device cpu | tr -s ' ' | grep -E '^backend|vendor|0[12]_'
try rung kernels naive --device cpu
rung kernels 1 --device cpu --source | cmp - "$RUNG_SOURCE/src/cpu/kernels/01_naive.c" && echo same text
# Without --device the source is the GPU's, one file for CUDA and OpenCL; with it the device's.
rung kernels 04 --source | cmp - "$RUNG_SOURCE/src/simt/kernels/04_shared.cu" && echo the GPU kernel alone
rung kernels 04 --device opencl --source | cmp - "$RUNG_SOURCE/src/simt/kernels/04_shared.cu" && echo the same
rung kernels 04 --device cpu --source | cmp - "$RUNG_SOURCE/src/cpu/kernels/04_shared.c" && echo the C file
rung kernels --json | jq -e '.schema == "rung-kernels/1" and (.kernels | length) > 0' 
