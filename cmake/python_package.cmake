# SPDX-License-Identifier: Apache-2.0
# What a build for pip (pyproject.toml) adds. A wheel has no symbolic links, so each library is one file, named as programs
# ask for it. The list of contents (SBOM) lies where PEP 770 says.
foreach(target rung_library rung_outofcore rung_cluster rung_emulator rung_weights)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION_MAJOR})
endforeach()

string(TIMESTAMP sbom_created "%Y-%m-%dT%H:%M:%SZ" UTC) # of SOURCE_DATE_EPOCH, if it is set
set(sbom_compiler "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}")
set(sbom_images "without embedded CUDA kernels")
if(TARGET rung_cuda_images)
    set(sbom_images "with CUDA kernels of this project, compiled by NVRTC")
endif()
string(UUID sbom_id NAMESPACE 6ba7b811-9dad-11d1-80b4-00c04fd430c8 TYPE SHA1
       NAME "rung ${PROJECT_VERSION} ${CMAKE_SYSTEM_PROCESSOR} ${sbom_created} ${sbom_compiler} ${sbom_images}")
configure_file(cmake/rung.spdx.json.in rung.spdx.json @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/rung.spdx.json" DESTINATION "${SKBUILD_METADATA_DIR}/sboms")
