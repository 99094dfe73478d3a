# SPDX-License-Identifier: Apache-2.0
# The ladder is listed, short names work, and the source is the file's own text.
rung kernels --device cpu | tr -s ' ' | grep -E '^backend|vendor|0[12]_'
try rung kernels naive --device cpu
rung kernels 1 --device cpu --source | cmp - "$RUNG_SOURCE/src/cpu/kernels/01_naive.c" && echo same text
rung kernels --json | jq -e '.schema == "rung-kernels/1" and (.kernels | length) > 0' 
