# SPDX-License-Identifier: Apache-2.0
# The version is stated in project() of CMakeLists.txt. rung.h is used as it is, without a build, and must state the same
# one. tools/project-version checks and sets the other places.
file(STRINGS "${PROJECT_SOURCE_DIR}/include/rung/rung.h" RUNG_HEADER_VERSION REGEX "^#define RUNG_VERSION_(MAJOR|MINOR|PATCH) ")
list(TRANSFORM RUNG_HEADER_VERSION REPLACE "^.* " "")
list(JOIN RUNG_HEADER_VERSION "." RUNG_HEADER_VERSION)
if(NOT RUNG_HEADER_VERSION STREQUAL PROJECT_VERSION)
    message(FATAL_ERROR "include/rung/rung.h has version ${RUNG_HEADER_VERSION} and CMakeLists.txt has ${PROJECT_VERSION}: "
            "run tools/project-version --set VERSION")
endif()
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS include/rung/rung.h)
