# SPDX-License-Identifier: Apache-2.0
# oclgrind.sh - sourced: runs `rung verify` on Oclgrind's simulator.
#
# Oclgrind's own launcher preloads its library, which does not reach a libOpenCL
# that is opened at run time: the program would run on another driver and every
# check come out clean. So the loader is pointed at its driver, and the platform's
# name is asserted.
#
#   verify_checked ARGUMENT...     sets code, json and log (files in $work)
#
# With uninitialized=0 it does not look for reads of what was never written.

RUNG_SOURCE=${RUNG_SOURCE:-$(realpath "$(dirname "$0")/../../..")}
RUNG=${RUNG:-$RUNG_SOURCE/build/release/rung}
oclgrind_driver=$(ls /usr/lib/oclgrind/liboclgrind-rt-icd.so \
                     /usr/lib/*/oclgrind/liboclgrind-rt-icd.so \
                     /usr/local/lib/liboclgrind-rt-icd.so 2> /dev/null | head -n 1)
[ -n "$oclgrind_driver" ] || { echo "Oclgrind is not installed (package oclgrind)"; exit 77; }

work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
json=$work/verify.json log=$work/oclgrind.log

verify_checked() {
    rm -f "$json" "$log"
    OCL_ICD_VENDORS=$oclgrind_driver OCLGRIND_DATA_RACES=1 OCLGRIND_UNINITIALIZED=${uninitialized:-1} \
        OCLGRIND_CHECK_API=1 OCLGRIND_LOCAL_MEM_SIZE=65536 OCLGRIND_LOG=$log \
        "$RUNG" verify --device opencl --json "$@" > "$json"
    code=$?
    if [ $code -gt 1 ] || [ "$(jq -r .platform "$json")" != Oclgrind ]; then
        echo "rung verify $* exited with $code, on platform $(jq -r .platform "$json")"
        cat "$json"
        exit 1
    fi
    touch "$log"
}
