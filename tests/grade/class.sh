#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# class.sh [--every N] [--save] - grades the simulated class of tests/grade/class, two submissions at a time. All right
# submissions must get all points, at least 99 % of the grades must be right, and at least 95 % of the wrong submissions must
# lose points for the expected reason. --every N grades each Nth submission only. --save writes results/grading/class.tsv and
# class.txt, the result for the default seed:
#   RUNG=build/release/rung RUNG_TEST_TOOLS=$PWD/build/tools RUNG_SOURCE=$PWD tests/grade/class.sh --save
set -u
RUNG=${RUNG:-$RUNG_BUILD/rung}
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
cd "$RUNG_SOURCE" || exit 1
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
saved=results/grading
options=()
while [ $# -gt 0 ]; do
    case $1 in
    --every) options+=(--every "$2"); shift ;;
    --save) mkdir -p $saved && options+=(--table $saved/class.tsv --summary $saved/class.txt) ;;
    *) echo "class.sh: unknown option $1"; exit 2 ;;
    esac
    shift
done
python3 -B tests/grade/class/grade_class.py "$RUNG" tasks "$work/class" "${options[@]}"
