# SPDX-License-Identifier: Apache-2.0
# What differs between systems: flags, the files of src/base, what is left out, and how a library limits its exported
# names.
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    if(RUNG_BLAS)
        message(STATUS "librung-blas is for Linux, where programs can preload it: it is not built.")
    endif()
    message(STATUS "rung emulate runs programs of Linux: its driver and runtime are not built.")
    set(RUNG_BLAS OFF)
    set(RUNG_MPI OFF)
endif()

# rung_exports_names(TARGET): the objects of a library, whose public names Windows exports.
function(rung_exports_names target)
    if(WIN32)
        target_compile_definitions(${target} PRIVATE RUNG_BUILD)
    endif()
endfunction()

# rung_limit_exports(TARGET MAP OPTION...): exports the names of a version script, with hardening, and links with these
# options of GNU ld on Linux.
if(WIN32)
    # src/base/windows/posix.h declares the functions of POSIX that mingw-w64 lacks.
    set(CMAKE_C_EXTENSIONS ON) # without them mingw-w64 hides fileno() and others
    set(RUNG_PLATFORM_SOURCES src/base/amx_permission_none.c src/base/system_caches_none.c
        src/base/windows/aligned_memory_windows.c src/base/windows/available_memory_windows.c src/base/windows/files.c
        src/base/windows/fused_multiply_add.c src/base/windows/libraries.c src/base/windows/memory.c
        src/base/windows/memory_streams.c src/base/windows/paths.c src/base/windows/system.c src/base/windows/text.c)
    target_compile_definitions(rung_flags INTERFACE __USE_MINGW_ANSI_STDIO=1 _FILE_OFFSET_BITS=64 _WIN32_WINNT=0x0A00)
    target_compile_options(rung_flags INTERFACE -isystem "${PROJECT_SOURCE_DIR}/src/base/windows/include"
                           -include "${PROJECT_SOURCE_DIR}/src/base/windows/posix.h"
                           -Wno-format # checks the formats of Microsoft's printf, which is not used
                           -Wno-float-conversion # in isnan() and isinf() of mingw-w64
                           # GCC does not align the stack for vectors on Windows: the assembler uses unaligned moves.
                           -Wa,-muse-unaligned-vector-move)
    target_link_options(rung_flags INTERFACE -static) # of GCC's runtime and winpthreads
    set(RUNG_PLATFORM_LIBRARIES rung_base) # for tests and tools that call the functions of posix.h
    set(RUNG_ORIGIN "") # programs find DLLs beside themselves
    set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
    # RUNG_API exports the names where RUNG_BUILD is defined (include/rung/rung.h).
    function(rung_limit_exports target map)
    endfunction()
elseif(APPLE)
    # src/base/macos/posix.h declares what macOS lacks.
    set(RUNG_PLATFORM_SOURCES src/base/aligned_memory.c src/base/amx_permission_none.c src/base/system_paths.c
        src/base/macos/available_memory_macos.c src/base/macos/semaphores.c src/base/macos/system.c
        src/base/macos/system_caches_macos.c)
    set(RUNG_PLATFORM_LIBRARIES rung_base) # for tests and tools that call the functions of posix.h
    set(RUNG_ORIGIN "@loader_path")
    target_compile_definitions(rung_flags INTERFACE _DARWIN_C_SOURCE)
    target_compile_options(rung_flags INTERFACE -I "${PROJECT_SOURCE_DIR}/src/base/macos/include"
                           -include "${PROJECT_SOURCE_DIR}/src/base/macos/posix.h"
                           # Headers here extend those of the system; Zig's Clang is newer than that of CI.
                           -Wno-gnu-include-next -Wno-enum-float-conversion)
    # Names are hidden except those of RUNG_API (-fvisibility=hidden), so no list is needed.
    function(rung_limit_exports target map)
    endfunction()
else()
    set(RUNG_PLATFORM_SOURCES src/base/aligned_memory.c src/base/amx_permission_linux.c src/base/available_memory.c
        src/base/system_caches_none.c src/base/system_paths.c)
    set(RUNG_ORIGIN "$ORIGIN")
    # The loader resolves all symbols of the libraries at once and makes their address tables read-only.
    set(RUNG_LINK_HARDENING "LINKER:-z,relro" "LINKER:-z,now")
    function(rung_limit_exports target map)
        set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
        target_link_options(${target} PRIVATE ${RUNG_LINK_HARDENING} "LINKER:--version-script=${map}" ${ARGN}
                            "LINKER:--as-needed")
        if(NOT RUNG_SANITIZE)
            target_link_options(${target} PRIVATE "LINKER:--no-undefined")
        endif()
    endfunction()
endif()
