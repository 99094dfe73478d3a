#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# link_modes.sh - programs of nvcc in every way that it links them run on the emulated driver, or are refused with the option to
# rebuild with: the table of docs/guides/emulate.md.
. "$(dirname "$0")/nvcc_programs.sh"
emulate="$rung emulate"

# The runtime: shared, static, static without a symbol table.
build shared scale.cu -cudart shared
expect 0 scaled $emulate "$work/shared"
build static scale.cu
expect 0 scaled $emulate "$work/static"
strip -o "$work/stripped" "$work/static"
expect 2 "link it with nvcc -cudart shared" $emulate "$work/stripped"

# The code: PTX, machine code, both; in each kind of compression.
build ptx scale.cu -gencode arch=compute_75,code=compute_75
expect 0 scaled $emulate "$work/ptx"
build sass scale.cu -gencode arch=compute_86,code=sm_86
expect 2 "compile it with nvcc -gencode arch=compute_86,code=compute_86" $emulate "$work/sass"
build both scale.cu -cudart shared -gencode arch=compute_86,code=sm_86 -gencode arch=compute_80,code=compute_80
expect 0 scaled $emulate "$work/both"
build newer scale.cu -gencode arch=compute_90,code=compute_90
expect 2 "choose a newer GPU with --machine" $emulate "$work/newer"
expect 0 scaled $emulate --machine h100 "$work/newer"
build relocatable scale.cu -rdc=true -arch=sm_86
expect 2 "compile it with -rdc=false, and put device functions that several files use into a header" $emulate "$work/relocatable"
build texture texture.cu
expect 0 "create: operation not supported" $emulate "$work/texture"
for message in "cudaCreateTextureObject is not emulated; it returns cudaErrorNotSupported; for the emulated run" \
    "tex.1d.v4.f32.s32 is not implemented (textures); if the file uses textures or surfaces, read memory of cudaMalloc"; do
    grep -qF "$message" "$work/output" || wrong "a texture is refused without: $message"
done
for mode in none speed balance size; do
    build "$mode" scale.cu --compress-mode=$mode
    expect 0 scaled $emulate "$work/$mode"
done
build per_thread scale.cu -cudart shared --default-stream per-thread
expect 0 scaled $emulate "$work/per_thread"

# The driver: linked, loaded at run time, with NVRTC.
"$toolkit/bin/nvcc" -ptx -arch=compute_75 -o "$work/shift.ptx" "$here/shift.cu" || wrong "nvcc -ptx"
"$toolkit/bin/nvcc" -fatbin -arch=sm_75 -o "$work/shift.fatbin" "$here/shift.cu" || wrong "nvcc -fatbin"
"$toolkit/bin/nvcc" -cubin -arch=sm_86 -o "$work/shift.cubin" "$here/shift.cu" || wrong "nvcc -cubin"
cc -o "$work/linked" -DLINKED -I"$include" "$here/driver_api.c" -L"$work/lib" -lcuda -ldl || wrong "cc -lcuda"
cc -o "$work/loaded" -I"$include" "$here/driver_api.c" -ldl || wrong "cc"
for program in linked loaded; do
    expect 0 "driver: passed" $emulate "$work/$program" "$work/shift.ptx"
    expect 0 "driver: passed" $emulate "$work/$program" "$work/shift.fatbin"
    expect 0 "driver: 209" $emulate "$work/$program" "$work/shift.cubin" fails
done
nvrtc=$(echo "$tools"/python/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib)
if [ -e "$nvrtc/libnvrtc.so.12" ]; then
    LD_LIBRARY_PATH=$nvrtc expect 0 "driver: passed" $emulate "$work/loaded" nvrtc
fi

# Programs without CUDA, scripts and programs that do not exist.
expect 0 hello $emulate echo hello
expect 7 "GPU of this program is emulated" $emulate sh -c 'exit 7'
expect 2 "nothing does not exist" $emulate "$work/nothing"
expect 2 "valid names are" $emulate --machine rtx9999 "$work/shared"
echo "link modes: $failures wrong"
exit $((failures > 0))
