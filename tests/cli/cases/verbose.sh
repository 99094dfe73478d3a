# SPDX-License-Identifier: Apache-2.0
# RUNG_VERBOSE=1: a line a multiply, whose command runs the same problem again.
RUNG_VERBOSE=1 rung verify --device cpu --kernels 01 --m 3 --n 4 --k 5 --alpha 2 --beta -1.5 --c-strides 1,9 2> lines > /dev/null
wc -l < lines
sed -E 's/[0-9.]+ ms/T ms/' lines | sort -u
again=$(sed -n '$s/.*again: \(.*\); rejected.*/\1/p' lines)
RUNG_VERBOSE=1 $again 2> again > /dev/null
echo "exit $?"
cmp <(sed -E 's/[0-9.]+ ms/T/' lines) <(sed -E 's/[0-9.]+ ms/T/' again) && echo the same lines again
# So does that of a multiply that was cut between threads.
RUNG_VERBOSE=1 rung verify --device cpu --kernels 10 --m 200 --n 150 --k 100 --threads 3 --repeat 2 2> lines > /dev/null
sed -E 's/ [A-Z]+=[^ ]+//; s/[0-9.]+ ms/T ms/; s/;.*again:/; again:/; s/ --params [^ ]+//' lines | sort -u
RUNG_VERBOSE=1 $(sed -n '$s/.*again: \(.*\); rejected.*/\1/p' lines) 2>&1 > /dev/null | grep -c ' 3 threads '
try rung verify --device cpu --kernels 10 --m 20 --threads 0
