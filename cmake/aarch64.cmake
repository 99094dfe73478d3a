# SPDX-License-Identifier: Apache-2.0
# Builds for 64-bit ARM on another machine, and runs what it built by QEMU:
#   cmake -B build/aarch64 --toolchain cmake/aarch64.cmake -DRUNG_OPENCL=OFF -DRUNG_CUDA=OFF -DRUNG_TESTS=OFF
# Debian: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user-static.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
