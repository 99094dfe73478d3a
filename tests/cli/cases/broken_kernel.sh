# SPDX-License-Identifier: Apache-2.0
# A kernel file of the user's own: right, wrong, and not compiling.
rung verify --device opencl --m 1 > /dev/null 2>&1 || exit 77
kernels=$RUNG_SOURCE/src/simt/kernels
cp "$kernels/01_naive.cu" mine.cu
rung verify mine.cu --suite edges --json | jq -c '[.device, .wrong, .by_kernel[0].kernel]'
sed 's/i < k; i++/i < k - 1; i++/' mine.cu > wrong.cu
rung verify wrong.cu --m 2 --n 2 --k 3 > out; echo "exit $?"
grep -c "reproduce: rung verify --device opencl:0 --kernels wrong.cu" out
sed 's/sum_t sum = 0;/sum_t sum = zero;/' mine.cu > syntax.cu
rung verify syntax.cu --m 2 > out 2> /dev/null; echo "exit $?"
grep -o "syntax.cu:[0-9]*" out | head -n 1
grep -n "zero" syntax.cu | cut -d: -f1
try rung verify mine.cu --params BLOCK=40
try rung verify mine.cu --params TILE=4
try rung verify mine.cu --device cpu
# A parameter of another kernel is no reason to leave the file unchecked; the JSON says which files were checked.
rung verify --device opencl --kernels 05,mine.cu --params UNROLL=1 --suite tile --every 20 --json |
    jq -c '[.wrong, (.checks | length), (.checks[0].ran or .checks[0].why_not != "")]'
RUNG_OCLGRIND=/nowhere rung verify mine.cu --suite tile --every 20 --json | jq -c '[.findings, .checks[0].ran != (.checks[0].why_not != "")]'
echo '/* empty.cu - nothing */' > empty.cu
try rung verify empty.cu --m 2 | grep -v Portable
