#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who may include whom: core knows no device, a device knows no other, the lab uses the public headers alone, the
# drop-in besides these core/assert.h, and out-of-core and cluster libraries a few headers of core; MPI is in one folder of each.
set -u
cd "$RUNG_SOURCE" || exit 1
bad=0

# check ROOM FORBIDDEN [ALLOWED]: no file of the room includes what FORBIDDEN matches, except the headers of core that ALLOWED
# lists. core/cancel.h stands alone, and every library of ours includes it.
check() {
    if grep -rnE "^ *# *include +[<\"]($2)" "$1" | grep -vE "\"core/(none${3:+|$3})\.h\""; then
        echo "... is not for $1"
        bad=1
    fi
}
check src/core 'cpu/|simt/|opencl/|cuda/|CL/|cuda\.h'
check src/cpu 'simt/|opencl/|cuda/|CL/'
check src/simt 'cpu/|opencl/|cuda/|CL/'
check src/opencl 'cpu/|cuda/'
check src/cuda 'cpu/|opencl/|CL/|cuda\.h|nvrtc\.h|cublas'
check src/blas 'core/|cpu/|simt/|opencl/|cuda/|CL/' 'assert|cancel'
# The libraries on top use their public header and a few headers of core that know nothing of the rest of it.
check src/outofcore 'core/|cpu/|simt/|opencl/|cuda/|blas/|cluster/|rung/cluster\.h|CL/' 'assert|by_size|cancel|checked|files|sum_type'
check src/cluster 'core/|cpu/|simt/|opencl/|cuda/|blas/|outofcore/|rung/outofcore\.h|CL/' 'assert|by_size|cancel|checked|sum_type'
for room in core cpu simt opencl cuda blas; do check src/$room '(outofcore|cluster)/|rung/(outofcore|cluster)\.h'; done
for room in core cpu simt opencl cuda; do check src/$room 'blas/'; done
check lab 'core/|cpu/|simt/|opencl/|cuda/|CL/|\.\./src'
check tools 'core/|cpu/|simt/|opencl/|cuda/|CL/|\.\./src'

# MPI is for its own library, for the program that benches it and for its simulation.
if grep -rnE '^ *# *include +[<"]mpi\.h' src lab tools | grep -vE '^(src/cluster/mpi|lab/cluster|tools/simulate)/'; then
    echo "... MPI is for src/cluster/mpi and lab/cluster"
    bad=1
fi

# A check that looks at nothing proves nothing.
[ "$(find src lab tools -name '*.[ch]' | wc -l)" -gt 20 ] || { echo "where are the sources?"; bad=1; }
exit $bad
