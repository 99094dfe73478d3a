# SPDX-License-Identifier: Apache-2.0
# Builds for macOS on Linux with Zig, whose package has headers and link stubs of macOS. Nothing runs what it builds.
#   pip install ziglang==0.17.0
#   RUNG_ZIG=.../ziglang/zig RUNG_MACOS_PROCESSOR=arm64 cmake -B build/macos --toolchain cmake/macos.cmake \
#       -DRUNG_OPENCL=OFF -DRUNG_CUDA=OFF -DRUNG_TESTS=OFF
# RUNG_MACOS_PROCESSOR is arm64 or x86_64.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR "$ENV{RUNG_MACOS_PROCESSOR}")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "arm64")
    set(target aarch64-macos.12.0)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(target x86_64-macos.12.0)
else()
    message(FATAL_ERROR "RUNG_MACOS_PROCESSOR is \"$ENV{RUNG_MACOS_PROCESSOR}\"; set it to arm64 or x86_64")
endif()
set(CMAKE_C_COMPILER "$ENV{RUNG_ZIG}" cc -target ${target})
# CMake runs these tools without arguments of ours, so they are scripts.
foreach(tool ar ranlib)
    file(WRITE "${CMAKE_BINARY_DIR}/zig-${tool}" "#!/bin/sh\nexec \"$ENV{RUNG_ZIG}\" ${tool} \"$@\"\n")
    file(CHMOD "${CMAKE_BINARY_DIR}/zig-${tool}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endforeach()
set(CMAKE_AR "${CMAKE_BINARY_DIR}/zig-ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${CMAKE_BINARY_DIR}/zig-ranlib" CACHE FILEPATH "")
set(CMAKE_INSTALL_NAME_TOOL /bin/true CACHE FILEPATH "") # needed to install only
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CMAKE_SYSTEM_PROCESSOR)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
