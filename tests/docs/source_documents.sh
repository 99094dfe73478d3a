#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/reference/source-documents.md maps every name of the documents, and every kernel, preset, file and command that it names is there.
set -u
cd "$RUNG_SOURCE" || exit 1
page=docs/reference/source-documents.md
bad=0
complain() { echo "$page: $*"; bad=1; }

for name in matmul_naive matmul_shared matmul_shared_large matmul_register_blocked "Level 0" "Level 1" "Level 2" "Level 3" \
    Matrix GetElement SetElement GetSubMatrix MatMul MatMulKernel V1_baselineKernel V2_loopUnrollKernel \
    V3_sharedMemoryKernel V4_threadCoarseningKernel V5_privatizationKernel V6FinalKernel runV6Final \
    "Kernel 0" "Kernel 1" "Kernel 2" "Kernel 3" "Kernel 4" "Kernel 5" "Kernel 6" "Kernel 7" sgemm_naive \
    sgemm_global_mem_coalesce sgemm_share_mem sgemm_1d_block_tiling sgemm_2d_block_tiling sgemm_vectorized_loads \
    sgemm_warptiling MatmulXrow MatmulYrow "Block Tiling" "Warp-Level Tiling" CUBLAS_COMPUTE_32F_FAST_16BF \
    wmmaMatrixMultiply; do
    grep -qF "$name" $page || complain "no $name"
done

# Kernels by their whole names, and files.
while IFS= read -r kernel; do
    [ "$kernel" = 00_vendor ] || [ -e "src/simt/kernels/$kernel.cu" ] || complain "there is no $kernel"
done < <(grep -oE '`[01][0-9]_[a-z0-9]+`' $page | tr -d '`' | sort -u)
while IFS= read -r file; do
    [ -e "$(dirname $page)/$file" ] || complain "there is no $file"
done < <(grep -oE '\]\([^)#]+\)' $page | sed 's/^](//; s/)$//' | grep -v '^http' | sort -u)

# Commands: what each says of kernels and parameters is accepted. No bench is run: the kernel's own word will do.
commands=0
while IFS= read -r command; do
    commands=$((commands + 1))
    read -ra words <<< "$command"
    [ "${words[0]}" = rung ] || continue
    "$RUNG" help "${words[1]}" > /dev/null || complain "$command: no such command"
    kernels= params=
    for ((i = 2; i < ${#words[@]}; i++)); do
        case ${words[i]} in
        --kernels) kernels=${words[i + 1]} ;;
        --params) params=${words[i + 1]} ;;
        --*) "$RUNG" help "${words[1]}" | grep -q -- "${words[i]}" || complain "$command: no ${words[i]}" ;;
        esac
    done
    for kernel in ${kernels//,/ }; do
        [ "$kernel" = 00 ] && continue
        "$RUNG" kernels "$kernel" --device opencl > "${TMPDIR:-/tmp}/sources.$$" || complain "$command: no kernel $kernel"
        for param in ${params//,/ }; do
            [[ $param =~ ^[0-9]+$ ]] || grep -qw -- "${param%%=*}" "${TMPDIR:-/tmp}/sources.$$" ||
                complain "$command: $kernel has no ${param%%=*}"
        done
    done
done < <(grep -oE '`rung [^`]+`' $page | tr -d '`' | sort -u)
rm -f "${TMPDIR:-/tmp}/sources.$$"
[ $commands -gt 20 ] || complain "only $commands commands"
exit $bad
