# SPDX-License-Identifier: Apache-2.0
# Compiles the kernels of src/cuda/embedded_images.def for NVIDIA GPUs with NVRTC 12.9 and embeds them
# in the library. Without NVRTC in the build the library has no images, prints a message, and needs
# NVRTC at run time.
set(RUNG_IMAGE_OBJECTS "")
set(RUNG_NO_IMAGE_OBJECTS "")
if(NOT RUNG_CUDA)
    return()
endif()

# rung_add_images(FOLDER): an object library with images.bin of the folder.
function(rung_add_images images)
    set_source_files_properties(src/cuda/embedded_images.c PROPERTIES
        OBJECT_DEPENDS "${images}/images.bin;${images}/images.inc")
    add_library(rung_cuda_images OBJECT src/cuda/embedded_images.c)
    target_include_directories(rung_cuda_images PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src"
                               "${images}")
    target_link_libraries(rung_cuda_images PRIVATE rung_flags)
    target_compile_definitions(rung_cuda_images PRIVATE "RUNG_IMAGES_FOLDER=\"${images}\"")
    set(RUNG_IMAGE_OBJECTS $<TARGET_OBJECTS:rung_cuda_images> PARENT_SCOPE)
endfunction()

# For programs that link the library's objects without images.
add_library(rung_no_cuda_images OBJECT src/cuda/no_embedded_images.c)
target_include_directories(rung_no_cuda_images PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(rung_no_cuda_images PRIVATE rung_flags)
set(RUNG_NO_IMAGE_OBJECTS $<TARGET_OBJECTS:rung_no_cuda_images>)

# Images of another build, for processors on which NVRTC cannot run during the build.
set(RUNG_PREBUILT_IMAGES "" CACHE PATH "Folder with images.bin and images.inc of another build")
if(RUNG_PREBUILT_IMAGES AND RUNG_IMAGES)
    rung_add_images("${RUNG_PREBUILT_IMAGES}")
    return()
endif()

# First the NVRTC that tools/install-test-tools installed, then the folders of pip. 12.9 is the last
# version that compiles for sm_60. Every driver of CUDA 12 and later loads its code.
set(found "")
foreach(packages "${PROJECT_SOURCE_DIR}/build/tools/python/lib/python3*/site-packages"
        "$ENV{VIRTUAL_ENV}/lib/python3*/site-packages" "$ENV{HOME}/.local/lib/python3*/site-packages"
        "/usr/local/lib/python3*/dist-packages" "/usr/local/lib/python3*/site-packages")
    file(GLOB folders "${packages}/nvidia/cuda_nvrtc/lib")
    list(APPEND found ${folders})
endforeach()
find_file(RUNG_NVRTC NAMES libnvrtc.so.12 HINTS ${found} PATHS "$ENV{CUDA_HOME}/lib64" /usr/local/cuda/lib64
          DOC "libnvrtc.so.12, which compiles the embedded CUDA kernels")
# Compiling takes minutes, so the presets share one cache.
set(RUNG_IMAGE_CACHE "${PROJECT_BINARY_DIR}/image-cache" CACHE PATH "Cache of compiled CUDA kernels")
# The cache refuses a symbolic link as its folder, but the user who configures may have chosen one.
file(REAL_PATH "${RUNG_IMAGE_CACHE}" image_cache)

if(NOT RUNG_NVRTC OR NOT RUNG_IMAGES)
    if(RUNG_IMAGES)
        message(STATUS "No compiled CUDA kernels in the library: libnvrtc.so.12 was not found (pip install "
                "nvidia-cuda-nvrtc-cu12==12.9.86, then -DRUNG_NVRTC=...)")
    endif()
    set(RUNG_IMAGE_OBJECTS ${RUNG_NO_IMAGE_OBJECTS})
    return()
endif()

add_executable(make_images src/cuda/make_images.c $<TARGET_OBJECTS:rung_objects> ${RUNG_NO_IMAGE_OBJECTS})
target_include_directories(make_images PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src"
                           "${RUNG_EMBEDDED}")
target_link_libraries(make_images PRIVATE rung_flags Threads::Threads ${CMAKE_DL_LIBS} m)

set(images "${PROJECT_BINARY_DIR}/images")
cmake_path(GET RUNG_NVRTC PARENT_PATH nvrtc_folder)
file(MAKE_DIRECTORY "${images}")
cmake_path(GET image_cache PARENT_PATH image_cache_parent)
file(MAKE_DIRECTORY "${image_cache_parent}")
add_custom_command(
    OUTPUT "${images}/images.bin" "${images}/images.inc"
    # NVRTC does not free its memory, and with a sanitizer it does not find its other libraries in
    # its own folder.
    COMMAND "${CMAKE_COMMAND}" -E env ASAN_OPTIONS=detect_leaks=0 "LD_LIBRARY_PATH=${nvrtc_folder}"
            $<TARGET_FILE:make_images> "${RUNG_NVRTC}" "${image_cache}" "${images}"
    DEPENDS make_images ${RUNG_SIMT_KERNEL_FILES} src/cuda/embedded_images.def
    COMMENT "Compiling CUDA kernels (minutes the first time)" VERBATIM)
rung_add_images("${images}")
