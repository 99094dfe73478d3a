#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/internals/architecture.md is true: every folder of the sources is named in it, and so is every file that it names there;
# and the rule that it draws, who includes whom (include_rules.sh), catches an include that breaks it.
set -u
cd "$RUNG_SOURCE" || exit 1
page=docs/internals/architecture.md
bad=0

folders=0
while IFS= read -r folder; do
    folders=$((folders + 1))
    # `src/cpu/` in full, or `kernels/` below the folder it stands in.
    grep -qF "$folder/" "$page" || grep -qF "${folder##*/}/" "$page" || { echo "$page does not name $folder"; bad=1; }
done < <(find src lab include tools -type d ! -empty | grep -v '^include$')
[ $folders -gt 8 ] || { echo "where are the folders?"; bad=1; }

# A file that the page names is there: `core/choose/tuning_record.c`, `lab/explain/sass_parser.c`, `choose_kernel.c`.
files=0
while IFS= read -r file; do
    files=$((files + 1))
    case $file in
    NN_name.*) continue ;;
    esac
    [ -e "$file" ] || [ -e "src/$file" ] || [ -n "$(find src lab include tools -path "*/$file" | head -n 1)" ] ||
        { echo "$page names $file, which is not there"; bad=1; }
done < <(grep -oE '[A-Za-z0-9_/]+\.(c|h|def|cpp)\b' "$page" | sed 's|^kernels/NN_name|NN_name|' | sort -u)
[ $files -gt 20 ] || { echo "the page names $files files"; bad=1; }

# Planted: one include that each rule forbids, in a copy.
copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
cp -r src lab tools "$copy"
plant() {
    cp "$1" "$copy/saved"
    echo "#include $2" >> "$copy/$1"
    ! RUNG_SOURCE=$copy bash tests/build/include_rules.sh > "$copy/said" 2>&1 ||
        { echo "$2 in $1 is not found"; bad=1; }
    grep -qF "$1" "$copy/said" || { echo "$2 in $1 is not told:"; cat "$copy/said"; bad=1; }
    cp "$copy/saved" "$copy/$1"
}
RUNG_SOURCE=$copy bash tests/build/include_rules.sh || { echo "the copy is not clean"; bad=1; }
plant src/base/text_list.c '"core/plan.h"'
plant src/core/plan.c '"opencl/opencl_device.h"'
plant src/cpu/cpu_plan.c '"cuda/cuda_driver.h"'
plant src/opencl/opencl_plan.c '"cuda/cuda_driver.h"'
plant src/cuda/cuda_plan.c '"opencl/opencl_api.h"'
plant src/simt/simt_launch.c '"cpu/cpu_device.h"'
plant lab/main.c '"core/plan.h"'
plant src/blas/blas_entry_points.c '"core/plan.h"'
plant src/blas/blas_entry_points.c '"base/error.h"'
plant src/outofcore/blocking.c '"core/choose/choose_kernel.h"'
plant src/outofcore/blocking.c '"cpu/cpu_device.h"'
plant src/outofcore/blocking.c '"cluster/grid.h"'
plant src/cluster/grid_choose.c '"outofcore/blocking.h"'
plant src/cluster/grid_choose.c '<mpi.h>'
plant src/core/plan.c '"outofcore/blocking.h"'
plant src/core/plan.c '"rung/cluster.h"'
plant src/core/plan.c '"rung/emulator.h"'
plant src/emulator/machine/block.c '"core/plan.h"'
plant src/emulator/machine/block.c '"outofcore/blocking.h"'
plant src/weights/gguf_read.c '"core/plan.h"'
plant src/weights/gguf_read.c '"outofcore/npy.h"'
plant src/core/plan.c '"rung/weights.h"'
plant src/cluster/mpi/cluster_gemm.c '"core/plan.h"'
plant lab/bench/bench_session.c '<mpi.h>'
exit $bad
