# SPDX-License-Identifier: Apache-2.0
# One problem, and the fields of the JSON that others rely on.
try rung verify --device cpu --m 3 --n 4 --k 5 --alpha 2 --beta -1 --c-strides 1,9 --kernels 01,rung_gemm --json |
    grep -v title
rung verify --device cpu --suite quick --every 10 --json |
    jq -c '[.schema, .device, .wrong, .skipped, (.by_kernel | map(keys | contains(["kernel", "cases", "wrong", "skipped"])) | all)]'
rung verify --device cpu --m 0 --n 0 --k 0 --json | jq .wrong
# Scalars that round, overflow or vanish in the sum's type are no reason to fail.
for alpha in 0.1 1e38 1e-50 -1e-45; do
    rung verify --device cpu --m 3 --n 4 --k 50 --alpha $alpha --beta 0.7 --json | jq -c '[.cases > 4, .wrong]'
done
