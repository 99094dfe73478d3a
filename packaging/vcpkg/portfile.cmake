# SPDX-License-Identifier: Apache-2.0
vcpkg_download_distfile(archive
    URLS "https://github.com/OWNER/rung/releases/download/v${VERSION}/rung-${VERSION}.tar.gz"
    FILENAME "rung-${VERSION}.tar.gz"
    SHA512 00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000)
vcpkg_extract_source_archive(source ARCHIVE "${archive}")
vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES opencl RUNG_OPENCL)
vcpkg_cmake_configure(SOURCE_PATH "${source}"
    OPTIONS ${features} -DRUNG_LAB=OFF -DRUNG_TESTS=OFF -DRUNG_EXAMPLES=OFF -DRUNG_IMAGES=OFF -DRUNG_MPI=OFF
            -DRUNG_BLAS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME rung CONFIG_PATH lib/cmake/rung)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE")
