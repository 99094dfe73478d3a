#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# element_types.sh - rung verify finds one wrong element in types that are compared with sums in double precision.
set -u
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/textbook_kernel.sh"

one_wrong='15s/sum;/row == 3 \&\& col == 5 ? sum + sum + One : sum;/'
change int.cu 's/float/int/g'
run 0 verify "$work/int.cu" "${launch[@]}"
says "12 of 12 right"
change int_wrong.cu "s/float/int/g; ${one_wrong/One/1}"
run 1 verify "$work/int_wrong.cu" "${launch[@]}"
says "C[3, 5] is"
half='1s/^/#include <cuda_fp16.h>\n/; s/float/half/g'
change half.cu "$half"
run 0 verify "$work/half.cu" "${launch[@]}"
says "12 of 12 right; the sums are rounded to the type of C at every step"
change half_wrong.cu "$half; ${one_wrong/One/half(1)}"
run 1 verify "$work/half_wrong.cu" "${launch[@]}"
says "C[3, 5] is"
exit $bad
