# SPDX-License-Identifier: Apache-2.0
# The memory access counters against counts made by hand, and against those of Oclgrind. Skipped without NVRTC.
add_executable(print_access_counters print_access_counters.c)
target_link_libraries(print_access_counters PRIVATE rung_lab rung_flags)

add_executable(test_access_counters access_counters.c)
target_include_directories(test_access_counters PRIVATE "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(test_access_counters PRIVATE rung_lab rung_flags cmocka::cmocka Threads::Threads)
target_compile_definitions(test_access_counters PRIVATE KERNELS="${CMAKE_CURRENT_SOURCE_DIR}/kernels")
add_test(NAME explain_access_counters COMMAND test_access_counters)
set_tests_properties(explain_access_counters PROPERTIES LABELS full SKIP_RETURN_CODE 77 TIMEOUT 300
    ENVIRONMENT "VIRTUAL_ENV=${RUNG_TEST_TOOLS}/python;${RUNG_TEST_ENVIRONMENT}")
rung_script_test(explain_compare_counts LABELS full TIMEOUT 300 COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/compare_counts.sh" default)
rung_script_test(explain_compare_counts_all LABELS long TIMEOUT 900 COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/compare_counts.sh")
