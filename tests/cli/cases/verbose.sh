# SPDX-License-Identifier: Apache-2.0
# RUNG_VERBOSE=1: a line a multiply, whose command runs the same problem again.
RUNG_VERBOSE=1 rung verify --device cpu --kernels 01 --m 3 --n 4 --k 5 --alpha 2 --beta -1.5 --c-strides 1,9 2> lines > /dev/null
wc -l < lines
sed -E 's/[0-9.]+ ms/T ms/' lines | sort -u
again=$(sed -n '$s/.*again: \(.*\); refused.*/\1/p' lines)
RUNG_VERBOSE=1 $again 2> again > /dev/null
echo "exit $?"
cmp <(sed -E 's/[0-9.]+ ms/T/' lines) <(sed -E 's/[0-9.]+ ms/T/' again) && echo the same lines again
