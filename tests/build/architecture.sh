#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/architecture.md is true: every folder of the sources is named in it, and so is every file that it names there;
# and the rule that it draws, who includes whom (rooms.sh), catches an include that breaks it.
set -u
cd "$RUNG_SOURCE" || exit 1
page=docs/architecture.md
bad=0

folders=0
while IFS= read -r folder; do
    folders=$((folders + 1))
    # `src/cpu/` in full, or `kernels/` below the folder it stands in.
    grep -qF "$folder/" "$page" || grep -qF "${folder##*/}/" "$page" || { echo "$page does not name $folder"; bad=1; }
done < <(find src lab include tools -mindepth 0 -type d | grep -v '^include$')
[ $folders -gt 8 ] || { echo "where are the folders?"; bad=1; }

# A file that the page names is there: `core/store.c`, `lab/code.c`, `choose.c`.
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
    ! RUNG_SOURCE=$copy bash tests/build/rooms.sh > "$copy/said" 2>&1 ||
        { echo "$2 in $1 is not found"; bad=1; }
    grep -qF "$1" "$copy/said" || { echo "$2 in $1 is not told:"; cat "$copy/said"; bad=1; }
    cp "$copy/saved" "$copy/$1"
}
RUNG_SOURCE=$copy bash tests/build/rooms.sh || { echo "the copy is not clean"; bad=1; }
plant src/core/plan.c '"opencl/opencl.h"'
plant src/cpu/plan.c '"cuda/driver.h"'
plant src/opencl/plan.c '"cuda/driver.h"'
plant src/cuda/plan.c '"opencl/api.h"'
plant src/simt/launch.c '"cpu/cpu.h"'
plant lab/main.c '"core/plan.h"'
plant src/blas/gemm.c '"core/plan.h"'
plant src/outofcore/blocking.c '"core/choose.h"'
plant src/outofcore/blocking.c '"cpu/cpu.h"'
plant src/outofcore/blocking.c '"cluster/shares.h"'
plant src/cluster/grid.c '"outofcore/blocking.h"'
plant src/cluster/grid.c '<mpi.h>'
plant src/core/plan.c '"outofcore/blocking.h"'
plant src/core/plan.c '"rung/cluster.h"'
plant src/cluster/mpi/gemm.c '"core/plan.h"'
plant lab/measure.c '<mpi.h>'
exit $bad
