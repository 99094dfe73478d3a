# SPDX-License-Identifier: Apache-2.0
# Reads src/core/ladder.def, the only list of kernels, and derives the files to compile, to embed
# and to check.
file(STRINGS "${PROJECT_SOURCE_DIR}/src/core/ladder.def" ladder_lines REGEX "^ *(CPU|SIMT)\\(")
set(RUNG_CPU_KERNELS "")
set(RUNG_SIMT_KERNELS "")
foreach(line IN LISTS ladder_lines)
    foreach(family CPU SIMT)
        if(line MATCHES "${family}\\(([0-9]+), ([a-z0-9_]+)\\)")
            list(APPEND RUNG_${family}_KERNELS "${CMAKE_MATCH_1}_${CMAKE_MATCH_2}")
        endif()
    endforeach()
endforeach()

# Configure again when the list changes.
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             "${PROJECT_SOURCE_DIR}/src/core/ladder.def")

set(embedded "")
set(embedded_files "")
foreach(header dialect epilogue tile async swizzle engine mma f32_terms matrix_output wmma tma wgmma group group_begin
        quantized scaled_mma)
    list(APPEND embedded "${header}=${PROJECT_SOURCE_DIR}/src/simt/kernels/${header}.h")
    list(APPEND embedded_files "${PROJECT_SOURCE_DIR}/src/simt/kernels/${header}.h")
endforeach()
# Not a step of the ladder: the reduction of split-K.
list(APPEND embedded "reduce=${PROJECT_SOURCE_DIR}/src/simt/kernels/reduce.cu")
list(APPEND embedded_files "${PROJECT_SOURCE_DIR}/src/simt/kernels/reduce.cu")
set(RUNG_CPU_KERNEL_FILES "")
foreach(name IN LISTS RUNG_CPU_KERNELS)
    list(APPEND embedded "cpu_${name}=${PROJECT_SOURCE_DIR}/src/cpu/kernels/${name}.c")
    list(APPEND RUNG_CPU_KERNEL_FILES "${PROJECT_SOURCE_DIR}/src/cpu/kernels/${name}.c")
endforeach()
set(RUNG_SIMT_KERNEL_FILES "")
foreach(name IN LISTS RUNG_SIMT_KERNELS)
    list(APPEND embedded "simt_${name}=${PROJECT_SOURCE_DIR}/src/simt/kernels/${name}.cu")
    list(APPEND RUNG_SIMT_KERNEL_FILES "${PROJECT_SOURCE_DIR}/src/simt/kernels/${name}.cu")
endforeach()
list(APPEND embedded_files ${RUNG_CPU_KERNEL_FILES} ${RUNG_SIMT_KERNEL_FILES})

set(RUNG_EMBEDDED "${PROJECT_BINARY_DIR}/embedded")
add_custom_command(
    OUTPUT "${RUNG_EMBEDDED}/sources.c" "${RUNG_EMBEDDED}/sources.h"
    COMMAND "${CMAKE_COMMAND}" "-DOUT=${RUNG_EMBEDDED}" "-DFILES=${embedded}"
            -P "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
    DEPENDS "${PROJECT_SOURCE_DIR}/cmake/embed.cmake" ${embedded_files}
    COMMENT "Embedding kernel sources" VERBATIM)
