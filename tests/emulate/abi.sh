#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# abi.sh - compares the numbers, functions and structures that src/emulator/driver/cuda_api.h and src/emulator/runtime/runtime.h
# declare with those of NVIDIA's headers of CUDA 12 and 13.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=${RUNG_SOURCE:-$here/../..}
tools=${RUNG_TEST_TOOLS:-$here/../../build/tools}
packages=$(echo "$tools"/python/lib/python3*/site-packages/nvidia)
[ -e "$packages/cu13/include/cuda.h" ] || { echo "cuda.h is not here; see tools/install-test-tools"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# Enumerators and functions of the driver: a file that compiles with cuda.h only if they are the same.
{
    echo '#define __CUDA_API_VERSION_INTERNAL'
    echo '#include <cuda.h>'
    echo '#define CUDA_ERROR_CODE(number, driver, runtime, text) _Static_assert((int)driver == number, #driver);'
    echo '#include "emulator/driver/cuda_errors.def"'
    echo '#define DEVICE_ATTRIBUTE(number, name, value) _Static_assert((int)CU_DEVICE_ATTRIBUTE_##name == number, #name);'
    echo '#include "emulator/driver/device_attributes.def"'
    echo '#define CUDA_FUNCTION(name, suffix, since, arguments) CUresult CUDAAPI name##suffix arguments;'
    echo '#include "emulator/driver/cuda_functions.def"'
    grep -oE '\bCU_[A-Z0-9_]+ = [0-9]+' "$source/src/emulator/driver/cuda_api.h" | grep -vE 'CU_(LIMIT_MAX|CTX_FLAGS_MASK) ' |
        sed -E 's/(.*) = (.*)/_Static_assert((int)\1 == \2, "\1");/'
} > "$work/driver.c"
count=$(grep -c _Static_assert "$work/driver.c")
cc -std=c11 -c -I"$packages/cu13/include" -I"$source/src" -o "$work/driver.o" "$work/driver.c" || failures=$((failures + 1))

# Structures of the driver.
cat > "$work/structures.c" << 'END'
#include <stddef.h>
#include <stdio.h>
#include HEADER
#define SIZE(type, last) printf(#type " %zu " #last " %zu\n", sizeof(type), offsetof(type, last));
int main(void)
{
    SIZE(CUlaunchConfig, numAttrs)
    SIZE(CUlaunchAttribute, value)
    SIZE(CUtensorMap, opaque)
    SIZE(CUDA_MEMCPY2D, Height)
    SIZE(CUDA_MEMCPY3D, Depth)
    SIZE(CUDA_MEMCPY3D, dstPitch)
    SIZE(CUDA_MEMSET_NODE_PARAMS, height)
    SIZE(CUDA_KERNEL_NODE_PARAMS_v1, extra)
    SIZE(CUDA_KERNEL_NODE_PARAMS, ctx)
    SIZE(CUDA_HOST_NODE_PARAMS, userData)
    SIZE(CUgraphExecUpdateResultInfo, errorFromNode)
    SIZE(CUmemPoolProps, reserved)
    SIZE(CUmemAccessDesc, flags)
    SIZE(CUdevprop, textureAlign)
}
END
# Structures of the runtime.
cat > "$work/runtime.c" << 'END'
#include <stddef.h>
#include <stdio.h>
#include HEADER
#define SIZE(type, last) printf(#type " %zu " #last " %zu\n", sizeof(type), offsetof(type, last));
int main(void)
{
    typedef PREFIX cudaDeviceProp properties_t;
    typedef PREFIX cudaFuncAttributes function_t;
    typedef PREFIX cudaPointerAttributes pointer_t;
    typedef PREFIX cudaMemcpy3DParms copy_t;
    typedef PREFIX cudaKernelNodeParams kernel_t;
    typedef PREFIX cudaMemsetParams fill_t;
    SIZE(properties_t, totalConstMem)
    SIZE(properties_t, multiProcessorCount)
    SIZE(properties_t, maxTexture2D)
    SIZE(properties_t, surfaceAlignment)
    SIZE(properties_t, l2CacheSize)
    SIZE(properties_t, sharedMemPerMultiprocessor)
    SIZE(properties_t, cooperativeLaunch)
    SIZE(properties_t, reservedSharedMemPerBlock)
    SIZE(properties_t, clusterLaunch)
    SIZE(function_t, nonPortableClusterSizeAllowed)
    SIZE(pointer_t, hostPointer)
    SIZE(copy_t, kind)
    SIZE(cudaLaunchConfig_t, numAttrs)
    SIZE(kernel_t, extra)
    SIZE(fill_t, height)
}
END

# compare NAME SOURCE OUR-HEADER NVIDIA-HEADER NVIDIA-FOLDER OPTION...: the output of one program with both headers.
compare() {
    local name=$1 file=$2 ours=$3 theirs=$4 folder=$5
    shift 5
    cc -std=c11 -w -DHEADER="\"$ours\"" -DPREFIX= "$@" -I"$source/src" -o "$work/ours" "$work/$file"
    cc -std=c11 -w -DHEADER="\"$theirs\"" -DPREFIX=struct -I"$folder" -o "$work/theirs" "$work/$file"
    "$work/ours" > "$work/ours.txt"
    "$work/theirs" > "$work/theirs.txt"
    diff "$work/ours.txt" "$work/theirs.txt" || { echo "WRONG: structures of $name"; failures=$((failures + 1)); }
    count=$((count + $(wc -l < "$work/ours.txt")))
}
compare driver structures.c emulator/driver/cuda_api.h cuda.h "$packages/cu13/include"
compare "the runtime 13" runtime.c emulator/runtime/runtime.h cuda_runtime_api.h "$packages/cu13/include" -DRUNG_CUDART_MAJOR=13
if [ -e "$packages/cuda_runtime/include/cuda_runtime_api.h" ]; then
    compare "the runtime 12" runtime.c emulator/runtime/runtime.h cuda_runtime_api.h "$packages/cuda_runtime/include" -DRUNG_CUDART_MAJOR=12
fi
echo "abi: $count facts, $failures wrong"
exit $((failures > 0))
