#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who may include whom: base knows nothing above it, core knows no device, a device knows no other, the lab uses the
# public headers and base alone, the drop-in the public headers and two headers of base, and the out-of-core, cluster,
# emulator and weights libraries the public headers and base. MPI is in one folder of each.
set -u
cd "$RUNG_SOURCE" || exit 1
bad=0

# check FOLDER FORBIDDEN [ALLOWED [OTHER]]: no file of the folder includes a header that FORBIDDEN matches, except the headers
# of base that ALLOWED lists, and OTHER.
check() {
    if grep -rnE "^ *# *include +[<\"]($2)" "$1" | grep -vE "\"(base/(none${3:+|$3})|${4:-none})\.h\""; then
        echo "... is not for $1"
        bad=1
    fi
}
check src/base 'core/|cpu/|simt/|opencl/|cuda/|blas/|CL/'
check src/core 'cpu/|simt/|opencl/|cuda/|CL/|cuda\.h'
check src/cpu 'simt/|opencl/|cuda/|CL/'
check src/simt 'cpu/|opencl/|cuda/|CL/'
check src/opencl 'cpu/|cuda/'
check src/cuda 'cpu/|opencl/|CL/|cuda\.h|nvrtc\.h|cublas'
check src/blas 'base/|core/|cpu/|simt/|opencl/|cuda/|CL/' 'assert|cancellation'
# The libraries on top use their public header and base.
check src/outofcore 'core/|cpu/|simt/|opencl/|cuda/|blas/|cluster/|emulator/|weights/|rung/(cluster|emulator|weights)\.h|CL/'
check src/cluster 'core/|cpu/|simt/|opencl/|cuda/|blas/|outofcore/|emulator/|weights/|rung/(outofcore|emulator|weights)\.h|CL/'
check src/emulator 'core/|cpu/|simt/|opencl/|cuda/|blas/|outofcore/|cluster/|weights/|rung/(outofcore|cluster|weights)\.h|CL/'
check src/weights 'core/|cpu/|simt/|opencl/|cuda/|blas/|outofcore/|cluster/|emulator/|rung/(outofcore|cluster|emulator)\.h|CL/'
for folder in base core cpu simt opencl cuda blas; do check src/$folder '(outofcore|cluster|emulator|weights)/|rung/(outofcore|cluster|emulator|weights)\.h'; done
for folder in base core cpu simt opencl cuda; do check src/$folder 'blas/'; done
check lab 'core/|cpu/|simt/|opencl/|cuda/|CL/|\.\./src'
# tools/choosing.c compares the library's table with the lab's model.
check tools 'core/|cpu/|simt/|opencl/|cuda/|CL/|\.\./src' '' simt/kernel_speed

# Each directory of the lab that does one job has one header for the others, DIR/DIR.h. cli, common, io, process and target
# are collections: a file includes the headers that it needs.
lab_headers() {
    for folder in bench verify explain compare convert tune report kernel_page cluster; do
        if grep -rnE "^ *# *include +\"$folder/" "$1" --include='*.[ch]' | grep -vE "^$1/$folder/|\"$folder/$folder\.h\"|\.def\""; then
            echo "... include $folder/$folder.h instead"
            return 1
        fi
    done
}
lab_headers lab || bad=1

# MPI is for its own library, for the program that benches it and for its simulation.
if grep -rnE '^ *# *include +[<"]mpi\.h' src lab tools | grep -vE '^(src/cluster/mpi|lab/cluster/mpi|tools/simulate)/'; then
    echo "... MPI is for src/cluster/mpi and lab/cluster/mpi"
    bad=1
fi

# The rule for the lab finds a planted include, and allows the directory's own header.
planted=$(mktemp -d)
mkdir -p "$planted/lab/tune"
echo '#include "verify/verify.h"' > "$planted/lab/tune/a.c"
(cd "$planted" && lab_headers lab > /dev/null) || { echo "the one header of a directory is rejected"; bad=1; }
echo '#include "verify/oracle.h"' >> "$planted/lab/tune/a.c"
(cd "$planted" && lab_headers lab > /dev/null) && { echo "a planted include was not found"; bad=1; }
rm -rf "$planted"

# A check that looks at nothing proves nothing.
[ "$(find src lab tools -name '*.[ch]' | wc -l)" -gt 20 ] || { echo "where are the sources?"; bad=1; }
exit $bad
