# SPDX-License-Identifier: Apache-2.0
# The memory access counters against counts made by hand. Skipped where the counters were not built.
add_executable(print_access_counters print_access_counters.c)
target_link_libraries(print_access_counters PRIVATE rung_lab rung_flags)

add_executable(test_access_counters access_counters.c)
target_include_directories(test_access_counters PRIVATE "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(test_access_counters PRIVATE rung_lab rung_flags cmocka::cmocka Threads::Threads)
target_compile_definitions(test_access_counters PRIVATE KERNELS="${CMAKE_CURRENT_SOURCE_DIR}/kernels")
add_test(NAME explain_access_counters COMMAND test_access_counters)
set_tests_properties(explain_access_counters PROPERTIES LABELS full SKIP_RETURN_CODE 77 TIMEOUT 300
    ENVIRONMENT "RUNG_MICROSCOPE=${PROJECT_BINARY_DIR}/rung_microscope.so;${RUNG_TEST_ENVIRONMENT}")
