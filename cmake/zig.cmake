# SPDX-License-Identifier: Apache-2.0
# Builds with zig's C compiler, which is Clang with the headers and symbol lists of every version of glibc: what it links
# runs on the oldest one that the target names, on any processor. tools/build-wheel sets both variables:
#   RUNG_ZIG=/path/to/zig RUNG_ZIG_TARGET=aarch64-linux-gnu.2.28 cmake -B build/zig --toolchain cmake/zig.cmake
string(REGEX REPLACE "-.*" "" processor "$ENV{RUNG_ZIG_TARGET}")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "${processor}")
set(CMAKE_C_COMPILER "${CMAKE_CURRENT_LIST_DIR}/zig/cc")
set(CMAKE_AR "${CMAKE_CURRENT_LIST_DIR}/zig/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${CMAKE_CURRENT_LIST_DIR}/zig/ranlib" CACHE FILEPATH "")
# The linker removes the names of local symbols; zig has no program that does it later.
set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)
set(CMAKE_EXE_LINKER_FLAGS_INIT -s)
set(CMAKE_STRIP /bin/true CACHE FILEPATH "")
# Headers and libraries of this machine belong to another glibc.
set(CMAKE_FIND_ROOT_PATH "${CMAKE_CURRENT_LIST_DIR}/zig")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
