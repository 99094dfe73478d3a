# SPDX-License-Identifier: Apache-2.0
# rung_install_pc(NAME): installs NAME.pc from cmake/NAME.pc.in. The folders in it are relative to the file's own folder, so
# that an installation may be staged (DESTDIR) or moved; those that the user gave as absolute paths stay absolute.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(RUNG_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH RUNG_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" RUNG_PC_PREFIX "${RUNG_PC_PREFIX}")
    string(PREPEND RUNG_PC_PREFIX "\${pcfiledir}/")
endif()
set(RUNG_PC_LIBDIR "\${prefix}")
cmake_path(APPEND RUNG_PC_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
set(RUNG_PC_INCLUDEDIR "\${prefix}")
cmake_path(APPEND RUNG_PC_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")

function(rung_install_pc name)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
