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
# CMake runs these tools with its own arguments only, so each gets a script with Zig and the target.
foreach(tool cc ar ranlib)
    file(WRITE "${CMAKE_BINARY_DIR}/zig-${tool}" "#!/bin/sh\nRUNG_ZIG=\"$ENV{RUNG_ZIG}\" RUNG_ZIG_TARGET=${target} \
        exec \"${CMAKE_CURRENT_LIST_DIR}/zig/${tool}\" \"$@\"\n")
    file(CHMOD "${CMAKE_BINARY_DIR}/zig-${tool}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endforeach()
set(CMAKE_C_COMPILER "${CMAKE_BINARY_DIR}/zig-cc")
set(CMAKE_AR "${CMAKE_BINARY_DIR}/zig-ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${CMAKE_BINARY_DIR}/zig-ranlib" CACHE FILEPATH "")
set(CMAKE_INSTALL_NAME_TOOL /bin/true CACHE FILEPATH "") # needed to install only
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CMAKE_SYSTEM_PROCESSOR)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
