# SPDX-License-Identifier: Apache-2.0
# rung_lab_test(area name): builds test_<area>_<name> from <name>.c and the lab's library, and runs it as <area>_<name>.
function(rung_lab_test area name)
    set(program test_${area}_${name})
    add_executable(${program} ${name}.c)
    target_include_directories(${program} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(${program} PRIVATE rung_lab rung_flags cmocka::cmocka m)
    rung_omits_test(${area}_${name} ${program} is_omitted)
    if(is_omitted)
        return()
    endif()
    add_test(NAME ${area}_${name} COMMAND ${program})
    set_tests_properties(${area}_${name} PROPERTIES LABELS quick SKIP_RETURN_CODE 77 TIMEOUT 60
                         ENVIRONMENT "${RUNG_TEST_ENVIRONMENT}")
endfunction()
