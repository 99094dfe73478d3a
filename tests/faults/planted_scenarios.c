/* SPDX-License-Identifier: Apache-2.0 */
/* planted_scenarios.c - calls of planted_library.c. planted.sh expects the outcome that the name begins with. */
#include "fault_session.h"

#include "planted_library.h"

static bool is_right = true;

static rung_status fail(rung_status status, const char *text)
{
    return text ? rung_error_set(status, "%s", text) : RUNG_OK;
}

static rung_status run_missing_check(void)
{
    return planted_missing_check() ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
}

static rung_status run_leak(void)
{
    return fail(RUNG_STATUS_NO_MEMORY, planted_leak());
}

static rung_status run_descriptor(void)
{
    return fail(RUNG_STATUS_NO_MEMORY, planted_descriptor());
}

static rung_status run_thread(void)
{
    return fail(RUNG_STATUS_NO_MEMORY, planted_thread());
}

static rung_status run_changed_output(void)
{
    return fail(RUNG_STATUS_UNSUPPORTED, planted_changed_output(fault_c));
}

static rung_status run_no_sentence(void)
{
    return planted_no_sentence() ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
}

static rung_status run_wrong_result(void)
{
    is_right = planted_wrong_result();
    return RUNG_OK;
}

static rung_status run_stays_broken(void)
{
    return fail(RUNG_STATUS_NO_MEMORY, planted_stays_broken());
}

static rung_status run_endless(void)
{
    return fail(RUNG_STATUS_NO_MEMORY, planted_endless());
}

static void close_nothing(void)
{
}

static bool has_right_result(void)
{
    return is_right;
}

const fault_scenario fault_planted_scenarios[] = {
    {"aborted_missing_check", run_missing_check, close_nothing, has_right_result, FAULT_PLANTED},
    {"leaked_memory", run_leak, close_nothing, has_right_result, FAULT_PLANTED},
    {"leaked_descriptor", run_descriptor, close_nothing, has_right_result, FAULT_PLANTED},
    {"leaked_thread", run_thread, close_nothing, has_right_result, FAULT_PLANTED},
    {"wrong_changed_output", run_changed_output, close_nothing, has_right_result, FAULT_PLANTED},
    {"wrong_no_sentence", run_no_sentence, close_nothing, has_right_result, FAULT_PLANTED},
    {"wrong_result", run_wrong_result, close_nothing, has_right_result, FAULT_PLANTED},
    {"wrong_stays_broken", run_stays_broken, close_nothing, has_right_result, FAULT_PLANTED},
    {"hung_endless", run_endless, close_nothing, has_right_result, FAULT_PLANTED},
    {0},
};
