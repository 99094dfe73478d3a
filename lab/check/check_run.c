/* SPDX-License-Identifier: Apache-2.0 */
/* check_run.c - loads the code into the emulator and runs the launches. */
#include <stdio.h>
#include <string.h>

#include "check/check_session.h"
#include "cli/interrupt.h"
#include "common/failure.h"
#include "common/text.h"
#include "findings/kernel_name.h"

/* ---- Helpers of both kinds of files ---- */

const char *lab_check_place(const lab_check_session *session, const lab_launch_line *line, char *text, size_t capacity)
{
    int number = (int)(line - session->lines.items) + 1;
    if (line->line > 0)
        snprintf(text, capacity, "line %d", line->line);
    else if (session->lines.count > 1)
        snprintf(text, capacity, "--launch, launch %d", number);
    else
        snprintf(text, capacity, "--launch");
    return text;
}

bool lab_check_add_pointer(lab_check_launch *launch, const lab_launch_argument *argument, int64_t offset, int64_t count)
{
    if (launch->pointer_count == LAB_LINE_ARGUMENTS_MAX)
        return false;
    launch->pointers[launch->pointer_count++] = (lab_check_pointer){
        .argument = argument, .offset = offset, .count = count};
    return true;
}

bool lab_check_add_variable(lab_check_session *session, lab_check_launch *launch, const lab_launch_argument *argument,
                            int64_t count)
{
    char plain[256], internal[300];
    uint64_t address;
    int64_t bytes;
    snprintf(plain, sizeof plain, "%.*s", LAB_VIEW(argument->name));
    snprintf(internal, sizeof internal, "_ZL%d%s", (int)argument->name.length, plain); /* of a static variable */
    if (rung_emulator_module_variable(session->module, plain, &address, &bytes) != RUNG_OK &&
        rung_emulator_module_variable(session->module, internal, &address, &bytes) != RUNG_OK)
        return false;
    if (!lab_check_add_pointer(launch, argument, -1, count))
        return false;
    launch->pointers[launch->pointer_count - 1].variable = address;
    launch->pointers[launch->pointer_count - 1].variable_bytes = bytes;
    return true;
}

bool lab_check_names_array(const lab_check_session *session, const lab_launch_line *line, rungi_string_view name)
{
    for (const lab_launch_line *own = session->lines.items; own <= line; own++)
        for (int i = 0; i < own->argument_count; i++)
            if (own->arguments[i].is_array && rungi_string_views_equal(own->arguments[i].name, name))
                return true;
    return false;
}

static int should_stop(void *user)
{
    (void)user;
    return lab_is_interrupted();
}

bool lab_check_load(lab_check_session *session, const char *ptx, size_t bytes, char *why, size_t capacity)
{
    rung_emulator_options options = rung_emulator_options_default();
    options.compute_capability = session->architecture;
    options.checks = RUNG_EMULATOR_CHECK_ALL; /* from the first array on: later, nobody knows what was written */
    options.max_instructions = (int64_t)(session->seconds * 1e6);
    options.output = session->output;
    options.should_stop = should_stop;
    if (rung_emulator_create(&options, &session->emulator) == RUNG_OK &&
        rung_emulator_module_load(session->emulator, lab_base_name(session->path), ptx, bytes, &session->module) ==
            RUNG_OK)
        return true;
    return lab_set_reason(why, capacity, "%s", rung_error_text());
}

/* ---- Launches ---- */

/* Prepares the arrays of a launch: new ones, and those whose contents the launch gives again. */
static bool prepare_arrays(lab_check_session *session, lab_check_launch *launch, char *why, size_t capacity)
{
    for (int i = 0; i < launch->pointer_count; i++) {
        lab_check_pointer *pointer = &launch->pointers[i];
        if (pointer->is_first && !pointer->array->is_variable &&
            !lab_check_allocate(session, pointer->array, why, capacity))
            return false;
        if ((pointer->is_first || (pointer->argument->is_array && pointer->argument->has_contents)) &&
            !lab_check_fill(session, pointer->array, pointer->argument, why, capacity))
            return false;
    }
    for (int i = 0; i < launch->pointer_count; i++)
        if (launch->pointers[i].offset >= 0)
            memcpy(launch->parameters + launch->pointers[i].offset, &launch->pointers[i].array->address,
                   sizeof(uint64_t));
    return true;
}

/* Launches once, and collects the findings. */
static rung_status launch_once(lab_check_session *session, const lab_check_launch *launch)
{
    rung_emulator_launch how = rung_emulator_launch_of(1, 1, NULL);
    memcpy(how.grid, launch->grid, sizeof how.grid);
    memcpy(how.block, launch->block, sizeof how.block);
    memcpy(how.cluster, launch->cluster, sizeof how.cluster);
    how.dynamic_shared_bytes = launch->shared_bytes;
    how.is_cooperative = rungi_string_view_equals(launch->line->cooperative, "1");
    how.parameter_buffer = launch->parameters;
    how.parameter_bytes = launch->parameter_bytes;
    rung_emulator_findings_clear(session->emulator);
    rung_status status = rung_emulator_launch_kernel(launch->kernel, &how);
    lab_finding_list_add(&session->findings, session->emulator, "");
    session->cases++;
    return status;
}

/* Returns the line of a kernel in a CUDA file, or 0. */
static int kernel_line(const lab_check_session *session, const char *kernel)
{
    for (int i = 0; i < session->lines.count; i++) {
        const rung_emulator_kernel_info *info = rung_emulator_kernel_get_info(session->launches[i].kernel);
        char own[256];
        lab_kernel_source_name(info ? info->name : "", own, sizeof own);
        if (strcmp(own, kernel) == 0)
            return session->launches[i].source_line;
    }
    return 0;
}

/* Findings without line information are about lines of the PTX file. Those of a CUDA file get the line of the kernel. */
static void name_files(lab_check_session *session)
{
    for (int i = 0; i < session->findings.count; i++) {
        lab_finding *item = &session->findings.items[i];
        if (*item->file)
            continue;
        snprintf(item->file, sizeof item->file, "%s", session->path);
        if (session->is_ptx)
            continue;
        item->line = kernel_line(session, item->kernel);
        bool is_trap = strcmp(item->kind, rung_emulator_finding_name(RUNG_EMULATOR_TRAP)) == 0;
        session->has_hidden_cause = session->has_hidden_cause || is_trap;
    }
}

/* Says why a launch did not end. A finding, which the output has anyway, says where. */
static void describe_stop(lab_check_session *session, const lab_check_launch *launch, rung_status status)
{
    bool is_found = status == RUNG_STATUS_DEVICE_LOST && session->findings.count > 0;
    snprintf(session->stopped, sizeof session->stopped, "%s: %s", launch->name,
             is_found ? "the kernel did not end; the findings say why" : rung_error_text());
}

bool lab_check_run_launches(lab_check_session *session, char *why, size_t capacity)
{
    char place[64];
    rung_status status = RUNG_OK;
    rung_emulator_counts_clear(session->emulator);
    /* before arrays are allocated, so that their bytes count as uninitialised */
    rung_emulator_set_checks(session->emulator, RUNG_EMULATOR_CHECK_ALL, session->counts_accesses);
    for (int64_t run = 0; run < session->repeat && status == RUNG_OK; run++)
        for (int i = 0; i < session->lines.count && status == RUNG_OK && !lab_is_interrupted(); i++) {
            lab_check_launch *launch = &session->launches[i];
            if (run == 0 && !prepare_arrays(session, launch, why, capacity))
                return false;
            status = launch_once(session, launch);
            if (status == RUNG_STATUS_INVALID && rung_emulator_finding_count(session->emulator) == 0)
                return lab_set_reason(why, capacity, "%s: %s: %s",
                                      lab_check_place(session, launch->line, place, sizeof place), launch->name,
                                      rung_error_text());
            if (status != RUNG_OK)
                describe_stop(session, launch, status);
        }
    name_files(session);
    for (int i = 0; i < session->expectation_count && status == RUNG_OK; i++)
        if (!lab_check_compare(session, &session->expectations[i], why, capacity))
            return false;
    return true;
}
